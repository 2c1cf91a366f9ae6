//! Collective operations whose steps the AI CPU launches, between inferences of a run in which operators are
//! launched one by one.
//!
//! | operation | the host launches | the device's AI CPU launches |
//! |---|---|---|
//! | all-reduce, unfolded | a notification, a kernel on the AI CPU, a wait | on two streams a wait, copies, a notification |
//! | fused with a matrix product | a kernel on the AI CPU | on two streams a start, copies; noted in rounds |
//!
//! Each operation is in the profile with everything that a run's files tell of it, so nothing of it is counted
//! as lost.

use std::io;
use std::path::Path;

use opscope_cann_raw::additional::HcclInfo;
use opscope_cann_raw::host::{HcclOpInfo, Head, MAGIC, NodeBasicInfo, level};
use opscope_cann_raw::launching::{
    CommunicationStreams, CommunicationTurn, ComputeTurn, DeviceOperation, DeviceStep, DeviceSteps,
    LaunchFlip, MainStreamTask, kind,
};
use opscope_cann_raw::{Chip, hash_of};

use crate::synthetic::clockwork::Clockwork;
use crate::synthetic::device::DeviceFiles;
use crate::synthetic::dpu::Units;
use crate::synthetic::execution::Lane;
use crate::synthetic::hardware::File;
use crate::synthetic::host::HostFiles;

/// The ranks of the group.
const RANKS: u32 = 2;

/// Bytes that a copying step moves.
const STEP_BYTES: u64 = 1 << 20;

/// After how many tasks on a stream its numbers begin again, so that short runs have that too.
const NUMBERS: u32 = 24;

/// The stream on which the host launches unfolded operations.
const HOST_STREAM: u16 = 30;

/// The stream on which kernels of fused operators are launched.
const LAUNCH_STREAM: u16 = 31;

/// The streams on which the AI CPU launches, the main one first: of unfolded and of fused operations.
const STREAMS: [[u16; 2]; 2] = [[41, 42], [51, 52]];

/// The kinds of queue entries.
mod queue {
    pub(super) const AI_CPU: u16 = 1;
    pub(super) const WIDE_AI_CPU: u16 = 5;
    pub(super) const NOTIFY_RECORD: u16 = 6;
    pub(super) const NOTIFY_WAIT: u16 = 7;
    pub(super) const COPY: u16 = 11;
    pub(super) const CONTROL: u16 = 20;
}

/// The runtime's kinds of tasks.
const KERNEL_AICPU: u32 = 1;
pub(super) const NOTIFY_RECORD: u32 = 70;
pub(super) const NOTIFY_WAIT: u32 = 71;

/// The texts that the records name.
pub(super) const TEXTS: [&str; 12] = [
    "hcom_allReduce__001_0",
    "hcom_allReduce_",
    "AllReduceAicpuKernel",
    "AllGatherMatmulAicpuKernel",
    "AllGatherMatmul",
    "Notify_Record",
    "Notify_Wait",
    "Memcpy",
    "Reduce_Inline",
    "hccl_world_group",
    "mc2_group",
    "ring-ring",
];

/// Names of texts by their place in [`TEXTS`].
mod text {
    pub(super) const ALL_REDUCE: usize = 0;
    pub(super) const ALL_REDUCE_TYPE: usize = 1;
    pub(super) const ALL_REDUCE_KERNEL: usize = 2;
    pub(super) const FUSED_KERNEL: usize = 3;
    pub(super) const FUSED_TYPE: usize = 4;
    pub(super) const RECORD: usize = 5;
    pub(super) const WAIT: usize = 6;
    pub(super) const COPY: usize = 7;
    pub(super) const REDUCE: usize = 8;
    pub(super) const GROUP: usize = 9;
    pub(super) const FUSED_GROUP: usize = 10;
    pub(super) const ALGORITHM: usize = 11;
}

fn hash(text: usize) -> u64 {
    hash_of(TEXTS[text])
}

/// Writes the operations.
pub(super) struct Collectives {
    clockwork: Clockwork,
    wide: bool,
    /// The AI CPU's records.
    notes: File,
    streams: File,
    steps: File,
    operations: File,
    /// Data processing units, which a 950 has.
    units: Option<Units>,
    /// How many tasks there were on each stream; on chips with wide numbers, on all.
    numbers: std::collections::BTreeMap<u16, u32>,
    /// Half of a record of two steps.
    waiting: Option<DeviceStep>,
    /// How many operations of each kind there were.
    count: u32,
}

