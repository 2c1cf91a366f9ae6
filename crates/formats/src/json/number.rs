//! Numbers, read as Python reads them.

use super::scanner::{Scanned, Scanner};

impl Scanner<'_> {
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

    /// Reads over a number; the scanner stands on its sign or first digit.
    #[inline]
    pub(super) fn skip_number(&mut self) -> Scanned<()> {
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

/// The value of a number's text; it rounds correctly, as Python's `float` does.
fn float(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
