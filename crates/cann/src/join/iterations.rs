//! Finds the inferences in the steps that a device recorded.

use std::collections::BTreeMap;

use crate::columns::columns;
use crate::tables::{Step, StepTable};

/// The tags of steps.
mod tag {
    pub(super) const MODEL_START: u16 = 0;
    pub(super) const MODEL_END: u16 = 1;
    pub(super) const FORWARD: u16 = 2;
    pub(super) const BACKWARD: u16 = 3;
    pub(super) const ITERATION_END: u16 = 4;
    /// Begin and end of an all-reduce have an even number and the odd one behind it.
    pub(super) const REDUCES: std::ops::Range<u16> = 10_000..20_000;
    /// Begin and end of fetching data, in the same way.
    pub(super) const FETCHES: std::ops::Range<u16> = 20_000..STEP_START;
    pub(super) const STEP_START: u16 = 60_000;
    pub(super) const STEP_END: u16 = 60_001;
}

columns! {
    /// Inferences, or iterations of a training, by their end.
    IterationTable,
    /// One inference of a model.
    Iteration {
        /// The model.
        model: u64,
        /// The number that the device gives it, from 1.
        index: u64,
        /// Begin; device ticks.
        start: u64,
        /// End; device ticks.
        end: u64,
        /// Begin of the forward pass; device ticks, 0 where it isn't recorded.
        forward: u64,
        /// End of the backward pass; device ticks, 0 where it isn't recorded.
        backward: u64,
    }
}

columns! {
    /// Stretches of time within iterations, by iteration.
    StretchTable,
    /// A stretch of time within an iteration.
    Stretch {
        /// The row of the iteration in its table.
        iteration: u32,
        /// Begin; device ticks.
        start: u64,
        /// End; device ticks.
        end: u64,
    }
}

impl StretchTable {
    /// Begins and ends of the stretches within an iteration.
    pub fn of_iteration(&self, row: u32) -> Vec<(u64, u64)> {
        let first = self.iteration.partition_point(|&iteration| iteration < row);
        let last = self.iteration.partition_point(|&iteration| iteration <= row);
        (first..last).map(|place| (self.start[place], self.end[place])).collect()
    }
}

/// The inferences of a device, or the iterations of a training with what happened in them.
#[derive(Debug, Default)]
pub(super) struct Iterations {
    /// The iterations themselves, in the order of their ends.
    pub(super) table: IterationTable,
    /// When gradients were reduced over all devices; within an iteration by stream, in the order of the
    /// streams' first ones.
    pub(super) reduces: StretchTable,
    /// When data for a training was fetched.
    pub(super) fetches: StretchTable,
    /// How many steps have no other half: runs that began or ended outside of the profile, and stretches
    /// without a begin or end.
    pub(super) unmatched: u64,
}

/// A model's present iteration, as far as its marks came.
#[derive(Default)]
struct Open {
    start: Option<u64>,
    forward: u64,
    backward: u64,
    /// Whether the device marks the ends of iterations inside of a model's run.
    has_ends: bool,
    /// By stream.
    reduces: Pairs<u16>,
    /// By stream and kind.
    fetches: Pairs<(u16, u16)>,
}

/// A begin and, once it is known, the end.
type Pair = (u64, Option<u64>);

/// Begins and ends of what may happen at the same time, by what tells them apart.
#[derive(Default)]
struct Pairs<Key>(Vec<(Key, Vec<Pair>)>);

impl<Key: PartialEq> Pairs<Key> {
    fn of(&mut self, key: Key) -> &mut Vec<Pair> {
        let place = self.0.iter().position(|(known, _)| *known == key).unwrap_or(self.0.len());
        if place == self.0.len() {
            self.0.push((key, Vec::new()));
        }
        &mut self.0[place].1
    }

    /// Adds those that have an end to an iteration.
    fn close(self, iteration: u32, table: &mut StretchTable) {
        for (start, end) in self.0.into_iter().flat_map(|(_, pairs)| pairs) {
            if let Some(end) = end {
                table.push(Stretch { iteration, start, end });
            }
        }
    }
}

