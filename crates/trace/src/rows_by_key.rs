//! Rows of a table by a key that each of them holds, for tables that are asked for a row before one is added.

use std::fmt;
use std::hash::Hash;

use crate::NumberMap;

/// The first row of each key. It notices by itself that rows were added.
#[derive(Clone)]
pub(crate) struct RowsByKey<Key> {
    rows: NumberMap<Key, usize>,
    /// How many rows were looked at.
    seen: usize,
}

impl<Key> Default for RowsByKey<Key> {
    fn default() -> Self {
        Self { rows: NumberMap::default(), seen: 0 }
    }
}

/// The table says the same, and in an order of its own.
impl<Key> fmt::Debug for RowsByKey<Key> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RowsByKey")
    }
}

impl<Key: Copy + Eq + Hash> RowsByKey<Key> {
    /// The first of `count` rows that has the key; `key_of` tells that of a row. Rows keep the keys that they were added
    /// with, or are found no more.
    pub fn find(&mut self, key: Key, count: usize, key_of: impl Fn(usize) -> Key) -> Option<usize> {
        if count < self.seen {
            *self = Self::default();
        }
        for row in self.seen..count {
            self.rows.entry(key_of(row)).or_insert(row);
        }
        self.seen = count;
        self.rows.get(&key).copied().filter(|row| key_of(*row) == key)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn every_row_is_looked_at_once_and_the_first_of_a_key_found() {
        let looked_at = Cell::new(0);
        let mut table: Vec<u32> = Vec::new();
        let mut rows = RowsByKey::default();
        for key in 0..1_000 {
            let key_of = |row: usize| {
                looked_at.set(looked_at.get() + 1);
                table[row]
            };
            assert_eq!(rows.find(key, table.len(), key_of), None);
            table.push(key);
        }
        assert!(looked_at.get() < 2_000, "{}", looked_at.get());
        table.push(7);
        assert_eq!(rows.find(7, table.len(), |row| table[row]), Some(7));
        table.truncate(3);
        assert_eq!(rows.find(7, table.len(), |row| table[row]), None);
    }
}
