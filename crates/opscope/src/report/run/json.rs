//! The answer as JSON for a program. Times are whole nanoseconds, sizes bytes, shares from 0 to 1.

use opscope_analyze::{CallKinds, OperatorCost, Statistics, TypeCost, scaled};
use opscope_trace::{Attribution, Nanoseconds, Trace};
use serde::Serialize;

use super::RunReport;
use super::operators::{data_type, engine_nodes, rate, row};
use crate::profile::losses_json;
use crate::report::Envelope;

/// The whole answer, with all operators, and the answer for each model where there are several.
///
/// # Errors
/// When a figure has no form in JSON, which would be a fault of this program.
pub fn to_json(report: &RunReport<'_>, models: &[RunReport<'_>]) -> anyhow::Result<String> {
    let models = models.iter().map(|model| answer(model, Vec::new())).collect();
    answer(report, models).to_text()
}

fn answer<'a>(report: &'a RunReport<'a>, models: Vec<Envelope<Answer<'a>>>) -> Envelope<Answer<'a>> {
    Envelope::new(1, Answer::of(report, models)).with_losses(losses_json(report.trace))
}

#[derive(Serialize)]
struct Answer<'a> {
    model: Option<&'a str>,
    /// Engine, its version, optimization, threads, seed, inputs and whatever else is known.
    properties: serde_json::Map<String, serde_json::Value>,
    /// Of the unrecorded iterations, where there are any, or else of the recorded ones.
    latency: Option<Distribution>,
    warm_up: Option<Distribution>,
    /// The recorded iterations, where the latency is that of others.
    recorded: Option<Distribution>,
    /// How many times as long a recorded iteration takes.
    recording_ratio: Option<f64>,
    /// By what recorded times (all but the latency) are to be multiplied to be parts of the latency.
    scale: f64,
    iterations: Vec<IterationRow>,
    unrecorded_iterations: Vec<IterationRow>,
    before: Vec<Phase<'a>>,
    inside_ns: i64,
    between_ns: Option<i64>,
    operator_time_ns: i64,
    graph: Graph,
    operators: Vec<OperatorRow<'a>>,
    removed_nodes: Vec<&'a str>,
    types: Vec<TypeRow<'a>>,
    /// The same for each model, where the profile holds several; empty otherwise.
    models: Vec<Envelope<Answer<'a>>>,
}

#[derive(Serialize)]
struct Distribution {
    count: usize,
    median_ns: i64,
    mean_ns: i64,
    p90_ns: i64,
    p99_ns: i64,
    min_ns: i64,
    max_ns: i64,
    coefficient_of_variation: f64,
}

#[derive(Serialize)]
struct IterationRow {
    number: u32,
    warm_up: bool,
    start_ns: i64,
    duration_ns: i64,
}

#[derive(Serialize)]
struct Phase<'a> {
    name: &'a str,
    start_ns: i64,
    duration_ns: i64,
}

#[derive(Serialize)]
struct Graph {
    exact: usize,
    fused: usize,
    fused_nodes: usize,
    added_by_engine: usize,
    unattributed: usize,
    removed: usize,
}

#[derive(Serialize)]
struct OperatorRow<'a> {
    rank: usize,
    name: &'a str,
    #[serde(rename = "type")]
    op_type: &'a str,
    time_ns: i64,
    /// Its part of the latency: its time less what recording adds, if all operators bear that alike.
    scaled_time_ns: i64,
    share: f64,
    cumulative_share: f64,
    per_iteration: Distribution,
    tasks: usize,
    attribution: &'static str,
    nodes: Vec<&'a str>,
    engine_type: Option<&'a str>,
    engine_nodes: Vec<&'a str>,
    data_type: Option<&'static str>,
    inputs: Vec<TensorRow<'a>>,
    outputs: Vec<TensorRow<'a>>,
    attributes: Option<serde_json::Value>,
    flops: Option<u64>,
    flops_per_second: Option<f64>,
    bytes_read: Option<u64>,
    bytes_written: Option<u64>,
    bytes_per_second: Option<f64>,
    parameters: Option<u64>,
}

