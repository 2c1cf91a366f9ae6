//! Logs and counters of chips with the STARS scheduler.

use std::collections::VecDeque;

use opscope_cann_raw::Record;
use opscope_cann_raw::device::{
    BlockCounters, BlockLog, CompactStarsLog, ContextCounters, StarsLog, WideCounters, counter_flag, function,
};
use opscope_columns::Column;

use crate::decode::blocks::{BlockEdge, core};
use crate::decode::{Append, decode, links};
use crate::slices::{DEVICE_MAGIC, Stream};
use crate::tables::{
    Block, BlockTable, Core, CounterTable, Counters, FusedPart, FusedPartTable, LinkTables, NO_CONTEXT,
    TaskLog, eight_counters,
};
use opscope_trace::{LossKind, Losses, NumberMap};

/// Start or end of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    pub(super) stream: u16,
    pub(super) task: u32,
    pub(super) context: u32,
    pub(super) log: TaskLog,
    pub(super) kind: u16,
    pub(super) is_end: bool,
    pub(super) time: u64,
}

/// Start or end of a part of a fused task.
#[derive(Clone, Copy, Debug)]
pub(super) struct FusedEdge {
    part: FusedPart,
    is_end: bool,
}

/// Joins each start of a part with the end of the same task that follows it.
pub(super) fn fused_parts(mut edges: Column<FusedEdge>, losses: &mut Losses) -> FusedPartTable {
    edges.sort_by_key(|edge| (edge.part.start, !edge.is_end));
    let mut open: NumberMap<u32, VecDeque<FusedPart>> = NumberMap::default();
    let (mut parts, mut unmatched) = (FusedPartTable::default(), 0);
    for &FusedEdge { part, is_end } in &edges {
        let started = open.entry(part.task).or_default();
        match (is_end, if is_end { started.pop_front() } else { None }) {
            (false, _) => started.push_back(part),
            (true, Some(start)) => parts.push(FusedPart { end: part.start, ..start }),
            (true, None) => unmatched += 1,
        }
    }
    unmatched += open.values().map(VecDeque::len).sum::<usize>() as u64;
    losses.count(LossKind::UnmatchedTask, "fused tasks", unmatched);
    parts.sort_by_key(|table, row| table.start()[row]);
    parts
}

/// FFTS tasks whose kind is 4 consist of sub-tasks.
const FFTS_PLUS: u16 = 4;

/// Queue entries whose numbers aren't rearranged where streams are expanded.
const PLACE_HOLDER: u16 = 3;
const EVENT_RECORD: u16 = 4;

/// A record of `stars_soc.data`, 64-byte form, of which the function decides the layout.
#[derive(Clone, Copy, Debug)]
struct AnyLog {
    log: StarsLog,
    bytes: [u8; links::BYTES],
}

impl Default for AnyLog {
    fn default() -> Self {
        Self { log: StarsLog::default(), bytes: [0; links::BYTES] }
    }
}

impl Record for AnyLog {
    const SIZE: usize = StarsLog::SIZE;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self { log: StarsLog::read(bytes)?, bytes: *bytes.first_chunk()? })
    }

    fn write(&self, bytes: &mut [u8]) {
        bytes[..Self::SIZE].copy_from_slice(&self.bytes);
    }
}

/// Starts and ends of `stars_soc.data`, 64-byte form, and what lies among them on links, both in the order
/// of the file.
pub(super) fn edges(streams: &[Stream], expanded: bool, losses: &mut Losses) -> (Column<Edge>, LinkTables) {
    decode(streams, Some(DEVICE_MAGIC), losses, |all: &mut (Column<Edge>, LinkTables), raw: AnyLog, _| {
        let (edges, sampled) = all;
        let AnyLog { log: raw, bytes } = raw;
        let Ok((log, is_end)) = edge_kind(raw.word) else { return links::add(sampled, &bytes, false) };
        let kind = match log {
            TaskLog::Subtask => raw.subtask_type & 0xFF,
            _ => raw.word >> 10,
        };
        let context = if log == TaskLog::Subtask { u32::from(raw.context) } else { NO_CONTEXT };
        let (stream, task) = numbers(raw.stream, raw.task, expanded, (log == TaskLog::Queue).then_some(kind));
        edges.push(Edge { stream, task: u32::from(task), context, log, kind, is_end, time: raw.time });
        Ok(())
    })
}

/// A record of `stars_soc.data`, 32-byte form, of which the function decides the layout.
#[derive(Clone, Copy, Debug, Default)]
struct AnyCompactLog {
    log: CompactStarsLog,
    block: BlockLog,
}

impl Record for AnyCompactLog {
    const SIZE: usize = CompactStarsLog::SIZE;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self { log: CompactStarsLog::read(bytes)?, block: BlockLog::read(bytes)? })
    }

    fn write(&self, bytes: &mut [u8]) {
        self.log.write(bytes);
    }
}

