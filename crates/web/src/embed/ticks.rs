//! The unit of time in a report.

use opscope_timeline::{Depths, Layout};
use opscope_trace::Trace;

use crate::columns::MOST_OF_DIFFERENCES as MOST;

/// Times as a page holds them: whole numbers below 2^52, of nanoseconds if those fit, else of microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticks {
    /// Nanoseconds of a tick.
    pub nanoseconds: u64,
    /// The end of all that is drawn, in ticks.
    pub end: u64,
}

impl Ticks {
    pub(super) fn of(trace: &Trace, layout: &Layout, depths: &Depths) -> Self {
        let ends = depths.rows.iter().filter_map(|row| {
            // Nothing on a row overlaps, so the last slice ends last.
            let last = *row.slices.last()?;
            Some(layout.span(trace, row.lane, last as usize).1)
        });
        let samples = trace.samples.time().iter().map(|&time| layout.time_line.point(time));
        let end = ends.chain(samples).max().unwrap_or(0);
        let nanoseconds = if end <= MOST { 1 } else { 1_000 };
        let ticks = Self { nanoseconds, end: 0 };
        Self { end: ticks.of_time(end), ..ticks }
    }

    /// A time of the time line in ticks.
    pub(crate) fn of_time(self, time: u64) -> u64 {
        (time / self.nanoseconds).min(MOST)
    }
}
