//! The lanes of a timeline: those of streams, of when devices were free, and of marks; and the tables of
//! what runs there.
//!
//! The vendor's parser has two forms: the accelerated one, here with a 910B, and the plain one, here with
//! a 910. Where nothing else is said, both show the same.

mod common;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use common::written::{STREAM, Span, Written};
use opscope_cann::read::AscendTimeline;
use opscope_cann::to_trace;
use opscope_cann_raw::Chip;
use opscope_cann_raw::additional::{LogicStreamInfo, Tx};
use opscope_cann_raw::device::{ContextCounters, MAGIC, StarsLog, function};
use opscope_cann_raw::host::level;
use opscope_cann_raw::samples::NpuModuleMemory;
use opscope_formats::chrome;
use serde_json::{Value, json};

const CHIPS: [Chip; 2] = [Chip::V4_1_0, Chip::V2_1_0];

/// Begin and end of a slice in microseconds since the begin of the collection.
fn span(slice: &Value) -> Span {
    let text = slice["ts"].as_str().and_then(|text| text.strip_suffix(".000")).expect("whole microseconds");
    let begin = text.parse::<i64>().expect("a number") - 1_760_000_000_000_000;
    (begin, begin + slice["dur"].as_f64().expect("a number") as i64)
}

/// The slices of a name.
fn slices<'a>(events: &'a [Value], name: &str) -> Vec<&'a Value> {
    events.iter().filter(|event| event["ph"] == "X" && event["name"] == name).collect()
}

#[test]
fn a_device_is_free_also_before_the_first_operator_and_after_the_last() {
    // The first and the last task are no operators, but show that the device was there.
    for chip in CHIPS {
        let mut profile = Written::new(chip);
        profile.run(1, 0, (100, 110));
        profile.operator("Add_1", 2, 100);
        profile.operator("Add_2", 3, 200);
        profile.run(4, 0, (400, 420));
        let events = profile.timeline();
        let spans = |name: &str| slices(&events, name).into_iter().map(span).collect::<Vec<_>>();
        assert_eq!(spans("Computing"), [(200, 210), (300, 310)], "{chip:?}");
        assert_eq!(spans("Free"), [(100, 200), (210, 300), (310, 420)], "{chip:?}");
    }
}

#[test]
fn lanes_are_those_of_the_streams_that_the_program_knows() {
    for chip in CHIPS {
        let mut profile = Written::new(chip);
        profile.operator("Add", 1, 100);
        let head = profile.head(level::RUNTIME, 804, 50);
        let mut physical = [0; 56];
        physical[..2].copy_from_slice(&[u32::from(STREAM), 40]);
        let info = LogicStreamInfo { head, logical: 77, count: 2, physical };
        profile.add("additional.logic_stream_info", &info);
        let events = profile.timeline();
        let operator = slices(&events, "Add")[0];
        assert_eq!((&operator["tid"], &operator["args"]["Physic Stream Id"]), (&json!(77), &json!(STREAM)));
        let is_name = |event: &&Value| event["name"] == "thread_name" && event["pid"] == operator["pid"];
        let names: Vec<(&Value, &Value)> =
            events.iter().filter(is_name).map(|event| (&event["tid"], &event["args"]["name"])).collect();
        assert_eq!(names, [(&json!(77), &json!("Stream 77"))], "{chip:?}");
        // Tables keep the device's own number.
        assert_eq!(profile.cells("task_time", &["stream_id"]), [["9"]], "{chip:?}");
    }
}

/// Checks that the slices of every lane nest; returns the number of lanes.
fn check_lanes(lanes: impl IntoIterator<Item = (String, Span)>) -> usize {
    let mut by_lane: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    lanes.into_iter().for_each(|(lane, span)| by_lane.entry(lane).or_default().push(span));
    for (lane, spans) in &mut by_lane {
        spans.sort_by_key(|&(begin, end)| (begin, Reverse(end)));
        let mut open: Vec<i64> = Vec::new();
        for &(begin, end) in &*spans {
            while open.pop_if(|around| *around <= begin).is_some() {}
            assert!(open.last().is_none_or(|around| end <= *around), "{begin} to {end} crosses on {lane}");
            open.push(end);
        }
    }
    by_lane.len()
}

#[test]
fn tasks_that_all_overlap_are_shown_on_lanes_where_they_nest_and_are_read_back_as_of_one_stream() {
    const TASKS: u16 = 1_500;
    for chip in CHIPS {
        let mut profile = Written::new(chip);
        // Each begins inside all before it and ends after them.
        for (task, begin) in (1..=TASKS).zip(100..) {
            profile.run(task, 0, (begin, begin + i64::from(TASKS)));
        }
        let events = profile.timeline();
        let is_task = |event: &&Value| event["ph"] == "X" && event["args"].get("Task Id").is_some();
        let lane = |task: &Value| format!("{} {}", task["pid"], task["tid"]);
        let tasks: Vec<_> = events.iter().filter(is_task).map(|task| (lane(task), span(task))).collect();
        assert_eq!(tasks.len(), usize::from(TASKS), "{chip:?}");
        assert_eq!(check_lanes(tasks), usize::from(TASKS), "{chip:?}");

        let timeline = Value::from(events).to_string();
        let read = chrome::read_with(timeline.as_bytes(), &[&AscendTimeline], &Default::default())
            .expect("a timeline");
        assert_eq!((read.tasks.len(), read.streams.len()), (usize::from(TASKS), 1), "{chip:?}");

        // The same as opscope draws it.
        let mut timeline = Vec::new();
        chrome::write(&to_trace(&profile.joined()), &mut timeline).expect("a vector takes everything");
        let timeline: Value = serde_json::from_slice(&timeline).expect("JSON");
        // The profile has calls of the system as well, on lanes of their own.
        let is_task = |event: &&Value| event["ph"] == "X" && event["cat"] != "system";
        let slices = timeline["traceEvents"].as_array().expect("events").iter().filter(is_task);
        let nanoseconds = |value: &Value| (value.as_f64().expect("a number") * 1_000.0).round() as i64;
        let spans = slices.map(|slice| {
            let begin = nanoseconds(&slice["ts"]);
            (lane(slice), (begin, begin + nanoseconds(&slice["dur"])))
        });
        assert_eq!(check_lanes(spans), usize::from(TASKS), "{chip:?}");
    }
}

