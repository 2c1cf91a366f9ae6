//! A device's lanes: its tasks, inferences and marks.

use std::collections::BTreeMap;

use opscope_cann_raw::host::level;
use opscope_columns::Column;
use opscope_trace::{LanePacker, NumberMap, NumberSet};

use crate::dialect::Dialect;
use crate::facts::copies::{self, Copied};
use crate::facts::marks::DeviceMark;
use crate::facts::steps::Step;
use crate::facts::view::{TaskRef, View};
use crate::join::HostTask;
use crate::kinds::device_name;
use crate::lane_choice::Layer;
use crate::tables::{CallRow, HostTaskRow, NO_MODEL};
use crate::timeline::event::{Args, Events, Lane};
use crate::timeline::host::mark_arrow;
use crate::timeline::lanes::{self, Lanes, name_lane, seen};
use crate::timeline::training;

/// The step between the numbers of a stream's lanes, where it needs several.
pub(super) const NEXT_TRACK: u64 = 1 << 20;

/// The number of the lane with the inferences of model 0.
const STEP_LANE: u64 = 70_000;

/// The tasks that are shown, and where.
pub(super) struct Tasks {
    pub(super) tasks: Column<TaskRef>,
    /// The lanes of those that don't fit into their stream's first one, by place in `tasks`.
    tracks: NumberMap<u32, u64>,
    /// How many lanes there are for each stream of each device that the program knows.
    streams: BTreeMap<(u32, u32), usize>,
    /// Copies, by host task.
    copies: NumberMap<HostTaskRow, Copied>,
    /// Which calls recorded an event or wait for one, by row of the table of calls.
    event_calls: NumberSet<CallRow>,
}

impl Tasks {
    pub(super) fn new(view: &View<'_>) -> Self {
        let mut tasks = view.tasks();
        tasks.retain(|task| !view.device(*task).is_doubled(task.task as usize));
        let mut by_stream: NumberMap<(u32, u32), LanePacker<i64>> = NumberMap::default();
        let mut tracks = NumberMap::default();
        for (place, &task) in tasks.iter().enumerate() {
            let device = view.device(task);
            let number = task.task as usize;
            let stream = view.lane_of_stream(device.device.tables.tasks.stream()[number]);
            let track = by_stream
                .entry((task.device, stream))
                .or_default()
                .place(seen(device.start(number), device.end(number)));
            if track > 0 {
                tracks.insert(place as u32, track as u64);
            }
        }
        let streams = by_stream.into_iter().map(|(stream, tracks)| (stream, tracks.count())).collect();
        let copies = match view.dialect {
            Dialect::Accelerated => {
                copies::copies(view).into_iter().map(|copied| (copied.host_task, copied)).collect()
            }
            _ => NumberMap::default(),
        };
        Self { tasks, tracks, streams, copies, event_calls: event_calls(view) }
    }

    /// Names the lanes.
    pub(super) fn names(&self, view: &View<'_>, lanes: &Lanes, events: &mut Events) {
        name_devices(view, lanes, events);
        for (&(device, stream), &tracks) in &self.streams {
            let id = view.devices[device as usize].device.id;
            for track in 0..tracks as u64 {
                let lane = lanes.lane(Layer::Hardware, Some(id), u64::from(stream) + track * NEXT_TRACK);
                name_lane(events, lane, &format!("Stream {stream}"), u64::from(stream));
            }
        }
    }

    /// How many lanes show the tasks of a device's stream, and the number that the lanes have.
    pub(super) fn lanes_of(&self, view: &View<'_>, device: u32, stream: u16) -> (u64, u32) {
        let stream = view.lane_of_stream(stream);
        (self.streams.get(&(device, stream)).copied().unwrap_or(0) as u64, stream)
    }

    /// From which calls an arrow leads to a task, by row of the table of calls. The accelerated reference
    /// begins one at each node as well, whether it launched something or not.
    pub(super) fn launches(&self, view: &View<'_>) -> Vec<bool> {
        let calls = &view.joined.data.host.api;
        let accelerated = view.dialect == Dialect::Accelerated;
        let mut launches: Vec<bool> =
            calls.level().iter().map(|&of_call| accelerated && of_call == level::NODE).collect();
        for &task in &self.tasks {
            let Some(host) = view.host_task(task) else { continue };
            if let Some(call) = host.call {
                launches[call.index()] = launches[call.index()] || self.has_arrow(view, &host, call);
            }
        }
        launches
    }

    /// Whether an arrow leads to a task: an operator, a copy, or what records an event or waits for one.
    fn has_arrow(&self, view: &View<'_>, host: &HostTask, call: CallRow) -> bool {
        view.unit(host).is_some() || view.is_copy(host.kind) || self.event_calls.contains(&call)
    }

