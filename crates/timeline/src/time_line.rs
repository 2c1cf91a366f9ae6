//! The times of a timeline, which begin at 0.

use opscope_trace::{Nanoseconds, Trace};

/// Maps the trace's times onto those of a timeline, which begin at 0 or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLine {
    /// The trace's time that becomes its 0.
    pub zero: Nanoseconds,
}

/// The first time that viewers no longer keep to the nanosecond: they read microseconds as
/// floating-point numbers, and beyond 2^52 ns (52 days) three decimals no longer fit.
const TOO_LATE: Nanoseconds = Nanoseconds(1 << 52);

impl TimeLine {
    /// The trace's own zero stays the zero if it can. Where something happened before it, or so
    /// long after it that viewers would lose nanoseconds (and with them slices that touch), the
    /// first event becomes the zero.
    pub fn new(trace: &Trace) -> Self {
        let columns = [
            trace.iterations.start(),
            trace.unrecorded_iterations.start(),
            trace.api_calls.start(),
            trace.ranges.start(),
            trace.tasks.start(),
            trace.samples.time(),
        ];
        let bounds = columns.into_iter().flatten().fold(None, |bounds, &time| {
            let (first, last) = bounds.unwrap_or((time, time));
            Some((time.min(first), time.max(last)))
        });
        let (first, last) = bounds.unwrap_or_default();
        let keeps_zero = first >= Nanoseconds::ZERO && last < TOO_LATE;
        Self { zero: if keeps_zero { Nanoseconds::ZERO } else { first } }
    }

    /// A point in time; what a reader's signed nanoseconds can't hold becomes their end.
    pub fn point(self, time: Nanoseconds) -> u64 {
        // The true difference is not negative and fits in 64 bits unsigned.
        (time.0.wrapping_sub(self.zero.0) as u64).min(i64::MAX as u64)
    }

    /// Start and end. Both are mapped by themselves, so that what nests or touches in the trace
    /// does so in the timeline.
    pub fn span(self, start: Nanoseconds, duration: Nanoseconds) -> (u64, u64) {
        let end = start + duration.max(Nanoseconds::ZERO);
        (self.point(start), self.point(end))
    }
}
