//! The inferences of a table that the recording of tasks covers. A table of inferences may list those of a whole run,
//! and the tables of tasks beside it only some of them: a recorder's memory is limited, and tools export one inference.

use std::collections::BTreeMap;

use opscope_trace::{LossKind, ModelId, Trace};

/// The records of an inference.
#[derive(Clone, Copy, Default)]
struct Recorded {
    tasks: usize,
    calls: usize,
}

/// Leaves out the inferences of each model before its first and behind its last with a recorded task or call, by which
/// the time of tasks would be divided though they have no part in it, and those in whose middle the recording began
/// or ended. An inference without tasks between others was idle, and stays.
pub(super) fn leave_out_uncovered(trace: &mut Trace) {
    let mut recorded = vec![Recorded::default(); trace.iterations.len()];
    for iteration in trace.tasks.iteration().iter().flatten() {
        recorded[iteration.index()].tasks += 1;
    }
    for iteration in trace.api_calls.iteration().iter().flatten() {
        recorded[iteration.index()].calls += 1;
    }
    let mut of_models: BTreeMap<Option<ModelId>, Vec<usize>> = BTreeMap::new();
    for (place, model) in trace.iterations.model().iter().enumerate() {
        of_models.entry(*model).or_default().push(place);
    }
    let mut keep = vec![true; recorded.len()];
    for places in of_models.into_values() {
        let covered = covered(&places.iter().map(|&place| recorded[place]).collect::<Vec<_>>());
        for (order, place) in places.into_iter().enumerate() {
            keep[place] = covered.contains(&order);
        }
    }
    let all = keep.len();
    let left_out = keep.iter().filter(|kept| !**kept).count();
    if left_out > 0 {
        trace.retain_iterations(&keep);
        let whole = all - left_out;
        let detail = format!("all tasks of {whole} of {all} were recorded");
        trace.count_loss(LossKind::IterationNotCovered, left_out as u64, &detail);
    }
}

/// The inferences of a model, by their order, that the recording covers; all where it has none of their tasks.
fn covered(recorded: &[Recorded]) -> std::ops::Range<usize> {
    let is_covered = |of_one: &Recorded| of_one.tasks + of_one.calls > 0;
    let (Some(mut first), Some(last)) =
        (recorded.iter().position(is_covered), recorded.iter().rposition(is_covered))
    else {
        return 0..recorded.len();
    };
    if recorded.iter().all(|of_one| of_one.tasks == 0) {
        return 0..recorded.len();
    }
    let mut end = last + 1;
    // A recording that ends before the run does so within an inference, unless it is exported by inferences.
    let is_part = |place: usize, others: &[Recorded]| {
        let fewest = others.iter().map(|other| other.tasks).filter(|tasks| *tasks > 0).min();
        recorded[place].calls == 0 && fewest.is_some_and(|fewest| fewest > recorded[place].tasks)
    };
    if end < recorded.len() && is_part(last, &recorded[first..last]) {
        end -= 1;
    }
    if first > 0 && is_part(first, &recorded[first + 1..end.max(first + 1)]) {
        first += 1;
    }
    first..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered_of(tasks: &[usize]) -> std::ops::Range<usize> {
        covered(&tasks.iter().map(|&tasks| Recorded { tasks, calls: 0 }).collect::<Vec<_>>())
    }

    #[test]
    fn inferences_beyond_the_recording_are_not_covered_nor_is_one_that_it_ends_within() {
        assert_eq!(covered_of(&[9, 9, 9, 4, 0, 0]), 0..3);
        assert_eq!(covered_of(&[0, 4, 9, 9, 0]), 2..4);
    }

    #[test]
    fn an_idle_inference_between_others_is_covered_and_so_are_all_where_the_recording_reaches_both_ends() {
        assert_eq!(covered_of(&[9, 0, 0, 9, 0]), 0..4);
        assert_eq!(covered_of(&[3, 9, 0, 2]), 0..4);
    }

    #[test]
    fn the_only_inference_with_tasks_is_covered_and_without_any_all_are() {
        assert_eq!(covered_of(&[0, 9, 0]), 1..2);
        assert_eq!(covered_of(&[0, 0]), 0..2);
        assert_eq!(covered_of(&[]), 0..0);
    }

    #[test]
    fn an_inference_with_calls_alone_was_recorded() {
        let recorded = [(9, 1), (9, 1), (0, 1), (0, 0)].map(|(tasks, calls)| Recorded { tasks, calls });
        assert_eq!(covered(&recorded), 0..3);
        let recorded = [(0, 0), (9, 0), (0, 1), (0, 0)].map(|(tasks, calls)| Recorded { tasks, calls });
        assert_eq!(covered(&recorded), 1..3);
    }
}
