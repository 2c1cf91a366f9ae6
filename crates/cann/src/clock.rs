//! Every conversion from a counter's ticks into times, with the reference's order of operations.
//!
//! A profile has three clocks: the host's counter (or its `CLOCK_MONOTONIC_RAW` where the
//! counter's frequency isn't known), the device's counter, and the microseconds since the
//! device's start that sampled hardware files carry. All are first turned into nanoseconds of the
//! host's `CLOCK_MONOTONIC_RAW`, then into wall-clock time by the profile's `start_info`.
//!
//! The reference has two implementations with different digits, and both are kept: the
//! accelerated one works in whole nanoseconds ([`Clock::local`]), the other in double precision
//! ([`Clock::monotonic_f64`]).

/// Nanoseconds of a second.
const NANOSECONDS: u64 = 1_000_000_000;

/// Nanoseconds of a century: no machine runs for that long without a restart.
pub(crate) const CENTURY: i64 = 100 * 365 * 24 * 3_600 * NANOSECONDS as i64;

/// A counter of which the frequency and one reading are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clock {
    /// Ticks per second; 0 means that the counter's values are nanoseconds already.
    hertz: u64,
    /// The nanoseconds of a tick if they are a whole number, else 0. To multiply takes a fraction of the
    /// time of a division, and nearly all clocks allow it.
    tick: i64,
    /// A reading of the counter.
    ticks: u64,
    /// `CLOCK_MONOTONIC_RAW` at that reading, in nanoseconds.
    monotonic: u64,
    /// Wall-clock less monotonic time, in nanoseconds.
    offset: i64,
}

impl Default for Clock {
    fn default() -> Self {
        Self::nanoseconds(0)
    }
}

impl Clock {
    /// A counter with `megahertz`, which read `ticks` at `monotonic` nanoseconds.
    ///
    /// A frequency that isn't a positive number makes the counter's values nanoseconds.
    pub fn new(megahertz: f64, ticks: u64, monotonic: u64, offset: i64) -> Self {
        let hertz =
            if megahertz.is_finite() && megahertz > 0.0 { (megahertz * 1e6).round() as u64 } else { 0 };
        if hertz == 0 {
            return Self::nanoseconds(offset);
        }
        let tick = if NANOSECONDS.is_multiple_of(hertz) { (NANOSECONDS / hertz) as i64 } else { 0 };
        Self { hertz, tick, ticks, monotonic, offset }
    }

