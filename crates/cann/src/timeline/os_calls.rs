//! The lanes of calls of the operating system and of threads.

use std::collections::BTreeMap;

use opscope_trace::LanePacker;

use crate::facts::os_calls::os_calls;
use crate::facts::view::View;
use crate::lane_choice::Layer;
use crate::timeline::event::Events;
use crate::timeline::host::NEXT_TRACK;
use crate::timeline::lanes::{self, Lanes, name_lane, seen};

/// Writes the calls, and names their lanes; nothing where there are none.
pub(super) fn write_os_calls(view: &View<'_>, lanes: &Lanes, events: &mut Events) {
    if view.joined.data.host.os_calls.table.is_empty() || !lanes.shown().contains(&Layer::OsCalls) {
        return;
    }
    lanes.name_layer(events, Layer::OsCalls, None, lanes::OS_CALLS);
    let mut calls: Vec<_> = os_calls(view).filter(|call| view.shows_span(call.start, call.end)).collect();
    calls.sort_by_key(|call| (call.start, std::cmp::Reverse(call.end)));
    let mut threads: BTreeMap<u32, LanePacker<i64>> = BTreeMap::new();
    for run in calls {
        let thread = run.call.thread;
        let tracks = threads.entry(thread).or_default();
        let (known, track) = (tracks.count(), tracks.place(seen(run.start, run.end)));
        let lane = lanes.lane(Layer::OsCalls, None, u64::from(thread) + track as u64 * NEXT_TRACK);
        if track == known {
            name_lane(events, lane, &format!("Thread {thread}"), u64::from(thread));
        }
        events.slice([run.name], lane, run.start, run.end.saturating_sub(run.start), None, |_| {});
    }
}
