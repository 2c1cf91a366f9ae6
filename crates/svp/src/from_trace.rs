//! From a trace to the files that the vendor's tools would have exported.

use std::collections::{BTreeMap, HashMap};

use opscope_trace::{ApiLevel, DeviceId, ExecutionUnit, MetricId, ModelId, Nanoseconds, TaskId, Trace};

use crate::cell::Figure;
use crate::file_name::{FileName, SampleName, TimelineName};
use crate::files::{Exports, Sheet};
use crate::op_summary::{Layer, LayerColumn, OpSummary};
use crate::statistic::{AclStatistic, ApiTotals, OpStatistic, OperatorTotals, Totals};
use crate::timeline::{Call, LayerRun, Unit};

impl Exports {
    /// Makes the tables and timelines of a trace. Figures that the trace doesn't know are missing.
    pub fn from_trace(trace: &Trace) -> Self {
        let mut exports = Self::default();
        let counters = counters(trace);
        for ((device, model), tasks) in tasks_by_model(trace) {
            exports.add_model(trace, &counters, device, model, &tasks);
        }
        exports.add_calls(trace);
        exports
    }

    fn add_model(
        &mut self,
        trace: &Trace,
        counters: &Counters,
        device: u32,
        model: Option<ModelId>,
        tasks: &[TaskId],
    ) {
        let (model_id, model) = match model.map(|model| trace.models.get(model)) {
            Some(row) => (row.number, file_stem(trace.strings.get(row.name))),
            None => (0, "model".to_owned()),
        };
        let layers: Vec<LayerRun> = layer_runs(trace, tasks);
        let mut samples: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, &task) in tasks.iter().enumerate() {
            let iteration = trace.tasks.iteration()[task.index()];
            let number = iteration.map_or(0, |iteration| trace.iterations.number()[iteration.index()]);
            samples.entry(number.into()).or_default().push(index);
        }
        let pictures = Some(samples.len() as u64);
        for (place, sample) in samples.values().enumerate() {
            let name = SampleName {
                device,
                model: model.clone(),
                model_id,
                batches: Some(1),
                pictures,
                picture: Some(place as u64 + 1),
                icache_miss_rate: None,
                frequency: None,
                is_ambiguous: false,
            };
            let content = op_summary(trace, counters, tasks, &layers, sample);
            self.op_summaries.push(Sheet { name, content });
        }
        let name = FileName::OpStatistic { device, model_id, picture: pictures, iteration: 1 };
        self.op_statistics.push(Sheet { name, content: op_statistic(&layers) });
        let name = TimelineName { device, model: Some(model), model_id, batches: Some(1), iteration: None };
        self.layers.push(Sheet { name, content: layers });
    }

    fn add_calls(&mut self, trace: &Trace) {
        let calls: Vec<Call> = trace
            .api_calls
            .iter()
            .map(|(_, call)| {
                let thread = call.thread.map(|thread| trace.threads.get(thread));
                let process = thread.map_or(0, |thread| trace.processes.get(thread.process).pid.into());
                Call {
                    name: trace.strings.get(call.name).to_owned(),
                    mode: mode_of(call.level).to_owned(),
                    process,
                    thread: thread.map_or(0, |thread| thread.tid),
                    start: call.start,
                    duration: call.duration,
                }
            })
            .collect();
        if calls.is_empty() {
            return;
        }
        let model = self.layers.first().map(|sheet| sheet.name.clone());
        let name = model.unwrap_or(TimelineName {
            device: 0,
            model: None,
            model_id: 0,
            batches: None,
            iteration: Some(1),
        });
        let statistic = FileName::AclStatistic { device: name.device, model_id: name.model_id, iteration: 1 };
        self.acl_statistics.push(Sheet { name: statistic, content: acl_statistic(&calls) });
        self.calls.push(Sheet { name, content: calls });
    }
}

/// The tasks of each device and model, in the order of their start.
fn tasks_by_model(trace: &Trace) -> BTreeMap<(u32, Option<ModelId>), Vec<TaskId>> {
    let mut groups: BTreeMap<(u32, Option<ModelId>), Vec<TaskId>> = BTreeMap::new();
    for (id, task) in trace.tasks.iter() {
        let device: Option<DeviceId> = task.stream.map(|stream| trace.streams.device()[stream.index()]);
        let device = device.map_or(0, |device| trace.devices.number()[device.index()]);
        let model = task.operator.and_then(|operator| trace.operators.model()[operator.index()]);
        groups.entry((device, model)).or_default().push(id);
    }
    for tasks in groups.values_mut() {
        tasks.sort_by_key(|task| trace.tasks.start()[task.index()]);
    }
    groups
}

/// The tasks as layers; the order of execution begins anew with each inference.
fn layer_runs(trace: &Trace, tasks: &[TaskId]) -> Vec<LayerRun> {
    let mut last = None;
    let mut place = 0;
    let runs = tasks.iter().map(|&id| {
        let task = trace.tasks.get(id);
        place = if task.iteration == last { place + 1 } else { 0 };
        last = task.iteration;
        let name = task.operator.map_or(task.name, |operator| trace.operators.name()[operator.index()]);
        LayerRun {
            name: trace.strings.get(name).to_owned(),
            unit: unit_of(task.unit),
            stream: task.stream.map_or(0, |stream| trace.streams.number()[stream.index()]),
            task: place,
            id: task.number,
            start: task.start,
            duration: task.duration,
        }
    });
    runs.collect()
}

type Counters = HashMap<TaskId, Vec<(LayerColumn, f64)>>;

