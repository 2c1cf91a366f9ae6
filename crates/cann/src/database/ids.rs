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
    /// The batch, or for the device's side of a mark the mark's connection.
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
#[derive(Debug, Default)]
pub(super) struct TaskIds {
    ids: NumberMap<TaskKey, u32>,
    /// The numbers of the host's tasks, by row; `None` before they are asked for.
    of_host: Vec<Option<TaskId>>,
}

impl TaskIds {
    /// No numbers yet; there are `host_tasks` tasks of the host.
    pub(super) fn new(host_tasks: usize) -> Self {
        let mut ids = NumberMap::default();
        ids.reserve(host_tasks);
        Self { ids, of_host: vec![None; host_tasks] }
    }

    /// The number of a task.
    pub(super) fn id(&mut self, key: TaskKey) -> u32 {
        let next = self.ids.len() as u32;
        *self.ids.entry(key).or_insert(next)
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
        self.ids.len()
    }
}
