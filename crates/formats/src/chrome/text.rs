//! How text and times are spelled in JSON, appended to a buffer without allocating.

/// Appends `text` in quotation marks, escaped as JSON asks.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[plain..index]);
        plain = index + 1;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                const DIGITS: &[u8; 16] = b"0123456789abcdef";
                let (high, low) = (DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]);
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
        }
    }
    out.extend_from_slice(&bytes[plain..]);
    out.push(b'"');
}

/// Appends a whole number.
pub(crate) fn push_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends nanoseconds as microseconds with three decimals, the unit of the format. Readers turn
/// the decimals back into whole nanoseconds, which a detour over floating point would blur.
pub(crate) fn push_micros(out: &mut Vec<u8>, nanoseconds: u64) {
    push_number(out, nanoseconds / 1_000);
    let rest = (nanoseconds % 1_000) as u16;
    let digit = |value: u16| b'0' + (value % 10) as u8;
    out.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn any_text_comes_back_through_a_json_reader() {
        for text in ["", "conv1", "a\"b\\c/d", "\0\u{1f}\n\r\t", "größe 😀 \u{7f}", "ends in \\"] {
            let json = spelled(|out| push_string(out, text));
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text, "{json}");
        }
    }

    #[test]
    fn times_keep_every_nanosecond() {
        assert_eq!(spelled(|out| push_micros(out, 0)), "0.000");
        assert_eq!(spelled(|out| push_micros(out, 1_005)), "1.005");
        assert_eq!(spelled(|out| push_micros(out, 123_456_789_120)), "123456789.120");
        assert_eq!(spelled(|out| push_micros(out, u64::MAX)), "18446744073709551.615");
    }
}
