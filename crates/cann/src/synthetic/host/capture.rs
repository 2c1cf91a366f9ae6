//! The host's records of captured graphs.

use std::io;

use opscope_cann_raw::additional::Tensor;
use opscope_cann_raw::capture::{CapturedOp, CapturedOpRecord, TENSORS_PER_CAPTURED_OP};
use opscope_cann_raw::host::{CaptureStreamInfo, Head, MAGIC, TaskTrack, level};
use opscope_cann_raw::{Record, hash_of};

use super::{EVENT_RECORD, HostFiles, THREAD, put};
use crate::synthetic::clockwork::HOST_COUNTER;
use crate::synthetic::execution::{Execution, Lane};
use crate::synthetic::graph::{Graph, Moment};
use crate::synthetic::network::{Network, Op};

/// The names of types that these records use.
pub(super) const TYPES: [(u16, u32, &str); 5] = [
    (level::RUNTIME, EVENT_RECORD, "EVENT_RECORD"),
    (level::RUNTIME, 803, "capture_stream_info"),
    (level::RUNTIME, 805, "capture_op_info"),
    (level::ACL, 655_361, "aclmdlRICaptureBegin"),
    (level::ACL, 655_362, "aclmdlRIExecuteAsync"),
];

impl HostFiles {
    /// Notes a graph as the runtime does when it is first replayed: its streams, its tasks at the times of
    /// their capture, and its operators. Where it is recorded while it is captured (`is_launched`), the nodes
    /// are noted as well.
    pub(in crate::synthetic) fn capture(
        &mut self,
        network: &Network,
        graph: &Graph,
        is_launched: bool,
    ) -> io::Result<()> {
        for lane in graph.streams() {
            let begin = self.moment(graph.begin);
            self.stream_of_graph(CaptureStreamInfo::CAPTURED, lane, graph.number, begin)?;
        }
        for (task, moment) in &graph.tasks {
            let op = &network.ops[task.op];
            if is_launched {
                // A node's call begins so long before its task starts.
                let start = u64::try_from(*moment).unwrap_or_default() + super::AHEAD - 250;
                self.note_launch(network, Execution { start, ..*task }, true)?;
            }
            self.track_captured(task, u64::from(op.kind), hash_of(&op.kernel), *moment)?;
            self.operator_of_graph(graph.number, op, task, *moment)?;
        }
        if let Some((event, moment)) = &graph.event {
            self.track_captured(event, u64::from(EVENT_RECORD), 0, *moment)?;
        }
        Ok(())
    }

    /// The call that replays a graph.
    pub(in crate::synthetic) fn replay(&mut self, graph: &Graph, device: u16, begin: u64) -> io::Result<()> {
        self.thread = THREAD + u32::from(device);
        self.call(true, level::ACL, 655_362, (begin, begin + 3_000), u64::from(graph.number))
    }

    /// Notes that a graph is gone.
    pub(in crate::synthetic) fn destroy(&mut self, graph: &Graph, device: u16, time: u64) -> io::Result<()> {
        let lane = Lane { device, stream: u16::MAX };
        let time = self.clockwork.host(time);
        self.stream_of_graph(CaptureStreamInfo::DESTROYED, lane, graph.number, time)
    }

    /// The host's counter at a moment.
    fn moment(&self, moment: Moment) -> u64 {
        HOST_COUNTER.saturating_add_signed(moment / 10)
    }

    fn head_at(&self, kind: u32, length: usize, time: u64, device: u16) -> Head {
        let thread = THREAD + u32::from(device);
        Head { magic: MAGIC, level: level::RUNTIME, kind, thread, length: length as u32, time }
    }

    fn stream_of_graph(&mut self, status: u16, lane: Lane, graph: u16, time: u64) -> io::Result<()> {
        let record = CaptureStreamInfo {
            head: self.head_at(803, 10, time, lane.device),
            status,
            model_stream: lane.stream,
            original_stream: if status == CaptureStreamInfo::CAPTURED { super::STREAM } else { u16::MAX },
            model: graph,
            device: lane.device,
        };
        put(&mut self.captures, &mut self.buffer, &record)
    }

    fn track_captured(
        &mut self,
        task: &Execution,
        task_type: u64,
        kernel: u64,
        at: Moment,
    ) -> io::Result<()> {
        let record = TaskTrack {
            head: self.head_at(802, 0, self.moment(at), task.lane.device),
            device: task.lane.device,
            stream: task.lane.stream,
            task: task.low(),
            batch: task.high(),
            task_type,
            kernel,
            ..TaskTrack::default()
        };
        put(&mut self.kept.tracks, &mut self.buffer, &record)
    }

    /// The note on an operator: padded to the usual size, or with more tensors as long as it needs to be.
    fn operator_of_graph(&mut self, graph: u16, op: &Op, task: &Execution, at: Moment) -> io::Result<()> {
        let length = CapturedOp::SIZE - Head::SIZE + op.tensors.len() * Tensor::SIZE;
        let note = CapturedOp {
            head: self.head_at(805, length, self.moment(at + 200), task.lane.device),
            model: u32::from(graph),
            device: u32::from(task.lane.device),
            stream: u32::from(task.lane.stream),
            task: task.task,
            task_type: op.task_type,
            blocks: op.blocks,
            name: hash_of(&op.name),
            op_type: hash_of(op.op_type),
            attributes: 0,
            flags: 0,
            count: op.tensors.len() as u32,
        };
        if op.tensors.len() <= TENSORS_PER_CAPTURED_OP {
            let mut record = CapturedOpRecord { op: note, ..CapturedOpRecord::default() };
            record.tensors.iter_mut().zip(&op.tensors).for_each(|(slot, tensor)| *slot = *tensor);
            return put(&mut self.short_captured, &mut self.buffer, &record);
        }
        note.append_to(&mut self.long_captured);
        op.tensors.iter().for_each(|tensor| tensor.append_to(&mut self.long_captured));
        Ok(())
    }
}
