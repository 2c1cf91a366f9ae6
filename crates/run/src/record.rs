//! From what an engine recorded and what the model's graph says to a [`Trace`].

use std::collections::{HashMap, HashSet};
use std::time::SystemTime;

use opscope_model::{Bindings, Cost, Graph, Model, NodeId, Shapes, ValueId, ValueKind};
use opscope_trace::{
    ApiCall, ApiLevel, Attribution, Counter, DataType, Device, DeviceId, DeviceKind, ExecutionUnit,
    Iteration, IterationId, LossKind, Model as ModelRow, ModelId, Operator, OperatorId, Process, Sample,
    Span, Stream, StreamId, StringId, Task, Tensor, TensorId, Thread, ThreadId, Trace, UnrecordedIteration,
};

use crate::attribute::{Group, Groups, attribute, attribute_rewritten};
use crate::engine::{Phase, Recording};
use crate::engine_kind::EngineKind;
use crate::inputs::Input;
use crate::measure::Measurement;

/// Everything that a run left behind.
pub struct RunRecord<'a> {
    /// The model that was run.
    pub model: &'a Model,
    /// A name for the model, such as its file.
    pub model_name: &'a str,
    /// The tensors that it was fed with.
    pub inputs: &'a [Input],
    /// The engine that ran it.
    pub engine: EngineKind,
    /// How long loading and preparing took.
    pub phases: &'a [Phase],
    /// The iterations.
    pub measurement: &'a Measurement,
    /// The nodes and their executions.
    pub recording: &'a Recording,
    /// The wall-clock time of the run clock's zero.
    pub zero: SystemTime,
}

/// Builds the trace of a run.
pub fn to_trace(run: &RunRecord<'_>) -> Trace {
    let mut builder = Builder::new(run);
    builder.add_iterations();
    builder.add_memory();
    builder.add_operators();
    builder.add_tasks();
    for loss in run.recording.losses.rows() {
        let place = if loss.place.is_empty() { String::new() } else { format!(": {}", loss.place) };
        builder.trace.count_loss(loss.kind, loss.count, &format!("{}{place}", run.engine));
    }
    builder.trace
}

struct Builder<'a> {
    run: &'a RunRecord<'a>,
    trace: Trace,
    main_thread: ThreadId,
    model: ModelId,
    iterations: Vec<IterationId>,
    /// The operator of each engine node.
    operator_of: Vec<Option<OperatorId>>,
}

impl<'a> Builder<'a> {
    fn new(run: &'a RunRecord<'a>) -> Self {
        let mut trace = Trace::new();
        let zero = run.zero.duration_since(SystemTime::UNIX_EPOCH).ok();
        trace.clock.unix_zero = zero.and_then(|zero| i64::try_from(zero.as_nanos()).ok());
        trace.clock.domain = Some(trace.strings.intern("monotonic"));
        let program = trace.strings.intern("opscope");
        let process = trace.processes.push(Process { pid: std::process::id(), name: program });
        let main = trace.strings.intern("main");
        let main_thread = trace.threads.push(Thread { process, tid: 0, name: main });
        let name = trace.strings.intern(run.model_name);
        let model = trace.models.push(ModelRow { number: 0, name });
        Self { run, trace, main_thread, model, iterations: Vec::new(), operator_of: Vec::new() }
    }

    fn add_iterations(&mut self) {
        for phase in self.run.phases {
            let name = self.trace.strings.intern(phase.name);
            self.trace.api_calls.push(ApiCall {
                thread: Some(self.main_thread),
                level: ApiLevel::Model,
                name,
                start: phase.start,
                duration: phase.duration,
                iteration: None,
            });
        }
        for (number, window) in self.run.measurement.windows.iter().enumerate() {
            self.iterations.push(self.trace.iterations.push(Iteration {
                model: Some(self.model),
                number: number as u32 + 1,
                warm_up: number < self.run.measurement.warm_up,
                start: window.start,
                duration: window.duration,
            }));
        }
        for (number, window) in self.run.measurement.unrecorded.iter().enumerate() {
            self.trace.unrecorded_iterations.push(UnrecordedIteration {
                model: Some(self.model),
                number: number as u32 + 1,
                warm_up: number < self.run.measurement.warm_up,
                start: window.start,
                duration: window.duration,
            });
        }
    }

