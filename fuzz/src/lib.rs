//! The targets of `crates/fuzzing` as programs of libFuzzer, which changes inputs by what they cover, and in every
//! other step as their content is made up.

pub use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use opscope_fuzzing::{Mutator, TARGETS};

/// Makes the program of a target.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        $crate::fuzz_target!(|input: &[u8]| opscope_fuzzing::run($name, input));
        $crate::fuzz_mutator!(|input: &mut [u8], size: usize, most: usize, seed: u32| {
            $crate::change($name, input, size, most, seed)
        });
    };
}

/// Changes the input that the first `size` bytes are; returns how many it has then.
pub fn change(name: &str, input: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    let target = TARGETS.iter().find(|target| target.name == name).expect("a target");
    if seed % 2 == 0 {
        return fuzzer_mutate(input, size, most);
    }
    let changed = Mutator::new(seed.into()).change(target.content, &input[..size], &[]);
    let length = changed.len().min(most);
    input[..length].copy_from_slice(&changed[..length]);
    length
}
