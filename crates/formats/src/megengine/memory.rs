//! Which memory was in use while the graph ran, and whose it was.

use std::collections::{HashMap, HashSet};

use super::{GraphId, Profile, Var};

/// A block of memory and how long it was needed.
///
/// A step is a position in [`Profile::order`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The var that it was made for.
    pub owner: GraphId,
    /// Its size.
    pub bytes: u64,
    /// Where it lay; blocks that are needed at the same time and place are one.
    pub address: Option<u64>,
    /// The first step that needs it.
    pub first: usize,
    /// The last step that needs it.
    pub last: usize,
}

/// A change of the memory in use, right before a step.
pub(super) struct Change {
    pub step: usize,
    /// The allocation that begins or ends, by its position.
    pub allocation: usize,
    /// Bytes more, or fewer.
    pub bytes: i64,
}

/// The step with most memory in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeakMemory {
    /// Bytes in use.
    pub bytes: u64,
    /// The operator that ran.
    pub operator: GraphId,
    /// Each var in memory with its bytes, largest first.
    pub owners: Vec<(GraphId, u64)>,
}

/// The identity of a block of memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Block {
    Chunk(GraphId),
    Var(GraphId),
}

impl Profile {
    /// The blocks of memory that the run needed, in the order of their vars.
    ///
    /// A block is needed from the operator that makes its first var until the last operator that
    /// reads one of its vars; vars that keep their value, such as weights, are needed all the time.
    /// Sizes come from the memory plan, and where there is none from the addresses of the last run.
    pub fn allocations(&self) -> Vec<Allocation> {
        let lifetimes = self.lifetimes();
        let mut blocks: HashMap<Block, usize> = HashMap::new();
        let mut allocations: Vec<Allocation> = Vec::new();
        for ((id, var), lifetime) in self.vars.iter().zip(lifetimes) {
            let Some((first, last)) = lifetime else { continue };
            let (block, owner, bytes, address) = self.block(id, var);
            if bytes == 0 {
                continue;
            }
            let at = *blocks.entry(block).or_insert_with(|| {
                allocations.push(Allocation { owner, bytes, address, first, last });
                allocations.len() - 1
            });
            let known = &mut allocations[at];
            (known.first, known.last) = (known.first.min(first), known.last.max(last));
        }
        allocations
    }

    /// The step with most memory in use, and the vars that use it; `None` when nothing is known of
    /// memory.
    pub fn peak_memory(&self) -> Option<PeakMemory> {
        self.peak_of(&self.allocations())
    }

    pub(super) fn peak_of(&self, allocations: &[Allocation]) -> Option<PeakMemory> {
        let (mut bytes, mut peak) = (0_i64, (0, 0));
        for change in changes(allocations) {
            bytes = bytes.saturating_add(change.bytes);
            // Of equal steps the first.
            if bytes > peak.0 {
                peak = (bytes, change.step);
            }
        }
        let (bytes, step) = peak;
        let mut seen = HashSet::new();
        let live = allocations.iter().filter(|known| known.first <= step && step <= known.last);
        let alone = live.filter(|known| known.address.is_none_or(|address| seen.insert(address)));
        let mut owners: Vec<(GraphId, u64)> = alone.map(|known| (known.owner, known.bytes)).collect();
        owners.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let operator = *self.order.get(step)?;
        Some(PeakMemory { bytes: u64::try_from(bytes).ok().filter(|bytes| *bytes > 0)?, operator, owners })
    }

    /// The first and last step that need each var; `None` for vars that no step needs.
    fn lifetimes(&self) -> Vec<Option<(usize, usize)>> {
        let end = self.order.len().saturating_sub(1);
        let mut lifetimes: Vec<Option<(usize, usize)>> = vec![None; self.vars.len()];
        for (step, operator) in self.order.iter().enumerate() {
            let Some(operator) = self.operators.get(*operator) else { continue };
            let (inputs, outputs) = (self.ids.get(operator.inputs), self.ids.get(operator.outputs));
            // An input that no step has made was there before the run.
            let uses = inputs.iter().map(|id| (id, 0)).chain(outputs.iter().map(|id| (id, step)));
            for (id, first) in uses {
                let Some(lifetime) = self.vars.position(*id).and_then(|at| lifetimes.get_mut(at)) else {
                    continue;
                };
                *lifetime = Some((lifetime.map_or(first, |(first, _)| first), step));
            }
        }
        for ((_, var), lifetime) in self.vars.iter().zip(&mut lifetimes) {
            if lifetime.is_some() && self.has_flag(var, "PERSISTENT_DEVICE_VALUE") {
                *lifetime = Some((0, end));
            }
        }
        lifetimes
    }

