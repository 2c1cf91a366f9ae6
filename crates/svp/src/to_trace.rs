//! From exported files to a trace.

use std::collections::HashMap;

use opscope_trace::{
    ApiCall, ApiLevel, Counter, DeviceKind, ExecutionUnit, Iteration, IterationId, LossKind, Model, ModelId,
    Nanoseconds, Operator, OperatorId, Places, ProfileFormat, Sample, StreamId, StringId, Task, TaskId,
    ThreadId, TimeBasis, Trace,
};

use crate::file_name::{FileName, TimelineName};
use crate::files::{Exports, Sheet};
use crate::op_summary::{Layer, LayerColumn};
use crate::statistic::OpStatistic;
use crate::timeline::{Call, LayerRun, Unit};

impl Exports {
    /// The files' contents as a trace.
    ///
    /// Layers and calls come from the timelines. Where there are none, those of the tables are laid end
    /// to end, and the trace says so; of totals only these are true then. Times are those of the board's
    /// monotonic clock, counted from the first of them.
    pub fn to_trace(&self) -> Trace {
        let mut builder = Builder::new(self.zero());
        for sheet in &self.layers {
            let model = builder.model(sheet.name.model_id, sheet.name.model.as_deref());
            builder.add_layers(self, sheet.name.device, model, sheet.name.model_id, &sheet.content);
        }
        if self.layers.iter().all(|sheet| sheet.content.is_empty()) {
            self.lay_end_to_end(&mut builder);
        }
        for sheet in &self.calls {
            if let Some(model) = &sheet.name.model {
                builder.model(sheet.name.model_id, Some(model));
            }
            builder.add_calls(&sheet.content);
        }
        if self.calls.iter().all(|sheet| sheet.content.is_empty()) {
            self.lay_calls_end_to_end(&mut builder);
        }
        for sheet in &self.op_summaries {
            if let Some(frequency) = sheet.name.frequency {
                builder.add_frequency(sheet.name.device, frequency);
            }
        }
        self.count_losses(&mut builder.trace);
        self.count_left_out(&mut builder.trace);
        builder.trace.drop_impossible("the exported files");
        builder.trace
    }

    /// Counts in a trace what was dropped or doubted while these files were read.
    pub fn count_losses(&self, trace: &mut Trace) {
        trace.count_losses(&self.losses);
    }

    /// Counts the rows of tables whose model no timeline has, beside timelines of others: a trace has the
    /// times of the latter, and no place for totals without times.
    fn count_left_out(&self, trace: &mut Trace) {
        let mut count = |name: &FileName, rows: usize| {
            trace.count_loss(LossKind::OtherModel, rows as u64, &format!("{name} ({rows} rows)"));
        };
        let shown = |sheets: &mut dyn Iterator<Item = &TimelineName>| -> Vec<(u32, u64)> {
            sheets.map(|name| (name.device, name.model_id)).collect()
        };
        let with_layers = self.layers.iter().filter(|sheet| !sheet.content.is_empty());
        let layers = shown(&mut with_layers.map(|sheet| &sheet.name));
        if !layers.is_empty() {
            for Sheet { name, content } in &self.op_summaries {
                if !layers.contains(&(name.device, name.model_id)) {
                    count(&FileName::OpSummary(name.clone()), content.layers.len());
                }
            }
            for Sheet { name, content } in &self.op_statistics {
                if !layers.contains(&(name.device(), name.model_id())) {
                    count(name, content.rows.len());
                }
            }
        }
        let with_calls = self.calls.iter().filter(|sheet| !sheet.content.is_empty());
        let calls = shown(&mut with_calls.map(|sheet| &sheet.name));
        if !calls.is_empty() {
            for Sheet { name, content } in &self.acl_statistics {
                if !calls.contains(&(name.device(), name.model_id())) {
                    count(name, content.rows.len());
                }
            }
        }
    }

    fn zero(&self) -> Nanoseconds {
        let layers = self.layers.iter().flat_map(|sheet| sheet.content.iter().map(|layer| layer.start));
        let calls = self.calls.iter().flat_map(|sheet| sheet.content.iter().map(|call| call.start));
        layers.chain(calls).min().unwrap_or_default()
    }

