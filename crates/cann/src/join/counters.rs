//! Gives device tasks their counters.
//!
//! Where counters carry times, they belong to the run of their task that they overlap with; else
//! to the one that their order on the stream tells ([`record_order`]), among the runs of kinds that leave
//! counters. An operator that works on cube and vector cores together has one record of its leading core
//! and one for each block of the other, which are added up.

use crate::join::record_order;
use crate::tables::rows::rows;
use crate::tables::{Core, CounterRow, CounterTable, Counters, DeviceTables, TaskLog};
use opscope_columns::Column;
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Losses, NumberMap};

/// Which counters each device task has.
#[derive(Clone, Debug, Default)]
pub struct TaskCounters {
    /// For each device task the row with the counters of the cube core (or the only core).
    pub cube: Column<Option<CounterRow>>,
    /// For each device task the row with the counters of the vector core.
    pub vector: Column<Option<CounterRow>>,
    /// Sums over blocks; their rows are numbered on from those of the device's own table.
    pub sums: CounterTable,
    first_sum: usize,
}

impl TaskCounters {
    /// The counters of a row, if there is one.
    pub fn get(&self, device: &DeviceTables, row: Option<CounterRow>) -> Option<Counters> {
        let row = row?.index();
        Some(match row.checked_sub(self.first_sum) {
            None => device.counters.row(row),
            Some(sum) => self.sums.row(sum),
        })
    }
}

rows! {
    /// A row of a device's table of tasks.
    RunRow;
}

type Key = (u64, u32);

fn key(stream: u16, task: u32, context: u32) -> Key {
    (u64::from(stream) << 32 | u64::from(task), context)
}

