//! The own time of each task of work, as a part of the inference that a profile is judged by.
//!
//! A profile taken as it is is judged by its average iteration, and recorded times are parts of that as they
//! are. A run that timed inferences as a whole is judged by their median. There an operator's tasks share its
//! time in a typical iteration, by the median as well, so that one disturbed iteration moves neither; and
//! together they are no more than the time that operators can have had of that inference.

use std::collections::HashMap;

use opscope_trace::{Nanoseconds, OperatorId, StringId, Trace};

use crate::query::{Aggregate, Query, covered};
use crate::{Latencies, Measured, Statistics, self_times};

/// By task, in the order of [`Measured::tasks`], its own time in nanoseconds as it was recorded.
pub fn recorded_times(trace: &Trace, measured: &Measured) -> Vec<f64> {
    let own = self_times(trace);
    measured.tasks.iter().map(|task| own[task.index()].0 as f64).collect()
}

/// By task, in the order of [`Measured::tasks`], its own time in nanoseconds as a part of so many of the
/// inferences that the profile is judged by as were recorded. Divided by [`Measured::count`], the times of an
/// operator's tasks sum to its part of such an inference ([`Latencies::typical`]).
pub fn work_times(trace: &Trace, measured: &Measured) -> Vec<f64> {
    let mut times = recorded_times(trace, measured);
    let latencies = Latencies::of(trace, None);
    let Some(latency) = latencies.typical().filter(|_| !latencies.unrecorded.is_empty()) else {
        return times;
    };
    let recorded: f64 = times.iter().sum();
    make_typical(trace, measured, &mut times);
    let typical: f64 = times.iter().sum();
    let busy = covered(trace, measured.tasks.iter().map(|task| task.index() as u32));
    // Operators that ran side by side had more than the inference's time, as they had of the recorded ones.
    let all_busy = busy.iter().sum::<Nanoseconds>().0 as f64;
    let side_by_side = if all_busy > 0.0 { (recorded / all_busy).max(1.0) } else { 1.0 };
    // An iteration without disturbance: the one that all recorded ones would be by their typical parts.
    let inside = typical / side_by_side / measured.count() as f64;
    let whole = if latencies.scale() < 1.0 { inside + typical_gap(trace, measured, &busy) } else { inside };
    let scale = if whole > 0.0 { (latency.0 as f64 / whole).min(1.0) } else { 1.0 };
    times.iter_mut().for_each(|time| *time *= scale);
    times
}

/// The time of a typical recorded iteration in which no operator ran, in nanoseconds, by how long they ran in each
/// that had some.
fn typical_gap(trace: &Trace, measured: &Measured, busy: &[Nanoseconds]) -> f64 {
    let mut has_work = vec![false; trace.iterations.len()];
    let iterations = measured.tasks.iter().filter_map(|task| trace.tasks.iteration()[task.index()]);
    iterations.for_each(|id| has_work[id.index()] = true);
    let durations = measured.iterations.iter().filter(|id| has_work[id.index()]);
    let durations = durations.map(|id| trace.iterations.duration()[id.index()]);
    let gaps = durations.zip(busy).map(|(duration, busy)| (duration - *busy).max(Nanoseconds::ZERO));
    Statistics::of(gaps).map_or(0.0, |gaps| gaps.median.0 as f64)
}

/// The subject of a query: an operator, or the name of tasks that belong to none.
type Subject = (Option<OperatorId>, Option<StringId>);

