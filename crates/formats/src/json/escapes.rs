//! The text that a JSON string stands for.

use std::borrow::Cow;

fn without_quotes(string: &[u8]) -> &[u8] {
    string.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or_default()
}

/// The text that a string value stands for; what is no UTF-8, or half of a surrogate pair, becomes
/// U+FFFD. Other values stand for an empty text.
pub(crate) fn string_text(string: &[u8]) -> Cow<'_, str> {
    unescape(without_quotes(string))
}

/// The text of a string's inside.
pub(crate) fn unescape(raw: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(raw);
    if !text.contains('\\') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(backslash) = rest.find('\\') {
        plain.push_str(&rest[..backslash]);
        let (character, length) = escaped(&rest[backslash + 1..]);
        plain.push(character);
        rest = &rest[backslash + 1 + length..];
    }
    plain.push_str(rest);
    plain.into()
}

/// The character that an escape stands for, given what follows its backslash, and how many bytes
/// it takes there.
fn escaped(after: &str) -> (char, usize) {
    let character = match after.bytes().next() {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(after),
        Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
        _ => return (char::REPLACEMENT_CHARACTER, 0),
    };
    (character, 1)
}

/// The same for `u` with four digits, or two of them that make up one character.
fn unicode_escape(after: &str) -> (char, usize) {
    let unit = |at: usize| u32::from_str_radix(after.get(at..at + 4)?, 16).ok();
    let Some(first) = unit(1) else { return (char::REPLACEMENT_CHARACTER, 1) };
    if let (0xd800..0xdc00, Some("\\u"), Some(second @ 0xdc00..0xe000)) = (first, after.get(5..7), unit(7)) {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 11);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_unescaped_and_damaged_ones_repaired() {
        assert_eq!(
            string_text(br#""CompNode(\"cpu0:0\" from \"xpux:0\")""#),
            r#"CompNode("cpu0:0" from "xpux:0")"#
        );
        assert_eq!(string_text(br#""a\/b\n\u00e9\ud83d\ude00\ud83dx""#), "a/b\n\u{e9}\u{1f600}\u{fffd}x");
        assert_eq!(string_text(b"\"caf\xe9\""), "caf\u{fffd}");
        assert_eq!(string_text(b"17"), "");
    }
}
