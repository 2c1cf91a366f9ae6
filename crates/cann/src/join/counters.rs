//! Gives device tasks their counters.
//!
//! Where counters carry times, they belong to the run of their task that they overlap with; else
//! the k-th counters of a task's number belong to its k-th run. An operator that works on cube and
//! vector cores together has one record of its leading core and one for each block of the other,
//! which are added up.

use crate::losses::{Losses, Reason};
use crate::names::NumberMap;
use crate::tables::{Core, CounterTable, Counters, DeviceTables, NONE, TaskLog};

/// Which counters each device task has.
#[derive(Clone, Debug, Default)]
pub struct TaskCounters {
    /// For each device task the row with the counters of the cube core (or the only core).
    pub cube: Vec<u32>,
    /// For each device task the row with the counters of the vector core.
    pub vector: Vec<u32>,
    /// Sums over blocks; their rows are numbered on from those of the device's own table.
    pub sums: CounterTable,
    first_sum: u32,
}

impl TaskCounters {
    /// The counters of a row, `None` for [`NONE`].
    pub fn get(&self, device: &DeviceTables, row: u32) -> Option<Counters> {
        match row {
            NONE => None,
            row if row < self.first_sum => Some(device.counters.row(row as usize)),
            row => Some(self.sums.row((row - self.first_sum) as usize)),
        }
    }
}

type Key = (u64, u32);

fn key(stream: u16, task: u32, context: u32) -> Key {
    (u64::from(stream) << 32 | u64::from(task), context)
}

/// Assigns the counters of a device.
pub(super) fn task_counters(device: &DeviceTables, by_order: bool) -> (TaskCounters, Losses) {
    let DeviceTables { tasks, counters, .. } = device;
    let mut result = TaskCounters {
        cube: vec![NONE; tasks.len()],
        vector: vec![NONE; tasks.len()],
        sums: CounterTable::default(),
        first_sum: counters.len() as u32,
    };
    let mut losses = Losses::default();
    if counters.is_empty() {
        return (result, losses);
    }
    let has_times = !by_order && counters.end().iter().any(|end| *end != 0);
    // Chip 9 records a task and its counters as one.
    let is_one = counters.len() == tasks.len() && tasks.log().first() == Some(&TaskLog::NanoStars);
    let task_of = match (is_one, has_times) {
        (true, _) => (0..tasks.len() as u32).collect(),
        (_, true) => by_time(device),
        (_, false) => by_rank(device),
    };
    let mut unmatched = 0;
    for (row, &task) in task_of.iter().enumerate() {
        if task == NONE {
            unmatched += 1;
            continue;
        }
        if !result.take(device, row, task as usize) {
            unmatched += 1;
        }
    }
    losses.count(Reason::UnmatchedCounters, "counters", unmatched);
    (result, losses)
}

impl TaskCounters {
    /// Gives a task a row of counters; false if it has such already.
    fn take(&mut self, device: &DeviceTables, row: usize, task: usize) -> bool {
        let counters = &device.counters;
        let slot = match counters.core()[row] {
            Core::Cube => &mut self.cube[task],
            Core::Vector => &mut self.vector[task],
        };
        match (*slot, counters.block()[row]) {
            (NONE, false) => *slot = row as u32,
            (NONE, true) => {
                *slot = self.first_sum + self.sums.len() as u32;
                self.sums.push(counters.row(row));
            }
            (sum, true) if sum >= self.first_sum => {
                let index = (sum - self.first_sum) as usize;
                let (mut total, next) = (self.sums.row(index), counters.row(row));
                total.cycles = total.cycles.saturating_add(next.cycles);
                total
                    .counters
                    .iter_mut()
                    .zip(next.counters)
                    .for_each(|(sum, value)| *sum = sum.saturating_add(value));
                self.sums.replace(index, total);
            }
            // Blocks of the leading core repeat what the record of the whole says.
            (_, true) => {}
            (_, false) => return false,
        }
        true
    }
}

