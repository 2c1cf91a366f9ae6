//! Numbers in the digits of the reference.
//!
//! Three ways of rounding to three decimals occur, and they differ in ties:
//! - SQLite's `ROUND`: half away from zero, on the 15 significant digits of the value;
//! - Python's `round`: the exact binary value, ties to even;
//! - truncation of whole nanoseconds, which is no rounding at all.

use std::io::Write;

pub use crate::text::digits::push_integer;
use crate::text::digits::push_thousandths;

/// Writes a time or duration of whole nanoseconds as microseconds with three decimals.
#[inline]
pub fn push_micros(out: &mut Vec<u8>, nanoseconds: i64) {
    if nanoseconds < 0 {
        out.push(b'-');
    }
    push_thousandths(out, nanoseconds.unsigned_abs(), true);
}

/// Writes a duration of whole nanoseconds as microseconds with one to three decimals.
#[inline]
pub fn push_micros_trimmed(out: &mut Vec<u8>, nanoseconds: i64) {
    if nanoseconds < 0 {
        out.push(b'-');
    }
    push_thousandths(out, nanoseconds.unsigned_abs(), false);
}

/// Writes what SQLite prints for `ROUND(value, 3)`: at least one decimal.
#[inline]
pub fn push_sqlite_round(out: &mut Vec<u8>, value: f64) {
    match sqlite_thousandths(value) {
        Some(thousandths) => {
            if thousandths < 0 {
                out.push(b'-');
            }
            push_thousandths(out, thousandths.unsigned_abs(), false);
        }
        None => push_float(out, value),
    }
}

/// `ROUND(value, 3)` in thousandths; `None` where the value is too large for decimals to matter.
fn sqlite_thousandths(value: f64) -> Option<i64> {
    let scaled = value * 1_000.0;
    if !scaled.is_finite() || scaled.abs() > 1e15 {
        return None;
    }
    // Only near a tie do the decimal digits decide.
    nearest(scaled, FIFTEEN_DIGITS).or_else(|| decimal_thousandths(value))
}

/// More than a number changes, in relation to itself, when it is rounded to 15 digits and scaled.
const FIFTEEN_DIGITS: f64 = 2e-14;

/// More than a number changes, in relation to itself, when it is scaled.
const SCALED: f64 = 1e-15;

/// The integer nearest to a number below 10¹⁵, unless the number is so near to the middle between two
/// that what it may have changed by decides.
#[inline]
fn nearest(scaled: f64, change: f64) -> Option<i64> {
    let towards_zero = scaled as i64;
    let rest = (scaled - towards_zero as f64).abs();
    let is_clear = (rest - 0.5).abs() > change * scaled.abs().max(1.0);
    let away = i64::from(rest > 0.5) * if scaled < 0.0 { -1 } else { 1 };
    is_clear.then_some(towards_zero + away)
}

/// Rounds half away from zero on the 15 significant digits of the value.
fn decimal_thousandths(value: f64) -> Option<i64> {
    let text = format!("{:.14e}", value.abs());
    let (mantissa, exponent) = text.split_once('e')?;
    let digits: u64 =
        mantissa.bytes().filter(u8::is_ascii_digit).fold(0, |n, d| n * 10 + u64::from(d - b'0'));
    // value = digits · 10^(exponent − 14); thousandths are digits · 10^(exponent − 11).
    let shift = exponent.parse::<i32>().ok()? - 11;
    let thousandths = if shift >= 0 {
        digits.checked_mul(10u64.checked_pow(shift as u32)?)?
    } else {
        let divisor = 10u64.checked_pow(shift.unsigned_abs()).unwrap_or(u64::MAX);
        digits / divisor + u64::from(digits % divisor >= divisor.div_ceil(2))
    };
    let thousandths = i64::try_from(thousandths).ok()?;
    Some(if value < 0.0 { -thousandths } else { thousandths })
}

/// `value` rounded to three decimals as SQLite rounds.
pub fn sqlite_round(value: f64) -> f64 {
    sqlite_thousandths(value).map_or(value, |thousandths| thousandths as f64 / 1_000.0)
}

/// `value` rounded to `decimals` as Python rounds: the exact binary value, ties to even.
pub fn python_round(value: f64, decimals: usize) -> f64 {
    const POWERS: [f64; 7] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6];
    if value == 0.0 {
        return value;
    }
    if let Some(power) = POWERS.get(decimals)
        && (value * power).abs() < 1e15
        && let Some(nearest) = nearest(value * power, SCALED)
        && nearest != 0
    {
        // Both are exact, so the quotient is the number nearest to the decimal one, which is what
        // Python parses.
        return nearest as f64 / power;
    }
    // Rust prints the exact binary value rounded half to even, which is what Python parses back.
    format!("{value:.decimals$}").parse().unwrap_or(value)
}

