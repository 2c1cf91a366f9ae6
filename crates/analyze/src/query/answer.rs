//! The answer to a question, row by row.

use opscope_trace::{
    ApiLevel, ExecutionUnit, IterationId, Nanoseconds, OperatorId, StreamId, StringId, ThreadId,
};

use super::per_iteration::PerIteration;
use crate::calls::Phase;
use crate::roofline::Position;
use crate::statistics::Statistics;

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
    /// How long that iteration takes, where rows are iterations: of calls as the host recorded it, and of tasks as
    /// [`IterationSpans`](crate::IterationSpans) says.
    pub wall: Option<Nanoseconds>,
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
    /// The part of it in which something was computed or moved, by which rates and positions under the roof are;
    /// `None` where the times are those of waiting.
    pub working: Option<Nanoseconds>,
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

impl Row {
    /// Whether no execution is known of it: the profile tells its time alone.
    pub fn has_nothing(&self) -> bool {
        self.times.count == 0
    }
}
