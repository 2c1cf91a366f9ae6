//! Times in decimal text as whole nanoseconds, without a detour over floating point.

use opscope_trace::Nanoseconds;

/// Why text is no time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTime {
    /// It isn't a decimal number.
    NotANumber,
    /// Its nanoseconds don't fit in 64 bits.
    TooLarge,
}

/// How many nanoseconds a decimal number of microseconds is, to the nearest one, halves away from
/// zero. White space around the number is ignored: some tables put a tab behind it.
pub fn from_micros(text: &[u8]) -> Result<Nanoseconds, NoTime> {
    scaled(text, 3).map(Nanoseconds)
}

/// The same of a decimal number of units that are ten to the power of `unit` microseconds.
pub fn from_micros_times(text: &[u8], unit: i32) -> Result<Nanoseconds, NoTime> {
    scaled(text, unit.saturating_add(3)).map(Nanoseconds)
}

/// A decimal number as the nearest whole number, halves away from zero.
pub fn whole(text: &[u8]) -> Result<i64, NoTime> {
    scaled(text, 0)
}

/// `text` times ten to the power of `scale`, to the nearest whole number.
fn scaled(text: &[u8], scale: i32) -> Result<i64, NoTime> {
    let text = text.trim_ascii();
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let mut number = Significand::default();
    let after_whole = number.read_digits(digits, 0);
    let rest = &digits[after_whole..];
    let rest = match rest.split_first() {
        Some((b'.', decimals)) => {
            let read = number.read_digits(decimals, 1);
            if after_whole + read == 0 {
                return Err(NoTime::NotANumber);
            }
            &decimals[read..]
        }
        _ if after_whole == 0 => return Err(NoTime::NotANumber),
        _ => rest,
    };
    let exponent = match rest.split_first() {
        None => 0,
        Some((b'e' | b'E', exponent)) => read_exponent(exponent)?,
        Some(_) => return Err(NoTime::NotANumber),
    };
    let magnitude = number.times_ten_to(exponent.saturating_add(scale)).ok_or(NoTime::TooLarge)?;
    i64::try_from(if negative { -magnitude } else { magnitude }).map_err(|_| NoTime::TooLarge)
}

/// The digits of a number; its value is `digits` times ten to the power of `exponent`.
#[derive(Default)]
struct Significand {
    digits: u64,
    exponent: i32,
}

impl Significand {
    /// The largest value to which one more digit can be added.
    const ROOM: u64 = (u64::MAX - 9) / 10;

    /// Reads the digits at the beginning of `text`, each of which lowers the exponent by `step`,
    /// and tells how many there are. Digits beyond the nineteenth are too small to matter.
    #[inline]
    fn read_digits(&mut self, text: &[u8], step: i32) -> usize {
        let mut count = 0;
        while let Some(digit @ b'0'..=b'9') = text.get(count) {
            if self.digits <= Self::ROOM {
                self.digits = self.digits * 10 + u64::from(digit - b'0');
                self.exponent -= step;
            } else {
                self.exponent = self.exponent.saturating_add(1 - step);
            }
            count += 1;
        }
        count
    }

    /// The nearest whole number to the value times ten to the power of `scale`.
    fn times_ten_to(&self, scale: i32) -> Option<i128> {
        let digits = i128::from(self.digits);
        match self.exponent.saturating_add(scale) {
            _ if digits == 0 => Some(0),
            shift @ 0..=18 => Some(digits * 10i128.pow(shift as u32)),
            19.. => None,
            shift @ -20..0 => {
                let divisor = 10i128.pow(shift.unsigned_abs());
                Some((digits + divisor / 2) / divisor)
            }
            _ => Some(0),
        }
    }
}

fn read_exponent(text: &[u8]) -> Result<i32, NoTime> {
    let text = std::str::from_utf8(text).map_err(|_| NoTime::NotANumber)?;
    let negative = text.starts_with('-');
    match text.parse::<i32>() {
        Ok(exponent) => Ok(exponent),
        // Too many digits for 32 bits are a number all the same.
        Err(_) if text.len() > 1 && text.bytes().skip(1).all(|digit| digit.is_ascii_digit()) => {
            Ok(if negative { i32::MIN } else { i32::MAX })
        }
        Err(_) => Err(NoTime::NotANumber),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn nanoseconds(text: &str) -> Result<i64, NoTime> {
        from_micros(text.as_bytes()).map(|time| time.0)
    }

    #[test]
    fn microseconds_keep_every_nanosecond() {
        assert_eq!(nanoseconds("1736412474714258.990"), Ok(1_736_412_474_714_258_990));
        assert_eq!(nanoseconds("1736412474994600"), Ok(1_736_412_474_994_600_000));
        assert_eq!(nanoseconds("0.001"), Ok(1));
        assert_eq!(nanoseconds(" 9223372036854775.807\t"), Ok(i64::MAX));
        assert_eq!(nanoseconds("-9223372036854775.808"), Ok(i64::MIN));
        assert_eq!(nanoseconds("+5."), Ok(5_000));
        assert_eq!(nanoseconds(".5"), Ok(500));
        assert_eq!(nanoseconds("-0.0"), Ok(0));
    }

    #[test]
    fn finer_decimals_round_to_the_nearest_nanosecond() {
        assert_eq!(nanoseconds("828.33653125"), Ok(828_337));
        assert_eq!(nanoseconds("3.6500000000000004"), Ok(3_650));
        assert_eq!(nanoseconds("0.0005"), Ok(1));
        assert_eq!(nanoseconds("-0.0005"), Ok(-1));
        assert_eq!(nanoseconds("0.00049999999999999999999999"), Ok(0));
        assert_eq!(nanoseconds("289.73999999999995"), Ok(289_740));
    }

    #[test]
    fn exponents_shift_the_point() {
        assert_eq!(nanoseconds("1.5e3"), Ok(1_500_000));
        assert_eq!(nanoseconds("2E-3"), Ok(2));
        assert_eq!(nanoseconds("1e-400"), Ok(0));
        assert_eq!(nanoseconds("0e999999999999"), Ok(0));
        assert_eq!(nanoseconds("123456789e-99999999999"), Ok(0));
    }

    #[test]
    fn what_is_no_time_is_told_apart_from_what_is_too_late() {
        for text in ["", "-", ".", "abc", "1.2.3", "0x10", "1e", "1e+", "12 34", "N/A", "1e2e3", "nan"] {
            assert_eq!(nanoseconds(text), Err(NoTime::NotANumber), "{text}");
        }
        for text in ["9223372036854775.808", "1e30", "99999999999999999999999999999", "1e99999999999"] {
            assert_eq!(nanoseconds(text), Err(NoTime::TooLarge), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_time_written_with_three_decimals_comes_back(time: i64) {
            let (sign, size) = (if time < 0 { "-" } else { "" }, time.unsigned_abs());
            let text = format!("{sign}{}.{:03}", size / 1000, size % 1000);
            prop_assert_eq!(nanoseconds(&text), Ok(time));
        }

        #[test]
        fn any_bytes_are_judged_without_a_panic(text: Vec<u8>) {
            let _ = from_micros(&text);
        }
    }
}
