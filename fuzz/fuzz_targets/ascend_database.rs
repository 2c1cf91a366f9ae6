//! The reader of databases of the same name.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let _ = opscope_cann::read::database::read_bytes(input, Path::new("input.db"), &Default::default());
});
