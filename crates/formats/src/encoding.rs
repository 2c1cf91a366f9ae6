//! Text in other encodings than UTF-8: UTF-16 is turned into it, others are told by their names.

/// The marks at the begin of text in UTF-16, and whether the low byte of a unit comes first.
const MARKS: [([u8; 2], bool); 2] = [([0xFF, 0xFE], true), ([0xFE, 0xFF], false)];

/// Whether text begins as UTF-16 does.
pub fn is_utf16(bytes: &[u8]) -> bool {
    MARKS.iter().any(|(mark, _)| bytes.starts_with(mark))
}

/// Text in UTF-16 with its mark, as UTF-8 without; whatever is no letter becomes U+FFFD. `None` if there is no mark.
pub fn from_utf16(bytes: &[u8]) -> Option<String> {
    let (_, low_first) = *MARKS.iter().find(|(mark, _)| bytes.starts_with(mark))?;
    let unit = |pair: &[u8]| {
        let pair = [pair[0], pair[1]];
        if low_first { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) }
    };
    let letters = char::decode_utf16(bytes[2..].chunks_exact(2).map(unit));
    Some(letters.map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// The encoding that text seems to have; `None` for UTF-8, and for what is no text.
///
/// The bytes may be cut off within a letter.
pub fn other_encoding(bytes: &[u8]) -> Option<&'static str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if is_utf16(bytes) || has_zero_halves(bytes) {
        return Some("UTF-16");
    }
    match std::str::from_utf8(bytes) {
        Ok(_) => None,
        Err(error) if error.error_len().is_none() => None,
        Err(_) => is_gbk(bytes).then_some("GBK (GB 18030)"),
    }
}

/// Whether every second byte of a begin is 0, as in Latin text in UTF-16.
fn has_zero_halves(bytes: &[u8]) -> bool {
    const SHORTEST: usize = 8;
    const LOOKED_AT: usize = 64;
    let begin = &bytes[..bytes.len().min(LOOKED_AT)];
    let zeros = |first: usize| begin.iter().skip(first).step_by(2).all(|byte| *byte == 0);
    let letters =
        |first: usize| begin.iter().skip(first).step_by(2).all(|byte| byte.is_ascii() && *byte != 0);
    begin.len() >= SHORTEST && [(0, 1), (1, 0)].iter().any(|(zero, letter)| zeros(*zero) && letters(*letter))
}

/// Whether bytes are ASCII text with pairs or fours of GB 18030 among it.
fn is_gbk(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        rest = match rest {
            [] => return true,
            [letter, rest @ ..] if letter.is_ascii() => {
                if letter.is_ascii_control() && !letter.is_ascii_whitespace() {
                    return false;
                }
                rest
            }
            [0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE, rest @ ..] => rest,
            [0x81..=0xFE, b'0'..=b'9', 0x81..=0xFE, b'0'..=b'9', rest @ ..] => rest,
            // Cut off within a letter.
            [0x81..=0xFE] | [0x81..=0xFE, b'0'..=b'9'] | [0x81..=0xFE, b'0'..=b'9', 0x81..=0xFE] => {
                return true;
            }
            _ => return false,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, low_first: bool) -> Vec<u8> {
        let bytes = |unit: u16| if low_first { unit.to_le_bytes() } else { unit.to_be_bytes() };
        std::iter::once(0xFEFF).chain(text.encode_utf16()).flat_map(bytes).collect()
    }

    #[test]
    fn utf_16_of_both_orders_becomes_utf_8() {
        for low_first in [true, false] {
            let bytes = utf16("a,任务\n😀", low_first);
            assert_eq!(from_utf16(&bytes).as_deref(), Some("a,任务\n😀"));
            assert_eq!(from_utf16(&bytes[..bytes.len() - 1]).as_deref(), Some("a,任务\n\u{fffd}"));
        }
        assert_eq!(from_utf16(b"a,b"), None);
    }

    #[test]
    fn encodings_are_told_apart() {
        // "任务" and "时长" in GBK.
        let gbk = b"\xc8\xce\xce\xf1,\xca\xb1\xb3\xa4(us)\n1,2\n";
        for length in [1, 3, 4, 8, gbk.len()] {
            let expected = (length > 1).then_some("GBK (GB 18030)");
            assert_eq!(other_encoding(&gbk[..length]), expected, "{length}");
        }
        assert_eq!(other_encoding("任务,时长\n".as_bytes()), None);
        assert_eq!(other_encoding(&"任务".as_bytes()[..4]), None);
        assert_eq!(other_encoding(&utf16("Name,", true)), Some("UTF-16"));
        assert_eq!(other_encoding(&utf16("Name,Type", false)[2..]), Some("UTF-16"));
        for none in [&b""[..], b"Name", b"\x80\x02", b"\xc8\xce\x01", b"\xc8\xff\0"] {
            assert_eq!(other_encoding(none), None, "{none:?}");
        }
    }
}
