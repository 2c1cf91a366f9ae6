//! The phases of the AI CPU's work for fused operators, in lanes of their streams beside its tasks.

use std::collections::BTreeMap;

use opscope_trace::LanePacker;

use crate::facts::view::View;
use crate::lane_choice::Layer;
use crate::timeline::device::{NEXT_TRACK, Tasks};
use crate::timeline::event::Events;
use crate::timeline::lanes::{Lanes, name_lane, seen};

/// Writes the phases that end after the collection's begin, and names their lanes.
pub(super) fn write_phases(view: &View<'_>, lanes: &Lanes, tasks: &Tasks, events: &mut Events) {
    for (number, device) in (0..).zip(&view.devices) {
        let phases = &device.device.tables.launching.phases;
        let mut shown: Vec<_> =
            phases.rows().map(|phase| (device.time(phase.start), device.time(phase.end), phase)).collect();
        shown.retain(|(_, end, _)| *end >= device.begin);
        shown.sort_by_key(|(start, end, _)| (*start, *end));
        let mut streams: BTreeMap<u16, LanePacker<i64>> = BTreeMap::new();
        for (start, end, phase) in shown {
            let tracks = streams.entry(phase.stream).or_default();
            let (known, track) = (tracks.count(), tracks.place(seen(start, end)));
            let (first, stream) = tasks.lanes_of(view, number, phase.stream);
            let tid = u64::from(stream) + (first + track as u64) * NEXT_TRACK;
            let lane = lanes.lane(Layer::Hardware, Some(device.device.id), tid);
            if track == known {
                name_lane(events, lane, &format!("Stream {stream}"), u64::from(stream));
            }
            let name = format!("{} {}", phase.phase.name(), phase.turn);
            events.slice([&name], lane, start, end.saturating_sub(start), None, |args| {
                args.integer("Physic Stream Id", phase.stream).integer("Task Id", phase.task);
            });
        }
    }
}
