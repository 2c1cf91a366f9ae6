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

/// What is known so far of a model's present iteration.
#[derive(Default)]
struct Open {
    start: Option<u64>,
    forward: u64,
    backward: u64,
    /// Whether the device marks the ends of iterations inside of a model's run.
    has_ends: bool,
}

/// The inferences that the steps tell of.
pub(super) fn iterations(steps: &StepTable) -> IterationTable {
    let mut table = IterationTable::default();
    let mut order: Vec<u32> = (0..steps.len() as u32).collect();
    order.sort_by_key(|&row| steps.time()[row as usize]);
    let mut models: BTreeMap<u64, Open> = BTreeMap::new();
    for row in order {
        let Step { time, index, model, tag, .. } = steps.row(row as usize);
        let open = models.entry(model).or_default();
        match tag {
            tag::MODEL_START | tag::STEP_START => *open = Open { start: Some(time), ..Open::default() },
            tag::FORWARD if open.forward == 0 => open.forward = time,
            tag::BACKWARD => open.backward = time,
            tag::ITERATION_END => {
                let Open { start, forward, backward, .. } = std::mem::take(open);
                table.push(Iteration {
                    model,
                    index,
                    start: start.unwrap_or(time),
                    end: time,
                    forward,
                    backward,
                });
                *open = Open { start: Some(time), has_ends: true, ..Open::default() };
            }
            tag::MODEL_END | tag::STEP_END => {
                let Open { start, forward, backward, has_ends } = std::mem::take(open);
                if let Some(start) = start.filter(|_| !has_ends) {
                    table.push(Iteration { model, index, start, end: time, forward, backward });
                }
            }
            _ => {}
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(steps: &[(u64, u64, u16)]) -> Vec<(u64, u64, u64)> {
        let mut table = StepTable::default();
        for &(time, index, tag) in steps {
            table.push(Step { time, index, model: 1, stream: 0, task: 0, tag });
        }
        iterations(&table).rows().map(|row| (row.index, row.start, row.end)).collect()
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

    #[test]
    fn an_end_without_a_start_is_no_inference() {
        assert_eq!(found(&[(20, 1, 1)]), []);
    }
}
