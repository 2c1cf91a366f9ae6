//! The host's files of sample profiles.

mod capture;
mod collective;

use std::io;
use std::path::Path;

use opscope_cann_raw::additional::{GraphIdMap, TENSORS_PER_RECORD, Tensor, TensorInfo};
use opscope_cann_raw::host::{ApiEvent, EVENT_END, Head, MAGIC, NodeBasicInfo, TaskTrack, level};
use opscope_cann_raw::{Record, SliceWriter, hash_of};

use crate::synthetic::clockwork::Clockwork;
use crate::synthetic::collective::TEXTS;
use crate::synthetic::dpu;
use crate::synthetic::execution::{Execution, HostSide, Lane};
use crate::synthetic::network::{MODEL_NAME, Network};

/// The thread that launches.
pub(super) const THREAD: u32 = 4_242;

/// The stream that executes.
pub(super) const STREAM: u16 = 2;

/// The model's number.
pub(super) const MODEL: u32 = 1;

const EVENT_RECORD: u32 = 2;

const FLIP_TASK: u64 = 98;

/// How long before a task starts it is launched, in nanoseconds.
pub(super) const AHEAD: u64 = 50_000;

/// The streams of one generation of host records: kept or ageing.
struct Streams {
    api: SliceWriter,
    nodes: SliceWriter,
    tensors: SliceWriter,
    tracks: SliceWriter,
}

impl Streams {
    fn new(directory: &Path, prefix: &str) -> Self {
        let writer = |name: &str| SliceWriter::new(directory, &format!("{prefix}.{name}"));
        Self {
            api: writer("api_event.data"),
            nodes: writer("compact.node_basic_info"),
            tensors: writer("additional.tensor_info"),
            tracks: writer("compact.task_track"),
        }
    }

    fn finish(self) -> io::Result<()> {
        [self.api, self.nodes, self.tensors, self.tracks].into_iter().try_for_each(SliceWriter::finish)
    }
}

/// Writes the host's files.
pub(super) struct HostFiles {
    clockwork: Clockwork,
    kept: Streams,
    aging: Streams,
    models: SliceWriter,
    captures: SliceWriter,
    short_captured: SliceWriter,
    /// The notes on operators of captured graphs that are longer than others, which one file holds.
    long_captured: Vec<u8>,
    directory: std::path::PathBuf,
    /// Whether the AI CPU took part in collective operations.
    has_collectives: bool,
    /// Whether data processing units did.
    has_units: bool,
    /// The thread that reports.
    thread: u32,
    buffer: Vec<u8>,
}

fn put(writer: &mut SliceWriter, buffer: &mut Vec<u8>, record: &impl Record) -> io::Result<()> {
    buffer.clear();
    record.append_to(buffer);
    writer.write(buffer)
}

impl HostFiles {
    pub(super) fn new(directory: &Path, clockwork: Clockwork) -> Self {
        Self {
            clockwork,
            kept: Streams::new(directory, "unaging"),
            aging: Streams::new(directory, "aging"),
            models: SliceWriter::new(directory, "unaging.additional.graph_id_map"),
            captures: SliceWriter::new(directory, "unaging.compact.capture_stream_info"),
            short_captured: SliceWriter::new(directory, "unaging.additional.capture_op_info"),
            long_captured: Vec::new(),
            directory: directory.to_owned(),
            has_collectives: false,
            has_units: false,
            thread: THREAD,
            buffer: Vec::with_capacity(256),
        }
    }

    fn head(&self, level: u16, kind: u32, time: u64) -> Head {
        Head { magic: MAGIC, level, kind, thread: self.thread, length: 0, time: self.clockwork.host(time) }
    }

    fn call(&mut self, dynamic: bool, level: u16, kind: u32, span: (u64, u64), item: u64) -> io::Result<()> {
        let (begin, end) = (self.clockwork.host(span.0), self.clockwork.host(span.1));
        let record =
            ApiEvent { magic: MAGIC, level, kind, thread: self.thread, request: 0, begin, end, item };
        let streams = if dynamic { &mut self.aging } else { &mut self.kept };
        put(&mut streams.api, &mut self.buffer, &record)
    }

    fn event(&mut self, dynamic: bool, kind: u32, request: u32, time: u64) -> io::Result<()> {
        let record = ApiEvent {
            magic: MAGIC,
            level: level::MODEL,
            kind,
            thread: THREAD,
            request,
            begin: self.clockwork.host(time),
            end: EVENT_END,
            item: u64::from(MODEL),
        };
        let streams = if dynamic { &mut self.aging } else { &mut self.kept };
        put(&mut streams.api, &mut self.buffer, &record)
    }

    /// Notes what a node is that is launched, and the calls that launch it.
    fn note_launch(&mut self, network: &Network, execution: Execution, dynamic: bool) -> io::Result<()> {
        self.thread = THREAD + u32::from(execution.lane.device);
        let op = &network.ops[execution.op];
        let begin = execution.start.saturating_sub(AHEAD);
        let name = hash_of(&op.name);
        let node = NodeBasicInfo {
            head: self.head(level::NODE, 0, begin + 400),
            name,
            task_type: op.task_type,
            op_type: hash_of(op.op_type),
            blocks: op.blocks,
            flags: 0,
        };
        let mut tensors = [Tensor::default(); TENSORS_PER_RECORD];
        tensors.iter_mut().zip(&op.tensors).for_each(|(slot, tensor)| *slot = *tensor);
        let count = op.tensors.len().min(TENSORS_PER_RECORD) as u32;
        let tensors = TensorInfo { head: self.head(level::NODE, 1, begin + 450), name, count, tensors };
        let streams = if dynamic { &mut self.aging } else { &mut self.kept };
        put(&mut streams.nodes, &mut self.buffer, &node)?;
        put(&mut streams.tensors, &mut self.buffer, &tensors)?;
        self.call(dynamic, level::RUNTIME, 1_002, (begin + 100, begin + 300), 0)?;
        self.call(dynamic, level::NODE, 5, (begin, begin + 500), name)
    }
}