/// Makes the times of each operator's tasks sum to its time in so many typical iterations.
fn make_typical(trace: &Trace, measured: &Measured, times: &mut [f64]) {
    let subject_of = |task: usize| -> Subject {
        let operator = trace.tasks.operator()[task];
        (operator, operator.is_none().then(|| trace.tasks.name()[task]))
    };
    let mut sums: HashMap<Subject, f64> = HashMap::new();
    for (task, time) in measured.tasks.iter().zip(times.iter()) {
        *sums.entry(subject_of(task.index())).or_default() += time;
    }
    let query = Query { aggregate: Aggregate::Typical, ..Query::default() };
    // No trace lacks its measured part.
    let Ok(answer) = query.run(trace) else { return };
    let factors = answer.rows.iter().filter_map(|row| {
        let subject = (row.operator, if row.operator.is_none() { row.name } else { None });
        let typical = row.per_iteration?.typical.0 as f64 * answer.averaged as f64;
        let sum = sums.get(&subject).filter(|sum| **sum > 0.0)?;
        Some((subject, typical / sum))
    });
    let factors: HashMap<Subject, f64> = factors.collect();
    for (task, time) in measured.tasks.iter().zip(times) {
        *time *= factors.get(&subject_of(task.index())).copied().unwrap_or(1.0);
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Iteration, Operator, Task, UnrecordedIteration};
    use proptest::prelude::*;

    use super::*;
    use crate::{Edit, predict};

    /// A run: iterations that were timed as a whole, and recorded ones with the times of their operators and of
    /// what lies between.
    fn run(unrecorded: &[i64], recorded: &[(Vec<i64>, i64)]) -> Trace {
        let mut trace = Trace::new();
        let mut start = Nanoseconds::ZERO;
        let (model, warm_up) = (None, false);
        for (number, (operators, between)) in recorded.iter().enumerate() {
            let duration = Nanoseconds(operators.iter().sum::<i64>() + between);
            let row = Iteration { model, number: number as u32 + 1, warm_up, start, duration };
            let iteration = Some(trace.iterations.push(row));
            let mut at = start;
            for (place, time) in operators.iter().enumerate() {
                let name = trace.strings.intern(&format!("op{place}"));
                let known = OperatorId::from_index(place);
                let operator = match place < trace.operators.len() {
                    true => known,
                    false => trace.operators.push(Operator::new(name, name)),
                };
                let task = Task::new(name, at, Nanoseconds(*time));
                trace.tasks.push(Task { operator: Some(operator), iteration, ..task });
                at += Nanoseconds(*time);
            }
            start += duration;
        }
        for duration in unrecorded {
            let (number, duration) = (1, Nanoseconds(*duration));
            trace.unrecorded_iterations.push(UnrecordedIteration { model, number, warm_up, start, duration });
        }
        trace
    }

    fn of_operators(trace: &Trace) -> Vec<f64> {
        let measured = Measured::of(trace);
        let mut sums = vec![0.0; trace.operators.len()];
        for (task, time) in measured.tasks.iter().zip(work_times(trace, &measured)) {
            let operator = trace.tasks.operator()[task.index()].expect("an operator");
            sums[operator.index()] += time / measured.count() as f64;
        }
        sums
    }

    #[test]
    fn one_disturbed_iteration_moves_no_operator_of_a_run() {
        let quiet = (vec![100_000, 50_000], 10_000);
        let mut recorded = vec![quiet; 9];
        recorded[4].0[1] = 9_000_000;
        let trace = run(&[150_000; 9], &recorded);
        // Recording costs 160 over 150.
        let expected = [100_000.0, 50_000.0].map(|time: f64| time * 150.0 / 160.0);
        for (found, expected) in of_operators(&trace).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1.0, "{found} is not {expected}");
        }
        let prediction = predict(&trace, &[Edit::Remove("op1".to_owned())]).unwrap();
        assert_eq!((prediction.measured.0, prediction.edits[0].1.0), (150_000, 46_875));
        assert_eq!(prediction.predicted, Nanoseconds(150_000 - 46_875));
    }

    #[test]
    fn a_machine_that_disturbs_every_iteration_leaves_operators_their_parts_of_the_inference() {
        // Each iteration was interrupted in another operator; undisturbed it takes 1,100.
        let disturbed = |at: usize| {
            let mut times = vec![100; 10];
            times[at] += 30_000;
            (times, 100)
        };
        let trace = run(&[550; 10], &(0..10).map(disturbed).collect::<Vec<_>>());
        for time in of_operators(&trace) {
            assert!((time - 50.0).abs() < 0.1, "{time}");
        }
    }

    #[test]
    fn of_a_profile_that_is_taken_as_it_is_nothing_recorded_goes_or_comes() {
        let trace = run(&[], &[(vec![100, 50], 10), (vec![300, 50], 10)]);
        assert_eq!(of_operators(&trace), [200.0, 50.0]);
    }

    proptest! {
        #[test]
        fn operators_one_after_another_never_take_more_than_the_inference(
            unrecorded in proptest::collection::vec(1_000_i64..100_000, 1..12),
            recorded in proptest::collection::vec((proptest::collection::vec(0_i64..20_000, 4), 0_i64..500), 1..12),
        ) {
            let trace = run(&unrecorded, &recorded);
            let latency = Latencies::of(&trace, None).typical().unwrap();
            let sum: f64 = of_operators(&trace).iter().sum();
            prop_assert!(sum <= latency.0 as f64 + 1.0, "{sum} of {latency:?}");
            let prediction = predict(&trace, &[Edit::Remove("op0".to_owned())]).unwrap();
            prop_assert!(prediction.edits[0].1 <= latency);
        }
    }
}
