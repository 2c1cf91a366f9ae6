//! Projects a profile into the trace that all formats share.
//!
//! A trace's zero is the begin of the collection. An operator is a row for each model, name and
//! combination of shapes; the tasks that executed it point to it.

mod collectives;
mod dpu;
mod links;
mod measured;
mod samples;

use opscope_columns::Column;
use opscope_formats::reading::Stop;
use opscope_trace::{
    ApiCall, ApiCallId, ApiLevel, Device, DeviceId, DeviceKind, ExecutionUnit, Iteration, IterationId, Model,
    ModelId, Nanoseconds, NumberMap, Operator, OperatorId, Process, ProcessId, ProfileFormat, Range,
    RangeKind, RunFacts, Stream, StreamId, StringId, Task, Tensor, TensorId, Thread, ThreadId, Trace,
};

use crate::vocabulary;
use crate::waits::Waits;
use measured::Measured;
use opscope_cann_raw::additional::Tensor as RawTensor;
use opscope_cann_raw::host::level;

use crate::facts::calls::call_name;
use crate::facts::marks::executed_marks;
use crate::facts::os_calls::os_calls;
use crate::facts::steps::{Step, steps};
use crate::facts::tracked_copies;
use crate::facts::view::{TaskRef, View};
use crate::join::{HostTask, Joined, OpSource};
use crate::kinds::level_name;
use crate::read::operators::with_bytes;
use crate::tables::NO_MODEL;
use crate::text::tensor_names;

/// Projects a joined profile into a trace.
pub fn to_trace(joined: &Joined) -> Trace {
    to_trace_until(joined, &Stop::default())
}

/// As [`to_trace`], cut short where `stop` is wanted.
pub fn to_trace_until(joined: &Joined, stop: &Stop) -> Trace {
    let view = View::whole(joined);
    let mut projection = Projection::new(&view, stop);
    projection.run_facts();
    projection.iterations();
    projection.calls();
    projection.tasks();
    projection.collectives();
    projection.copies();
    projection.dpu();
    projection.marks();
    projection.ranges();
    if !stop.is_wanted() {
        projection.samples();
    }
    for loss in joined.all_losses().rows().iter().filter(|loss| loss.kind.is_loss()) {
        projection.trace.count_loss(loss.kind, loss.count, &loss.place);
    }
    crate::units::to_smallest(&mut projection.trace);
    projection.trace.drop_impossible("the raw records");
    projection.trace
}

/// A remark on how a profile was decoded, for whoever reads results.
pub fn note(joined: &Joined) -> Option<&'static str> {
    joined.data.host.legacy.then_some("decoded with the 2022 layout (CANN 5.x)")
}

struct Projection<'a> {
    view: &'a View<'a>,
    stop: &'a Stop,
    trace: Trace,
    /// The wall-clock time of the trace's zero.
    zero: i64,
    process: ProcessId,
    threads: NumberMap<u32, ThreadId>,
    /// By number, and whether it is that of a captured graph.
    models: NumberMap<(u64, bool), ModelId>,
    devices: Vec<DeviceId>,
    /// By place of the device in the view, and number.
    streams: NumberMap<(u32, u16), StreamId>,
    /// By model, name, and tensors with the type.
    operators: NumberMap<((u64, bool), u64, u64), OperatorId>,
    /// The ids of names by their hash, so that each text is looked up once.
    texts: NumberMap<u64, StringId>,
    /// For each device its iterations: begin and end in device ticks, by their begin.
    iterations: Vec<Vec<(u64, u64, IterationId)>>,
    /// Iterations by model and number.
    numbered: NumberMap<(u64, u64), IterationId>,
    first_call: usize,
}

