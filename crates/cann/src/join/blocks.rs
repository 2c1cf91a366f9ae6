//! Gives the runs of tasks their blocks: those of the task's number in the time of the run.

use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Losses, NumberMap};

use crate::tables::{Core, DeviceTables};

/// The blocks of one kind of core in a run of a task.
#[derive(Clone, Copy, Debug)]
pub struct BlocksOfRun {
    /// How many there are.
    pub count: u32,
    /// The row of the one that began first.
    pub first: u32,
    /// The row of the one that began last.
    pub last: u32,
    /// How long the longest took; device ticks.
    pub longest: u64,
    /// How long all took together; device ticks.
    pub total: u64,
}

/// The blocks of runs by the run's row among the device's tasks, those on cube cores first.
pub type BlocksOfRuns = NumberMap<u32, [Option<BlocksOfRun>; 2]>;

/// Finds the run of each block, until `stop` is wanted; those without one are counted.
pub(super) fn blocks_of_runs(device: &DeviceTables, stop: &Stop, losses: &mut Losses) -> BlocksOfRuns {
    let (tasks, blocks) = (&device.tasks, &device.blocks);
    let mut of_runs = BlocksOfRuns::default();
    if blocks.is_empty() {
        return of_runs;
    }
    let mut runs: Vec<(u32, u64, u32)> =
        (0..tasks.len()).map(|row| (tasks.task()[row], tasks.start()[row], row as u32)).collect();
    runs.sort_unstable();
    // The run in which a block began, else the one that it lasts into.
    let run_of = |task: u32, start: u64, end: u64| {
        let after = runs.partition_point(|(number, begin, _)| (*number, *begin) <= (task, start));
        let before = after.checked_sub(1).map(|place| runs[place]);
        let is_within =
            |&(number, _, row): &(u32, u64, u32)| number == task && start <= tasks.end()[row as usize];
        let lasts_into = |&(number, begin, _): &(u32, u64, u32)| number == task && begin <= end;
        let next = || runs.get(after).copied().filter(lasts_into);
        before.filter(is_within).or_else(next).map(|(.., row)| row)
    };
    let mut without = 0;
    for (row, block) in (0..).zip(blocks.rows()) {
        if stop.is_wanted() {
            break;
        }
        let Some(run) = run_of(block.task, block.start, block.end) else {
            without += 1;
            continue;
        };
        let place = usize::from(block.kind == Core::Vector);
        let length = block.end - block.start;
        let of_run = &mut of_runs.entry(run).or_default()[place];
        match of_run {
            None => {
                *of_run =
                    Some(BlocksOfRun { count: 1, first: row, last: row, longest: length, total: length });
            }
            Some(known) => {
                let starts = blocks.start();
                known.count = known.count.saturating_add(1);
                if block.start < starts[known.first as usize] {
                    known.first = row;
                }
                if block.start >= starts[known.last as usize] {
                    known.last = row;
                }
                known.longest = known.longest.max(length);
                known.total = known.total.saturating_add(length);
            }
        }
    }
    losses.count(LossKind::UnmatchedCounters, "blocks of tasks", without);
    of_runs
}
