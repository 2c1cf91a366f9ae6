//! Questions to the tasks or calls of a trace: which of them, added up by what, in which order.
//!
//! The unit of a question is the *subject*: an operator; where tasks belong to none, all of the same
//! name; for calls, all of the same name, layer and phase. Filters choose subjects (by name, type, data type, and the
//! time that they take in an average iteration) and executions (by unit, device, iteration). What is
//! left is grouped, and a time is made of each group.

mod column;
mod group;
mod per_iteration;
mod rows;
mod select;

#[cfg(test)]
mod tests;

use opscope_trace::{
    ApiLevel, DataType, ExecutionUnit, IterationId, Nanoseconds, OperatorId, StreamId, StringId, ThreadId,
    Trace,
};
use regex::Regex;

pub use column::{Cell, Column};
pub use per_iteration::PerIteration;
pub(crate) use per_iteration::typical;
pub(crate) use select::{Executed, Selection, covered};

use crate::calls::Phase;
use crate::roofline::{Position, Roofline};
use crate::scope::{Chosen, Scope, ScopeError};
use crate::statistics::Statistics;

/// A question to a trace.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Calls of the host instead of tasks.
    pub host: bool,
    /// The part of the trace.
    pub scope: Scope,
    /// The conditions for subjects and executions in it.
    pub filter: Filter,
    /// Which time is taken of each execution.
    pub time: TimeKind,
    /// The key by which executions are added up into rows.
    pub group_by: GroupBy,
    /// The figure that is made of the times of a row.
    pub aggregate: Aggregate,
    /// The order of the rows; without one, the greatest time first.
    pub sort: Option<Sort>,
    /// The machine's peaks, to compare each row with.
    pub roofline: Option<Roofline>,
}

/// Conditions that subjects and executions must meet. An empty list and `None` let everything pass.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A pattern that the name must have somewhere.
    pub name: Option<Regex>,
    /// Types of operators; letter case doesn't matter.
    pub types: Vec<String>,
    /// Types of elements, one of which an input or output must have.
    pub data_types: Vec<DataType>,
    /// Units that execute.
    pub units: Vec<ExecutionUnit>,
    /// The least time of an operator in an average iteration.
    pub min_time: Option<Nanoseconds>,
    /// The greatest.
    pub max_time: Option<Nanoseconds>,
}

/// A time of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeKind {
    /// Its own time as it was recorded: less that of what ran within it on the same stream.
    #[default]
    Total,
    /// The same without the waiting that it includes.
    Kernel,
    /// How long it waited before its first kernel; executions of which that isn't known are left out.
    Wait,
}

/// The key by which executions are added up into rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// Subjects, one by one.
    #[default]
    Operator,
    /// Types of operators; levels of calls.
    Type,
    /// Names, whatever the shapes.
    Name,
    /// Units that execute.
    Unit,
    /// Streams; threads of calls.
    Stream,
    /// Types together with shapes.
    Shape,
    /// Iterations.
    Iteration,
}

/// The figure that is made of the times of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Aggregate {
    /// Their sum in an average iteration, which conserves what was recorded: the rows of a profile sum to its
    /// time, whatever disturbed it.
    #[default]
    Sum,
    /// Their sum in a typical iteration, by the median over iterations: what a run is ranked by, because one
    /// disturbed iteration doesn't move it ([`PerIteration::typical`]).
    Typical,
    /// Of the executions, the mean time.
    Mean,
    /// The shortest.
    Min,
    /// The longest.
    Max,
    /// The middle one.
    Median,
    /// The time within which nine of ten stay.
    P90,
    /// The time within which 99 of 100 stay.
    P99,
    /// How many there are.
    Count,
}

/// An order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// By which column.
    pub column: Column,
    /// The smallest first.
    pub ascending: bool,
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The rows in order.
    pub rows: Vec<Row>,
    /// The time of all rows together, in an average iteration; of all iterations where rows are such.
    pub selected: Nanoseconds,
    /// The time of everything in the scope, likewise.
    pub whole: Nanoseconds,
    /// How many executions the rows have, in all iterations.
    pub executions: usize,
    /// How many subjects.
    pub subjects: usize,
    /// How many subjects the scope has.
    pub all_subjects: usize,
    /// Executions whose time isn't known.
    pub unknown: usize,
    /// Over how many iterations times and quantities are averaged; 1 for the whole profile, and where
    /// rows are iterations.
    pub averaged: usize,
}

