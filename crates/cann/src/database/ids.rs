//! The numbers by which the database's tables refer to tasks.

use crate::join::HostTask;
use crate::tables::rows::rows;
use crate::tables::{DeviceTask, HostTaskRow, NO_CONTEXT};
use opscope_trace::NumberMap;

rows! {
    /// The number of a task in the database.
    TaskId;
}

/// The identity of a task. A replayed task is the same each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TaskKey {
    device: u32,
    stream: u16,
    task: u32,
    context: u32,
    /// The batch, or for the device's side of a mark the mark's connection; of a data processing unit's task
    /// `u64::MAX`.
    batch: u64,
}

impl TaskKey {
    /// A task that the host handed to a device.
    pub(super) fn of_host(task: &HostTask) -> Self {
        let HostTask { device, stream, task, context, batch, .. } = *task;
        Self { device: u32::from(device), stream, task, context, batch: u64::from(batch) }
    }

    /// A task that a device executed.
    pub(super) fn of_device(device: u32, row: &DeviceTask) -> Self {
        let DeviceTask { stream, task, context, batch, .. } = *row;
        Self { device, stream, task, context, batch: u64::from(batch) }
    }

    /// A task that a device names by its number alone.
    pub(super) fn of_number(device: u32, stream: u16, task: u32) -> Self {
        Self { device, stream, task, context: NO_CONTEXT, batch: 0 }
    }

    /// A task of a data processing unit; its number may be that of a processor, too.
    pub(super) fn of_dpu(unit: u32, stream: u16, task: u32) -> Self {
        Self { device: unit, stream, task, context: NO_CONTEXT, batch: u64::MAX }
    }

    /// The device's side of a mark.
    pub(super) fn of_mark(device: u32, stream: u16, task: u32, connection: u64) -> Self {
        Self { device, stream, task, context: NO_CONTEXT, batch: connection }
    }

    /// The task as a whole.
    pub(super) fn whole(self) -> Self {
        Self { context: NO_CONTEXT, ..self }
    }
}

/// Gives tasks their numbers, in the order in which they are first asked for.
///
/// Tasks of a stream follow one another, so that a map with an entry for each would be mostly keys: here
/// it leads to blocks of tasks.
#[derive(Debug, Default)]
pub(super) struct TaskIds {
    /// The block of each key whose task is the block's first.
    block_of: NumberMap<TaskKey, u32>,
    blocks: Vec<Block>,
    count: u32,
    /// The numbers of the host's tasks, by row; `None` before they are asked for.
    of_host: Vec<Option<TaskId>>,
}

/// The numbers of tasks that follow one another; `None` before they are asked for.
type Block = [Option<TaskId>; TASKS_PER_BLOCK as usize];

/// A block is as long as a line of the processor's cache.
const TASKS_PER_BLOCK: u32 = 16;

impl TaskIds {
    /// No numbers yet; there are `host_tasks` tasks of the host.
    pub(super) fn new(host_tasks: usize) -> Self {
        Self { of_host: vec![None; host_tasks], ..Self::default() }
    }

    /// The number of a task.
    pub(super) fn id(&mut self, key: TaskKey) -> u32 {
        let place = key.task % TASKS_PER_BLOCK;
        let next = self.blocks.len() as u32;
        let block = *self.block_of.entry(TaskKey { task: key.task - place, ..key }).or_insert(next);
        if block == next {
            self.blocks.push([None; TASKS_PER_BLOCK as usize]);
        }
        let id = self.blocks[block as usize][place as usize].get_or_insert_with(|| {
            self.count += 1;
            TaskId::from_index(self.count as usize - 1)
        });
        id.index() as u32
    }

    /// The number of a task of the host, given its row.
    pub(super) fn of_host(&mut self, row: HostTaskRow, task: impl FnOnce() -> HostTask) -> u32 {
        if let Some(known) = self.of_host[row.index()] {
            return known.index() as u32;
        }
        let id = self.id(TaskKey::of_host(&task()));
        self.of_host[row.index()] = Some(TaskId::from_index(id as usize));
        id
    }

    /// How many tasks have numbers.
    pub(super) fn len(&self) -> usize {
        self.count as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_has_a_number_of_its_own_in_the_order_of_asking() {
        let mut ids = TaskIds::new(0);
        let key = |stream, task| TaskKey { device: 0, stream, task, context: NO_CONTEXT, batch: 0 };
        let asked = [(1, 17), (1, 16), (2, 16), (1, u32::MAX), (1, 17), (1, 0), (2, 16)];
        let given = asked.map(|(stream, task)| ids.id(key(stream, task)));
        assert_eq!((given, ids.len()), ([0, 1, 2, 3, 0, 4, 2], 5));
        assert_eq!(ids.id(key(1, 16).whole()), 1);
        assert_eq!(ids.id(TaskKey { batch: 1, ..key(1, 16) }), 5);
        assert_eq!(ids.id(TaskKey { context: 0, ..key(1, 16) }), 6);
    }
}