/// Starts and ends of tasks, of parts of fused tasks, and of blocks.
#[derive(Default)]
pub(super) struct CompactEdges {
    pub(super) tasks: Column<Edge>,
    pub(super) fused: Column<FusedEdge>,
    pub(super) blocks: Column<BlockEdge>,
}

impl Append for CompactEdges {
    fn append(&mut self, next: &mut Self) {
        Append::append(&mut self.tasks, &mut next.tasks);
        Append::append(&mut self.fused, &mut next.fused);
        Append::append(&mut self.blocks, &mut next.blocks);
    }
}

/// Starts and ends of `stars_soc.data`, 32-byte form, each kind in the order of the file. The stream isn't recorded;
/// it is known from the host's side.
pub(super) fn compact_edges(streams: &[Stream], losses: &mut Losses) -> CompactEdges {
    decode(streams, Some(DEVICE_MAGIC), losses, |all: &mut CompactEdges, raw: AnyCompactLog, _| {
        let CompactEdges { tasks: edges, fused, blocks } = all;
        let AnyCompactLog { log: raw, block } = raw;
        let task = u32::from(raw.task_high) << 16 | u32::from(raw.task_low);
        let kind = raw.word >> 10;
        let function = raw.word & 0x3F;
        if matches!(function, function::FUSED_START | function::FUSED_END) {
            fused.push(FusedEdge {
                part: FusedPart {
                    task,
                    kind,
                    parts: (raw.fused & 0x1F) as u8,
                    mission: (raw.fused >> 5 & 0xF) as u8,
                    accelerator: raw.accelerator,
                    start: raw.time,
                    end: raw.time,
                },
                is_end: function == function::FUSED_END,
            });
            return Ok(());
        }
        if let Some(edge) = BlockEdge::of(block) {
            blocks.push(edge);
            return Ok(());
        }
        let (log, is_end) = edge_kind(raw.word)?;
        edges.push(Edge { stream: 0, task, context: NO_CONTEXT, log, kind, is_end, time: raw.time });
        Ok(())
    })
}

fn edge_kind(word: u16) -> Result<(TaskLog, bool), LossKind> {
    match word & 0x3F {
        function::TASK_START => Ok((TaskLog::Queue, false)),
        function::TASK_END => Ok((TaskLog::Queue, true)),
        function::SUBTASK_START => Ok((TaskLog::Subtask, false)),
        function::SUBTASK_END => Ok((TaskLog::Subtask, true)),
        _ => Err(LossKind::UnknownRecord),
    }
}

/// The stream and task that a record means.
///
/// Flag bits of the stream say that bits of the two are exchanged: bit 12 keeps the upper three
/// bits of the task in the stream; bit 13 swaps the lower twelve bits of both. With expanded
/// streams, bit 15 swaps the lower fifteen, except for some kinds of queue entries.
pub(super) fn numbers(stream: u16, task: u16, expanded: bool, queue_kind: Option<u16>) -> (u16, u16) {
    const EXPANDED: u16 = 0x7FFF;
    const STREAM: u16 = 0x07FF;
    if expanded {
        let is_plain = matches!(queue_kind, Some(PLACE_HOLDER | EVENT_RECORD));
        return if !is_plain && stream & 0x8000 != 0 {
            (task & EXPANDED, (task & 0x8000) | (stream & EXPANDED))
        } else {
            (stream & EXPANDED, task)
        };
    }
    if stream & 0x1000 != 0 {
        (stream & STREAM, (task & 0x1FFF) | (stream & 0xE000))
    } else if stream & 0x2000 != 0 {
        (task & STREAM, (stream & 0x0FFF) | (task & 0xF000))
    } else {
        (stream & STREAM, task)
    }
}

/// A record of `ffts_profile.data`, of which the function decides the layout.
#[derive(Clone, Copy, Debug, Default)]
struct AnyCounters {
    context: ContextCounters,
    block: BlockCounters,
}

impl Record for AnyCounters {
    const SIZE: usize = ContextCounters::SIZE;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Option<Self> {
        Some(Self { context: ContextCounters::read(bytes)?, block: BlockCounters::read(bytes)? })
    }

    fn write(&self, bytes: &mut [u8]) {
        self.context.write(bytes);
    }
}

