//! The scanner: where it stands, and what objects, arrays and strings hold.

use super::error::JsonError;
use super::piece::RawText;

/// How deep arrays and objects may nest; MegEngine's own files stay below 10.
pub(super) const DEEPEST: u32 = 128;

/// Reads JSON text from its beginning to its end.
pub(crate) struct Scanner<'a> {
    pub(super) text: &'a [u8],
    pub(super) at: usize,
    pub(super) depth: u32,
    /// The error that ended the reading for good.
    ended: Option<JsonError>,
}

pub(crate) type Scanned<T> = Result<T, JsonError>;

impl<'a> Scanner<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        let at = if text.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        Self { text, at, depth: 0, ended: None }
    }

    /// A scanner that begins in the middle of the text, where a value must begin or end.
    pub fn starting_at(text: &'a [u8], at: usize) -> Self {
        Self { text, at, depth: 0, ended: None }
    }

    /// The first byte of the next value; the scanner then stands on it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Reads an object and hands each name to `field`, which must read the name's value.
    pub fn object(
        &mut self,
        expected: &'static str,
        mut field: impl FnMut(&mut Self, &[u8]) -> Scanned<()>,
    ) -> Scanned<()> {
        self.entries(expected, |scanner, name| match name.escaped {
            false => field(scanner, name.bytes),
            true => field(scanner, &name.plain()),
        })
    }

    /// The same, with names as they stand in the text, not unescaped.
    pub fn entries(
        &mut self,
        expected: &'static str,
        mut entry: impl FnMut(&mut Self, RawText<'a>) -> Scanned<()>,
    ) -> Scanned<()> {
        self.open(b'{', expected)?;
        if self.closes(b'}') {
            return Ok(());
        }
        loop {
            let name = self.raw_string("a name in quotes")?;
            self.punctuation(b':', "':' after the name")?;
            entry(self, name)?;
            if !self.continues(b'}', "',' or '}'")? {
                return Ok(());
            }
        }
    }

    /// Reads an array and calls `element` at each of its values, which it must read.
    pub fn array(
        &mut self,
        expected: &'static str,
        mut element: impl FnMut(&mut Self) -> Scanned<()>,
    ) -> Scanned<()> {
        self.open(b'[', expected)?;
        if self.closes(b']') {
            return Ok(());
        }
        loop {
            element(self)?;
            if !self.continues(b']', "',' or ']'")? {
                return Ok(());
            }
        }
    }

    /// Reads a string.
    #[inline]
    pub fn raw_string(&mut self, expected: &'static str) -> Scanned<RawText<'a>> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong(expected));
        }
        let start = self.at + 1;
        let escaped = self.skip_string()?;
        Ok(RawText { bytes: &self.text[start..self.at - 1], escaped })
    }

    /// Where the scanner stands, in bytes from the beginning.
    #[inline]
    pub fn position(&self) -> usize {
        self.at
    }

    /// Goes on elsewhere, where a value of the same depth begins or has ended.
    pub fn move_to(&mut self, position: usize) {
        self.at = position;
    }

    /// Reads over `byte` if it is what follows.
    #[inline]
    pub fn takes(&mut self, byte: u8) -> bool {
        let takes = self.peek() == Some(byte);
        self.at += usize::from(takes);
        takes
    }

    /// Checks that nothing but white space follows.
    pub fn end(&mut self) -> Scanned<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wrong("the end of the file")),
        }
    }

    /// Enters an object or array.
    #[inline]
    fn open(&mut self, bracket: u8, expected: &'static str) -> Scanned<()> {
        if self.peek() != Some(bracket) {
            return Err(self.wrong(expected));
        }
        if self.depth >= DEEPEST {
            return Err(self.wrong("no more than 128 levels of nesting"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Leaves an object or array if it ends here.
    #[inline]
    fn closes(&mut self, bracket: u8) -> bool {
        let closes = self.peek() == Some(bracket);
        if closes {
            self.at += 1;
            self.depth -= 1;
        }
        closes
    }

    /// Reads over the comma behind a member, or leaves the object or array that ends here.
    #[inline]
    fn continues(&mut self, bracket: u8, expected: &'static str) -> Scanned<bool> {
        if self.closes(bracket) {
            return Ok(false);
        }
        self.punctuation(b',', expected)?;
        Ok(true)
    }

    #[inline]
    pub(super) fn punctuation(&mut self, byte: u8, expected: &'static str) -> Scanned<()> {
        if self.peek() != Some(byte) {
            return Err(self.wrong(expected));
        }
        self.at += 1;
        Ok(())
    }

    /// Ends the reading: whatever is asked for from now on fails as this did.
    pub fn end_with(&mut self, error: JsonError) {
        self.at = self.text.len();
        self.ended.get_or_insert(error);
    }

    /// The error of finding something else where the scanner stands.
    pub fn wrong(&self, expected: &'static str) -> JsonError {
        if let Some(error) = &self.ended {
            return error.clone();
        }
        JsonError { offset: self.at, expected, found: self.text.get(self.at).copied() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(text: &str) -> Result<(), JsonError> {
        let mut scanner = Scanner::new(text.as_bytes());
        scanner.skip()?;
        scanner.end()
    }

    #[test]
    fn every_kind_of_value_is_read_over() {
        for text in [
            "{ }",
            "[]",
            r#"{ "a": [ 1, -2.5e-3, "x\u00e9\\", null], "b": { "c": true}}"#,
            " [ [ [ ] ], { \"a\" : { } } ] \n",
            "0",
            "\"plain\"",
            "-Infinity",
            "[NaN]",
        ] {
            assert_eq!(skip(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_error_tells_where_and_what_was_expected() {
        for (text, offset, expected) in [
            ("", 0, "a value"),
            ("[1 2]", 3, "',' or ']'"),
            ("{\"a\" 1}", 5, "':' after the name"),
            ("{\"a\": 1,}", 8, "a name in quotes"),
            ("[1,]", 3, "a value"),
            ("{\"a\": [1}", 8, "',' or ']'"),
            ("\"abc", 4, "the end of a string"),
            ("\"a\\x\"", 3, "one of \"\\/bfnrtu after the backslash"),
            ("\"\\u12g4\"", 5, "four hexadecimal digits"),
            ("-", 1, "a digit"),
            ("1.", 2, "a digit"),
            ("01", 1, "the end of the file"),
            ("nul", 0, "a value"),
            ("{} {}", 3, "the end of the file"),
        ] {
            let error = skip(text).expect_err(text);
            assert_eq!((error.offset, error.expected), (offset, expected), "{text}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        assert_eq!(skip(&format!("{}{}", "[".repeat(128), "]".repeat(128))), Ok(()));
        assert_eq!(skip(&"[".repeat(1_000_000)).map_err(|error| error.offset), Err(128));
        assert!(skip(&"{\"a\":".repeat(1_000_000)).is_err());
    }
}
