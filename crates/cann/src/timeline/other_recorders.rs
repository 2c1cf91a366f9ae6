//! Operators that other recorders saw in the same run, such as those that an engine executed on the host's
//! processor: a process for each of their devices, and a lane for each stream.
//!
//! The vendor's tool has no such lanes.

use std::cmp::Reverse;

use opscope_trace::{Device, DeviceId, DeviceKind, LanePacker, StreamId, Task, Tensor, TensorId, Trace};

use crate::facts::view::View;
use crate::lane_choice::Layer;
use crate::timeline::event::{Args, Events};
use crate::timeline::lanes::{Lanes, name_lane, seen};

/// How many tracks each lane may need.
const MOST_TRACKS: u64 = 1 << 16;

/// More devices than this share a process, because its number has no room for them.
const MOST_DEVICES: u32 = 30;

/// Names the lanes and writes their slices.
pub(super) fn write_other_recorders(trace: &Trace, view: &View<'_>, lanes: &Lanes, events: &mut Events) {
    let mut tasks: Vec<(StreamId, Task)> =
        trace.tasks.iter().filter_map(|(_, task)| Some((task.stream?, task))).collect();
    tasks.sort_by_key(|(stream, task)| (stream.index(), task.start, Reverse(task.duration)));
    let place = |device: DeviceId| (device.index() as u32).min(MOST_DEVICES);
    let mut named = None;
    for of_stream in tasks.chunk_by(|a, b| a.0 == b.0) {
        let stream = of_stream[0].0;
        let device = trace.streams.get(stream).device;
        if named.replace(device) != Some(device) {
            let row = trace.devices.get(device);
            let (name, label) = (name(trace, &row), label(trace, &row));
            lanes.name_layer_as(events, Layer::OtherRecorders, Some(place(device)), &name, &label);
        }
        write_stream(trace, view, lanes, place(device), of_stream, events);
    }
}

/// The name of a device, with that of the engine that uses the host's processor by it.
fn name(trace: &Trace, device: &Device) -> String {
    let name = trace.strings.get(device.name);
    match trace.run.engine.filter(|_| device.kind == DeviceKind::Cpu) {
        Some(engine) => format!("{} ({name})", engine.name()),
        None => name.to_owned(),
    }
}

/// The label of a device's process.
fn label(trace: &Trace, device: &Device) -> String {
    match device.kind {
        DeviceKind::Cpu => "CPU".to_owned(),
        _ => format!("{} {}", trace.strings.get(device.name), device.number),
    }
}

/// Writes the tasks of one stream, which come in the order of their starts.
fn write_stream(
    trace: &Trace,
    view: &View<'_>,
    lanes: &Lanes,
    place: u32,
    tasks: &[(StreamId, Task)],
    events: &mut Events,
) {
    let (stream, place) = (tasks[0].0, Some(place));
    let first = stream.index() as u64 * MOST_TRACKS;
    let mut tracks = LanePacker::default();
    for (_, task) in tasks {
        let start = view.begin().saturating_add(task.start.0);
        let track = tracks.place(seen(start, start.saturating_add(task.duration.0))) as u64;
        let lane = lanes.lane(Layer::OtherRecorders, place, first + track.min(MOST_TRACKS - 1));
        let name = [trace.strings.get(task.name)];
        events.slice(name, lane, start, task.duration.0, None, |args| write_args(trace, task, args));
    }
    let name = trace.strings.get(trace.streams.get(stream).name);
    for track in 0..tracks.count().min(MOST_TRACKS as usize) as u64 {
        let lane = lanes.lane(Layer::OtherRecorders, place, first + track);
        name_lane(events, lane, name, first + track);
    }
}

/// Type and tensors of a task's operator.
fn write_args(trace: &Trace, task: &Task, args: &mut Args<'_>) {
    args.text("Unit", task.unit.name());
    let Some(operator) = task.operator.map(|operator| trace.operators.get(operator)) else { return };
    args.text("OP Type", trace.strings.get(operator.op_type));
    let [inputs, outputs] = [operator.inputs().collect(), operator.outputs().collect()];
    for (kind, tensors) in [("Input", inputs), ("Output", outputs)] {
        write_tensors(trace, kind, tensors, args);
    }
}

fn write_tensors(trace: &Trace, kind: &str, tensors: Vec<TensorId>, args: &mut Args<'_>) {
    if tensors.is_empty() {
        return;
    }
    let shape = |tensor: &TensorId| {
        let sizes = trace.shape(*tensor).unwrap_or_default();
        sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
    };
    let data_type = |tensor: &TensorId| {
        let tensor: Tensor = trace.tensors.get(*tensor);
        tensor.data_type.name()
    };
    let shapes: Vec<String> = tensors.iter().map(shape).collect();
    let types: Vec<&str> = tensors.iter().map(data_type).collect();
    args.text(&format!("{kind} Shapes"), &shapes.join(";"));
    args.text(&format!("{kind} Data Types"), &types.join(";"));
}
