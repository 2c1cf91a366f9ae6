//! The executions that a question is about, and the time of each.

use std::collections::HashMap;

use opscope_columns::Column;
use opscope_trace::{DataType, IterationId, Nanoseconds, OperatorId, StringId, TaskId, Trace};

use super::question::{Filter, Query, TimeKind};
use crate::calls::{CallKind, CallKinds, iterations_of_calls};
use crate::cover::Span;
use crate::execution::Executions;
use crate::kind::WantedType;
use crate::nesting::{covered_in_order, own_call_times, self_times};
use crate::scope::{Chosen, is_work};
use crate::waiting::Waiting;

/// The executions that pass all filters.
#[derive(Default)]
pub(crate) struct Selection {
    pub executions: Column<Execution>,
    /// The time of everything in the scope, all iterations together.
    pub whole: Nanoseconds,
    /// How many subjects the scope has.
    pub subjects: usize,
    /// How many of them pass.
    pub passing_subjects: usize,
    /// Executions that would pass if their time were known.
    pub unknown: usize,
    /// The kinds of calls that subjects are.
    pub call_kinds: Vec<CallKind>,
    /// The inference of each call, where calls are asked about.
    pub call_iterations: Vec<Option<IterationId>>,
    /// How tasks waited, where those are asked about.
    pub waiting: Option<Waiting>,
}

/// One execution of a subject.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Execution {
    pub subject: Executed,
    /// The row in the table of tasks or calls.
    pub row: u32,
    pub time: Nanoseconds,
    /// Whether it counts with the subject's operations and bytes: of several tasks that make up one
    /// execution of an operator, only the first does.
    pub is_first: bool,
}

/// The subject of an execution: an operator, a name, or a kind of calls by its place in the list of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Executed {
    Operator(OperatorId),
    Name(StringId),
    Call(u32),
}

/// A value for each subject, found by its number.
struct ByExecuted<Value> {
    operators: Vec<Value>,
    names: Vec<Value>,
    calls: Vec<Value>,
}

impl<Value: Clone> ByExecuted<Value> {
    fn new(trace: &Trace, value: Value) -> Self {
        Self {
            operators: vec![value.clone(); trace.operators.len()],
            names: vec![value; trace.strings.len()],
            calls: Vec::new(),
        }
    }

    fn get(&mut self, subject: Executed) -> &mut Value {
        match subject {
            Executed::Operator(id) => &mut self.operators[id.index()],
            Executed::Name(id) => &mut self.names[id.index()],
            Executed::Call(kind) => &mut self.calls[kind as usize],
        }
    }

    fn values(&self) -> impl Iterator<Item = &Value> {
        self.operators.iter().chain(&self.names).chain(&self.calls)
    }
}

/// The state of a subject while executions are looked at.
#[derive(Clone, Copy, Default)]
struct Known {
    seen: bool,
    /// Whether name, type and data type pass.
    passes: bool,
    has_passed: bool,
    total: Nanoseconds,
    executions: Executions,
}

impl Selection {
    /// Some of the executions, as parts of the same whole.
    pub fn only(&self, is_wanted: impl Fn(&Execution) -> bool) -> Self {
        let wanted = self.executions.iter().filter(|execution| is_wanted(execution));
        Self {
            executions: wanted.copied().collect(),
            whole: self.whole,
            waiting: self.waiting,
            ..Self::default()
        }
    }

    /// The time that the executions cover, as [`covered`] says.
    pub fn covered(&self, trace: &Trace) -> Vec<Nanoseconds> {
        covered(trace, self.executions.iter().map(|execution| execution.row))
    }
}

/// The time that some tasks cover in each iteration that has some of them, and outside of all iterations; each
/// moment counts once.
pub(crate) fn covered(trace: &Trace, tasks: impl Iterator<Item = u32>) -> Vec<Nanoseconds> {
    let mut spans: Column<(u32, Span)> = tasks
        .map(|row| {
            let row = row as usize;
            let start = trace.tasks.start()[row];
            let iteration = trace.tasks.iteration()[row].map_or(trace.iterations.len(), |id| id.index());
            (iteration as u32, (start, start + trace.tasks.duration()[row]))
        })
        .collect();
    // A sort of rows that are in order already costs a look at each.
    spans.sort_unstable();
    let of_iterations = spans.chunk_by(|a, b| a.0 == b.0);
    of_iterations.map(|spans| covered_in_order(spans.iter().map(|(_, span)| *span))).collect()
}

/// Chooses among the tasks. Waiting and other handling of streams is no work: it passes only if its
/// unit is asked for.
pub(super) fn tasks(trace: &Trace, query: &Query, chosen: &Chosen) -> Selection {
    let waiting = Waiting::of(trace);
    let own = if query.time == TimeKind::Kernel { waiting.kernel_times(trace) } else { self_times(trace) };
    let tasks = &trace.tasks;
    let units = &query.filter.units;
    let mut chooser = Chooser::new(trace, chosen.averaged);
    for task in tasks.ids().filter(|&task| chosen.has_task(trace, task)) {
        let index = task.index();
        let unit = tasks.unit()[index];
        if !is_work(unit) && !units.contains(&unit) {
            continue;
        }
        let subject = tasks.operator()[index].map_or(Executed::Name(tasks.name()[index]), Executed::Operator);
        let time = match query.time {
            TimeKind::Total | TimeKind::Kernel => Some(own[index]),
            TimeKind::Wait => waiting.of_task(trace, task),
        };
        let is_first = chooser.subjects.get(subject).executions.is_first(&tasks.get(task));
        let passes_unit = units.is_empty() || units.contains(&unit);
        chooser.take(subject, index, time, is_first, passes_unit, || passes_task(trace, &query.filter, task));
    }
    Selection { waiting: Some(waiting), ..chooser.finish(&query.filter) }
}

