//! The clock of the records: the processor's own counter where it can be trusted, because reading
//! it costs a tenth of a system call; `CLOCK_MONOTONIC_RAW` elsewhere.
//!
//! The raw format carries ticks, their frequency and one simultaneous reading of both clocks, so
//! the records need no conversion while the program runs.

use std::time::Duration;

/// Which clock the records' times are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ClockKind {
    /// Nanoseconds of `CLOCK_MONOTONIC_RAW`.
    MonotonicRaw = 0,
    /// Ticks of the processor's counter.
    Counter = 1,
}

impl ClockKind {
    /// The best clock of this machine.
    pub fn best() -> Self {
        if counter_is_steady() { Self::Counter } else { Self::MonotonicRaw }
    }

    /// The clock of a number in shared memory.
    pub fn from_number(number: u32) -> Self {
        if number == Self::Counter as u32 { Self::Counter } else { Self::MonotonicRaw }
    }

    /// The time now.
    #[inline(always)]
    pub fn now(self) -> u64 {
        match self {
            Self::Counter => counter(),
            Self::MonotonicRaw => monotonic_raw(),
        }
    }
}

/// Both clocks and the wall clock, read as nearly at the same moment as possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Nanoseconds of `CLOCK_MONOTONIC_RAW`.
    pub monotonic: u64,
    /// The records' clock.
    pub ticks: u64,
    /// Nanoseconds since 1970.
    pub wall: u64,
}

impl Reading {
    /// Reads all clocks. The narrowest of several tries counts, so that being interrupted in the
    /// middle doesn't shift one clock against the others.
    pub fn now(kind: ClockKind) -> Self {
        let tries = (0..16).map(|_| {
            let before = monotonic_raw();
            let (ticks, wall) = (kind.now(), wall());
            (before, Self { monotonic: monotonic_raw(), ticks, wall })
        });
        Self::narrowest(kind, tries)
    }

    /// The reading during which the monotonic clock went on the least, with the middle of that as its
    /// monotonic time. Each comes with that clock's time before, and holds the one after.
    fn narrowest(kind: ClockKind, tries: impl Iterator<Item = (u64, Self)>) -> Self {
        let width = |(before, reading): &(u64, Self)| reading.monotonic.saturating_sub(*before);
        let Some(best) = tries.min_by_key(width) else { return Self { monotonic: 0, ticks: 0, wall: 0 } };
        let monotonic = best.0 + width(&best) / 2;
        let ticks = if kind == ClockKind::MonotonicRaw { monotonic } else { best.1.ticks };
        Self { monotonic, ticks, ..best.1 }
    }

    /// Ticks per second between this reading and a later one; `None` if they are too close.
    pub fn hertz_until(&self, later: &Self) -> Option<f64> {
        let nanoseconds = later.monotonic.checked_sub(self.monotonic).filter(|span| *span >= 1_000_000)?;
        let ticks = later.ticks.checked_sub(self.ticks)?;
        Some(ticks as f64 * 1e9 / nanoseconds as f64)
    }
}

/// Ticks per second, measured over `span`; the longer, the more exact (about 5 parts in a million
/// for 20 ms). A profile that ends properly replaces it by the quotient over its whole length.
pub fn measure_hertz(kind: ClockKind, span: Duration) -> f64 {
    if kind == ClockKind::MonotonicRaw {
        return 1e9;
    }
    let first = Reading::now(kind);
    std::thread::sleep(span);
    first.hertz_until(&Reading::now(kind)).unwrap_or(1e9)
}

/// Nanoseconds of `CLOCK_MONOTONIC`.
pub fn monotonic() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds of `CLOCK_MONOTONIC_RAW`.
#[inline]
pub fn monotonic_raw() -> u64 {
    #[cfg(target_os = "linux")]
    let id = libc::CLOCK_MONOTONIC_RAW;
    #[cfg(not(target_os = "linux"))]
    let id = libc::CLOCK_MONOTONIC;
    clock(id)
}

/// Nanoseconds since 1970.
pub fn wall() -> u64 {
    clock(libc::CLOCK_REALTIME)
}

#[inline]
fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer; an unknown clock leaves it as it is.
    unsafe { libc::clock_gettime(id, &mut time) };
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the instruction.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: reading the virtual counter is allowed to programs on Linux.
    unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
    ticks
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[inline(always)]
fn counter() -> u64 {
    monotonic_raw()
}

/// Whether the counter runs at one speed, on all processors alike: the kernel then keeps its own
/// time by it.
fn counter_is_steady() -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    match std::fs::read_to_string(source) {
        Ok(source) if cfg!(target_arch = "x86_64") => source.trim() == "tsc",
        Ok(source) if cfg!(target_arch = "aarch64") => source.trim() == "arch_sys_counter",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_the_one_that_was_interrupted_least_laid_into_its_middle() {
        let reading = |monotonic, ticks| Reading { monotonic, ticks, wall: ticks + 1 };
        let tries = [(100, reading(900, 7)), (1_000, reading(1_040, 8)), (2_000, reading(2_100, 9))];
        let counted = Reading::narrowest(ClockKind::Counter, tries.into_iter());
        assert_eq!(counted, Reading { monotonic: 1_020, ticks: 8, wall: 9 });
        let nanoseconds = Reading::narrowest(ClockKind::MonotonicRaw, tries.into_iter());
        assert_eq!(nanoseconds, Reading { monotonic: 1_020, ticks: 1_020, wall: 9 });
    }

    #[test]
    fn no_clock_goes_back() {
        let kind = ClockKind::best();
        let (first, later) = (Reading::now(kind), Reading::now(kind));
        assert!(first.monotonic <= later.monotonic && first.ticks <= later.ticks, "{first:?} {later:?}");
    }

    #[test]
    fn readings_that_are_too_close_tell_no_frequency() {
        let first = Reading { monotonic: 5_000_000, ticks: 10, wall: 0 };
        let near = Reading { monotonic: 5_000_100, ticks: 20, wall: 0 };
        let far = Reading { monotonic: 1_005_000_000, ticks: 2_000_000_010, wall: 0 };
        assert_eq!(first.hertz_until(&near), None);
        assert_eq!(far.hertz_until(&first), None);
        assert_eq!(first.hertz_until(&far), Some(2e9));
    }
}
