//! Arrays that no cache holds, read, filled and copied.

use std::hint::black_box;
use std::time::Instant;

/// Two arrays of numbers that belong to one thread.
pub(super) struct Arrays {
    from: Vec<u64>,
    to: Vec<u64>,
}

/// How much is done between two looks at the clock: 4 MiB, well under a millisecond.
const BLOCK: usize = (4 << 20) / size_of::<u64>();

/// How many bytes both arrays of all threads have: twice the largest cache, so that none of it
/// is still there when it is read again, and not too little where that isn't known.
pub(super) fn array_bytes() -> usize {
    const LEAST: usize = 128 << 20;
    const MOST: usize = 512 << 20;
    (2 * last_level_cache().unwrap_or(0)).clamp(LEAST, MOST)
}

/// The size of the largest cache, where the system tells it.
fn last_level_cache() -> Option<usize> {
    let of_index = |index: u32| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size");
        let text = std::fs::read_to_string(path).ok()?;
        text.trim().strip_suffix('K')?.parse::<usize>().ok().map(|kilobytes| kilobytes << 10)
    };
    (0..8).filter_map(of_index).max()
}

impl Arrays {
    /// Arrays of so many bytes together, every page of them touched.
    pub fn new(bytes: usize) -> Self {
        let numbers = (bytes / 2 / size_of::<u64>()).max(BLOCK);
        Self { from: vec![1; numbers], to: vec![2; numbers] }
    }

    /// Reads until a point in time; gives the number of bytes.
    pub fn read_until(&mut self, deadline: Instant) -> u64 {
        let mut bytes = 0;
        loop {
            for block in self.from.chunks(BLOCK).chain(self.to.chunks(BLOCK)) {
                read(block);
                bytes += size_of_val(block) as u64;
                if Instant::now() >= deadline {
                    return bytes;
                }
            }
        }
    }

    /// Writes until a point in time; gives the number of bytes.
    pub fn fill_until(&mut self, deadline: Instant) -> u64 {
        let mut bytes = 0;
        let mut value = 2;
        loop {
            value += 1;
            for block in self.from.chunks_mut(BLOCK).chain(self.to.chunks_mut(BLOCK)) {
                block.fill(black_box(value));
                black_box(&block);
                bytes += size_of_val(block) as u64;
                if Instant::now() >= deadline {
                    return bytes;
                }
            }
        }
    }

    /// Copies until a point in time; gives the number of bytes that were read and written.
    pub fn copy_until(&mut self, deadline: Instant) -> u64 {
        let mut bytes = 0;
        loop {
            for (from, to) in self.from.chunks(BLOCK).zip(self.to.chunks_mut(BLOCK)) {
                to.copy_from_slice(black_box(from));
                black_box(&to);
                bytes += 2 * size_of_val(from) as u64;
                if Instant::now() >= deadline {
                    return bytes;
                }
            }
        }
    }
}

fn read(block: &[u64]) {
    // Several sums, so that none waits for another.
    let mut sums = [0_u64; 8];
    let (eights, _) = block.as_chunks::<8>();
    for numbers in eights {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum = sum.wrapping_add(*number);
        }
    }
    black_box(sums);
}
