//! Every operator finds its tasks, and every task its operator: in golden profiles, and where captured graphs
//! are replayed.

mod common;

use common::written::{STREAM, Written};
use opscope_cann::join::{Joined, OpSource};
use opscope_cann::{LossKind, SampleLayout, SampleMode, SampleOptions, to_trace, write_sample};
use opscope_cann_raw::additional::{GraphIdMap, Tensor};
use opscope_cann_raw::capture::{CapturedOp, CapturedOpRecord};
use opscope_cann_raw::device::{self, TrackFlip, TrackHead};
use opscope_cann_raw::host::{CaptureStreamInfo, Head, TaskTrack, level};
use opscope_cann_raw::{Chip, Record};

#[test]
fn every_golden_device_task_finds_its_host_task_and_counters() {
    let Some(golden) = common::golden() else { return };
    for case in common::cases(&golden) {
        let joined = Joined::new(common::load(&golden, &case));
        let device = &joined.devices[&0];
        let tables = &joined.data.devices[&0].tables;
        let unmatched: Vec<usize> =
            (0..tables.tasks.len()).filter(|&task| device.matches.host_of[task].is_none()).collect();
        assert!(unmatched.is_empty(), "{case}: tasks {unmatched:?} have no host task");
        let with_counters = (0..tables.tasks.len())
            .filter(|&t| device.counters.cube[t].is_some() || device.counters.vector[t].is_some());
        let records = tables.counters.block().iter().filter(|block| !**block).count();
        assert_eq!(with_counters.count(), records, "{case}");
        for host in device.matches.host_of.iter().flatten() {
            let row = joined.host_tasks.row(host.index());
            if row.op == OpSource::Node {
                let node = row.node.unwrap_or_else(|| panic!("{case}: no node: {row:?}"));
                assert!(row.tensors.is_some(), "{case}: {row:?}");
                assert_eq!(joined.data.host.nodes.name()[node.index()], row.name, "{case}");
            }
        }
    }
}

/// When the graphs of the tests are captured and replayed, in microseconds.
const CAPTURED: i64 = -10_000;

/// A task's kernel, without a node.
fn track(written: &mut Written, task: u16, at: i64) {
    let kernel = written.hash("te_kernel");
    let head = written.head(level::RUNTIME, 802, at);
    written
        .add("compact.task_track", &TaskTrack { head, stream: STREAM, task, kernel, ..TaskTrack::default() });
}

/// Notes that the stream was captured into a graph.
fn capture(written: &mut Written, graph: u16, at: i64) {
    let head = written.head(level::RUNTIME, 803, at);
    let (model_stream, original_stream) = (STREAM, 2);
    let note = CaptureStreamInfo { head, model_stream, original_stream, model: graph, ..Default::default() };
    written.add("compact.capture_stream_info", &note);
}

/// Notes that a graph is gone.
fn destroy(written: &mut Written, graph: u16, at: i64) {
    let head = written.head(level::RUNTIME, 803, at);
    let (status, none) = (CaptureStreamInfo::DESTROYED, u16::MAX);
    let (model_stream, original_stream, model) = (none, none, graph);
    let note = CaptureStreamInfo { head, status, model_stream, original_stream, model, device: 0 };
    written.add("compact.capture_stream_info", &note);
}

/// Notes on the host's side that the stream is gone.
fn destroy_stream_of_host(written: &mut Written, at: i64) {
    const FLIP: u64 = 98;
    let head = written.head(level::RUNTIME, 802, at);
    let flip = TaskTrack { head, stream: STREAM, batch: u16::MAX, task_type: FLIP, ..TaskTrack::default() };
    written.add("compact.task_track", &flip);
}

/// Notes on both sides that the stream is gone.
fn destroy_stream(written: &mut Written, at: i64) {
    destroy_stream_of_host(written, at);
    let head = TrackHead { mode: 0, tag: device::track::FLIP, size: TrackFlip::SIZE as u16 };
    let time = written.device_ticks(at);
    written
        .add_to_device("ts_track.data", &TrackFlip { head, time, stream: STREAM, flip: u16::MAX, task: 0 });
}