/// Writes a number with three decimals, as Python and C print it: the exact binary value, ties to even.
pub fn push_fixed(out: &mut Vec<u8>, value: f64) {
    let scaled = value * 1_000.0;
    // A negative zero keeps its sign.
    let is_usual = value.is_sign_positive() && scaled < 1e15;
    match is_usual.then(|| nearest(scaled, SCALED)).flatten() {
        Some(thousandths) => push_thousandths(out, thousandths.unsigned_abs(), true),
        None => push_formatted(out, format_args!("{value:.3}")),
    }
}

fn push_formatted(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector can't fail.
    let _ = out.write_fmt(text);
}

/// Writes a number as Python prints it: the shortest digits that mean the same, with a decimal.
pub fn push_float(out: &mut Vec<u8>, value: f64) {
    // Writing to a vector can't fail.
    let _ = if value.is_finite() && value != 0.0 && !(1e-4..1e16).contains(&value.abs()) {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.abs())
    } else if is_quarter_between(value) {
        write!(out, "{value:.1}")
    } else {
        write!(out, "{value:?}")
    };
}

/// Whether two shortest texts are equally near to a number: Python then prints the one whose last digit is
/// even, as rounding does, and Rust the larger one. Of numbers below 10¹⁶ these are the quarters whose
/// neighbours are so far off that one decimal tells them apart: wall-clock times in microseconds among them.
fn is_quarter_between(value: f64) -> bool {
    const EIGHTHS: f64 = (1u64 << 49) as f64;
    const HALVES: f64 = (1u64 << 51) as f64;
    let size = value.abs();
    (EIGHTHS..HALVES).contains(&size) && matches!(size.fract(), 0.25 | 0.75)
}

/// Writes a number with three decimals, without zeros at the end and without a bare point.
pub fn push_trimmed(out: &mut Vec<u8>, value: f64) {
    let start = out.len();
    let _ = write!(out, "{value:.3}");
    while out.last() == Some(&b'0') && out[start..].contains(&b'.') {
        out.pop();
    }
    if out.last() == Some(&b'.') {
        out.pop();
    }
}

/// A decimal number without error: digits and how many of them are decimals.
#[derive(Clone, Copy, Debug)]
struct Decimal {
    digits: i128,
    decimals: u32,
}

impl Decimal {
    /// The number that Python prints for a float.
    fn new(value: f64) -> Option<Self> {
        let text = if is_quarter_between(value) { format!("{value:.1}") } else { format!("{value}") };
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { digits, decimals: u32::try_from(fraction.len()).ok()? })
    }

    fn plus(self, other: Self) -> Option<Self> {
        let decimals = self.decimals.max(other.decimals);
        let raise = |number: Self| number.digits.checked_mul(10i128.checked_pow(decimals - number.decimals)?);
        Some(Self { digits: raise(self)?.checked_add(raise(other)?)?, decimals })
    }

    /// In thousandths, ties to even.
    fn thousandths(self) -> Option<i128> {
        if self.decimals <= 3 {
            return self.digits.checked_mul(10i128.pow(3 - self.decimals));
        }
        let divisor = 10i128.checked_pow(self.decimals - 3)?;
        let (quotient, rest) = (self.digits.div_euclid(divisor), self.digits.rem_euclid(divisor));
        let up = rest * 2 > divisor || rest * 2 == divisor && quotient % 2 != 0;
        Some(quotient + i128::from(up))
    }
}

