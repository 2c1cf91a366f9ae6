//! Copies whose states the task scheduler tracked, in the lanes of their streams.

use std::collections::BTreeMap;

use opscope_trace::LanePacker;

use crate::facts::tracked_copies::{KIND, NAME, track_copies};
use crate::facts::view::View;
use crate::lane_choice::Layer;
use crate::timeline::device::NEXT_TRACK;
use crate::timeline::event::Events;
use crate::timeline::lanes::{Lanes, name_lane, seen};

/// Writes the copies, and names their lanes.
pub(super) fn write_track_copies(view: &View<'_>, lanes: &Lanes, events: &mut Events) {
    for device in &view.devices {
        let mut copies = track_copies(view, device);
        copies.sort_by_key(|copy| (copy.started, copy.ended));
        let mut streams: BTreeMap<u16, LanePacker<i64>> = BTreeMap::new();
        for copy in copies {
            let [received, start, end] = [copy.received, copy.started, copy.ended].map(|at| device.time(at));
            let tracks = streams.entry(copy.stream).or_default();
            let (known, track) = (tracks.count(), tracks.place(seen(start, end)));
            let tid = u64::from(copy.stream) + track as u64 * NEXT_TRACK;
            let lane = lanes.lane(Layer::Hardware, Some(device.device.id), tid);
            if track == known {
                name_lane(events, lane, &format!("Stream {}", copy.stream), u64::from(copy.stream));
            }
            events.slice([NAME], lane, start, end.saturating_sub(start), None, |args| {
                args.text("Task Type", KIND)
                    .integer("Stream Id", copy.stream)
                    .integer("Task Id", copy.task)
                    .time("Receive Time", received)
                    .time("Start Time", start)
                    .time("End Time", end);
            });
        }
    }
}
