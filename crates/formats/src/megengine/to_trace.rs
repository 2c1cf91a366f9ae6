//! From the native tables to a [`Trace`].

use std::collections::HashMap;

use opscope_trace::{
    ApiCall, ApiCallId, ApiLevel, Bytes, ClockRelation, Counter, CounterId, DataType, Device, DeviceId,
    DeviceKind, ExecutionUnit, Iteration, IterationId, LossKind, Nanoseconds, Operator, OperatorId, Process,
    ProfileFormat, RunFacts, Sample, Span, Stream, StreamId, StringId, Task, TaskWait, Tensor, TensorId,
    Thread, ThreadId, Trace,
};

use super::comp_node::CompNode;
use super::data_type::{data_type, elements};
use super::memory::changes;
use super::profile::Operator as NativeOperator;
use crate::reading::Stop;

use super::{Footprint, GraphId, Interval, Profile, Shape, Var};

impl Profile {
    /// The same in the form that opscope analyses.
    ///
    /// - A task is an operator's work on one comp node, waiting for its inputs included; how long
    ///   it waited stands in `wait`.
    /// - A call is its dispatch on one thread. Host and device have zeros of their own, so that
    ///   calls and tasks can't be laid over one another; tasks name the call that launched them.
    /// - The file holds the last run only: one iteration, from the first task to the last.
    /// - MegEngine counts the bytes of inputs and outputs together. They are parted where the
    ///   element types are known, or where one size of elements explains the sum; otherwise all
    ///   count as read.
    /// - A counter for each device tells the memory in use as the operators run.
    pub fn to_trace(&self) -> Trace {
        self.to_trace_until(&Stop::default())
    }

    /// As [`Profile::to_trace`], cut short where `stop` is wanted.
    pub fn to_trace_until(&self, stop: &Stop) -> Trace {
        let mut projection = Projection::new(self, stop);
        projection.operators();
        projection.calls();
        projection.tasks();
        projection.iteration();
        projection.memory();
        projection.losses();
        projection.trace
    }
}

struct Projection<'a> {
    profile: &'a Profile,
    stop: &'a Stop,
    trace: Trace,
    /// The names of vars, made unique, by position.
    var_names: Vec<StringId>,
    /// The operator's first call.
    launches: HashMap<GraphId, ApiCallId>,
    streams: HashMap<StringId, (StreamId, DeviceKind)>,
    devices: HashMap<String, DeviceId>,
    iteration: IterationId,
}

impl<'a> Projection<'a> {
    fn new(profile: &'a Profile, stop: &'a Stop) -> Self {
        let mut trace = Trace::new();
        trace.run = RunFacts {
            format: Some(ProfileFormat::MegEngine),
            clocks: ClockRelation::Apart,
            waiting: TaskWait::Within,
            ..RunFacts::default()
        };
        let iteration = trace.iterations.push(Iteration {
            model: None,
            number: 1,
            warm_up: false,
            start: Nanoseconds::ZERO,
            duration: Nanoseconds::ZERO,
        });
        Self {
            profile,
            stop,
            trace,
            var_names: Vec::new(),
            launches: HashMap::new(),
            streams: HashMap::new(),
            devices: HashMap::new(),
            iteration,
        }
    }

    /// Operators with their inputs and outputs.
    fn operators(&mut self) {
        let profile = self.profile;
        self.var_names = self.unique_var_names();
        let positions: HashMap<GraphId, u32> =
            profile.order.iter().enumerate().map(|(at, id)| (*id, at as u32)).collect();
        self.trace.operators.reserve(profile.operators.len());
        for (id, operator) in self.stop.within(profile.operators.iter()) {
            let footprint = profile.footprints.get(id);
            let inputs = profile.ids.get(operator.inputs);
            let outputs = self.solid_outputs(operator);
            let (first_input, input_count) =
                self.tensors(inputs, footprint.and_then(|known| known.in_shapes));
            let (first_output, output_count) =
                self.tensors(&outputs, footprint.and_then(|known| known.out_shapes));
            let name = match operator.name.is_none() {
                true => format!("operator {}", id.text(&profile.symbols)).into(),
                false => profile.string(operator.name),
            };
            let name = self.trace.strings.intern(&name);
            let op_type = self.trace.strings.intern(profile.symbols.get(operator.op_type));
            let (read, written) = footprint.map_or((None, None), |known| self.bytes(known, &outputs));
            let row = Operator {
                position: positions.get(&id).copied(),
                first_input,
                input_count,
                first_output,
                output_count,
                attributes: footprint.and_then(|known| self.attributes(known)),
                flops: footprint.and_then(|known| known.computation).and_then(count),
                bytes_read: read,
                bytes_written: written,
                ..Operator::new(name, op_type)
            };
            self.trace.operators.push(row);
        }
    }