impl HostSide for HostFiles {
    fn launch(&mut self, network: &Network, execution: Execution, dynamic: bool) -> io::Result<()> {
        self.note_launch(network, execution, dynamic)?;
        let op = &network.ops[execution.op];
        let begin = execution.start.saturating_sub(AHEAD);
        let track = TaskTrack {
            head: self.head(level::RUNTIME, 802, begin + 250),
            device: execution.lane.device,
            stream: execution.lane.stream,
            task: execution.low(),
            batch: execution.high(),
            task_type: u64::from(op.kind),
            kernel: hash_of(&op.kernel),
            ..TaskTrack::default()
        };
        let streams = if dynamic { &mut self.aging } else { &mut self.kept };
        put(&mut streams.tracks, &mut self.buffer, &track)
    }

    fn flip(&mut self, execution: Execution, number: u16) -> io::Result<()> {
        let time = execution.start.saturating_sub(AHEAD) - 100;
        let record = TaskTrack {
            head: self.head(level::RUNTIME, 802, time),
            device: execution.lane.device,
            stream: execution.lane.stream,
            task: if number == u16::MAX { number } else { 0 },
            batch: number,
            task_type: FLIP_TASK,
            ..TaskTrack::default()
        };
        put(&mut self.aging.tracks, &mut self.buffer, &record)
    }

    fn load(&mut self, network: &Network, time: u64) -> io::Result<u64> {
        let begin = time;
        self.event(false, 2, 0, begin + 100)?;
        let mut now = begin + 1_000;
        for op in 0..network.ops.len() {
            let (lane, task) = (Lane::FIRST, op as u32 + 1);
            let execution = Execution { lane, op, task, start: now + AHEAD, duration: 0 };
            self.launch(network, execution, false)?;
            now += 1_000;
        }
        self.event(false, 2, 0, now + 100)?;
        let head = self.head(level::MODEL, 0, begin + 200);
        let model = GraphIdMap { head, name: hash_of(MODEL_NAME), graph: 1, model: MODEL };
        put(&mut self.models, &mut self.buffer, &model)?;
        self.call(false, level::ACL, 131_073, (begin, now + 200), 0)?;
        Ok(now + 100_000)
    }

    fn execute(&mut self, begin: u64, end: u64, request: u32) -> io::Result<()> {
        let start = begin.saturating_sub(AHEAD);
        self.call(true, level::RUNTIME, 1_003, (start + 20_000, end + 200), 0)?;
        self.event(true, 1, request, start + 1_000)?;
        self.event(true, 1, request, end + 500)?;
        self.call(true, level::ACL, 131_074, (start, end + 1_000), 0)
    }

    fn finish(self: Box<Self>, network: &Network) -> io::Result<()> {
        self.kept.finish()?;
        self.aging.finish()?;
        self.models.finish()?;
        let has_graphs = self.captures.has_written();
        self.captures.finish()?;
        self.short_captured.finish()?;
        if !self.long_captured.is_empty() {
            let mut writer = SliceWriter::new(&self.directory, "unaging.variable.capture_op_info");
            writer.write(&self.long_captured)?;
            writer.finish()?;
        }
        let of_collectives = if self.has_collectives { &TEXTS[..] } else { &[] };
        let of_units = if self.has_units { &dpu::TEXTS[..] } else { &[] };
        let further = of_collectives.iter().chain(of_units).map(|text| (hash_of(text), (*text).to_owned()));
        let texts = network.texts().into_iter().chain(further);
        let lines = texts.map(|(hash, text)| format!("{hash}:{text}\n"));
        dictionary(&self.directory, "hash_dic", &lines.collect::<String>())?;
        let of_graphs = if has_graphs { &capture::TYPES[..] } else { &[] };
        let of_collectives = if self.has_collectives { &collective::TYPES[..] } else { &[] };
        let types = TYPES.iter().chain(of_graphs).chain(of_collectives);
        let types = types.map(|(level, number, name)| format!("{level}_{number}:{name}\n"));
        dictionary(&self.directory, "type_info_dic", &types.collect::<String>())
    }
}

fn dictionary(directory: &Path, name: &str, text: &str) -> io::Result<()> {
    let mut writer = SliceWriter::new(directory, &format!("unaging.additional.{name}"));
    writer.write(text.as_bytes())?;
    writer.finish()
}

/// The names of types that the records use.
const TYPES: [(u16, u32, &str); 17] = [
    (level::RUNTIME, 0, "KERNEL_AICORE"),
    (level::RUNTIME, 1, "KERNEL_AICPU"),
    (level::RUNTIME, 5, "MEMCPY_ASYNC"),
    (level::RUNTIME, 66, "KERNEL_AIVEC"),
    (level::RUNTIME, 98, "FLIP_TASK"),
    (level::RUNTIME, 802, "task_track"),
    (level::RUNTIME, 1_002, "KernelLaunch"),
    (level::RUNTIME, 1_003, "StreamSynchronize"),
    (level::NODE, 0, "node_basic_info"),
    (level::NODE, 1, "tensor_info"),
    (level::NODE, 5, "launch"),
    (level::MODEL, 0, "graph_id_map"),
    (level::MODEL, 1, "ModelExecute"),
    (level::MODEL, 2, "ModelLoad"),
    (level::ACL, 131_073, "aclmdlLoadFromFile"),
    (level::ACL, 131_074, "aclmdlExecute"),
    (level::ACL, 65_537, "aclopExecuteV2"),
];
