//! The content of a recording, while its trace is made: the same of a database and of lines of JSON.

use opscope_trace::{
    ApiCall, ApiLevel, DeviceId, DeviceKind, ExecutionUnit, LossKind, Nanoseconds, NumberMap, Operator,
    OperatorId, Places, StreamId, StringId, Task, ThreadId, Trace,
};

use super::graphs::{Devices, Graphs, NO_DEVICE, UNKNOWN_GPU};
use crate::reading::{Launches, OwnStream, OwnStreams};

/// A trace while it is made.
#[derive(Default)]
pub struct Recording {
    pub trace: Trace,
    pub places: Places,
    pub launches: Launches,
    /// Names of GPUs by the number that the machine gives them.
    pub gpus: NumberMap<u32, String>,
    /// The numbers of GPUs by process and the number that CUDA gives the GPU within it.
    pub gpus_of_processes: NumberMap<(u32, u32), u32>,
    pub texts: NumberMap<i64, StringId>,
    /// How many records named a text that isn't there.
    missing_texts: u64,
    operators: NumberMap<u32, OperatorId>,
    /// Graphs, which are added behind all else.
    graphs: Graphs,
    /// The devices that records tell.
    devices: Devices,
    names_of_calls: NumberMap<u32, StringId>,
    threads: NumberMap<u64, ThreadId>,
    streams: OwnStreams<u32>,
    /// The devices of contexts by process and number.
    contexts: NumberMap<(u32, u64), u32>,
}

/// The place of a task, as its record tells it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place {
    pub device: Option<u32>,
    pub context: Option<u64>,
    pub stream: Option<u64>,
    pub correlation: Option<u64>,
    pub process: u32,
}

impl Recording {
    /// The text of an id.
    pub fn text(&mut self, id: Option<i64>) -> StringId {
        let known = id.and_then(|id| self.texts.get(&id).copied());
        known.unwrap_or_else(|| {
            self.missing_texts += 1;
            self.trace.strings.intern("")
        })
    }

    /// The text of an id, if there is one.
    fn text_if_any(&self, id: Option<i64>) -> Option<StringId> {
        self.texts.get(&id?).copied()
    }

    /// The thread of a global number.
    pub fn thread(&mut self, global: Option<i64>) -> Option<ThreadId> {
        let global = global?.cast_unsigned();
        if let Some(&known) = self.threads.get(&global) {
            return Some(known);
        }
        let process = self.places.process(&mut self.trace, process_of(global));
        let thread = self.places.thread(&mut self.trace, process, global & 0xff_ffff, "");
        self.threads.insert(global, thread);
        Some(thread)
    }

    /// The GPU of a number of the machine.
    pub fn device(&mut self, number: u32) -> DeviceId {
        let name = self.gpus.get(&number).map_or("", String::as_str);
        self.places.device(&mut self.trace, DeviceKind::Gpu, number, name)
    }

    /// A stream; `device` is the number that CUDA gives the GPU within the process. Without a word about it the
    /// machine is taken to number its GPUs alike.
    fn stream(&mut self, process: u32, device: u32, number: u64) -> StreamId {
        let stream = OwnStream { process, device, number, queue: None };
        self.streams.get(stream).unwrap_or_else(|| {
            let gpu = match device {
                NO_DEVICE => self.places.device(&mut self.trace, DeviceKind::Other, 0, UNKNOWN_GPU),
                device => {
                    let gpu = self.gpus_of_processes.get(&(process, device)).copied();
                    self.device(gpu.unwrap_or(device))
                }
            };
            self.streams.add(&mut self.trace, stream, gpu)
        })
    }