/// The units that nodes name.
const AI_CPU: u32 = 1;
const COMMUNICATION: u32 = 9;

/// A note on a node that is launched at a time.
fn node(host: &HostFiles, task_type: u32, name: u64, op_type: u64, at: u64) -> NodeBasicInfo {
    NodeBasicInfo { head: host.head_of(level::NODE, 0, at), name, task_type, op_type, blocks: 1, flags: 0 }
}

/// A task that is launched: its stream and number.
#[derive(Clone, Copy)]
struct Place {
    stream: u16,
    task: u32,
}

impl Place {
    /// Its number where records have two halves of 16 bits.
    fn halves(self, wide: bool) -> (u16, u16) {
        if wide { (self.task as u16, (self.task >> 16) as u16) } else { (self.stream, self.task as u16) }
    }
}

impl Collectives {
    pub(super) fn new(host: &Path, device: &Path, chip: Chip, clockwork: Clockwork) -> Self {
        Self {
            clockwork,
            wide: chip.has_wide_task_ids(),
            notes: File::new(device, "aicpu.data.0"),
            streams: File::new(host, "unaging.additional.mc2_comm_info"),
            steps: File::new(host, "aging.additional.hccl_info"),
            operations: File::new(host, "aging.compact.hccl_op_info"),
            units: chip.has_wide_task_ids().then(|| Units::new(host, clockwork)),
            numbers: std::collections::BTreeMap::new(),
            waiting: None,
            count: 0,
        }
    }

    /// An operation of each kind, executed from `time` on; returns when both have ended.
    pub(super) fn round(
        &mut self,
        host: &mut HostFiles,
        device: &mut DeviceFiles,
        time: u64,
    ) -> io::Result<u64> {
        if self.count == 0 {
            self.note_streams(time)?;
        }
        if let Some(units) = &mut self.units {
            units.round(host, time, self.count, hash(text::GROUP))?;
        }
        let unfolded = self.unfolded(host, device, time)?;
        let end = self.fused(host, device, unfolded + 5_000)?;
        self.count += 1;
        Ok(end + 5_000)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.write_steps(None)?;
        self.units.map_or(Ok(()), Units::finish)?;
        [self.notes, self.streams, self.steps, self.operations].into_iter().try_for_each(File::finish)
    }

    fn note_streams(&mut self, time: u64) -> io::Result<()> {
        let groups = [text::GROUP, text::FUSED_GROUP];
        // Nothing is launched on the first group's own stream.
        for ((group, streams), launch_stream) in groups.into_iter().zip(STREAMS).zip([1_999, LAUNCH_STREAM]) {
            let mut all = [0; 8];
            all.iter_mut().zip(streams).for_each(|(slot, stream)| *slot = u32::from(stream));
            let head = Head { magic: MAGIC, level: level::NODE, kind: 12, ..Head::default() };
            self.streams.put(&CommunicationStreams {
                head: Head { thread: super::host::THREAD, time: self.clockwork.host(time), ..head },
                group: hash(group),
                rank_size: RANKS,
                rank: 0,
                global_rank: 0,
                launch_stream: u32::from(launch_stream),
                count: 2,
                streams: all,
            })?;
        }
        Ok(())
    }

    /// The next task on a stream. Its numbers begin again sooner than on a device, which the device notes and
    /// whoever launches, the `host` or the AI CPU.
    fn next(
        &mut self,
        host: Option<&mut HostFiles>,
        device: &mut DeviceFiles,
        stream: u16,
        (launched, start): (u64, u64),
    ) -> io::Result<Place> {
        let number = self.numbers.entry(if self.wide { 0 } else { stream }).or_default();
        let place = Place { stream, task: *number };
        *number += 1;
        if self.wide {
            // Far from the numbers of the network's tasks.
            return Ok(Place { task: 0x4000_0000 + place.task, ..place });
        }
        let (wraps, task) = (place.task / NUMBERS, place.task % NUMBERS);
        if task == 0 && wraps > 0 {
            let lane = Lane { device: 0, stream };
            device.flip_at(lane, start - 100, wraps as u16)?;
            match host {
                Some(host) => host.flip_at(lane, launched, wraps as u16)?,
                None => {
                    let head = self.head(kind::FLIP, launched - 50);
                    self.notes.put(&LaunchFlip { head, stream, task: 0, flip: wraps })?;
                }
            }
        }
        Ok(Place { stream, task })
    }

    /// The kind of queue entry of the AI CPU.
    fn ai_cpu(&self) -> u16 {
        if self.wide { queue::WIDE_AI_CPU } else { queue::AI_CPU }
    }