#[derive(Serialize)]
struct TensorRow<'a> {
    name: Option<&'a str>,
    data_type: &'static str,
    shape: Option<&'a [i64]>,
    parameter: bool,
}

#[derive(Serialize)]
struct TypeRow<'a> {
    rank: usize,
    #[serde(rename = "type")]
    op_type: &'a str,
    operators: usize,
    time_ns: i64,
    share: f64,
    cumulative_share: f64,
    flops: Option<u64>,
    flops_per_second: Option<f64>,
    bytes: Option<u64>,
    bytes_per_second: Option<f64>,
}

impl<'a> Answer<'a> {
    fn of(report: &'a RunReport<'a>, models: Vec<Envelope<Self>>) -> Self {
        let (trace, summary) = (report.trace, &report.summary);
        let text = |id| trace.strings.get(id);
        let nanoseconds = |time: Nanoseconds| time.0;
        let properties =
            trace.run.shown().into_iter().map(|(key, value)| (key, value_of(&value.to_string())));
        let wanted = |model| report.model.is_none() || model == report.model;
        let iterations = trace.iterations.iter().filter(|(_, row)| wanted(row.model));
        let iterations =
            iterations.map(|(_, row)| IterationRow::of(row.number, row.warm_up, row.start, row.duration));
        let kinds = CallKinds::of(trace);
        let is_steady = |id| kinds.kind(trace, id).phase == Some(opscope_analyze::Phase::SteadyState);
        let before = trace.api_calls.iter().filter(|(id, call)| call.iteration.is_none() && !is_steady(*id));
        let before = before.map(|(_, call)| Phase {
            name: text(call.name),
            start_ns: nanoseconds(call.start),
            duration_ns: nanoseconds(call.duration),
        });
        let unrecorded = trace.unrecorded_iterations.iter().filter(|(_, row)| wanted(row.model));
        let unrecorded =
            unrecorded.map(|(_, row)| IterationRow::of(row.number, row.warm_up, row.start, row.duration));
        let mut engine_nodes = engine_nodes(trace);
        let removed = trace.operators.iter().filter(|(_, row)| row.attribution == Attribution::Removed);
        Self {
            model: report
                .model
                .or_else(|| trace.models.ids().next())
                .map(|id| text(trace.models.get(id).name)),
            properties: properties.collect(),
            latency: summary.latency.map(Distribution::of),
            warm_up: summary.warm_up.map(Distribution::of),
            recorded: summary.recorded.map(Distribution::of),
            recording_ratio: summary.recording_ratio,
            scale: summary.scale,
            iterations: iterations.collect(),
            unrecorded_iterations: unrecorded.collect(),
            before: before.collect(),
            inside_ns: nanoseconds(summary.inside),
            between_ns: report.trace.run.layer_times.is_placed().then(|| nanoseconds(summary.between)),
            operator_time_ns: nanoseconds(summary.operator_time),
            graph: Graph {
                exact: report.matching.exact,
                fused: report.matching.fused,
                fused_nodes: report.matching.fused_nodes,
                added_by_engine: report.matching.engine,
                unattributed: report.matching.unattributed,
                removed: report.matching.removed,
            },
            operators: ranked(&summary.operators, |rank, cost| {
                let engine_nodes = cost.operator.and_then(|operator| engine_nodes.remove(&operator));
                OperatorRow::of(trace, rank, cost, engine_nodes.unwrap_or_default(), summary.scale)
            }),
            removed_nodes: removed.map(|(_, row)| text(row.name)).collect(),
            types: ranked(&summary.types, |rank, cost| TypeRow::of(trace, rank, cost)),
            models,
        }
    }
}

fn ranked<'c, C, R>(costs: &'c [C], mut row: impl FnMut(usize, &'c C) -> R) -> Vec<R> {
    costs.iter().enumerate().map(|(index, cost)| row(index + 1, cost)).collect()
}

