//! A folder of outputs of the Ascend tools, which are read together.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_fuzz::{OUTPUTS, folder, unpack};

fuzz_target!(|input: &[u8]| {
    let directory = folder();
    unpack(input, OUTPUTS, directory.path());
    if opscope_cann::read::is_folder(directory.path()) {
        let _ = opscope_cann::read::read_folder(directory.path());
    }
});