    fn lay_end_to_end(&self, builder: &mut Builder) {
        if self.op_summaries.is_empty() {
            self.lay_totals_end_to_end(builder);
            return;
        }
        let mut time = builder.zero;
        for sheet in &self.op_summaries {
            let model = builder.model(sheet.name.model_id, Some(&sheet.name.model));
            let (mut runs, mut without_time) = (Vec::new(), 0);
            for (index, layer) in sheet.content.layers.iter().enumerate() {
                let Some(duration) = duration_of(layer) else {
                    without_time += 1;
                    continue;
                };
                runs.push(LayerRun {
                    name: layer.name.clone(),
                    unit: self.unit(sheet.name.device, sheet.name.model_id, &layer.name),
                    stream: 0,
                    task: index as u64,
                    id: layer.id.parse().ok(),
                    start: time,
                    duration,
                });
                time += duration;
            }
            let file = FileName::OpSummary(sheet.name.clone()).to_string();
            builder.trace.count_loss(LossKind::LayerWithoutTime, without_time, &file);
            builder.add_layers(self, sheet.name.device, model, sheet.name.model_id, &runs);
        }
        builder.trace.run.layer_times = TimeBasis::Durations;
    }

    /// Layers of which only totals are known, inference by inference.
    fn lay_totals_end_to_end(&self, builder: &mut Builder) {
        let mut time = builder.zero;
        for Sheet { name, content } in &self.op_statistics {
            let model = builder.model(name.model_id(), None);
            let durations: Vec<_> = content.rows.iter().map(|row| row.totals.durations()).collect();
            let inferences = durations.iter().map(Vec::len).max().unwrap_or(0);
            let mut runs = Vec::new();
            for inference in 0..inferences {
                for (task, row) in content.rows.iter().enumerate() {
                    let Some(&duration) = durations[task].get(inference) else { continue };
                    runs.push(LayerRun {
                        name: row.name.clone(),
                        unit: row.unit,
                        stream: row.stream.parse().unwrap_or(0),
                        task: task as u64,
                        id: row.task.parse().ok(),
                        start: time,
                        duration,
                    });
                    time += duration;
                }
            }
            builder.add_layers(self, name.device(), model, name.model_id(), &runs);
            builder.trace.run.layer_times = TimeBasis::Totals;
        }
    }

    /// Calls of which only totals are known.
    fn lay_calls_end_to_end(&self, builder: &mut Builder) {
        let mut time = builder.zero;
        for row in self.acl_statistics.iter().flat_map(|sheet| &sheet.content.rows) {
            let calls = row.totals.durations().into_iter().map(|duration| {
                let start = time;
                time += duration;
                Call {
                    name: row.name.clone(),
                    mode: row.kind.clone(),
                    process: row.process.parse().unwrap_or(0),
                    thread: row.thread.parse().unwrap_or(0),
                    start,
                    duration,
                }
            });
            let calls: Vec<Call> = calls.collect();
            builder.add_calls(&calls);
            builder.trace.run.call_times = TimeBasis::Totals;
        }
    }

    /// Where a layer ran, as the table of totals says.
    fn unit(&self, device: u32, model_id: u64, layer: &str) -> Unit {
        let of_model = |sheet: &&Sheet<FileName, OpStatistic>| {
            (sheet.name.device(), sheet.name.model_id()) == (device, model_id)
        };
        let mut rows = self.op_statistics.iter().filter(of_model).flat_map(|sheet| &sheet.content.rows);
        rows.find(|row| row.name == layer).map_or(Unit::Unknown, |row| row.unit)
    }

    /// The table's row of a layer, by the name that the timelines give it.
    fn layer(&self, device: u32, model_id: u64, name: &str) -> Option<&Layer> {
        let sheets = self.op_summaries.iter();
        let sheets = sheets.filter(|sheet| (sheet.name.device, sheet.name.model_id) == (device, model_id));
        sheets.flat_map(|sheet| &sheet.content.layers).find(|layer| layer.name == name)
    }
}