/// Counters of `ffts_profile.data`, in the order of the file. Unless the chip `splits` its cores
/// into two kinds, those of single blocks repeat what the whole task's say.
pub(super) fn counters(
    streams: &[Stream],
    expanded: bool,
    splits: bool,
    losses: &mut Losses,
) -> CounterTable {
    decode(streams, Some(DEVICE_MAGIC), losses, |table: &mut CounterTable, raw: AnyCounters, _| {
        let AnyCounters { context: raw, block: raw_block } = raw;
        let block = match raw.word & 0x3F {
            function::CONTEXT_COUNTERS => false,
            function::BLOCK_COUNTERS if !splits => return Ok(()),
            function::BLOCK_COUNTERS => true,
            _ => return Err(LossKind::UnknownRecord),
        };
        if !block && raw.subtask_type & 0x0400 != 0 {
            return Err(LossKind::CounterOverflow);
        }
        let subtask = raw.subtask_type & 0xFF;
        let ffts = if block { u16::from(raw_block.ffts >> 5) } else { raw.ffts >> 13 };
        let (stream, task) = numbers(raw.stream, raw.task, expanded, None);
        let core = match (block, ffts, subtask) {
            _ if !splits => Core::Cube,
            (true, ..) if raw_block.core & 1 == 1 => Core::Vector,
            (true, ..) => Core::Cube,
            (_, 0 | 5, _) | (_, FFTS_PLUS, 0 | 6) => Core::Cube,
            _ => Core::Vector,
        };
        table.push(Counters {
            stream,
            task: u32::from(task),
            context: if ffts == FFTS_PLUS { u32::from(raw.context) } else { NO_CONTEXT },
            core,
            mixed: ffts == FFTS_PLUS && matches!(subtask, 6 | 7),
            block,
            cycles: raw.cycles,
            counters: eight_counters(raw.counters),
            start: raw.start,
            end: raw.end,
            blocks: 0,
        });
        Ok(())
    })
}

/// Counters of `ffts_profile.data` on chips 15 and 16, in the order of the file. Both kinds of
/// cores have a record for the whole of their part, so that of those of single blocks the times are enough.
/// The stream isn't recorded; it is known from the host's side.
pub(super) fn wide_counters(streams: &[Stream], losses: &mut Losses) -> (CounterTable, BlockTable) {
    type Tables = (CounterTable, BlockTable);
    decode(streams, Some(DEVICE_MAGIC), losses, |(table, blocks): &mut Tables, raw: WideCounters, _| {
        let task = u32::from(raw.task_high) << 16 | u32::from(raw.task_low);
        match raw.word & 0x3F {
            function::WIDE_COUNTERS => {}
            function::BLOCK_COUNTERS if raw.end < raw.start => return Err(LossKind::InvalidRecord),
            function::BLOCK_COUNTERS => {
                let WideCounters { core: number, block, start, end, .. } = raw;
                blocks.push(Block { task, kind: core(raw.core_type), core: number, block, start, end });
                return Ok(());
            }
            _ => return Err(LossKind::UnknownRecord),
        }
        if raw.flags & counter_flag::OVERFLOW != 0 {
            return Err(LossKind::CounterOverflow);
        }
        table.push(Counters {
            stream: 0,
            task,
            context: NO_CONTEXT,
            core: core(raw.core_type),
            mixed: raw.flags & counter_flag::MIXED != 0,
            block: false,
            cycles: raw.cycles,
            counters: raw.counters,
            start: raw.start,
            end: raw.end,
            blocks: 0,
        });
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use opscope_cann_raw::device::MAGIC;

    use super::*;

    /// The low byte names the kind of a sub-task; other bits of the word mean something else.
    #[test]
    fn further_bits_in_the_word_of_a_sub_tasks_kind_change_neither_kind_nor_core() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut losses = Losses::default();
        let write = |name: &str, bytes: Vec<u8>| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).expect("a new file");
            [Stream {
                name: name.to_owned(),
                aging: false,
                device: Some(0),
                slices: vec![crate::slices::Slice { path, length: None }],
                stop: Default::default(),
            }]
        };
        let words = [6, 0x3800 | 6, 0x7 | 0x0100, 0x9000];
        let mut log = Vec::new();
        let mut counted = Vec::new();
        for word in words {
            let start = StarsLog {
                word: function::SUBTASK_START,
                magic: MAGIC,
                subtask_type: word,
                ..StarsLog::default()
            };
            start.append_to(&mut log);
            let counters = ContextCounters {
                word: function::CONTEXT_COUNTERS,
                magic: MAGIC,
                subtask_type: word,
                ffts: FFTS_PLUS << 13,
                ..ContextCounters::default()
            };
            counters.append_to(&mut counted);
        }
        let (edges, _) = edges(&write("log", log), false, &mut losses);
        assert_eq!(edges.iter().map(|edge| edge.kind).collect::<Vec<_>>(), [6, 6, 7, 0]);
        let table = counters(&write("counters", counted), false, true, &mut losses);
        assert_eq!(table.core(), [Core::Cube, Core::Cube, Core::Vector, Core::Cube]);
        assert_eq!(table.mixed(), [true, true, true, false]);
        assert!(losses.rows().is_empty());
    }

    #[test]
    fn stream_and_task_are_told_apart_by_the_flag_bits() {
        assert_eq!(numbers(2, 7, false, None), (2, 7));
        assert_eq!(numbers(0x1002, 7, false, None), (2, 7));
        assert_eq!(numbers(0xF002, 0xFFFF, false, None), (2, 0xFFFF));
        assert_eq!(numbers(0x2003, 0x5009, false, None), (9, 0x5003));
        assert_eq!(numbers(0x8003, 0x8009, true, None), (9, 0x8003));
        assert_eq!(numbers(0x8003, 9, true, Some(PLACE_HOLDER)), (3, 9));
        assert_eq!(numbers(5, 9, true, None), (5, 9));
    }
}