/// The wall-clock time, in thousandths of a microsecond, of a monotonic time that went through
/// double precision: both are taken as the decimal numbers that Python prints, added without
/// error, and rounded half to even.
pub fn python_local(monotonic_ns: f64, offset_us: f64) -> i64 {
    let exact = || {
        let time = Decimal::new(monotonic_ns)?;
        let micros = Decimal { decimals: time.decimals + 3, ..time };
        i64::try_from(micros.plus(Decimal::new(offset_us)?)?.thousandths()?).ok()
    };
    exact().unwrap_or((monotonic_ns + offset_us * 1_000.0) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    #[test]
    fn sqlite_rounds_half_away_from_zero_on_fifteen_digits() {
        let round = |value| text(|out| push_sqlite_round(out, value));
        assert_eq!(round(0.0), "0.0");
        assert_eq!(round(2.4185), "2.419");
        // The binary value is just below the tie, its 15 digits are on it.
        assert_eq!(round(1.0005), "1.001");
        assert_eq!(round(-1.0005), "-1.001");
        assert_eq!(round(0.05), "0.05");
        assert_eq!(round(454_975_488.0), "454975488.0");
        assert_eq!(round(0.000_499_999_999), "0.0");
        assert_eq!(round(1e300), "1e+300");
    }

    #[test]
    fn python_rounds_the_exact_value_and_ties_to_even() {
        assert_eq!(python_round(1.0005, 3), 1.0);
        assert_eq!(python_round(2.5, 0), 2.0);
        assert_eq!(python_round(0.125, 2), 0.12);
    }

    #[test]
    fn rounding_quickly_gives_the_digits_of_rounding_exactly() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..200_000 {
            let state = random.u64(..);
            // Ties, near ties and others, of all sizes.
            let value = match state % 3 {
                0 => (state >> 40) as f64 / 8.0,
                1 => (state >> 44) as f64 / 2_000.0,
                // From a millionth to 10¹⁵.
                _ => f64::from_bits((1_003 + (state >> 58) + (state >> 55 & 7)) << 52 | state >> 12),
            };
            for value in [value, -value] {
                for decimals in [0, 2, 3, 6] {
                    let exact: f64 = format!("{value:.decimals$}").parse().expect("a number");
                    assert_eq!(
                        python_round(value, decimals).to_bits(),
                        exact.to_bits(),
                        "{value:?}, {decimals}"
                    );
                }
                assert_eq!(text(|out| push_fixed(out, value)), format!("{value:.3}"));
                if (value * 1_000.0).abs() < 1e15 {
                    assert_eq!(sqlite_thousandths(value), decimal_thousandths(value), "{value:?}");
                }
            }
        }
    }

    #[test]
    fn zeros_keep_their_sign_and_what_is_no_number_stays_none() {
        for value in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, 1e15, 1e-320] {
            assert_eq!(text(|out| push_fixed(out, value)), format!("{value:.3}"), "{value:?}");
            let exact: f64 = format!("{value:.3}").parse().expect("a number");
            assert_eq!(python_round(value, 3).to_bits(), exact.to_bits(), "{value:?}");
        }
        assert_eq!(text(|out| push_fixed(out, f64::NAN)), "NaN");
        assert!(python_round(f64::NAN, 3).is_nan());
    }

    #[test]
    fn floats_are_printed_as_python_prints_them() {
        let float = |value| text(|out| push_float(out, value));
        assert_eq!(float(4.0), "4.0");
        assert_eq!(float(878_906.25), "878906.25");
        assert_eq!(float(1e16), "1e+16");
        assert_eq!(float(1.5e-7), "1.5e-07");
        assert_eq!(float(0.0001), "0.0001");
        assert_eq!(float(1_760_000_000_002_054.0 + 0.25), "1760000000002054.2");
        assert_eq!(float(1_760_000_000_002_054.0 + 0.75), "1760000000002054.8");
        assert_eq!(float(-600_000_000_000_000.0 - 0.25), "-600000000000000.2");
        assert_eq!(float(500_000_000_000_000.25), "500000000000000.25");
    }

    #[test]
    fn trimmed_numbers_have_no_zeros_at_the_end() {
        let trimmed = |value| text(|out| push_trimmed(out, value));
        assert_eq!(trimmed(4.0), "4");
        assert_eq!(trimmed(100.0), "100");
        assert_eq!(trimmed(8.71), "8.71");
        assert_eq!(trimmed(0.0004), "0");
    }

    #[test]
    fn micros_have_three_decimals_on_both_sides_of_zero() {
        assert_eq!(text(|out| push_micros(out, 1_760_000_000_002_693_080)), "1760000000002693.080");
        assert_eq!(text(|out| push_micros(out, -5)), "-0.005");
        assert_eq!(text(|out| push_micros(out, 0)), "0.000");
    }

    #[test]
    fn local_times_round_ties_to_even() {
        assert_eq!(python_local(2.5, 0.0), 2);
        assert_eq!(python_local(3.5, 0.0), 4);
        assert_eq!(python_local(1_000_000_000_026.5, 1_759_999_000_000_000.0), 1_760_000_000_000_000_026);
        // Python prints a difference between the clocks that ends in a quarter with an even digit.
        assert_eq!(python_local(0.0, 1_759_999_000_000_000.0 + 0.25), 1_759_999_000_000_000_200);
        assert_eq!(python_local(0.0, 1_759_999_000_000_000.0 + 0.75), 1_759_999_000_000_000_800);
    }
}