    /// A counter whose values are nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub fn nanoseconds(offset: i64) -> Self {
        Self { hertz: 0, tick: 0, ticks: 0, monotonic: 0, offset }
    }

    /// Ticks per second.
    pub fn hertz(&self) -> u64 {
        if self.hertz == 0 { NANOSECONDS } else { self.hertz }
    }

    /// Wall-clock less monotonic time, in nanoseconds.
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// The wall-clock time of a counter value in whole nanoseconds since 1970, rounded down.
    #[inline]
    pub fn local(&self, ticks: u64) -> i64 {
        self.monotonic(ticks).saturating_add(self.offset)
    }

    /// `CLOCK_MONOTONIC_RAW` of a counter value in whole nanoseconds, rounded down.
    #[inline]
    pub fn monotonic(&self, ticks: u64) -> i64 {
        self.monotonic_of_whole_ticks(ticks).unwrap_or_else(|| self.monotonic_by_division(ticks))
    }

    /// The counter at a time of `CLOCK_MONOTONIC_RAW` in nanoseconds; `None` before its zero.
    pub fn ticks_at(&self, monotonic: i64) -> Option<u64> {
        if self.hertz == 0 {
            return u64::try_from(monotonic).ok();
        }
        let elapsed = i128::from(monotonic) - i128::from(self.monotonic);
        // Rounded up, so that reading the counter gives the same time or one within a tick of it.
        let product = elapsed * i128::from(self.hertz) + i128::from(NANOSECONDS) - 1;
        let ticks = product.div_euclid(i128::from(NANOSECONDS));
        u64::try_from(ticks + i128::from(self.ticks)).ok()
    }

    /// [`Clock::monotonic`] where no division is needed and nothing overflows.
    #[inline]
    fn monotonic_of_whole_ticks(&self, ticks: u64) -> Option<i64> {
        if self.tick == 0 {
            return None;
        }
        let elapsed = i64::try_from(ticks).ok()?.checked_sub_unsigned(self.ticks)?;
        elapsed.checked_mul(self.tick)?.checked_add_unsigned(self.monotonic)
    }

    fn monotonic_by_division(&self, ticks: u64) -> i64 {
        if self.hertz == 0 {
            return i64::try_from(ticks).unwrap_or(i64::MAX);
        }
        let elapsed = i128::from(ticks) - i128::from(self.ticks);
        let hertz = i128::from(self.hertz);
        // The usual case fits 64 bits, where division is many times faster.
        let nanoseconds = match i64::try_from(elapsed).ok().and_then(|e| e.checked_mul(NANOSECONDS as i64)) {
            Some(product) => i128::from(product.div_euclid(self.hertz as i64)),
            None => (elapsed * i128::from(NANOSECONDS)).div_euclid(hertz),
        };
        clamp(nanoseconds + i128::from(self.monotonic))
    }

    /// Whether a counter value can be one: neither readings nor what is counted from them lies more than
    /// a century behind the machine's start.
    #[inline]
    pub fn can_show(&self, ticks: u64) -> bool {
        self.monotonic(ticks) <= 2 * CENTURY
    }

    /// `CLOCK_MONOTONIC_RAW` of a device's counter value, by way of double precision:
    /// difference, divided by the frequency, times 10⁹, plus the reading's time.
    #[inline]
    pub fn monotonic_f64(&self, ticks: u64) -> f64 {
        if self.hertz == 0 {
            return ticks as f64;
        }
        let elapsed =
            if ticks >= self.ticks { (ticks - self.ticks) as f64 } else { -((self.ticks - ticks) as f64) };
        elapsed / self.hertz as f64 * 1e9 + self.monotonic as f64
    }

    /// `CLOCK_MONOTONIC_RAW` of a device's counter value in microseconds, by way of double precision.
    pub fn monotonic_micros_f64(&self, ticks: u64) -> f64 {
        if self.hertz == 0 {
            return ticks as f64 / 1_000.0;
        }
        let elapsed =
            if ticks >= self.ticks { (ticks - self.ticks) as f64 } else { -((self.ticks - ticks) as f64) };
        elapsed / self.hertz as f64 * 1e6 + self.monotonic as f64 / 1e9 * 1e6
    }

    /// As [`Clock::monotonic_f64`], but never before zero, as the reference has it for hosts.
    #[inline]
    pub fn host_f64(&self, ticks: u64) -> f64 {
        self.monotonic_f64(ticks).max(0.0)
    }

    /// A host's duration in microseconds by way of double precision.
    #[inline]
    pub fn micros_f64(&self, ticks: u64) -> f64 {
        if self.hertz == 0 { ticks as f64 / 1_000.0 } else { ticks as f64 / self.hertz as f64 * 1e6 }
    }

    /// A duration in nanoseconds by way of double precision.
    #[inline]
    pub fn duration_f64(&self, ticks: u64) -> f64 {
        if self.hertz == 0 { ticks as f64 } else { ticks as f64 / self.hertz as f64 * 1e9 }
    }

    /// A duration in microseconds by way of double precision.
    pub fn duration_micros_f64(&self, ticks: u64) -> f64 {
        if self.hertz == 0 { ticks as f64 / 1_000.0 } else { ticks as f64 * 1e6 / self.hertz as f64 }
    }

    /// A duration in whole nanoseconds, rounded down.
    #[inline]
    pub fn duration(&self, ticks: u64) -> i64 {
        if self.hertz == 0 {
            return i64::try_from(ticks).unwrap_or(i64::MAX);
        }
        let nanoseconds = u128::from(ticks) * u128::from(NANOSECONDS) / u128::from(self.hertz);
        i64::try_from(nanoseconds).unwrap_or(i64::MAX)
    }
}

