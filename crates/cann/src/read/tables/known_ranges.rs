//! Ranges that several tables of one run list: in 2022 the table of each device and inference has those of the whole run.

use std::collections::HashSet;

use opscope_trace::{LossKind, Nanoseconds, Range, RangeId, RangeKind, StringId, ThreadId, Trace};

/// The properties of a range by which it is the same.
type Identity = (Option<ThreadId>, RangeKind, StringId, Option<StringId>, Nanoseconds, Nanoseconds);

/// The ranges of the tables that were read.
#[derive(Default)]
pub(in crate::read) struct KnownRanges(HashSet<Identity>);

impl KnownRanges {
    /// Drops the ranges behind the first few, those of one table, that an earlier table has as well, and counts them.
    /// Equal ranges of one table are kept.
    pub fn drop_repeated(&mut self, trace: &mut Trace, first: usize) {
        let is_new = |id: RangeId| id.index() < first || !self.0.contains(&identity(trace.ranges.get(id)));
        let keep: Vec<bool> = trace.ranges.ids().map(is_new).collect();
        let repeated = keep.iter().filter(|keep| !**keep).count();
        trace.ranges.retain(&keep);
        self.0.extend(trace.ranges.iter().skip(first).map(|(_, row)| identity(row)));
        trace.count_loss(LossKind::RepeatedRecord, repeated as u64, "ranges of several tables");
    }
}

fn identity(row: Range) -> Identity {
    let Range { thread, kind, name, domain, start, duration } = row;
    (thread, kind, name, domain, start, duration)
}