impl<'a> Projection<'a> {
    fn new(view: &'a View<'a>, stop: &'a Stop) -> Self {
        let data = &view.joined.data;
        let metadata = data.profile.metadata();
        let mut trace = Trace::new();
        let zero = metadata.and_then(|metadata| metadata.session.begin).unwrap_or(0);
        trace.clock.unix_zero = metadata.and_then(|metadata| metadata.session.begin);
        trace.clock.domain = Some(trace.strings.intern("CLOCK_MONOTONIC_RAW"));
        let name = metadata.map_or("", |metadata| metadata.info.process_name.as_str());
        let name = trace.strings.intern(name);
        let process = trace.processes.push(Process { pid: data.pid(), name });
        let mut devices = Vec::with_capacity(view.devices.len());
        for device in &view.devices {
            let name = trace.strings.intern(device.device.metadata.chip().product());
            devices.push(trace.devices.push(Device {
                number: device.device.id,
                kind: DeviceKind::Npu,
                name,
            }));
        }
        Self {
            view,
            stop,
            trace,
            zero,
            process,
            threads: NumberMap::default(),
            models: NumberMap::default(),
            devices,
            streams: NumberMap::default(),
            operators: NumberMap::default(),
            texts: NumberMap::default(),
            iterations: Vec::new(),
            numbered: NumberMap::default(),
            first_call: 0,
        }
    }

    fn run_facts(&mut self) {
        let Some(metadata) = self.view.joined.data.profile.metadata() else { return };
        let info = &metadata.info;
        let is_legacy = self.view.joined.data.host.legacy;
        let format = if is_legacy { ProfileFormat::Cann2022 } else { ProfileFormat::Cann };
        // A program that opscope collected from has a chip only where devices were recorded.
        let is_host_alone = info.collector.starts_with("opscope") && self.view.devices.is_empty();
        let chip = if is_host_alone { "" } else { metadata.chip().product() };
        let metrics = &self.view.devices.first().map_or(metadata, |d| &d.device.metadata).sample.core_metrics;
        let device = self.view.devices.first().map_or(metadata, |device| &device.device.metadata);
        let number = |count: u32| (count > 0).then_some(count);
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        self.trace.run = RunFacts {
            ai_cores: number(device.info.cores),
            vector_cores: number(device.info.vector_cores),
            format: Some(format),
            profile: text(&self.view.joined.data.profile.name()),
            chip: text(chip),
            host: text(&info.host_name),
            cann: text(&info.cann_version),
            counters: text(metrics),
            note: note(self.view.joined).map(str::to_owned),
            ..RunFacts::default()
        };
    }

    /// A wall-clock time as a time of the trace.
    fn time(&self, wall: i64) -> Nanoseconds {
        Nanoseconds(wall.saturating_sub(self.zero))
    }

    fn text(&mut self, hash: u64) -> StringId {
        let (view, strings) = (self.view, &mut self.trace.strings);
        *self.texts.entry(hash).or_insert_with(|| strings.intern(view.text(hash)))
    }

    fn thread(&mut self, tid: u32) -> ThreadId {
        if let Some(&thread) = self.threads.get(&tid) {
            return thread;
        }
        let name = self.trace.strings.intern(&format!("Thread {tid}"));
        let thread = self.trace.threads.push(Thread { process: self.process, tid: u64::from(tid), name });
        self.threads.insert(tid, thread);
        thread
    }

    /// A model; the numbers of captured graphs are others than those of loaded models.
    fn model(&mut self, number: u64, captured: bool) -> Option<ModelId> {
        if number == NO_MODEL {
            return None;
        }
        if let Some(&model) = self.models.get(&(number, captured)) {
            return Some(model);
        }
        let mut loaded = self.view.joined.data.host.models.rows();
        let named = loaded.find(|model| !captured && u64::from(model.model) == number);
        let name = match named {
            Some(model) => self.text(model.name),
            None => self.trace.strings.intern(&format!("model {number}")),
        };
        let model = self.trace.models.push(Model { number, name });
        self.models.insert((number, captured), model);
        Some(model)
    }

    fn iterations(&mut self) {
        let view = self.view;
        let mut all = steps(view);
        all.sort_by_key(|step| view.devices[step.device].time(step.iteration.start));
        self.iterations = vec![Vec::new(); view.devices.len()];
        for Step { device, number, iteration, .. } in all {
            let [start, end] = [iteration.start, iteration.end].map(|ticks| view.devices[device].time(ticks));
            let model = self.model(iteration.model, false);
            let id = self.trace.iterations.push(Iteration {
                model,
                number: u32::try_from(number).unwrap_or(u32::MAX),
                warm_up: false,
                start: self.time(start),
                duration: Nanoseconds(end.saturating_sub(start)),
            });
            self.iterations[device].push((iteration.start, iteration.end, id));
            self.numbered.entry((iteration.model, iteration.index)).or_insert(id);
        }
    }