    /// The head of one of the AI CPU's records.
    fn head(&self, kind: u32, time: u64) -> Head {
        let time = self.clockwork.device(time);
        Head { magic: MAGIC, level: level::AICPU, kind, thread: 1, length: 232, time }
    }

    /// A task that the host launches as a step of an unfolded operation.
    fn host_step(
        &mut self,
        host: &mut HostFiles,
        device: &mut DeviceFiles,
        (name, runtime, queued): (usize, u32, u16),
        (launched, start, end): (u64, u64, u64),
    ) -> io::Result<()> {
        host.step_call(hash(name), launched)?;
        self.steps.put(&HcclInfo {
            head: host.head_of(level::COMMUNICATION, 10, launched + 110),
            item: hash(name),
            group: hash(text::GROUP),
            remote_rank: u32::MAX,
            rank_size: RANKS,
            context: u32::MAX,
            notify: u64::MAX,
            data_type: 255,
            link: u32::MAX,
            transport: 2,
            rdma: u32::MAX,
            ..HcclInfo::default()
        })?;
        self.host_task(host, device, (runtime, queued), (launched, start, end), HOST_STREAM)?;
        Ok(())
    }

    /// A task that the host launches at a time, executed from `start` to `end`.
    fn host_task(
        &mut self,
        host: &mut HostFiles,
        device: &mut DeviceFiles,
        (runtime, queued): (u32, u16),
        (launched, start, end): (u64, u64, u64),
        stream: u16,
    ) -> io::Result<Place> {
        let place = self.next(Some(host), device, stream, (launched, start))?;
        host.hand_out(Lane { device: 0, stream }, place.task, runtime, launched)?;
        device.log_task(Lane { device: 0, stream }, place.task, queued, start, end)?;
        Ok(place)
    }

    /// A task that the AI CPU launches at a time, executed from `start` to `end`.
    fn device_step(
        &mut self,
        device: &mut DeviceFiles,
        (name, queued): (usize, u16),
        (launched, start, end): (u64, u64, u64),
        (stream, group): (u16, usize),
    ) -> io::Result<Place> {
        let place = self.next(None, device, stream, (launched, start))?;
        device.log_task(Lane { device: 0, stream }, place.task, queued, start, end)?;
        let moves = queued == queue::COPY;
        self.write_steps(Some(DeviceStep {
            item: hash(name),
            group: hash(group),
            remote_rank: if moves { 1 } else { u32::MAX },
            rank_size: RANKS,
            notify: if moves { u64::MAX } else { 0x55 },
            time: self.clockwork.device(launched),
            estimate: 1.5,
            size: if moves { STEP_BYTES } else { 0 },
            task: place.task,
            stream,
            plane: 0,
            data_type: if moves { 4 } else { 255 },
            link: if moves { 1 } else { 255 },
            transport: if moves { 0 } else { 2 },
            rdma: 255,
            ..DeviceStep::default()
        }))?;
        Ok(place)
    }

    /// Keeps a step until there is a second for its record; without one, writes the record that is begun.
    fn write_steps(&mut self, step: Option<DeviceStep>) -> io::Result<()> {
        match (self.waiting.take(), step) {
            (None, step) => self.waiting = step,
            (Some(first), second) => {
                let head = Head { magic: MAGIC, level: level::AICPU, kind: kind::STEPS, ..Head::default() };
                self.notes.put(&DeviceSteps { head, steps: [first, second.unwrap_or_default()] })?;
            }
        }
        Ok(())
    }

