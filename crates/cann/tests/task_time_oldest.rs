//! The table of tasks of chip 0.

mod common;

use common::edited::Edited;
use opscope_cann_raw::device::{TrackHead, TrackTimeline, track};
use opscope_cann_raw::{Chip, Record};

/// Ticks of five microseconds.
const FIVE: u64 = 96;

const WAITING: u16 = 1;
const RUNNING: u16 = 2;
const COMPLETE: u16 = 3;
const PENDING: u16 = 4;

/// A stream on which the profile's model doesn't run.
const STREAM: u16 = 30;

/// A profile whose device reported these states only: kind of task, task, state, and ticks since the begin.
fn profile(states: &[(u16, u16, u16, u64)]) -> Edited {
    let profile = Edited::new(Chip::V1_1_0, 4);
    let begin = profile.device_begin();
    let head = TrackHead { tag: track::TIMELINE, size: TrackTimeline::SIZE as u16, ..TrackHead::default() };
    let record = |&(task_type, task, state, ticks): &(u16, u16, u16, u64)| TrackTimeline {
        head,
        task_type,
        state,
        stream: STREAM,
        task,
        time: begin + ticks,
        ..TrackTimeline::default()
    };
    let records: Vec<TrackTimeline> = states.iter().map(record).collect();
    profile.with(0, "ts_track.data", &records)
}

#[test]
fn tasks_of_equal_time_are_in_order_of_their_kinds_and_ties_round_away_from_zero() {
    // Each waits for 312.5 ns and runs for 4062.5 ns.
    let tasks = [(40, 1), (3, 11), (3, 6), (0, 9)];
    let states = tasks.iter().zip(1..).flat_map(|(&(kind, task), place)| {
        let start = place * FIVE * 10;
        [(kind, task, WAITING, start - 6), (kind, task, RUNNING, start), (kind, task, COMPLETE, start + 78)]
    });
    let profile = profile(&states.collect::<Vec<_>>());
    let columns = ["Time(%)", "Time(us)", "Waiting(us)", "Type", "Task ID", "Op Name"];
    let row = |kind, task| ["25.0", "4.063", "0.313", kind, task, "N/A"].map(str::to_owned).to_vec();
    let expected = [
        row("kernel AI core task", "9"),
        row("stream wait event task", "6"),
        row("stream wait event task", "11"),
        row("unknown 40", "1"),
    ];
    assert_eq!(profile.cells("task_time", &columns), expected);
}

#[test]
fn a_task_is_pending_to_its_end_and_waits_to_its_start_or_once_more_to_its_end() {
    let profile = profile(&[
        (0, 1, PENDING, 0),
        (0, 1, WAITING, FIVE),
        (0, 1, RUNNING, FIVE * 3),
        (0, 1, COMPLETE, FIVE * 5),
        (0, 2, RUNNING, FIVE * 10),
        (0, 2, WAITING, FIVE * 11),
        (0, 2, COMPLETE, FIVE * 14),
    ]);
    let columns = ["Task ID", "Running(us)", "Waiting(us)", "Pending(us)"];
    let rows = profile.cells("task_time", &columns);
    assert_eq!(rows, [["2", "20.0", "15.0", "0.0"], ["1", "10.0", "10.0", "25.0"]]);
}
