//! Times and durations.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

/// A time from a trace's own zero, or a duration: signed nanoseconds.
///
/// Sums and differences stay at the ends of the range instead of wrapping, because times come
/// from files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct Nanoseconds(pub i64);

impl Nanoseconds {
    /// The trace's zero, or no time at all.
    pub const ZERO: Self = Self(0);

    /// From fractional seconds; NaN becomes zero, what is out of range its end.
    pub fn from_seconds(seconds: f64) -> Self {
        Self((seconds * 1e9).round() as i64)
    }

    /// From whole microseconds.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.saturating_mul(1_000))
    }

    /// As fractional seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// As fractional microseconds.
    pub fn as_micros(self) -> f64 {
        self.0 as f64 / 1e3
    }
}

impl From<std::time::Duration> for Nanoseconds {
    fn from(duration: std::time::Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Add for Nanoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for Nanoseconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Nanoseconds {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl AddAssign for Nanoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for Nanoseconds {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for Nanoseconds {
    fn sum<I: Iterator<Item = Self>>(times: I) -> Self {
        times.fold(Self::ZERO, Self::add)
    }
}

impl<'a> Sum<&'a Nanoseconds> for Nanoseconds {
    fn sum<I: Iterator<Item = &'a Nanoseconds>>(times: I) -> Self {
        times.copied().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stays_in_range_on_any_input() {
        assert_eq!(Nanoseconds(i64::MAX) + Nanoseconds(1), Nanoseconds(i64::MAX));
        assert_eq!(Nanoseconds(i64::MIN) - Nanoseconds(1), Nanoseconds(i64::MIN));
        assert_eq!(Nanoseconds::from_seconds(f64::INFINITY), Nanoseconds(i64::MAX));
        assert_eq!(Nanoseconds::from_seconds(f64::NAN), Nanoseconds::ZERO);
    }

    #[test]
    fn seconds_are_rounded_to_the_nearest_nanosecond() {
        assert_eq!(Nanoseconds::from_seconds(0.000_001_000_4), Nanoseconds(1_000));
        assert_eq!(Nanoseconds::from_seconds(-1.5e-9), Nanoseconds(-2));
    }
}