    /// An all-reduce that the AI CPU unfolds.
    fn unfolded(&mut self, host: &mut HostFiles, device: &mut DeviceFiles, time: u64) -> io::Result<u64> {
        let launched = time - super::host::AHEAD;
        let name = hash(text::ALL_REDUCE);
        host.node(&node(host, COMMUNICATION, name, hash(text::ALL_REDUCE_TYPE), launched + 10))?;
        self.operations.put(&HcclOpInfo {
            head: host.head_of(level::NODE, 10, launched + 20),
            flags: 0,
            data_type: 4,
            algorithm: hash(text::ALGORITHM),
            count: STEP_BYTES / 4,
            group: hash(text::GROUP),
        })?;
        let record = (text::RECORD, NOTIFY_RECORD, queue::NOTIFY_RECORD);
        self.host_step(host, device, record, (launched + 100, time, time + 1_000))?;
        let kernel = hash(text::ALL_REDUCE_KERNEL);
        host.node(&node(host, AI_CPU, kernel, kernel, launched + 410))?;
        let (begin, end) = (time + 2_000, time + 22_000);
        let launcher = (KERNEL_AICPU, self.ai_cpu());
        let own = self.host_task(host, device, launcher, (launched + 500, begin, end), HOST_STREAM)?;
        host.node_call((launched + 400, launched + 800), kernel)?;
        let wait = (text::WAIT, NOTIFY_WAIT, queue::NOTIFY_WAIT);
        self.host_step(host, device, wait, (launched + 900, end + 1_000, end + 8_000))?;
        host.node_call((launched, launched + 1_200), name)?;

        let (stream, task) = (own.stream, own.task);
        self.notes.put(&DeviceOperation {
            head: self.head(kind::OPERATION, begin + 1_000),
            flags: 2,
            data_type: 4,
            algorithm: hash(text::ALGORITHM),
            count: STEP_BYTES / 4,
            group: hash(text::GROUP),
            rank_size: RANKS,
            stream,
            task,
        })?;
        let [main, other] = STREAMS[0];
        let of = |stream| (stream, text::GROUP);
        let waits = (text::WAIT, queue::NOTIFY_WAIT);
        let first =
            self.device_step(device, waits, (begin + 2_000, begin + 2_300, begin + 3_000), of(main))?;
        self.note_end(own, first, begin + 2_000, 0)?;
        let copies = (text::COPY, queue::COPY);
        self.device_step(device, copies, (begin + 2_200, begin + 4_000, begin + 9_000), of(other))?;
        let reduces = (text::REDUCE, queue::COPY);
        self.device_step(device, reduces, (begin + 2_400, begin + 4_000, begin + 11_000), of(main))?;
        let records = (text::RECORD, queue::NOTIFY_RECORD);
        let at = (begin + 2_600, begin + 12_000, begin + 13_000);
        let last = self.device_step(device, records, at, of(main))?;
        self.note_end(own, last, begin + 2_600, 1)?;
        Ok(end + 8_000)
    }

    fn note_end(&mut self, own: Place, task: Place, time: u64, place: u16) -> io::Result<()> {
        let ((launch_stream, launch_task), (stream, task)) = (own.halves(self.wide), task.halves(self.wide));
        let head = self.head(kind::MAIN_STREAM_TASK, time);
        self.notes.put(&MainStreamTask { head, launch_stream, launch_task, stream, task, place })
    }

    /// The communication of a fused operator.
    fn fused(&mut self, host: &mut HostFiles, device: &mut DeviceFiles, time: u64) -> io::Result<u64> {
        let launched = time - super::host::AHEAD;
        let kernel = hash(text::FUSED_KERNEL);
        host.node(&node(host, AI_CPU, kernel, hash(text::FUSED_TYPE), launched + 10))?;
        let end = time + 40_000;
        let launcher = (KERNEL_AICPU, self.ai_cpu());
        let own = self.host_task(host, device, launcher, (launched + 100, time, end), LAUNCH_STREAM)?;
        host.node_call((launched, launched + 500), kernel)?;
        let (stream, task) = own.halves(self.wide);
        let [main, other] = STREAMS[1];
        for turn in 0..2u8 {
            let at = time + 2_000 + u64::from(turn) * 18_000;
            let step = |after: u64| self.clockwork.device(at + after);
            let times = [0, 1_000, 2_000, 3_000, 4_000, 14_000, 15_000].map(step);
            let head = self.head(kind::COMMUNICATION_TURN, at + 15_000);
            let (turns, version, bytes) = (2, 0, 2 * STEP_BYTES);
            self.notes.put(&CommunicationTurn {
                head,
                times,
                bytes,
                device: 0,
                stream,
                task,
                version,
                turns,
                turn,
            })?;
            let times = [500, 1_500, 9_500].map(|after| self.clockwork.device(at + after));
            let head = self.head(kind::COMPUTE_TURN, at + 15_000);
            self.notes.put(&ComputeTurn {
                head,
                times,
                bytes,
                device: 0,
                stream,
                task,
                version,
                turns,
                turn,
            })?;
            let of = |stream| (stream, text::FUSED_GROUP);
            let starts = (text::RECORD, queue::CONTROL);
            self.device_step(device, starts, (at + 3_000, at + 4_000, at + 5_000), of(main))?;
            let copies = (text::COPY, queue::COPY);
            self.device_step(device, copies, (at + 3_200, at + 6_000, at + 12_000), of(other))?;
            self.device_step(device, copies, (at + 3_400, at + 6_000, at + 13_000), of(main))?;
        }
        Ok(end)
    }
}
