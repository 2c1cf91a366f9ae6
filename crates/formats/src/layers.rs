//! Layers of which a file tells durations or means and no starts, on their way into a trace.
//!
//! Each inference that the file tells of is an iteration, each row a task in it. Starts are made up, end to
//! end, and [`TimeBasis::Unplaced`] says so: whoever draws leaves such tasks out. A file that sums up many
//! inferences becomes the one mean inference; how many it stands for is the fact `summed_runs`.

use std::collections::HashMap;

use opscope_trace::{
    ApiCall, ApiLevel, DataType, DeviceKind, ExecutionUnit, Iteration, IterationId, LossKind, Losses,
    ModelId, Nanoseconds, Operator, OperatorId, Places, ProfileFormat, StreamId, StringId, Task, TaskId,
    Tensor, ThreadId, TimeBasis, Trace,
};

/// Times of a file in the unit of its own, in nanoseconds; `None` for what is no time: not finite, negative, or
/// over a year.
pub(crate) fn time(value: f64, nanoseconds: f64) -> Option<Nanoseconds> {
    const LONGEST: f64 = 366.0 * 24.0 * 3600.0 * 1e9;
    let scaled = value * nanoseconds;
    (scaled.is_finite() && (0.0..=LONGEST).contains(&scaled)).then(|| Nanoseconds(scaled.round() as i64))
}

/// The nanoseconds of a millisecond, for [`time`].
pub(crate) const MILLI: f64 = 1e6;
/// The nanoseconds of a microsecond.
pub(crate) const MICRO: f64 = 1e3;

/// The most executions that one file's counts may stand for: a row that goes beyond is told as one, so that a short
/// text makes no large trace.
pub(crate) const MOST_EXECUTIONS: u64 = 1 << 16;

/// An input or output of a layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Value {
    pub name: String,
    pub data_type: DataType,
    /// Outermost first; `None` where not even their number is known.
    pub dimensions: Option<Vec<i64>>,
    pub layout: String,
}

/// A layer as a file describes it. Empty texts are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layer {
    pub name: String,
    pub op_type: String,
    pub position: Option<u32>,
    /// The nodes of the model's graph that it stands for.
    pub origins: Vec<String>,
    pub inputs: Vec<Value>,
    pub outputs: Vec<Value>,
    /// Anything else that is told of it: keys and texts.
    pub attributes: Vec<(&'static str, String)>,
}

/// A trace in the making.
pub(crate) struct Layers {
    pub trace: Trace,
    pub losses: Losses,
    places: Places,
    stream: StreamId,
    unit: ExecutionUnit,
    model: Option<ModelId>,
    operators: HashMap<(Option<ModelId>, StringId, StringId), OperatorId>,
    iteration: Option<IterationId>,
    /// The number of each model's inferences.
    inferences: HashMap<Option<ModelId>, u32>,
    /// The end of all that was laid down so far.
    end: Nanoseconds,
    /// The end of all calls of the host.
    calls_end: Nanoseconds,
}

impl Layers {
    /// A trace of one format, whose layers run on one kind of device.
    pub fn new(format: ProfileFormat, device: DeviceKind, unit: ExecutionUnit) -> Self {
        let mut trace = Trace::new();
        trace.run.format = Some(format);
        trace.run.layer_times = TimeBasis::Unplaced;
        let mut places = Places::default();
        let device = places.device(&mut trace, device, 0, format.name());
        let nameless = trace.strings.intern("");
        let stream = places.stream(&mut trace, device, 0, None, nameless);
        Self {
            trace,
            losses: Losses::default(),
            places,
            stream,
            unit,
            model: None,
            operators: HashMap::new(),
            iteration: None,
            inferences: HashMap::new(),
            end: Nanoseconds::ZERO,
            calls_end: Nanoseconds::ZERO,
        }
    }

    /// Says of which model whatever follows is.
    pub fn enter_model(&mut self, name: &str) {
        self.end_inference(None);
        self.model = Some(self.trace.enter_named_model(name));
    }

    /// Says that of no known model whatever follows is.
    pub fn leave_model(&mut self) {
        self.end_inference(None);
        self.model = None;
    }

    /// Puts the layers that follow on another device.
    pub fn enter_device(&mut self, kind: DeviceKind, unit: ExecutionUnit, name: &str) {
        let device = self.places.device(&mut self.trace, kind, 0, name);
        let nameless = self.trace.strings.intern("");
        self.stream = self.places.stream(&mut self.trace, device, 0, None, nameless);
        self.unit = unit;
    }

