//! How long tasks waited, as far as a format records it.

use opscope_columns::Column;
use opscope_trace::{ClockRelation, Nanoseconds, TaskId, TaskWait, Trace};

use crate::nesting::{own_times, self_times};

/// How the waiting of a trace's tasks is meant.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    is_within: bool,
    /// Where a format records no waits at all, they are the times from the end of the launching call to the
    /// start. One task without a wait among others with one, such as the first of a device, has none.
    from_call: bool,
}

impl Waiting {
    pub fn of(trace: &Trace) -> Self {
        Self {
            is_within: trace.run.waiting == TaskWait::Within,
            from_call: trace.run.clocks == ClockRelation::Common
                && trace.tasks.wait().iter().all(Option::is_none),
        }
    }

    /// How long a task waited between being ready or queued and its first kernel.
    pub fn of_task(self, trace: &Trace, task: TaskId) -> Option<Nanoseconds> {
        let recorded = trace.tasks.wait()[task.index()];
        recorded.or_else(|| {
            let call = trace.tasks.launched_by()[task.index()].filter(|_| self.from_call)?.index();
            let queued = trace.api_calls.start()[call] + trace.api_calls.duration()[call];
            Some((trace.tasks.start()[task.index()] - queued).max(Nanoseconds::ZERO))
        })
    }

    /// The own times of the tasks without the waiting that their durations begin with.
    pub fn kernel_times(self, trace: &Trace) -> Column<Nanoseconds> {
        if !self.is_within {
            return self_times(trace);
        }
        let tasks = &trace.tasks;
        let of_task = |(wait, duration): (&Option<Nanoseconds>, &Nanoseconds)| {
            wait.unwrap_or_default().max(Nanoseconds::ZERO).min(*duration)
        };
        let waits: Column<Nanoseconds> = tasks.wait().iter().zip(tasks.duration()).map(of_task).collect();
        let starts: Column<_> =
            tasks.start().iter().zip(&waits).map(|(start, wait)| *start + *wait).collect();
        let durations: Column<_> =
            tasks.duration().iter().zip(&waits).map(|(all, wait)| *all - *wait).collect();
        own_times(tasks.stream(), &starts, &durations)
    }
}
