//! The tasks that each call launched.

use opscope_trace::{ApiCallId, TaskId, Trace};

/// The launches of a trace that can be drawn as arrows: those that lead forward in time.
#[derive(Clone, Debug)]
pub struct Launches {
    /// The call of every task; empty when no task names one.
    calls: Vec<Option<ApiCallId>>,
    /// The tasks, those of one call after those of another.
    tasks: Vec<TaskId>,
    /// Where the tasks of every call end in `tasks`.
    ends: Vec<usize>,
    left_out: usize,
}

impl Launches {
    /// Finds them.
    pub fn new(trace: &Trace) -> Self {
        let launched_by = trace.tasks.launched_by();
        let starts = trace.tasks.start();
        let named = launched_by.iter().flatten().count();
        if named == 0 {
            return Self { calls: Vec::new(), tasks: Vec::new(), ends: Vec::new(), left_out: 0 };
        }
        let forward = |(call, &start): (&Option<ApiCallId>, _)| {
            call.filter(|call| trace.api_calls.start()[call.index()] <= start)
        };
        let calls: Vec<_> = launched_by.iter().zip(starts).map(forward).collect();
        let mut tasks: Vec<TaskId> = trace.tasks.ids().filter(|task| calls[task.index()].is_some()).collect();
        tasks.sort_by_key(|task| calls[task.index()]);
        let mut ends = vec![0; trace.api_calls.len()];
        for (end, task) in tasks.iter().enumerate().map(|(index, task)| (index + 1, task)) {
            if let Some(call) = calls[task.index()] {
                ends[call.index()] = end;
            }
        }
        // A call without tasks ends where the one before it does.
        let mut end = 0;
        for own in &mut ends {
            end = end.max(*own);
            *own = end;
        }
        let left_out = named - tasks.len();
        Self { calls, tasks, ends, left_out }
    }

    /// How many launches there are.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// How many lead backward in time and are not drawn.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// The call that launched a task.
    pub fn call_of(&self, task: TaskId) -> Option<ApiCallId> {
        *self.calls.get(task.index())?
    }

    /// The tasks that a call launched.
    pub fn tasks_of(&self, call: ApiCallId) -> &[TaskId] {
        let index = call.index();
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.tasks[start..end]
    }
}
