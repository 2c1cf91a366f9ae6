//! Combinations of inputs and outputs, each stored once.
//!
//! A run launches the same operators with the same shapes over and over, so what is different is
//! few while the records are many.

use std::hash::{BuildHasher, Hasher};

use opscope_cann_raw::additional::Tensor;

use crate::tables::rows::TensorSetRow;
use opscope_trace::Seeded;

/// Every combination of inputs and outputs, once.
#[derive(Clone, Debug, Default)]
pub struct TensorSets {
    tensors: Vec<Tensor>,
    /// Where each set ends in `tensors`; it begins where the one before ends.
    ends: Vec<u32>,
    /// Set numbers plus one by hash, open addressing; a power of two of slots.
    slots: Vec<u32>,
    seed: Seeded,
}

impl TensorSets {
    /// The number of a combination, which is stored if it is new.
    pub fn intern(&mut self, tensors: &[Tensor]) -> TensorSetRow {
        if self.slots.len() < (self.ends.len() + 1) * 2 {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut slot = hash(tensors, self.seed) as usize & mask;
        while self.slots[slot] != 0 {
            let row = TensorSetRow::from_index(self.slots[slot] as usize - 1);
            if self.get(row) == tensors {
                return row;
            }
            slot = (slot + 1) & mask;
        }
        self.tensors.extend_from_slice(tensors);
        self.ends.push(self.tensors.len() as u32);
        self.slots[slot] = self.ends.len() as u32;
        TensorSetRow::from_index(self.ends.len() - 1)
    }

    /// The tensors of a combination; none for a row that doesn't exist.
    pub fn get(&self, row: TensorSetRow) -> &[Tensor] {
        let number = row.index();
        let Some(&end) = self.ends.get(number) else { return &[] };
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.tensors[start as usize..end as usize]
    }

    /// The tensors of every combination, by row.
    pub fn all(&self) -> impl Iterator<Item = &[Tensor]> {
        (0..self.len()).map(|row| self.get(TensorSetRow::from_index(row)))
    }

    /// How many combinations there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(64);
        self.slots = vec![0; size];
        for number in 0..self.ends.len() {
            let mut slot = hash(self.get(TensorSetRow::from_index(number)), self.seed) as usize & (size - 1);
            while self.slots[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.slots[slot] = number as u32 + 1;
        }
    }
}

fn hash(tensors: &[Tensor], seed: Seeded) -> u64 {
    let mut hasher = seed.build_hasher();
    for tensor in tensors {
        hasher.write_u64(u64::from(tensor.direction) << 32 | u64::from(tensor.format));
        hasher.write_u32(tensor.data_type);
        for pair in tensor.shape.chunks_exact(2) {
            hasher.write_u64(u64::from(pair[0]) << 32 | u64::from(pair[1]));
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_combinations_are_stored_once() {
        let mut sets = TensorSets::default();
        let tensor = |n| Tensor { shape: [n, 0, 0, 0, 0, 0, 0, 0], ..Tensor::default() };
        let numbers: Vec<TensorSetRow> = (0..500).map(|n| sets.intern(&[tensor(n), tensor(n % 7)])).collect();
        let again: Vec<TensorSetRow> = (0..500).map(|n| sets.intern(&[tensor(n), tensor(n % 7)])).collect();
        assert_eq!(numbers, again);
        assert_eq!(sets.len(), 500);
        assert_eq!(sets.get(numbers[123]), [tensor(123), tensor(4)]);
        assert_eq!(sets.get(TensorSetRow::from_index(9_999)), []);
        let empty = sets.intern(&[]);
        assert_eq!(sets.get(empty), []);
    }
}