fn duration_of(layer: &Layer) -> Option<Nanoseconds> {
    layer.figure(LayerColumn::Time).0.map(|micros| Nanoseconds::from_seconds(micros / 1e6))
}

/// A trace in the making, with the rows that others refer to.
struct Builder {
    trace: Trace,
    zero: Nanoseconds,
    models: HashMap<u64, ModelId>,
    places: Places,
    operators: HashMap<(ModelId, StringId), OperatorId>,
}

impl Builder {
    fn new(zero: Nanoseconds) -> Self {
        let mut trace = Trace::new();
        trace.run.format = Some(ProfileFormat::Svp);
        Self { trace, zero, models: HashMap::new(), places: Places::default(), operators: HashMap::new() }
    }

    fn model(&mut self, number: u64, name: Option<&str>) -> ModelId {
        let trace = &mut self.trace;
        *self.models.entry(number).or_insert_with(|| {
            let name = trace.strings.intern(name.unwrap_or_default());
            trace.models.push(Model { number, name })
        })
    }

    fn stream(&mut self, device: u32, number: u64) -> StreamId {
        let trace = &mut self.trace;
        let device = self.places.device(trace, DeviceKind::Npu, device, "SVP");
        let name = trace.strings.intern(&format!("Stream {number}"));
        self.places.stream(trace, device, number, None, name)
    }

    fn operator(
        &mut self,
        model: ModelId,
        run: &LayerRun,
        name: StringId,
        layer: Option<&Layer>,
    ) -> OperatorId {
        *self.operators.entry((model, name)).or_insert_with(|| {
            let op_type = layer.map(|layer| &*layer.layer_type).filter(|op_type| !op_type.is_empty());
            let op_type = op_type.map_or(name, |op_type| self.trace.strings.intern(op_type));
            let bytes =
                |column| layer.and_then(|layer| layer.figure(column).0).map(|bytes| bytes.max(0.0) as u64);
            self.trace.operators.push(Operator {
                model: Some(model),
                position: u32::try_from(run.task).ok(),
                bytes_read: bytes(LayerColumn::DdrRead),
                bytes_written: bytes(LayerColumn::DdrWrite),
                ..Operator::new(name, op_type)
            })
        })
    }

    /// Adds the executions of a model's layers. The order of execution begins anew with each
    /// inference.
    fn add_layers(
        &mut self,
        exports: &Exports,
        device: u32,
        model: ModelId,
        model_id: u64,
        runs: &[LayerRun],
    ) {
        let mut iteration: Option<IterationId> = None;
        let (mut last_task, mut number) = (None, 0);
        for run in runs {
            let start = run.start - self.zero;
            if iteration.is_none() || last_task.is_some_and(|last| run.task <= last) {
                number += 1;
                let duration = Nanoseconds::ZERO;
                let row = Iteration { model: Some(model), number, warm_up: false, start, duration };
                iteration = Some(self.trace.iterations.push(row));
            }
            last_task = Some(run.task);
            if let Some(id) = iteration {
                let row = self.trace.iterations.get(id);
                let (first, end) =
                    (row.start.min(start), (row.start + row.duration).max(start + run.duration));
                self.trace.iterations.set(id, Iteration { start: first, duration: end - first, ..row });
            }
            let name = self.trace.strings.intern(&run.name);
            let layer = exports.layer(device, model_id, &run.name);
            let operator = Some(self.operator(model, run, name, layer));
            let stream = Some(self.stream(device, run.stream));
            let unit = match run.unit {
                Unit::AaCore => ExecutionUnit::AiCore,
                Unit::AaCpu => ExecutionUnit::AiCpu,
                Unit::Unknown => ExecutionUnit::Other,
            };
            let task = Task::new(name, start, run.duration);
            let task = Task { operator, number: run.id, stream, unit, iteration, ..task };
            let task = self.trace.tasks.push(task);
            if let Some(layer) = layer {
                self.add_reading(task, layer);
            }
        }
    }