/// The values of the engine's counters by task.
fn counters(trace: &Trace) -> Counters {
    let column_of = |metric: MetricId| {
        let name = trace.strings.get(trace.metrics.name()[metric.index()]);
        LayerColumn::COUNTERS.iter().copied().find(|column| column.metric() == name)
    };
    let columns: Vec<Option<LayerColumn>> = trace.metrics.ids().map(column_of).collect();
    if columns.iter().all(Option::is_none) {
        return HashMap::new();
    }
    let rows = trace.readings.iter().map(|(id, reading)| {
        let values =
            trace.readings_of(id).filter_map(|(metric, value)| Some((columns[metric.index()]?, value)));
        (reading.task, values.collect())
    });
    rows.collect()
}

fn op_summary(
    trace: &Trace,
    counters: &Counters,
    tasks: &[TaskId],
    runs: &[LayerRun],
    sample: &[usize],
) -> OpSummary {
    let total: Nanoseconds = sample.iter().map(|&index| runs[index].duration).sum();
    let share = |time: Nanoseconds| Figure::rounded(100.0 * time.as_micros() / total.as_micros());
    let mut summary = OpSummary::default();
    for (place, &index) in sample.iter().enumerate() {
        let run = &runs[index];
        let operator = trace.tasks.operator()[tasks[index].index()].map(|id| trace.operators.get(id));
        let op_type = operator.map_or("N/A", |operator| trace.strings.get(operator.op_type));
        let mut layer = Layer::new(place as u64, &run.name, op_type);
        if let Some(origins) =
            operator.map(|operator| trace.names.get(operator.origins)).filter(|all| !all.is_empty())
        {
            let origins: Vec<&str> = origins.iter().map(|name| trace.strings.get(*name)).collect();
            layer.original_name = origins.join("+");
        }
        layer.set(LayerColumn::Time, Figure(Some(run.duration.as_micros())));
        layer.set(LayerColumn::TimeRatio, share(run.duration));
        for &(column, value) in counters.get(&tasks[index]).into_iter().flatten() {
            layer.set(column, Figure(Some(value)));
        }
        summary.layers.push(layer);
    }
    let mut whole = Layer::new(0, "-", "-");
    whole.id = "-".to_owned();
    whole.set(LayerColumn::Time, Figure(Some(total.as_micros())));
    whole.set(LayerColumn::TimeRatio, share(total));
    summary.total = Some(whole);
    summary
}

fn op_statistic(runs: &[LayerRun]) -> OpStatistic {
    let all: f64 = runs.iter().map(|run| run.duration.as_micros()).sum();
    let mut groups: Vec<(&LayerRun, Vec<f64>)> = Vec::new();
    let mut known = HashMap::new();
    for run in runs {
        let place = *known.entry((&run.name, run.stream, run.unit as u8)).or_insert_with(|| {
            groups.push((run, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.push(run.duration.as_micros());
    }
    let rows = groups.iter().enumerate().map(|(index, (run, durations))| OperatorTotals {
        task: index.to_string(),
        stream: run.stream.to_string(),
        name: run.name.clone(),
        unit: run.unit,
        totals: Totals::of(durations, all),
        other_cells: Vec::new(),
    });
    OpStatistic { rows: rows.collect(), ..OpStatistic::default() }
}

pub(crate) fn acl_statistic(calls: &[Call]) -> AclStatistic {
    let all: f64 = calls.iter().map(|call| call.duration.as_micros()).sum();
    let mut groups: BTreeMap<(u64, u64, &str, &str), Vec<f64>> = BTreeMap::new();
    for call in calls {
        let key = (call.process, call.thread, &*call.mode, &*call.name);
        groups.entry(key).or_default().push(call.duration.as_micros());
    }
    let rows = groups.into_iter().map(|((process, thread, mode, name), durations)| ApiTotals {
        process: process.to_string(),
        thread: thread.to_string(),
        kind: kind_of(mode),
        name: name.to_owned(),
        totals: Totals::of(&durations, all),
        other_cells: Vec::new(),
    });
    let mut rows: Vec<ApiTotals> = rows.collect();
    rows.sort_by(|a, b| b.totals.total.0.partial_cmp(&a.totals.total.0).unwrap_or(std::cmp::Ordering::Equal));
    AclStatistic { rows, ..AclStatistic::default() }
}

fn unit_of(unit: ExecutionUnit) -> Unit {
    match unit {
        ExecutionUnit::AiCore
        | ExecutionUnit::AiVectorCore
        | ExecutionUnit::MixAiCore
        | ExecutionUnit::MixVectorCore => Unit::AaCore,
        ExecutionUnit::AiCpu => Unit::AaCpu,
        _ => Unit::Unknown,
    }
}

/// A mode in the word of the tables.
fn kind_of(mode: &str) -> String {
    match mode.trim_start_matches("ACL_") {
        "RTS" => "runtime".to_owned(),
        other => other.to_ascii_lowercase(),
    }
}

fn mode_of(level: ApiLevel) -> &'static str {
    match level {
        ApiLevel::Node => "ACL_OP",
        ApiLevel::Model => "ACL_MODEL",
        ApiLevel::Runtime => "ACL_RTS",
        _ => "ACL_OTHERS",
    }
}

/// A model's name as a part of a file's: without folders, and without what only some systems take.
fn file_stem(name: &str) -> String {
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name
        .chars()
        .map(|c| if c.is_alphanumeric() || "._-".contains(c) { c } else { '_' })
        .take(100)
        .collect();
    if name.is_empty() { "model".to_owned() } else { name }
}