/// The note on an operator of a graph, of this many tensors.
fn note(written: &mut Written, graph: u32, task: u32, name: &str, count: u32, at: i64) -> CapturedOp {
    let length = (CapturedOp::SIZE - 24) as u32 + count * Tensor::SIZE as u32;
    let head = Head { length, ..written.head(level::RUNTIME, 805, at) };
    let (name, op_type) = (written.hash(name), written.hash("Add"));
    let stream = u32::from(STREAM);
    CapturedOp { head, model: graph, stream, task, blocks: 8, name, op_type, count, ..CapturedOp::default() }
}

/// Notes an operator of a graph that has no tensors.
fn operator(written: &mut Written, graph: u32, task: u32, name: &str, at: i64) {
    let op = note(written, graph, task, name, 0, at);
    written.add("additional.capture_op_info", &CapturedOpRecord { op, ..CapturedOpRecord::default() });
}

/// The graph and the operator's name in each row of the table of operators.
fn rows(written: &Written) -> Vec<[String; 2]> {
    let cells = written.cells("op_summary", &["Model ID", "Op Name"]);
    cells.into_iter().map(|row| [row[0].clone(), row[1].clone()]).collect()
}

fn losses(written: &Written) -> Vec<(LossKind, u64)> {
    written.joined().all_losses().rows().iter().map(|loss| (loss.kind, loss.count)).collect()
}

/// A graph of two operators, captured before the collection began and replayed twice.
fn replayed() -> Written {
    let mut written = Written::new(Chip::V4_1_0);
    capture(&mut written, 7, CAPTURED);
    for (task, name) in [(1u16, "first"), (2, "second")] {
        track(&mut written, task, CAPTURED + i64::from(task));
        operator(&mut written, 7, u32::from(task), name, CAPTURED + 3);
        for replay in [100, 200] {
            let begin = replay + 10 * i64::from(task);
            written.run(task, 0, (begin, begin + 5));
        }
    }
    written
}

const REPLAYED: [[&str; 2]; 4] = [["7", "first"], ["7", "second"], ["7", "first"], ["7", "second"]];

#[test]
fn replays_of_a_graph_show_its_operators_and_number() {
    let written = replayed();
    assert_eq!(rows(&written), REPLAYED);
    assert_eq!(losses(&written), []);
    let slices = written.timeline();
    let slices = slices.iter().filter(|event| event["ph"] == "X" && event["args"]["Task Id"].is_number());
    let shown: Vec<_> = slices
        .map(|slice| (slice["name"].as_str().unwrap_or(""), slice["args"]["Model Id"].as_u64()))
        .collect();
    assert_eq!(shown, REPLAYED.map(|[_, name]| (name, Some(7))));
    let trace = to_trace(&written.joined());
    let names: Vec<&str> = trace.models.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(names, ["model 7"]);
    assert_eq!(trace.operators.len(), 2);
}

#[test]
fn a_graph_has_not_the_name_of_a_loaded_model_with_its_number() {
    let mut written = replayed();
    let head = written.head(level::MODEL, 0, 0);
    let name = written.hash("resnet");
    written.add("additional.graph_id_map", &GraphIdMap { head, name, graph: 1, model: 7 });
    let trace = to_trace(&written.joined());
    let names: Vec<&str> = trace.models.name().iter().map(|name| trace.strings.get(*name)).collect();
    assert_eq!(names, ["model 7"]);
}

