//! `TASK`, `COMPUTE_TASK_INFO`, `COMMUNICATION_SCHEDULE_TASK_INFO` and `MEMCPY_INFO`: what devices
//! executed, and which operators and copies that was.

use std::io::{self, Seek, Write};

use opscope_columns::Column;
use opscope_trace::NumberMap;

use crate::database::ids::{TaskIds, TaskKey};
use crate::database::marks::DeviceMark;
use crate::database::output::Output;
use crate::database::schema;
use crate::database::strings::Strings;
use crate::facts::copies::{self, Copied, OTHER};
use crate::facts::view::{TaskRef, View};
use crate::kinds::{RuntimeKind, device_name};
use crate::tables::{HostTaskRow, NO_MODEL};
use crate::vocabulary;

/// How many host tasks are looked at before what was found goes to its list.
const ROWS_AT_ONCE: usize = 1 << 14;

/// A task that a device executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub(super) place: TaskRef,
    /// Its number in the database.
    pub(super) id: u32,
    /// The text for its kind.
    kind: u32,
}

/// The tasks that devices executed and did not end before the collection, by device and start.
pub(super) fn executed<'a>(view: &'a View<'a>, ids: &mut TaskIds, strings: &mut Strings<'a>) -> Column<Task> {
    let mut tasks = Column::new();
    for (number, device) in view.devices.iter().enumerate() {
        let begin = device.device.metadata.session.begin.unwrap_or(i64::MIN);
        let table = &device.device.tables.tasks;
        let is_shown = |task: &usize| device.device.clock.local(table.end()[*task]) >= begin;
        tasks.extend((0..table.len()).filter(is_shown).map(|task| {
            let place = TaskRef { device: number as u32, task: task as u32 };
            let id = match device.joined.matches.host_of[task] {
                None => ids.id(TaskKey::of_device(device.device.id, &table.row(task))),
                Some(host) => ids.of_host(host, || view.joined.host_tasks.row(host.index())),
            };
            Task { place, id, kind: strings.add(kind(view, place)) }
        }));
    }
    tasks
}

/// The kind of a task: the runtime's word, or the device's for parts of a graph and for tasks that
/// no host call launched.
fn kind<'a>(view: &'a View<'a>, place: TaskRef) -> &'a str {
    let device = view.device(place);
    let task = place.task as usize;
    let host_kinds = view.joined.host_tasks.kind();
    let host_kind = view.host_row(place).map(|host| host_kinds[host.index()]);
    let is_told = |kind: &u32| !matches!(view.kind(*kind), RuntimeKind::FftsPlus | RuntimeKind::Unnamed);
    match host_kind.filter(is_told) {
        Some(kind) => view.kind_name(kind),
        _ => {
            let tasks = &device.device.tables.tasks;
            device_name(tasks.log()[task], tasks.kind()[task])
        }
    }
}

