//! `task_time` of chip 0: its tasks by the time that they took, with their waiting.

use std::collections::HashMap;

use crate::export::sheet::Sheet;
use crate::export::view::{TaskRef, View};
use crate::names::NumberMap;
use crate::numbers;

/// What is summed up over the runs of a task, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Sums {
    count: u64,
    total: f64,
    min: f64,
    max: f64,
    waiting: f64,
    pending: f64,
}

/// One row: the device, the kind of task, its stream and number, its operator, and the sums.
type Line<'a> = (u32, u16, u16, u32, &'a str, Sums, f64);

/// The table, or `None` if no task ran.
pub(crate) fn sheet<'a>(view: &'a View<'a>, tasks: &[TaskRef]) -> Option<Sheet<'a>> {
    let mut lines: Vec<Line<'a>> = Vec::new();
    for of_device in tasks.chunk_by(|a, b| a.device == b.device) {
        let device = view.device(of_device[0]);
        let waits = waits(view, of_device[0]);
        let mut groups: HashMap<(u16, u16, u32, &str), Sums> = HashMap::new();
        let mut total = 0.0;
        for &task in of_device {
            let record = device.device.tables.tasks.row(task.task as usize);
            let name = view.host_task(task).map_or("N/A", |host| view.text(host.name));
            let duration = device.duration(task.task as usize);
            total += duration;
            let empty =
                Sums { count: 0, total: 0.0, min: f64::INFINITY, max: 0.0, waiting: 0.0, pending: 0.0 };
            let sums = groups.entry((record.kind, record.stream, record.task, name)).or_insert(empty);
            sums.count += 1;
            sums.total += duration;
            sums.min = sums.min.min(duration);
            sums.max = sums.max.max(duration);
            let (waiting, pending) =
                waits.get(&(record.stream, record.task, record.start)).copied().unwrap_or_default();
            sums.waiting += device.device.clock.duration_f64(waiting);
            sums.pending += device.device.clock.duration_f64(pending);
        }
        let id = device.device.id;
        let line = |((kind, stream, task, name), sums): (_, Sums)| {
            (id, kind, stream, task, name, sums, if total > 0.0 { sums.total / total * 100.0 } else { 0.0 })
        };
        let mut of_device: Vec<Line<'a>> = groups.into_iter().map(line).collect();
        // Times are compared as they are shown.
        let shown = |line: &Line<'_>| numbers::python_round(line.5.total / 1_000.0, 3);
        of_device.sort_by(|a, b| shown(b).total_cmp(&shown(a)).then((a.2, a.3).cmp(&(b.2, b.3))));
        lines.extend(of_device);
    }
    let headers = [
        "Device_id",
        "Time(%)",
        "Time(us)",
        "Count",
        "Avg(us)",
        "Min(us)",
        "Max(us)",
        "Waiting(us)",
        "Running(us)",
        "Pending(us)",
        "Type",
        "API",
        "Task ID",
        "Op Name",
        "Stream ID",
    ];
    (!lines.is_empty()).then(|| Sheet {
        kind: "task_time",
        headers: headers.map(str::to_owned).to_vec(),
        rows: lines.len(),
        write: Box::new(move |index, row| {
            let (device, kind, stream, task, name, sums, share) = &lines[index];
            let micros = |nanoseconds: f64| numbers::python_round(nanoseconds / 1_000.0, 3);
            row.integer(*device);
            row.float(numbers::python_round(*share, 3));
            row.float(micros(sums.total));
            row.integer(sums.count);
            row.float(micros(sums.total / sums.count as f64));
            row.float(micros(sums.min));
            row.float(micros(sums.max));
            row.float(micros(sums.waiting));
            row.float(micros(sums.total));
            row.float(micros(sums.pending));
            row.text(kind_text(*kind));
            row.text("");
            row.integer(*task);
            row.text(name);
            row.integer(*stream);
        }),
    })
}

/// For each run, by stream, task and start, the ticks that it waited and was pending before.
fn waits(view: &View<'_>, task: TaskRef) -> HashMap<(u16, u32, u64), (u64, u64)> {
    const WAITING: u16 = 1;
    const RUNNING: u16 = 2;
    const PENDING: u16 = 4;
    let mut last: NumberMap<(u16, u16), (Option<u64>, Option<u64>)> = NumberMap::default();
    let mut waits = HashMap::new();
    let device = view.device(task);
    for state in device.device.tables.states.rows() {
        let (waiting, pending) = last.entry((state.stream, state.task)).or_default();
        match state.state {
            WAITING => *waiting = Some(state.time),
            PENDING => *pending = Some(state.time),
            RUNNING => {
                let ticks =
                    |since: &mut Option<u64>| since.take().map_or(0, |time| state.time.saturating_sub(time));
                let key = (state.stream, u32::from(state.task), state.time);
                waits.insert(key, (ticks(waiting), ticks(pending)));
            }
            _ => {}
        }
    }
    waits
}

/// The kinds of tasks of chip 0 in words.
fn kind_text(kind: u16) -> &'static str {
    match kind {
        0 => "kernel AI core task",
        1 => "kernel AI cpu task",
        2 => "event record task",
        3 => "stream wait event task",
        4 => "fusion issue task",
        5 => "memory copy task",
        _ => "other",
    }
}
