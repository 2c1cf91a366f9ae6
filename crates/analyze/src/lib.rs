//! Questions to a trace. Everything here is a pure function of a [`opscope_trace::Trace`]; nothing reads a file
//! or prints.
//!
//! ```
//! use opscope_analyze::{Aggregate, GroupBy, Query, Summary};
//! use opscope_trace::{Iteration, Nanoseconds, Operator, Task, Trace};
//!
//! // Three inferences; something disturbed the second.
//! let mut trace = Trace::new();
//! let (name, conv) = (trace.strings.intern("conv1"), trace.strings.intern("Conv"));
//! let operator = Some(trace.operators.push(Operator::new(name, conv)));
//! for (number, time) in [(1, 40), (2, 900), (3, 50)] {
//!     let (start, duration) = (Nanoseconds(i64::from(number) * 1_000), Nanoseconds(time));
//!     let row = Iteration { model: None, number, warm_up: false, start, duration };
//!     let iteration = Some(trace.iterations.push(row));
//!     trace.tasks.push(Task { operator, iteration, ..Task::new(name, start, duration) });
//! }
//!
//! // The average iteration conserves what was recorded, the typical one leaves the disturbance out.
//! let average = Query { group_by: GroupBy::Type, ..Query::default() };
//! let typical = Query { aggregate: Aggregate::Typical, ..average.clone() };
//! assert_eq!(average.run(&trace)?.rows[0].value, 330.0);
//! assert_eq!(typical.run(&trace)?.rows[0].value, 50.0);
//! assert_eq!(Summary::of(&trace).types[0].time, Nanoseconds(50));
//! # Ok::<(), opscope_analyze::ScopeError>(())
//! ```
//!
//! # Where the time goes
//! One engine answers that: a [`Query`] chooses executions by [`Scope`] and [`Filter`], groups them, and makes a
//! figure of each group. Its rules hold for all that is built on it:
//!
//! - Warm-up iterations are left out unless there are no others, and so is what lies outside of all iterations.
//!   Where no task is tied to an iteration, figures are of the whole profile.
//! - The time of an execution is its own: less that of what began within it on its stream.
//! - Tasks that only wait or handle streams are no work.
//! - Tasks that make up one execution of an operator count its operations and bytes once.
//! - Rows are ordered by the [`Aggregate`]: by sums, which conserve what was recorded and suit a profile that is
//!   taken as it is; or by the typical iteration, which suits a run that was repeated to be judged.
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! Summary   Overview   Comparison   predict   what a run, a profile, two profiles, a change amount to
//! RunTables   locate   work_times           the tables of a profile, the places and the parts of operators in it
//! Query: column · rows · group · per_iteration · select           the engine
//! RangeTree   Coverage   Roofline                                 other questions to a whole profile
//! Measured   Latencies   CallKinds   scope   IterationSpans       which part counts, and as what
//! nesting   cover   execution   waiting   statistics   signature  times and words
//! ```

mod calls;
mod compare;
mod cover;
mod coverage;
mod elements;
mod execution;
mod iteration_spans;
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
mod side_by_side;
pub mod signature;
mod stated;
mod statistics;
mod summary;
mod waiting;
mod what_if;
mod whole_seconds;
mod work_times;

pub use calls::{CallKind, CallKinds, Phase, executes_model, executions, loads_model, outermost_of};
pub use compare::{
    Basis, Change, ChangeFamily, Comparison, Difference, Group, Kinship, Member, ModelNode, NodeNames,
    REFORMAT, SpanChange, Step, Suspect, Verdict, What, node_of_fused, nodes_joined,
};
pub use coverage::Coverage;
pub use elements::may_have_same_elements;
pub use iteration_spans::{IterationSpans, SpanBasis};
pub use kind::kind as operator_kind;
pub use kind::may_run_as;
pub use locate::{Location, Matched, OperatorMatches, locate};
pub use measured::Measured;
pub use nesting::{covered_time, own_call_times, self_times};
pub use overview::{DeviceUse, Overview, UnitUse};
pub use query::{
    Aggregate, Answer, Cell, Column, Filter, GroupBy, PerIteration, Query, Row, Sort, TimeKind, name_pattern,
};
pub use range_tree::{Launched, RangeNode, RangeTree};
pub use recording::{Latencies, scaled};
pub use roofline::{BOUND_FROM, Bound, Position, Roofline};
pub use run_tables::{
    CallStatistic, Component, ComponentUse, CoreMetrics, Durations, Frequency, RunTables, TypeStatistic,
};
pub use scope::{Iterations, Scope, ScopeError, is_work};
pub use stated::{StatedPart, StatedRow, StatedSum, StatedTable};
pub use statistics::Statistics;
pub use summary::{OperatorCost, Summary, TypeCost};
pub use what_if::{Basis as WhatIfBasis, Edit, EditError, Prediction, SavedParts, predict, predict_savings};
pub use whole_seconds::whole_seconds;
pub use work_times::{recorded_times, work_times};
