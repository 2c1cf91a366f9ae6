//! The executions of operators that rules look at.
//!
//! A profile has a million of them, of a few dozen kinds. A rule decides by kind as much as it can, once each, and
//! then looks only at the executions of the kinds that are left.

use std::ops::Deref;

use opscope_trace::{
    ExecutionUnit, IterationId, Nanoseconds, NumberMap, OperatorId, StreamId, TaskId, Trace,
};

use crate::executed::{Executed, Executions};
use crate::metrics::Reading;

/// A task that executed an operator in a measured iteration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel<'a> {
    pub task: TaskId,
    /// The operator that it executed.
    pub executed: Executed,
    /// Its kind, by place.
    kind: u32,
    pub name: &'a str,
    pub op_type: &'a str,
    pub stream: Option<StreamId>,
    pub iteration: Option<IterationId>,
    pub start: Nanoseconds,
    pub duration: Nanoseconds,
    /// Its own time in nanoseconds.
    pub time: f64,
    /// The part of its wait in which no task ran, within its iteration.
    pub wait: Option<Nanoseconds>,
    pub reading: Option<Reading>,
}

impl Kernel<'_> {
    /// Whether another one is of the same stream and iteration, so that one may follow the other.
    pub fn is_beside(&self, other: &Self) -> bool {
        (self.stream, self.iteration) == (other.stream, other.iteration)
    }
}

/// An operator on a unit: all that kernels have in common with others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind<'a> {
    pub operator: OperatorId,
    pub executed: Executed,
    pub name: &'a str,
    pub op_type: &'a str,
    pub unit: ExecutionUnit,
}

/// All kernels of a profile, by stream, iteration and start.
#[derive(Debug, Default)]
pub(crate) struct Kernels<'a> {
    rows: Vec<Kernel<'a>>,
    kinds: Vec<Kind<'a>>,
    /// By kernel, its kind: a column of its own, because most questions end with it.
    kind_of: Vec<u32>,
}

impl<'a> Kernels<'a> {
    /// Finds something out about each kind.
    pub fn by_kind<Known>(&self, known: impl FnMut(&Kind<'a>) -> Known) -> ByKind<Known> {
        ByKind(self.kinds.iter().map(known).collect())
    }

    /// The kernels of the kinds that fit.
    pub fn of_kinds(&self, fits: impl FnMut(&Kind<'a>) -> bool) -> impl Iterator<Item = &Kernel<'a>> + Clone {
        let fitting: Vec<bool> = self.kinds.iter().map(fits).collect();
        let rows = if fitting.contains(&true) { &self.rows[..] } else { &[] };
        let rows = self.kind_of.iter().zip(rows);
        rows.filter(move |(kind, _)| fitting[**kind as usize]).map(|(_, kernel)| kernel)
    }

    /// Whether a kernel runs on a unit that fits.
    pub fn any_unit(&self, fits: impl Fn(ExecutionUnit) -> bool) -> bool {
        self.kinds.iter().any(|kind| fits(kind.unit))
    }
}

impl<'a> Deref for Kernels<'a> {
    type Target = [Kernel<'a>];

    fn deref(&self) -> &Self::Target {
        &self.rows
    }
}

impl<'k, 'a> IntoIterator for &'k Kernels<'a> {
    type Item = &'k Kernel<'a>;
    type IntoIter = std::slice::Iter<'k, Kernel<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.rows.iter()
    }
}

/// Something known of each kind of kernels.
pub(crate) struct ByKind<Known>(Vec<Known>);

impl<Known> ByKind<Known> {
    /// The known facts of a kernel's kind.
    pub fn of(&self, kernel: &Kernel<'_>) -> &Known {
        &self.0[kernel.kind as usize]
    }

    /// Whether it is so of any kind.
    pub fn any(&self, is_so: impl FnMut(&Known) -> bool) -> bool {
        self.0.iter().any(is_so)
    }
}

/// Puts kernels together, task by task.
pub(crate) struct Collector<'a> {
    trace: &'a Trace,
    kernels: Kernels<'a>,
    /// By operator and unit.
    known: NumberMap<(u32, u32), u32>,
}

impl<'a> Collector<'a> {
    pub fn new(trace: &'a Trace, tasks: usize) -> Self {
        let kernels = Kernels { rows: Vec::with_capacity(tasks), ..Kernels::default() };
        Self { trace, kernels, known: NumberMap::default() }
    }

    /// Takes in a task that executed an operator: its own time, the idle part of its wait, its values, and into how
    /// many iterations the time is divided.
    pub fn add(
        &mut self,
        executions: &mut Executions<'a>,
        (task, operator): (TaskId, OperatorId),
        (time, iterations): (f64, usize),
        wait: Option<Nanoseconds>,
        reading: Option<Reading>,
    ) {
        let (tasks, index) = (&self.trace.tasks, task.index());
        let unit = tasks.unit()[index];
        let kinds = &mut self.kernels.kinds;
        let place = *self.known.entry((operator.index() as u32, unit as u32)).or_insert_with(|| {
            let operators = &self.trace.operators;
            kinds.push(Kind {
                operator,
                executed: executions.enter(self.trace, operator),
                name: self.trace.strings.get(operators.name()[operator.index()]),
                op_type: self.trace.strings.get(operators.op_type()[operator.index()]),
                unit,
            });
            kinds.len() as u32 - 1
        });
        let kind = &kinds[place as usize];
        executions.spend(kind.executed, time / iterations as f64);
        self.kernels.rows.push(Kernel {
            task,
            executed: kind.executed,
            kind: place,
            name: kind.name,
            op_type: kind.op_type,
            stream: tasks.stream()[index],
            iteration: tasks.iteration()[index],
            start: tasks.start()[index],
            duration: tasks.duration()[index],
            time,
            wait,
            reading,
        });
    }

    /// All kernels in their order.
    pub fn finish(mut self) -> Kernels<'a> {
        let rows = &mut self.kernels.rows;
        rows.sort_by_key(|kernel| (kernel.stream, kernel.iteration, kernel.start));
        self.kernels.kind_of = rows.iter().map(|kernel| kernel.kind).collect();
        self.kernels
    }
}