impl Open {
    /// Whether a run began whose end is to come.
    fn awaits_end(&self) -> bool {
        self.start.is_some() && !self.has_ends
    }

    fn reduce(&mut self, stream: u16, tag: u16, time: u64) {
        let pairs = self.reduces.of(stream);
        match pairs.last_mut() {
            _ if tag.is_multiple_of(2) => pairs.push((time, None)),
            Some((_, end)) => *end = Some(time),
            None => {}
        }
    }

    fn fetch(&mut self, stream: u16, tag: u16, time: u64) {
        let pairs = self.fetches.of((stream, tag / 2));
        match pairs.last_mut() {
            // Without an end in between, only the last begin counts.
            Some((start, None)) if tag.is_multiple_of(2) => *start = time,
            _ if tag.is_multiple_of(2) => pairs.push((time, None)),
            Some((_, end @ None)) => *end = Some(time),
            _ => {}
        }
    }

    /// Adds the iteration, which ended.
    fn close(self, model: u64, index: u64, end: u64, found: &mut Iterations) {
        let Open { start, forward, backward, reduces, fetches, .. } = self;
        let row = found.table.len() as u32;
        let start = start.unwrap_or(end);
        found.table.push(Iteration { model, index, start, end, forward, backward });
        reduces.close(row, &mut found.reduces);
        fetches.close(row, &mut found.fetches);
    }
}

