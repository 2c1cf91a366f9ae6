//! From the runtime's own tables to a trace.

use std::collections::HashMap;

use opscope_trace::{
    ApiCall, ApiCallId, ApiLevel, Counter, CounterId, DeviceId, EngineName, ExecutionUnit, Iteration,
    IterationId, LossKind, Model, ModelId, Operator, OperatorId, Reads, Sample, StringId, Task, TensorId,
    Trace,
};

use super::places::{Places, unit_of};
use super::profile::{DeviceEvent, DeviceEventKind, NodeEvent, Profile, SessionEventKind};
use super::sessions::Sessions;
use super::shapes::add_tensors;
use crate::reading::Stop;

/// How many events of its own the runtime records in one session by default.
const MOST_EVENTS: usize = 1_000_000;

/// How many unknown categories are told by name.
const NAMED_CATEGORIES: usize = 20;

impl Profile {
    /// Projects the profile into a trace.
    ///
    /// - Every session is a model, and every run an iteration.
    /// - The work of sessions becomes calls: loading at the level of models, initialising and running
    ///   at that of the application, executing a graph at that of the runtime.
    /// - Every execution provider is a device, and every thread that executed nodes on it a stream.
    /// - Nodes become operators and their executions tasks. Where the provider recorded what its
    ///   device did, the node's event is only the launch: it becomes a call, and the kernels tasks.
    /// - The state of the allocator becomes counters.
    pub fn to_trace(&self) -> Trace {
        self.to_trace_until(&Stop::default())
    }

    /// As [`Profile::to_trace`], cut short where `stop` is wanted.
    pub fn to_trace_until(&self, stop: &Stop) -> Trace {
        let mut projection = Projection::new(self, stop);
        projection.add_sessions();
        projection.add_nodes();
        projection.add_device_events();
        projection.add_memory();
        projection.add_losses();
        projection.trace
    }
}

struct Projection<'p> {
    profile: &'p Profile,
    stop: &'p Stop,
    sessions: Sessions,
    trace: Trace,
    models: Vec<ModelId>,
    /// The iteration of every run among the session events.
    iterations: HashMap<usize, IterationId>,
    places: Places,
    operators: HashMap<OperatorKey, OperatorId>,
    /// The operator of every node.
    operator_of_node: Vec<OperatorId>,
    /// The call of every node that only launched something.
    launch_of_node: HashMap<usize, ApiCallId>,
    /// How many lists of shapes could not be read.
    unread_shapes: u64,
}

/// Executions that agree in all of this are executions of one operator.
#[derive(PartialEq, Eq, Hash)]
struct OperatorKey {
    session: usize,
    node_index: Option<u32>,
    texts: [StringId; 3],
    shapes: [Option<StringId>; 2],
}

impl<'p> Projection<'p> {
    fn new(profile: &'p Profile, stop: &'p Stop) -> Self {
        let mut trace = Trace::new();
        trace.run.engine = Some(EngineName::OnnxRuntime);
        Self {
            profile,
            stop,
            sessions: Sessions::new(profile),
            trace,
            models: Vec::new(),
            iterations: HashMap::new(),
            places: Places::default(),
            operators: HashMap::new(),
            operator_of_node: Vec::with_capacity(profile.nodes.len()),
            launch_of_node: HashMap::new(),
            unread_shapes: 0,
        }
    }

    fn text(&mut self, id: StringId) -> StringId {
        self.trace.strings.intern(self.profile.strings.get(id))
    }

    fn add_sessions(&mut self) {
        for (session, pool) in self.sessions.pool_numbers.iter().enumerate() {
            let number = pool.unwrap_or(session as u64 + 1);
            let name = self.trace.strings.intern(&format!("session {number}"));
            self.models.push(self.trace.models.push(Model { number, name }));
        }
        self.add_iterations();
        for (index, event) in self.stop.within(&self.profile.sessions).enumerate() {
            let level = match event.kind {
                SessionEventKind::ModelLoading => ApiLevel::Model,
                SessionEventKind::Initialization | SessionEventKind::Run => ApiLevel::Application,
                SessionEventKind::Execution => ApiLevel::Runtime,
                SessionEventKind::Other => ApiLevel::Other,
            };
            let call = ApiCall {
                thread: self.places.thread(&mut self.trace, event.process, event.thread),
                level,
                name: self.text(event.name),
                start: event.start,
                duration: event.duration,
                iteration: self.iteration_of_run(self.sessions.run_of_event[index]),
            };
            self.trace.api_calls.push(call);
        }
    }