    /// Writes the task with a number among the shown ones.
    pub(super) fn write(&self, view: &View<'_>, lanes: &Lanes, index: usize, events: &mut Events) {
        let task = self.tasks[index];
        let device = view.device(task);
        let number = task.task as usize;
        let record = device.device.tables.tasks.row(number);
        let host = view.host_task(task);
        let op = host.as_ref().and_then(|host| view.op(host));
        let unit = op.as_ref().map(|op| op.task_type).filter(|unit| *unit != "N/A");
        let kind = unit.unwrap_or_else(|| view.task_type(task));
        let name = op.as_ref().map_or(kind, |op| op.name);
        let accelerated = view.dialect == Dialect::Accelerated;
        let is_copy = accelerated && host.as_ref().is_some_and(|host| view.is_copy(host.kind));
        let kind = if is_copy { device_name(record.log, record.kind) } else { kind };
        let track = self.tracks.get(&(index as u32)).copied().unwrap_or(0);
        let tid = u64::from(view.lane_of_stream(record.stream)) + track * NEXT_TRACK;
        let lane = lanes.lane(Layer::Hardware, Some(device.device.id), tid);
        let (start, end) = (device.start(number), device.end(number));
        let call = host.as_ref().and_then(|host| host.call);
        let duration = end.saturating_sub(start);
        events.slice([name], lane, start, duration, None, |args| {
            args.integer("Model Id", host.as_ref().map_or(NO_MODEL, |host| host.model));
            args.text("Task Type", kind)
                .integer("Physic Stream Id", record.stream)
                .integer("Task Id", record.task);
            args.integer("Batch Id", record.batch).integer("Subtask Id", record.context);
            match call {
                // The accelerated reference has no negative numbers here.
                None if accelerated => args.integer("connection_id", u64::MAX),
                None => args.integer("connection_id", -1),
                Some(call) => args.integer("connection_id", call.connection()),
            };
            if is_copy && !self.copies.is_empty() {
                self.write_copy(task, view, duration, args);
            }
            if let Some(host) = host.as_ref().filter(|host| accelerated && view.is_simt(host.kind)) {
                let [grid, block] =
                    view.grid(host).map_or(["N/A"; 2], |texts| texts.each_ref().map(String::as_str));
                args.text("Grid Dim", grid).text("Block Dim", block);
            }
        });
        let launch = host.as_ref().zip(call).filter(|(host, call)| self.has_arrow(view, host, *call));
        if let Some((_, call)) = launch {
            let arrow = u64::from(call.connection()) << 32;
            events.arrow("HostToDevice", "HostToDevice", arrow, lane, start, true);
        }
    }

    /// Writes what a task copied in a duration of nanoseconds.
    fn write_copy(&self, task: TaskRef, view: &View<'_>, duration: i64, args: &mut Args<'_>) {
        let Some(host_task) = view.host_row(task) else { return };
        let unknown = Copied { host_task, bytes: 0, direction: copies::OTHER };
        let copied = self.copies.get(&host_task).unwrap_or(&unknown);
        let bandwidth = if duration > 0 { copied.bytes as f64 / duration as f64 } else { 0.0 };
        args.integer("size(B)", copied.bytes)
            .float("bandwidth(GB/s)", bandwidth)
            .text("operation", copied.direction_name());
    }
}

/// The calls that recorded an event or wait for one, by row of the table of calls.
fn event_calls(view: &View<'_>) -> NumberSet<CallRow> {
    const EVENT_CALLS: [&str; 2] = ["aclrtRecordEvent", "aclrtStreamWaitEvent"];
    let host = &view.joined.data.host;
    let types = host.names.types_of(level::ACL);
    let kinds: NumberSet<u32> =
        types.filter(|(_, name)| EVENT_CALLS.contains(name)).map(|(kind, _)| kind).collect();
    if kinds.is_empty() {
        return NumberSet::default();
    }
    let is_of_event =
        |&row: &usize| host.api.level()[row] == level::ACL && kinds.contains(&host.api.kind()[row]);
    (0..host.api.len()).filter(is_of_event).map(CallRow::from_index).collect()
}

