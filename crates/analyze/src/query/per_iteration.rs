//! The time that a group of executions takes in a typical iteration.

use opscope_columns::Column;
use opscope_trace::{IterationId, Nanoseconds};

use crate::statistics::Statistics;

/// The time of a row in each iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerIteration {
    /// Its time in a typical iteration: the median over the iterations that executed it, times the part of the
    /// iterations that did. A single iteration that something disturbed doesn't move it. Of several subjects it
    /// is the sum of theirs, so that rows sum to the same whatever they are grouped by.
    pub typical: Nanoseconds,
    /// Its times in the iterations that executed it.
    pub times: Statistics,
}

impl PerIteration {
    /// Of executions' times in so many iterations.
    pub(super) fn of<Subject: Copy + Ord>(
        parts: impl Iterator<Item = (Subject, Option<IterationId>, Nanoseconds)>,
        iterations: usize,
    ) -> Option<Self> {
        // Executions stand in the order in which they began, so that most are merged as they come.
        let mut sums: Column<(Subject, Option<IterationId>, Nanoseconds)> = Column::new();
        for (subject, iteration, time) in parts {
            match sums.last_mut() {
                Some(last) if (last.0, last.1) == (subject, iteration) => last.2 += time,
                _ => sums.push((subject, iteration, time)),
            }
        }
        sums.sort_unstable_by_key(|(subject, iteration, _)| (*subject, *iteration));
        merge(&mut sums);
        let of_subjects = sums.chunk_by(|a, b| a.0 == b.0).filter_map(|sums| {
            Statistics::of(sums.iter().map(|(.., time)| *time)).map(|times| typical(times, iterations))
        });
        let typical = of_subjects.sum();
        sums.sort_unstable_by_key(|(_, iteration, _)| *iteration);
        let of_iterations = sums.chunk_by(|a, b| a.1 == b.1);
        let times = Statistics::of(of_iterations.map(|sums| sums.iter().map(|(.., time)| *time).sum()))?;
        Some(Self { typical, times })
    }
}

/// Adds up the times of neighbours that are of the same subject and iteration.
fn merge<Subject: Copy + PartialEq>(sums: &mut Column<(Subject, Option<IterationId>, Nanoseconds)>) {
    let mut kept = 0;
    for place in 1..sums.len() {
        let next = sums[place];
        if (next.0, next.1) == (sums[kept].0, sums[kept].1) {
            sums[kept].2 += next.2;
        } else {
            kept += 1;
            sums[kept] = next;
        }
    }
    sums.truncate(kept + 1);
}

/// A time in a typical one of so many iterations, by the times in those that had it.
pub(crate) fn typical(times: Statistics, iterations: usize) -> Nanoseconds {
    if times.count == iterations {
        return times.median;
    }
    let part = times.count as f64 / iterations as f64;
    Nanoseconds((times.median.0 as f64 * part).round() as i64)
}
