//! The operators that a device's tasks execute, of PyTorch's profiles.
//!
//! A task names its operator by a number (`External id`). Builds of PyTorch are about in which that is the number of
//! the launch instead (`correlation`), for all tasks of a file, and is some operator's by chance only. So an operator is
//! believed where the call that launched the task lies within it. Elsewhere it is the innermost one around that call.

use std::cmp::Reverse;
use std::num::NonZeroU64;

use opscope_trace::{ApiCallId, Nanoseconds, NumberMap, StringId, Task, TaskId, ThreadId};

use super::builder::{Builder, OperatorKey};
use super::text::Raw;

/// Files in whole microseconds may be off by one of them.
const ROUNDING: Nanoseconds = Nanoseconds(1_000);

/// An operator as the host executed it.
#[derive(Clone, Copy)]
pub(super) struct OperatorCall<'a> {
    pub call: ApiCallId,
    pub name: StringId,
    pub signature: Raw<'a>,
}

/// The host's operators, and the tasks that are to be tied to one.
#[derive(Default)]
pub(super) struct Executed<'a> {
    calls: Vec<OperatorCall<'a>>,
    /// By number, the last operator that has it.
    by_external: NumberMap<NonZeroU64, u32>,
    /// Tasks with the numbers of what they belong to, where that has not come yet or can't be.
    loose: Vec<(TaskId, Option<NonZeroU64>, Option<NonZeroU64>)>,
    /// How many tasks were launched within the operator that they name.
    confirmed: u64,
}

impl<'a> Executed<'a> {
    /// Adds an operator of the host, with the number that its tasks name.
    pub fn add(&mut self, operator: OperatorCall<'a>, external: Option<NonZeroU64>) {
        if let Some(external) = external {
            self.by_external.insert(external, self.calls.len() as u32);
        }
        self.calls.push(operator);
    }

    pub fn wait(&mut self, task: TaskId, link: Option<NonZeroU64>, external: Option<NonZeroU64>) {
        self.loose.push((task, link, external));
    }

    fn named(&self, external: Option<NonZeroU64>) -> Option<OperatorCall<'a>> {
        self.calls.get(*self.by_external.get(&external?)? as usize).copied()
    }
}

/// The facts about an operator that a task names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The task was launched within it.
    Confirmed,
    /// The launch isn't known, or was at the same time on another thread.
    Possible,
    /// The task was launched before or behind it.
    Refuted,
}

impl<'a> Builder<'a> {
    /// Ties a task to the call that launched it and to the operator that it executes, and tells
    /// whether both are known by now.
    pub(super) fn tie(
        &mut self,
        task: &mut Task,
        link: Option<NonZeroU64>,
        external: Option<NonZeroU64>,
    ) -> bool {
        if task.launched_by.is_none() {
            task.launched_by = link.and_then(|link| self.calls_by_link.get(&link).copied());
        }
        if task.operator.is_none()
            && let Some(named) = self.executed.named(external)
            && self.standing(task, named) == Standing::Confirmed
        {
            self.executed.confirmed += 1;
            self.execute(task, named);
        }
        (link.is_none() || task.launched_by.is_some()) && (external.is_none() || task.operator.is_some())
    }

    fn execute(&mut self, task: &mut Task, operator: OperatorCall<'a>) {
        let OperatorCall { name, signature, .. } = operator;
        task.operator = Some(self.operator(OperatorKey { name, op_type: name, model: None, signature }));
    }

    fn standing(&self, task: &Task, operator: OperatorCall<'a>) -> Standing {
        let Some(launch) = task.launched_by else { return Standing::Possible };
        let calls = &self.trace.api_calls;
        let (start, launched) = (calls.start()[operator.call.index()], calls.start()[launch.index()]);
        let end = start + calls.duration()[operator.call.index()];
        let is_during = start - ROUNDING <= launched && launched <= end + ROUNDING;
        match calls.thread()[operator.call.index()] == calls.thread()[launch.index()] {
            _ if !is_during => Standing::Refuted,
            true => Standing::Confirmed,
            false => Standing::Possible,
        }
    }

    /// Ties those tasks that stand in the file before what they belong to, or name an operator that they can't be of.
    pub(super) fn tie_loose_tasks(&mut self) {
        let mut refuted = 0_u64;
        let mut possible: Vec<(TaskId, OperatorCall<'a>)> = Vec::new();
        let mut nested: Vec<(ThreadId, Nanoseconds, TaskId)> = Vec::new();
        for (id, link, external) in std::mem::take(&mut self.executed.loose) {
            let mut task = self.trace.tasks.get(id);
            self.tie(&mut task, link, external);
            self.trace.tasks.set(id, task);
            if task.operator.is_some() || external.is_none() {
                continue;
            }
            if let Some(named) = self.executed.named(external) {
                match self.standing(&task, named) {
                    Standing::Refuted => refuted += 1,
                    Standing::Confirmed | Standing::Possible => possible.push((id, named)),
                }
            }
            let calls = &self.trace.api_calls;
            let launch = task.launched_by.map(|launch| (calls.thread()[launch.index()], launch));
            if let Some((Some(thread), launch)) = launch {
                nested.push((thread, calls.start()[launch.index()], id));
            }
        }
        for (id, operator) in self.innermost(nested) {
            let mut task = self.trace.tasks.get(id);
            self.execute(&mut task, operator);
            self.trace.tasks.set(id, task);
        }
        // Where numbers mean something else, those that nothing refutes are chance as well.
        let are_believed = refuted <= self.executed.confirmed;
        for (id, operator) in possible.into_iter().filter(|_| are_believed) {
            let mut task = self.trace.tasks.get(id);
            if task.operator.is_none() {
                self.execute(&mut task, operator);
                self.trace.tasks.set(id, task);
            }
        }
    }

    /// The innermost operators around moments of threads, each with the task that was launched then.
    fn innermost(
        &self,
        mut moments: Vec<(ThreadId, Nanoseconds, TaskId)>,
    ) -> Vec<(TaskId, OperatorCall<'a>)> {
        if moments.is_empty() {
            return Vec::new();
        }
        moments.sort_unstable();
        let calls = &self.trace.api_calls;
        let place = |number: &u32| {
            let call = self.executed.calls[*number as usize].call.index();
            (calls.thread()[call], calls.start()[call], Reverse(calls.duration()[call]))
        };
        let mut order: Vec<u32> = (0..self.executed.calls.len() as u32).collect();
        order.sort_by_key(place);
        let mut begun = order.into_iter().peekable();
        let mut open: Vec<(u32, Option<ThreadId>, Nanoseconds)> = Vec::new();
        let mut found = Vec::new();
        for (thread, time, task) in moments {
            while let Some(number) = begun.next_if(|number| {
                let (of, start, _) = place(number);
                (of, start) <= (Some(thread), time)
            }) {
                let (of, start, Reverse(duration)) = place(&number);
                open.push((number, of, start + duration));
            }
            while open.pop_if(|(_, of, end)| *of != Some(thread) || *end < time).is_some() {}
            if let Some((number, ..)) = open.last() {
                found.push((task, self.executed.calls[*number as usize]));
            }
        }
        found
    }
}