    /// Adds a call. Only CUDA's launch anything; others number theirs anew.
    pub fn call(
        &mut self,
        level: ApiLevel,
        global: Option<i64>,
        name: Option<i64>,
        correlation: Option<u64>,
        (start, duration): (Nanoseconds, Nanoseconds),
    ) {
        let (thread, name) = (self.thread(global), self.name_of_call(name));
        let call =
            self.trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration: None });
        if level == ApiLevel::Runtime
            && let Some(correlation) = correlation.filter(|correlation| *correlation != 0)
        {
            let process = global.map_or(0, |global| process_of(global.cast_unsigned()));
            self.launches.call(process, correlation, call);
        }
    }

    /// A call's name without the version of the interface, which the exporter appends: `cudaLaunchKernel_v7000`.
    /// Any number of calls may have one name, so it is looked at once.
    fn name_of_call(&mut self, id: Option<i64>) -> StringId {
        let full = self.text(id);
        let strings = &mut self.trace.strings;
        *self.names_of_calls.entry(full.index() as u32).or_insert_with(|| {
            let text = strings.get(full);
            let versioned = text.rsplit_once("_v").filter(|(_, version)| {
                (4..=5).contains(&version.len()) && version.bytes().all(|byte| byte.is_ascii_digit())
            });
            match versioned.map(|(name, _)| name.to_owned()) {
                Some(name) => strings.intern(&name),
                None => full,
            }
        })
    }

    /// Adds a kernel, whose names stand by their ids: the full one, the one without arguments, the linker's.
    pub fn kernel(&mut self, names: [Option<i64>; 3], place: Place, span: (Nanoseconds, Nanoseconds)) {
        let [full, short, mangled] = names.map(|id| self.text_if_any(id));
        let name = match full.or(short).or(mangled) {
            Some(name) => name,
            None => self.text(None),
        };
        // Kernels of NVIDIA's library of collective operations.
        let is_collective = self.trace.strings.get(name).starts_with("nccl");
        let unit = if is_collective { ExecutionUnit::Communication } else { ExecutionUnit::Gpu };
        let operator = self.operator(name, short.unwrap_or(name));
        self.task(Task { operator: Some(operator), unit, ..Task::new(name, span.0, span.1) }, place);
    }

    /// Adds an execution of a whole graph of CUDA's, of whose kernels nothing is told. Its device may be that of
    /// records which come later.
    pub fn graph(&mut self, number: Option<u64>, place: Place, span: (Nanoseconds, Nanoseconds)) {
        if let Some(device) = place.device {
            self.note_device(place, device);
        }
        self.graphs.add(number, place, span);
    }

    fn add_graphs(&mut self) {
        let graphs = std::mem::take(&mut self.graphs);
        let op_type = graphs.op_type(&mut self.trace);
        let mut names = NumberMap::default();
        for graph in graphs.iter() {
            let name = *names
                .entry((graph.number, graph.place.process))
                .or_insert_with(|| graphs.name(graph, &mut self.trace));
            let device = self.device_of_graph(graph.place);
            let (operator, unit) = (Some(self.operator(name, op_type)), ExecutionUnit::Gpu);
            let task = Task { operator, unit, ..Task::new(name, graph.span.0, graph.span.1) };
            self.add_task(task, graph.place, device);
        }
    }

    /// The device of a graph, whose record tells none where it begins on the host.
    fn device_of_graph(&self, place: Place) -> u32 {
        let of_context = || self.contexts.get(&(place.process, place.context?)).copied();
        let of_list = || {
            let mut listed = self.gpus_of_processes.keys().filter(|(process, _)| *process == place.process);
            listed.next().filter(|_| listed.next().is_none()).map(|(_, device)| *device)
        };
        let other = || of_context().or_else(|| self.devices.find(place)).or_else(of_list);
        place.device.or_else(other).unwrap_or(NO_DEVICE)
    }

    /// Notes the device that a record tells of its context and stream.
    fn note_device(&mut self, place: Place, device: u32) {
        if let Some(context) = place.context {
            self.contexts.insert((place.process, context), device);
        }
        self.devices.note(place, device);
    }

    /// The operator of a name.
    fn operator(&mut self, name: StringId, op_type: StringId) -> OperatorId {
        let trace = &mut self.trace;
        *(self.operators.entry(name.index() as u32))
            .or_insert_with(|| trace.operators.push(Operator::new(name, op_type)))
    }

    /// Adds a copy or filling of memory.
    pub fn copy(&mut self, word: &str, place: Place, span: (Nanoseconds, Nanoseconds)) {
        self.named(word, ExecutionUnit::MemoryCopy, place, span);
    }

    /// Adds a wait. Its record tells a device that isn't its own, so that of its context counts.
    pub fn wait(&mut self, word: &str, place: Place, span: (Nanoseconds, Nanoseconds)) {
        let of_context = place.context.and_then(|context| self.contexts.get(&(place.process, context)));
        let device = of_context.copied().or(place.device);
        self.named(word, ExecutionUnit::Control, Place { device, ..place }, span);
    }

    fn named(&mut self, word: &str, unit: ExecutionUnit, place: Place, span: (Nanoseconds, Nanoseconds)) {
        let name = self.trace.strings.intern(word);
        self.task(Task { unit, ..Task::new(name, span.0, span.1) }, place);
    }

    fn task(&mut self, task: Task, place: Place) {
        let device = place.device.unwrap_or(0);
        if task.unit != ExecutionUnit::Control {
            self.note_device(place, device);
        }
        self.add_task(task, place, device);
    }

    fn add_task(&mut self, task: Task, place: Place, device: u32) {
        let stream = Some(self.stream(place.process, device, place.stream.unwrap_or(0)));
        let task = self.trace.tasks.push(Task { stream, ..task });
        if let Some(correlation) = place.correlation.filter(|&correlation| correlation != 0) {
            self.launches.task(place.process, correlation, task);
        }
    }

    /// The trace of all records; `texts` says where their texts stand.
    pub fn finish(mut self, texts: &str) -> Trace {
        self.add_graphs();
        self.launches.tie(&mut self.trace);
        self.streams.name(&mut self.trace, |process| process.to_string());
        self.trace.count_loss(LossKind::UnnamedRecord, self.missing_texts, texts);
        self.trace
    }
}

/// The system's number of the process in a global number of a process or thread.
pub fn process_of(global: u64) -> u32 {
    (global >> 24) as u32 & 0xff_ffff
}

/// The words for kinds of copies: CUPTI's (`CUpti_ActivityMemcpyKind`), and those that Nsight Systems numbers behind them
/// (`ENUM_CUDA_MEMCPY_OPER`).
pub fn copy_word(kind: Option<i64>) -> &'static str {
    match kind {
        Some(1) => "memcpy host to device",
        Some(2) => "memcpy device to host",
        Some(3) => "memcpy host to array",
        Some(4) => "memcpy array to host",
        Some(5) => "memcpy array to array",
        Some(6) => "memcpy array to device",
        Some(7) => "memcpy device to array",
        Some(8) => "memcpy device to device",
        Some(9) => "memcpy host to host",
        Some(10) => "memcpy peer to peer",
        // Pages that the driver moves, which no program asked for.
        Some(11) => "memcpy host to device (unified memory)",
        Some(12) => "memcpy device to host (unified memory)",
        Some(13) => "memcpy device to device (unified memory)",
        _ => "memcpy",
    }
}

/// The words for CUPTI's kinds of waits (`CUpti_ActivitySynchronizationType`).
pub fn wait_word(kind: Option<i64>) -> &'static str {
    match kind {
        Some(1) => "wait for event",
        Some(2) => "stream waits for event",
        Some(3) => "wait for stream",
        Some(4) => "wait for context",
        _ => "wait",
    }
}
