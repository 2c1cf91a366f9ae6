//! The figures by which a run is judged: latencies, and a query for typical iterations.

use opscope_trace::{ModelId, Nanoseconds, OperatorId, StringId, TaskId, Trace};

use crate::iteration_spans::IterationSpans;
use crate::measured::work;
use crate::overview::Overview;
use crate::query::{Aggregate, GroupBy, Query, Row, Selection, typical};
use crate::recording::Latencies;
use crate::scope::{Chosen, Scope};
use crate::statistics::Statistics;

/// How long an iteration takes and which operators cost the time.
///
/// Operators and types are the answers to a [`Query`] with [`Aggregate::Typical`] about the measured iterations,
/// with its rules for what counts ([`Iterations::Measured`](crate::Iterations::Measured)).
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The measured iterations by which the run is judged: those that were timed as a whole, or else
    /// those that were recorded; `None` where the profile has none.
    pub latency: Option<Statistics>,
    /// The warm-up iterations of the same kind; `None` if there were none.
    pub warm_up: Option<Statistics>,
    /// The measured iterations that were recorded, where others were timed as a whole. All figures below
    /// refer to these.
    pub recorded: Option<Statistics>,
    /// How many times as long a recorded iteration takes, where that is known.
    pub recording_ratio: Option<f64>,
    /// By what recorded times are to be multiplied to be parts of the latency ([`Latencies::scale`]).
    pub scale: f64,
    /// How many iterations the figures of the operators are of; 1 where they are of the whole profile.
    pub iterations: usize,
    /// Whether they are of the whole profile, because it ties no task to an iteration.
    pub is_of_whole_profile: bool,
    /// The time of a typical iteration (the median) that lies inside operators, whichever thread they ran
    /// on; each moment counts once.
    pub inside: Nanoseconds,
    /// The rest of the median iteration, which lies between operators.
    pub between: Nanoseconds,
    /// The sum of all operators' time; more than `inside` where several run at once.
    pub operator_time: Nanoseconds,
    /// The operators, the most costly first.
    pub operators: Vec<OperatorCost>,
    /// The types of operators, the most costly first.
    pub types: Vec<TypeCost>,
}

/// The cost of an operator in a typical iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorCost {
    /// The operator; `None` stands for tasks that belong to none, by their name.
    pub operator: Option<OperatorId>,
    /// Its name, or that of the tasks.
    pub name: StringId,
    /// Its type; for tasks without an operator, their name again.
    pub op_type: StringId,
    /// Its own time in a typical iteration: the median over the iterations that executed it, times the part
    /// of the iterations that did. A single iteration that something disturbed doesn't move it.
    pub time: Nanoseconds,
    /// Its share of the time of all operators, from 0 to 1.
    pub share: f64,
    /// The share of this and all more costly operators.
    pub cumulative_share: f64,
    /// Its own time in each iteration that executed it.
    pub per_iteration: Statistics,
    /// How many tasks it took in all measured iterations.
    pub tasks: usize,
    /// How often it was executed in all measured iterations.
    pub executions: usize,
    /// Its operations in an average iteration, if known.
    pub flops: Option<u64>,
    /// The bytes that it reads and writes in an average iteration, if known.
    pub bytes: Option<u64>,
    /// The bytes that it reads, likewise.
    pub bytes_read: Option<u64>,
    /// The bytes that it writes, likewise.
    pub bytes_written: Option<u64>,
}

/// The cost of a type of operators in a typical iteration.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeCost {
    /// The type.
    pub op_type: StringId,
    /// How many operators of the type were executed.
    pub operators: usize,
    /// The sum of the operators' times.
    pub time: Nanoseconds,
    /// Their share of the time of all operators, from 0 to 1.
    pub share: f64,
    /// The share of this and all more costly types.
    pub cumulative_share: f64,
    /// The operations of all of them in an average iteration, if all are known.
    pub flops: Option<u64>,
    /// The bytes that all of them read and write in an average iteration, if all are known.
    pub bytes: Option<u64>,
}

impl Summary {
    /// Summarises a trace, all models taken together.
    pub fn of(trace: &Trace) -> Self {
        Self::of_iterations(trace, None)
    }

    /// Summarises the iterations of one model.
    pub fn of_model(trace: &Trace, model: ModelId) -> Self {
        Self::of_iterations(trace, Some(model))
    }

