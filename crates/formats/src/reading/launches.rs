//! The calls that launched tasks, where both name a number that a process gives to each launch.

use opscope_trace::{ApiCallId, LossKind, Task, TaskId, Trace};

/// Calls and tasks with the numbers by which they find each other, in whatever order they come.
///
/// Both are lists, of which the calls are sorted at the end: numbers mostly grow along a file, so that nothing has to
/// be moved then, and a task's call stands right behind that of the task before.
#[derive(Debug, Default)]
pub struct Launches {
    calls: Vec<Numbered<ApiCallId>>,
    tasks: NumberedTasks,
}

/// A call or a task with the number of its launch, and the process that gave it.
#[derive(Clone, Copy, Debug)]
struct Numbered<Id> {
    number: u64,
    process: u32,
    id: Id,
}

/// Tasks with their numbers, in the order in which they came. There may be as many as rows in a trace, and each mostly
/// follows the one before, so that a byte or two tell it.
///
/// | written as variable-length numbers | |
/// |---|---|
/// | the step from the number of the task before, its sign in the lowest bit, times two, plus one if more follows | |
/// | the step from its row, likewise with the sign in the lowest bit | unless it is the next row and process |
/// | the process | likewise |
#[derive(Debug, Default)]
struct NumberedTasks {
    bytes: Vec<u8>,
    last: Step,
}

/// A task as a reader meets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    number: u64,
    process: u32,
    row: usize,
}

impl NumberedTasks {
    fn push(&mut self, number: u64, process: u32, row: usize) {
        let last = std::mem::replace(&mut self.last, Step { number, process, row });
        let step = u128::from(zigzag(number.wrapping_sub(last.number))) << 1;
        if row == last.row + 1 && process == last.process {
            return push_varint(&mut self.bytes, step);
        }
        push_varint(&mut self.bytes, step | 1);
        push_varint(&mut self.bytes, u128::from(zigzag((row as u64).wrapping_sub(last.row as u64))));
        push_varint(&mut self.bytes, u128::from(process));
    }

    fn iter(&self) -> impl Iterator<Item = Numbered<TaskId>> {
        let mut rest = self.bytes.iter();
        let mut last = Step::default();
        std::iter::from_fn(move || {
            let step = varint(&mut rest)?;
            last.number = last.number.wrapping_add(unzigzag((step >> 1) as u64));
            match step & 1 {
                0 => last.row += 1,
                _ => {
                    last.row = (last.row as u64).wrapping_add(unzigzag(varint(&mut rest)? as u64)) as usize;
                    last.process = varint(&mut rest)? as u32;
                }
            }
            let Step { number, process, row } = last;
            Some(Numbered { number, process, id: TaskId::from_index(row) })
        })
    }
}

/// A difference with its sign in the lowest bit, so that small ones of either sign are small numbers.
fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ (difference.cast_signed() >> 63).cast_unsigned()
}

fn unzigzag(number: u64) -> u64 {
    (number >> 1) ^ (number & 1).wrapping_neg()
}

/// Appends a number, seven bits in each byte, the lowest first; the highest bit says that more follow.
fn push_varint(bytes: &mut Vec<u8>, mut number: u128) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn varint(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u128> {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let byte = *bytes.next()?;
        number |= u128::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            break;
        }
    }
    Some(number)
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
        self.tasks.push(number, process, task.index());
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
        for task in tasks.iter() {
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
        /// Numbers of all sizes.
        #[test]
        fn tasks_come_back_as_they_were_noted(
            tasks in prop::collection::vec((any::<u64>(), any::<u32>(), 0..u32::MAX as usize), 0..40),
            begin in any::<u64>(),
            few in 0..40_usize,
        ) {
            let one_by_one = (0..few).map(|row| (begin.wrapping_add(row as u64), 0, row + 1));
            let tasks: Vec<(u64, u32, usize)> = tasks.into_iter().chain(one_by_one).collect();
            let mut noted = NumberedTasks::default();
            tasks.iter().for_each(|&(number, process, row)| noted.push(number, process, row));
            let back = noted.iter().map(|task| (task.number, task.process, task.id.index()));
            prop_assert_eq!(back.collect::<Vec<_>>(), tasks);
        }

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
