//! Maps whose keys are whole numbers, as quick as they can be without trusting the numbers.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map from numbers that a file made up.
pub(super) type NumberMap<Key, Value> = HashMap<Key, Value, Seeded>;

/// Makes hashers from a number that differs from run to run, so that no file can be made whose
/// numbers collide.
#[derive(Clone, Copy)]
pub(super) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

/// Hashes one number: both halves of its product with a large odd number, laid over each other.
pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn write_u64(&mut self, number: u64) {
        // The fractional part of the golden ratio, in 64 bits.
        const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(number ^ self.0) * FACTOR;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut number = [0; 8];
            number[..part.len()].copy_from_slice(part);
            self.write_u64(u64::from_le_bytes(number));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
