//! How much of the calls that execute a model its operators account for.

use std::collections::HashMap;

use opscope_trace::{Nanoseconds, StringId, TimeBasis, Trace};

use crate::calls::{executions, has_times};
use crate::cover::{Cover, Span};
use crate::measured::work;

/// The calls that executed a model, and the operators that ran meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Calls during which operators were recorded; not every inference need be sampled.
    pub calls: usize,
    /// Calls during which none was.
    pub calls_without: usize,
    /// Whether the times are those of an average call, because the profile has totals only.
    pub is_average: bool,
    /// The time of the calls with operators; where several ran at once, each moment counts once.
    pub time: Nanoseconds,
    /// The part of it in which at least one operator ran.
    pub operators: Nanoseconds,
}

impl Coverage {
    /// Of a trace; `None` where it has no call that executes a model, or no operator within one.
    pub fn of(trace: &Trace) -> Option<Self> {
        let calls: Vec<Span> = executions(trace)
            .into_iter()
            .map(|id| trace.api_calls.get(id))
            .map(|call| (call.start, call.start + call.duration))
            .collect();
        if calls.is_empty() {
            return None;
        }
        if !has_times(trace) || trace.run.layer_times != TimeBasis::Recorded {
            return Self::of_totals(trace, &calls);
        }
        let operators = Cover::of(work(trace).map(|task| {
            let task = task.index();
            let start = trace.tasks.start()[task];
            (start, start + trace.tasks.duration()[task])
        }));
        let (with, without): (Vec<Span>, Vec<Span>) =
            calls.into_iter().partition(|call| operators.within(*call) > Nanoseconds::ZERO);
        let all = Cover::of(with.iter().copied());
        let within = all.spans().iter().map(|span| operators.within(*span)).sum();
        (!with.is_empty()).then(|| Self {
            calls: with.len(),
            calls_without: without.len(),
            is_average: false,
            time: all.total(),
            operators: within,
        })
    }

    /// Of durations that were laid end to end: the operators of one inference, each of which runs as
    /// often as most of them do, against an average call.
    fn of_totals(trace: &Trace, calls: &[Span]) -> Option<Self> {
        let mut counts: HashMap<StringId, usize> = HashMap::new();
        let mut sum = Nanoseconds::ZERO;
        for task in work(trace).map(|task| task.index()) {
            *counts.entry(trace.tasks.name()[task]).or_default() += 1;
            sum += trace.tasks.duration()[task];
        }
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable();
        let inferences = *counts.get(counts.len() / 2)?;
        let time: Nanoseconds = calls.iter().map(|(start, end)| *end - *start).sum();
        Some(Self {
            calls: calls.len(),
            calls_without: 0,
            is_average: true,
            time: Nanoseconds(time.0 / calls.len() as i64),
            operators: Nanoseconds(sum.0 / inferences as i64),
        })
    }

    /// The part of the calls' time, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.operators.0 as f64 / self.time.0.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::{ApiCall, ApiLevel, Task};

    use super::*;

    /// Calls that execute a model on two levels, and operators, each with begin and duration.
    fn trace(calls: &[(i64, i64)], tasks: &[(i64, i64)]) -> Trace {
        let mut trace = Trace::new();
        let name = trace.strings.intern("svp_acl_mdl_execute");
        for (level, inset) in [(ApiLevel::Model, 0), (ApiLevel::Runtime, 1)] {
            for (start, duration) in calls {
                let (start, duration) = (Nanoseconds(start + inset), Nanoseconds(duration - 2 * inset));
                trace.api_calls.push(ApiCall { thread: None, level, name, start, duration, iteration: None });
            }
        }
        for (number, (start, duration)) in tasks.iter().enumerate() {
            let name = trace.strings.intern(&format!("layer {}", number % 2));
            trace.tasks.push(Task::new(name, Nanoseconds(*start), Nanoseconds(*duration)));
        }
        trace
    }

    #[test]
    fn each_moment_of_a_call_is_covered_once_whatever_the_levels_and_streams() {
        let trace = trace(&[(0, 100), (200, 100), (400, 100)], &[(10, 40), (20, 50), (290, 50)]);
        let coverage = Coverage::of(&trace).unwrap();
        assert_eq!((coverage.calls, coverage.calls_without), (2, 1));
        assert_eq!((coverage.time, coverage.operators), (Nanoseconds(200), Nanoseconds(70)));
        assert!((coverage.share() - 0.35).abs() < 1e-9);
    }

    #[test]
    fn of_totals_an_average_inference_is_compared_with_an_average_call() {
        let mut trace =
            trace(&[(0, 300), (300, 300), (600, 300)], &[(0, 120), (120, 80), (200, 120), (320, 80)]);
        trace.run.call_times = TimeBasis::Totals;
        let coverage = Coverage::of(&trace).unwrap();
        assert_eq!((coverage.time, coverage.operators), (Nanoseconds(300), Nanoseconds(200)));
        assert!(coverage.is_average);
    }
}
