//! A list of values that each row may lack, for tables of which many have no value at all.

use std::fmt;
use std::ops::Index;

use crate::column::Column;

/// A list of values that each row may lack. It takes no memory as long as no row has one.
///
/// ```
/// let mut column = opscope_columns::OptionalColumn::<u64>::default();
/// column.push(None);
/// column.push(Some(7));
/// assert_eq!((column.len(), column[0], column[1]), (2, None, Some(7)));
/// ```
#[derive(Clone)]
pub struct OptionalColumn<T: Copy> {
    /// All rows, or none as long as no row has a value.
    rows: Column<Option<T>>,
    len: usize,
}

impl<T: Copy> OptionalColumn<T> {
    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: Option<T>) {
        if self.has_values() {
            self.rows.push(row);
        } else if row.is_some() {
            self.write_out();
            self.rows.push(row);
        }
        self.len += 1;
    }

    /// Replaces a row.
    ///
    /// # Panics
    /// If there are no more rows than `index`.
    #[inline]
    pub fn set(&mut self, index: usize, row: Option<T>) {
        if row.is_some() && !self.has_values() {
            self.write_out();
        }
        match self.has_values() {
            true => self.rows[index] = row,
            false => assert!(index < self.len, "row {index} of {}", self.len),
        }
    }

    /// Makes room for further rows where there are values.
    pub fn reserve(&mut self, additional: usize) {
        if self.has_values() {
            self.rows.reserve(additional);
        }
    }

    /// Keeps the rows of which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&Option<T>) -> bool) {
        if self.has_values() {
            self.rows.retain(keep);
            self.len = self.rows.len();
        } else {
            self.len = (0..self.len).filter(|_| keep(&None)).count();
        }
    }

    /// How many rows there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Option<T>> + DoubleEndedIterator + Clone {
        (0..self.len).map(|index| &self[index])
    }

    /// Whether the rows are written out.
    #[inline]
    fn has_values(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Writes rows without a value out, for one that has one.
    #[cold]
    fn write_out(&mut self) {
        self.rows.extend(std::iter::repeat_n(None, self.len));
    }
}

impl<T: Copy> Default for OptionalColumn<T> {
    fn default() -> Self {
        Self { rows: Column::new(), len: 0 }
    }
}

impl<T: Copy> Index<usize> for OptionalColumn<T> {
    type Output = Option<T>;

    #[inline]
    fn index(&self, index: usize) -> &Option<T> {
        match self.has_values() {
            true => &self.rows[index],
            false => {
                assert!(index < self.len, "row {index} of {}", self.len);
                &None
            }
        }
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for OptionalColumn<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Copy + PartialEq, const COUNT: usize> PartialEq<[Option<T>; COUNT]> for &OptionalColumn<T> {
    fn eq(&self, other: &[Option<T>; COUNT]) -> bool {
        self.iter().eq(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of which the `k`-th is the first with a value, and a column of them.
    fn with_first_value_at(first: usize) -> (Vec<Option<u16>>, OptionalColumn<u16>) {
        let value = |row: usize| (row >= first && row % 3 != 1).then_some(row as u16);
        let rows: Vec<Option<u16>> = (0..8).map(value).collect();
        let mut column = OptionalColumn::default();
        rows.iter().for_each(|row| column.push(*row));
        (rows, column)
    }

    #[test]
    fn rows_are_the_same_wherever_the_first_value_stands() {
        for first in 0..=8 {
            let (mut rows, mut column) = with_first_value_at(first);
            assert!(column.iter().eq(&rows), "{first}");
            assert!((0..8).all(|row| column[row] == rows[row]));
            assert_eq!((column.len(), column.is_empty()), (8, false));
            column.reserve(100);
            column.set(5, Some(500));
            rows[5] = Some(500);
            column.set(0, None);
            rows[0] = None;
            assert!(column.iter().eq(&rows), "{first}");
            assert_eq!(format!("{column:?}"), format!("{rows:?}"));
            let (mut rows, mut column) = with_first_value_at(first);
            column.set(3, None);
            rows[3] = None;
            let mut marks = [true, false].into_iter().cycle();
            column.retain(|_| marks.next().unwrap());
            let kept: Vec<_> = rows.into_iter().step_by(2).collect();
            assert!(column.clone().iter().eq(&kept), "{first}");
            column.push(Some(9));
            assert_eq!((column.len(), column[4]), (5, Some(9)));
        }
    }

    #[test]
    fn a_column_without_values_takes_no_memory() {
        let (_, column) = with_first_value_at(8);
        assert!(!column.has_values() && &column == [None; 8]);
    }

    #[test]
    #[should_panic(expected = "row 8 of 8")]
    fn a_row_behind_the_last_is_not_there() {
        let _ = with_first_value_at(8).1[8];
    }
}
