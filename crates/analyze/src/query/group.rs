//! Executions added up into rows.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use opscope_columns::Column;
use opscope_trace::{IterationId, Nanoseconds, OperatorId, StringId, TaskId, Trace};

use super::answer::Row;
use super::per_iteration::PerIteration;
use super::question::{Aggregate, GroupBy, Query, TimeKind};
use super::select::{Executed, Execution, Selection};
use crate::signature::{bytes_moved, shapes};
use crate::statistics::Statistics;

/// The groups of the executions, each with its sums; their order is still to come.
pub(super) fn rows(trace: &Trace, query: &Query, selection: &Selection, averaged: usize) -> Vec<Row> {
    let mut keys = Keys::new(trace, query, selection);
    let groups = Groups::of(&selection.executions, |execution| keys.key(execution));
    groups.iter().map(|members| make_row(trace, query, selection, members, averaged)).collect()
}

/// The row of an iteration of which nothing is known but its time.
pub(super) fn iteration_alone(trace: &Trace, query: &Query, selection: &Selection, id: IterationId) -> Row {
    let start = trace.iterations.start()[id.index()];
    Row { iteration: Some(id), start, ..make_row(trace, query, selection, std::iter::empty(), 1) }
}

/// The rows of groups by any key, each with its executions. Sums are of all iterations, shares of the whole of
/// the selection; the order is still to come.
pub(crate) fn rows_by<Key: Copy + Eq + Hash>(
    trace: &Trace,
    selection: &Selection,
    key: impl FnMut(&Execution) -> Key,
) -> Vec<(Row, Vec<Execution>)> {
    let groups = Groups::of(&selection.executions, key);
    let rows = groups.iter().map(|members| {
        let row = make_row(trace, &Query::default(), selection, members.clone(), 1);
        (row, members.copied().collect())
    });
    rows.collect()
}

/// Executions by their group, those of each in the order of the table.
struct Groups<'e> {
    executions: &'e [Execution],
    /// By group, where it begins in the order.
    starts: Vec<usize>,
    order: Column<u32>,
}

impl<'e> Groups<'e> {
    fn of<Key: Copy + Eq + Hash>(
        executions: &'e [Execution],
        mut key: impl FnMut(&Execution) -> Key,
    ) -> Self {
        let mut numbers: HashMap<Key, u32> = HashMap::new();
        let mut last: Option<(Key, u32)> = None;
        let mut groups: Column<u32> = Column::new();
        for execution in executions {
            let key = key(execution);
            let group = match last {
                Some((known, group)) if known == key => group,
                _ => {
                    let next = numbers.len() as u32;
                    *numbers.entry(key).or_insert(next)
                }
            };
            last = Some((key, group));
            groups.push(group);
        }
        let count = numbers.len();
        let mut starts = vec![0_usize; count + 1];
        groups.iter().for_each(|&group| starts[group as usize + 1] += 1);
        (0..count).for_each(|group| starts[group + 1] += starts[group]);
        let mut order: Column<u32> = executions.iter().map(|_| 0).collect();
        let mut next = starts.clone();
        for (index, &group) in groups.iter().enumerate() {
            order[next[group as usize]] = index as u32;
            next[group as usize] += 1;
        }
        Self { executions, starts, order }
    }

    fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = &'e Execution> + Clone> {
        let executions = self.executions;
        self.starts.windows(2).map(move |bounds| {
            self.order[bounds[0]..bounds[1]].iter().map(move |&index| &executions[index as usize])
        })
    }
}

/// The keys by which a query groups executions.
struct Keys<'a> {
    trace: &'a Trace,
    query: &'a Query,
    selection: &'a Selection,
    shapes: HashMap<OperatorId, u64>,
    /// The numbers of types together with shapes.
    shaped: HashMap<(StringId, String), u64>,
}

impl<'a> Keys<'a> {
    fn new(trace: &'a Trace, query: &'a Query, selection: &'a Selection) -> Self {
        Self { trace, query, selection, shapes: HashMap::new(), shaped: HashMap::new() }
    }

