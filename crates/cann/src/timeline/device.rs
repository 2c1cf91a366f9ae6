//! A device's lanes: its tasks, inferences and marks.

use std::collections::BTreeMap;

use crate::export::msprof_tx::DeviceMark;
use crate::export::step_trace::Step;
use crate::export::view::{TaskRef, View};
use crate::metrics::Dialect;
use crate::names::NumberMap;
use crate::tables::NONE;
use crate::timeline::event::{Events, Lane};
use crate::timeline::host::mark_arrow;
use crate::timeline::lanes::{Lanes, Layer, Tracks, name_lane};
use crate::timeline::training;

/// What is added to a stream's number for each further lane that it needs.
pub(super) const NEXT_TRACK: u64 = 1 << 20;

/// The number of the lane with the inferences of model 0.
const STEP_LANE: u64 = 70_000;

/// The tasks that are shown, and where.
pub(super) struct Tasks {
    pub(super) tasks: Vec<TaskRef>,
    /// The lanes of those that don't fit into their stream's first one, by place in `tasks`.
    tracks: NumberMap<u32, u64>,
    /// How many lanes each stream of each device has.
    streams: BTreeMap<(u32, u16), usize>,
}

impl Tasks {
    pub(super) fn new(view: &View<'_>) -> Self {
        let mut tasks = view.tasks();
        tasks.retain(|&task| {
            !view.device(task).is_doubled(task.task as usize, view.host_task(task).as_ref(), view)
        });
        let mut by_stream: BTreeMap<(u32, u16), Tracks> = BTreeMap::new();
        let mut tracks = NumberMap::default();
        for (place, &task) in tasks.iter().enumerate() {
            let device = view.device(task);
            let number = task.task as usize;
            let stream = device.device.tables.tasks.stream()[number];
            let track = by_stream
                .entry((task.device, stream))
                .or_default()
                .place(device.start(number), device.end(number));
            if track > 0 {
                tracks.insert(place as u32, track as u64);
            }
        }
        let streams = by_stream.into_iter().map(|(stream, tracks)| (stream, tracks.count())).collect();
        Self { tasks, tracks, streams }
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

    /// Which calls launched a shown task, by row of the table of calls.
    pub(super) fn launches(&self, view: &View<'_>) -> Vec<bool> {
        let mut launches = vec![false; view.joined.data.host.api.len()];
        for &task in &self.tasks {
            if let Some(launch) = view.host_task(task).and_then(|host| launches.get_mut(host.call as usize)) {
                *launch = true;
            }
        }
        launches
    }

    /// Writes the task with a number among the shown ones.
    pub(super) fn write(&self, view: &View<'_>, lanes: &Lanes, index: usize, events: &mut Events) {
        let task = self.tasks[index];
        let device = view.device(task);
        let number = task.task as usize;
        let record = device.device.tables.tasks.row(number);
        let host = view.host_task(task);
        let op = host.as_ref().and_then(|host| view.op(host));
        let kind = op.as_ref().map(|op| op.task_type).filter(|unit| *unit != "N/A");
        let kind = kind.unwrap_or_else(|| view.task_type(task));
        let track = self.tracks.get(&(index as u32)).copied().unwrap_or(0);
        let tid = u64::from(record.stream) + track * NEXT_TRACK;
        let lane = lanes.lane(Layer::Hardware, Some(device.device.id), tid);
        let (start, end) = (device.start(number), device.end(number));
        let call = host.as_ref().map_or(NONE, |host| host.call);
        let connection = if call == NONE { -1 } else { i64::from(call) + 1 };
        let name = op.as_ref().map_or(kind, |op| op.name);
        events.slice([name], lane, start, end.saturating_sub(start), None, |args| {
            args.integer("Model Id", host.as_ref().map_or(crate::tables::NO_MODEL, |host| host.model));
            args.text("Task Type", kind)
                .integer("Physic Stream Id", record.stream)
                .integer("Task Id", record.task);
            args.integer("Batch Id", record.batch).integer("Subtask Id", record.context);
            args.integer("connection_id", connection);
        });
        if call != NONE {
            events.arrow("HostToDevice", "HostToDevice", (u64::from(call) + 1) << 32, lane, start, true);
        }
    }
}

/// Writes the inferences. Alone in a file, and where single iterations are shown, the reference
/// gives them a process of their own.
pub(super) fn steps(view: &View<'_>, lanes: &Lanes, steps: &[Step], alone: bool, events: &mut Events) {
    let own_process = alone && view.one_iteration;
    if own_process {
        let lane = Lane { pid: u64::from(view.joined.data.pid()), tid: 0 };
        events.metadata("process_name", lane, |args| {
            args.text("name", "Step Trace");
        });
    } else if !steps.is_empty() {
        name_devices(view, lanes, events);
    }
    let mut models: BTreeMap<(usize, u64), Tracks> = BTreeMap::new();
    let first_reduces = training::first_reduces(view, steps);
    for (step, first_reduce) in steps.iter().zip(first_reduces) {
        let device = &view.devices[step.device];
        let model = step.iteration.model;
        let (start, end) = (device.time(step.iteration.start), device.time(step.iteration.end));
        let tracks = models.entry((step.device, model)).or_default();
        let mut lane_of = |start: i64, end: i64, events: &mut Events| {
            let (known, track) = (tracks.count(), tracks.place(start, end));
            let place = STEP_LANE.saturating_add(model);
            let tid = place.saturating_add(track as u64 * NEXT_TRACK);
            let lane = match own_process {
                true => Lane { pid: u64::from(view.joined.data.pid()), tid },
                false => lanes.lane(Layer::Hardware, Some(device.device.id), tid),
            };
            if track == known {
                let name = if own_process {
                    format!("Model ID:{model}")
                } else {
                    format!("Step Trace(Model ID:{model})")
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
    for device in &view.devices {
        lanes.name_layer(events, Layer::Hardware, Some(device.device.id), "Ascend Hardware");
    }
}
