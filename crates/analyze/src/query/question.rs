//! A question: what is asked about, how it is grouped, which figure is made of it, in which order.

use opscope_trace::{DataType, ExecutionUnit, Nanoseconds, words};
use regex::Regex;

use super::column::Column;
use crate::roofline::Roofline;
use crate::scope::Scope;

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

words! {
    /// A time of an execution.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum TimeKind {
        /// Its own time as it was recorded: less that of what began within it on the same stream.
        #[default]
        Total = "total",
        /// The same without the waiting that it includes.
        Kernel = "kernel",
        /// How long it waited before its first kernel; executions of which that isn't known are left out.
        Wait = "wait",
    }
}

words! {
    /// The key by which executions are added up into rows.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum GroupBy {
        /// Subjects, one by one.
        #[default]
        Operator = "operator",
        /// Types of operators; levels of calls.
        Type = "type",
        /// Names, whatever the shapes.
        Name = "name",
        /// Units that execute.
        Unit = "unit",
        /// Streams; threads of calls.
        Stream = "stream",
        /// Types together with shapes.
        Shape = "shape",
        /// Iterations.
        Iteration = "iteration",
    }
}

words! {
    /// The figure that is made of the times of a row.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Aggregate {
        /// Their sum in an average iteration, which conserves what was recorded: the rows of a profile sum to its
        /// time, whatever disturbed it.
        #[default]
        Sum = "sum",
        /// Their sum in a typical iteration, by the median over iterations: what a run is ranked by, because one
        /// disturbed iteration doesn't move it ([`PerIteration::typical`](super::PerIteration::typical)).
        Typical = "typical",
        /// Of the executions, the mean time.
        Mean = "mean",
        /// The shortest.
        Min = "min",
        /// The longest.
        Max = "max",
        /// The middle one.
        Median = "median",
        /// The time within which nine of ten stay.
        P90 = "p90",
        /// The time within which 99 of 100 stay.
        P99 = "p99",
        /// How many there are.
        Count = "count",
    }
}

/// An order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// By which column.
    pub column: Column,
    /// The smallest first.
    pub ascending: bool,
}
