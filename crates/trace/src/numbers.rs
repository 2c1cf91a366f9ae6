//! Maps and sets whose keys are whole numbers, as quick as they can be without trusting the numbers.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map from numbers that come from a file. Its order differs from run to run.
pub type NumberMap<Key, Value> = HashMap<Key, Value, Seeded>;

/// A set of numbers that come from a file. Its order differs from run to run.
pub type NumberSet<Key> = HashSet<Key, Seeded>;

/// Makes hashers from a number that differs from run to run, so that no file can be made whose
/// numbers collide.
#[derive(Clone, Copy, Debug)]
pub struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = NumberHasher;

    #[inline]
    fn build_hasher(&self) -> NumberHasher {
        NumberHasher(self.0)
    }
}

/// Hashes numbers one after another: both halves of a product with a large odd number, laid over
/// each other.
#[derive(Clone, Copy, Debug)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    #[inline]
    fn write_u64(&mut self, number: u64) {
        // The fractional part of the golden ratio, in 64 bits.
        const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(number ^ self.0) * FACTOR;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_u16(&mut self, number: u16) {
        self.write_u64(u64::from(number));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(u64::from(number));
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut number = [0; 8];
            number[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(number));
        }
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_hashes_differently_in_two_maps() {
        let hash = |seed: Seeded| (0..4u64).map(|number| seed.hash_one(number)).collect::<Vec<_>>();
        assert_ne!(hash(Seeded::default()), hash(Seeded::default()));
    }

    #[test]
    fn keys_of_several_numbers_are_told_apart_by_their_order() {
        let mut map: NumberMap<(u32, u16), &str> = NumberMap::default();
        map.extend([((1, 2), "one, two"), ((2, 1), "two, one")]);
        assert_eq!((map[&(1, 2)], map[&(2, 1)], map.len()), ("one, two", "two, one", 2));
    }
}
