//! The calls that launched tasks, where both name a number that a process gives to each launch.

use std::collections::hash_map::Entry;

use opscope_trace::{ApiCallId, LossKind, NumberMap, Task, TaskId, Trace};

/// Calls and tasks with the numbers by which they find each other, in whatever order they come.
#[derive(Debug, Default)]
pub struct Launches {
    calls: NumberMap<(u32, u64), ApiCallId>,
    /// The calls by their number alone; `None` where several processes have it.
    by_number: NumberMap<u64, Option<ApiCallId>>,
    tasks: Vec<(u32, u64, TaskId)>,
    repeated: u64,
}

impl Launches {
    /// Notes a call of a process. Of several with one number the first counts: a call of the driver within one of
    /// the runtime bears the same.
    pub fn call(&mut self, process: u32, number: u64, call: ApiCallId) {
        match self.calls.entry((process, number)) {
            Entry::Occupied(_) => self.repeated += 1,
            Entry::Vacant(place) => {
                place.insert(call);
                self.by_number.entry(number).and_modify(|known| *known = None).or_insert(Some(call));
            }
        }
    }

    /// Notes a task that a process launched; process 0 is none that is known.
    pub fn task(&mut self, process: u32, number: u64, task: TaskId) {
        self.tasks.push((process, number, task));
    }

    /// Ties the tasks to their calls, and counts those whose call isn't there, if any call is.
    pub fn tie(&mut self, trace: &mut Trace) {
        let mut missing = 0;
        for (process, number, task) in std::mem::take(&mut self.tasks) {
            // Not every file tells the process of a task.
            let by_number = || self.by_number.get(&number).copied().flatten().filter(|_| process == 0);
            match self.calls.get(&(process, number)).copied().or_else(by_number) {
                Some(call) => {
                    let row = trace.tasks.get(task);
                    trace.tasks.set(task, Task { launched_by: Some(call), ..row });
                }
                None => missing += u64::from(!self.calls.is_empty()),
            }
        }
        trace.count_loss(LossKind::MissingLaunch, missing, "");
        trace.count_loss(LossKind::RepeatedNumber, self.repeated, "");
    }
}
