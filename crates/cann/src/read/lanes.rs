//! Lanes for what runs at the same time and has no place of its own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use opscope_trace::Nanoseconds;

/// Lanes for spans of which none begins because of another, so that none lies within another.
#[derive(Default)]
pub(super) struct Lanes {
    /// The end of the last span on each lane.
    ends: BinaryHeap<Reverse<(Nanoseconds, usize)>>,
}

impl Lanes {
    /// The lane of a span, from 0; spans come by their starts.
    pub fn place(&mut self, start: Nanoseconds, duration: Nanoseconds) -> usize {
        let free = self.ends.peek().is_some_and(|Reverse((end, _))| *end <= start);
        let lane = match free.then(|| self.ends.pop()).flatten() {
            Some(Reverse((_, lane))) => lane,
            None => self.ends.len(),
        };
        self.ends.push(Reverse((start + duration, lane)));
        lane
    }
}