    /// Runs in the order of their start, numbered from 1 within their session.
    fn add_iterations(&mut self) {
        let events = &self.profile.sessions;
        let mut runs: Vec<usize> =
            (0..events.len()).filter(|&index| events[index].kind == SessionEventKind::Run).collect();
        runs.sort_by_key(|&run| events[run].start);
        let mut numbers = vec![1; self.models.len()];
        for run in runs {
            let session = self.sessions.of_event[run];
            let iteration = Iteration {
                model: Some(self.models[session]),
                number: numbers[session],
                // The file doesn't tell which of the first runs served to warm up.
                warm_up: false,
                start: events[run].start,
                duration: events[run].duration,
            };
            numbers[session] += 1;
            self.iterations.insert(run, self.trace.iterations.push(iteration));
        }
    }

    fn add_nodes(&mut self) {
        let mut launches = vec![false; self.profile.nodes.len()];
        let kernels = self.profile.devices.iter().filter(|event| event.kind == DeviceEventKind::Kernel);
        kernels.filter_map(|event| event.node).for_each(|node| launches[node as usize] = true);
        self.trace.tasks.reserve(self.profile.nodes.len());
        for (index, node) in self.stop.within(&self.profile.nodes).enumerate() {
            let operator = self.operator(index, node);
            self.operator_of_node.push(operator);
            let name = self.trace.operators.name()[operator.index()];
            let iteration = self.iteration_of_run(self.sessions.run_of_node[index]);
            let thread = self.places.thread(&mut self.trace, node.process, node.thread);
            let (start, duration) = (node.start, node.duration);
            if launches[index] {
                let call = ApiCall { thread, level: ApiLevel::Node, name, start, duration, iteration };
                self.launch_of_node.insert(index, self.trace.api_calls.push(call));
            } else {
                let device = self.device(node.provider);
                let session = self.models[self.sessions.of_node[index]];
                let stream = thread.map(|thread| self.places.lane(&mut self.trace, device, session, thread));
                let unit = unit_of(&self.trace, device);
                let operator = Some(operator);
                let task = Task::new(name, start, duration);
                self.trace.tasks.push(Task { operator, stream, unit, iteration, ..task });
            }
        }
    }

    fn iteration_of_run(&self, run: Option<usize>) -> Option<IterationId> {
        self.iterations.get(&run?).copied()
    }

    fn operator(&mut self, index: usize, node: &NodeEvent) -> OperatorId {
        let session = self.sessions.of_node[index];
        let key = OperatorKey {
            session,
            node_index: node.node_index,
            texts: [node.name, node.op_name, node.provider],
            shapes: [node.inputs, node.outputs],
        };
        if let Some(&known) = self.operators.get(&key) {
            return known;
        }
        let op_type = self.text(node.op_name);
        let (first_input, input_count) = self.tensors(node.inputs);
        let (first_output, output_count) = self.tensors(node.outputs);
        let bytes_read = match (node.activation_size, node.parameter_size) {
            (None, None) => None,
            (activations, parameters) => {
                activations.unwrap_or_default().checked_add(parameters.unwrap_or_default())
            }
        };
        let operator = Operator {
            model: Some(self.models[session]),
            position: node.node_index,
            first_input,
            input_count,
            first_output,
            output_count,
            bytes_read,
            bytes_written: node.output_size,
            ..Operator::new(self.node_name(node), op_type)
        };
        // The sizes are those of the whole inputs.
        let bytes_read = match Reads::of_type(self.trace.strings.get(op_type)) {
            Reads::All => bytes_read,
            Reads::Nothing | Reads::Picks(_) => self.trace.bytes_read(&operator),
        };
        let operator = Operator { bytes_read, ..operator };
        let id = self.trace.operators.push(operator);
        self.operators.insert(key, id);
        id
    }

    /// The node's name; for one without, what the runtime itself calls it in later versions.
    fn node_name(&mut self, node: &NodeEvent) -> StringId {
        let name = self.profile.strings.get(node.name);
        if !name.is_empty() {
            return self.trace.strings.intern(name);
        }
        let mut name = self.profile.strings.get(node.op_name).to_owned();
        if let Some(index) = node.node_index {
            name += &format!("_{index}");
        }
        self.trace.strings.intern(&name)
    }

    fn tensors(&mut self, json: Option<StringId>) -> (Option<TensorId>, u32) {
        let Some(json) = json else { return (None, 0) };
        let json = self.profile.strings.get(json);
        add_tensors(&mut self.trace, json).unwrap_or_else(|| {
            self.unread_shapes += 1;
            (None, 0)
        })
    }