/// For each row of counters the latest run of its task that it overlaps with.
fn by_time(device: &DeviceTables) -> Vec<u32> {
    let DeviceTables { tasks, counters, .. } = device;
    let mut order: Vec<u32> = (0..counters.len() as u32).collect();
    if !counters.end().is_sorted() {
        order.sort_by_key(|&row| counters.end()[row as usize]);
    }
    let mut task_of = vec![NONE; counters.len()];
    let mut latest: NumberMap<Key, u32> = NumberMap::default();
    let mut next = 0;
    for row in order {
        let row = row as usize;
        let end = counters.end()[row];
        while tasks.start().get(next).is_some_and(|&start| start <= end) {
            latest.insert(key(tasks.stream()[next], tasks.task()[next], tasks.context()[next]), next as u32);
            next += 1;
        }
        let key = key(counters.stream()[row], counters.task()[row], counters.context()[row]);
        let overlaps = |task: &u32| counters.start()[row] <= tasks.end()[*task as usize];
        if let Some(task) = latest.get(&key).copied().filter(overlaps) {
            task_of[row] = task;
        }
    }
    task_of
}

/// For each row of counters the run of its task with the same rank.
fn by_rank(device: &DeviceTables) -> Vec<u32> {
    let DeviceTables { tasks, counters, .. } = device;
    let mut runs: NumberMap<Key, Vec<u32>> = NumberMap::default();
    for row in 0..tasks.len() {
        let key = key(tasks.stream()[row], tasks.task()[row], tasks.context()[row]);
        runs.entry(key).or_default().push(row as u32);
    }
    let mut used: NumberMap<(Key, u32), u32> = NumberMap::default();
    let mut run_of = |row: usize| {
        let key = key(counters.stream()[row], counters.task()[row], counters.context()[row]);
        let rank = used.entry((key, counters.core()[row] as u32)).or_insert(0);
        *rank += 1;
        runs.get(&key)?.get(*rank as usize - 1).copied()
    };
    (0..counters.len()).map(|row| run_of(row).unwrap_or(NONE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{DeviceTask, NO_CONTEXT};

    fn device(runs: &[(u64, u64)], counters: &[(u64, u64, Core, bool, u64)]) -> DeviceTables {
        let mut tables = DeviceTables::default();
        let (stream, task, context) = (2, 1, NO_CONTEXT);
        for &(start, end) in runs {
            let (batch, model, log, kind) = (0, 0, TaskLog::Queue, 0);
            tables.tasks.push(DeviceTask { stream, task, context, batch, model, log, kind, start, end });
        }
        for &(start, end, core, block, cycles) in counters {
            let (mixed, blocks) = (block, 0);
            let counters = [cycles; crate::tables::COUNTERS];
            tables.counters.push(Counters {
                stream,
                task,
                context,
                core,
                mixed,
                block,
                cycles,
                counters,
                start,
                end,
                blocks,
            });
        }
        tables
    }

    #[test]
    fn counters_with_times_find_their_run_even_if_others_were_lost() {
        let tables = device(
            &[(10, 20), (30, 40), (50, 60)],
            &[(50, 60, Core::Cube, false, 3), (10, 20, Core::Cube, false, 1)],
        );
        let (result, losses) = task_counters(&tables, false);
        assert_eq!(result.cube, [1, NONE, 0]);
        assert!(losses.rows().is_empty());
    }

    #[test]
    fn counters_without_times_are_given_out_in_order() {
        let tables = device(
            &[(10, 20), (30, 40)],
            &[(0, 0, Core::Cube, false, 1), (0, 0, Core::Cube, false, 2), (0, 0, Core::Cube, false, 3)],
        );
        let (result, losses) = task_counters(&tables, false);
        assert_eq!(result.cube, [0, 1]);
        assert_eq!(losses.total(Reason::UnmatchedCounters), 1);
    }

    #[test]
    fn blocks_of_the_other_core_are_added_up() {
        let tables = device(
            &[(10, 20)],
            &[
                (10, 20, Core::Cube, false, 5),
                (10, 19, Core::Vector, true, 2),
                (10, 20, Core::Vector, true, 3),
            ],
        );
        let (result, _) = task_counters(&tables, false);
        let vector = result.get(&tables, result.vector[0]).map(|c| (c.cycles, c.counters[7]));
        assert_eq!(vector, Some((5, 5)));
        assert_eq!(result.get(&tables, result.cube[0]).map(|c| c.cycles), Some(5));
        assert_eq!(result.get(&tables, NONE), None);
    }
}
