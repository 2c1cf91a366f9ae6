//! The reader of the format of the same name.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = opscope_cann::read::tables::read(input, &Default::default());
});
