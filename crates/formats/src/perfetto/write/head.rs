//! The first packets: facts about the run, and the names of groups, lanes and counters.

use opscope_timeline::Layout;
use opscope_trace::Trace;

use super::super::EVENTS;
use super::super::fields::{clock, metadata, packet, process, snapshot, thread, trace as file, track};
use crate::chrome::{other_data, process_number, thread_number};
use opscope_protobuf::{push_bytes, push_message, push_number};

/// The number of the track of a group.
pub fn group_track(group: usize) -> u64 {
    process_number(group) as u64
}

/// The number of the track of a lane.
pub fn lane_track(layout: &Layout, lane: usize) -> u64 {
    thread_number(layout, lane) as u64
}

/// The number of the track of a counter.
pub fn counter_track(layout: &Layout, counter: usize) -> u64 {
    thread_number(layout, layout.lanes.len() + counter) as u64
}

/// Appends the first packets.
pub fn push_head(layout: &Layout, trace: &Trace, events: u64, sequence: u32, out: &mut Vec<u8>) {
    let mut push = |content: u32, fill: &dyn Fn(&mut Vec<u8>)| {
        push_message(out, file::PACKET, |body| {
            push_number(body, packet::SEQUENCE, u64::from(sequence));
            push_message(body, content, fill);
        });
    };
    push(packet::CHROME_EVENTS, &|bundle| {
        let count = (EVENTS.text.to_owned(), Ok(events.cast_signed()));
        for (name, value) in other_data(trace, layout).into_iter().chain([count]) {
            push_message(bundle, metadata::METADATA, |row| {
                push_bytes(row, metadata::NAME, name.as_bytes());
                match value {
                    Ok(number) => push_number(row, metadata::NUMBER, number.cast_unsigned()),
                    Err(text) => push_bytes(row, metadata::TEXT, text.as_bytes()),
                }
            });
        }
    });
    // The file's times count from the timeline's zero.
    let zero = trace.clock.unix_zero.and_then(|zero| zero.checked_add(layout.time_line.zero.0));
    if let Some(zero) = zero.and_then(|zero| u64::try_from(zero).ok()) {
        push(packet::CLOCK_SNAPSHOT, &|row| {
            for (id, time) in [(clock::BOOT, 0), (clock::REALTIME, zero)] {
                push_message(row, snapshot::CLOCKS, |reading| {
                    push_number(reading, snapshot::CLOCK_ID, u64::from(id));
                    push_number(reading, snapshot::TIMESTAMP, time);
                });
            }
        });
    }
    for (index, group) in layout.groups.iter().enumerate() {
        push(packet::TRACK_DESCRIPTOR, &|descriptor| {
            push_number(descriptor, track::UUID, group_track(index));
            push_message(descriptor, track::PROCESS, |row| {
                push_number(row, process::PID, process_number(index) as u64);
                push_number(row, process::SORT_INDEX, index as u64);
                push_bytes(row, process::NAME, group.name.as_bytes());
            });
        });
    }
    for (index, lane) in layout.lanes.iter().enumerate() {
        push(packet::TRACK_DESCRIPTOR, &|descriptor| {
            push_number(descriptor, track::UUID, lane_track(layout, index));
            push_number(descriptor, track::PARENT, group_track(lane.group));
            push_message(descriptor, track::THREAD, |row| {
                push_number(row, thread::PID, process_number(lane.group) as u64);
                push_number(row, thread::TID, thread_number(layout, index) as u64);
                push_number(row, thread::SORT_INDEX, index as u64);
                push_bytes(row, thread::NAME, lane.label.to_string().as_bytes());
            });
        });
    }
    if trace.samples.is_empty() {
        return;
    }
    for (index, place) in layout.counters.iter().enumerate() {
        push(packet::TRACK_DESCRIPTOR, &|descriptor| {
            push_number(descriptor, track::UUID, counter_track(layout, index));
            push_number(descriptor, track::PARENT, group_track(place.group));
            push_bytes(descriptor, track::NAME, place.name.as_bytes());
            push_bytes(descriptor, track::COUNTER, b"");
        });
    }
}
