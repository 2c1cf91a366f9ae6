//! A list whose rows can be given up from its beginning on.

use std::ops::{Index, IndexMut};

/// The rows of a block: some megabytes, which the system takes back when they are given up.
const ROWS: usize = 1 << 17;

/// A list of rows in blocks, of which whoever needs each row once gives up the first ones while the last are still to
/// come: [`Blocks::into_blocks`].
#[derive(Debug)]
pub struct Blocks<T> {
    /// All are full but the last.
    blocks: Vec<Vec<T>>,
}

impl<T> Blocks<T> {
    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: T) {
        match self.blocks.last_mut() {
            Some(block) if block.len() < ROWS => block.push(row),
            _ => self.begin_block(row),
        }
    }

    #[cold]
    fn begin_block(&mut self, row: T) {
        // Most lists are short, so that the first block grows with them.
        let room = if self.blocks.is_empty() { 4 } else { ROWS };
        let mut block = Vec::with_capacity(room);
        block.push(row);
        self.blocks.push(block);
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * ROWS + last.len())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// The last row.
    pub fn last(&self) -> Option<&T> {
        self.blocks.last().and_then(|block| block.last())
    }

    /// All rows in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.blocks.iter().flatten()
    }

    /// Gives up room for further rows.
    pub fn shrink_to_fit(&mut self) {
        if let Some(last) = self.blocks.last_mut() {
            last.shrink_to_fit();
        }
    }

    /// Takes back a block of [`Blocks::into_blocks`], in the order in which they came.
    pub fn push_block(&mut self, block: Vec<T>) {
        self.blocks.push(block);
    }

    /// The rows, a block at a time.
    pub fn into_blocks(self) -> impl Iterator<Item = Vec<T>> {
        self.blocks.into_iter()
    }

    /// Makes another row of each; where both are of one size, in the same place.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Blocks<U> {
        let blocks = self.blocks.into_iter().map(|block| block.into_iter().map(&mut change).collect());
        Blocks { blocks: blocks.collect() }
    }

    /// Keeps the rows of which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let mut kept = Self::default();
        for block in std::mem::take(self).into_blocks() {
            block.into_iter().filter(&mut keep).for_each(|row| kept.push(row));
        }
        *self = kept;
    }
}

impl<T> Default for Blocks<T> {
    fn default() -> Self {
        Self { blocks: Vec::new() }
    }
}

impl<T> Index<usize> for Blocks<T> {
    type Output = T;

    #[inline]
    fn index(&self, row: usize) -> &T {
        &self.blocks[row / ROWS][row % ROWS]
    }
}

impl<T> IndexMut<usize> for Blocks<T> {
    #[inline]
    fn index_mut(&mut self, row: usize) -> &mut T {
        &mut self.blocks[row / ROWS][row % ROWS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_those_of_a_list_however_many_they_are() {
        for count in [0, 1, 5, ROWS - 1, ROWS, ROWS + 1, 2 * ROWS + 7] {
            let mut blocks = Blocks::default();
            (0..count).for_each(|row| blocks.push(row as u32));
            blocks.shrink_to_fit();
            assert_eq!((blocks.len(), blocks.last().copied()), (count, (count as u32).checked_sub(1)));
            assert_eq!(blocks.is_empty(), count == 0);
            assert!(blocks.iter().copied().eq(0..count as u32));
            for row in [0, count / 2, count.saturating_sub(1)].into_iter().filter(|row| *row < count) {
                assert_eq!(blocks[row], row as u32);
                blocks[row] += 2;
                blocks[row] -= 2;
            }
            blocks.retain(|row| row % 3 != 1);
            let left = || (0..count as u32).filter(|row| row % 3 != 1);
            assert!(blocks.iter().copied().eq(left()));
            blocks.push(7);
            assert_eq!(blocks.len(), left().count() + 1);
            let doubled = blocks.map(|row| u64::from(row) * 2);
            let expected = left().chain([7]).map(|row| u64::from(row) * 2);
            assert!(doubled.into_blocks().flatten().eq(expected));
        }
    }
}