/// The inferences that the steps tell of.
pub(super) fn iterations(steps: &StepTable) -> Iterations {
    let mut found = Iterations::default();
    let mut order: Vec<u32> = (0..steps.len() as u32).collect();
    order.sort_by_key(|&row| steps.time()[row as usize]);
    let mut models: BTreeMap<u64, Open> = BTreeMap::new();
    let mut edges_of_stretches = 0;
    for row in order {
        let Step { time, index, model, tag, stream, .. } = steps.row(row as usize);
        let open = models.entry(model).or_default();
        let is_edge = tag::REDUCES.contains(&tag) || tag::FETCHES.contains(&tag);
        edges_of_stretches += u64::from(is_edge);
        match tag {
            tag::MODEL_START | tag::STEP_START => {
                found.unmatched += u64::from(open.awaits_end());
                *open = Open { start: Some(time), ..Open::default() };
            }
            // A pass that is marked again, or behind one that it precedes, is none of this iteration.
            tag::FORWARD if open.forward == 0 && open.backward == 0 => open.forward = time,
            tag::BACKWARD if open.backward == 0 => open.backward = time,
            tag::ITERATION_END => {
                std::mem::take(open).close(model, index, time, &mut found);
                *open = Open { start: Some(time), has_ends: true, ..Open::default() };
            }
            tag::MODEL_END | tag::STEP_END => {
                let ended = std::mem::take(open);
                if ended.awaits_end() {
                    ended.close(model, index, time, &mut found);
                } else {
                    found.unmatched += u64::from(!ended.has_ends);
                }
            }
            tag if tag::REDUCES.contains(&tag) => open.reduce(stream, tag, time),
            tag if tag::FETCHES.contains(&tag) => open.fetch(stream, tag, time),
            _ => {}
        }
    }
    found.unmatched += models.values().filter(|open| open.awaits_end()).count() as u64;
    found.unmatched +=
        edges_of_stretches.saturating_sub(2 * (found.reduces.len() + found.fetches.len()) as u64);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(steps: &[(u64, u64, u16)]) -> Vec<(u64, u64, u64)> {
        let mut table = StepTable::default();
        for &(time, index, tag) in steps {
            table.push(Step { time, index, model: 1, stream: 0, task: 0, tag });
        }
        iterations(&table).table.rows().map(|row| (row.index, row.start, row.end)).collect()
    }

    #[test]
    fn an_inference_lasts_from_the_models_start_to_its_end() {
        assert_eq!(found(&[(10, 1, 0), (20, 1, 1), (30, 2, 0), (45, 2, 1)]), [(1, 10, 20), (2, 30, 45)]);
    }

    #[test]
    fn marked_ends_of_iterations_divide_a_models_run() {
        assert_eq!(
            found(&[(10, 1, 0), (15, 1, 2), (20, 1, 4), (40, 2, 4), (41, 2, 1)]),
            [(1, 10, 20), (2, 20, 40)]
        );
    }

    type Stretches = Vec<(u64, u64)>;

    /// The reductions and fetches of the only iteration of some marks: stream, tag and time.
    fn parts(marks: &[(u16, u16, u64)]) -> (Stretches, Stretches) {
        let mut table = StepTable::default();
        let all = [&[(1, 0, 1)], marks, &[(1, 4, 99), (1, 1, 100)]].concat();
        for (stream, tag, time) in all {
            table.push(Step { time, index: 1, model: 1, stream, task: 0, tag });
        }
        let found = iterations(&table);
        assert_eq!(found.table.len(), 1);
        (found.reduces.of_iteration(0), found.fetches.of_iteration(0))
    }

    #[test]
    fn begins_and_ends_of_one_stream_are_a_pair() {
        let marks =
            [(7, 10_000, 2), (5, 10_002, 3), (7, 10_001, 4), (5, 10_003, 5), (7, 10_004, 6), (7, 10_005, 7)];
        assert_eq!(parts(&marks), (vec![(2, 4), (6, 7), (3, 5)], vec![]));
        let marks = [(7, 20_000, 2), (7, 20_002, 3), (7, 20_001, 4), (7, 20_003, 5)];
        assert_eq!(parts(&marks), (vec![], vec![(2, 4), (3, 5)]));
    }

    #[test]
    fn begins_and_ends_without_the_other_are_left_out() {
        assert_eq!(parts(&[(7, 10_001, 2), (7, 10_002, 3), (5, 20_001, 4)]), (vec![], vec![]));
        let marks = [(5, 20_000, 2), (5, 20_000, 3), (5, 20_001, 4), (5, 20_001, 5)];
        assert_eq!(parts(&marks), (vec![], vec![(3, 4)]));
    }

    #[test]
    fn what_happens_between_two_runs_of_a_model_belongs_to_none() {
        let mut table = StepTable::default();
        for (time, tag) in [(1, 0), (2, 1), (3, 10_000), (4, 10_001), (5, 0), (6, 1)] {
            table.push(Step { time, index: 1, model: 1, stream: 1, task: 0, tag });
        }
        let found = iterations(&table);
        assert_eq!((found.table.len(), found.reduces.len()), (2, 0));
    }

    #[test]
    fn of_passes_that_are_marked_again_or_in_the_wrong_order_the_first_counts() {
        let passes = |marks: &[(u64, u16)]| {
            let mut table = StepTable::default();
            for &(time, tag) in [&[(1, 0)], marks, &[(99, 4)]].concat().iter() {
                table.push(Step { time, index: 1, model: 1, stream: 1, task: 0, tag });
            }
            let iteration = iterations(&table).table.row(0);
            (iteration.forward, iteration.backward)
        };
        assert_eq!(passes(&[(10, 2), (20, 2), (30, 3), (40, 3)]), (10, 30));
        assert_eq!(passes(&[(10, 3), (20, 2)]), (0, 10));
    }

    #[test]
    fn an_end_without_a_start_is_no_inference() {
        assert_eq!(found(&[(20, 1, 1)]), []);
    }

    #[test]
    fn what_has_no_other_half_is_counted() {
        let unmatched = |steps: &[(u64, u16)]| {
            let mut table = StepTable::default();
            for &(time, tag) in steps {
                table.push(Step { time, index: 1, model: 1, stream: 1, task: 0, tag });
            }
            iterations(&table).unmatched
        };
        assert_eq!(unmatched(&[(1, 0), (2, 10_000), (3, 10_001), (4, 1)]), 0);
        assert_eq!(unmatched(&[(1, 0), (2, 4), (3, 4), (4, 1)]), 0);
        assert_eq!((unmatched(&[(1, 1)]), unmatched(&[(1, 0)])), (1, 1));
        assert_eq!(unmatched(&[(1, 0), (2, 0), (3, 1)]), 1);
        assert_eq!(unmatched(&[(1, 0), (2, 10_000), (3, 20_001), (4, 1)]), 2);
    }
}
