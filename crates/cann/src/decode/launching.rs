//! Collective operations whose steps the AI CPU launched: its records among those of operators, and the host's
//! of the streams that it uses.

use opscope_cann_raw::launching::{
    CommunicationStreams, CommunicationTurn, ComputeTurn, DeviceOperation as RawOperation, DeviceSteps,
    LaunchFlip, MainStreamTask as RawMainStreamTask, SingleDeviceStep, kind,
};
use opscope_cann_raw::{Chip, Record, host};

use crate::catalogue::Catalogue;
use crate::decode::communication::collective_flags;
use crate::decode::{decode, stars};
use crate::slices::HOST_MAGIC;
use crate::tables::{
    CollectiveNote, CommunicationNote, DeviceFlip, DeviceOperation, DeviceStep, GroupStreams,
    GroupStreamsTable, LaunchingTables, MainStreamTask, NO_CONTEXT, ServerPhase, ServerPhaseRun,
};
use opscope_trace::{LossKind, Losses};

/// Whether a kind of record in `aicpu.data` is decoded here.
pub(super) fn is_own(kind: u32) -> bool {
    use kind::{COMMUNICATION_TURN, COMPUTE_TURN, FLIP, MAIN_STREAM_TASK, OPERATION, STEP, STEPS};
    matches!(kind, COMMUNICATION_TURN | COMPUTE_TURN | STEP | OPERATION | FLIP | MAIN_STREAM_TASK | STEPS)
}

/// Decodes the host's record of the streams of groups of ranks.
pub(super) fn group_streams(catalogue: &Catalogue, losses: &mut Losses) -> GroupStreamsTable {
    decode(
        catalogue.streams("additional.mc2_comm_info"),
        Some(HOST_MAGIC),
        losses,
        |table: &mut GroupStreamsTable, raw: CommunicationStreams, _| {
            let CommunicationStreams { group, rank_size, launch_stream, count, streams, .. } = raw;
            if count as usize > streams.len() {
                return Err(LossKind::InvalidRecord);
            }
            table.push(GroupStreams { group, rank_size, launch_stream, count, streams });
            Ok(())
        },
    )
}

/// A record of `aicpu.data`, of which the kind decides the layout.
#[derive(Clone, Copy, Debug)]
struct AnyRecord {
    bytes: [u8; 256],
}

impl Default for AnyRecord {
    fn default() -> Self {
        Self { bytes: [0; Self::SIZE] }
    }
}

impl Record for AnyRecord {
    const SIZE: usize = 256;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self { bytes: *bytes.first_chunk()? })
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[..Self::SIZE].copy_from_slice(&self.bytes);
    }
}

/// The numbers of streams and tasks in the AI CPU's records.
#[derive(Clone, Copy)]
struct Numbers {
    /// Whether tasks have 32 bits, of which records with 16 keep the lower half in the stream.
    wide: bool,
    expanded: bool,
}

impl Numbers {
    /// Of a record whose task has 16 bits.
    fn of_halves(self, stream: u16, task: u16) -> (u16, u32) {
        if self.wide {
            return (stream, u32::from(task) << 16 | u32::from(stream));
        }
        let (stream, task) = stars::numbers(stream, task, self.expanded, None);
        (stream, u32::from(task))
    }

    /// Of a record whose task has 32 bits.
    fn of_whole(self, stream: u16, task: u32) -> (u16, u32) {
        if self.wide {
            return (stream, task);
        }
        let (stream, task) = stars::numbers(stream, task as u16, self.expanded, None);
        (stream, u32::from(task))
    }
}

/// Decodes the AI CPU's records.
pub(super) fn launching(
    catalogue: &Catalogue,
    chip: Chip,
    expanded: bool,
    losses: &mut Losses,
) -> LaunchingTables {
    let numbers = Numbers { wide: chip.has_wide_task_ids(), expanded };
    // Other losses are counted where records of operators are decoded.
    let mut own_losses = Losses::default();
    let mut tables = decode(
        catalogue.streams("aicpu.data"),
        Some(HOST_MAGIC),
        &mut own_losses,
        |tables: &mut LaunchingTables, raw: AnyRecord, _| {
            add(tables, &raw.bytes, numbers).ok_or(LossKind::InvalidRecord)
        },
    );
    losses.count(LossKind::InvalidRecord, "aicpu.data", own_losses.total(LossKind::InvalidRecord));
    tables.operations.sort_by_key(|table, row| table.note()[row].time);
    tables.ends.sort_by_key(|table, row| table.time()[row]);
    tables.flips.sort_by_key(|table, row| table.time()[row]);
    tables
}