    fn add_memory(&mut self) {
        let (name, unit) = (self.trace.strings.intern("resident memory"), self.trace.strings.intern("B"));
        let counter = self.trace.counters.push(Counter { name, unit, device: None });
        for &(time, bytes) in &self.run.measurement.memory.samples {
            self.trace.samples.push(Sample { counter, time, value: bytes as f64 });
        }
    }

    fn add_operators(&mut self) {
        let model = self.run.model;
        let shapes = infer_shapes(model, self.run.inputs);
        let costs: Vec<Cost> = model.graph().nodes().map(|node| Cost::of(model, &shapes, node.id)).collect();
        let Groups { groups, removed, unknown } = self.attribute();
        self.trace.count_loss(LossKind::UnattributedNode, unknown as u64, &self.run.engine.to_string());
        self.operator_of = vec![None; self.run.recording.nodes.len()];
        for group in &groups {
            let operator = match group.nodes[..] {
                [] => self.engine_operator(group),
                _ => self.model_operator(&group.nodes, group.attribution, &shapes, &costs),
            };
            let operator = Operator { engine_type: Some(self.engine_type(group)), ..operator };
            let id = self.trace.operators.push(operator);
            for &engine_node in &group.engine_nodes {
                self.operator_of[engine_node as usize] = Some(id);
            }
        }
        for node in removed {
            let operator = self.model_operator(&[node], Attribution::Removed, &shapes, &costs);
            self.trace.operators.push(operator);
        }
    }

    /// Ties the engine's nodes to the model's.
    fn attribute(&self) -> Groups {
        let RunRecord { model, recording, .. } = self.run;
        match (&recording.rewritten, self.run.engine) {
            (Some(rewritten), _) => attribute_rewritten(model, rewritten, &recording.nodes),
            (None, EngineKind::Tract) => attribute(model.graph(), &recording.nodes),
            (None, EngineKind::OnnxRuntime) => unattributed(model, recording),
        }
    }

    /// The operators of the engine's nodes, in the order of execution.
    fn engine_type(&mut self, group: &Group) -> StringId {
        let nodes = &self.run.recording.nodes;
        let types = group.engine_nodes.iter().map(|&node| nodes[node as usize].op_type.as_str());
        let types: Vec<&str> = types.collect();
        self.trace.strings.intern(&types.join("+"))
    }

    /// An operator that stands for none of the main graph's nodes: the engine added it, or it runs within
    /// one of them.
    fn engine_operator(&mut self, group: &Group) -> Operator {
        let first = &self.run.recording.nodes[group.engine_nodes[0] as usize];
        let (name, op_type) =
            (self.trace.strings.intern(&first.name), self.trace.strings.intern(&first.op_type));
        let origins: Vec<_> = group.inner_nodes.iter().map(|name| self.trace.strings.intern(name)).collect();
        Operator {
            model: Some(self.model),
            attribution: group.attribution,
            origins: self.trace.names.push(origins),
            ..Operator::new(name, op_type)
        }
    }

