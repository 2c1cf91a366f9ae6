//! Texts from files and hosts, made visible: escape sequences could recolour or rewrite the terminal,
//! line breaks make up messages, and marks of direction show another name than is there.

use std::borrow::Cow;
use std::io::{self, Write};

/// The sequences by which the program's own texts are styled: reset, bold, dim, red, yellow.
const OWN_STYLES: [&str; 5] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[31m", "\u{1b}[33m"];

/// Whether a letter does something to the text around it instead of being shown: controls, and marks of
/// direction, of invisible joints and of the order of bytes.
fn is_active(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
        )
}

/// The most letters of a name or a line that are shown: files may hold names of a megabyte.
const LONGEST: usize = 4_000;

/// A name or a line from a file, in which everything active is spelled out, line ends as well. Of a very long one
/// only the ends are shown.
pub fn printable(text: &str) -> Cow<'_, str> {
    let text = match shortened(text, LONGEST) {
        Cow::Borrowed(text) => text,
        Cow::Owned(short) => return spelled_out(&short).into_owned().into(),
    };
    spelled_out(text)
}

/// The beginning and end of a text of more than `longest` letters, and nothing of what is between.
pub fn shortened(text: &str, longest: usize) -> Cow<'_, str> {
    if text.len() <= longest || text.char_indices().nth(longest).is_none() {
        return text.into();
    }
    let kept = longest / 2 - 2;
    let begin = text.char_indices().nth(kept).map_or(text.len(), |(end, _)| end);
    let end = text.char_indices().nth_back(kept - 1).map_or(0, |(start, _)| start);
    format!("{} … {}", &text[..begin], &text[end..]).into()
}

fn spelled_out(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_active) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        match letter {
            _ if !is_active(letter) => shown.push(letter),
            _ if letter.is_control() => shown.extend(letter.escape_debug()),
            _ => shown.extend(letter.escape_unicode()),
        }
    }
    Cow::Owned(shown)
}

/// A whole text of the program's: line ends, tabs and its own styles stay, and all else that is active is
/// spelled out as JSON does it (`\u001b`), so that JSON stays what it is.
pub fn harmless(text: &str) -> Cow<'_, str> {
    let is_kept = |letter: char| letter == '\n' || letter == '\t' || !is_active(letter);
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let style = OWN_STYLES.iter().find(|style| rest.starts_with(**style));
        let length = style.map_or(letter.len_utf8(), |style| style.len());
        match style {
            Some(style) => shown.push_str(style),
            None if is_kept(letter) => shown.push(letter),
            None => shown.push_str(&format!("\\u{:04x}", u32::from(letter))),
        }
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// A whole text of the program's about words of the command line, in which the line breaks of those words are
/// spelled out as well.
pub fn harmless_about(text: &str, words: &[&str]) -> String {
    let mut text = text.to_owned();
    for line in words.iter().flat_map(|word| word.split('\n').skip(1)).filter(|line| !line.is_empty()) {
        text = text.replace(&format!("\n{line}"), &format!("\\n{line}"));
    }
    harmless(&text).into_owned()
}

/// Output of data: exact where a program reads it, and harmless, line by line, on a terminal.
pub struct DataOutput<W: Write> {
    out: W,
    /// The unfinished line; `None` where bytes go out as they are.
    line: Option<Vec<u8>>,
}

impl<W: Write + io::IsTerminal> DataOutput<W> {
    /// Whether it is a terminal shows when it is opened.
    pub fn new(out: W) -> Self {
        let line = out.is_terminal().then(Vec::new);
        Self { out, line }
    }
}

impl<W: Write> Write for DataOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(line) = &mut self.line else { return self.out.write(bytes) };
        line.extend_from_slice(bytes);
        if let Some(end) = line.iter().rposition(|byte| *byte == b'\n') {
            let rest = line.split_off(end + 1);
            let whole = std::mem::replace(line, rest);
            self.out.write_all(harmless(&String::from_utf8_lossy(&whole)).as_bytes())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(line) = self.line.as_mut().filter(|line| !line.is_empty()) {
            let rest = std::mem::take(line);
            self.out.write_all(harmless(&String::from_utf8_lossy(&rest)).as_bytes())?;
        }
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::{bold, dim};

    #[test]
    fn a_name_shows_all_that_is_in_it() {
        assert_eq!(printable("a\u{1b}[31mb\n\r\u{7}\u{9b}"), "a\\u{1b}[31mb\\n\\r\\u{7}\\u{9b}");
        assert_eq!(printable("\u{202e}gpj.exe\u{2066}"), "\\u{202e}gpj.exe\\u{2066}");
        assert!(matches!(printable("卷积/Conv é"), Cow::Borrowed(_)));
    }

    #[test]
    fn of_what_is_too_long_the_ends_are_shown() {
        assert_eq!(shortened("卷积", 2), "卷积");
        assert_eq!(shortened("0123456789", 8), "01 … 89");
        let name = printable(&format!("begin\u{7}{}end", "x".repeat(1_000_000))).into_owned();
        assert!(name.starts_with("begin\\u{7}x") && name.ends_with("xend") && name.len() < 5_000, "{name}");
    }

    #[test]
    fn a_text_keeps_its_own_styles_and_nobody_elses() {
        let own = format!("{}\n\t{}", bold("time"), dim("less"));
        assert_eq!(harmless(&own), own);
        assert_eq!(harmless("x\u{1b}[2J\u{1b}]0;title\u{7}"), "x\\u001b[2J\\u001b]0;title\\u0007");
    }

    #[test]
    fn json_means_the_same_afterwards() {
        let value = serde_json::json!({ "name": "a\u{1b}[0m\u{202e}\u{7f}\u{85}\n" });
        let shown = harmless(&value.to_string()).into_owned();
        assert!(!shown.chars().any(is_active), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).expect("JSON"), value);
    }

    #[test]
    fn data_are_exact_for_programs_and_harmless_on_a_terminal() {
        let text = "a,\u{1b}[2J\u{202e}\nb".as_bytes();
        for (line, expected) in [(None, text), (Some(Vec::new()), br"a,\u001b[2J\u202e|b".as_slice())] {
            // Cut at every place, within letters as well.
            for cut in 0..text.len() {
                let mut output = DataOutput { out: Vec::new(), line: line.clone() };
                output.write_all(&text[..cut]).expect("memory");
                output.write_all(&text[cut..]).expect("memory");
                output.flush().expect("memory");
                let found = String::from_utf8(output.out).expect("text");
                let expected = String::from_utf8_lossy(expected).replace('|', "\n");
                assert_eq!(found, expected, "{cut}");
            }
        }
    }
}
