//! From a [`Trace`] to the native tables.

use std::collections::HashMap;

use opscope_trace::{
    DeviceId, DeviceKind, IterationId, LossKind, Nanoseconds, Operator, OperatorId, Span, StreamId, StringId,
    Task, TaskId, TaskWait, TensorId, ThreadId, Trace,
};

use super::comp_node::CompNode;
use super::data_type::{class_name, elements};
use super::json::Piece;
use super::profile::{self, Chunk, Footprint, Interval, MemoryPlan, Profile, Shape, Text, Var};
use super::write::{push_respaced, push_string};
use super::{GraphId, Keyed};
use crate::input::Input;

/// Which times a profile holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// Times of the devices and of the host.
    DeviceAndHost,
    /// Times of the host only.
    HostOnly,
}

impl Profile {
    /// Makes a profile out of any trace whose tasks belong to operators.
    ///
    /// As the format knows one run, it is the last iteration that did not serve to warm up, in
    /// seconds from its start; a trace without iterations is taken whole. Operators are those that
    /// ran in it, in the order in which they began, and those that never run. A tensor's name
    /// ties the operator that makes it to those that read it; names that no operator makes get a
    /// source of their own, as inputs and weights have in MegEngine.
    ///
    /// A task that no call launched was dispatched by the thread that executed it, and took the
    /// host as long as the device.
    pub fn from_trace(trace: &Trace, recorded: Recorded) -> Self {
        let mut builder = Builder::new(trace);
        let run = builder.run();
        builder.graph(&run);
        builder.times(&run, recorded);
        builder.profile.text = Text(Input::Owned(builder.text));
        builder.profile
    }
}

/// The tasks and operators of a run, in the order in which they began.
struct Run {
    start: Nanoseconds,
    tasks: Vec<TaskId>,
    operators: Vec<OperatorId>,
}

struct Builder<'a> {
    trace: &'a Trace,
    profile: Profile,
    /// The JSON text that pieces of the profile point into.
    text: Vec<u8>,
    /// The next number of the counter that operators and vars share.
    next: u32,
    /// The var that holds a tensor's value, by the tensor's name.
    vars: HashMap<StringId, GraphId>,
    ids: HashMap<OperatorId, GraphId>,
    /// The comp node of each stream.
    streams: HashMap<StreamId, StringId>,
    /// The name under which a thread's records stand.
    threads: HashMap<ThreadId, StringId>,
}

impl<'a> Builder<'a> {
    fn new(trace: &'a Trace) -> Self {
        let mut builder = Self {
            trace,
            profile: Profile::default(),
            text: Vec::new(),
            next: 0,
            vars: HashMap::new(),
            ids: HashMap::new(),
            streams: HashMap::new(),
            threads: HashMap::new(),
        };
        builder.name_streams();
        builder.name_threads();
        builder
    }

    /// Gives each stream the text of a comp node; streams of a profile of this format have one.
    fn name_streams(&mut self) {
        let trace = self.trace;
        let mut numbers: HashMap<DeviceId, (usize, usize)> = HashMap::new();
        let mut devices: HashMap<&str, usize> = HashMap::new();
        for (id, stream) in trace.streams.iter() {
            let kind = trace.devices.get(stream.device).kind;
            let (number, streams) = numbers.entry(stream.device).or_insert_with(|| {
                let count = devices.entry(CompNode::word(kind)).or_default();
                *count += 1;
                (*count - 1, 0)
            });
            let own = trace.strings.get(stream.name);
            let text = match own.starts_with("CompNode(") {
                true => own.to_owned(),
                false => CompNode::text(kind, *number, *streams),
            };
            *streams += 1;
            self.streams.insert(id, self.profile.symbols.intern(&text));
        }
    }

    /// Gives each thread a name that no other has.
    fn name_threads(&mut self) {
        let mut taken = HashMap::new();
        for (id, thread) in self.trace.threads.iter() {
            let own = self.trace.strings.get(thread.name);
            let free = !own.is_empty() && *taken.entry(own).or_insert(id) == id;
            let text = if free { own.to_owned() } else { format!("unnamed_thread({})", thread.tid) };
            self.threads.insert(id, self.profile.symbols.intern(&text));
        }
    }

