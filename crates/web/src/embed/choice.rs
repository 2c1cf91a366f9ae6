//! The slices that a report carries one by one, where a profile has too many for all.

use std::cmp::Reverse;

use opscope_analyze::Measured;
use opscope_timeline::{Depths, Layout};
use opscope_trace::{IterationId, Trace};

/// The times whose slices are carried in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Begin (included) and end (not included) on the time line; in order, apart from one another.
    /// `None` is everything.
    windows: Option<Vec<(u64, u64)>>,
    /// The numbers of the inferences that they are; `None` is all.
    pub inferences: Option<Vec<u32>>,
}

impl Choice {
    /// Everything, if that is at most `most` slices. Else the slowest measured inference, the median one and the
    /// first, as far as they fit; else the beginning of the profile.
    pub(super) fn of(trace: &Trace, layout: &Layout, depths: &Depths, most: usize) -> Self {
        let rows = Starts { trace, layout, depths };
        if depths.rows.iter().map(|row| row.slices.len()).sum::<usize>() <= most {
            return Self { windows: None, inferences: None };
        }
        let span = |id: IterationId| {
            let row = trace.iterations.get(id);
            layout.time_line.span(row.start, row.duration)
        };
        let (mut windows, mut numbers, mut room) = (Vec::new(), Vec::new(), most);
        for id in candidates(trace) {
            let window = span(id);
            let count = rows.before(window.1) - rows.before(window.0);
            if count > 0 && count <= room {
                room -= count;
                windows.push(window);
                numbers.push(trace.iterations.number()[id.index()]);
            }
        }
        if windows.is_empty() {
            windows.push((0, rows.first_time_with(most)));
        }
        numbers.sort_unstable();
        Self { windows: Some(merged(windows)), inferences: Some(numbers) }
    }

    /// Whether a slice that begins then is carried one by one.
    pub(super) fn takes(&self, start: u64) -> bool {
        let within =
            |windows: &Vec<(u64, u64)>| windows.iter().any(|(from, to)| (*from..*to).contains(&start));
        self.windows.as_ref().is_none_or(within)
    }

    /// The times, or `whole` where that is everything.
    pub(super) fn windows_or(&self, whole: (u64, u64)) -> impl Iterator<Item = (u64, u64)> {
        self.windows.clone().unwrap_or_else(|| vec![whole]).into_iter()
    }
}

/// The slowest measured inference, the median one, and the first.
fn candidates(trace: &Trace) -> Vec<IterationId> {
    let measured = Measured::of(trace).iterations;
    let mut by_time = measured.clone();
    by_time.sort_by_key(|id| Reverse(trace.iterations.duration()[id.index()]));
    let slowest = by_time.first().copied();
    let middle = by_time.get(by_time.len() / 2).copied();
    let mut candidates = Vec::new();
    for id in [slowest, middle, measured.first().copied()].into_iter().flatten() {
        if !candidates.contains(&id) {
            candidates.push(id);
        }
    }
    candidates
}

fn merged(mut windows: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    windows.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (from, to) in windows {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The starts of all slices.
struct Starts<'a> {
    trace: &'a Trace,
    layout: &'a Layout,
    depths: &'a Depths,
}

impl Starts<'_> {
    /// How many slices begin before a time.
    fn before(&self, time: u64) -> usize {
        let of_row = self.depths.rows.iter().map(|row| {
            let start = |slice: u32| self.layout.span(self.trace, row.lane, slice as usize).0;
            row.slices.partition_point(|&slice| start(slice) < time)
        });
        of_row.sum()
    }

    /// The latest time before which at most so many slices begin.
    fn first_time_with(&self, most: usize) -> u64 {
        let (mut low, mut high) = (0, i64::MAX as u64);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.before(middle) <= most { low = middle } else { high = middle - 1 }
        }
        low
    }
}
