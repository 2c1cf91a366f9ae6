//! The beginning of a file, as much of it as tells the format: mostly little, and of a file that was named itself, or in
//! whose folder no format knows anything, more where the first record alone is longer than that, or where no format knows
//! a text by the little: a log may stand above a table.

use std::io;
use std::path::Path;

use opscope_formats::input::Input;

/// How much of a file is looked at. Chrome's timelines may hold some tables before the first event.
const BYTES: u64 = 256 << 10;

/// How much is looked at where the first record goes on and on.
const MOST_BYTES: u64 = 16 << 20;

/// A text in JSON that is so long takes most of what is looked at.
const LONG_TEXT: usize = 64 << 10;

/// The little that is looked at of a file among others, unpacked, and whether it was compressed.
pub(crate) fn read_little(path: &Path) -> io::Result<(bool, Vec<u8>)> {
    Input::head(path, BYTES)
}

/// The beginning of a file that was named itself, unpacked, and whether it was compressed.
pub(crate) fn read(path: &Path) -> io::Result<(bool, Vec<u8>)> {
    let mut limit = BYTES;
    let mut head = Input::head(path, limit)?;
    while limit < MOST_BYTES && ends_in_first_record(&head.1) {
        limit *= 4;
        let more = Input::head(path, limit)?;
        let is_all = more.1.len() <= head.1.len();
        head = more;
        if is_all {
            break;
        }
    }
    Ok(head)
}

/// The most that is looked at of a file.
pub(crate) fn read_most(path: &Path) -> io::Result<(bool, Vec<u8>)> {
    Input::head(path, MOST_BYTES)
}

/// Whether more of a file may be there than the little that was looked at.
pub(crate) fn is_little(head: &[u8]) -> bool {
    reaches(head, BYTES) && !reaches(head, MOST_BYTES)
}

/// How many mebibytes of a file were looked at, if that is the most and more may be there.
pub(crate) fn most_mebibytes(head: &[u8]) -> Option<u64> {
    reaches(head, MOST_BYTES).then_some(MOST_BYTES >> 20)
}

/// Whether the first record of a file goes on behind the most that is looked at.
pub(crate) fn is_too_long(head: &[u8]) -> bool {
    reaches(head, MOST_BYTES) && ends_in_first_record(head)
}

/// Whether the beginning of a file has so many bytes, or a mark before UTF-8 less, which was taken off.
fn reaches(head: &[u8], limit: u64) -> bool {
    head.len() as u64 + 3 >= limit
}

/// Whether the beginning of a file is as long as the least that is looked at, and ends within a long text of JSON, or
/// within the first line of another text.
fn ends_in_first_record(head: &[u8]) -> bool {
    reaches(head, BYTES)
        && match head.trim_ascii_start().first() {
            Some(b'[' | b'{') => ends_in_long_text(head),
            _ => !head.iter().any(|byte| matches!(byte, b'\n' | 0)),
        }
}

fn ends_in_long_text(json: &[u8]) -> bool {
    let (mut begin, mut at) = (None, 0);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => begin = if begin.is_some() { None } else { Some(at) },
            b'\\' if begin.is_some() => at += 1,
            _ => {}
        }
        at += 1;
    }
    begin.is_some_and(|begin| json.len() - begin > LONG_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_read_where_the_first_record_is_longer_and_only_there() {
        let length = |content: &[u8]| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), content).unwrap();
            read(file.path()).unwrap().1.len()
        };
        let long = "a".repeat(1_500_000);
        let least = BYTES as usize;
        let stacks = format!("main;{long} 5\nmain;x 3\n");
        assert_eq!(length(stacks.as_bytes()), stacks.len());
        let profile = format!(r#"[{{"count": 9}}, {{"name": "{long}", "timeMs": 1}}]"#);
        assert_eq!(length(profile.as_bytes()), profile.len());
        assert_eq!(length(format!("x\n{long}").as_bytes()), least);
        let short = format!("[{}{{}}]", r#"{"name": "a \" b"}, "#.repeat(50_000));
        assert_eq!(length(short.as_bytes()), least);
        assert_eq!(length(&[&b"\x0a\x00"[..], long.as_bytes()].concat()), least);
        let longest = "a".repeat(MOST_BYTES as usize + 9);
        assert_eq!(length(longest.as_bytes()), MOST_BYTES as usize);
    }

    #[test]
    fn a_record_is_too_long_only_where_the_most_was_looked_at() {
        let text = "a".repeat(MOST_BYTES as usize);
        assert!(is_too_long(text.as_bytes()));
        assert!(!is_too_long(&text.as_bytes()[..300_000]), "a whole file of one line");
        assert!(!is_too_long(format!("x\n{text}").as_bytes()));
    }
}
