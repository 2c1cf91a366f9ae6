//! The lanes of collective operations: for each group one of the operations and one for each plane
//! of their steps.

use std::collections::{BTreeMap, BTreeSet};

use opscope_trace::LanePacker;

use crate::dialect::Dialect;
use crate::facts::collectives::{Collectives, UNKNOWN};
use crate::facts::view::View;
use crate::kinds::communication::{data_type_name, link_name, transport_name};
use crate::lane_choice::Layer;
use crate::timeline::event::{Events, Lane};
use crate::timeline::lanes::{Lanes, name_lane, seen};

/// The step between the numbers of lanes that share a name.
const NEXT_TRACK: u64 = 1 << 20;

/// A slice: begin, end, and the place of a step, or of an operation.
type Slice = (i64, i64, What);

#[derive(Clone, Copy)]
enum What {
    Operation(usize),
    Step(usize),
}

/// Writes the operations and their steps.
pub(super) fn communication(view: &View<'_>, found: &Collectives<'_>, lanes: &Lanes, events: &mut Events) {
    let mut groups: BTreeMap<(u32, &str), BTreeSet<u32>> = BTreeMap::new();
    for step in &found.steps {
        let whole = &found.operations[step.operation];
        groups.entry((whole.device, &step.group)).or_default().insert(step.plane());
    }
    let mut named: BTreeSet<u32> = BTreeSet::new();
    let mut next = 0;
    for ((device, group), planes) in groups {
        let id = view.devices[device as usize].device.id;
        if named.insert(device) {
            lanes.name_layer(events, Layer::Communication, Some(id), "Communication");
            next = 0;
        }
        let first = next;
        let title = match group {
            UNKNOWN => "Communication".to_owned(),
            group => format!("Group {group} Communication"),
        };
        let mut rows: BTreeMap<u64, (String, Vec<Slice>)> = BTreeMap::new();
        rows.insert(first, (title, Vec::new()));
        for plane in planes {
            rows.insert(first + u64::from(plane) + 1, (format!("Plane {plane}"), Vec::new()));
        }
        next = rows.keys().next_back().map_or(first, |last| last + 1);
        let mut operations: BTreeSet<usize> = BTreeSet::new();
        for (place, step) in found.steps.iter().enumerate() {
            if (found.operations[step.operation].device, &*step.group) != (device, group) {
                continue;
            }
            operations.insert(step.operation);
            // Without a note there is nothing to tell of a step.
            if view.level0 || step.note.is_none() {
                continue;
            }
            if let Some((_, slices)) = rows.get_mut(&(first + u64::from(step.plane()) + 1)) {
                slices.push((step.start, step.end, What::Step(place)));
            }
        }
        for place in operations {
            let whole = &found.operations[place];
            if let Some((_, slices)) = rows.get_mut(&first) {
                slices.push((whole.start, whole.end, What::Operation(place)));
            }
        }
        for (tid, (title, mut slices)) in rows {
            slices.sort_by_key(|(start, end, _)| (*start, std::cmp::Reverse(*end)));
            let mut tracks = LanePacker::default();
            name_lane(events, lanes.lane(Layer::Communication, Some(id), tid), &title, tid);
            for (start, end, what) in slices {
                let known = tracks.count().max(1);
                let track = tracks.place(seen(start, end));
                let lane = lanes.lane(Layer::Communication, Some(id), tid + track as u64 * NEXT_TRACK);
                if track >= known {
                    name_lane(events, lane, &title, tid);
                }
                match what {
                    What::Operation(place) => operation(view, found, place, lane, events),
                    What::Step(place) => step(view, found, place, lane, events),
                }
            }
        }
    }
}

fn operation(view: &View<'_>, found: &Collectives<'_>, place: usize, lane: Lane, events: &mut Events) {
    let whole = &found.operations[place];
    let connection = u64::from(whole.call.connection());
    events.slice([&whole.name], lane, whole.start, whole.end.saturating_sub(whole.start), None, |args| {
        args.integer("rank_size", whole.rank_size).integer("connection_id", connection);
        args.integer("model id", whole.model);
        let answer = |yes: bool| if yes { "yes" } else { "no" };
        let note = whole.note;
        args.text("data_type", note.map_or(UNKNOWN, |note| data_type_name(u32::from(note.data_type))));
        args.text("alg_type", whole.algorithm);
        match note {
            Some(note) => args.integer("count", note.count),
            None => args.text("count", UNKNOWN),
        };
        // The plain reference doesn't read them.
        if view.dialect == Dialect::Accelerated {
            args.text("relay", answer(note.is_some_and(|note| note.relayed)));
            args.text("retry", answer(note.is_some_and(|note| note.retried)));
        }
    });
    events.arrow("HostToDevice", "HostToDevice", connection << 32, lane, whole.start, true);
}

fn step(view: &View<'_>, found: &Collectives<'_>, place: usize, lane: Lane, events: &mut Events) {
    let run = &found.steps[place];
    let Some(note) = run.note else { return };
    let task = view.device(run.place).device.tables.tasks.row(run.place.task as usize);
    events.slice([run.name], lane, run.start, run.end.saturating_sub(run.start), None, |args| {
        args.text("notify_id", &note.notify.to_string());
        args.float("duration estimated(us)", note.estimate);
        args.integer("stream id", task.stream).integer("task id", task.task);
        args.integer("context id", task.context).text("task type", run.name);
        args.integer("src rank", note.local_rank).integer("dst rank", note.remote_rank);
        args.text("transport type", transport_name(note.transport)).integer("size(Byte)", note.size);
        args.text("data type", data_type_name(note.data_type)).text("link type", link_name(note.link));
        args.float("bandwidth(GB/s)", run.bandwidth);
        args.integer("model id", found.operations[run.operation].model);
    });
}