    /// Chooses the iteration, and what ran in it.
    fn run(&mut self) -> Run {
        let trace = self.trace;
        let mut iterations = trace.iterations.ids().rev();
        let measured = iterations.find(|id| !trace.iterations.get(*id).warm_up);
        let chosen: Option<IterationId> = measured.or(trace.iterations.ids().next_back());
        let mut tasks: Vec<TaskId> = Vec::new();
        let mut homeless = 0;
        for (id, task) in trace.tasks.iter() {
            if chosen.is_some() && task.iteration != chosen {
                continue;
            }
            if task.operator.is_some() { tasks.push(id) } else { homeless += 1 }
        }
        self.profile.lose(LossKind::TaskOfNoOperator, homeless);
        tasks.sort_by_key(|id| trace.tasks.start()[id.index()]);
        let first = tasks.first().map(|id| trace.tasks.get(*id).start);
        let start = chosen.map(|id| trace.iterations.get(id).start).or(first).unwrap_or_default();
        let mut ran = vec![false; trace.operators.len()];
        let operators = tasks.iter().filter_map(|id| trace.tasks.get(*id).operator);
        let operators = operators.filter(|operator| !std::mem::replace(&mut ran[operator.index()], true));
        Run { start, operators: operators.collect(), tasks }
    }

    fn graph(&mut self, run: &Run) {
        let trace = self.trace;
        let mut places: HashMap<OperatorId, StringId> = HashMap::new();
        let mut runs = vec![false; trace.operators.len()];
        for (_, task) in trace.tasks.iter() {
            if let Some(operator) = task.operator {
                runs[operator.index()] = true;
                let place = task.stream.and_then(|stream| self.streams.get(&stream));
                if let Some(place) = place {
                    places.entry(operator).or_insert(*place);
                }
            }
        }
        let idle = trace.operators.ids().filter(|id| !runs[id.index()]);
        for (position, id) in run.operators.iter().copied().chain(idle).enumerate() {
            let place = places.get(&id).copied().unwrap_or_else(|| self.default_place());
            let graph_id = self.operator(id, place);
            if position < run.operators.len() {
                self.profile.order.push(graph_id);
            }
        }
    }

    /// Adds an operator, its footprint and its vars.
    fn operator(&mut self, id: OperatorId, place: StringId) -> GraphId {
        let trace = self.trace;
        let row = trace.operators.get(id);
        let inputs: Vec<GraphId> = row.inputs().map(|tensor| self.input(tensor, place)).collect();
        let graph_id = self.count();
        let outputs: Vec<GraphId> = row.outputs().map(|tensor| self.var(tensor, place)).collect();
        let footprint = self.footprint(&row);
        self.profile.footprints.insert(graph_id, footprint);
        self.add_operator(
            graph_id,
            trace.strings.get(row.name),
            trace.strings.get(row.op_type),
            inputs,
            outputs,
        );
        self.ids.insert(id, graph_id);
        graph_id
    }

    fn add_operator(
        &mut self,
        id: GraphId,
        name: &str,
        op_type: &str,
        inputs: Vec<GraphId>,
        outputs: Vec<GraphId>,
    ) {
        let operator = profile::Operator {
            name: self.string(name),
            op_type: self.profile.symbols.intern(op_type),
            inputs: self.profile.ids.push(inputs),
            outputs: self.profile.ids.push(outputs),
            extra: Piece::default(),
            waiting_spec: Piece::default(),
        };
        self.profile.operators.insert(id, operator);
    }

    /// The var that an operator reads; one that no operator made before gets a source.
    fn input(&mut self, tensor: TensorId, place: StringId) -> GraphId {
        let row = self.trace.tensors.get(tensor);
        if let Some(known) = row.name.and_then(|name| self.vars.get(&name)) {
            return *known;
        }
        let source = self.count();
        let var = self.var(tensor, place);
        let name = row.name.map_or("", |name| self.trace.strings.get(name));
        let op_type = if row.parameter { "ImmutableTensor" } else { "Host2DeviceCopy" };
        self.add_operator(source, name, op_type, Vec::new(), vec![var]);
        var
    }