/// Adds a record; `None` if its content is impossible.
fn add(found: &mut LaunchingTables, bytes: &[u8; AnyRecord::SIZE], numbers: Numbers) -> Option<()> {
    let head = host::Head::read(bytes)?;
    if head.level != host::level::AICPU {
        return Some(());
    }
    match head.kind {
        kind::COMMUNICATION_TURN => {
            let raw = CommunicationTurn::read(bytes)?;
            let place = numbers.of_halves(raw.stream, raw.task);
            phases(found, place, raw.turn, &raw.times, &ServerPhase::OF_COMMUNICATION)
        }
        kind::COMPUTE_TURN => {
            let raw = ComputeTurn::read(bytes)?;
            let place = numbers.of_halves(raw.stream, raw.task);
            phases(found, place, raw.turn, &raw.times, &ServerPhase::OF_COMPUTING)
        }
        kind::OPERATION => {
            operation(found, RawOperation::read(bytes)?, numbers);
            Some(())
        }
        kind::FLIP => {
            let raw = LaunchFlip::read(bytes)?;
            let (stream, _) = numbers.of_halves(raw.stream, raw.task);
            let number = u16::try_from(raw.flip).ok()?;
            found.flips.push(DeviceFlip { time: head.time, stream, number, task: 0 });
            Some(())
        }
        kind::MAIN_STREAM_TASK => {
            let raw = RawMainStreamTask::read(bytes)?;
            let (launch_stream, launch_task) = numbers.of_halves(raw.launch_stream, raw.launch_task);
            let (stream, task) = numbers.of_halves(raw.stream, raw.task);
            let is_first = match raw.place {
                0 => true,
                1 => false,
                _ => return None,
            };
            let time = head.time;
            found.ends.push(MainStreamTask { time, launch_stream, launch_task, stream, task, is_first });
            Some(())
        }
        kind::STEPS => {
            let raw = DeviceSteps::read(bytes)?;
            raw.steps.into_iter().filter(|step| step.group != 0).for_each(|step| {
                found.steps.push(self::step(step, numbers));
            });
            Some(())
        }
        kind::STEP => {
            found.steps.push(single_step(SingleDeviceStep::read(bytes)?, numbers));
            Some(())
        }
        _ => Some(()),
    }
}

/// Adds the phases between the times of a round; `None` if the times don't rise.
fn phases(
    found: &mut LaunchingTables,
    (stream, task): (u16, u32),
    turn: u8,
    times: &[u64],
    phases: &[ServerPhase],
) -> Option<()> {
    if !times.is_sorted() || times.first() == Some(&0) {
        return None;
    }
    for (&phase, span) in phases.iter().zip(times.windows(2)) {
        found.phases.push(ServerPhaseRun { stream, task, turn, phase, start: span[0], end: span[1] });
    }
    Some(())
}

fn operation(found: &mut LaunchingTables, raw: RawOperation, numbers: Numbers) {
    let (stream, task) = numbers.of_whole(raw.stream, raw.task);
    let (relayed, retried) = collective_flags(raw.flags);
    let note = CollectiveNote {
        thread: 0,
        time: raw.head.time,
        relayed,
        retried,
        data_type: raw.data_type,
        algorithm: raw.algorithm,
        count: raw.count,
        group: raw.group,
    };
    found.operations.push(DeviceOperation { stream, task, rank_size: raw.rank_size, note });
}

fn step(raw: opscope_cann_raw::launching::DeviceStep, numbers: Numbers) -> DeviceStep {
    let (stream, task) = numbers.of_whole(raw.stream, raw.task);
    let note = CommunicationNote {
        thread: 0,
        time: raw.time,
        name: raw.item,
        group: raw.group,
        local_rank: raw.local_rank,
        remote_rank: raw.remote_rank,
        rank_size: raw.rank_size,
        plane: u32::from(raw.plane),
        context: NO_CONTEXT,
        notify: raw.notify,
        estimate: raw.estimate,
        size: raw.size,
        data_type: u32::from(raw.data_type),
        link: u32::from(raw.link),
        transport: u32::from(raw.transport),
        rdma: u32::from(raw.rdma),
    };
    DeviceStep { stream, task, note }
}

fn single_step(raw: SingleDeviceStep, numbers: Numbers) -> DeviceStep {
    let (stream, task) = numbers.of_whole(raw.stream, raw.task);
    let note = CommunicationNote {
        thread: 0,
        time: raw.head.time,
        name: raw.item,
        group: raw.group,
        local_rank: raw.local_rank,
        remote_rank: raw.remote_rank,
        rank_size: raw.rank_size,
        plane: raw.plane,
        context: NO_CONTEXT,
        notify: raw.notify,
        estimate: raw.estimate,
        size: raw.size,
        data_type: raw.data_type,
        link: raw.link,
        transport: raw.transport,
        rdma: raw.rdma,
    };
    DeviceStep { stream, task, note }
}