/// Writes the tasks that devices executed, behind them the devices' sides of marks, and their index.
pub(super) fn write<W: Write + Seek + Send>(
    view: &View<'_>,
    tasks: &[Task],
    marks: &[DeviceMark],
    out: &mut Output<'_, W>,
) -> io::Result<()> {
    if tasks.is_empty() && marks.is_empty() {
        return Ok(());
    }
    let pid = i64::from(view.joined.data.pid());
    let mark_kind = if marks.is_empty() { 0 } else { out.strings.add(vocabulary::MARK) };
    let api = &view.joined.host_tasks;
    out.table(&schema::TASK, tasks.len() + marks.len(), |index, row| {
        let Some(task) = tasks.get(index) else {
            let mark = &marks[index - tasks.len()];
            row.integer(mark.start);
            row.integer(mark.end);
            row.integer(i64::from(mark.device));
            row.integer(mark.connection);
            row.integer(i64::from(mark.id));
            row.integer(pid);
            row.integer(i64::from(mark_kind));
            row.integer(i64::from(u32::MAX));
            row.integer(i64::from(mark.stream));
            row.integer(i64::from(mark.task));
            row.integer(i64::from(mark.model as u32));
            return;
        };
        let device = view.device(task.place);
        let number = task.place.task as usize;
        let record = device.device.tables.tasks.row(number);
        let host = device.joined.matches.host_of[number];
        let call = host.and_then(|host| api.call()[host.index()]);
        let model = host.map_or(NO_MODEL, |host| api.model()[host.index()]);
        row.integer(device.device.clock.local(record.start));
        row.integer(device.device.clock.local(record.end));
        row.integer(i64::from(device.device.id));
        row.integer(call.map_or(-1, |call| i64::from(call.connection())));
        row.integer(i64::from(task.id));
        row.integer(pid);
        row.integer(i64::from(task.kind));
        row.integer(i64::from(record.context));
        row.integer(i64::from(record.stream));
        row.integer(i64::from(record.task));
        row.integer(i64::from(model as u32));
    })?;
    let start = |task: &Task| {
        let device = view.device(task.place).device;
        device.clock.local(device.tables.tasks.start()[task.place.task as usize])
    };
    let of_tasks = tasks.iter().map(|task| (start(task), task.id));
    let of_marks = marks.iter().map(|mark| (mark.start, mark.id));
    let mut entries: Column<[i64; 3]> =
        (1..).zip(of_tasks.chain(of_marks)).map(|(key, (start, id))| [start, i64::from(id), key]).collect();
    entries.sort();
    out.index("TaskIndex", &schema::TASK, &["startNs", "globalTaskId"], &entries)
}

/// The host's tasks with an operator, by their number.
pub(super) struct Ops {
    /// The tasks that compute.
    computing: Column<Op>,
    /// The tasks that schedule collective operations on the AI CPU.
    scheduling: Column<Op>,
    /// The texts of the grids of launches of many threads, and of their blocks, by host task.
    grids: NumberMap<HostTaskRow, [u32; 2]>,
}

/// A task with an operator.
#[derive(Clone, Copy, Debug)]
struct Op {
    /// The task's number in the database.
    id: u32,
    row: HostTaskRow,
    texts: OpIds,
}

/// The numbers of the texts of an operator.
#[derive(Clone, Copy, Debug)]
struct OpIds {
    name: u32,
    task_type: u32,
    op_type: u32,
    attributes: u32,
    state: u32,
    hf32: u32,
}

/// The host's tasks with an operator; of several with the same number the first.
pub(super) fn ops<'a>(view: &'a View<'a>, ids: &mut TaskIds, strings: &mut Strings<'a>) -> Ops {
    let table = &view.joined.host_tasks;
    let nodes = &view.joined.data.host.node_attributes;
    let (mut computing, mut scheduling) = (Column::new(), Column::new());
    let mut grids = NumberMap::default();
    let mut operator = |row: usize| {
        let task = table.row(row);
        let op = view.op(&task)?;
        let is_scheduling = view.only_launches(&task);
        let row = HostTaskRow::from_index(row);
        let id = ids.of_host(row, || task);
        let attributes = task.attributes.map_or("", |row| view.text(nodes.value()[row.index()]));
        let texts = OpIds {
            name: strings.add(op.name),
            task_type: strings.add(op.task_type),
            op_type: strings.add(op.op_type),
            attributes: strings.add(attributes),
            state: strings.add(op.state),
            hf32: strings.add(op.hf32),
        };
        if let Some([grid, block]) = view.grid(&task) {
            grids.insert(row, [grid, block].map(|text| strings.add(text)));
        }
        Some((is_scheduling, Op { id, row, texts }))
    };
    // In pieces, so that they can go to a file.
    let mut rows = 0..table.len();
    while !rows.is_empty() {
        let (of_cpu, others): (Vec<_>, Vec<_>) = rows
            .by_ref()
            .take(ROWS_AT_ONCE)
            .filter_map(&mut operator)
            .partition(|(is_scheduling, _)| *is_scheduling);
        computing.extend(others.into_iter().map(|(_, op)| op));
        scheduling.extend(of_cpu.into_iter().map(|(_, op)| op));
    }
    Ops { computing: by_number(computing), scheduling: by_number(scheduling), grids }
}

