//! `task_time`: every task that a device executed, operators and others.

use std::borrow::Cow;

use opscope_columns::Column;

use crate::dialect::Dialect;
use crate::export::sheet::{Row, Sheet, WriteRow};
use crate::facts::tracked_copies::{self, track_copies};
use crate::facts::view::{TaskRef, View};
use crate::headings::{owned, task_time};
use crate::join::TrackCopy;
use crate::text::numbers;

/// The table, or `None` if no task ran.
pub(crate) fn sheet<'a>(view: &'a View<'a>, tasks: &'a [TaskRef]) -> Option<Sheet<'a>> {
    let tasks = in_order(view, tasks);
    let copies = copies(view);
    let shown: Column<TaskRef> =
        tasks.iter().copied().filter(|task| !view.device(*task).is_doubled(task.task as usize)).collect();
    (!shown.is_empty()).then(|| Sheet {
        kind: "task_time",
        headers: owned(task_time::ALL),
        rows: shown.len() + copies.len(),
        write: write_rows(view, shown, copies),
    })
}

/// The tasks in the order of the table: by device and start, or by start alone.
fn in_order<'a>(view: &View<'_>, tasks: &'a [TaskRef]) -> Cow<'a, [TaskRef]> {
    if view.dialect != Dialect::Accelerated || view.devices.len() < 2 {
        return Cow::Borrowed(tasks);
    }
    let mut ordered = tasks.to_vec();
    ordered.sort_by_key(|&task| view.device(task).start(task.task as usize));
    Cow::Owned(ordered)
}

/// Copies that the task scheduler tracked, with the device's number in [`View::devices`].
fn copies(view: &View<'_>) -> Vec<(u32, TrackCopy)> {
    let of_device = |(number, device)| track_copies(view, device).into_iter().map(move |copy| (number, copy));
    (0..).zip(&view.devices).flat_map(of_device).collect()
}

/// Writes rows of tasks and, behind those of their device, of copies.
fn write_rows<'a>(view: &'a View<'a>, tasks: Column<TaskRef>, copies: Vec<(u32, TrackCopy)>) -> WriteRow<'a> {
    let tasks_before = |device: u32| tasks.partition_point(|task| task.device <= device);
    let rows_of_copies: Vec<usize> = copies
        .iter()
        .zip(0..)
        .map(|((device, _), copies_before)| tasks_before(*device) + copies_before)
        .collect();
    Box::new(move |index, row| match rows_of_copies.binary_search(&index) {
        Ok(copy) => write_copy(view, copies[copy], row),
        Err(copies_before) => write_row(view, tasks[index - copies_before], row),
    })
}

fn write_copy(view: &View<'_>, (device, copy): (u32, TrackCopy), row: &mut Row<'_>) {
    let device = &view.devices[device as usize];
    row.integer(device.device.id);
    row.text(tracked_copies::NAME);
    row.text(tracked_copies::KIND);
    row.integer(copy.stream);
    row.integer(copy.task);
    row.float(numbers::python_round(copy.duration(&device.device.clock), 3));
    row.time(device.time(copy.started));
    row.time(device.time(copy.ended));
}

fn write_row(view: &View<'_>, task: TaskRef, row: &mut Row<'_>) {
    let device = view.device(task);
    let number = task.task as usize;
    let record = device.device.tables.tasks.row(number);
    let host = view.host_task(task);
    let op = host.as_ref().and_then(|host| view.op(host));
    // A task that the runtime recorded without a kernel has no name here, be it an operator or not.
    let kernel = host.as_ref().and_then(|host| match (host.kernel, host.track) {
        (0, None) => None,
        (0, _) => Some("N/A"),
        (kernel, _) => Some(view.text(kernel)),
    });
    row.integer(device.device.id);
    row.text(kernel.or(op.as_ref().map(|op| op.name)).unwrap_or("N/A"));
    match op.as_ref().map(|op| op.task_type).filter(|unit| *unit != "N/A") {
        Some(unit) => row.word(unit),
        None => row.text(view.task_type(task)),
    }
    row.integer(record.stream);
    row.integer(record.task);
    if view.dialect == Dialect::Accelerated {
        row.number(|out| numbers::push_micros(out, device.unrounded_duration(number) as i64));
    } else {
        row.float(numbers::python_round(device.duration(number) / 1_000.0, 3));
    }
    row.time(device.start(number));
    row.time(device.end(number));
}