    /// An operator that stands for one or more of the model's nodes.
    fn model_operator(
        &mut self,
        nodes: &[NodeId],
        attribution: Attribution,
        shapes: &Shapes,
        costs: &[Cost],
    ) -> Operator {
        let graph = self.run.model.graph();
        let heaviest = nodes.iter().copied().reduce(|best, node| {
            // The first of equals gives the name.
            if costs[node.index()].flops > costs[best.index()].flops { node } else { best }
        });
        let main = graph.node(heaviest.unwrap_or(nodes[0]));
        let types: Vec<&str> = nodes.iter().map(|&id| graph.node(id).op_type).collect();
        let name = self.trace.strings.intern(main.name);
        let op_type = self.trace.strings.intern(&types.join("+"));
        let attributes = main.attributes.to_json();
        let attributes = (attributes != "{}").then(|| self.trace.strings.intern(&attributes));
        let origins: Vec<_> =
            nodes.iter().map(|&id| self.trace.strings.intern(graph.node(id).name)).collect();
        let outside = Outside::of(graph, nodes);
        let (first_input, input_count) = self.tensors(graph, &outside.inputs, shapes);
        let (first_output, output_count) = self.tensors(graph, &outside.outputs, shapes);
        let cost = match nodes {
            [only] => costs[only.index()],
            _ => fused_cost(graph, nodes, &outside, shapes, costs),
        };
        Operator {
            model: Some(self.model),
            position: Some(main.id.index() as u32),
            attribution,
            origins: self.trace.names.push(origins),
            first_input,
            input_count,
            first_output,
            output_count,
            attributes,
            flops: cost.flops,
            bytes_read: cost.bytes_read,
            bytes_written: cost.bytes_written,
            parameters: Some(cost.parameters),
            ..Operator::new(name, op_type)
        }
    }

    fn tensors(&mut self, graph: Graph<'_>, values: &[ValueId], shapes: &Shapes) -> (Option<TensorId>, u32) {
        self.trace.tensors.push_all(values.iter().map(|&id| {
            let value = graph.value(id);
            let shape = shapes.get(id);
            let dimensions: Option<Span<i64>> = shape.map(|shape| {
                let dims =
                    shape.dims.iter().map(|dim| dim.and_then(|dim| i64::try_from(dim).ok()).unwrap_or(-1));
                self.trace.dimensions.push(dims)
            });
            Tensor {
                name: Some(self.trace.strings.intern(value.name)),
                data_type: shape.map_or(DataType::Unknown, |shape| shape.data_type),
                dimensions,
                layout: None,
                parameter: value.kind == ValueKind::Initializer,
            }
        }))
    }

    fn add_tasks(&mut self) {
        let recording = self.run.recording;
        let mut devices: HashMap<&str, DeviceId> = HashMap::new();
        let mut streams: HashMap<(DeviceId, u32), StreamId> = HashMap::new();
        let threads = self.threads();
        let names: Vec<_> =
            recording.nodes.iter().map(|node| self.trace.strings.intern(&node.name)).collect();
        self.trace.tasks.reserve(recording.executions.len());
        for execution in &recording.executions {
            let node = &recording.nodes[execution.node as usize];
            let device = *devices.entry(&node.provider).or_insert_with(|| {
                let name = self.trace.strings.intern(&node.provider);
                let number = self.trace.devices.len() as u32;
                self.trace.devices.push(Device { number, kind: device_kind(&node.provider), name })
            });
            let stream = *streams.entry((device, execution.thread)).or_insert_with(|| {
                let thread = threads[execution.thread as usize];
                let (name, number) = (self.trace.threads.get(thread).name, u64::from(execution.thread));
                self.trace.streams.push(Stream { device, number, thread: Some(thread), name })
            });
            let unit = match self.trace.devices.get(device).kind {
                DeviceKind::Cpu => ExecutionUnit::Cpu,
                DeviceKind::Gpu => ExecutionUnit::Gpu,
                _ => ExecutionUnit::Other,
            };
            self.trace.tasks.push(Task {
                operator: self.operator_of[execution.node as usize],
                stream: Some(stream),
                unit,
                iteration: self.iterations.get(execution.iteration as usize).copied(),
                ..Task::new(names[execution.node as usize], execution.start, execution.duration)
            });
        }
    }

