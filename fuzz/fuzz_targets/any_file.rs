//! Whatever lies on the disk: what it is, told by its content, and then its reader. It may be
//! compressed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let directory = opscope_fuzz::folder();
    let path = directory.path().join("input");
    std::fs::write(&path, input).expect("space on disk");
    if let Ok(source) = opscope_open::Source::at(&path) {
        let _ = source.open(&());
    }
});
