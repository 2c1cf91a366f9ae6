//! `task_time` of chip 0: its tasks by the time that they took, with their waiting.

use std::collections::{BTreeMap, HashMap};

use crate::data::Device;
use crate::export::sheet::{Row, Sheet};
use crate::export::view::{TaskRef, View};
use crate::kinds::oldest_name;
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

/// One row; times are in microseconds.
struct Line<'a> {
    device: u32,
    /// Percent of the time of all.
    share: f64,
    time: f64,
    count: u64,
    average: f64,
    min: f64,
    max: f64,
    waiting: f64,
    pending: f64,
    kind: String,
    task: u32,
    name: &'a str,
    stream: u16,
}

/// The table, or `None` if no task ran.
pub(crate) fn sheet<'a>(view: &'a View<'a>, tasks: &[TaskRef]) -> Option<Sheet<'a>> {
    let of_devices = tasks.chunk_by(|a, b| a.device == b.device);
    let lines: Vec<Line<'a>> = of_devices.flat_map(|of_device| lines(view, of_device)).collect();
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
        write: Box::new(move |index, row| lines[index].write(row)),
    })
}

impl Line<'_> {
    fn write(&self, row: &mut Row<'_>) {
        row.integer(self.device);
        row.float(self.share);
        row.float(self.time);
        row.integer(self.count);
        [self.average, self.min, self.max, self.waiting, self.time]
            .into_iter()
            .for_each(|time| row.float(time));
        row.float(self.pending);
        row.text(&self.kind);
        row.text("");
        row.integer(self.task);
        row.text(self.name);
        row.integer(self.stream);
    }
}

/// The rows of a device's tasks, those that took the most time first.
fn lines<'a>(view: &'a View<'a>, of_device: &[TaskRef]) -> Vec<Line<'a>> {
    let device = view.device(of_device[0]);
    let waits = waits(device.device);
    let mut groups: BTreeMap<(u16, u32, u16), (Option<&str>, Sums)> = BTreeMap::new();
    let mut total = 0.0;
    for &task in of_device {
        let record = device.device.tables.tasks.row(task.task as usize);
        let duration = device.duration(task.task as usize);
        total += duration;
        let empty = Sums { count: 0, total: 0.0, min: f64::INFINITY, max: 0.0, waiting: 0.0, pending: 0.0 };
        let group = groups.entry((record.kind, record.task, record.stream)).or_insert((None, empty));
        let (name, sums) = group;
        *name = name.or_else(|| Some(view.op(&view.host_task(task)?)?.name));
        sums.count += 1;
        sums.total += duration;
        sums.min = sums.min.min(duration);
        sums.max = sums.max.max(duration);
        let (waiting, pending) =
            waits.get(&(record.stream, record.task, record.start)).copied().unwrap_or_default();
        sums.waiting += waiting;
        sums.pending += pending;
    }
    let micros = |nanoseconds: f64| numbers::sqlite_round(nanoseconds / 1_000.0);
    // Tasks are in order of shares with six decimals, of which the table shows three.
    let share = |sums: &Sums| match total > 0.0 {
        true => numbers::python_round(sums.total / total * 100.0, 6),
        false => 0.0,
    };
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(_, (_, a)), (_, (_, b))| share(b).total_cmp(&share(a)));
    let line = |((kind, task, stream), (name, sums)): ((u16, u32, u16), (Option<&'a str>, Sums))| Line {
        device: device.device.id,
        share: numbers::sqlite_round(share(&sums)),
        time: micros(sums.total),
        count: sums.count,
        average: micros(sums.total / sums.count as f64),
        min: micros(sums.min),
        max: micros(sums.max),
        waiting: micros(sums.waiting),
        pending: micros(sums.pending),
        kind: oldest_name(kind),
        task,
        name: name.unwrap_or("N/A"),
        stream,
    };
    groups.into_iter().map(line).collect()
}

/// For each run, by stream, task and start, how many nanoseconds it waited, and how many passed from
/// when it was pending to its end.
fn waits(device: &Device) -> HashMap<(u16, u32, u64), (f64, f64)> {
    const WAITING: u16 = 1;
    const RUNNING: u16 = 2;
    const COMPLETE: u16 = 3;
    const PENDING: u16 = 4;
    /// When a task came into each state since its run before.
    #[derive(Default)]
    struct Run {
        waiting: Option<u64>,
        running: Option<u64>,
        pending: Option<u64>,
    }
    let mut runs: NumberMap<(u16, u16), Run> = NumberMap::default();
    let mut waits = HashMap::new();
    let mut states: Vec<_> = device.tables.states.rows().collect();
    states.sort_by_key(|state| (state.time, state.state));
    let between = |from: u64, to: u64| device.clock.monotonic_f64(to) - device.clock.monotonic_f64(from);
    for state in states {
        let run = runs.entry((state.stream, state.task)).or_default();
        match state.state {
            WAITING => run.waiting = Some(state.time),
            RUNNING => run.running = Some(state.time),
            PENDING => run.pending = Some(state.time),
            COMPLETE => {
                let Run { waiting, running, pending } = std::mem::take(run);
                let Some(running) = running else { continue };
                // A task that has to wait once more while it runs waits until its end.
                let until = |waiting: u64| if running < waiting { state.time } else { running };
                let waited = waiting.map_or(0.0, |waiting| between(waiting, until(waiting)));
                let pended = pending.map_or(0.0, |pending| between(pending, state.time));
                waits.insert((state.stream, u32::from(state.task), running), (waited, pended));
            }
            _ => {}
        }
    }
    waits
}