#[test]
fn an_operator_with_many_tensors_is_read_from_the_notes_of_any_length() {
    let mut written = replayed();
    track(&mut written, 3, CAPTURED + 4);
    written.run(3, 0, (300, 305));
    let op = note(&mut written, 7, 3, "third", 7, CAPTURED + 5);
    written.add("variable.capture_op_info", &op);
    for direction in [0, 0, 0, 0, 0, 0, 1] {
        let tensor = Tensor { direction, format: 2, data_type: 1, shape: [4, 9, 0, 0, 0, 0, 0, 0] };
        written.add("variable.capture_op_info", &tensor);
    }
    let cells = written.cells("op_summary", &["Op Name", "Input Shapes", "Output Data Types", "Block Num"]);
    assert_eq!(cells[4], ["third", "\"4,9;4,9;4,9;4,9;4,9;4,9\"", "FLOAT16", "8"]);
    // Its tensors are cut off.
    let op = note(&mut written, 7, 1, "fourth", 7, CAPTURED + 5);
    written.add("variable.capture_op_info", &op);
    assert_eq!(losses(&written), [(LossKind::PartialRecord, 1)]);
    assert_eq!(rows(&written)[..4], REPLAYED);
}

#[test]
fn a_graph_whose_number_and_stream_are_used_again_keeps_its_own_operators() {
    let mut written = replayed();
    destroy(&mut written, 7, 300);
    destroy_stream(&mut written, 310);
    capture(&mut written, 7, 400);
    for (task, name) in [(1u16, "other"), (2, "another")] {
        let at = 400 + i64::from(task);
        track(&mut written, task, at);
        operator(&mut written, 7, u32::from(task), name, at);
        written.run(task, 0, (500 + 10 * i64::from(task), 505 + 10 * i64::from(task)));
    }
    let expected = [&REPLAYED[..], &[["7", "other"], ["7", "another"]]].concat();
    assert_eq!(rows(&written), expected);
    assert_eq!(losses(&written), []);
    // Tasks that the stream executes once the graph is gone have their own names.
    destroy(&mut written, 7, 600);
    destroy_stream(&mut written, 610);
    track(&mut written, 1, 700);
    written.run(1, 0, (710, 720));
    assert_eq!(rows(&written)[6], ["4294967295", "te_kernel"]);
}

#[test]
fn a_stream_that_is_captured_again_without_an_end_belongs_to_the_later_graph_from_then_on() {
    let mut written = replayed();
    capture(&mut written, 8, 400);
    track(&mut written, 3, 401);
    operator(&mut written, 8, 3, "later", 402);
    // It is replayed before its capture ends, and the first one still is.
    written.run(3, 0, (403, 405));
    written.run(1, 0, (410, 415));
    let expected = [&REPLAYED[..], &[["8", "later"], ["7", "first"]]].concat();
    assert_eq!(rows(&written), expected);
    assert_eq!(losses(&written), []);
}

#[test]
fn notes_on_a_graph_that_were_written_twice_count_once() {
    let mut written = replayed();
    capture(&mut written, 7, CAPTURED);
    for (task, name) in [(1, "first"), (2, "second")] {
        operator(&mut written, 7, task, name, CAPTURED + 3);
    }
    assert_eq!(rows(&written), REPLAYED);
    let repeated: u64 = losses(&written).iter().map(|(_, count)| count).sum();
    assert_eq!((losses(&written)[0].0, repeated), (LossKind::RepeatedRecord, 3));
}

#[test]
fn notes_that_contradict_one_another_name_nothing() {
    let mut written = replayed();
    operator(&mut written, 7, 1, "not the first", CAPTURED + 3);
    let kernel = ["7", "te_kernel"];
    assert_eq!(rows(&written), [kernel, REPLAYED[1], kernel, REPLAYED[3]]);
    assert_eq!(losses(&written), [(LossKind::ConflictingNote, 2)]);
}

#[test]
fn the_last_note_on_a_task_that_was_updated_counts() {
    let mut written = replayed();
    operator(&mut written, 7, 1, "updated", CAPTURED + 9);
    assert_eq!(rows(&written)[0], ["7", "updated"]);
    assert_eq!(losses(&written), []);
}

