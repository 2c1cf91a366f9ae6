//! How much of the calls that execute a model its operators account for.

use opscope_trace::{ExecutionUnit, Nanoseconds, Trace};

use crate::calls::executions;
use crate::cover::{Cover, Span};

/// The calls that executed a model, and the operators that ran meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Calls during which operators were recorded; not every inference need be sampled.
    pub calls: usize,
    /// Calls during which none was.
    pub calls_without: usize,
    /// The time of the former; where several ran at once, each moment counts once.
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
        let tasks = &trace.tasks;
        let work = (0..tasks.len()).filter(|&index| tasks.unit()[index] != ExecutionUnit::Control);
        let operators = Cover::of(
            work.map(|index| (tasks.start()[index], tasks.start()[index] + tasks.duration()[index])),
        );
        let (with, without): (Vec<Span>, Vec<Span>) =
            calls.into_iter().partition(|call| operators.within(*call) > Nanoseconds::ZERO);
        let all = Cover::of(with.iter().copied());
        let within = all.spans().iter().map(|span| operators.within(*span)).sum();
        (!with.is_empty()).then(|| Self {
            calls: with.len(),
            calls_without: without.len(),
            time: all.total(),
            operators: within,
        })
    }

    /// The part of the calls' time, from 0 to 1.
    pub fn share(&self) -> f64 {
        self.operators.0 as f64 / self.time.0.max(1) as f64
    }
}