    fn calls(&mut self) {
        let view = self.view;
        self.first_call = self.trace.api_calls.len();
        let api = &view.joined.data.host.api;
        self.trace.api_calls.reserve(api.len());
        for call in self.stop.within(api.rows()) {
            let start = view.host_time(call.begin);
            let name = self.trace.strings.intern(call_name(view, &call));
            let iteration = match call.level {
                level::MODEL if call.from_events => {
                    self.numbered.get(&(call.item, u64::from(call.request))).copied()
                }
                _ => None,
            };
            let thread = Some(self.thread(call.thread));
            self.trace.api_calls.push(ApiCall {
                thread,
                level: vocabulary::level(level_name(call.level)),
                name,
                start: self.time(start),
                duration: Nanoseconds(view.host_time(call.end).saturating_sub(start)),
                iteration,
            });
        }
        for run in self.stop.within(os_calls(view)) {
            let name = self.trace.strings.intern(run.name);
            let thread = Some(self.thread(run.call.thread));
            self.trace.api_calls.push(ApiCall {
                thread,
                level: ApiLevel::System,
                name,
                start: self.time(run.start),
                duration: Nanoseconds(run.end.saturating_sub(run.start)),
                iteration: None,
            });
        }
    }

    fn tasks(&mut self) {
        let view = self.view;
        let tasks = view.tasks();
        self.trace.tasks.reserve(tasks.len());
        let first = self.trace.tasks.len();
        let mut executed = Column::new();
        let mut waits = Waits::default();
        for &task in self.stop.within(&tasks) {
            let device = view.device(task);
            let number = task.task as usize;
            let record = device.device.tables.tasks.row(number);
            let host = view.host_task(task);
            if device.is_doubled(number) {
                continue;
            }
            let stream = self.stream(task.device, record.stream);
            let (operator, name, unit) = self.operator(task, host.as_ref());
            let (start, end) = (self.time(device.start(number)), self.time(device.end(number)));
            let call = host.as_ref().and_then(|host| host.call);
            let wait = operator.and_then(|_| waits.next(self.devices[task.device as usize], start, end));
            let row = Task {
                wait,
                operator,
                number: Some(record.task),
                stream: Some(stream),
                unit,
                iteration: self.iteration_at(task.device as usize, record.start),
                launched_by: call.map(|call| ApiCallId::from_index(self.first_call + call.index())),
                ..Task::new(name, start, end - start)
            };
            self.trace.tasks.push(row);
            executed.push(task);
        }
        Measured::new(view, &mut self.trace).enter(&mut self.trace, first, view, &executed, self.stop);
    }

    /// Copies of which the device tracked the states alone.
    fn copies(&mut self) {
        let view = self.view;
        for (number, device) in (0..).zip(&view.devices) {
            for copy in self.stop.within(&device.joined.copies) {
                let name = self.trace.strings.intern(tracked_copies::NAME);
                let (start, end) = (device.time(copy.started), device.time(copy.ended));
                let row = Task {
                    number: Some(u32::from(copy.task)),
                    stream: Some(self.stream(number, copy.stream)),
                    unit: ExecutionUnit::MemoryCopy,
                    iteration: self.iteration_at(number as usize, copy.started),
                    ..Task::new(name, self.time(start), Nanoseconds(end.saturating_sub(start)))
                };
                self.trace.tasks.push(row);
            }
        }
    }

    /// The devices' sides of marks, which streams execute like tasks.
    fn marks(&mut self) {
        for (mark, message) in self.stop.within(executed_marks(self.view)) {
            let name = self.trace.strings.intern(message);
            let row = Task {
                number: Some(mark.task),
                stream: Some(self.stream(mark.device as u32, mark.stream)),
                unit: ExecutionUnit::Control,
                iteration: self.iteration_at(mark.device, mark.ticks),
                ..Task::new(name, self.time(mark.start), Nanoseconds(mark.end.saturating_sub(mark.start)))
            };
            self.trace.tasks.push(row);
        }
    }

    /// A stream of the device of this place in the view.
    fn stream(&mut self, device: u32, number: u16) -> StreamId {
        let Self { streams, trace, devices, .. } = self;
        *streams.entry((device, number)).or_insert_with(|| {
            let name = trace.strings.intern(&format!("Stream {number}"));
            let device = devices[device as usize];
            trace.streams.push(Stream { device, number: u64::from(number), thread: None, name })
        })
    }