    /// A new var for a tensor, with a chunk of its own where its size is known.
    fn var(&mut self, tensor: TensorId, place: StringId) -> GraphId {
        let trace = self.trace;
        let row = trace.tensors.get(tensor);
        let id = self.count();
        let name = row.name.map_or("", |name| trace.strings.get(name));
        if let Some(name) = row.name {
            self.vars.insert(name, id);
        }
        let dimensions = trace.shape(tensor);
        let bytes = dimensions.and_then(elements).and_then(|elements| row.data_type.bytes(elements));
        let mem_plan = dimensions.zip(bytes).map(|(dimensions, size)| {
            self.profile.chunks.insert(id, Chunk { owner: Some(id), size, dev_ptr: None });
            MemoryPlan {
                chunk: id,
                offset: 0,
                shape: self.profile.plan_dimensions.push(dimensions.iter().copied()),
                strides: self.profile.plan_dimensions.push(contiguous(dimensions)),
                data_type: self.profile.symbols.intern(&class_name(row.data_type)),
            }
        });
        let flags: &[u8] = if row.parameter { b"[ \"PERSISTENT_DEVICE_VALUE\"]" } else { b"[]" };
        let var = Var {
            name: self.string(name),
            comp_node: place,
            dev_ptr: None,
            prev_dev_ptr: 0,
            prev_dev_ptr_end: None,
            mem_readonly_fwd_src: None,
            force_update_src: None,
            flags: self.piece(flags),
            static_infer_tags: self.infer_tags(dimensions),
            mem_plan,
        };
        self.profile.vars.insert(id, var);
        id
    }

    /// The facts known before the run: the shape at most, and no value.
    fn infer_tags(&mut self, dimensions: Option<&[i64]>) -> Piece {
        let known = dimensions.filter(|dimensions| dimensions.iter().all(|size| *size >= 0));
        let (kind, shape) = match known {
            Some(dimensions) => ("RT_STATIC", list(dimensions)),
            None => ("NO_DESC", "null".to_owned()),
        };
        let tag = |kind: &str, result: &str| {
            format!(
                "{{ \"deps\": [], \"inferred_result\": {result}, \"infer_type\": \"{kind}\", \
                 \"node_type\": \"static_infer_tag\"}}"
            )
        };
        let tags = format!("{{ \"VALUE\": {}, \"SHAPE\": {}}}", tag("NO_DESC", "null"), tag(kind, &shape));
        self.piece(tags.as_bytes())
    }

    fn footprint(&mut self, row: &Operator) -> Footprint {
        let trace = self.trace;
        let known =
            |tensor: TensorId| trace.tensors.get(tensor).data_type.bytes(elements(trace.shape(tensor)?)?);
        let sum = |tensors: &mut dyn Iterator<Item = TensorId>| {
            tensors.filter_map(known).fold(0, u64::saturating_add)
        };
        let read = row.bytes_read.unwrap_or_else(|| sum(&mut row.inputs()));
        // A trace may count all bytes as read where it can't part them.
        let written = row.bytes_written.or_else(|| row.bytes_read.map(|_| 0));
        let written = written.unwrap_or_else(|| sum(&mut row.outputs()));
        let param = row.attributes.map(|attributes| trace.strings.get(attributes).as_bytes());
        let is_json = |json: &&[u8]| {
            let mut scanner = super::json::Scanner::new(json);
            matches!(scanner.peek(), Some(b'{' | b'[')) && scanner.skip().is_ok() && scanner.end().is_ok()
        };
        Footprint {
            memory: Some(read.saturating_add(written) as f64),
            computation: row.flops.filter(|flops| *flops > 0).map(|flops| flops as f64),
            in_shapes: Some(self.shapes(row.inputs())),
            out_shapes: Some(self.shapes(row.outputs())),
            in_layouts: None,
            param: param.filter(is_json).map(|json| self.respaced(json)).unwrap_or_default(),
        }
    }

    fn shapes(&mut self, tensors: impl Iterator<Item = TensorId>) -> Span<Option<Shape>> {
        let Profile { dimensions, shapes, .. } = &mut self.profile;
        let shape = |tensor| self.trace.shape(tensor).unwrap_or_default().iter().copied();
        shapes.push(tensors.map(|tensor| Some(dimensions.push(shape(tensor)))))
    }

    /// The records of the devices and of the host.
    fn times(&mut self, run: &Run, recorded: Recorded) {
        let wait_within = self.trace.run.waiting == TaskWait::Within;
        let default_place = self.default_place();
        let own_thread = self.profile.symbols.intern("@");
        let mut device: HashMap<OperatorId, Vec<Interval>> = HashMap::new();
        let mut host: HashMap<OperatorId, Vec<Interval>> = HashMap::new();
        for id in &run.tasks {
            let task = self.trace.tasks.get(*id);
            let Some(operator) = task.operator else { continue };
            let stream = task.stream.and_then(|stream| self.streams.get(&stream));
            let place = *stream.unwrap_or(&default_place);
            let execution = execution(&task, run.start, place, wait_within);
            let dispatch = self.dispatch(&task, run.start, own_thread);
            merge(device.entry(operator).or_default(), execution);
            merge(host.entry(operator).or_default(), dispatch);
        }
        if recorded == Recorded::DeviceAndHost {
            self.profile.device = self.keyed(run, &device);
        }
        self.profile.host = self.keyed(run, &host);
    }