    /// Notes what the engine's counters say of a layer.
    fn add_reading(&mut self, task: TaskId, layer: &Layer) {
        let known = LayerColumn::COUNTERS.iter().copied();
        let figure = |column| match column {
            LayerColumn::MemoryBound => layer.best_bound(),
            column => layer.figure(column),
        };
        let known = known.filter_map(|column| Some((column, figure(column).0?)));
        let (columns, values): (Vec<LayerColumn>, Vec<f64>) = known.unzip();
        let metrics = columns.iter().map(|column| self.trace.enter_metric(column.metric(), column.unit()));
        let metrics: Vec<_> = metrics.collect();
        if !metrics.is_empty() {
            self.trace.push_reading(task, &metrics, &values);
        }
    }

    fn add_calls(&mut self, calls: &[Call]) {
        for call in calls {
            let thread = Some(self.thread(call));
            let name = self.trace.strings.intern(&call.name);
            let (start, duration) = (call.start - self.zero, call.duration);
            let level = level_of(&call.mode);
            self.trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration: None });
        }
    }

    /// Notes the engine's clock during a sample. The guide names no unit; the values are those of
    /// megahertz. When a sample was taken isn't known either, so all stand at the beginning.
    fn add_frequency(&mut self, device: u32, frequency: u64) {
        let stream = self.stream(device, 0);
        let trace = &mut self.trace;
        let device = trace.streams.get(stream).device;
        let name = trace.strings.intern("AA core frequency");
        let unit = trace.strings.intern("MHz");
        let counter = Counter { name, unit, device: Some(device) };
        let known = trace.counters.iter().find(|(_, known)| *known == counter);
        let counter = known.map_or_else(|| trace.counters.push(counter), |(id, _)| id);
        trace.samples.push(Sample { counter, time: Nanoseconds::ZERO, value: frequency as f64 });
    }

    fn thread(&mut self, call: &Call) -> ThreadId {
        let trace = &mut self.trace;
        let process = self.places.process(trace, u32::try_from(call.process).unwrap_or(0));
        self.places.thread(trace, process, call.thread, &format!("Thread {}", call.thread))
    }
}

/// The layer of the software that a call's mode stands for.
fn level_of(mode: &str) -> ApiLevel {
    match mode.to_ascii_uppercase().trim_start_matches("ACL_") {
        "OP" => ApiLevel::Node,
        "MODEL" => ApiLevel::Model,
        "RTS" | "RUNTIME" => ApiLevel::Runtime,
        _ => ApiLevel::Application,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_whose_time_is_not_known_is_no_layer_of_no_time() {
        let table = "Layer Name,Layer Type,Time(us)\nconv1,Convolution,10\nsoft1,Softmax,N/A\n";
        let content = crate::op_summary::OpSummary::read(table.as_bytes()).unwrap();
        let sheet = Sheet { name: crate::file_name::SampleName::default(), content };
        let trace = Exports { op_summaries: vec![sheet], ..Exports::default() }.to_trace();
        assert_eq!(trace.tasks.duration(), [Nanoseconds(10_000)]);
        let losses: Vec<_> = trace.losses.iter().map(|(_, loss)| (loss.kind, loss.count)).collect();
        assert_eq!(losses, [(LossKind::LayerWithoutTime, 1)]);
    }

    #[test]
    fn a_call_whose_time_can_not_be_is_a_counted_loss() {
        let call = |start: i64, duration: i64| Call {
            name: "aclmdlExecute".to_owned(),
            mode: "ACL_MODEL".to_owned(),
            process: 1,
            thread: 1,
            start: Nanoseconds(start),
            duration: Nanoseconds(duration),
        };
        let calls = vec![call(100, 40), call(200, -40), call(300, i64::MAX)];
        let name = TimelineName { device: 0, model: None, model_id: 0, batches: None, iteration: Some(1) };
        let trace = Exports { calls: vec![Sheet { name, content: calls }], ..Exports::default() }.to_trace();
        assert_eq!(trace.api_calls.duration(), [Nanoseconds(40)]);
        assert_eq!(trace.losses.count(), [2]);
    }
}