    fn iteration_at(&self, device: usize, ticks: u64) -> Option<IterationId> {
        let iterations = self.iterations.get(device)?;
        let after = iterations.partition_point(|(start, ..)| *start <= ticks);
        let (_, end, id) = iterations.get(after.checked_sub(1)?)?;
        (ticks <= *end).then_some(*id)
    }

    /// A task's operator, its name, and the unit that executes it.
    fn operator(
        &mut self,
        task: TaskRef,
        host: Option<&HostTask>,
    ) -> (Option<OperatorId>, StringId, ExecutionUnit) {
        let view = self.view;
        let Some((host, op)) = host.and_then(|host| Some((host, view.op(host)?))) else {
            let kind = view.task_type(task);
            let name = match host.filter(|host| host.kernel != 0 && host.op != OpSource::None) {
                Some(host) => self.text(host.kernel),
                None => self.trace.strings.intern(kind),
            };
            return (None, name, vocabulary::unit(kind));
        };
        let name = self.text(host.name);
        let tensors = host.tensors.map_or(0, |set| set.index() as u64 + 1);
        let tensors_and_type = tensors << 32 | u64::from(op_type_of(view, host) as u32);
        let key = ((host.model, host.captured), host.name, tensors_and_type);
        let unit = vocabulary::unit(vocabulary::known(op.task_type).unwrap_or_else(|| view.task_type(task)));
        if let Some(&operator) = self.operators.get(&key) {
            return (Some(operator), name, unit);
        }
        let op_type = vocabulary::known(op.op_type).map_or(name, |word| self.trace.strings.intern(word));
        let model = self.model(host.model, host.captured);
        let sets = &view.joined.data.host.tensor_sets;
        let tensors = host.tensors.map_or(&[][..], |set| sets.get(set));
        let (first_input, input_count) = self.tensors(tensors.iter().filter(|tensor| tensor.direction == 0));
        let (first_output, output_count) =
            self.tensors(tensors.iter().filter(|tensor| tensor.direction == 1));
        let operator = Operator {
            model,
            position: u32::try_from(self.trace.operators.len()).ok(),
            first_input,
            input_count,
            first_output,
            output_count,
            dynamic: vocabulary::is_dynamic(op.state),
            ..Operator::new(name, op_type)
        };
        let operator = with_bytes(&self.trace, operator);
        let operator = self.trace.operators.push(operator);
        self.operators.insert(key, operator);
        (Some(operator), name, unit)
    }

    fn tensors<'t>(&mut self, tensors: impl Iterator<Item = &'t RawTensor>) -> (Option<TensorId>, u32) {
        self.trace.tensors.push_all(tensors.map(|raw| {
            let shape = raw.shape.iter().take_while(|dimension| **dimension != 0).map(|d| i64::from(*d));
            let dimensions = Some(self.trace.dimensions.push(shape));
            let layout = tensor_names::format(raw.format);
            let layout = vocabulary::layout(&layout).map(|layout| self.trace.strings.intern(layout));
            let data_type = vocabulary::data_type(&tensor_names::data_type(raw.data_type));
            Tensor { name: None, data_type, dimensions, layout, parameter: false }
        }))
    }

    fn ranges(&mut self) {
        let view = self.view;
        let host = &view.joined.data.host;
        for tx in self.stop.within(host.tx.rows()) {
            let kind = match tx.event_type {
                1 => RangeKind::PushPop,
                2 => RangeKind::StartStop,
                _ => RangeKind::Mark,
            };
            let message = host.messages.get(tx.message as usize).map_or("", String::as_str);
            let name = self.trace.strings.intern(message);
            let domain = if tx.mstx { Some(self.text(tx.domain)) } else { None };
            let (start, end) = (view.host_time(tx.start), view.host_time(tx.end));
            let thread = Some(self.thread(tx.thread));
            let duration = Nanoseconds(end.saturating_sub(start));
            self.trace.ranges.push(Range { thread, kind, name, domain, start: self.time(start), duration });
        }
    }
}

/// A number that differs for operators of different types.
fn op_type_of(view: &View<'_>, host: &HostTask) -> u64 {
    host.node.map_or(0, |node| view.joined.data.host.nodes.op_type()[node.index()])
}
