//! Writes decimal digits.
//!
//! Exports write a hundred numbers for every task, most of them short. They are composed in a register and
//! appended with a length that the compiler knows, because a copy of any other length is a call. `itoa`
//! takes 1.4 times as long for numbers of mixed lengths, and four times as long for single digits.

/// A whole number.
pub trait Whole: Copy {
    /// Whether it is below zero, and its distance from there.
    fn sign_and_magnitude(self) -> (bool, u64);
}

macro_rules! whole {
    (unsigned: $($unsigned:ty)*; signed: $($signed:ty)*) => {
        $(impl Whole for $unsigned {
            #[inline(always)]
            fn sign_and_magnitude(self) -> (bool, u64) {
                (false, self as u64)
            }
        })*
        $(impl Whole for $signed {
            #[inline(always)]
            fn sign_and_magnitude(self) -> (bool, u64) {
                (self < 0, self.unsigned_abs() as u64)
            }
        })*
    };
}

whole! { unsigned: u8 u16 u32 u64 usize; signed: i32 i64 }

/// Eight digits, the first in the lowest byte, as numbers from 0 to 9.
#[derive(Clone, Copy)]
struct EightDigits(u64);

/// The ASCII zeros that make letters of eight digits.
const LETTERS: u64 = u64::from_ne_bytes([b'0'; 8]);

/// The first number with nine digits.
const NINE_DIGITS: u64 = 100_000_000;

impl EightDigits {
    /// The digits of a number below 10⁸.
    #[inline(always)]
    fn new(value: u64) -> Self {
        // Each step divides all parts at once, by multiplication with a reciprocal that is exact for parts
        // of that size: into two of four digits, four of two, eight of one.
        let fours = (value / 10_000) | ((value % 10_000) << 32);
        let hundreds = ((fours * 10_486) >> 20) & 0x0000_007f_0000_007f;
        let twos = hundreds | (fours - hundreds * 100) << 16;
        let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
        Self(tens | (twos - tens * 10) << 8)
    }

    /// How many zeros come first; 7 if all are.
    #[inline(always)]
    fn leading_zeros(self) -> u32 {
        // The bit stands in for a last digit of zero.
        (self.0 | 1 << 56).trailing_zeros() / 8
    }

    #[inline(always)]
    fn letters(self) -> u64 {
        self.0 | LETTERS
    }
}

/// Appends the first `count` letters of some.
#[inline(always)]
fn push_first<const LENGTH: usize>(out: &mut Vec<u8>, letters: [u8; LENGTH], count: u32) {
    let end = out.len() + count as usize;
    out.extend_from_slice(&letters);
    out.truncate(end);
}

/// Writes an integer.
#[inline(always)]
pub fn push_integer(out: &mut Vec<u8>, value: impl Whole) {
    let (is_negative, magnitude) = value.sign_and_magnitude();
    if is_negative {
        out.push(b'-');
    }
    match magnitude {
        0..10 => out.push(b'0' + magnitude as u8),
        10..NINE_DIGITS => push_up_to_eight(out, magnitude),
        _ => push_more_than_eight(out, magnitude),
    }
}

#[inline(always)]
fn push_up_to_eight(out: &mut Vec<u8>, value: u64) {
    let digits = EightDigits::new(value);
    let zeros = digits.leading_zeros();
    push_first(out, (digits.letters() >> (zeros * 8)).to_le_bytes(), 8 - zeros);
}

fn push_more_than_eight(out: &mut Vec<u8>, value: u64) {
    let (first, last) = (value / NINE_DIGITS, EightDigits::new(value % NINE_DIGITS).letters());
    match first {
        // Present-day times in microseconds.
        TEN_MILLIONS..NINE_DIGITS => {
            let first = EightDigits::new(first).letters();
            out.extend_from_slice(&(u128::from(last) << 64 | u128::from(first)).to_le_bytes());
        }
        _ => {
            push_integer(out, first);
            out.extend_from_slice(&last.to_le_bytes());
        }
    }
}

/// The first number with eight digits.
const TEN_MILLIONS: u64 = NINE_DIGITS / 10;

/// Writes thousandths as a decimal number; without `all`, zeros at the end are left out but the first
/// decimal.
#[inline]
pub(crate) fn push_thousandths(out: &mut Vec<u8>, thousandths: u64, all: bool) {
    let kept = |last: u64| if all { 3 } else { 3 - (last.leading_zeros() / 8 - 6).min(2) };
    if thousandths >= TEN_MILLIONS {
        push_integer(out, thousandths / 1_000);
        // Seven zeros would come first.
        let digits = EightDigits::new(thousandths % 1_000);
        let text = digits.letters() >> 40 << 8 | u64::from(b'.');
        return push_first(out, (text as u32).to_le_bytes(), 1 + kept(digits.0 >> 48));
    }
    let digits = EightDigits::new(thousandths);
    // The first of eight digits is a zero, which makes room for the point behind four others.
    let letters = digits.letters() >> 8;
    let text = letters & 0xffff_ffff | u64::from(b'.') << 32 | letters >> 32 << 40;
    // One digit stays before the point.
    let skipped = (digits.leading_zeros() - 1).min(3);
    push_first(out, (text >> (skipped * 8)).to_le_bytes(), 5 - skipped + kept(digits.0 >> 48));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all lengths, with many zeros and nines.
    fn numbers() -> impl Iterator<Item = u64> {
        let powers = (0..20).map(|power| 10u64.pow(power));
        let near = powers.flat_map(|power| {
            (0..30).flat_map(move |n| [power.wrapping_add(n), power.wrapping_sub(n), power.wrapping_mul(n)])
        });
        let mut random = fastrand::Rng::with_seed(1);
        let mixed = (0..200_000).map(move |number| random.u64(..) >> (number % 64));
        near.chain(mixed).chain(0..100_000).chain([u64::MAX])
    }

    #[test]
    fn integers_have_the_digits_that_the_standard_library_prints() {
        let mut out = Vec::new();
        for number in numbers() {
            for signed in [number as i64, (number as i64).wrapping_neg()] {
                out.clear();
                push_integer(&mut out, signed);
                assert_eq!(std::str::from_utf8(&out), Ok(&*signed.to_string()));
            }
            out.clear();
            push_integer(&mut out, number);
            assert_eq!(std::str::from_utf8(&out), Ok(&*number.to_string()));
        }
    }

    #[test]
    fn thousandths_have_three_decimals_or_those_that_matter() {
        let mut out = Vec::new();
        for number in numbers() {
            let all = format!("{}.{:03}", number / 1_000, number % 1_000);
            out.clear();
            push_thousandths(&mut out, number, true);
            assert_eq!(std::str::from_utf8(&out), Ok(&*all));
            let trimmed = match all.trim_end_matches('0') {
                whole if whole.ends_with('.') => format!("{whole}0"),
                decimals => decimals.to_owned(),
            };
            out.clear();
            push_thousandths(&mut out, number, false);
            assert_eq!(std::str::from_utf8(&out), Ok(&*trimmed));
        }
    }
}
