//! Pairs the tasks that the host handed out with those that a device executed.
//!
//! The two sides know a task by its stream, number, context and batch, or on chip 9 by its model
//! and number, which tell the stream. A static model hands its
//! tasks out once and executes them once an inference, so one host task may have many device tasks.

use crate::data::Device;
use crate::join::host_tasks::HostTaskTable;
use crate::parallel;
use crate::tables::{DeviceTables, DeviceTaskTable, HostTaskRow, NO_CONTEXT};
use opscope_columns::Column;
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Losses, NumberMap};

/// The runtime's number of the kind of task that only marks a profiler's trace.
const PROFILER_TRACE_EX: u32 = 26;

/// The means by which tasks with the same number on the same stream are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskIdentity {
    /// Only their order.
    Order,
    /// How often numbers had wrapped.
    Batch,
    /// Their model.
    Model,
}

impl TaskIdentity {
    fn of_host(self, host: &HostTaskTable, row: usize) -> u16 {
        match self {
            Self::Order => 0,
            Self::Batch => host.batch()[row],
            Self::Model => model_number(host.model()[row]),
        }
    }

    fn of_device(self, tasks: &DeviceTaskTable, row: usize) -> u16 {
        match self {
            Self::Order => 0,
            Self::Batch => tasks.batch()[row],
            Self::Model => tasks.model()[row],
        }
    }
}

/// The number by which a device names a model; one that no device can name, where it is too large.
fn model_number(model: u64) -> u16 {
    u16::try_from(model).unwrap_or(u16::MAX)
}

/// Which host task each device task belongs to.
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// For each device task its host task, if it was found.
    pub host_of: Column<Option<HostTaskRow>>,
    /// Host tasks of this device that it never executed.
    pub host_only: Vec<HostTaskRow>,
    /// How many device tasks have no host task, because several of both have their number.
    pub ambiguous: u64,
}

/// A task's number on both sides, in 64 bits; `None` for a context that no device can report.
fn key(stream: u16, task: u32, context: u32, batch: u16) -> Option<u64> {
    // A device's contexts have 16 bits; where task numbers have more than 16, there are no batches.
    let context = if context == NO_CONTEXT {
        0xFFFF
    } else {
        u64::from(u16::try_from(context).ok().filter(|c| *c != 0xFFFF)?)
    };
    let number = u64::from(batch) << 16 ^ u64::from(task);
    Some(u64::from(stream) << 48 | (number & 0xFFFF_FFFF) << 16 | context)
}

/// Pairs the tasks of one device. Where nothing tells tasks with one number apart, they are paired
/// in their order.
pub(super) fn matches(
    device: &DeviceTables,
    host: &HostTaskTable,
    device_id: u32,
    identity: TaskIdentity,
    stop: &Stop,
) -> (Matches, Losses) {
    let mut losses = Losses::default();
    let tasks = &device.tasks;
    let ((host_keys, host_only), device_keys) = parallel::join(
        || host_keys(host, device_id, identity, stop),
        || {
            let device_key = |row: usize| {
                let number = identity.of_device(tasks, row);
                key(tasks.stream()[row], tasks.task()[row], tasks.context()[row], number)
            };
            let mut keys: Column<(u64, u32)> =
                stop.within(0..tasks.len()).filter_map(|row| Some((device_key(row)?, row as u32))).collect();
            keys.sort_unstable();
            keys
        },
    );
    let mut result = Matches { host_of: vec![None; device.tasks.len()].into(), host_only, ambiguous: 0 };

    let mut ambiguous = 0u64;
    let mut host_groups = host_keys.chunk_by(|a, b| a.0 == b.0).peekable();
    for devices in stop.within(device_keys.chunk_by(|a, b| a.0 == b.0)) {
        while let Some(only) = host_groups.next_if(|hosts| hosts[0].0 < devices[0].0) {
            result.host_only.extend(only.iter().map(|(_, row)| *row));
        }
        let Some(hosts) = host_groups.next_if(|hosts| hosts[0].0 == devices[0].0) else { continue };
        if !pair(hosts, devices, host, &mut result.host_of) {
            ambiguous += devices.len() as u64;
        }
    }
    result.host_only.extend(host_groups.flatten().map(|(_, row)| *row));
    result.host_only.sort_unstable();
    losses.count(LossKind::AmbiguousTask, "device log", ambiguous);
    result.ambiguous = ambiguous;
    (result, losses)
}