/// Whole numbers become numbers, whatever said them.
fn value_of(text: &str) -> serde_json::Value {
    text.parse::<u64>().map_or_else(|_| text.into(), Into::into)
}

impl IterationRow {
    fn of(number: u32, warm_up: bool, start: Nanoseconds, duration: Nanoseconds) -> Self {
        Self { number, warm_up, start_ns: start.0, duration_ns: duration.0 }
    }
}

impl Distribution {
    fn of(statistics: Statistics) -> Self {
        Self {
            count: statistics.count,
            median_ns: statistics.median.0,
            mean_ns: statistics.mean.0,
            p90_ns: statistics.p90.0,
            p99_ns: statistics.p99.0,
            min_ns: statistics.min.0,
            max_ns: statistics.max.0,
            coefficient_of_variation: statistics.coefficient_of_variation,
        }
    }
}

impl<'a> OperatorRow<'a> {
    fn of(
        trace: &'a Trace,
        rank: usize,
        cost: &OperatorCost,
        engine_nodes: Vec<&'a str>,
        scale: f64,
    ) -> Self {
        let operator = row(trace, cost);
        let tensors = |inputs: bool| -> Vec<TensorRow<'a>> {
            let Some(operator) = operator else { return Vec::new() };
            let ids: Vec<_> = if inputs { operator.inputs().collect() } else { operator.outputs().collect() };
            let rows = ids.into_iter().map(|id| {
                let tensor = trace.tensors.get(id);
                TensorRow {
                    name: tensor.name.map(|name| trace.strings.get(name)),
                    data_type: tensor.data_type.name(),
                    shape: trace.shape(id),
                    parameter: tensor.parameter,
                }
            });
            rows.collect()
        };
        let origins = operator.map(|operator| trace.names.get(operator.origins)).unwrap_or_default();
        let attributes = operator.and_then(|operator| operator.attributes).map(|id| trace.strings.get(id));
        let (flops, moved) = (cost.flops, cost.bytes);
        Self {
            rank,
            name: trace.strings.get(cost.name),
            op_type: trace.strings.get(cost.op_type),
            time_ns: cost.time.0,
            scaled_time_ns: scaled(cost.time, scale).0,
            share: cost.share,
            cumulative_share: cost.cumulative_share,
            per_iteration: Distribution::of(cost.per_iteration),
            tasks: cost.tasks,
            attribution: operator.map_or(Attribution::Unattributed, |operator| operator.attribution).name(),
            nodes: origins.iter().map(|&name| trace.strings.get(name)).collect(),
            engine_type: operator.and_then(|operator| operator.engine_type).map(|id| trace.strings.get(id)),
            engine_nodes,
            data_type: operator
                .and_then(|operator| data_type(trace, &operator))
                .map(|data_type| data_type.name()),
            inputs: tensors(true),
            outputs: tensors(false),
            attributes: attributes.and_then(|text| serde_json::from_str(text).ok()),
            flops,
            flops_per_second: flops.and_then(|flops| rate(flops, cost.time)),
            bytes_read: cost.bytes_read,
            bytes_written: cost.bytes_written,
            bytes_per_second: moved.and_then(|bytes| rate(bytes, cost.time)),
            parameters: operator.and_then(|operator| operator.parameters),
        }
    }
}

impl<'a> TypeRow<'a> {
    fn of(trace: &'a Trace, rank: usize, cost: &TypeCost) -> Self {
        Self {
            rank,
            op_type: trace.strings.get(cost.op_type),
            operators: cost.operators,
            time_ns: cost.time.0,
            share: cost.share,
            cumulative_share: cost.cumulative_share,
            flops: cost.flops,
            flops_per_second: cost.flops.and_then(|flops| rate(flops, cost.time)),
            bytes: cost.bytes,
            bytes_per_second: cost.bytes.and_then(|bytes| rate(bytes, cost.time)),
        }
    }
}