    fn key(&mut self, execution: &Execution) -> u64 {
        /// Parts ids of one table from those of another.
        const OTHER: u64 = 1 << 40;
        let (trace, row) = (self.trace, execution.row as usize);
        let optional = |index: Option<usize>| index.map_or(OTHER, |index| index as u64);
        match self.query.group_by {
            GroupBy::Operator => match execution.subject {
                Executed::Operator(id) => id.index() as u64,
                Executed::Name(id) => OTHER + id.index() as u64,
                Executed::Call(kind) => u64::from(kind),
            },
            GroupBy::Type if self.query.host => trace.api_calls.level()[row] as u64,
            GroupBy::Type => name_and_type(trace, self.selection, execution.subject).1.index() as u64,
            GroupBy::Name => name_and_type(trace, self.selection, execution.subject).0.index() as u64,
            GroupBy::Unit if self.query.host => trace.api_calls.level()[row] as u64,
            GroupBy::Unit => trace.tasks.unit()[row] as u64,
            GroupBy::Stream if self.query.host => {
                optional(trace.api_calls.thread()[row].map(|id| id.index()))
            }
            GroupBy::Stream => optional(trace.tasks.stream()[row].map(|id| id.index())),
            GroupBy::Iteration => {
                optional(iteration_of(trace, self.selection, execution.subject, row).map(|id| id.index()))
            }
            GroupBy::Shape => match execution.subject {
                Executed::Operator(id) => self.shape(id),
                Executed::Name(id) => OTHER + id.index() as u64,
                Executed::Call(kind) => u64::from(kind),
            },
        }
    }

    fn shape(&mut self, id: OperatorId) -> u64 {
        let (trace, shaped) = (self.trace, &mut self.shaped);
        *self.shapes.entry(id).or_insert_with(|| {
            let operator = trace.operators.get(id);
            let next = shaped.len() as u64;
            *shaped.entry((operator.op_type, shapes(trace, &operator))).or_insert(next)
        })
    }
}

/// The name and type of a subject; a name is its own type.
pub(crate) fn name_and_type(trace: &Trace, selection: &Selection, subject: Executed) -> (StringId, StringId) {
    match subject {
        Executed::Call(kind) => {
            let name = selection.call_kinds[kind as usize].name;
            (name, name)
        }
        Executed::Operator(id) => (trace.operators.name()[id.index()], trace.operators.op_type()[id.index()]),
        Executed::Name(id) => (id, id),
    }
}

fn iteration_of(trace: &Trace, selection: &Selection, subject: Executed, row: usize) -> Option<IterationId> {
    match subject {
        Executed::Call(_) => selection.call_iterations[row],
        Executed::Operator(_) | Executed::Name(_) => trace.tasks.iteration()[row],
    }
}

/// How long an execution waited, if it is one of tasks and that is known.
fn wait_of(trace: &Trace, selection: &Selection, execution: &Execution) -> Option<Nanoseconds> {
    selection.waiting?.of_task(trace, TaskId::from_index(execution.row as usize))
}

/// Different subjects, of which the same comes many times.
#[derive(Default)]
struct Distinct {
    seen: HashSet<Executed>,
    last: Option<Executed>,
}

impl Distinct {
    fn add(&mut self, subject: Executed) {
        if self.last != Some(subject) {
            self.last = Some(subject);
            self.seen.insert(subject);
        }
    }

    fn count(&self) -> usize {
        self.seen.len()
    }
}

/// A value that all members of a group share, if they do.
#[derive(Clone, Copy)]
enum Shared<Value> {
    Nothing,
    Same(Value),
    Different,
}

impl<Value: Copy + PartialEq> Shared<Value> {
    fn add(&mut self, value: Value) {
        *self = match *self {
            Self::Nothing => Self::Same(value),
            Self::Same(known) if known == value => Self::Same(known),
            Self::Same(_) | Self::Different => Self::Different,
        };
    }

    fn value(self) -> Option<Value> {
        match self {
            Self::Same(value) => Some(value),
            Self::Nothing | Self::Different => None,
        }
    }
}