    fn add_device_events(&mut self) {
        for event in self.stop.within(&self.profile.devices) {
            let node = event.node.map(|node| node as usize);
            let name = self.text(event.name);
            let iteration = node.and_then(|node| self.iteration_of_run(self.sessions.run_of_node[node]));
            let (start, duration) = (event.start, event.duration);
            if event.kind == DeviceEventKind::Call {
                let thread = self.places.thread(&mut self.trace, event.process, event.thread);
                let level = ApiLevel::Runtime;
                self.trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration });
                continue;
            }
            let device = self.device_of_event(event);
            let task = Task {
                operator: node.and_then(|node| self.operator_of_node.get(node).copied()),
                stream: Some(self.places.queue(&mut self.trace, device, event.stream)),
                unit: match self.profile.strings.get(event.name) {
                    name if name.starts_with("Memcpy") => ExecutionUnit::MemoryCopy,
                    _ => unit_of(&self.trace, device),
                },
                iteration,
                launched_by: node.and_then(|node| self.launch_of_node.get(&node).copied()),
                ..Task::new(name, start, duration)
            };
            self.trace.tasks.push(task);
        }
    }

    fn device(&mut self, provider: StringId) -> DeviceId {
        self.places.device(&mut self.trace, self.profile.strings.get(provider))
    }

    fn device_of_event(&mut self, event: &DeviceEvent) -> DeviceId {
        match event.node {
            Some(node) => self.device(self.profile.nodes[node as usize].provider),
            None => self.places.any_gpu(&mut self.trace),
        }
    }

    fn add_memory(&mut self) {
        type ValueOf = fn(&NodeEvent) -> Option<i64>;
        let quantities: [(&str, ValueOf); 4] = [
            ("memory in use", |node| node.memory.bytes_in_use),
            ("memory requested", |node| node.memory.requested_in_use),
            ("memory in use at most", |node| node.memory.in_use_peak),
            ("memory held by the arena", |node| node.memory.arena_held),
        ];
        for (name, value_of) in quantities {
            let mut samples: Vec<Sample> = Vec::new();
            let mut counters: HashMap<(usize, DeviceId), CounterId> = HashMap::new();
            for (index, node) in self.stop.within(&self.profile.nodes).enumerate() {
                let Some(value) = value_of(node) else { continue };
                let session = self.sessions.of_node[index];
                let device = self.device(node.provider);
                let counter =
                    *counters.entry((session, device)).or_insert_with(|| self.counter(name, session, device));
                samples.push(Sample { counter, time: node.start + node.duration, value: value as f64 });
            }
            samples.sort_by_key(|sample| sample.time);
            samples.into_iter().for_each(|sample| {
                self.trace.samples.push(sample);
            });
        }
    }

    fn counter(&mut self, name: &str, session: usize, device: DeviceId) -> CounterId {
        let name = match self.models.len() {
            1 => name.to_owned(),
            _ => {
                let model = self.trace.models.get(self.models[session]);
                format!("{name}, {}", self.trace.strings.get(model.name))
            }
        };
        let (name, unit) = (self.trace.strings.intern(&name), self.trace.strings.intern("B"));
        self.trace.counters.push(Counter { name, unit, device: Some(device) })
    }

    fn add_losses(&mut self) {
        let profile = self.profile;
        let (damage, file) = (&profile.damage, profile.path.display().to_string());
        for (position, reason) in &damage.places {
            self.trace.count_loss(LossKind::DamagedEvent, 1, &format!("{file}: {position}: {reason}"));
        }
        if let Some(position) = damage.cut_off {
            self.trace.count_loss(LossKind::CutEvents, 1, &format!("{file}: {position}"));
        }
        let (named, unnamed) = profile.others.split_at(profile.others.len().min(NAMED_CATEGORIES));
        for &(category, count) in named {
            let category = profile.strings.get(category);
            self.trace.count_loss(LossKind::UnknownCategory, count, &format!("'{category}' in {file}"));
        }
        let placed = damage.places.len() as u64 + u64::from(damage.cut_off.is_some());
        let own_events = profile.sessions.len() + profile.nodes.len() + profile.fences as usize;
        let unknown = unnamed.iter().map(|(_, count)| count).sum();
        let counts = [
            (LossKind::FurtherUnknownCategory, unknown),
            (LossKind::FurtherDamagedEvent, damage.events.saturating_sub(placed)),
            (LossKind::ReplacedBytes, u64::from(damage.not_utf8)),
            (LossKind::RepeatedEvent, profile.repeated),
            (LossKind::UnreadShapes, self.unread_shapes),
            (LossKind::NodeOfOverlappingRuns, self.sessions.ambiguous_nodes),
            (LossKind::EventLimit, u64::from(own_events >= MOST_EVENTS)),
        ];
        for (kind, count) in counts {
            self.trace.count_loss(kind, count, &file);
        }
    }
}
