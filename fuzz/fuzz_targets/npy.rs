//! NumPy's files. The library behind the reader may panic, which the reader turns into an error.
#![no_main]

use std::io::Write;

use libfuzzer_sys::fuzz_target;

fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| {})),
    |input: &[u8]| {
        let mut file = tempfile::NamedTempFile::new_in("/dev/shm")
            .or_else(|_| tempfile::NamedTempFile::new())
            .expect("a file");
        file.write_all(input).expect("space on disk");
        let _ = opscope_run::npy::read(file.path());
    }
);
