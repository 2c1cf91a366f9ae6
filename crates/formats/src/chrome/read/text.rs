//! JSON values as they stand in the file, and what they stand for.

use std::borrow::Cow;

use crate::json::string_text;

/// A JSON value as it stands in the file; a string has its quotes.
pub type Raw<'a> = &'a [u8];

/// The text of a JSON value: of a string what it stands for, of others how they are written.
pub fn text_of(raw: Raw<'_>) -> Cow<'_, str> {
    if raw.starts_with(b"\"") { string_text(raw) } else { String::from_utf8_lossy(raw) }
}

/// The inside of a string, without its quotes; other values stay as they are.
pub(super) fn unquoted(raw: Raw<'_>) -> &[u8] {
    raw.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(raw)
}

/// A whole number from 0, with or without quotes.
pub(super) fn number(raw: Raw<'_>) -> Option<u64> {
    let digits = unquoted(raw);
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |number, digit| match digit {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(digit - b'0')),
        _ => None,
    })
}

/// A whole number from 0 that fits into 32 bits.
pub(super) fn small_number(raw: Raw<'_>) -> Option<u32> {
    number(raw).and_then(|number| u32::try_from(number).ok())
}
