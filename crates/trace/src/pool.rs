//! Short lists of plain values, stored end to end.

use std::marker::PhantomData;

use opscope_columns::Column;

/// Lists of `T` in one column, each named by its [`Span`].
#[derive(Clone, Debug)]
pub struct Pool<T: Copy> {
    values: Column<T>,
}

impl<T: Copy> Default for Pool<T> {
    fn default() -> Self {
        Self { values: Column::new() }
    }
}

/// Where a list lies in its [`Pool`]; the default is the empty list.
pub struct Span<T> {
    start: u32,
    len: u32,
    of: PhantomData<fn() -> T>,
}

impl<T> Span<T> {
    /// How many values the list has.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether the list has no value.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl<T> Clone for Span<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<T> {}

impl<T> PartialEq for Span<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.start, self.len) == (other.start, other.len)
    }
}

impl<T> Default for Span<T> {
    fn default() -> Self {
        Self { start: 0, len: 0, of: PhantomData }
    }
}

impl<T> std::fmt::Debug for Span<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Span({}..{})", self.start, self.start as usize + self.len())
    }
}

impl<T: Copy> Pool<T> {
    /// Appends a list.
    ///
    /// # Panics
    /// If the pool would hold 2^32 values or more.
    pub fn push(&mut self, values: impl IntoIterator<Item = T>) -> Span<T> {
        let start = self.values.len();
        self.values.extend(values);
        let position = |n: usize| u32::try_from(n).expect("a pool holds fewer than 2^32 values");
        let end = position(self.values.len());
        Span { start: start as u32, len: end - start as u32, of: PhantomData }
    }

    /// How many values all lists have together.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no list has a value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values of a list.
    ///
    /// # Panics
    /// If the span comes from another, longer pool.
    pub fn get(&self, span: Span<T>) -> &[T] {
        &self.values[span.start as usize..][..span.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_as_they_were_pushed() {
        let mut pool = Pool::default();
        let image = pool.push([1, 3, 260, 260]);
        let scalar = pool.push([]);
        let vector = pool.push([7]);
        assert_eq!(pool.get(image), [1, 3, 260, 260]);
        assert_eq!(pool.get(scalar), [0i64; 0]);
        assert_eq!(pool.get(vector), [7]);
        assert!(Span::<i64>::default().is_empty());
    }
}