    /// The name of each var; one that came before gets the var's id as well, because names tie the
    /// output of one operator to the input of the next.
    fn unique_var_names(&mut self) -> Vec<StringId> {
        let profile = self.profile;
        let mut taken = HashMap::new();
        let names = profile.vars.iter().map(|(id, var)| {
            let name = self.trace.strings.intern(&profile.string(var.name));
            if *taken.entry(name).or_insert(id) == id {
                return name;
            }
            let longer = format!("{}#{}", self.trace.strings.get(name), id.text(&profile.symbols));
            self.trace.strings.intern(&longer)
        });
        names.collect()
    }

    /// The outputs that are more than scratch memory, such as a workspace; footprints leave out the
    /// others as well.
    fn solid_outputs(&self, operator: &NativeOperator) -> Vec<GraphId> {
        let profile = self.profile;
        let volatile =
            |id: &GraphId| profile.vars.get(*id).is_some_and(|var| profile.has_flag(var, "VOLATILE_CONTENT"));
        profile.ids.get(operator.outputs).iter().copied().filter(|id| !volatile(id)).collect()
    }

    /// Adds inputs or outputs with their shapes; returns the first and how many there are.
    fn tensors(&mut self, vars: &[GraphId], shapes: Option<Span<Option<Shape>>>) -> (Option<TensorId>, u32) {
        let profile = self.profile;
        let mut shapes = shapes.map(|span| profile.shapes.get(span)).unwrap_or_default().iter();
        self.trace.tensors.push_all(vars.iter().map(|id| {
            let position = profile.vars.position(*id);
            let var = position.map(|at| profile.vars.at(at).1);
            let shape = shapes.next().copied().flatten().map(|shape| profile.dimensions.get(shape));
            let shape = shape.or_else(|| Some(profile.plan_dimensions.get(var?.mem_plan?.shape)));
            let dimensions = shape.map(|shape| self.trace.dimensions.push(shape.iter().copied()));
            Tensor {
                name: position.and_then(|at| self.var_names.get(at).copied()),
                data_type: var.map_or(DataType::Unknown, |var| var_type(profile, var)),
                dimensions,
                layout: None,
                parameter: var.is_some_and(|var| profile.has_flag(var, "PERSISTENT_DEVICE_VALUE")),
            }
        }))
    }

    /// The operator's parameters as JSON, where it has any.
    fn attributes(&mut self, footprint: &Footprint) -> Option<StringId> {
        let json = self.profile.json(footprint.param);
        let empty = footprint.param.is_none() || json.iter().all(|byte| b"{}[] ".contains(byte));
        (!empty).then(|| self.trace.strings.intern(&String::from_utf8_lossy(json)))
    }

    /// Bytes read and bytes written.
    fn bytes(&self, footprint: &Footprint, outputs: &[GraphId]) -> (Option<u64>, Option<u64>) {
        let Some(total) = footprint.memory.and_then(count) else { return (None, None) };
        let written = self.typed_bytes(footprint, outputs).or_else(|| self.even_bytes(footprint, total));
        match written.filter(|written| *written <= total) {
            Some(written) => (Some(total - written), Some(written)),
            None => (Some(total), None),
        }
    }

    /// Bytes of the outputs, if all their types are known.
    fn typed_bytes(&self, footprint: &Footprint, outputs: &[GraphId]) -> Option<u64> {
        let profile = self.profile;
        let shapes = profile.shapes.get(footprint.out_shapes?);
        if outputs.len() != shapes.len() {
            return None;
        }
        let mut sizes = outputs.iter().zip(shapes).map(|(id, shape)| {
            let data_type = var_type(profile, profile.vars.get(*id)?);
            data_type.bytes(elements(profile.dimensions.get((*shape)?))?)
        });
        sizes.try_fold(0, |sum: u64, size| sum.checked_add(size?))
    }

    /// Bytes of the outputs, if the sum is what elements of one usual size make.
    fn even_bytes(&self, footprint: &Footprint, total: u64) -> Option<u64> {
        let count = |shapes: Option<Span<Option<Shape>>>| -> Option<u64> {
            let mut shapes = self.profile.shapes.get(shapes?).iter();
            shapes.try_fold(0, |sum: u64, shape| {
                sum.checked_add(elements(self.profile.dimensions.get((*shape)?))?)
            })
        };
        let (read, written) = (count(footprint.in_shapes)?, count(footprint.out_shapes)?);
        let all = read.checked_add(written).filter(|all| *all > 0)?;
        let size = total / all;
        (total.is_multiple_of(all) && [1, 2, 4, 8].contains(&size)).then(|| written * size)
    }

