//! Records that were lost, or lack something, by what they lack.

use opscope_trace::{LossKind, Nanoseconds, Trace};

/// How many there are of each kind.
#[derive(Default)]
pub struct Lost {
    /// Rows that can't be taken apart.
    pub unreadable: u64,
    /// Records that name a text which isn't there.
    pub unnamed: u64,
    without_time: u64,
    backwards: u64,
    /// Values of counters that are no number.
    pub no_number: u64,
    /// Values of counters that nothing names.
    pub placeless: u64,
}

impl Lost {
    /// Start and duration of a record that begins and ends at these times.
    pub fn span(&mut self, start: Option<i64>, end: Option<i64>) -> Option<(Nanoseconds, Nanoseconds)> {
        let (Some(start), Some(end)) = (start, end) else {
            self.without_time += 1;
            return None;
        };
        match end.checked_sub(start) {
            Some(duration @ 0..) => Some((Nanoseconds(start), Nanoseconds(duration))),
            _ => {
                self.backwards += 1;
                None
            }
        }
    }

    /// Enters them into a trace as losses of a source.
    pub fn count(&self, trace: &mut Trace, source: &str) {
        for (kind, count) in [
            (LossKind::UnreadableRecord, self.unreadable),
            (LossKind::UnnamedRecord, self.unnamed),
            (LossKind::RecordWithoutTime, self.without_time),
            (LossKind::RecordEndsBeforeStart, self.backwards),
            (LossKind::MeasureNoNumber, self.no_number),
        ] {
            trace.count_loss(kind, count, source);
        }
        trace.count_loss(LossKind::PlacelessRecord, self.placeless, "values of counters without a name");
    }
}
