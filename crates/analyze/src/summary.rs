//! What a run is judged by.

use std::collections::HashMap;

use opscope_trace::{IterationId, ModelId, Nanoseconds, OperatorId, StringId, TaskId, Trace};

use crate::execution::Executions;
use crate::nesting::{covered_time, self_times};
use crate::recording::Latencies;
use crate::signature::bytes_moved;
use crate::statistics::Statistics;

/// How long an iteration takes and which operators cost the time.
///
/// Everything about operators refers to the measured iterations: warm-up ones are left out unless
/// there are no others. A profile that knows no iterations counts as a single one.
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
    /// How many iterations the figures of the operators were averaged over.
    pub iterations: usize,
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

/// What an operator costs in a typical iteration.
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
    /// Those that it reads.
    pub bytes_read: Option<u64>,
    /// Those that it writes.
    pub bytes_written: Option<u64>,
}

/// What a type of operators costs in an average iteration.
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
        let recorded = |warm_up: bool| {
            let rows = trace.iterations.iter();
            let rows = rows.filter(move |(_, row)| row.warm_up == warm_up && wanted(row.model));
            Statistics::of(rows.map(|(_, row)| row.duration))
        };
        let unrecorded = |warm_up: bool| {
            let rows = trace.unrecorded_iterations.iter();
            let rows = rows.filter(move |(_, row)| row.warm_up == warm_up && wanted(row.model));
            Statistics::of(rows.map(|(_, row)| row.duration))
        };
        let measured = recorded(false).or(recorded(true));
        let only_warm_up = recorded(false).is_none();
        let timed = unrecorded(false).is_some();
        let counted = |iteration: Option<IterationId>| match iteration {
            Some(id) => {
                let row = trace.iterations.get(id);
                wanted(row.model) && (only_warm_up || !row.warm_up)
            }
            None => trace.iterations.is_empty() && model.is_none(),
        };
        let tasks: Vec<TaskId> =
            trace.tasks.ids().filter(|task| counted(trace.tasks.iteration()[task.index()])).collect();
        let iterations = measured.map_or(1, |statistics| statistics.count);
        let inside = inside_time(trace, &tasks, iterations);
        let whole = measured.map_or(inside, |statistics| statistics.median);
        let latencies = Latencies::of(trace, model);
        let operators = operator_costs(trace, &tasks, iterations);
        let types = type_costs(trace, &operators, iterations);
        Self {
            latency: if timed { unrecorded(false) } else { recorded(false) },
            warm_up: if timed { unrecorded(true) } else { recorded(true) },
            recorded: measured.filter(|_| timed),
            recording_ratio: latencies.ratio(),
            scale: latencies.scale(),
            iterations,
            inside,
            between: Nanoseconds((whole - inside).0.max(0)),
            operator_time: operators.iter().map(|cost| cost.time).sum(),
            operators,
            types,
        }
    }
}

/// The time that tasks cover in a typical iteration.
fn inside_time(trace: &Trace, tasks: &[TaskId], iterations: usize) -> Nanoseconds {
    let mut spans: HashMap<Option<IterationId>, Vec<(Nanoseconds, Nanoseconds)>> = HashMap::new();
    for task in tasks {
        let start = trace.tasks.start()[task.index()];
        let end = start + trace.tasks.duration()[task.index()];
        spans.entry(trace.tasks.iteration()[task.index()]).or_default().push((start, end));
    }
    let covered = Statistics::of(spans.into_values().map(covered_time));
    covered.map_or(Nanoseconds::ZERO, |covered| typical(covered, iterations))
}

/// What `iterations` take of something each, as a median, where only those that had it were counted.
fn typical(of_those: Statistics, iterations: usize) -> Nanoseconds {
    if of_those.count == iterations {
        return of_those.median;
    }
    Nanoseconds((of_those.median.0 as f64 * of_those.count as f64 / iterations as f64).round() as i64)
}

