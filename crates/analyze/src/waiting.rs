//! How long tasks waited, as far as a format records it.

use opscope_trace::{ClockRelation, Nanoseconds, TaskId, TaskWait, Trace};

/// How the waiting of a trace's tasks is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    is_within: bool,
    /// Where no wait is recorded, it is the time from the end of the launching call to the start.
    from_call: bool,
}

impl Waiting {
    pub fn of(trace: &Trace) -> Self {
        Self {
            is_within: trace.run.waiting == TaskWait::Within,
            from_call: trace.run.clocks == ClockRelation::Common,
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

    /// The part of a task's duration that is waiting.
    pub fn within(self, trace: &Trace, task: TaskId) -> Nanoseconds {
        if self.is_within { trace.tasks.wait()[task.index()].unwrap_or_default() } else { Nanoseconds::ZERO }
    }
}
