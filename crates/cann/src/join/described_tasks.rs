//! Host tasks of profiles whose records name each task's operator and model themselves.

use crate::join::call_tree::{Walk, threads};
use crate::join::host_tasks::{HostTask, HostTaskTable, OpSource};
use crate::tables::{CallRow, DescribedTask, HostTables, NO_MODEL};

/// The host's tasks, by thread and time.
pub(super) fn host_tasks(host: &HostTables) -> HostTaskTable {
    let calls = threads(&host.api);
    let tasks = &host.described_tasks;
    let mut table = HostTaskTable::default();
    table.reserve(tasks.len());
    let mut rows = tasks.rows().peekable();
    while let Some(thread) = rows.peek().map(|task| task.thread) {
        let mut walk = Walk::new(&host.api, calls.get(&thread));
        while let Some(task) = rows.next_if(|task| task.thread == thread) {
            let path = walk.path_at(task.time);
            table.push(joined(host, &task, path.model, path.innermost));
        }
    }
    table
}

/// The tasks that the compiler of chip 9 describes, on each of the devices: it knows of none. They
/// belong to no call, because a model's tasks are handed out as one.
pub(super) fn tasks_of_models(host: &HostTables, devices: &[u32]) -> HostTaskTable {
    let mut table = HostTaskTable::default();
    for task in host.described_tasks.rows() {
        for device in devices.iter().filter_map(|device| u16::try_from(*device).ok()) {
            table.push(joined(host, &DescribedTask { device, ..task }, None, None));
        }
    }
    table
}

/// A task with the model's call around it and the innermost one, as far as there are such.
fn joined(
    host: &HostTables,
    task: &DescribedTask,
    model_call: Option<CallRow>,
    call: Option<CallRow>,
) -> HostTask {
    let around = model_call.map(|call| host.api.row(call.index()));
    let (model, request) = match (task.node, around) {
        (None, Some(around)) => (around.item, i64::from(around.request)),
        (None, None) => (NO_MODEL, -1),
        _ => (task.model, i64::try_from(task.iteration).unwrap_or(i64::MAX)),
    };
    let (op, name) = match task.node {
        None => (OpSource::None, 0),
        Some(node) => (OpSource::Node, host.nodes.name()[node.index()]),
    };
    HostTask {
        model,
        captured: false,
        request,
        device: task.device,
        stream: task.stream,
        task: task.task,
        context: task.context,
        batch: 0,
        kind: task.kind,
        thread: task.thread,
        time: task.time,
        call,
        kernel: 0,
        op,
        name,
        node: task.node,
        tensors: task.tensors,
        attributes: None,
        track: None,
    }
}