    /// Dispatches on the host's threads.
    fn calls(&mut self) {
        let profile = self.profile;
        if profile.host.is_empty() {
            return;
        }
        let program = self.trace.strings.intern("MegEngine");
        let process = self.trace.processes.push(Process { pid: 0, name: program });
        let mut threads: HashMap<StringId, ThreadId> = HashMap::new();
        for (id, span) in self.stop.within(profile.host.iter()) {
            let Some(name) = self.operator(id).map(|operator| self.trace.operators.get(operator).name) else {
                self.trace.count_loss(LossKind::HostTimesOfNoOperator, 1, "profiler.host");
                continue;
            };
            for interval in profile.intervals.get(*span) {
                let Some((start, duration)) = self.extent(interval, "profiler.host") else { continue };
                let thread = *threads.entry(interval.place).or_insert_with(|| {
                    let text = profile.symbols.get(interval.place);
                    let name = self.trace.strings.intern(text);
                    let number = self.trace.threads.len() as u64 + 1;
                    let tid = thread_number(text).unwrap_or(number);
                    self.trace.threads.push(Thread { process, tid, name })
                });
                let call = self.trace.api_calls.push(ApiCall {
                    thread: Some(thread),
                    level: ApiLevel::Node,
                    name,
                    start,
                    duration,
                    iteration: Some(self.iteration),
                });
                self.launches.entry(id).or_insert(call);
            }
        }
    }

    /// Executions on the comp nodes.
    fn tasks(&mut self) {
        let profile = self.profile;
        for (id, span) in self.stop.within(profile.device.iter()) {
            let Some(operator) = self.operator(id) else {
                let kind = LossKind::DeviceTimesOfNoOperator;
                self.trace.count_loss(kind, 1, "profiler.device");
                continue;
            };
            let row = self.trace.operators.get(operator);
            let is_copy = self.trace.strings.get(row.op_type) == "Copy";
            for interval in profile.intervals.get(*span) {
                let Some((start, duration)) = self.extent(interval, "profiler.device") else { continue };
                let (stream, kind) = self.stream(interval.place);
                let unit = match kind {
                    _ if is_copy => ExecutionUnit::MemoryCopy,
                    DeviceKind::Cpu => ExecutionUnit::Cpu,
                    DeviceKind::Gpu => ExecutionUnit::Gpu,
                    DeviceKind::Npu => ExecutionUnit::AiCore,
                    DeviceKind::Other => ExecutionUnit::Other,
                };
                self.trace.tasks.push(Task {
                    operator: Some(operator),
                    stream: Some(stream),
                    unit,
                    iteration: Some(self.iteration),
                    launched_by: self.launches.get(&id).copied(),
                    wait: Some(Nanoseconds::from_seconds(interval.kernel - interval.start)),
                    ..Task::new(row.name, start, duration)
                });
            }
        }
    }

    fn operator(&self, id: GraphId) -> Option<OperatorId> {
        self.profile.operators.position(id).map(OperatorId::from_index)
    }

    fn extent(&mut self, interval: &Interval, section: &str) -> Option<(Nanoseconds, Nanoseconds)> {
        if !(interval.start.is_finite() && interval.kernel.is_finite() && interval.end.is_finite()) {
            self.trace.count_loss(LossKind::TimeNotFinite, 1, section);
            return None;
        }
        // Both ends are rounded, so that what follows at once still does.
        let start = Nanoseconds::from_seconds(interval.start);
        Some((start, Nanoseconds::from_seconds(interval.end) - start))
    }

    fn stream(&mut self, place: StringId) -> (StreamId, DeviceKind) {
        if let Some(known) = self.streams.get(&place) {
            return *known;
        }
        let text = self.profile.symbols.get(place);
        let node = CompNode::parse(text);
        let device = self.device(&node);
        let name = self.trace.strings.intern(text);
        let stream = self.trace.streams.push(Stream { device, number: node.stream, thread: None, name });
        self.streams.insert(place, (stream, node.kind));
        (stream, node.kind)
    }

    fn device(&mut self, node: &CompNode) -> DeviceId {
        if let Some(known) = self.devices.get(node.device) {
            return *known;
        }
        let name = self.trace.strings.intern(node.device);
        let device = self.trace.devices.push(Device { number: node.number, kind: node.kind, name });
        self.devices.insert(node.device.to_owned(), device);
        device
    }

    /// The extent of the one run: that of its tasks, or of its calls where there is no task.
    fn iteration(&mut self) {
        let trace = &mut self.trace;
        let (starts, durations) = match trace.tasks.is_empty() {
            false => (trace.tasks.start(), trace.tasks.duration()),
            true => (trace.api_calls.start(), trace.api_calls.duration()),
        };
        let start = starts.iter().min().copied().unwrap_or_default();
        let ends = starts.iter().zip(durations).map(|(start, duration)| *start + *duration);
        let end = ends.max().unwrap_or(start);
        let row = trace.iterations.get(self.iteration);
        trace.iterations.set(self.iteration, Iteration { start, duration: end - start, ..row });
    }

