//! The hosts' clocks: an offset from the true time, and a drift.

use crate::options::{ClockErrors, Options};
use crate::random::Random;

/// The true begin of the run, in nanoseconds since 1970.
const BEGIN: i64 = 1_760_000_000_000_000_000;

/// The clocks of all hosts.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    /// Nanoseconds that each is ahead.
    pub(crate) offsets_ns: Vec<i64>,
    /// The gain of each in a nanosecond.
    pub(crate) drifts: Vec<f64>,
}

impl Clocks {
    pub(crate) fn new(options: &Options) -> Self {
        let hosts = options.hosts();
        if options.clocks == ClockErrors::None {
            return Self { offsets_ns: vec![0; hosts], drifts: vec![0.0; hosts] };
        }
        let mut random = Random::new(options.seed.wrapping_add(77));
        let mut offsets_ns: Vec<i64> = (0..hosts).map(|_| (3e6 * random.normal()) as i64).collect();
        let drifts = (0..hosts).map(|_| 5e-6 * random.normal()).collect();
        if options.clocks == ClockErrors::Far && hosts > 2 {
            offsets_ns[hosts / 2] += 73_000_000_000;
        }
        Self { offsets_ns, drifts }
    }

    /// The time of a host's clock at a true time, in nanoseconds since 1970.
    pub(crate) fn shown(&self, host: usize, time: f64) -> i64 {
        BEGIN + self.offsets_ns[host] + (time * (1.0 + self.drifts[host])).round() as i64
    }
}
