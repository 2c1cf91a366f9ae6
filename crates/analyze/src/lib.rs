//! Questions to a trace. Everything here is a pure function of a [`opscope_trace::Trace`]; nothing
//! reads a file or prints.
//!
//! - [`Summary`] answers what a run is judged by: how long an iteration takes, how much of it lies
//!   inside operators, and which operators and types of operators cost the time.
//! - [`locate`] tells on which unit an operator ran.
//! - [`RunTables`] is a run in tables: components, core metrics, types of operators, calls, frequency.
//! - [`RangeTree`] is what the program marked, and what of it calls and operators account for;
//!   [`Coverage`] is how much of a model's execution its operators account for.
//! - [`CallKinds`] tells calls of inferences from those that happen once.
//! - [`Comparison`] is what differs between two profiles, and whether that is more than noise.
//! - [`predict`] says what a change would save.
//! - [`Overview`] is any profile at first sight, with what that leaves out; [`Query`]
//!   chooses, groups and orders what was executed.
//! - [`Latencies`] is how long an iteration takes, and what recording its operators costs on top.
//! - [`Roofline`] says how fast an operator could be on a machine.
//! - [`Statistics`] is what is said of a set of durations.
//! - [`self_times`] takes the time of nested tasks off the tasks around them.

mod calls;
mod compare;
mod cover;
mod coverage;
mod execution;
mod kind;
mod locate;
mod measured;
mod nesting;
mod overview;
mod query;
mod range_tree;
mod recording;
mod roofline;
mod run_tables;
mod scope;
pub mod signature;
mod statistics;
mod summary;
mod waiting;
mod what_if;
mod whole_seconds;

pub use calls::{CallKind, CallKinds, Phase, executes_model, executions, loads_model, outermost_of};
pub use compare::{
    Basis, Change, ChangeFamily, Comparison, Difference, Group, Member, SpanChange, Step, Suspect, Verdict,
    What,
};
pub use coverage::Coverage;
pub use locate::{Location, Matched, OperatorMatches, locate};
pub use measured::Measured;
pub use nesting::{covered_time, own_call_times, self_times};
pub use overview::{DeviceUse, Overview, UnitUse};
pub use query::{Aggregate, Answer, Cell, Column, Filter, GroupBy, Query, Row, Sort, TimeKind};
pub use range_tree::{RangeNode, RangeTree};
pub use recording::{Latencies, scaled};
pub use roofline::{BOUND_FROM, Bound, Position, Roofline};
pub use run_tables::{
    CallStatistic, Component, ComponentUse, CoreMetrics, Durations, Frequency, RunTables, TypeStatistic,
};
pub use scope::{Iterations, Scope, ScopeError};
pub use statistics::Statistics;
pub use summary::{OperatorCost, Summary, TypeCost};
pub use what_if::{Basis as WhatIfBasis, Edit, EditError, Prediction, predict};
pub use whole_seconds::whole_seconds;