    /// When a task was dispatched, and by which thread.
    fn dispatch(&self, task: &Task, zero: Nanoseconds, own_thread: StringId) -> Interval {
        let call = task.launched_by.map(|call| self.trace.api_calls.get(call));
        let (thread, start, duration) = match call {
            Some(call) => (call.thread, call.start, call.duration),
            None => {
                let stream = task.stream.map(|stream| self.trace.streams.get(stream));
                (stream.and_then(|stream| stream.thread), task.start, task.duration)
            }
        };
        let end = start + duration;
        let launched = if start <= task.start && task.start <= end { task.start } else { end };
        let place = thread.and_then(|thread| self.threads.get(&thread)).copied();
        let seconds = |time: Nanoseconds| (time - zero).as_seconds();
        Interval {
            place: place.unwrap_or(own_thread),
            start: seconds(start),
            kernel: seconds(launched),
            end: seconds(end),
        }
    }

    fn keyed(&mut self, run: &Run, times: &HashMap<OperatorId, Vec<Interval>>) -> Keyed<Span<Interval>> {
        let mut rows = Keyed::default();
        for operator in &run.operators {
            if let (Some(id), Some(intervals)) = (self.ids.get(operator), times.get(operator)) {
                rows.insert(*id, self.profile.intervals.push(intervals.iter().copied()));
            }
        }
        rows
    }

    fn default_place(&mut self) -> StringId {
        let text = CompNode::text(DeviceKind::Cpu, 0, 0);
        self.profile.symbols.intern(&text)
    }

    fn count(&mut self) -> GraphId {
        let id = GraphId::from_number(self.next);
        self.next = self.next.saturating_add(1);
        id
    }

    fn string(&mut self, text: &str) -> Piece {
        let start = self.text.len();
        push_string(&mut self.text, text);
        Piece::new(start, self.text.len()).unwrap_or_default()
    }

    fn respaced(&mut self, json: &[u8]) -> Piece {
        let start = self.text.len();
        push_respaced(&mut self.text, json);
        Piece::new(start, self.text.len()).unwrap_or_default()
    }

    fn piece(&mut self, json: &[u8]) -> Piece {
        let start = self.text.len();
        self.text.extend_from_slice(json);
        Piece::new(start, self.text.len()).unwrap_or_default()
    }
}

/// A task's work on a comp node. The trace has the wait for the first kernel either within the
/// task's duration or before its start; here it is within.
fn execution(task: &Task, zero: Nanoseconds, place: StringId, wait_within: bool) -> Interval {
    let seconds = |time: Nanoseconds| (time - zero).as_seconds();
    let wait = task.wait.unwrap_or_default();
    let (start, kernel) = match wait_within {
        true => (task.start, task.start + wait),
        false => (task.start - wait, task.start),
    };
    let end = task.start + task.duration;
    Interval { place, start: seconds(start), kernel: seconds(kernel), end: seconds(end) }
}

/// Adds a record; one in the same place, of another task of the operator, becomes longer by its
/// time. The format has a single span for an operator, and others may have run between two of its
/// tasks: from the first start to the last end would count their time as well.
fn merge(records: &mut Vec<Interval>, record: Interval) {
    match records.iter_mut().find(|known| known.place == record.place) {
        Some(known) => {
            known.end += record.end - record.start;
        }
        None => records.push(record),
    }
}

/// The strides of a tensor without gaps, in elements.
fn contiguous(dimensions: &[i64]) -> Vec<i64> {
    let mut strides: Vec<i64> = Vec::with_capacity(dimensions.len());
    let mut stride = 1_i64;
    for size in dimensions.iter().rev() {
        strides.push(stride);
        stride = stride.saturating_mul(*size);
    }
    strides.reverse();
    strides
}

/// A JSON list of numbers.
fn list(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    if numbers.is_empty() { "[]".to_owned() } else { format!("[ {}]", numbers.join(", ")) }
}
