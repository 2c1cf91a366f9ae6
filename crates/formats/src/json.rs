//! A tokenizer for JSON text that lies in memory: it reads what is asked for and checks the rest
//! without building it.
//!
//! It is stricter than nothing but JSON and more lenient in one place: strings may hold raw control
//! characters and bytes that are no UTF-8, because MegEngine's own writer emits both.

use std::borrow::Cow;

use super::escapes::unescape;

/// How deep arrays and objects may nest; MegEngine's own files stay below 10.
const DEEPEST: u32 = 128;

/// Where JSON text is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: expected {expected}, found {}", describe(*.found))]
pub struct JsonError {
    /// How many bytes precede the place.
    pub offset: usize,
    /// What the text should have held there.
    pub expected: &'static str,
    /// What it holds; `None` is the end of the text.
    pub found: Option<u8>,
}

fn describe(found: Option<u8>) -> String {
    match found {
        None => "the end of the file".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => format!("'{}'", char::from(byte)),
        Some(byte) => format!("the byte {byte:#04x}"),
    }
}

/// A JSON value, as the range of the text that it takes: strings with their quotes.
///
/// The default is no value at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    start: usize,
    len: u32,
}

impl Piece {
    /// The value's text. A piece of another text gives an empty one.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.start + self.len as usize).unwrap_or_default()
    }

    /// Whether there is no value.
    pub fn is_none(self) -> bool {
        self.len == 0
    }

    pub(super) fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self { start, len: u32::try_from(end.checked_sub(start)?).ok()? })
    }
}

/// The inside of a string as it stands in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawText<'a> {
    /// The bytes between the quotes.
    pub bytes: &'a [u8],
    /// Whether any of them is a backslash, so that they don't stand for themselves.
    pub escaped: bool,
}

impl<'a> RawText<'a> {
    /// The bytes that the string stands for; only one with escapes is copied.
    #[inline]
    pub fn plain(self) -> Cow<'a, [u8]> {
        if self.escaped { unescape(self.bytes).into_owned().into_bytes().into() } else { self.bytes.into() }
    }
}

/// Reads JSON text from its beginning to its end.
pub(super) struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: u32,
    /// What ended the reading for good.
    ended: Option<JsonError>,
}