    /// Begins an inference; the one before has ended.
    pub fn begin_inference(&mut self) {
        self.end_inference(None);
        let number = self.inferences.entry(self.model).or_default();
        *number += 1;
        let number = *number;
        let (start, duration) = (self.end, Nanoseconds::ZERO);
        let row = Iteration { model: self.model, number, warm_up: false, start, duration };
        self.iteration = Some(self.trace.iterations.push(row));
    }

    /// Ends an inference. It lasts as long as its layers, or as the file states if that is longer.
    pub fn end_inference(&mut self, stated: Option<Nanoseconds>) {
        let Some(id) = self.iteration.take() else { return };
        let row = self.trace.iterations.get(id);
        let duration = (self.end - row.start).max(stated.unwrap_or_default());
        self.end = self.trace.iterations.get(id).start + duration;
        self.trace.iterations.set(id, Iteration { duration, ..row });
    }

    /// Says that of the inferences that were begun last only so many are measured, and those before warm up.
    pub fn warm_up_before(&mut self, begun: usize, measured: usize) {
        self.end_inference(None);
        let all = self.trace.iterations.len();
        for index in all.saturating_sub(begun)..all.saturating_sub(measured) {
            let id = IterationId::from_index(index);
            let row = self.trace.iterations.get(id);
            self.trace.iterations.set(id, Iteration { warm_up: true, ..row });
        }
    }

    /// Takes the inference that was begun last out again, with its tasks.
    pub fn leave_out_inference(&mut self) {
        self.end_inference(None);
        let Some(last) = self.trace.iterations.len().checked_sub(1).map(IterationId::from_index) else {
            return;
        };
        let iteration = self.trace.tasks.iteration();
        let kept: Vec<bool> = iteration.iter().map(|it| *it != Some(last)).collect();
        self.end = self.trace.iterations.get(last).start;
        // It is the last of both tables, so that all other ids stay.
        self.trace.tasks.retain(&kept);
        let kept: Vec<bool> = (0..self.trace.iterations.len()).map(|index| index < last.index()).collect();
        self.trace.iterations.retain(&kept);
    }

    /// The operator of a name and type in the model that was entered, as it is described first.
    pub fn operator(&mut self, layer: &Layer) -> OperatorId {
        let name = self.trace.strings.intern(&layer.name);
        let op_type = if layer.op_type.is_empty() { name } else { self.trace.strings.intern(&layer.op_type) };
        let key = (self.model, name, op_type);
        if let Some(known) = self.operators.get(&key) {
            return *known;
        }
        let trace = &mut self.trace;
        let origins: Vec<StringId> = layer.origins.iter().map(|name| trace.strings.intern(name)).collect();
        let (first_input, input_count) = tensors(trace, &layer.inputs);
        let (first_output, output_count) = tensors(trace, &layer.outputs);
        let attributes = attributes(&layer.attributes).map(|text| trace.strings.intern(&text));
        let mut operator = Operator {
            model: self.model,
            position: layer.position,
            origins: trace.names.push(origins),
            first_input,
            input_count,
            first_output,
            output_count,
            attributes,
            ..Operator::new(name, op_type)
        };
        if input_count + output_count > 0 {
            operator.bytes_read = trace.bytes_read(&operator);
            operator.bytes_written = trace.tensor_bytes(operator.outputs());
        }
        let id = trace.operators.push(operator);
        self.operators.insert(key, id);
        id
    }

    /// Lays an execution of an operator behind what is there. One without a time that can be is counted.
    pub fn task(&mut self, operator: OperatorId, time: Option<Nanoseconds>, place: &str) -> Option<TaskId> {
        let Some(duration) = time else {
            self.losses.count(LossKind::LayerWithoutDuration, place, 1);
            return None;
        };
        let name = self.trace.operators.name()[operator.index()];
        let task = Task {
            operator: Some(operator),
            stream: Some(self.stream),
            unit: self.unit,
            iteration: self.iteration,
            ..Task::new(name, self.end, duration)
        };
        self.end = Nanoseconds(self.end.0.saturating_add(duration.0));
        Some(self.trace.tasks.push(task))
    }

    /// Lays a call of the host behind what is there and the other calls, of which the file has no start either.
    pub fn call(&mut self, name: &str, level: ApiLevel, duration: Nanoseconds) {
        let thread = self.thread();
        let name = self.trace.strings.intern(name);
        // At one time they would lie within one another.
        let start = self.end.max(self.calls_end);
        self.calls_end = Nanoseconds(start.0.saturating_add(duration.0));
        let call = ApiCall { thread: Some(thread), level, name, start, duration, iteration: None };
        self.trace.api_calls.push(call);
        self.trace.run.call_times = TimeBasis::Unplaced;
    }

