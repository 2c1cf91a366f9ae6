//! `ts_track.data`: steps of models, wraps of task numbers, states of tasks and copies.

use opscope_cann_raw::device::{
    EventCount, StepTrace, TrackBlockNum, TrackFlip, TrackHead, TrackMemcpy as RawMemcpy, TrackTaskType,
    TrackTimeline, WideStepTrace, track,
};
use opscope_cann_raw::{Chip, Record};
use opscope_columns::Column;

use crate::decode::stars::Edge;
use crate::slices::Stream;
use crate::tables::{
    BlockNum, Core, Counters, DeviceFlip, DeviceTables, NO_CONTEXT, Step, TaskLog, TaskState, TrackMemcpy,
    eight_counters,
};
use opscope_trace::{LossKind, Losses};

/// The size of records on all chips but 0.
const RECORD_BYTES: usize = 40;

/// Decodes `ts_track.data` of chips whose records all have one size. Starts and ends of tasks,
/// which some of these chips report here, are appended to `edges`.
pub(super) fn fixed(streams: &[Stream], chip: Chip, tables: &mut DeviceTables, edges: &mut Column<Edge>) {
    let mut losses = Losses::default();
    for stream in streams {
        let mapped = stream.map(&mut losses);
        for piece in mapped.pieces(RECORD_BYTES, None, &mut losses) {
            for bytes in piece.chunks_exact(RECORD_BYTES) {
                if let Err(reason) = record(bytes, chip, tables, edges) {
                    losses.count(reason, &stream.name, 1);
                }
            }
        }
    }
    tables.losses.merge(losses);
}

/// Decodes a file of chip 0, `ts_track.data` or `aicore.data`, whose records tell their own size.
pub(super) fn variable(streams: &[Stream], tables: &mut DeviceTables) {
    let mut losses = Losses::default();
    for stream in streams {
        let mapped = stream.map(&mut losses);
        // A record that is smaller than its own head ends what can be read.
        let size_of = |bytes: &[u8]| {
            let size = usize::from(<TrackHead as Record>::read(bytes)?.size);
            Some(if size < TrackHead::SIZE { 0 } else { size })
        };
        let left = mapped.sized_records(size_of, |bytes| {
            if let Err(reason) = record(bytes, Chip::V1_1_0, tables, &mut Column::new()) {
                losses.count(reason, &stream.name, 1);
            }
        });
        losses.count(LossKind::PartialRecord, &stream.name, u64::from(left > 0));
    }
    tables.losses.merge(losses);
}

fn record(
    bytes: &[u8],
    chip: Chip,
    tables: &mut DeviceTables,
    edges: &mut Column<Edge>,
) -> Result<(), LossKind> {
    const SHORT: LossKind = LossKind::InvalidRecord;
    let tag = bytes.get(1).copied().ok_or(SHORT)?;
    match tag {
        track::STEP if chip.has_wide_task_ids() => {
            let raw = <WideStepTrace as Record>::read(bytes).ok_or(SHORT)?;
            let WideStepTrace { time, index, model, tag, stream, task, .. } = raw;
            tables.steps.push(Step { time, index, model, stream, task, tag });
        }
        track::STEP => {
            let raw = <StepTrace as Record>::read(bytes).ok_or(SHORT)?;
            let StepTrace { time, index, model, stream, task, tag, .. } = raw;
            tables.steps.push(Step { time, index, model, stream, task: u32::from(task), tag });
        }
        track::FLIP => {
            let TrackFlip { time, stream, flip, task, .. } =
                <TrackFlip as Record>::read(bytes).ok_or(SHORT)?;
            tables.flips.push(DeviceFlip { time, stream, number: flip, task });
        }
        track::MEMCPY => {
            let RawMemcpy { time, stream, task, state, .. } =
                <RawMemcpy as Record>::read(bytes).ok_or(SHORT)?;
            tables.memcpys.push(TrackMemcpy { time, stream, task, state });
        }
        track::BLOCK_NUM => {
            let raw = <TrackBlockNum as Record>::read(bytes).ok_or(SHORT)?;
            let TrackBlockNum { time, stream, task, blocks, .. } = raw;
            tables.block_nums.push(BlockNum { time, stream, task, blocks });
        }
        track::TASK_TYPE => {
            let raw = <TrackTaskType as Record>::read(bytes).ok_or(SHORT)?;
            let is_end = match raw.state {
                1 => false,
                2 => true,
                _ => return Ok(()),
            };
            let (stream, task, kind) = (raw.stream, u32::from(raw.task), raw.task_type);
            let log = TaskLog::Track;
            edges.push(Edge { stream, task, context: NO_CONTEXT, log, kind, is_end, time: raw.time });
        }
        track::TIMELINE => {
            let raw = <TrackTimeline as Record>::read(bytes).ok_or(SHORT)?;
            let TrackTimeline { task_type, state, stream, task, time, .. } = raw;
            tables.states.push(TaskState { stream, task, kind: task_type, state, time });
        }
        track::EVENT_COUNT => {
            let raw = <EventCount as Record>::read(bytes).ok_or(SHORT)?;
            if raw.overflow != 0 {
                return Err(LossKind::CounterOverflow);
            }
            tables.counters.push(Counters {
                stream: raw.stream,
                task: u32::from(raw.task),
                context: NO_CONTEXT,
                core: Core::Cube,
                mixed: false,
                block: false,
                cycles: raw.cycles,
                counters: eight_counters(raw.counters),
                start: 0,
                end: raw.time,
                blocks: raw.blocks,
            });
        }
        // Handshakes and other bookkeeping of chip 0.
        0 | 6 | 7 | 8 | 9 => {}
        _ => return Err(LossKind::UnknownRecord),
    }
    Ok(())
}
