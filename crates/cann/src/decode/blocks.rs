//! Starts and ends of blocks on cores (chips 15 and 16).

use opscope_cann_raw::device::{BlockLog, function};
use opscope_columns::Column;
use opscope_trace::{LossKind, Losses, NumberMap};

use crate::decode::decode;
use crate::slices::{DEVICE_MAGIC, Stream};
use crate::tables::{Block, BlockTable, Core};

/// The core that the lowest bit of a record's kind of core names.
pub(super) fn core(kind: u8) -> Core {
    if kind & 1 == 1 { Core::Vector } else { Core::Cube }
}

/// The starts and ends of `stars_block.data`, joined.
pub(super) fn blocks(streams: &[Stream], losses: &mut Losses) -> BlockTable {
    let edges =
        decode(streams, Some(DEVICE_MAGIC), losses, |edges: &mut Column<BlockEdge>, raw: BlockLog, _| {
            edges.push(BlockEdge::of(raw).ok_or(LossKind::UnknownRecord)?);
            Ok(())
        });
    join(edges, losses)
}

/// Start or end of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockEdge {
    block: Block,
    is_end: bool,
}

impl BlockEdge {
    /// The edge that a record tells, if it is one.
    pub(super) fn of(raw: BlockLog) -> Option<Self> {
        let is_end = match raw.word & 0x3F {
            function::BLOCK_START => false,
            function::BLOCK_END => true,
            _ => return None,
        };
        let block = Block {
            task: u32::from(raw.task_high) << 16 | u32::from(raw.task_low),
            kind: core(raw.core_type),
            core: raw.core,
            block: raw.block,
            start: raw.time,
            end: raw.time,
        };
        Some(Self { block, is_end })
    }
}

/// Joins each start with the end that follows it on the same core; a core executes one block at a time.
pub(super) fn join(mut edges: Column<BlockEdge>, losses: &mut Losses) -> BlockTable {
    edges.sort_by_key(|edge| (edge.block.start, !edge.is_end));
    let mut open: NumberMap<(bool, u8), Block> = NumberMap::default();
    let (mut table, mut unmatched) = (BlockTable::default(), 0);
    for &BlockEdge { block, is_end } in &edges {
        let core = (block.kind == Core::Vector, block.core);
        if !is_end {
            unmatched += u64::from(open.insert(core, block).is_some());
            continue;
        }
        match open.remove(&core) {
            Some(begun) if (begun.task, begun.block) == (block.task, block.block) => {
                table.push(Block { end: block.start, ..begun });
            }
            // The end of the one and the start of the other are lost.
            Some(_) => unmatched += 2,
            None => unmatched += 1,
        }
    }
    losses.count(LossKind::UnmatchedTask, "blocks of tasks", unmatched + open.len() as u64);
    table
}
