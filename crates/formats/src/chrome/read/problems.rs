//! Events that had to be left out or are doubtful, counted by what is wrong with them.

use std::collections::BTreeMap;

use opscope_trace::{LossKind, Trace};

/// How often each kind of problem was met, and at which byte first; [`usize::MAX`] where that isn't known.
#[derive(Debug, Default)]
pub(crate) struct Problems(BTreeMap<LossKind, (u64, usize)>);

impl Problems {
    /// Counts a problem met `offset` bytes into the file.
    pub fn count(&mut self, problem: LossKind, offset: usize) {
        self.count_from(problem, 1, offset);
    }

    /// Counts problems of which no place is known.
    pub fn count_all(&mut self, problem: LossKind, count: u64) {
        self.count_from(problem, count, usize::MAX);
    }

    pub fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|(problem, (count, first))| self.count_from(*problem, *count, *first));
    }

    fn count_from(&mut self, problem: LossKind, count: u64, first: usize) {
        let known = self.0.entry(problem).or_insert((0, usize::MAX));
        *known = (known.0 + count, known.1.min(first));
    }

    /// Notes everything in the trace.
    pub fn report(&self, trace: &mut Trace) {
        for (&problem, &(count, first)) in &self.0 {
            let detail = if first == usize::MAX { String::new() } else { format!("first at byte {first}") };
            trace.count_loss(problem, count, &detail);
        }
    }
}