/// The numbers of the host's tasks for a device, with their rows, by number and time; and the rows of those
/// that no device can report.
fn host_keys(
    host: &HostTaskTable,
    device: u32,
    identity: TaskIdentity,
    stop: &Stop,
) -> (Column<(u64, HostTaskRow)>, Vec<HostTaskRow>) {
    let (mut keys, mut others) = (Column::new(), Vec::new());
    keys.reserve(host.len());
    for row in stop.within(0..host.len()).filter(|&row| u32::from(host.device()[row]) == device) {
        let number = identity.of_host(host, row);
        let key = key(host.stream()[row], host.task()[row], host.context()[row], number);
        let row = HostTaskRow::from_index(row);
        match key {
            Some(key) => keys.push((key, row)),
            None => others.push(row),
        }
    }
    keys.sort_unstable_by_key(|&(key, row)| (key, host.time()[row.index()], row));
    (keys, others)
}

/// Pairs host and device tasks of one number; false if there are several of both and not as many
/// of one as of the other.
fn pair(
    hosts: &[(u64, HostTaskRow)],
    devices: &[(u64, u32)],
    table: &HostTaskTable,
    host_of: &mut [Option<HostTaskRow>],
) -> bool {
    if let [(_, host)] = hosts {
        devices.iter().for_each(|(_, device)| host_of[*device as usize] = Some(*host));
        return true;
    }
    let is_work = |(_, row): &&(u64, HostTaskRow)| table.kind()[row.index()] != PROFILER_TRACE_EX;
    let work: Vec<HostTaskRow> = if hosts.len() == devices.len() {
        hosts.iter().map(|(_, row)| *row).collect()
    } else {
        hosts.iter().filter(is_work).map(|(_, row)| *row).collect()
    };
    if work.len() != devices.len() && work.len() != 1 {
        return false;
    }
    let in_order = work.iter().cycle().take(devices.len());
    devices.iter().zip(in_order).for_each(|((_, device), host)| host_of[*device as usize] = Some(*host));
    true
}

/// Fills in the streams that the records of chip 9 lack: a task's model and number tell it.
pub(super) fn fill_streams_of_models(device: &mut Device, host: &HostTaskTable) {
    let rows = (0..host.len()).filter(|&row| u32::from(host.device()[row]) == device.id);
    let number = |row: usize| (u32::from(model_number(host.model()[row])), host.task()[row]);
    let mut streams: NumberMap<(u32, u32), u16> = NumberMap::default();
    for row in rows {
        streams.entry(number(row)).or_insert(host.stream()[row]);
    }
    let DeviceTables { tasks, counters, .. } = &mut device.tables;
    for row in 0..tasks.len() {
        let task = tasks.row(row);
        let Some(&stream) = streams.get(&(u32::from(task.model), task.task)) else { continue };
        tasks.replace(row, crate::tables::DeviceTask { stream, ..task });
        // Counters are of the same row, if there are any.
        if row < counters.len() {
            let counted = counters.row(row);
            counters.replace(row, crate::tables::Counters { stream, ..counted });
        }
    }
}

