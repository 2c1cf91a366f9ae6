//! Text in other encodings than UTF-8: UTF-16 with its mark and GB 18030 are turned into it, others are told by
//! their names.

use encoding_rs::{Encoding, GB18030, UTF_16BE, UTF_16LE};

/// The name of GB 18030, of which GBK, as Chinese editions of spreadsheets save tables, is a part.
const GBK: &str = "GBK (GB 18030)";

/// How much of a text its encoding is told by. No line of headings is longer.
const LOOKED_AT: usize = 1 << 16;

/// The encoding of text that is turned into UTF-8, by its begin: UTF-16 by its mark, GB 18030 by the letters of
/// the first line, but for JSON.
pub fn turned_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    match Encoding::for_bom(bytes) {
        Some((encoding, _)) if encoding == UTF_16LE || encoding == UTF_16BE => return Some(encoding),
        Some(_) => return None,
        None => {}
    }
    let line = bytes[..bytes.len().min(LOOKED_AT)].split(|byte| *byte == b'\n').next().unwrap_or_default();
    // JSON is UTF-8. A damaged byte of it would make a pair with the next one, such as the backslash of an escape.
    if matches!(line.trim_ascii_start().first(), Some(b'{' | b'[')) {
        return None;
    }
    (other_encoding(line) == Some(GBK) && !has_control(bytes)).then_some(GB18030)
}

/// Whether a begin has control characters, which no text has: signatures such as those of PNG and HDF5 look like a letter
/// in their first line.
fn has_control(bytes: &[u8]) -> bool {
    const LOOKED_AT: usize = 64;
    bytes.iter().take(LOOKED_AT).any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace())
}

/// Text in an encoding that is turned, as UTF-8 without a mark; whatever is no letter becomes U+FFFD. `None` if it
/// is in no such encoding.
pub fn to_utf8(bytes: &[u8]) -> Option<String> {
    turned_encoding(bytes).map(|encoding| encoding.decode(bytes).0.into_owned())
}

/// The encoding that text seems to have; `None` for UTF-8, and for what is no text.
///
/// The bytes may be cut off within a letter.
pub fn other_encoding(bytes: &[u8]) -> Option<&'static str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || has_zero_halves(bytes) {
        return Some("UTF-16");
    }
    match std::str::from_utf8(bytes) {
        Ok(_) => None,
        Err(error) if error.error_len().is_none() => None,
        Err(_) => is_gbk(bytes).then_some(GBK),
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
    fn signatures_of_files_that_are_no_text_are_not_turned() {
        for begin in [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], b"\x89HDF\r\n\x1a\n\0\0\0"] {
            assert_eq!(to_utf8(begin), None);
        }
    }

    #[test]
    fn utf_16_of_both_orders_becomes_utf_8() {
        for low_first in [true, false] {
            let bytes = utf16("a,任务\n😀", low_first);
            assert_eq!(to_utf8(&bytes).as_deref(), Some("a,任务\n😀"));
            assert_eq!(to_utf8(&bytes[..bytes.len() - 1]).as_deref(), Some("a,任务\n\u{fffd}"));
        }
        assert_eq!(to_utf8(b"a,b"), None);
    }

    #[test]
    fn gb_18030_is_turned_by_the_letters_of_the_first_line() {
        // "任务" in GBK, and a letter of four bytes.
        assert_eq!(to_utf8(b"a,\xc8\xce\xce\xf1\n1,\x94\x39\xda\x33").as_deref(), Some("a,任务\n1,💩"));
        assert_eq!(to_utf8(b"\xc8\xce\n\xff").as_deref(), Some("任\n\u{fffd}"));
        // Below headings in ASCII, bytes may be of any encoding.
        for kept in [
            &b"{\"a\x81\\\"b\": 1}"[..],
            b" [\"\xc8\xce\"]",
            b"a,b\n\xc8\xce",
            "任\n".as_bytes(),
            "\u{feff}任\n".as_bytes(),
            b"\xc8\x01\n",
        ] {
            assert_eq!(to_utf8(kept), None, "{kept:?}");
        }
    }

    #[test]
    fn encodings_are_told_apart() {
        // "任务" and "时长" in GBK.
        let gbk = b"\xc8\xce\xce\xf1,\xca\xb1\xb3\xa4(us)\n1,2\n";
        for length in [1, 3, 4, 8, gbk.len()] {
            let expected = (length > 1).then_some(GBK);
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
