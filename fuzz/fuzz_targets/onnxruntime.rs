//! ONNX Runtime's profiles.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use opscope_formats::onnxruntime::Profile;

fuzz_target!(|input: &[u8]| {
    if let Ok(profile) = Profile::parse(input, Path::new("input.json")) {
        let _ = profile.to_trace();
    }
});
