//! The calls that launched tasks, where both name a number that a process gives to each launch.

use opscope_trace::{ApiCallId, LossKind, Task, TaskId, Trace};

/// Calls and tasks with the numbers by which they find each other, in whatever order they come.
///
/// Both are lists, of which the calls are sorted at the end: numbers mostly grow along a file, so that nothing has to
/// be moved then, and a task's call stands right behind that of the task before.
#[derive(Debug, Default)]
pub struct Launches {
    calls: Vec<Numbered<ApiCallId>>,
    tasks: Vec<Numbered<TaskId>>,
}

/// A call or a task with the number of its launch, and the process that gave it.
#[derive(Clone, Copy, Debug)]
struct Numbered<Id> {
    number: u64,
    process: u32,
    id: Id,
}

impl<Id> Numbered<Id> {
    fn key(&self) -> (u64, u32) {
        (self.number, self.process)
    }
}

impl Launches {
    /// Notes a call of a process. Of several with one number the first counts: a call of the driver within one of
    /// the runtime bears the same.
    pub fn call(&mut self, process: u32, number: u64, call: ApiCallId) {
        self.calls.push(Numbered { number, process, id: call });
    }

    /// Notes a task that a process launched; process 0 is none that is known.
    pub fn task(&mut self, process: u32, number: u64, task: TaskId) {
        self.tasks.push(Numbered { number, process, id: task });
    }

    /// Ties the tasks to their calls, and counts those whose call isn't there, if any call is.
    pub fn tie(&mut self, trace: &mut Trace) {
        let Self { mut calls, tasks } = std::mem::take(self);
        let noted = calls.len();
        // Sorting keeps the order of equal keys, so that the first stays.
        calls.sort_by_key(Numbered::key);
        calls.dedup_by_key(|call| call.key());
        let mut missing = 0;
        let mut next = 0;
        for task in tasks {
            let place = place_of(&calls, task.key(), next);
            match launcher(&calls[place..], &task) {
                Some(call) => {
                    let row = trace.tasks.get(task.id);
                    trace.tasks.set(task.id, Task { launched_by: Some(call), ..row });
                }
                None => missing += u64::from(!calls.is_empty()),
            }
            next = place + 1;
        }
        trace.count_loss(LossKind::MissingLaunch, missing, "");
        trace.count_loss(LossKind::RepeatedNumber, (noted - calls.len()) as u64, "");
    }
}

/// The place of the first call that isn't before a key; the one that is expected is looked at first.
fn place_of(calls: &[Numbered<ApiCallId>], key: (u64, u32), expected: usize) -> usize {
    let is_before = |place: usize| calls.get(place).is_none_or(|call| call.key() < key);
    match calls.get(expected) {
        Some(call) if call.key() >= key && (expected == 0 || is_before(expected - 1)) => expected,
        _ => calls.partition_point(|call| call.key() < key),
    }
}

/// The call that launched a task, among those from its key on.
fn launcher(calls: &[Numbered<ApiCallId>], task: &Numbered<TaskId>) -> Option<ApiCallId> {
    let first = calls.first().filter(|call| call.number == task.number)?;
    if first.process == task.process {
        return Some(first.id);
    }
    // Not every file tells the process of a task; then a number counts that only one process gave.
    let is_only_one = calls.get(1).is_none_or(|second| second.number != task.number);
    (task.process == 0 && is_only_one).then_some(first.id)
}

#[cfg(test)]
mod tests {
    use opscope_trace::{ApiCall, ApiLevel, Nanoseconds};
    use proptest::prelude::*;

    use super::*;

    const NOW: Nanoseconds = Nanoseconds::ZERO;

    /// The launchers of tasks, the calls that are missing, and the numbers that are repeated.
    fn tied(calls: &[(u32, u64)], tasks: &[(u32, u64)]) -> (Vec<Option<usize>>, u64, u64) {
        let (mut trace, mut launches) = (Trace::new(), Launches::default());
        let name = trace.strings.intern("");
        for &(process, number) in tasks {
            let task = trace.tasks.push(Task::new(name, NOW, NOW));
            launches.task(process, number, task);
        }
        for &(process, number) in calls {
            let level = ApiLevel::Runtime;
            let call = ApiCall { thread: None, level, name, start: NOW, duration: NOW, iteration: None };
            launches.call(process, number, trace.api_calls.push(call));
        }
        launches.tie(&mut trace);
        let losses = || trace.losses.iter().map(|(_, loss)| loss);
        let count = |kind| losses().filter(|loss| loss.kind == kind).map(|loss| loss.count).sum();
        let of_tasks = trace.tasks.launched_by().iter().map(|call| call.map(|call| call.index()));
        (of_tasks.collect(), count(LossKind::MissingLaunch), count(LossKind::RepeatedNumber))
    }

    #[test]
    fn a_task_without_a_process_belongs_to_the_only_call_of_its_number() {
        let calls = [(7, 2), (7, 1), (8, 3), (7, 3), (7, 1)];
        let tasks = [(7, 1), (0, 2), (0, 3), (8, 3), (9, 2), (7, 4)];
        assert_eq!(tied(&calls, &tasks), (vec![Some(1), Some(0), None, Some(2), None, None], 3, 1));
        assert_eq!(tied(&[], &tasks), (vec![None; 6], 0, 0), "nothing is missing where no call was recorded");
    }

    proptest! {
        /// As a map would find them.
        #[test]
        fn tasks_find_the_first_call_of_their_number_in_any_order(
            calls in prop::collection::vec((0..3_u32, 0..20_u64), 0..40),
            tasks in prop::collection::vec((0..3_u32, 0..20_u64), 0..40),
        ) {
            let first = |wanted: &dyn Fn(&(u32, u64)) -> bool| calls.iter().position(wanted);
            let launcher = |&(process, number): &(u32, u64)| {
                let mut of_number: Vec<u32> =
                    calls.iter().filter(|call| call.1 == number).map(|call| call.0).collect();
                of_number.sort_unstable();
                of_number.dedup();
                let alone = || first(&|call| call.1 == number).filter(|_| process == 0 && of_number.len() == 1);
                first(&|call| *call == (process, number)).or_else(alone)
            };
            let expected: Vec<Option<usize>> = tasks.iter().map(launcher).collect();
            prop_assert_eq!(tied(&calls, &tasks).0, expected);
        }
    }
}