    fn thread(&mut self) -> ThreadId {
        let process = self.places.process(&mut self.trace, 0);
        self.places.thread(&mut self.trace, process, 0, "")
    }

    /// Notes quantities of a task: name, unit and value of each that is known.
    pub fn measured(&mut self, task: TaskId, values: &[(&str, &str, Option<f64>)]) {
        let known: Vec<(&str, &str, f64)> =
            values.iter().filter_map(|&(name, unit, value)| Some((name, unit, value?))).collect();
        let metrics: Vec<_> =
            known.iter().map(|(name, unit, _)| self.trace.enter_metric(name, unit)).collect();
        let values: Vec<f64> = known.iter().map(|(.., value)| *value).collect();
        if !metrics.is_empty() {
            self.trace.push_reading(task, &metrics, &values);
        }
    }

    /// The trace, with its losses.
    pub fn finish(mut self) -> Trace {
        self.end_inference(None);
        self.trace.count_losses(&self.losses);
        self.trace
    }
}

fn tensors(trace: &mut Trace, values: &[Value]) -> (Option<opscope_trace::TensorId>, u32) {
    let rows: Vec<Tensor> = values
        .iter()
        .map(|value| Tensor {
            name: (!value.name.is_empty()).then(|| trace.strings.intern(&value.name)),
            data_type: value.data_type,
            dimensions: value.dimensions.as_ref().map(|sizes| trace.dimensions.push(sizes.iter().copied())),
            layout: (!value.layout.is_empty()).then(|| trace.strings.intern(&value.layout)),
            parameter: false,
        })
        .collect();
    trace.tensors.push_all(rows)
}

fn attributes(texts: &[(&'static str, String)]) -> Option<String> {
    let known = texts.iter().filter(|(_, text)| !text.is_empty());
    let object: serde_json::Map<String, serde_json::Value> =
        known.map(|(key, text)| ((*key).to_owned(), text.as_str().into())).collect();
    (!object.is_empty()).then(|| serde_json::Value::Object(object).to_string())
}

/// How many equal parts a time is told in, and how long each is: a count that is too large for all that came
/// before is one part.
pub(crate) fn parts(total: Nanoseconds, count: u64, so_far: u64) -> impl Iterator<Item = Nanoseconds> {
    let fits = count > 0 && so_far.saturating_add(count) <= MOST_EXECUTIONS;
    let count = if fits { count as i64 } else { 1 };
    // The rest of the division goes to the first of them.
    let (part, rest) = (total.0 / count, total.0 % count);
    (0..count).map(move |index| Nanoseconds(part + i64::from(index < rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_no_time_is_none() {
        for value in [f64::NAN, f64::INFINITY, -1.0, 1e30] {
            assert_eq!(time(value, MILLI), None, "{value}");
        }
        assert_eq!(time(0.0012345, MILLI), Some(Nanoseconds(1_235)));
        assert_eq!(time(-0.0, MILLI), Some(Nanoseconds(0)));
    }

    #[test]
    fn parts_sum_to_the_whole_and_are_one_where_there_were_too_many() {
        assert_eq!(parts(Nanoseconds(10), 3, 0).collect::<Vec<_>>(), [4, 3, 3].map(Nanoseconds));
        assert_eq!(parts(Nanoseconds(10), u64::MAX, 5).collect::<Vec<_>>(), [Nanoseconds(10)]);
        assert_eq!(parts(Nanoseconds(10), 0, 0).collect::<Vec<_>>(), [Nanoseconds(10)]);
        assert_eq!(parts(Nanoseconds(10), 2, MOST_EXECUTIONS).count(), 1);
    }

    #[test]
    fn an_inference_lasts_as_long_as_its_layers_or_as_is_stated() {
        let mut layers = Layers::new(ProfileFormat::Ncnn, DeviceKind::Cpu, ExecutionUnit::Cpu);
        for stated in [None, Some(Nanoseconds(50))] {
            layers.begin_inference();
            for (name, time) in [("a", Some(Nanoseconds(10))), ("b", None), ("a", Some(Nanoseconds(5)))] {
                let operator = layers.operator(&Layer { name: name.to_owned(), ..Layer::default() });
                layers.task(operator, time, "here");
            }
            layers.end_inference(stated);
        }
        let trace = layers.finish();
        assert_eq!(trace.iterations.duration(), [15, 50].map(Nanoseconds));
        assert_eq!(trace.iterations.start(), [0, 15].map(Nanoseconds));
        assert_eq!(trace.iterations.number(), [1, 2]);
        assert_eq!((trace.tasks.len(), trace.operators.len()), (4, 2));
        assert_eq!(trace.losses.count(), [2]);
        assert_eq!(trace.run.layer_times, TimeBasis::Unplaced);
    }
}
