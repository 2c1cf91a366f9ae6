//! Telling where each execution of an operator begins, whose tasks may be several.

use opscope_trace::{ApiCallId, IterationId, StringId, Task};

/// The tasks of one operator so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Executions {
    first_task: Option<StringId>,
    last_call: Option<ApiCallId>,
    last_iteration: Option<IterationId>,
}

impl Executions {
    /// Whether the next task of the operator is the first of an execution. An engine may split an
    /// operator into tasks of different names, and one call may launch several.
    pub(crate) fn is_first(&mut self, task: &Task) -> bool {
        if *self.first_task.get_or_insert(task.name) != task.name {
            return false;
        }
        let (call, iteration) = (task.launched_by, task.iteration);
        let is_same = call.is_some() && self.last_call == call && self.last_iteration == iteration;
        (self.last_call, self.last_iteration) = (call, iteration);
        !is_same
    }
}