    /// The block that a var lies in, with the block's owner, size and address.
    fn block(&self, id: GraphId, var: &Var) -> (Block, GraphId, u64, Option<u64>) {
        if let Some(plan) = var.mem_plan
            && let Some(chunk) = self.chunks.get(plan.chunk)
        {
            let address = chunk.dev_ptr.filter(|address| *address != 0);
            return (Block::Chunk(plan.chunk), chunk.owner.unwrap_or(id), chunk.size, address);
        }
        let bytes = var.prev_dev_ptr_end.unwrap_or(0).saturating_sub(var.prev_dev_ptr);
        let address = Some(var.prev_dev_ptr).filter(|address| *address != 0);
        (Block::Var(id), id, if address.is_some() { bytes } else { 0 }, address)
    }
}

/// How the memory in use changes, in the order of steps; what ends before a step goes first.
///
/// Of blocks that share an address only the first takes memory, and only the last gives it back.
pub(super) fn changes(allocations: &[Allocation]) -> Vec<Change> {
    let begins = allocations.iter().enumerate().map(|(at, known)| (known.first, true, at));
    let ends = allocations.iter().enumerate().map(|(at, known)| (known.last + 1, false, at));
    let mut events: Vec<(usize, bool, usize)> = begins.chain(ends).collect();
    events.sort_unstable();
    let mut sharing: HashMap<u64, (u32, i64)> = HashMap::new();
    let mut changes = Vec::with_capacity(events.len());
    for (step, begins, allocation) in events {
        let known = &allocations[allocation];
        let own = i64::try_from(known.bytes).unwrap_or(i64::MAX);
        let mut alone = (u32::from(!begins), own);
        let (holders, taken) =
            known.address.map_or(&mut alone, |address| sharing.entry(address).or_insert((0, 0)));
        let bytes = match (begins, *holders) {
            (true, 0) => {
                *taken = own;
                own
            }
            (false, 1) => -*taken,
            _ => 0,
        };
        *holders = if begins { *holders + 1 } else { holders.saturating_sub(1) };
        if bytes != 0 {
            changes.push(Change { step, allocation, bytes });
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(bytes: u64, address: Option<u64>, first: usize, last: usize) -> Allocation {
        Allocation { owner: GraphId::from_number(0), bytes, address, first, last }
    }

    fn in_use(allocations: &[Allocation]) -> Vec<(usize, i64)> {
        let sums = changes(allocations).into_iter().scan(0, |sum, change| {
            *sum += change.bytes;
            Some((change.step, *sum))
        });
        sums.collect()
    }

    #[test]
    fn memory_is_taken_at_the_first_step_and_given_back_behind_the_last() {
        let blocks = [allocation(10, None, 0, 1), allocation(5, None, 1, 1), allocation(7, None, 2, 2)];
        assert_eq!(in_use(&blocks), [(0, 10), (1, 15), (2, 5), (2, 0), (2, 7), (3, 0)]);
    }

    #[test]
    fn a_place_that_two_blocks_share_counts_once() {
        let in_place = [allocation(8, Some(64), 0, 1), allocation(8, Some(64), 1, 2)];
        assert_eq!(in_use(&in_place), [(0, 8), (3, 0)]);
        let one_after_the_other = [allocation(8, Some(64), 0, 0), allocation(4, Some(64), 1, 1)];
        assert_eq!(in_use(&one_after_the_other), [(0, 8), (1, 0), (1, 4), (2, 0)]);
    }

    #[test]
    fn sizes_from_a_broken_file_do_not_overflow() {
        let blocks = [allocation(u64::MAX, None, 0, 0), allocation(u64::MAX, Some(1), 0, usize::MAX - 1)];
        assert_eq!(changes(&blocks).len(), 4);
    }
}