fn make_row<'e>(
    trace: &Trace,
    query: &Query,
    selection: &Selection,
    members: impl Iterator<Item = &'e Execution> + Clone,
    averaged: usize,
) -> Row {
    let times = Statistics::of(members.clone().map(|member| member.time)).unwrap_or_default();
    let parts = members.clone().map(|member| {
        // Figures of the whole profile aren't told apart by iteration.
        let iteration = iteration_of(trace, selection, member.subject, member.row as usize);
        (member.subject, iteration.filter(|_| averaged > 1), member.time)
    });
    let is_typical = query.aggregate == Aggregate::Typical;
    let per_iteration = if is_typical { PerIteration::of(parts, averaged) } else { None };
    let (mut name, mut op_type) = (Shared::Nothing, Shared::Nothing);
    let (mut unit, mut stream, mut thread) = (Shared::Nothing, Shared::Nothing, Shared::Nothing);
    let (mut level, mut phase) = (Shared::Nothing, Shared::Nothing);
    let (mut iteration, mut operator) = (Shared::Nothing, None);
    let (mut flops, mut bytes) = (Some(0_u64), Some(0_u64));
    let (mut total, mut wait) = (Nanoseconds::ZERO, None);
    let mut start = Nanoseconds(i64::MAX);
    let mut subjects = Distinct::default();
    let mut count = 0;
    for member in members {
        let row = member.row as usize;
        let (its_name, its_type) = name_and_type(trace, selection, member.subject);
        name.add(its_name);
        op_type.add(its_type);
        if let Executed::Call(kind) = member.subject {
            phase.add(selection.call_kinds[kind as usize].phase);
        }
        if query.host {
            level.add(trace.api_calls.level()[row]);
            thread.add(trace.api_calls.thread()[row]);
            start = start.min(trace.api_calls.start()[row]);
        } else {
            unit.add(trace.tasks.unit()[row]);
            stream.add(trace.tasks.stream()[row]);
            start = start.min(trace.tasks.start()[row]);
        }
        iteration.add(iteration_of(trace, selection, member.subject, row));
        total += member.time;
        if let Some(its_wait) = wait_of(trace, selection, member) {
            wait = Some(wait.unwrap_or(Nanoseconds::ZERO) + its_wait);
        }
        subjects.add(member.subject);
        let its_operator = match member.subject {
            Executed::Operator(id) => Some(id),
            Executed::Name(_) | Executed::Call(_) => None,
        };
        operator = operator.or(its_operator);
        if member.is_first {
            count += 1;
            let row = its_operator.map(|id| trace.operators.get(id));
            flops = add(flops, row.and_then(|row| row.flops));
            bytes = add(bytes, row.and_then(|row| bytes_moved(&row)));
        }
    }
    // Of rows that only hold later parts of executions nothing is known.
    let [flops, bytes] = [flops, bytes].map(|sum| sum.filter(|_| count > 0));
    let subjects = subjects.count();
    // Of sums, because averages are rounded.
    let whole = selection.whole;
    let share = if whole.0 > 0 { total.0 as f64 / whole.0 as f64 } else { 0.0 };
    let total = Nanoseconds(total.0 / averaged as i64);
    let of_average = |sum: Option<u64>| sum.map(|sum| sum / averaged as u64);
    let has_shapes = matches!(query.group_by, GroupBy::Operator | GroupBy::Shape) || subjects == 1;
    Row {
        name: name.value(),
        op_type: op_type.value(),
        operator: operator.filter(|_| has_shapes),
        unit: unit.value(),
        level: level.value(),
        phase: phase.value().flatten(),
        stream: stream.value().flatten(),
        thread: thread.value().flatten(),
        iteration: iteration.value().flatten(),
        wall: None,
        subjects,
        total,
        working: (query.time != TimeKind::Wait).then_some(total),
        value: value(query.aggregate, &times, total, per_iteration),
        times,
        per_iteration,
        executions: count,
        share,
        cumulative_share: 0.0,
        wait: wait.map(|wait| Nanoseconds(wait.0 / averaged as i64)),
        flops: of_average(flops),
        bytes: of_average(bytes),
        start,
        position: None,
    }
}

/// The figure that an aggregate makes of the times of a group.
fn value(
    aggregate: Aggregate,
    times: &Statistics,
    total: Nanoseconds,
    per_iteration: Option<PerIteration>,
) -> f64 {
    let time = match aggregate {
        Aggregate::Sum => total,
        Aggregate::Typical => per_iteration.map_or(total, |it| it.typical),
        Aggregate::Mean => times.mean,
        Aggregate::Min => times.min,
        Aggregate::Max => times.max,
        Aggregate::Median => times.median,
        Aggregate::P90 => times.p90,
        Aggregate::P99 => times.p99,
        Aggregate::Count => return times.count as f64,
    };
    time.0 as f64
}

/// A sum that is unknown as soon as a part of it is.
fn add(total: Option<u64>, part: Option<u64>) -> Option<u64> {
    total?.checked_add(part?)
}
