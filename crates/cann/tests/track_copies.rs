//! Copies whose states the task scheduler tracked, in tables and lanes.

mod common;

use common::edited::Edited;
use opscope_cann::{LossKind, to_trace};
use opscope_cann_raw::device::{TrackHead, TrackMemcpy, track};
use opscope_cann_raw::{Chip, Record};
use opscope_trace::{ExecutionUnit, Nanoseconds};
use serde_json::{Value, json};

/// Ticks of five microseconds of the processors that have whole numbers of them.
fn five_micros(chip: Chip) -> u64 {
    match chip {
        Chip::V1_1_0 => 96,
        Chip::V2_1_0 => 500,
        _ => 250,
    }
}

/// A profile to whose device's track a copy was added, which waited for 5 µs and took 10.
fn profile(chip: Chip) -> Edited {
    with_states(chip, &[(0, 1), (1, 2), (2, 4)])
}

/// A profile to whose device's track states of a copy were added: state, and time in steps of 5 µs.
fn with_states(chip: Chip, states: &[(u8, u64)]) -> Edited {
    let profile = Edited::new(chip, 8);
    let begin = profile.device_begin();
    let head = TrackHead { tag: track::MEMCPY, size: TrackMemcpy::SIZE as u16, ..TrackHead::default() };
    let mut track =
        std::fs::read(profile.profile.join("device_0/data/ts_track.data.0.slice_0")).expect("a track");
    for &(state, fives) in states {
        let time = begin + fives * five_micros(chip);
        TrackMemcpy { head, time, stream: 40, task: 9, state }.append_to(&mut track);
    }
    profile.with_bytes(0, "ts_track.data", &track)
}

#[test]
fn a_plain_table_of_tasks_ends_with_the_copies_that_were_tracked() {
    let profile = profile(Chip::V2_1_0);
    let columns = ["kernel_name", "kernel_type", "stream_id", "task_id", "task_time(us)"];
    let rows = profile.cells("task_time", &columns);
    assert_eq!(rows.last().expect("a row"), &["MemcopyAsync", "other", "40", "9", "10.0"]);
    assert!(rows[..rows.len() - 1].iter().all(|row| row[0] != "MemcopyAsync"));
}

#[test]
fn a_tracked_copy_takes_its_share_of_the_time_of_chip_0() {
    let profile = profile(Chip::V1_1_0);
    let columns = ["Time(us)", "Count", "Waiting(us)", "Pending(us)", "Type", "API", "Task ID", "Op Name"];
    let rows = profile.cells("task_time", &columns);
    let copy = rows.last().expect("a row");
    let number = |text: &String| text.parse::<f64>().expect("a number");
    assert!((number(&copy[0]) - 10.0).abs() < 1e-6 && (number(&copy[2]) - 5.0).abs() < 1e-6, "{copy:?}");
    assert_eq!(copy[1], "1");
    assert_eq!(copy[3..], ["N/A", "other", "MemcpyAsync", "9", "N/A"]);
    let shares = profile.cells("task_time", &["Time(%)"]).concat();
    assert!((shares.iter().map(number).sum::<f64>() - 100.0).abs() < 1e-6);
}

#[test]
fn a_tracked_copy_has_a_slice_in_the_lane_of_its_stream() {
    for (chip, count) in [(Chip::V1_1_0, 1), (Chip::V2_1_0, 1), (Chip::V4_1_0, 0)] {
        let events = profile(chip).timeline();
        let copies: Vec<&Value> = events.iter().filter(|event| event["name"] == "MemcopyAsync").collect();
        assert_eq!(copies.len(), count, "{chip:?}");
        for copy in copies {
            assert_eq!((&copy["tid"], &copy["dur"]), (&json!(40), &json!(10.0)));
            assert_eq!(copy["args"]["Start Time"], copy["ts"]);
            assert_eq!((&copy["args"]["Stream Id"], &copy["args"]["Task Id"]), (&json!(40), &json!(9)));
        }
    }
}

#[test]
fn a_tracked_copy_is_a_task_of_the_trace_and_a_part_of_one_is_counted() {
    for chip in [Chip::V1_1_0, Chip::V2_1_0, Chip::V4_1_0] {
        let joined = profile(chip).joined();
        let trace = to_trace(&joined);
        let copies = trace.tasks.iter().filter(|(_, task)| trace.strings.get(task.name) == "MemcopyAsync");
        let copies: Vec<_> = copies.map(|(_, task)| (task.number, task.unit, task.duration)).collect();
        assert_eq!(copies, [(Some(9), ExecutionUnit::MemoryCopy, Nanoseconds(10_000))], "{chip:?}");
        assert_eq!(joined.all_losses().total(LossKind::UnmatchedTask), 0, "{chip:?}");
        let cut = with_states(chip, &[(0, 1), (1, 2)]).joined();
        assert_eq!(to_trace(&cut).tasks.len() + 1, trace.tasks.len(), "{chip:?}");
        assert_eq!(cut.all_losses().total(LossKind::UnmatchedTask), 2, "{chip:?}");
    }
}
