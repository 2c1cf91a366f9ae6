//! MegEngine's profiles: read, project, and write again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use opscope_formats::megengine::Profile;

fuzz_target!(|input: &[u8]| {
    if let Ok(profile) = Profile::parse(input.to_vec()) {
        let _ = profile.to_trace();
    }
});
