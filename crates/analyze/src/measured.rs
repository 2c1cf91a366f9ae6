//! The tasks of the measured iterations, for analyses that look at tasks one by one.

use opscope_trace::{IterationId, TaskId, Trace};

use crate::scope::{Chosen, is_work, measured_iterations};

/// The measured iterations of a profile and the tasks in them that are work ([`is_work`]).
///
/// The rules are those of [`Iterations::Measured`](crate::Iterations::Measured). Where no task is tied to an
/// iteration, a query gives figures of the whole profile; a comparison or prediction needs those of one
/// inference, and divides all tasks by the number of the measured iterations ([`Measured::count`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The iterations, in the order of the trace; none where the profile knows none.
    pub iterations: Vec<IterationId>,
    /// The tasks that are work, in the order of the trace.
    pub tasks: Vec<TaskId>,
}

impl Measured {
    /// Picks the measured part of a trace.
    pub fn of(trace: &Trace) -> Self {
        let (chosen, measured) = (Chosen::measured(trace, None), measured_iterations(trace, None));
        let iterations = trace.iterations.ids().filter(|id| measured[id.index()]).collect();
        let tasks = work(trace).filter(|task| chosen.has_task(trace, *task)).collect();
        Self { iterations, tasks }
    }

    /// All work of a trace, as a single iteration: what can be compared with a profile that knows none.
    pub fn whole(trace: &Trace) -> Self {
        Self { iterations: Vec::new(), tasks: work(trace).collect() }
    }

    /// By how much the sum over all tasks is divided to get that of one iteration.
    pub fn count(&self) -> usize {
        self.iterations.len().max(1)
    }
}

/// The tasks that are work, wherever they lie.
pub(crate) fn work(trace: &Trace) -> impl Iterator<Item = TaskId> + '_ {
    trace.tasks.ids().filter(|task| is_work(trace.tasks.unit()[task.index()]))
}
