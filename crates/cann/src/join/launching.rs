//! Finds the tasks that carried out the steps of collective operations which the AI CPU launched.
//!
//! Nobody on the host knows these tasks. The AI CPU notes each step with stream and task, and the wraps of task
//! numbers as it counted them; the device's task scheduler counts them as well. Both have numbers here, so that
//! they agree even where a wrap is missing from one of the two.

use crate::join::batches::DESTROYED;
use crate::tables::{
    DeviceFlipTable, DeviceOperation, DeviceTables, DeviceTask, LaunchingTables, MainStreamTask, NO_CONTEXT,
    ServerPhaseRun,
};
use opscope_trace::{LossKind, Losses, NumberMap};

/// The device's tasks behind the AI CPU's notes.
#[derive(Clone, Debug, Default)]
pub struct LaunchedTasks {
    /// For each noted step its task, by row of the table of tasks.
    pub of_steps: Vec<Option<u32>>,
    /// The same for first and last tasks on main streams.
    pub of_ends: Vec<Option<u32>>,
}

impl LaunchedTasks {
    /// The different tasks, by row.
    pub(super) fn rows(&self) -> impl Iterator<Item = usize> {
        let mut tasks: Vec<u32> =
            self.of_steps.iter().chain(&self.of_ends).filter_map(|task| *task).collect();
        tasks.sort_unstable();
        tasks.dedup();
        tasks.into_iter().map(|task| task as usize)
    }
}

/// A task's stream, its number, and how often numbers had wrapped.
type Key = (u16, u32, u32);

/// The wraps of each stream: when, and the batch that began.
struct Wraps(NumberMap<u16, Vec<(u64, u32)>>);

impl Wraps {
    /// Numbers the wraps, which are in the order of time. After a stream was destroyed, those of another with
    /// its number count on.
    fn new(flips: &DeviceFlipTable) -> Self {
        let mut destroyed: NumberMap<u16, u32> = NumberMap::default();
        let mut wraps: NumberMap<u16, Vec<(u64, u32)>> = NumberMap::default();
        for flip in flips.rows() {
            let destroyed = destroyed.entry(flip.stream).or_default();
            let of_stream = wraps.entry(flip.stream).or_default();
            let batch = match flip.number {
                DESTROYED => {
                    *destroyed += 1;
                    of_stream.last().map_or(0, |(_, batch)| *batch) + 1
                }
                number => u32::from(number) + *destroyed,
            };
            of_stream.push((flip.time, batch));
        }
        Self(wraps)
    }

    fn batch(&self, stream: u16, time: u64) -> u32 {
        let Some(of_stream) = self.0.get(&stream) else { return 0 };
        let begun = of_stream.partition_point(|(since, _)| *since <= time);
        of_stream[..begun].last().map_or(0, |(_, batch)| *batch)
    }
}

/// Finds the tasks. Where task numbers have 32 bits, nothing wraps, and the records of tasks have no stream;
/// those get it from the notes.
pub(super) fn launched_tasks(device: &mut DeviceTables, wide: bool, losses: &mut Losses) -> LaunchedTasks {
    let notes = &device.launching;
    if notes.steps.is_empty() && notes.ends.is_empty() {
        if wide && !(notes.operations.is_empty() && notes.phases.is_empty()) {
            fill_streams(device);
        }
        return LaunchedTasks::default();
    }
    let (noted, executed) = (Wraps::new(&notes.flips), Wraps::new(&device.flips));
    let key = |wraps: &Wraps, stream: u16, task: u32, time: u64| match wide {
        true => (0, task, 0),
        false => (stream, task, wraps.batch(stream, time)),
    };
    let of_steps = (0..notes.steps.len()).map(|row| {
        let step = notes.steps.row(row);
        (key(&noted, step.stream, step.task, step.note.time), step.note.time)
    });
    let of_steps: Vec<(Key, u64)> = of_steps.collect();
    let of_ends = notes.ends.rows().map(|end| key(&noted, end.stream, end.task, end.time));
    let of_ends: Vec<Key> = of_ends.collect();

    let mut tasks: NumberMap<Key, Vec<u32>> = NumberMap::default();
    of_steps.iter().map(|(key, _)| *key).chain(of_ends.iter().copied()).for_each(|key| {
        tasks.entry(key).or_default();
    });
    for row in 0..device.tasks.len() {
        let DeviceTask { stream, task, context, start, .. } = device.tasks.row(row);
        if context == NO_CONTEXT
            && let Some(rows) = tasks.get_mut(&key(&executed, stream, task, start))
        {
            rows.push(row as u32);
        }
    }

    let mut found = LaunchedTasks { of_steps: vec![None; of_steps.len()], of_ends: Vec::new() };
    let mut steps: NumberMap<Key, Vec<(u64, usize)>> = NumberMap::default();
    for (row, (key, time)) in of_steps.iter().enumerate() {
        steps.entry(*key).or_default().push((*time, row));
    }
    for (key, mut of_key) in steps {
        of_key.sort_unstable();
        let tasks = &tasks[&key];
        // Only all of them in their order are certain to belong together.
        if tasks.len() == of_key.len() {
            of_key.iter().zip(tasks).for_each(|((_, row), task)| found.of_steps[*row] = Some(*task));
        }
    }
    found.of_ends = of_ends.iter().map(|key| tasks[key].first().copied()).collect();
    let without = found.of_steps.iter().chain(&found.of_ends).filter(|task| task.is_none()).count();
    losses.count(LossKind::UnmatchedNote, "aicpu.data", without as u64);
    if wide {
        let of_steps = found.of_steps.iter().zip(notes.steps.stream());
        for (row, &stream) in of_steps.filter_map(|(task, stream)| Some(((*task)? as usize, stream))) {
            let task = device.tasks.row(row);
            device.tasks.replace(row, DeviceTask { stream, ..task });
        }
        fill_streams(device);
    }
    found
}