#[test]
fn a_whole_task_is_hidden_where_a_part_of_it_ran() {
    const FFTS_PLUS: u32 = 64;
    const VECTOR: u16 = 1;
    let mut profile = Written::new(Chip::V4_1_0);
    profile.name_type(level::RUNTIME, FFTS_PLUS, "FFTS_PLUS");
    for task in [1, 2] {
        profile.track(task, u64::from(FFTS_PLUS), i64::from(task) * 10);
        profile.run(task, 0, (i64::from(task) * 100, i64::from(task) * 100 + 50));
    }
    // Only of the first a part was executed by itself.
    for (word, at) in [(function::SUBTASK_START, 110), (function::SUBTASK_END, 140)] {
        let log = StarsLog {
            word,
            magic: MAGIC,
            stream: STREAM,
            task: 1,
            time: profile.device_ticks(at),
            subtask_type: VECTOR,
            ffts: 4 << 13,
            ..StarsLog::default()
        };
        profile.add_to_device("stars_soc.data", &log);
    }
    let rows = profile.cells("task_time", &["task_id", "kernel_type", "task_time(us)"]);
    assert_eq!(rows, [["1", "AIV", "30.000"], ["2", "AI_CORE", "50.000"]]);
    let events = profile.timeline();
    let is_task = |event: &&Value| event["ph"] == "X" && event["args"].get("Task Id").is_some();
    let spans: Vec<Span> = events.iter().filter(is_task).map(span).collect();
    assert_eq!(spans, [(110, 140), (200, 250)]);
}

#[test]
fn times_of_cores_that_count_chosen_events_have_two_decimals() {
    let mut profile = Written::new(Chip::V4_1_0)
        .with_option("ai_core_metrics", "Custom")
        .with_option("aiv_metrics", "Custom")
        .with_option("ai_core_profiling_events", "0x416,0x417")
        .with_option("aiv_profiling_events", "0x416,0x417");
    profile.operator("Add", 1, 100);
    // Eight blocks on 20 cores of 1800 MHz: 22220 / 1800 / 8 = 1.543 microseconds.
    let counters = ContextCounters {
        word: function::CONTEXT_COUNTERS,
        magic: MAGIC,
        stream: STREAM,
        task: 1,
        cycles: 22_220,
        counters: [11, 12, 0, 0, 0, 0, 0, 0],
        start: profile.device_ticks(200),
        end: profile.device_ticks(210),
        ..ContextCounters::default()
    };
    profile.add_to_device("ffts_profile.data", &counters);
    let rows = profile.cells("op_summary", &["aicore_time(us)", "aic_total_cycles", "aic_r416", "aic_r417"]);
    assert_eq!(rows, [["1.54", "22220", "11.0", "12.0"]]);
}

#[test]
fn memory_of_modules_is_in_whole_kilobytes_on_a_910b_and_unnumbered_ones_are_unknown() {
    for (chip, module, kilobytes) in [(Chip::V4_1_0, "Unknown", "3"), (Chip::V2_1_0, "other", "3.5")] {
        let mut profile = Written::new(chip);
        let record = NpuModuleMemory { module: 999, time: profile.host_ticks(1_000), total: 3_584 };
        profile.add_to_device("npu_module_mem.data", &record);
        let rows = profile.cells("npu_module_mem", &["Component", "Total Reserved(KB)"]);
        assert!(rows.contains(&[module, kilobytes].map(str::to_owned).to_vec()), "{chip:?}: {rows:?}");
    }
}

/// A mark of a domain that no dictionary names, and a range of one that is named.
fn with_marks(chip: Chip) -> Written {
    let mut profile = Written::new(chip);
    let named = profile.hash("training");
    for (mark, domain, event_type, span) in [(1, 12_345, 0, (100, 100)), (2, named, 2, (200, 250))] {
        let mut message = [0; 156];
        message[..4].copy_from_slice(b"step");
        let (start, end) = (profile.host_ticks(span.0), profile.host_ticks(span.1));
        let head = profile.head(level::MSPROFTX, 0, span.0);
        let (process, thread) = (4_242, 777);
        let tx = Tx { head, info_type: 1, process, thread, event_type, start, end, ..Tx::default() };
        profile.add("additional.msproftx", &Tx { mark, domain, message, ..tx });
    }
    profile
}

#[test]
fn a_mark_of_an_unknown_domain_is_of_an_invalid_one() {
    for chip in CHIPS {
        let domains = with_marks(chip).cells("msprof_tx", &["domain"]);
        assert_eq!(domains, [["invalid"], ["training"]], "{chip:?}");
    }
}

#[test]
fn an_arrow_begins_at_each_mark_whether_a_device_saw_it_or_not() {
    let events = with_marks(Chip::V4_1_0).timeline();
    let arrows = |phase: &str| {
        let of_phase =
            events.iter().filter(|event| event["name"] == "MsTx_4000000002" || event["cat"] == "MsTx");
        of_phase.filter(|event| event["ph"] == phase).map(|event| event["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(arrows("s"), [json!("4000000002"), json!("4000000003")]);
    assert_eq!(arrows("f"), [Value::Null; 0]);
}