/// The clock of sampled hardware files: microseconds, or nanoseconds, since the device's start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SampleClock {
    /// The device's own monotonic time at its start, in nanoseconds.
    pub device_monotonic: u64,
    /// The host's monotonic time at the same moment, in nanoseconds.
    pub host_monotonic: u64,
    /// Wall-clock less monotonic time, in nanoseconds.
    pub offset: i64,
}

impl SampleClock {
    /// The wall-clock time, in nanoseconds, of a sample at `micros` since the device's start.
    ///
    /// The reference passes through double precision here, which at present-day times has steps
    /// of 256 ns; the time is right to the microsecond that the file has.
    pub fn local(&self, micros: u64) -> i64 {
        let wall = i128::from(micros) * 1_000 + i128::from(self.host_monotonic) + i128::from(self.offset);
        clamp(wall)
    }

    /// The wall-clock time, in nanoseconds, of a sample at `nanoseconds` of the device's own clock.
    pub fn local_of_device(&self, nanoseconds: u64) -> i64 {
        let since_start = i128::from(nanoseconds) - i128::from(self.device_monotonic);
        clamp(since_start + i128::from(self.host_monotonic) + i128::from(self.offset))
    }
}

/// The nearest number that fits.
fn clamp(wide: i128) -> i64 {
    wide.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_the_ticks_that_give_it_back() {
        for megahertz in [0.0, 100.0, 24.0, 2_699.998, 38.4] {
            let clock = Clock::new(megahertz, 1_000_000, 5_000_000_000, 7);
            for time in [5_000_000_000, 5_000_000_001, 4_999_999_000, 9_123_456_789] {
                let back = clock.monotonic(clock.ticks_at(time).expect("ticks"));
                let tick = (1e9 / clock.hertz() as f64).ceil() as i64;
                assert!((0..=tick).contains(&(back - time)), "{megahertz} MHz, {time}: {back}");
            }
        }
        assert_eq!(Clock::new(100.0, 10, 5_000, 0).ticks_at(1_000), None);
    }

    #[test]
    fn ticks_become_nanoseconds_on_both_sides_of_the_reading() {
        let clock = Clock::new(50.0, 1_000, 1_000_000, 5);
        assert_eq!(clock.local(1_001), 1_000_025);
        assert_eq!(clock.local(999), 999_985);
        assert_eq!(clock.monotonic_f64(1_003), 1_000_060.0);
        assert_eq!(clock.duration(3), 60);
    }

    #[test]
    fn frequencies_that_do_not_divide_a_second_round_down() {
        let clock = Clock::new(38.4, 0, 0, 0);
        assert_eq!(clock.local(1), 26);
        assert_eq!(clock.local(384), 10_000);
    }

    #[test]
    fn to_multiply_gives_the_same_as_to_divide() {
        for megahertz in [0.000_001, 1.0, 50.0, 100.0, 1_000.0] {
            for reading in [0, 17, 1 << 40, u64::MAX] {
                let clock = Clock::new(megahertz, reading, 3_000_000_000, 0);
                assert_ne!(clock.tick, 0);
                for ticks in [0, 1, 16, 18, 1 << 40, 1 << 62, i64::MAX as u64, u64::MAX] {
                    assert_eq!(clock.monotonic(ticks), clock.monotonic_by_division(ticks));
                }
            }
        }
    }

    #[test]
    fn an_unknown_frequency_means_nanoseconds() {
        for megahertz in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let clock = Clock::new(megahertz, 17, 99, 2);
            assert_eq!(clock.local(100), 102);
        }
    }

    #[test]
    fn no_counter_value_overflows() {
        let clock = Clock::new(0.000_001, 5, u64::MAX, i64::MAX);
        assert_eq!(clock.local(u64::MAX), i64::MAX);
        let clock = Clock::new(50.0, u64::MAX, 0, i64::MIN);
        assert_eq!(clock.local(0), i64::MIN);
    }
}