/// Writes the inferences. Alone in a file, and where single iterations are shown, the reference
/// gives them a process of their own.
pub(super) fn steps(view: &View<'_>, lanes: &Lanes, steps: &[Step], alone: bool, events: &mut Events) {
    let own_process = alone && view.one_iteration;
    if own_process {
        let lane = Lane { pid: u64::from(view.joined.data.pid()), tid: 0 };
        events.metadata("process_name", lane, |args| {
            args.text("name", lanes::STEPS);
        });
    } else if !steps.is_empty() {
        name_devices(view, lanes, events);
    }
    let mut models: BTreeMap<(usize, u64), LanePacker<i64>> = BTreeMap::new();
    let mut models_of: Vec<Vec<u64>> = vec![Vec::new(); view.devices.len()];
    steps.iter().for_each(|step| models_of[step.device].push(step.iteration.model));
    for models in &mut models_of {
        models.sort_unstable();
        models.dedup();
    }
    let first_reduces = training::first_reduces(view, steps);
    for (step, first_reduce) in steps.iter().zip(first_reduces) {
        let device = &view.devices[step.device];
        let model = step.iteration.model;
        let (start, end) = (device.time(step.iteration.start), device.time(step.iteration.end));
        let number = step_lane(view, &models_of[step.device], model);
        let tracks = models.entry((step.device, model)).or_default();
        let mut lane_of = |start: i64, end: i64, events: &mut Events| {
            let (known, track) = (tracks.count(), tracks.place(seen(start, end)));
            let place = STEP_LANE.saturating_add(model);
            let tid = number.saturating_add(track as u64 * NEXT_TRACK);
            let lane = match own_process {
                true => Lane { pid: u64::from(view.joined.data.pid()), tid },
                false => lanes.lane(Layer::Hardware, Some(device.device.id), tid),
            };
            if track == known {
                let name = if own_process {
                    format!("Model ID:{model}")
                } else {
                    format!("{}(Model ID:{model})", lanes::STEPS)
                };
                name_lane(events, lane, &name, place);
            }
            lane
        };
        let lane = lane_of(start, end, events);
        let duration = end.saturating_sub(start);
        let name = format!("Iteration {}", step.number);
        events.slice([&name], lane, start, duration, Some("Iteration Time"), |args| {
            args.integer("Iteration ID", step.number);
            for (key, ticks) in [("FP Start", step.iteration.forward), ("BP End", step.iteration.backward)] {
                match ticks {
                    0 => args.text(key, "N/A"),
                    ticks => args.time(key, device.time(ticks)),
                };
            }
            args.time("Iteration End", end);
            if view.dialect == Dialect::Accelerated {
                args.micros("Iteration Time(us)", duration);
            } else {
                let ticks = step.iteration.end.saturating_sub(step.iteration.start);
                args.float("Iteration Time(us)", device.device.clock.duration_micros_f64(ticks));
            }
        });
        training::parts(view, step, first_reduce, events, &mut lane_of);
        training::data_wait(view, step, lane, events);
    }
}

/// The number of the lane with a model's inferences; `models` are those that its device executed, by number.
/// The accelerated reference numbers it by the model, the other by the process and the model's place.
fn step_lane(view: &View<'_>, models: &[u64], model: u64) -> u64 {
    match view.dialect {
        Dialect::Accelerated => STEP_LANE.saturating_add(model),
        _ => {
            let place = models.partition_point(|&other| other < model) as u64;
            STEP_LANE + u64::from(view.joined.data.pid()) + place
        }
    }
}

/// Writes the devices' sides of marks; without `all` only those of the chosen iterations.
pub(super) fn marks(
    view: &View<'_>,
    lanes: &Lanes,
    marks: &NumberMap<u64, DeviceMark>,
    all: bool,
    events: &mut Events,
) {
    let host = &view.joined.data.host;
    let mut named: Vec<(usize, u16)> = Vec::new();
    for tx in host.tx.rows().filter(|tx| tx.mstx) {
        let Some(mark) = marks.get(&tx.mark) else { continue };
        let device = &view.devices[mark.device];
        let lane = lanes.lane(Layer::Hardware, Some(device.device.id), u64::from(mark.stream));
        if !named.contains(&(mark.device, mark.stream)) {
            named.push((mark.device, mark.stream));
            name_lane(events, lane, &format!("Stream {}", mark.stream), u64::from(mark.stream));
        }
        if !all && !view.shows_span(mark.start, mark.end) {
            continue;
        }
        let message = host.messages.get(tx.message as usize).map_or("", String::as_str);
        events.slice([message], lane, mark.start, mark.end.saturating_sub(mark.start), None, |args| {
            args.integer("Physic Stream Id", mark.stream).integer("Task Id", mark.task);
        });
        events.arrow("MsTx_", "MsTx", mark_arrow(view, tx.mark), lane, mark.start, true);
    }
}

/// Names the lanes of all devices' tasks.
pub(super) fn name_devices(view: &View<'_>, lanes: &Lanes, events: &mut Events) {
    let [today, in_2022] = lanes::HARDWARE;
    for device in &view.devices {
        let name = lanes.name_of(today, in_2022);
        lanes.name_layer(events, Layer::Hardware, Some(device.device.id), name);
    }
}