pub(super) type Scanned<T> = Result<T, JsonError>;

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

    /// Reads a number as Python's `json` does, or one of the words that MegEngine's writer puts in
    /// quotes (`"inf"`, `"nan"`); any other value is read over and gives `None`.
    #[inline]
    pub fn number(&mut self) -> Scanned<Option<f64>> {
        match self.peek() {
            Some(b'0'..=b'9') => {
                let start = self.at;
                let decimal = self.decimal()?;
                Ok(decimal.exact().or_else(|| float(&self.text[start..self.at])))
            }
            Some(b'-' | b'N' | b'I') => {
                let piece = self.skip()?;
                Ok(float(piece.of(self.text)))
            }
            Some(b'"') => Ok(match self.raw_string("a number")?.bytes {
                word @ (b"inf" | b"-inf" | b"nan" | b"-nan") => float(word),
                _ => None,
            }),
            _ => {
                self.skip()?;
                Ok(None)
            }
        }
    }

    /// Reads a whole number from 0; any other value is read over and gives `None`.
    pub fn whole(&mut self) -> Scanned<Option<u64>> {
        if !self.peek().is_some_and(|first| first.is_ascii_digit()) {
            self.skip()?;
            return Ok(None);
        }
        let start = self.at;
        let decimal = self.decimal()?;
        // Larger numbers and those with an exponent come out as near as 64 bits allow.
        Ok(decimal.whole().or_else(|| Some(float(&self.text[start..self.at])? as u64)))
    }

    /// Reads over any value, checking that it is one.
    pub fn skip(&mut self) -> Scanned<Piece> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'"') => drop(self.skip_string()?),
            Some(b'-' | b'0'..=b'9') => self.skip_number()?,
            Some(b'{' | b'[') => self.skip_nested()?,
            _ => self.skip_word()?,
        }
        self.piece(start)
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

    /// Reads over any value and gives its text; that of a string has its quotes.
    #[inline]
    pub fn value(&mut self) -> Scanned<&'a [u8]> {
        Ok(self.skip()?.of(self.text))
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

    /// Reads over an object or array, with one bit for each level that it is inside.
    fn skip_nested(&mut self) -> Scanned<()> {
        let mut is_object: u128 = 0;
        let mut levels = 0;
        loop {
            // Here a value begins.
            let opened = match self.peek() {
                Some(b'{') => Some(true),
                Some(b'[') => Some(false),
                Some(b'"') => {
                    self.skip_string()?;
                    None
                }
                Some(b'-' | b'0'..=b'9') => {
                    self.skip_number()?;
                    None
                }
                _ => {
                    self.skip_word()?;
                    None
                }
            };
            let mut ended = true;
            if let Some(object) = opened {
                if self.depth + levels >= DEEPEST {
                    return Err(self.wrong("no more than 128 levels of nesting"));
                }
                self.at += 1;
                levels += 1;
                is_object = is_object << 1 | u128::from(object);
                let close = if object { b'}' } else { b']' };
                ended = self.peek() == Some(close);
                if ended {
                    self.at += 1;
                    levels -= 1;
                    is_object >>= 1;
                }
            }
            // Here a value has ended, unless a level was opened just now.
            while ended {
                if levels == 0 {
                    return Ok(());
                }
                let object = is_object & 1 == 1;
                match (self.peek(), object) {
                    (Some(b','), _) => ended = false,
                    (Some(b'}'), true) | (Some(b']'), false) => {
                        levels -= 1;
                        is_object >>= 1;
                    }
                    (_, true) => return Err(self.wrong("',' or '}'")),
                    (_, false) => return Err(self.wrong("',' or ']'")),
                }
                self.at += 1;
            }
            if is_object & 1 == 1 {
                if self.peek() != Some(b'"') {
                    return Err(self.wrong("a name in quotes"));
                }
                self.skip_string()?;
                self.punctuation(b':', "':' after the name")?;
            }
        }
    }

    /// Reads over a string and tells whether it has escapes; the scanner stands on its opening quote.
    #[inline]
    fn skip_string(&mut self) -> Scanned<bool> {
        let mut at = self.at + 1;
        let mut escaped = false;
        loop {
            at = quote_or_backslash(self.text, at);
            match self.text.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(escaped);
                }
                Some(_) => {
                    at = self.escape(at)?;
                    escaped = true;
                }
                None => {
                    self.at = at;
                    return Err(self.wrong("the end of a string"));
                }
            }
        }
    }

    /// Where the text goes on after the escape at `at`.
    fn escape(&mut self, at: usize) -> Scanned<usize> {
        let length = match self.text.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') => {
                let digits = self.text.iter().skip(at + 2).take(4);
                let valid = digits.take_while(|digit| digit.is_ascii_hexdigit()).count();
                if valid < 4 {
                    self.at = at + 2 + valid;
                    return Err(self.wrong("four hexadecimal digits"));
                }
                6
            }
            _ => {
                self.at = at + 1;
                return Err(self.wrong("one of \"\\/bfnrtu after the backslash"));
            }
        };
        Ok(at + length)
    }

    /// Reads over a number; the scanner stands on its sign or first digit.
    #[inline]
    fn skip_number(&mut self) -> Scanned<()> {
        if self.text.get(self.at) == Some(&b'-') {
            self.at += 1;
            if self.text.get(self.at) == Some(&b'I') {
                return self.skip_word();
            }
        }
        self.decimal().map(drop)
    }

    /// Reads a number without sign.
    #[inline]
    fn decimal(&mut self) -> Scanned<Decimal> {
        let mut decimal = Decimal::default();
        if self.text.get(self.at) == Some(&b'0') {
            self.at += 1;
        } else {
            self.digits(&mut decimal)?;
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            let start = self.at;
            self.digits(&mut decimal)?;
            decimal.decimals = self.at - start;
        }
        if let Some(b'e' | b'E') = self.text.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.text.get(self.at) {
                self.at += 1;
            }
            self.digits(&mut Decimal::default())?;
            decimal.has_exponent = true;
        }
        Ok(decimal)
    }

    #[inline]
    fn digits(&mut self, decimal: &mut Decimal) -> Scanned<()> {
        let start = self.at;
        while let Some(digit @ b'0'..=b'9') = self.text.get(self.at) {
            decimal.digits = decimal.digits.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        decimal.count += self.at - start;
        if self.at == start { Err(self.wrong("a digit")) } else { Ok(()) }
    }

    /// Reads over one of the words that stand for a value; Python adds three to those of JSON.
    fn skip_word(&mut self) -> Scanned<()> {
        let rest = &self.text[self.at..];
        let words: [&[u8]; 5] = [b"null", b"true", b"false", b"NaN", b"Infinity"];
        match words.iter().find(|word| rest.starts_with(word)) {
            Some(word) => {
                self.at += word.len();
                Ok(())
            }
            None => Err(self.wrong("a value")),
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
    fn punctuation(&mut self, byte: u8, expected: &'static str) -> Scanned<()> {
        if self.peek() != Some(byte) {
            return Err(self.wrong(expected));
        }
        self.at += 1;
        Ok(())
    }

    fn piece(&self, start: usize) -> Scanned<Piece> {
        Piece::new(start, self.at).ok_or(JsonError {
            offset: start,
            expected: "a value of less than 4 GiB",
            found: self.text.get(start).copied(),
        })
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

/// A number's digits, read as one whole number that is right while there are at most 19 of them.
#[derive(Clone, Copy, Default)]
struct Decimal {
    digits: u64,
    count: usize,
    /// How many of the digits stand behind the point.
    decimals: usize,
    has_exponent: bool,
}

impl Decimal {
    /// The value, where one correctly rounded division gives it: both operands must be exact in 53
    /// bits, and powers of ten are up to the 22nd.
    #[inline]
    fn exact(&self) -> Option<f64> {
        const POWERS: [f64; 23] = [
            1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
            1e18, 1e19, 1e20, 1e21, 1e22,
        ];
        let fits = self.count <= 19 && self.digits <= 1 << 53 && !self.has_exponent;
        let power = POWERS.get(self.decimals).filter(|_| fits)?;
        Some(self.digits as f64 / power)
    }

    #[inline]
    fn whole(&self) -> Option<u64> {
        (self.count <= 19 && self.decimals == 0 && !self.has_exponent).then_some(self.digits)
    }
}

/// The position of the first quote or backslash at or after `at`, or where the text ends.
#[inline]
fn quote_or_backslash(text: &[u8], mut at: usize) -> usize {
    // Eight bytes at once: a byte of `x ^ pattern` is zero where it equals the pattern's, and the
    // lowest zero byte is the lowest whose top bit survives `(x - 1) & !x`.
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const TOPS: u64 = u64::from_ne_bytes([0x80; 8]);
    let zero_bytes = |x: u64| x.wrapping_sub(ONES) & !x & TOPS;
    while let Some(eight) = text.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let hits = zero_bytes(word ^ (ONES * u64::from(b'"'))) | zero_bytes(word ^ (ONES * u64::from(b'\\')));
        if hits != 0 {
            return at + hits.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| matches!(byte, b'"' | b'\\')).unwrap_or(rest.len())
}

/// The value of a number's text; it rounds correctly, as Python's `float` does.
fn float(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
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

    #[test]
    fn a_quote_is_found_at_every_distance() {
        for length in 0..40 {
            let text = format!("\"{}\"", "\u{a3}".repeat(length));
            assert_eq!(skip(&text), Ok(()), "{length}");
            assert_eq!(quote_or_backslash(text.as_bytes(), 1), text.len() - 1);
        }
    }

    #[test]
    fn numbers_are_read_as_python_reads_them() {
        let number = |text: &str| Scanner::new(text.as_bytes()).number().unwrap();
        assert_eq!(number("0.030904"), Some(0.030904));
        assert_eq!(number("-1E3"), Some(-1000.0));
        assert_eq!(number("123456789012345678901234567890"), Some(1.2345678901234568e29));
        assert_eq!(number("1e400"), Some(f64::INFINITY));
        assert_eq!(number("\"inf\""), Some(f64::INFINITY));
        assert!(number("\"nan\"").is_some_and(f64::is_nan));
        assert_eq!(number("\"fast\""), None);
        assert_eq!(number("null"), None);
        assert_eq!(number("[1]"), None);
    }
}