    /// The threads of the recording; the first is the one that runs the iterations.
    fn threads(&mut self) -> Vec<ThreadId> {
        let process = self.trace.threads.get(self.main_thread).process;
        let further = self.run.recording.threads.iter().enumerate().skip(1).map(|(number, name)| {
            let name = self.trace.strings.intern(name);
            self.trace.threads.push(Thread { process, tid: number as u64, name })
        });
        [self.main_thread].into_iter().chain(further).collect()
    }
}

/// Every engine node by itself, where nothing says what it came from.
fn unattributed(model: &Model, recording: &Recording) -> Groups {
    let group = |node: usize| Group {
        engine_nodes: vec![node as u32],
        attribution: Attribution::Unattributed,
        ..Group::default()
    };
    Groups {
        groups: (0..recording.nodes.len()).map(group).collect(),
        removed: Vec::new(),
        unknown: model.graph().node_count(),
    }
}

/// The values that a set of nodes reads from outside of it, and those of its own that others read.
struct Outside {
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

impl Outside {
    fn of(graph: Graph<'_>, nodes: &[NodeId]) -> Self {
        let inside: HashSet<NodeId> = nodes.iter().copied().collect();
        let mut outside = Self { inputs: Vec::new(), outputs: Vec::new() };
        for &id in nodes {
            let node = graph.node(id);
            for value in node.reads() {
                let produced_inside =
                    graph.value(value).producer.is_some_and(|producer| inside.contains(&producer));
                if !produced_inside && !outside.inputs.contains(&value) {
                    outside.inputs.push(value);
                }
            }
            for &value in node.outputs.iter().flatten() {
                let read = graph.value(value);
                if read.is_output || read.consumers.iter().any(|consumer| !inside.contains(consumer)) {
                    outside.outputs.push(value);
                }
            }
        }
        outside
    }
}

/// The cost of several nodes that run as one: values between them never leave the processor.
fn fused_cost(
    graph: Graph<'_>,
    nodes: &[NodeId],
    outside: &Outside,
    shapes: &Shapes,
    costs: &[Cost],
) -> Cost {
    let parameters = outside.inputs.iter().filter(|&&id| graph.value(id).kind == ValueKind::Initializer);
    Cost {
        flops: sum(nodes.iter().map(|node| costs[node.index()].flops)),
        bytes_read: sum(outside.inputs.iter().map(|&id| shapes.get(id)?.bytes())),
        bytes_written: sum(outside.outputs.iter().map(|&id| shapes.get(id)?.bytes())),
        parameters: sum(parameters.map(|&id| shapes.get(id)?.elements())).unwrap_or(0),
    }
}

/// The sum, if every part is known and it fits.
fn sum(parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    parts.into_iter().try_fold(0u64, |total, part| total.checked_add(part?))
}

/// The shapes of all values when the model is fed with `inputs`.
pub(crate) fn infer_shapes(model: &Model, inputs: &[Input]) -> Shapes {
    let mut bindings = Bindings::new();
    for input in inputs {
        let shape: Vec<u64> = input.tensor.shape.iter().map(|&size| size as u64).collect();
        bindings = bindings.shape(&input.name, &shape);
        if let Some(values) = input.tensor.small_integers() {
            bindings = bindings.value(&input.name, &values);
        }
    }
    Shapes::infer(model, &bindings).unwrap_or_default()
}

/// The kind of machine behind an execution provider, by its name.
fn device_kind(provider: &str) -> DeviceKind {
    const GPU: [&str; 6] = ["CUDA", "Tensorrt", "ROCM", "MIGraphX", "Dml", "WebGpu"];
    const NPU: [&str; 4] = ["CANN", "QNN", "VitisAI", "Rknpu"];
    if GPU.iter().any(|name| provider.starts_with(name)) {
        DeviceKind::Gpu
    } else if NPU.iter().any(|name| provider.starts_with(name)) {
        DeviceKind::Npu
    } else {
        DeviceKind::Cpu
    }
}