/// Fills in the streams that the AI CPU's records lack: where task numbers have 32 bits, most have half of the
/// number in place of the stream, which the task tells.
fn fill_streams(device: &mut DeviceTables) {
    let DeviceTables { tasks, launching, .. } = device;
    let LaunchingTables { operations, ends, phases, .. } = launching;
    let named = operations.task().iter().chain(ends.task()).chain(ends.launch_task()).chain(phases.task());
    let mut streams: NumberMap<u32, Option<u16>> = named.map(|&task| (task, None)).collect();
    for (task, &stream) in tasks.task().iter().zip(tasks.stream()) {
        if let Some(known) = streams.get_mut(task) {
            *known = Some(stream);
        }
    }
    let stream_of = |task: u32, noted: u16| streams.get(&task).copied().flatten().unwrap_or(noted);
    for row in 0..operations.len() {
        let old = operations.row(row);
        operations.replace(row, DeviceOperation { stream: stream_of(old.task, old.stream), ..old });
    }
    for row in 0..ends.len() {
        let old = ends.row(row);
        let stream = stream_of(old.task, old.stream);
        let launch_stream = stream_of(old.launch_task, old.launch_stream);
        ends.replace(row, MainStreamTask { stream, launch_stream, ..old });
    }
    for row in 0..phases.len() {
        let old = phases.row(row);
        phases.replace(row, ServerPhaseRun { stream: stream_of(old.task, old.stream), ..old });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{CommunicationNote, DeviceFlip, DeviceStep, TaskLog};

    /// A device whose tasks and noted steps are all on stream 5.
    fn device(tasks: &[(u32, u64)], steps: &[(u32, u64)]) -> DeviceTables {
        let mut device = DeviceTables::default();
        for &(task, start) in tasks {
            device.tasks.push(DeviceTask {
                stream: 5,
                task,
                context: NO_CONTEXT,
                batch: 0,
                model: 0,
                log: TaskLog::Queue,
                kind: 11,
                start,
                end: start + 5,
            });
        }
        for &(task, time) in steps {
            device.launching.steps.push(DeviceStep { stream: 5, task, note: note_at(time) });
        }
        device
    }

    fn note_at(time: u64) -> CommunicationNote {
        CommunicationNote {
            thread: 0,
            time,
            name: 1,
            group: 2,
            local_rank: 0,
            remote_rank: 1,
            rank_size: 2,
            plane: 0,
            context: NO_CONTEXT,
            notify: 0,
            estimate: 0.0,
            size: 0,
            data_type: 0,
            link: 0,
            transport: 0,
            rdma: 255,
        }
    }

    fn flip(time: u64, number: u16) -> DeviceFlip {
        DeviceFlip { time, stream: 5, number, task: 0 }
    }

    #[test]
    fn a_number_that_was_used_again_belongs_to_the_step_of_its_own_batch() {
        let mut device = device(&[(1, 20), (1, 60)], &[(1, 50), (1, 10)]);
        device.launching.flips.push(flip(40, 1));
        device.flips.push(flip(45, 1));
        let mut losses = Losses::default();
        let found = launched_tasks(&mut device, false, &mut losses);
        assert_eq!(found.of_steps, [Some(1), Some(0)]);
        assert!(losses.rows().is_empty());
    }

    #[test]
    fn a_wrap_that_one_side_lost_shifts_nothing() {
        let mut device = device(&[(1, 20), (1, 60)], &[(1, 10), (1, 50)]);
        // The wraps to 1 and 2 happened before the recorded tasks of the AI CPU's side.
        device.launching.flips.push(flip(5, 2));
        device.launching.flips.push(flip(40, 3));
        device.flips.push(flip(6, 1));
        device.flips.push(flip(7, 2));
        device.flips.push(flip(45, 3));
        let found = launched_tasks(&mut device, false, &mut Losses::default());
        assert_eq!(found.of_steps, [Some(0), Some(1)]);
    }

    #[test]
    fn steps_of_which_some_lack_their_task_get_none_and_are_counted() {
        let mut device = device(&[(1, 20), (2, 30)], &[(1, 10), (1, 11), (2, 12)]);
        let mut losses = Losses::default();
        let found = launched_tasks(&mut device, false, &mut losses);
        assert_eq!(found.of_steps, [None, None, Some(1)]);
        assert_eq!(losses.total(LossKind::UnmatchedNote), 2);
        assert_eq!(found.rows().collect::<Vec<_>>(), [1]);
    }

    #[test]
    fn wide_numbers_tell_the_stream_of_tasks_that_have_none() {
        let mut device = device(&[(70_000, 20)], &[(70_000, 10)]);
        let task = device.tasks.row(0);
        device.tasks.replace(0, DeviceTask { stream: 0, ..task });
        let found = launched_tasks(&mut device, true, &mut Losses::default());
        assert_eq!((found.of_steps, device.tasks.stream()[0]), (vec![Some(0)], 5));
    }
}
