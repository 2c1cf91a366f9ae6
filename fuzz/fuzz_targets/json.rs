//! The tokenizer of JSON text: whatever another reader takes for JSON it must take too.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let accepted = opscope_formats::is_json(input);
    // The other reader begins after a byte order mark only if told so, and nests as deep.
    if serde_json::from_slice::<serde::de::IgnoredAny>(input).is_ok() {
        assert!(accepted, "another reader takes it for JSON");
    }
});
