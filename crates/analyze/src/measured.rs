//! Which part of a profile counts: the measured iterations, without those that served to warm up.

use opscope_trace::{IterationId, TaskId, Trace};

/// The measured iterations of a profile and the tasks in them.
///
/// Warm-up iterations are left out unless there are no others. A profile that knows no iterations
/// counts as a single one, with all tasks in it; where it knows some, tasks outside them are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The iterations, in the order of the trace; none where the profile knows none.
    pub iterations: Vec<IterationId>,
    /// The tasks, in the order of the trace.
    pub tasks: Vec<TaskId>,
}

impl Measured {
    /// Picks the measured part of a trace.
    pub fn of(trace: &Trace) -> Self {
        let only_warm_up = trace.iterations.warm_up().iter().all(|warm_up| *warm_up);
        let counts = |id: IterationId| only_warm_up || !trace.iterations.warm_up()[id.index()];
        let iterations: Vec<IterationId> = trace.iterations.ids().filter(|id| counts(*id)).collect();
        let of_task = |task: &TaskId| match trace.tasks.iteration()[task.index()] {
            Some(iteration) => counts(iteration),
            None => trace.iterations.is_empty(),
        };
        let tasks: Vec<TaskId> = trace.tasks.ids().filter(of_task).collect();
        // Iterations that no task is tied to say nothing about tasks.
        if tasks.is_empty() && !trace.tasks.is_empty() {
            return Self { iterations, tasks: trace.tasks.ids().collect() };
        }
        Self { iterations, tasks }
    }

    /// Everything in a trace, as a single iteration: what can be compared with a profile that knows none.
    pub fn whole(trace: &Trace) -> Self {
        Self { iterations: Vec::new(), tasks: trace.tasks.ids().collect() }
    }

    /// By how much the sum over all tasks is divided to get that of one iteration.
    pub fn count(&self) -> usize {
        self.iterations.len().max(1)
    }
}