/// What the tasks of an average iteration cost, by operator, the most costly first.
fn operator_costs(trace: &Trace, tasks: &[TaskId], iterations: usize) -> Vec<OperatorCost> {
    /// One operator's time in one iteration after the other.
    struct Total {
        name: StringId,
        iterations: HashMap<Option<IterationId>, Nanoseconds>,
        tasks: usize,
        begun: Executions,
        executions: usize,
    }
    let own = self_times(trace);
    // Tasks that belong to no operator are told apart by their name.
    let mut totals: HashMap<Result<OperatorId, StringId>, Total> = HashMap::new();
    for task in tasks {
        let row = trace.tasks.get(*task);
        let key = row.operator.ok_or(row.name);
        let total = totals.entry(key).or_insert_with(|| Total {
            name: row.operator.map_or(row.name, |operator| trace.operators.name()[operator.index()]),
            iterations: HashMap::new(),
            tasks: 0,
            begun: Executions::default(),
            executions: 0,
        });
        let time = own[task.index()];
        total.tasks += 1;
        total.executions += usize::from(total.begun.is_first(&row));
        *total.iterations.entry(row.iteration).or_default() += time;
    }
    let mut costs: Vec<OperatorCost> = totals
        .into_iter()
        .filter_map(|(key, total)| {
            let operator = key.ok();
            let amounts = amounts(trace, operator, total.executions);
            let [flops, bytes, bytes_read, bytes_written] =
                amounts.map(|amount| Some(amount? / iterations as u64));
            let per_iteration = Statistics::of(total.iterations.into_values())?;
            Some(OperatorCost {
                operator,
                name: total.name,
                op_type: operator.map_or(total.name, |operator| trace.operators.op_type()[operator.index()]),
                time: typical(per_iteration, iterations),
                share: 0.0,
                cumulative_share: 0.0,
                per_iteration,
                tasks: total.tasks,
                executions: total.executions,
                flops,
                bytes,
                bytes_read,
                bytes_written,
            })
        })
        .collect();
    costs.sort_by_key(|cost| (-cost.time, cost.operator, cost.name));
    let all: Nanoseconds = costs.iter().map(|cost| cost.time).sum();
    let mut cumulative = 0.0;
    for cost in &mut costs {
        cost.share = share(cost.time, all);
        cumulative += cost.share;
        cost.cumulative_share = cumulative;
    }
    costs
}

/// The operations of so many executions of an operator, and the bytes that they move, read and write.
fn amounts(trace: &Trace, operator: Option<OperatorId>, executions: usize) -> [Option<u64>; 4] {
    let row = operator.map(|operator| trace.operators.get(operator));
    let times = |amount: Option<u64>| amount?.checked_mul(executions as u64);
    let Some(row) = row else { return [None; 4] };
    [row.flops, bytes_moved(&row), row.bytes_read, row.bytes_written].map(times)
}

/// The operators' costs by type, the most costly type first.
fn type_costs(trace: &Trace, operators: &[OperatorCost], iterations: usize) -> Vec<TypeCost> {
    let mut types: Vec<TypeCost> = Vec::new();
    let mut position: HashMap<StringId, usize> = HashMap::new();
    for cost in operators {
        let index = *position.entry(cost.op_type).or_insert_with(|| {
            let nothing = Nanoseconds::ZERO;
            let empty = TypeCost {
                op_type: cost.op_type,
                operators: 0,
                time: nothing,
                share: 0.0,
                cumulative_share: 0.0,
                flops: Some(0),
                bytes: Some(0),
            };
            types.push(empty);
            types.len() - 1
        });
        let entry = &mut types[index];
        entry.operators += 1;
        entry.time += cost.time;
        entry.share += cost.share;
        let [flops, bytes, ..] = amounts(trace, cost.operator, cost.executions);
        entry.flops = add(entry.flops, flops);
        entry.bytes = add(entry.bytes, bytes);
    }
    types.sort_by_key(|cost| (-cost.time, cost.op_type));
    let mut cumulative = 0.0;
    for cost in &mut types {
        cumulative += cost.share;
        cost.cumulative_share = cumulative;
        for amount in [&mut cost.flops, &mut cost.bytes] {
            *amount = amount.map(|sum| sum / iterations as u64);
        }
    }
    types
}

/// A sum that is unknown as soon as a part of it is.
fn add(total: Option<u64>, part: Option<u64>) -> Option<u64> {
    total?.checked_add(part?)
}

fn share(part: Nanoseconds, whole: Nanoseconds) -> f64 {
    if whole.0 > 0 { part.0 as f64 / whole.0 as f64 } else { 0.0 }
}

#[cfg(test)]
mod tests;
