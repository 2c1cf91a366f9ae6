//! The host's files of sample profiles in the layout of the tool chain of 2022 (CANN 5.x).

use std::io;
use std::path::Path;

use opscope_cann_raw::host::MAGIC;
use opscope_cann_raw::legacy::{
    AclCall, IdMap, LongName, ModelLoad, ModelTime, NO_CONTEXT, RuntimeCall, RuntimeTrack, ShortName,
    TaskDescription, TensorData, padded, tag,
};
use opscope_cann_raw::{Record, SliceWriter, hash_of};

use crate::kinds::USUAL_RUNTIME_NAMES;
use crate::synthetic::clockwork::Clockwork;
use crate::synthetic::execution::{Execution, HostSide, Lane};
use crate::synthetic::host::{AHEAD, MODEL, STREAM, THREAD};
use crate::synthetic::network::{MODEL_NAME, Network};
use crate::synthetic::options::SampleLayout;

/// The groups of calls of AscendCL.
const OPERATORS: u32 = 1;
const MODELS: u32 = 2;

/// The number that stands for no model.
const NO_MODEL: u32 = u32::MAX;

/// Writes the host's files.
pub(super) struct HostFiles2022 {
    clockwork: Clockwork,
    models: SliceWriter,
    operators: SliceWriter,
    runtime: SliceWriter,
    tracks: SliceWriter,
    tasks: SliceWriter,
    tensors: SliceWriter,
    loads: SliceWriter,
    maps: SliceWriter,
    times: SliceWriter,
    names: SliceWriter,
    buffer: Vec<u8>,
    iteration: u64,
}

fn put(writer: &mut SliceWriter, buffer: &mut Vec<u8>, record: &impl Record) -> io::Result<()> {
    buffer.clear();
    record.append_to(buffer);
    writer.write(buffer)
}

impl HostFiles2022 {
    /// AscendCL and the runtime report into the host's directory, the framework into the device's.
    pub(super) fn new(host: &Path, device: &Path, clockwork: Clockwork, layout: SampleLayout) -> Self {
        let is_job = layout == SampleLayout::Job2022;
        let framework = if is_job { "Framework.host" } else { "Framework" };
        let of_framework = |name: &str| SliceWriter::new(device, &format!("{framework}.{name}.0"));
        let tracks = if is_job { "runtime.host.runtime.0" } else { "runtime.task_track.0" };
        Self {
            clockwork,
            models: SliceWriter::new(host, "AclModule.acl_model.0"),
            operators: SliceWriter::new(host, "AclModule.acl_op.0"),
            runtime: SliceWriter::new(host, "runtime.api.0"),
            tracks: SliceWriter::new(host, tracks),
            tasks: of_framework("task_desc_info"),
            tensors: of_framework("tensor_data_info"),
            loads: of_framework("model_load_info_1"),
            maps: SliceWriter::new(device, "Framework.id_map_info.0"),
            times: of_framework("model_time_info_1_0"),
            names: SliceWriter::new(device, "Framework.hash_dic.0"),
            buffer: Vec::with_capacity(256),
            iteration: 0,
        }
    }

    fn call(&mut self, kind: u32, name: &str, span: (u64, u64)) -> io::Result<()> {
        let record = AclCall {
            magic: MAGIC,
            tag: tag::ACL,
            kind,
            begin: self.clockwork.host(span.0),
            end: self.clockwork.host(span.1),
            process: THREAD,
            thread: THREAD,
            name: padded(name),
        };
        let writer = if kind == OPERATORS { &mut self.operators } else { &mut self.models };
        put(writer, &mut self.buffer, &record)
    }

    fn runtime_call(&mut self, name: &str, span: (u64, u64), task: Option<u16>) -> io::Result<()> {
        let mut tasks = [0; 20];
        tasks[0] = u32::from(task.unwrap_or(0));
        let record = RuntimeCall {
            magic: MAGIC,
            tag: tag::RUNTIME_API,
            thread: THREAD,
            begin: self.clockwork.host(span.0),
            end: self.clockwork.host(span.1),
            name: padded(name),
            stream: u32::from(STREAM),
            count: u32::from(task.is_some()),
            tasks,
            ..RuntimeCall::default()
        };
        put(&mut self.runtime, &mut self.buffer, &record)
    }
}