/// Fills in the streams that the device's short records lack: a task's number tells it.
pub(super) fn fill_streams(device: &mut Device, host: &HostTaskTable) {
    let rows = (0..host.len()).filter(|&row| u32::from(host.device()[row]) == device.id);
    let streams: NumberMap<u32, u16> = rows.map(|row| (host.task()[row], host.stream()[row])).collect();
    let tables = &mut device.tables;
    for row in 0..tables.tasks.len() {
        let task = tables.tasks.row(row);
        if let Some(&stream) = streams.get(&task.task) {
            tables.tasks.replace(row, crate::tables::DeviceTask { stream, ..task });
        }
    }
    for row in 0..tables.counters.len() {
        let counters = tables.counters.row(row);
        if let Some(&stream) = streams.get(&counters.task) {
            tables.counters.replace(row, crate::tables::Counters { stream, ..counters });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::host_tasks::{HostTask, OpSource};
    use crate::tables::{DeviceTask, NO_MODEL, TaskLog};

    fn host(tasks: &[(u32, u16, u32)]) -> HostTaskTable {
        let mut table = HostTaskTable::default();
        for (time, &(task, batch, kind)) in tasks.iter().enumerate() {
            table.push(HostTask {
                model: NO_MODEL,
                captured: false,
                request: -1,
                device: 0,
                stream: 2,
                task,
                context: NO_CONTEXT,
                batch,
                kind,
                thread: 1,
                time: time as u64,
                call: None,
                kernel: 0,
                op: OpSource::None,
                name: 0,
                node: None,
                tensors: None,
                attributes: None,
                track: None,
            });
        }
        table
    }

    fn rows<const COUNT: usize>(rows: [Option<usize>; COUNT]) -> [Option<HostTaskRow>; COUNT] {
        rows.map(|row| row.map(HostTaskRow::from_index))
    }

    fn device(tasks: &[(u32, u16)]) -> DeviceTables {
        let mut tables = DeviceTables::default();
        for (time, &(task, batch)) in tasks.iter().enumerate() {
            let (start, end) = (time as u64 * 10, time as u64 * 10 + 5);
            let (log, context) = (TaskLog::Queue, NO_CONTEXT);
            let (model, kind) = (0, 0);
            tables.tasks.push(DeviceTask { stream: 2, task, context, batch, model, log, kind, start, end });
        }
        tables
    }

    #[test]
    fn every_replay_of_a_static_task_gets_its_one_host_task() {
        let (matches, losses) = matches(
            &device(&[(1, 0), (2, 0), (1, 0)]),
            &host(&[(1, 0, 0), (3, 0, 0)]),
            0,
            TaskIdentity::Batch,
            &Stop::default(),
        );
        assert_eq!(*matches.host_of, rows([Some(0), None, Some(0)]));
        assert_eq!(matches.host_only, [HostTaskRow::from_index(1)]);
        assert_eq!((losses.total(LossKind::AmbiguousTask), matches.ambiguous), (0, 0));
    }

    #[test]
    fn batches_part_tasks_with_the_same_number() {
        let (matches, _) = matches(
            &device(&[(1, 0), (1, 1)]),
            &host(&[(1, 0, 0), (1, 1, 0)]),
            0,
            TaskIdentity::Batch,
            &Stop::default(),
        );
        assert_eq!(*matches.host_of, rows([Some(0), Some(1)]));
    }

    #[test]
    fn without_batches_equal_numbers_are_paired_in_their_order() {
        let hosts = host(&[(1, 7, 0), (1, 8, PROFILER_TRACE_EX), (1, 9, 0)]);
        let (result, _) =
            matches(&device(&[(1, 0), (1, 0)]), &hosts, 0, TaskIdentity::Order, &Stop::default());
        assert_eq!(*result.host_of, rows([Some(0), Some(2)]));
    }

    #[test]
    fn what_cannot_be_told_apart_is_counted_and_left_alone() {
        let (result, losses) = matches(
            &device(&[(1, 0), (1, 0), (1, 0)]),
            &host(&[(1, 0, 0), (1, 0, 0)]),
            0,
            TaskIdentity::Batch,
            &Stop::default(),
        );
        assert_eq!(*result.host_of, [None; 3]);
        assert_eq!(losses.total(LossKind::AmbiguousTask), 3);
    }

    #[test]
    fn tasks_of_another_device_are_not_taken() {
        let (result, _) =
            matches(&device(&[(1, 0)]), &host(&[(1, 0, 0)]), 1, TaskIdentity::Batch, &Stop::default());
        assert_eq!(*result.host_of, [None]);
    }
}