/// Operators by the numbers of their tasks; of several with the same number the first.
fn by_number(mut ops: Column<Op>) -> Column<Op> {
    ops.sort_unstable_by_key(|op| (op.id, op.row));
    if ops.is_sorted_by(|a, b| a.id < b.id) {
        return ops;
    }
    ops.chunk_by(|a, b| a.id == b.id).map(|same| same[0]).collect()
}

/// Writes the operators.
pub(super) fn write_ops<'a, W: Write + Seek + Send>(
    view: &'a View<'a>,
    ops: &Ops,
    out: &mut Output<'a, W>,
) -> io::Result<()> {
    // The six texts of each combination of tensors, behind them those of an unknown one.
    let unknown = out.strings.add("N/A");
    let tensors: Vec<[u32; 6]> = view
        .tensors
        .iter()
        .map(|texts| {
            [
                out.strings.add(&texts.input_formats),
                out.strings.add(&texts.input_data_types),
                out.strings.add(&texts.input_shapes),
                out.strings.add(&texts.output_formats),
                out.strings.add(&texts.output_data_types),
                out.strings.add(&texts.output_shapes),
            ]
        })
        .collect();
    let host_tasks = &view.joined.host_tasks;
    if !ops.computing.is_empty() {
        out.table(&schema::COMPUTE_TASK_INFO, ops.computing.len(), |index, row| {
            let Op { id, row: host, texts } = ops.computing[index];
            let task = host_tasks.row(host.index());
            let (blocks, mix_blocks) = view.blocks(&task);
            row.integer(i64::from(texts.name));
            row.key(i64::from(id));
            row.integer(i64::from(blocks));
            row.integer(i64::from(mix_blocks));
            row.integer(i64::from(texts.task_type));
            row.integer(i64::from(texts.op_type));
            for text in task.tensors.and_then(|set| tensors.get(set.index())).unwrap_or(&[unknown; 6]) {
                row.integer(i64::from(*text));
            }
            row.integer(i64::from(texts.attributes));
            row.integer(i64::from(texts.state));
            row.integer(i64::from(texts.hf32));
            let grid = ops.grids.get(&host).copied().unwrap_or([unknown; 2]);
            grid.into_iter().for_each(|text| row.integer(i64::from(text)));
        })?;
    }
    if ops.scheduling.is_empty() {
        return Ok(());
    }
    out.table(&schema::COMMUNICATION_SCHEDULE_TASK_INFO, ops.scheduling.len(), |index, row| {
        let Op { id, texts, .. } = ops.scheduling[index];
        row.integer(i64::from(texts.name));
        row.key(i64::from(id));
        row.integer(i64::from(texts.task_type));
        row.integer(i64::from(texts.op_type));
    })
}

/// An asynchronous copy: its task's number, bytes and direction.
pub(super) type CopyRow = (u32, i64, u16);

/// The asynchronous copies. Where there are only notes and no tasks, the reference has one row that
/// stands for nothing, as do we.
pub(super) fn copies(view: &View<'_>, ids: &mut TaskIds) -> Vec<CopyRow> {
    let tasks = &view.joined.host_tasks;
    let row = |copied: &Copied| {
        let id = ids.id(TaskKey::of_host(&tasks.row(copied.host_task.index())).whole());
        (id, copied.bytes as i64, copied.direction)
    };
    let mut rows: Vec<CopyRow> = copies::copies(view).iter().map(row).collect();
    if rows.is_empty() && !view.joined.data.host.memcpys.is_empty() {
        rows.push((ids.len() as u32, -1, OTHER));
    }
    rows
}

/// Writes the asynchronous copies.
pub(super) fn write_copies<W: Write + Seek + Send>(
    copies: &[CopyRow],
    out: &mut Output<'_, W>,
) -> io::Result<()> {
    if copies.is_empty() {
        return Ok(());
    }
    out.table(&schema::MEMCPY_INFO, copies.len(), |index, row| {
        let (id, bytes, direction) = copies[index];
        row.integer(i64::from(id));
        row.integer(bytes);
        row.integer(i64::from(direction));
    })
}