/// Chooses among the calls of the host.
pub(super) fn calls(trace: &Trace, query: &Query, chosen: &Chosen) -> Selection {
    let own = own_call_times(trace);
    let kinds = CallKinds::of(trace);
    let iterations = iterations_of_calls(trace);
    let filter = &query.filter;
    let mut numbers: HashMap<CallKind, u32> = HashMap::new();
    let mut chooser = Chooser::new(trace, chosen.averaged);
    // Calls belong to no device.
    for call in trace.api_calls.ids().filter(|call| chosen.has_iteration(iterations[call.index()])) {
        // A call's own time leaves out those that it makes, so that one within another counts alike.
        let kind = CallKind { within_itself: false, ..kinds.kind(trace, call) };
        let number = *numbers.entry(kind).or_insert_with(|| chooser.add_call_kind(kind));
        // A call waits for nothing that a format records.
        let time = (query.time != TimeKind::Wait).then(|| own[call.index()]);
        chooser.take(Executed::Call(number), call.index(), time, true, true, || {
            let passes_level = passes_type(filter, kind.level.name(), None);
            passes_name(trace, filter, kind.name) && passes_level && filter.data_types.is_empty()
        });
    }
    Selection { call_iterations: iterations, ..chooser.finish(filter) }
}

/// Collects executions, and judges each subject once.
struct Chooser {
    subjects: ByExecuted<Known>,
    executions: Column<Execution>,
    whole: Nanoseconds,
    unknown: usize,
    averaged: i64,
    call_kinds: Vec<CallKind>,
}

impl Chooser {
    fn new(trace: &Trace, averaged: usize) -> Self {
        Self {
            subjects: ByExecuted::new(trace, Known::default()),
            executions: Column::new(),
            whole: Nanoseconds::ZERO,
            unknown: 0,
            averaged: averaged as i64,
            call_kinds: Vec::new(),
        }
    }

    /// Makes a kind of calls a subject, and gives its number.
    fn add_call_kind(&mut self, kind: CallKind) -> u32 {
        self.call_kinds.push(kind);
        self.subjects.calls.push(Known::default());
        self.call_kinds.len() as u32 - 1
    }

    fn take(
        &mut self,
        subject: Executed,
        row: usize,
        time: Option<Nanoseconds>,
        is_first: bool,
        passes_unit: bool,
        passes: impl FnOnce() -> bool,
    ) {
        let known = self.subjects.get(subject);
        if !known.seen {
            (known.seen, known.passes) = (true, passes());
        }
        let wanted = known.passes && passes_unit;
        let Some(time) = time else {
            self.unknown += usize::from(wanted);
            return;
        };
        self.whole += time;
        if wanted {
            known.has_passed = true;
            known.total += time;
            // A table has fewer rows than 2^32.
            self.executions.push(Execution { subject, row: row as u32, time, is_first });
        }
    }

    /// Leaves out the subjects whose time isn't within the limits.
    fn finish(mut self, filter: &Filter) -> Selection {
        let limits = filter.min_time.unwrap_or(Nanoseconds(i64::MIN))
            ..=filter.max_time.unwrap_or(Nanoseconds(i64::MAX));
        let averaged = self.averaged;
        let fits = |known: &Known| limits.contains(&Nanoseconds(known.total.0 / averaged));
        let subjects = &mut self.subjects;
        self.executions.retain(|execution| fits(subjects.get(execution.subject)));
        let passing = subjects.values().filter(|known| known.has_passed && fits(known));
        Selection {
            whole: self.whole,
            subjects: subjects.values().filter(|known| known.seen).count(),
            passing_subjects: passing.count(),
            unknown: self.unknown,
            call_kinds: self.call_kinds,
            call_iterations: Vec::new(),
            waiting: None,
            executions: self.executions,
        }
    }
}

fn passes_task(trace: &Trace, filter: &Filter, task: TaskId) -> bool {
    let name = trace.tasks.name()[task.index()];
    let Some(operator) = trace.tasks.operator()[task.index()] else {
        let is_name = passes_name(trace, filter, name) && passes_type(filter, trace.strings.get(name), None);
        return is_name && filter.data_types.is_empty();
    };
    let row = trace.operators.get(operator);
    let has_type = |wanted: &DataType| {
        row.inputs().chain(row.outputs()).any(|tensor| trace.tensors.data_type()[tensor.index()] == *wanted)
    };
    passes_name(trace, filter, row.name)
        && passes_type(
            filter,
            trace.strings.get(row.op_type),
            row.engine_type.map(|id| trace.strings.get(id)),
        )
        && (filter.data_types.is_empty() || filter.data_types.iter().any(has_type))
}

fn passes_name(trace: &Trace, filter: &Filter, name: StringId) -> bool {
    filter.name.as_ref().is_none_or(|pattern| pattern.is_match(trace.strings.get(name)))
}

fn passes_type(filter: &Filter, op_type: &str, engine_type: Option<&str>) -> bool {
    let is = |wanted: &String| WantedType::new(wanted).is(op_type, engine_type);
    filter.types.is_empty() || filter.types.iter().any(is)
}
