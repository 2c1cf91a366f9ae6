//! `task_time` of chip 0: its tasks by the time that they took, with their waiting.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::data::Device;
use crate::export::sheet::{Row, Sheet};
use crate::facts::tracked_copies::{self, track_copies};
use crate::facts::view::{DeviceView, TaskRef, View};
use crate::headings::{owned, task_time_oldest};
use crate::join::TrackCopy;
use crate::kinds::oldest_name;
use crate::tables::TaskState;
use crate::text::numbers;
use opscope_columns::Column;
use opscope_trace::NumberMap;

/// Sums over the runs of a task, in nanoseconds.
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
    pending: Option<f64>,
    kind: String,
    call: &'static str,
    task: u32,
    name: &'a str,
    stream: u16,
}

/// The table, or `None` if no task ran.
pub(crate) fn sheet<'a>(view: &'a View<'a>, tasks: &[TaskRef]) -> Option<Sheet<'a>> {
    let lines: Vec<Line<'a>> =
        (0..view.devices.len()).flat_map(|number| lines_of_device(view, number, tasks)).collect();
    (!lines.is_empty()).then(|| Sheet {
        kind: "task_time",
        headers: owned(task_time_oldest::ALL),
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
        match self.pending {
            Some(pending) => row.float(pending),
            None => row.missing(),
        }
        row.text(&self.kind);
        row.text(self.call);
        row.integer(self.task);
        row.text(self.name);
        row.integer(self.stream);
    }
}

/// The rows of a device: of its tasks, and of its copies.
fn lines_of_device<'a>(view: &'a View<'a>, number: usize, tasks: &[TaskRef]) -> Vec<Line<'a>> {
    let device = &view.devices[number];
    let mut lines = lines_of_tasks(view, device, tasks.iter().filter(|task| task.device as usize == number));
    let copies = lines_of_copies(view, device);
    if copies.is_empty() {
        return lines;
    }
    lines.extend(copies);
    let total: f64 = lines.iter().map(|line| line.time).sum();
    for line in &mut lines {
        line.share = if total > 0.0 { line.time / total * 100.0 } else { 0.0 };
    }
    lines
}

/// The rows of a device's copies, by stream and task.
fn lines_of_copies<'a>(view: &View<'a>, device: &DeviceView<'a>) -> Vec<Line<'a>> {
    let mut by_task: BTreeMap<(u16, u16), Vec<TrackCopy>> = BTreeMap::new();
    for copy in track_copies(view, device) {
        by_task.entry((copy.stream, copy.task)).or_default().push(copy);
    }
    let clock = &device.device.clock;
    let line = |((stream, task), copies): ((u16, u16), Vec<TrackCopy>)| {
        let durations = || copies.iter().map(|copy| copy.duration(clock));
        let time: f64 = durations().sum();
        Line {
            device: device.device.id,
            share: 0.0,
            time,
            count: copies.len() as u64,
            average: time / copies.len() as f64,
            min: durations().fold(f64::INFINITY, f64::min),
            max: durations().fold(0.0, f64::max),
            waiting: copies.iter().map(|copy| copy.waiting(clock)).sum(),
            pending: None,
            kind: tracked_copies::KIND.to_owned(),
            call: "MemcpyAsync",
            task: u32::from(task),
            name: "N/A",
            stream,
        }
    };
    by_task.into_iter().map(line).collect()
}

/// The rows of a device's tasks, those that took the most time first.
fn lines_of_tasks<'a, 't>(
    view: &'a View<'a>,
    device: &DeviceView<'a>,
    tasks: impl Iterator<Item = &'t TaskRef> + Clone,
) -> Vec<Line<'a>> {
    let starts = || tasks.clone().map(|task| device.device.tables.tasks.start()[task.task as usize]);
    // Without tasks the stretch is empty.
    let started = starts().min().unwrap_or(u64::MAX)..=starts().max().unwrap_or(0);
    let waits = waits(device.device, started);
    let mut groups: BTreeMap<(u16, u32, u16), (Option<&str>, Sums)> = BTreeMap::new();
    let mut total = 0.0;
    for &task in tasks {
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
        let (waiting, pending) = wait_of(&waits, (record.stream, record.task, record.start));
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
        pending: Some(micros(sums.pending)),
        kind: oldest_name(kind),
        call: "",
        task,
        name: name.unwrap_or("N/A"),
        stream,
    };
    groups.into_iter().map(line).collect()
}

/// A run of a task, by stream, task and start, and how many nanoseconds it waited and passed from when it was
/// pending to its end.
#[derive(Clone, Copy)]
struct Wait {
    run: (u16, u32, u64),
    /// Its place among all, for of several runs with one key the last counts.
    place: u32,
    waited: f64,
    pended: f64,
}

/// The waiting of the runs that started within a stretch of time, in the order of their keys. There may be as many as
/// tasks, so they lie in a column.
fn waits(device: &Device, started: RangeInclusive<u64>) -> Column<Wait> {
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
    let mut waits = Column::new();
    let between = |from: u64, to: u64| device.clock.monotonic_f64(to) - device.clock.monotonic_f64(from);
    let mut note = |state: TaskState| {
        let run = runs.entry((state.stream, state.task)).or_default();
        match state.state {
            WAITING => run.waiting = Some(state.time),
            RUNNING => run.running = Some(state.time),
            PENDING => run.pending = Some(state.time),
            COMPLETE => {
                let Run { waiting, running, pending } = std::mem::take(run);
                let Some(running) = running.filter(|running| started.contains(running)) else { return };
                // A task that has to wait once more while it runs waits until its end.
                let until = |waiting: u64| if running < waiting { state.time } else { running };
                let waited = waiting.map_or(0.0, |waiting| between(waiting, until(waiting)));
                let pended = pending.map_or(0.0, |pending| between(pending, state.time));
                let (run, place) = ((state.stream, u32::from(state.task), running), waits.len() as u32);
                waits.push(Wait { run, place, waited, pended });
            }
            _ => {}
        }
    };
    let states = &device.tables.states;
    let order = |state: &TaskState| (state.time, state.state, state.stream, state.task);
    if states.rows().is_sorted_by_key(|state| (state.time, state.state)) {
        states.rows().for_each(note);
    } else {
        let mut sorted = Column::new();
        states.rows().for_each(|state| sorted.push(state));
        sorted.sort_unstable_by_key(order);
        sorted.iter().for_each(|&state| note(state));
    }
    waits.sort_unstable_by_key(|wait| (wait.run, wait.place));
    waits
}

/// How long a run waited and was pending; nothing of one whose states weren't all recorded.
fn wait_of(waits: &[Wait], run: (u16, u32, u64)) -> (f64, f64) {
    let next = waits.partition_point(|wait| wait.run <= run);
    let found = waits[..next].last().filter(|wait| wait.run == run);
    found.map_or((0.0, 0.0), |wait| (wait.waited, wait.pended))
}