    fn of_iterations(trace: &Trace, model: Option<ModelId>) -> Self {
        let wanted = |iteration: Option<ModelId>| model.is_none() || iteration == model;
        let spans = IterationSpans::of(trace);
        let recorded = |warm_up: bool| {
            let rows = trace.iterations.iter();
            let rows = rows.filter(move |(_, row)| row.warm_up == warm_up && wanted(row.model));
            Statistics::of(rows.map(|(id, _)| spans.duration(id)))
        };
        let unrecorded = |warm_up: bool| {
            let rows = trace.unrecorded_iterations.iter();
            let rows = rows.filter(move |(_, row)| row.warm_up == warm_up && wanted(row.model));
            Statistics::of(rows.map(|(_, row)| row.duration))
        };
        let timed = unrecorded(false).is_some();
        let measured = recorded(false).or(recorded(true));
        let latencies = Latencies::of(trace, model);
        let chosen = Chosen::measured(trace, model);
        let query = Query { aggregate: Aggregate::Typical, ..Query::default() };
        let executions = query.select(trace, &chosen);
        let rows = |group_by| Query { group_by, ..query.clone() }.answer(trace, &chosen, &executions).rows;
        let covered = Statistics::of(covered(trace, &spans, &chosen, &executions, model));
        let inside = covered.map_or(Nanoseconds::ZERO, |covered| typical(covered, chosen.averaged));
        let whole = match measured.filter(|_| !chosen.is_whole()) {
            Some(iterations) => iterations.median,
            None if model.is_none() => Overview::of(trace, Scope::default()).map_or(inside, |it| it.wall),
            // Of a model without iterations of its own it isn't known what lies between operators.
            None => inside,
        };
        let operators = operator_costs(trace, rows(GroupBy::Operator), chosen.averaged);
        Self {
            latency: if timed { unrecorded(false) } else { recorded(false) },
            warm_up: if timed { unrecorded(true) } else { recorded(true) },
            recorded: measured.filter(|_| timed),
            recording_ratio: latencies.ratio(),
            scale: latencies.scale(),
            iterations: chosen.averaged,
            is_of_whole_profile: chosen.is_whole(),
            inside,
            between: Nanoseconds((whole - inside).0.max(0)),
            operator_time: operators.iter().map(|cost| cost.time).sum(),
            types: type_costs(rows(GroupBy::Type)),
            operators,
        }
    }
}

/// The time in which operators ran, in each chosen iteration that has some, or in the whole profile.
fn covered(
    trace: &Trace,
    spans: &IterationSpans,
    chosen: &Chosen,
    executions: &Selection,
    model: Option<ModelId>,
) -> Vec<Nanoseconds> {
    if chosen.is_whole() {
        return executions.covered(trace);
    }
    let mut has_work = vec![false; trace.iterations.len()];
    let rows = executions.executions.iter().filter_map(|it| trace.tasks.iteration()[it.row as usize]);
    rows.for_each(|id| has_work[id.index()] = true);
    // Another iteration's work keeps the device busy, too.
    let is_of_model = |task: &TaskId| {
        let iteration = trace.tasks.iteration()[task.index()];
        iteration.is_some_and(|id| model.is_none() || trace.iterations.model()[id.index()] == model)
    };
    let tasks = work(trace).filter(is_of_model).map(|task| task.index() as u32);
    let busy = spans.busy(trace, tasks);
    chosen.iterations(trace).filter(|id| has_work[id.index()]).map(|id| busy[id.index()]).collect()
}

/// The rows of operators, with their shares of all typical times.
fn operator_costs(trace: &Trace, rows: Vec<Row>, iterations: usize) -> Vec<OperatorCost> {
    let shares = shares(&rows);
    let costs = rows.into_iter().zip(shares).filter_map(|(row, (share, cumulative_share))| {
        let per_iteration = row.per_iteration?;
        let operator = row.operator.map(|operator| trace.operators.get(operator));
        let amount = |once: Option<u64>| Some(once?.checked_mul(row.executions as u64)? / iterations as u64);
        Some(OperatorCost {
            operator: row.operator,
            name: row.name?,
            op_type: row.op_type?,
            time: per_iteration.typical,
            share,
            cumulative_share,
            per_iteration: per_iteration.times,
            tasks: row.times.count,
            executions: row.executions,
            flops: row.flops,
            bytes: row.bytes,
            bytes_read: operator.and_then(|operator| amount(operator.bytes_read)),
            bytes_written: operator.and_then(|operator| amount(operator.bytes_written)),
        })
    });
    costs.collect()
}

/// The rows of types, likewise.
fn type_costs(rows: Vec<Row>) -> Vec<TypeCost> {
    let shares = shares(&rows);
    let costs = rows.into_iter().zip(shares).filter_map(|(row, (share, cumulative_share))| {
        Some(TypeCost {
            op_type: row.op_type?,
            operators: row.subjects,
            time: row.per_iteration?.typical,
            share,
            cumulative_share,
            flops: row.flops,
            bytes: row.bytes,
        })
    });
    costs.collect()
}

/// For each row the share of its typical time of all of them, and that of it and all before.
fn shares(rows: &[Row]) -> Vec<(f64, f64)> {
    let time = |row: &Row| row.per_iteration.map_or(Nanoseconds::ZERO, |it| it.typical);
    let all: Nanoseconds = rows.iter().map(time).sum();
    let mut cumulative = 0.0;
    let shares = rows.iter().map(|row| {
        let share = if all.0 > 0 { time(row).0 as f64 / all.0 as f64 } else { 0.0 };
        cumulative += share;
        (share, cumulative)
    });
    shares.collect()
}

#[cfg(test)]
mod tests;