#[test]
fn without_notes_on_its_operators_a_graph_shows_kernels_and_its_number() {
    let mut written = Written::new(Chip::V4_1_0);
    capture(&mut written, 7, CAPTURED);
    track(&mut written, 1, CAPTURED + 1);
    written.run(1, 0, (100, 105));
    assert_eq!(rows(&written), [["7", "te_kernel"]]);
    assert_eq!(losses(&written), []);
}

#[test]
fn without_notes_on_its_streams_the_operators_tell_the_graph() {
    let mut written = Written::new(Chip::V4_1_0);
    track(&mut written, 1, CAPTURED + 1);
    operator(&mut written, 7, 1, "first", CAPTURED + 3);
    written.run(1, 0, (100, 105));
    assert_eq!(rows(&written), [["7", "first"]]);
    assert_eq!(losses(&written), []);
    destroy_stream(&mut written, 200);
    track(&mut written, 1, 300);
    written.run(1, 0, (310, 315));
    assert_eq!(rows(&written)[1], ["4294967295", "te_kernel"]);
}

#[test]
fn a_capture_that_was_noted_late_still_names_the_tasks_of_its_stream() {
    let mut written = Written::new(Chip::V4_1_0);
    track(&mut written, 1, CAPTURED + 1);
    capture(&mut written, 7, CAPTURED + 2);
    operator(&mut written, 7, 1, "first", CAPTURED + 3);
    written.run(1, 0, (100, 105));
    assert_eq!(rows(&written), [["7", "first"]]);
    assert_eq!(losses(&written), []);
    // But not if another stream had the number before.
    destroy_stream_of_host(&mut written, CAPTURED + 1);
    assert_eq!(rows(&written), [["4294967295", "te_kernel"]]);
}

#[test]
fn notes_that_belong_to_no_task_are_counted() {
    let mut written = replayed();
    // Of another graph, of a task that there isn't, and with numbers that can't be.
    operator(&mut written, 9, 1, "strange", CAPTURED + 3);
    operator(&mut written, 7, 44, "never executed", CAPTURED + 3);
    let mut op = note(&mut written, 7, 1, "strange", 0, CAPTURED + 3);
    op.stream = 70_000;
    written.add("additional.capture_op_info", &CapturedOpRecord { op, ..CapturedOpRecord::default() });
    op.count = 4;
    written.add("additional.capture_op_info", &CapturedOpRecord { op, ..CapturedOpRecord::default() });
    // A stream on which there is nothing.
    let head = written.head(level::RUNTIME, 803, CAPTURED);
    let elsewhere = CaptureStreamInfo { head, model_stream: 77, model: 7, ..CaptureStreamInfo::default() };
    written.add("compact.capture_stream_info", &elsewhere);
    written.add("compact.capture_stream_info", &CaptureStreamInfo { status: 5, ..elsewhere });
    assert_eq!(rows(&written), REPLAYED);
    let sum =
        |kind| losses(&written).iter().filter(|(of, _)| *of == kind).map(|(_, count)| count).sum::<u64>();
    assert_eq!((sum(LossKind::UnmatchedNote), sum(LossKind::InvalidRecord)), (3, 3));
}

#[test]
fn devices_with_other_counters_have_them_below_their_own_headings() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (chip, mode, layout) = (Chip::V4_1_0, SampleMode::Graph, SampleLayout::Current);
    let profile = write_sample(directory.path(), SampleOptions { chip, tasks: 200, mode, layout, seed: 1 })
        .expect("space on disk");
    let columns = ["Device_id", "aic_total_cycles", "aiv_total_cycles", "aic_mac_ratio"];
    let whole = common::cells(&common::joined(&profile), "op_summary", &columns);
    std::fs::remove_file(profile.join("device_0/sample.json")).expect("a file");
    let mut expected = whole.clone();
    // Without the list of events, only the cycles of the first device are known.
    expected.iter_mut().filter(|row| row[0] == "0").for_each(|row| "N/A".clone_into(&mut row[3]));
    assert_ne!(expected, whole);
    assert_eq!(common::cells(&common::joined(&profile), "op_summary", &columns), expected);
}
