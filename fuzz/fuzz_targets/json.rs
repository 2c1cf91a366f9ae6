//! The tokenizer of JSON text: whatever another reader takes for JSON it must take too.
#![no_main]
#![allow(dead_code, reason = "the readers of formats use the rest")]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/formats/src/escapes.rs"]
mod escapes;
#[path = "../../crates/formats/src/json.rs"]
mod json;

fuzz_target!(|input: &[u8]| {
    let mut scanner = json::Scanner::new(input);
    let accepted = scanner.value().is_ok() && scanner.end().is_ok();
    // The other reader begins after a byte order mark only if told so, and nests as deep.
    if serde_json::from_slice::<serde::de::IgnoredAny>(input).is_ok() {
        assert!(accepted, "another reader takes it for JSON");
    }
});