impl HostSide for HostFiles2022 {
    fn launch(&mut self, network: &Network, execution: Execution, dynamic: bool) -> io::Result<()> {
        let op = &network.ops[execution.op];
        let begin = execution.start.saturating_sub(AHEAD);
        let (stream, task) = (u32::from(STREAM), execution.task);
        // Operators with dynamic shapes are launched one by one, outside of a model.
        let (model, iteration) = if dynamic { (NO_MODEL, self.iteration) } else { (MODEL, 0) };
        let description = TaskDescription {
            magic: MAGIC,
            tag: tag::TASK_DESCRIPTION,
            task_type: op.task_type,
            // Long names are told by their hash.
            name: LongName::from_hash(hash_of(&op.name)),
            op_type: ShortName::from_text(op.op_type),
            iteration,
            time: self.clockwork.host(begin + 400),
            shape_type: u32::from(dynamic),
            blocks: op.blocks,
            model,
            stream,
            task,
            thread: THREAD,
            context: NO_CONTEXT,
        };
        put(&mut self.tasks, &mut self.buffer, &description)?;
        let mut tensors = TensorData {
            magic: MAGIC,
            tag: tag::TENSOR,
            model,
            iteration,
            stream,
            task,
            count: op.tensors.len() as u32,
            ..TensorData::default()
        };
        tensors.tensors.iter_mut().zip(&op.tensors).for_each(|(slot, tensor)| *slot = *tensor);
        put(&mut self.tensors, &mut self.buffer, &tensors)?;
        let kind = USUAL_RUNTIME_NAMES.iter().find(|(number, _)| *number == op.kind);
        let track = RuntimeTrack {
            magic: MAGIC,
            tag: tag::RUNTIME_TRACK,
            thread: THREAD,
            time: self.clockwork.host(begin + 250),
            task_type: padded(kind.map_or("KERNEL_AICORE", |(_, name)| name)),
            device: 0,
            stream: STREAM,
            task: execution.low(),
            batch: 0,
        };
        put(&mut self.tracks, &mut self.buffer, &track)?;
        self.runtime_call("KernelLaunch", (begin + 100, begin + 300), Some(execution.low()))?;
        if dynamic {
            self.call(OPERATORS, "aclopExecuteV2", (begin, begin + 500))?;
        }
        Ok(())
    }

    fn flip(&mut self, _execution: Execution, _number: u16) -> io::Result<()> {
        // That tool chain didn't tell that task numbers start again.
        self.iteration += 1;
        Ok(())
    }

    fn load(&mut self, network: &Network, time: u64) -> io::Result<u64> {
        let mut now = time + 1_000;
        for op in 0..network.ops.len() {
            let (lane, task) = (Lane::FIRST, op as u32 + 1);
            let execution = Execution { lane, op, task, start: now + AHEAD, duration: 0 };
            self.launch(network, execution, false)?;
            now += 1_000;
        }
        let load = ModelLoad {
            magic: MAGIC,
            tag: tag::MODEL_LOAD,
            model: MODEL,
            name: LongName::from_text(MODEL_NAME),
            start: self.clockwork.host(time + 100),
            end: self.clockwork.host(now + 100),
        };
        put(&mut self.loads, &mut self.buffer, &load)?;
        let map = IdMap {
            magic: MAGIC,
            tag: tag::ID_MAP,
            graph: 1,
            model: MODEL,
            session: 0,
            time: self.clockwork.host(time + 200),
            mode: 0,
        };
        put(&mut self.maps, &mut self.buffer, &map)?;
        self.call(MODELS, "aclmdlLoadFromFileWithMem", (time, now + 200))?;
        Ok(now + 100_000)
    }

    fn execute(&mut self, begin: u64, end: u64, request: u32) -> io::Result<()> {
        let start = begin.saturating_sub(AHEAD);
        let host = |time: u64| self.clockwork.host(time);
        let times = ModelTime {
            magic: MAGIC,
            tag: tag::MODEL_TIME,
            model: MODEL,
            name: LongName::from_text(MODEL_NAME),
            request,
            thread: THREAD,
            input: [host(start + 500), host(start + 1_000)],
            compute: [host(start + 1_000), host(end + 500)],
            output: [host(end + 500), host(end + 700)],
        };
        put(&mut self.times, &mut self.buffer, &times)?;
        self.runtime_call("StreamSynchronize", (start + 20_000, end + 200), None)?;
        self.call(MODELS, "aclmdlExecute", (start, end + 1_000))
    }

    fn finish(mut self: Box<Self>, network: &Network) -> io::Result<()> {
        let lines = network.texts().into_iter().map(|(hash, text)| format!("{hash}:{text}\n"));
        self.names.write(lines.collect::<String>().as_bytes())?;
        let Self { models, operators, runtime, tracks, tasks, tensors, loads, maps, times, names, .. } =
            *self;
        [models, operators, runtime, tracks, tasks, tensors, loads, maps, times, names]
            .into_iter()
            .try_for_each(SliceWriter::finish)
    }
}
