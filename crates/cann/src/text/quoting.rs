//! Texts in CSV and JSON files.

use std::io::Write;

/// Writes a cell after RFC 4180: in quotes where it must be.
pub(crate) fn push_csv(out: &mut Vec<u8>, text: &str) {
    if has_none(text.as_bytes(), |word| {
        equal(word, b',') | equal(word, b'"') | equal(word, b'\n') | equal(word, b'\r')
    }) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

/// Writes a JSON string.
pub(crate) fn push_json(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_json_inner(out, text);
    out.push(b'"');
}

/// Writes a part of a JSON string, without quotes.
pub(crate) fn push_json_inner(out: &mut Vec<u8>, text: &str) {
    if has_none(text.as_bytes(), |word| below_space(word) | equal(word, b'"') | equal(word, b'\\')) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    for byte in text.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\r' => out.extend_from_slice(b"\\r"),
            0..0x20 => {
                // Writing to a vector can't fail.
                let _ = write!(out, "\\u{byte:04x}");
            }
            _ => out.push(byte),
        }
    }
}

/// Whether no letter of a text is special, eight letters at a time: nearly no text has any, but millions
/// are looked at. `special` has the top bit of some byte set if one of the eight is.
#[inline(always)]
fn has_none(text: &[u8], special: impl Fn(u64) -> u64) -> bool {
    let (words, rest) = text.as_chunks::<8>();
    let of_words = words.iter().fold(0, |sum, word| sum | special(u64::from_le_bytes(*word)));
    // Filled up with a letter that is never special.
    let mut last = [b'a'; 8];
    match text.last_chunk::<8>() {
        // The last eight letters overlap those before them.
        Some(whole) => last = *whole,
        None => last[..rest.len()].copy_from_slice(rest),
    }
    (of_words | special(u64::from_le_bytes(last))) & TOPS == 0
}

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);

/// Has top bits set if one of eight bytes is `letter`, which must be below 0x80.
#[inline(always)]
fn equal(word: u64, letter: u8) -> u64 {
    let difference = word ^ (ONES * letter as u64);
    difference.wrapping_sub(ONES) & !difference
}

/// Has top bits set if one of eight bytes is below that of a space.
#[inline(always)]
fn below_space(word: u64) -> u64 {
    word.wrapping_sub(ONES * 0x20) & !word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(push: fn(&mut Vec<u8>, &str), text: &str) -> String {
        let mut out = Vec::new();
        push(&mut out, text);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn one_special_letter_anywhere_in_a_text_is_found() {
        for length in 0..30 {
            let plain = "x".repeat(length);
            assert_eq!(written(push_csv, &plain), plain);
            assert_eq!(written(push_json, &plain), format!("\"{plain}\""));
            for place in 0..length {
                for letter in (0..0x80u8).map(char::from).chain(['ä', '\u{a0}', '界']) {
                    let text = format!("{}{letter}{}", &plain[..place], &plain[place + 1..]);
                    let is_quoted = written(push_csv, &text) != text;
                    assert_eq!(is_quoted, matches!(letter, ',' | '"' | '\n' | '\r'), "{text:?}");
                    let json = written(push_json, &text);
                    assert_eq!(serde_json::from_str::<String>(&json).ok(), Some(text.clone()), "{json}");
                }
            }
        }
    }

    #[test]
    fn quotes_within_a_cell_are_doubled() {
        assert_eq!(written(push_csv, "\"2,3\""), "\"\"\"2,3\"\"\"");
    }
}
