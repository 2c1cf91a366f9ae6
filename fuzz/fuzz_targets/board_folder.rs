//! A board's directory: raw files, exported files, and what the model converter left.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_fuzz::{BOARD, folder, unpack};
use opscope_svp::{Exports, Job, SideFiles};

fuzz_target!(|input: &[u8]| {
    let directory = folder();
    unpack(input, BOARD, directory.path());
    if let Ok(job) = Job::open(directory.path()) {
        let _ = job.problems();
    }
    if let Ok(files) = SideFiles::beside(directory.path()) {
        let _ = files.placements().filter(|placement| placement.is_on_cpu()).count();
    }
    if let Ok(exports) = Exports::read(directory.path()) {
        let _ = exports.to_trace();
    }
});
