//! Reading over values that nobody asks for, which are checked all the same.

use super::error::JsonError;
use super::piece::Piece;
use super::scanner::{DEEPEST, Scanned, Scanner};

impl<'a> Scanner<'a> {
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

    /// Reads over any value and gives its text; that of a string has its quotes.
    #[inline]
    pub fn value(&mut self) -> Scanned<&'a [u8]> {
        Ok(self.skip()?.of(self.text))
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
    pub(super) fn skip_string(&mut self) -> Scanned<bool> {
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

    /// Reads over one of the words that stand for a value; Python adds three to those of JSON.
    pub(super) fn skip_word(&mut self) -> Scanned<()> {
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

    fn piece(&self, start: usize) -> Scanned<Piece> {
        Piece::new(start, self.at).ok_or(JsonError {
            offset: start,
            expected: "a value of less than 4 GiB",
            found: self.text.get(start).copied(),
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_is_found_at_every_distance() {
        for length in 0..40 {
            let text = format!("\"{}\"", "\u{a3}".repeat(length));
            let mut scanner = Scanner::new(text.as_bytes());
            assert!(scanner.skip().is_ok() && scanner.end().is_ok(), "{length}");
            assert_eq!(quote_or_backslash(text.as_bytes(), 1), text.len() - 1);
        }
    }
}