/// Assigns the counters of a device, until `stop` is wanted.
pub(super) fn task_counters(device: &DeviceTables, stop: &Stop) -> (TaskCounters, Losses) {
    let DeviceTables { tasks, counters, .. } = device;
    let mut result = TaskCounters {
        cube: (0..tasks.len()).map(|_| None).collect(),
        vector: (0..tasks.len()).map(|_| None).collect(),
        sums: CounterTable::default(),
        first_sum: counters.len(),
    };
    let mut losses = Losses::default();
    if counters.is_empty() {
        return (result, losses);
    }
    let has_times = counters.start().iter().any(|start| *start != 0);
    // Chip 9 records a task and its counters as one.
    let is_one = counters.len() == tasks.len() && tasks.log().first() == Some(&TaskLog::NanoStars);
    let task_of = match (is_one, has_times) {
        (true, _) => (0..tasks.len()).map(|task| Some(RunRow::from_index(task))).collect(),
        (_, true) => by_time(device, stop),
        (_, false) => by_order(device, stop),
    };
    let mut unmatched = 0;
    for (row, task) in stop.within(&task_of).enumerate() {
        let is_taken = task.is_some_and(|task| result.take(device, row, task.index()));
        unmatched += u64::from(!is_taken);
    }
    losses.count(LossKind::UnmatchedCounters, "counters", unmatched);
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
            (None, false) => *slot = Some(CounterRow::from_index(row)),
            (None, true) => {
                *slot = Some(CounterRow::from_index(self.first_sum + self.sums.len()));
                self.sums.push(counters.row(row));
            }
            (Some(sum), true) if sum.index() >= self.first_sum => {
                let index = sum.index() - self.first_sum;
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
fn by_time(device: &DeviceTables, stop: &Stop) -> Column<Option<RunRow>> {
    let DeviceTables { tasks, counters, .. } = device;
    let mut order: Column<u32> = (0..counters.len() as u32).collect();
    if !counters.end().is_sorted() {
        order.sort_by_key(|&row| counters.end()[row as usize]);
    }
    let mut task_of: Column<Option<RunRow>> = (0..counters.len()).map(|_| None).collect();
    let mut latest: NumberMap<Key, RunRow> = NumberMap::default();
    let mut next = 0;
    for &row in stop.within(&order) {
        let row = row as usize;
        let end = counters.end()[row];
        while tasks.start().get(next).is_some_and(|&start| start <= end) {
            let run = RunRow::from_index(next);
            latest.insert(key(tasks.stream()[next], tasks.task()[next], tasks.context()[next]), run);
            next += 1;
        }
        let key = key(counters.stream()[row], counters.task()[row], counters.context()[row]);
        let overlaps = |run: &RunRow| counters.start()[row] <= tasks.end()[run.index()];
        task_of[row] = latest.get(&key).copied().filter(overlaps);
    }
    task_of
}

/// For each row of counters the run that their order on the stream tells.
fn by_order(device: &DeviceTables, stop: &Stop) -> Column<Option<RunRow>> {
    let DeviceTables { tasks, counters, .. } = device;
    let mut streams: NumberMap<(u16, Core), Stream> = NumberMap::default();
    for row in stop.within(0..counters.len()) {
        let key = (counters.stream()[row], counters.core()[row]);
        streams.entry(key).or_default().records.push(row as u32);
    }
    let core_of = |task: usize| counting_core(tasks.log()[task], tasks.kind()[task]);
    // Not all chips tell the tasks of vector cores by their kind.
    let tells_vector = (0..tasks.len()).any(|task| core_of(task) == Some(Core::Vector));
    for task in stop.within(0..tasks.len()) {
        let cores: &[Core] = match core_of(task) {
            Some(Core::Vector) => &[Core::Vector],
            Some(Core::Cube) if tells_vector => &[Core::Cube],
            Some(Core::Cube) => &[Core::Cube, Core::Vector],
            None => &[],
        };
        for &core in cores {
            if let Some(stream) = streams.get_mut(&(tasks.stream()[task], core)) {
                stream.runs.push(task as u32);
            }
        }
    }
    let mut task_of: Column<Option<RunRow>> = (0..counters.len()).map(|_| None).collect();
    for stream in stop.within(streams.values()) {
        stream.place(device, &mut task_of);
    }
    task_of
}

/// The core that counts during tasks of a kind; `None` if none does.
fn counting_core(log: TaskLog, kind: u16) -> Option<Core> {
    match (log, kind) {
        (TaskLog::Subtask | TaskLog::NanoStars, _) | (_, 0) => Some(Core::Cube),
        (TaskLog::Hwts | TaskLog::Queue, 2) => Some(Core::Vector),
        // The general processors, placeholders, events, notifications, values and copies.
        _ => None,
    }
}

/// The rows of one core's counters on one stream, and the runs that may have left them, both in their order.
#[derive(Default)]
struct Stream {
    records: Column<u32>,
    runs: Column<u32>,
}

impl Stream {
    fn place(&self, device: &DeviceTables, task_of: &mut [Option<RunRow>]) {
        let DeviceTables { tasks, counters, .. } = device;
        let number = |task: u32, context: u32| u64::from(task) << 32 | u64::from(context);
        let of_record = |&row: &u32| number(counters.task()[row as usize], counters.context()[row as usize]);
        let of_run = |&task: &u32| number(tasks.task()[task as usize], tasks.context()[task as usize]);
        let records: Column<u64> = self.records.iter().map(of_record).collect();
        let runs: Column<u64> = self.runs.iter().map(of_run).collect();
        // Chip 0 notes when it counted, which is when the task ended.
        let place_at = |&row: &u32| {
            let time = Some(counters.end()[row as usize]).filter(|time| *time != 0)?;
            let after = self.runs.partition_point(|&task| tasks.start()[task as usize] <= time);
            let place = after.checked_sub(1)?;
            let task = self.runs[place];
            (time <= tasks.end()[task as usize] && of_run(&task) == of_record(&row)).then_some(place as u32)
        };
        let known = self.records.iter().map(place_at).collect();
        let places = record_order::place(&records, &runs, known);
        for (&row, place) in self.records.iter().zip(&places) {
            task_of[row as usize] = place.map(|place| RunRow::from_index(self.runs[place as usize] as usize));
        }
    }
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
        let (result, losses) = task_counters(&tables, &Stop::default());
        assert_eq!(*result.cube, [Some(1), None, Some(0)].map(|row| row.map(CounterRow::from_index)));
        assert!(losses.rows().is_empty());
    }

    #[test]
    fn counters_without_times_are_given_out_in_order() {
        let tables =
            device(&[(10, 20), (30, 40)], &[(0, 0, Core::Cube, false, 1), (0, 0, Core::Cube, false, 2)]);
        let (result, losses) = task_counters(&tables, &Stop::default());
        assert_eq!(*result.cube, [0, 1].map(|row| Some(CounterRow::from_index(row))));
        assert!(losses.rows().is_empty());
    }

    #[test]
    fn counters_that_may_be_those_of_several_runs_are_counted_as_lost() {
        let tables = device(&[(10, 20), (30, 40)], &[(0, 0, Core::Cube, false, 1)]);
        let (result, losses) = task_counters(&tables, &Stop::default());
        assert_eq!(*result.cube, [None; 2]);
        assert_eq!(losses.total(LossKind::UnmatchedCounters), 1);
    }

    #[test]
    fn counters_with_the_time_of_their_end_belong_to_the_run_within_which_it_lies() {
        let record = |end| (0, end, Core::Cube, false, 1);
        let tables = device(&[(10, 20), (30, 40), (50, 60)], &[record(20), record(60), record(45)]);
        let (result, losses) = task_counters(&tables, &Stop::default());
        assert_eq!(*result.cube, [Some(0), None, Some(1)].map(|row| row.map(CounterRow::from_index)));
        assert_eq!(losses.total(LossKind::UnmatchedCounters), 1);
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
        let (result, _) = task_counters(&tables, &Stop::default());
        let vector = result.get(&tables, result.vector[0]).map(|c| (c.cycles, c.counters[7]));
        assert_eq!(vector, Some((5, 5)));
        assert_eq!(result.get(&tables, result.cube[0]).map(|c| c.cycles), Some(5));
        assert_eq!(result.get(&tables, None), None);
    }
}
