//! Maps and sets whose keys are whole numbers, or bytes and text, as quick as they can be without trusting those.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map from numbers that come from a file. Its order differs from run to run.
pub type NumberMap<Key, Value> = HashMap<Key, Value, Seeded>;

/// A set of numbers that come from a file. Its order differs from run to run.
pub type NumberSet<Key> = HashSet<Key, Seeded>;

/// A map from bytes or text that come from a file, alone or beside numbers. Its order differs from run to run.
pub type ByteMap<Key, Value> = HashMap<Key, Value, Seeded>;

/// Makes hashers from a number that differs from run to run, so that no file can be made whose
/// keys collide.
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

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        // The length tells texts apart that end in the same bytes.
        self.write_u64(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if rest.is_empty() {
            return;
        }
        // Bytes that were taken already are taken again, because a word is loaded at once and its parts aren't.
        let last = match bytes.last_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        self.write_u64(last);
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
    fn texts_are_told_apart_by_every_byte_and_by_their_length() {
        let seed = Seeded::default();
        let mut hashes = HashSet::new();
        let text = [7_u8; 40];
        for length in 0..=text.len() {
            assert!(hashes.insert(seed.hash_one(&text[..length])), "of {length} bytes");
            for place in 0..length {
                let mut other = text;
                other[place] = 8;
                assert!(hashes.insert(seed.hash_one(&other[..length])), "byte {place} of {length}");
            }
        }
    }

    #[test]
    fn keys_of_several_numbers_are_told_apart_by_their_order() {
        let mut map: NumberMap<(u32, u16), &str> = NumberMap::default();
        map.extend([((1, 2), "one, two"), ((2, 1), "two, one")]);
        assert_eq!((map[&(1, 2)], map[&(2, 1)], map.len()), ("one, two", "two, one", 2));
    }
}