    /// The memory in use over time, and who used most of it at the peak.
    fn memory(&mut self) {
        let profile = self.profile;
        let allocations = profile.allocations();
        if allocations.is_empty() {
            return;
        }
        let mut counters: HashMap<DeviceId, (CounterId, f64)> = HashMap::new();
        let mut samples: Vec<Sample> = Vec::new();
        for change in self.stop.within(changes(&allocations)) {
            let owner = profile.vars.get(allocations[change.allocation].owner);
            let Some(place) = owner.map(|var| var.comp_node) else { continue };
            let (stream, _) = self.stream(place);
            let device = self.trace.streams.get(stream).device;
            let (counter, bytes) = counters.entry(device).or_insert_with(|| {
                let name = self.trace.strings.intern("memory in use");
                let unit = self.trace.strings.intern("B");
                (self.trace.counters.push(Counter { name, unit, device: Some(device) }), 0.0)
            });
            *bytes += change.bytes as f64;
            let Some(time) = self.step_time(change.step) else { continue };
            samples.push(Sample { counter: *counter, time, value: *bytes });
        }
        samples.sort_by_key(|sample| sample.time);
        for sample in samples {
            self.trace.samples.push(sample);
        }
        if let Some(peak) = profile.peak_of(&allocations) {
            let name =
                |id| profile.operators.get(id).map(|known| profile.string(known.name)).unwrap_or_default();
            let operator = name(peak.operator).into_owned();
            let owner = |(id, bytes): &(GraphId, u64)| {
                let name = profile.vars.get(*id).map(|var| profile.string(var.name)).unwrap_or_default();
                format!("{name} ({bytes} B)")
            };
            let owners: Vec<String> = peak.owners.iter().take(10).map(owner).collect();
            let run = &mut self.trace.run;
            run.planned_peak = Some(Bytes(peak.bytes));
            run.planned_peak_operator = Some(operator).filter(|name| !name.is_empty());
            run.planned_peak_owners = Some(owners.join(", "));
        }
    }

    /// When a step began; the step behind the last is the end of the run.
    fn step_time(&self, step: usize) -> Option<Nanoseconds> {
        let Some(operator) = self.profile.order.get(step) else {
            let run = self.trace.iterations.get(self.iteration);
            return Some(run.start + run.duration);
        };
        let starts = self.profile.device_times(*operator).iter().map(|interval| interval.start);
        starts.filter(|start| start.is_finite()).reduce(f64::min).map(Nanoseconds::from_seconds)
    }

    /// Counts the losses of the file itself, and ids that lead nowhere.
    fn losses(&mut self) {
        let profile = self.profile;
        if let Some(damage) = &profile.damage {
            let kind = LossKind::DamagedProfile;
            self.trace.count_loss(kind, 1, &damage.to_string());
        }
        self.trace.count_losses(&profile.losses);
        let unknown = |id: &GraphId| profile.operators.position(*id).is_none();
        let steps = profile.order.iter().filter(|id| unknown(id)).count();
        let kind = LossKind::StepOfNoOperator;
        self.trace.count_loss(kind, steps as u64, "graph_exec.comp_seq");
        let footprints = profile.footprints.iter().filter(|(id, _)| unknown(id)).count();
        let kind = LossKind::FootprintOfNoOperator;
        self.trace.count_loss(kind, footprints as u64, "profiler.opr_footprint");
        let ends = profile.operators.iter().flat_map(|(_, operator)| [operator.inputs, operator.outputs]);
        let ids = ends.flat_map(|span| profile.ids.get(span));
        let vars = ids.filter(|id| profile.vars.position(**id).is_none()).count();
        let kind = LossKind::UnknownVar;
        self.trace.count_loss(kind, vars as u64, "graph_exec.operator");
    }
}

fn var_type(profile: &Profile, var: &Var) -> DataType {
    var.mem_plan.map_or(DataType::Unknown, |plan| data_type(profile.symbols.get(plan.data_type)))
}

/// A count that the file has as a number; what is negative or fractional is none.
fn count(number: f64) -> Option<u64> {
    (number >= 0.0 && number < u64::MAX as f64 && number == number.trunc()).then_some(number as u64)
}

/// The number in `unnamed_thread(140012)`.
fn thread_number(name: &str) -> Option<u64> {
    name.strip_prefix("unnamed_thread(")?.strip_suffix(')')?.parse().ok()
}