/// A group of executions.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of what is grouped, if all executions share it.
    pub name: Option<StringId>,
    /// The type, if all share it.
    pub op_type: Option<StringId>,
    /// An operator of the group, whose shapes are those of all.
    pub operator: Option<OperatorId>,
    /// The unit, if all share it.
    pub unit: Option<ExecutionUnit>,
    /// The layer of calls, if all share it.
    pub level: Option<ApiLevel>,
    /// Whether calls are made while inferences run or once, if that is known and the same for all.
    pub phase: Option<Phase>,
    /// The stream, if all share it.
    pub stream: Option<StreamId>,
    /// The thread of calls, if all share it.
    pub thread: Option<ThreadId>,
    /// The iteration, if all lie in the same one.
    pub iteration: Option<IterationId>,
    /// How many subjects.
    pub subjects: usize,
    /// The times of the executions.
    pub times: Statistics,
    /// The time in each iteration, where the query asks for a typical one.
    pub per_iteration: Option<PerIteration>,
    /// How often its subjects were executed: of tasks that make up one execution only the first counts.
    pub executions: usize,
    /// The sum of the times in an average iteration; of a row that is an iteration, in that.
    pub total: Nanoseconds,
    /// The figure of the query's aggregate; a number where that counts.
    pub value: f64,
    /// The share of everything in the scope, from 0 to 1, by sums.
    pub share: f64,
    /// The share of this row and all before.
    pub cumulative_share: f64,
    /// How long the executions waited, in an average iteration, as far as that is known.
    pub wait: Option<Nanoseconds>,
    /// Operations in an average iteration; `None` as soon as they aren't known of an execution.
    pub flops: Option<u64>,
    /// Bytes read and written in an average iteration, likewise.
    pub bytes: Option<u64>,
    /// When the first execution began.
    pub start: Nanoseconds,
    /// Where it stands under the roof, if there is one.
    pub position: Option<Position>,
}

impl Query {
    /// Answers the question.
    ///
    /// # Errors
    /// When the trace doesn't have the iteration or device that is asked for.
    pub fn run(&self, trace: &Trace) -> Result<Answer, ScopeError> {
        let chosen = Chosen::new(trace, self.scope)?;
        Ok(self.answer(trace, &chosen, &self.select(trace, &chosen)))
    }

    /// All executions in a scope, those that only wait or handle streams as well.
    pub(crate) fn everything(trace: &Trace, scope: Scope) -> Result<Selection, ScopeError> {
        let filter = Filter { units: ExecutionUnit::ALL.to_vec(), ..Filter::default() };
        Ok(Self { scope, filter, ..Self::default() }.select(trace, &Chosen::new(trace, scope)?))
    }

    /// The executions that are asked about.
    pub(crate) fn select(&self, trace: &Trace, chosen: &Chosen) -> Selection {
        match self.host {
            true => select::calls(trace, self, chosen),
            false => select::tasks(trace, self, chosen),
        }
    }

    /// The answer made of them.
    pub(crate) fn answer(&self, trace: &Trace, chosen: &Chosen, selection: &Selection) -> Answer {
        // Figures of one iteration are not averaged over all of them, and nor is the whole that they are a share of.
        let averaged = if self.group_by == GroupBy::Iteration { 1 } else { chosen.averaged };
        let mut rows = group::rows(trace, self, selection, averaged);
        rows::finish(trace, self, &mut rows);
        Answer {
            selected: rows.iter().map(|row| row.total).sum(),
            executions: rows.iter().map(|row| row.times.count).sum(),
            rows,
            whole: Nanoseconds(selection.whole.0 / averaged as i64),
            subjects: selection.passing_subjects,
            all_subjects: selection.subjects,
            unknown: selection.unknown,
            averaged,
        }
    }
}
