//! Files that choose the lanes of a timeline.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let _ = opscope_cann::LaneChoice::from_json(input);
});
