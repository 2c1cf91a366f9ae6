//! The traces of launches: operators, copies, arrows and calls.
//!
//! The vendor's parser has two forms: the accelerated one, here with a 910B, and the plain one, here with
//! a 910. Where nothing else is said, both show the same.

mod common;

use common::written::{STREAM, Written};
use opscope_cann::export_database;
use opscope_cann_raw::Chip;
use opscope_cann_raw::host::{EVENT_END, MemcpyInfo, TaskTrack, level};
use rusqlite::Connection;
use serde_json::{Value, json};

const CHIPS: [Chip; 2] = [Chip::V4_1_0, Chip::V2_1_0];

/// Kinds of tasks as the runtime numbers them.
const AI_CORE: u64 = 0;
const EVENT_RECORD: u64 = 2;
const EVENT_WAIT: u64 = 3;
const MEMCPY_ASYNC: u64 = 5;
const NOTIFY_RECORD: u64 = 70;

/// Kinds of tasks as a 910B numbers them.
const SDMA: u16 = 11;

/// Types of calls of AscendCL.
const RECORD_EVENT: u32 = 196_700;
const WAIT_EVENT: u32 = 196_701;
const COPY: u32 = 196_702;
const NOTIFY: u32 = 196_703;

fn written(chip: Chip) -> Written {
    let mut profile = Written::new(chip);
    for (kind, name) in
        [(RECORD_EVENT, "aclrtRecordEvent"), (WAIT_EVENT, "aclrtStreamWaitEvent"), (COPY, "aclrtMemcpyAsync")]
    {
        profile.name_type(level::ACL, kind, name);
    }
    for (kind, name) in [(2, "EVENT_RECORD"), (3, "EVENT_WAIT"), (70, "NOTIFY_RECORD")] {
        profile.name_type(level::RUNTIME, kind, name);
    }
    profile
}

/// The slice of a task on a timeline.
fn task(events: &[Value], number: u32) -> &Value {
    let is_it = |event: &&Value| event["ph"] == "X" && event["args"]["Task Id"] == number;
    events.iter().find(is_it).expect("a task")
}

/// Where arrows begin (`s`) or end (`f`), in microseconds since the begin of the collection.
fn arrows(events: &[Value], phase: &str) -> Vec<i64> {
    let of_phase = events.iter().filter(|event| event["cat"] == "HostToDevice" && event["ph"] == phase);
    let mut times: Vec<i64> = of_phase.map(|event| micros(&event["ts"])).collect();
    times.sort_unstable();
    times
}

/// A time of a timeline in microseconds since the begin of the collection.
fn micros(time: &Value) -> i64 {
    let text = time.as_str().and_then(|text| text.strip_suffix(".000")).expect("whole microseconds");
    text.parse::<i64>().expect("a number") - 1_760_000_000_000_000
}

/// The names of the calls on a timeline, by their begin.
fn calls(events: &[Value]) -> Vec<&str> {
    let is_call = |event: &&Value| event["ph"] == "X" && event["args"].get("level").is_some();
    let mut calls: Vec<&Value> = events.iter().filter(is_call).collect();
    calls.sort_by_key(|call| micros(&call["ts"]));
    calls.into_iter().map(|call| call["name"].as_str().expect("a name")).collect()
}

/// A copy that took ten microseconds.
fn with_copy() -> Written {
    let mut profile = written(Chip::V4_1_0);
    profile.call(level::ACL, COPY, (100, 120));
    profile.track(1, MEMCPY_ASYNC, 105);
    profile.run(1, SDMA, (200, 210));
    profile
}

#[test]
fn a_copy_shows_what_the_device_calls_it_and_how_fast_it_was() {
    let mut profile = with_copy();
    // The note on a copy has the time of the task.
    let head = profile.head(level::RUNTIME, 801, 105);
    let note = MemcpyInfo { head, bytes: 4_096, most: 8_192, direction: 1 };
    profile.add("compact.memcpy_info", &note);
    // The runtime noted nothing on this one.
    profile.track(2, MEMCPY_ASYNC, 110);
    profile.run(2, SDMA, (220, 230));
    let events = profile.timeline();
    let shown = |number: u32| {
        let args = &task(&events, number)["args"];
        ["Task Type", "size(B)", "bandwidth(GB/s)", "operation"].map(|name| args[name].clone())
    };
    assert_eq!(shown(1), [json!("SDMA_SQE"), json!(4_096), json!(0.4096), json!("host to device")]);
    assert_eq!(shown(2), [json!("SDMA_SQE"), json!(0), json!(0.0), json!("other")]);
}

#[test]
fn no_copy_shows_how_fast_it_was_if_none_was_noted() {
    let events = with_copy().timeline();
    let copy = task(&events, 1);
    assert_eq!((&copy["name"], &copy["args"]["Task Type"]), (&json!("MEMCPY_ASYNC"), &json!("SDMA_SQE")));
    for name in ["size(B)", "bandwidth(GB/s)", "operation"] {
        assert_eq!(copy["args"].get(name), None);
    }
}

#[test]
fn arrows_lead_to_operators_copies_and_what_records_or_awaits_events() {
    for chip in CHIPS {
        let mut profile = written(chip);
        profile.operator("Add_1", 1, 100);
        let calls = [(COPY, MEMCPY_ASYNC), (RECORD_EVENT, EVENT_RECORD), (WAIT_EVENT, EVENT_WAIT)];
        for (task, (call, kind)) in (2..).zip(calls) {
            let at = i64::from(task) * 100;
            profile.call(level::ACL, call, (at, at + 20));
            profile.track(task, kind, at + 5);
            profile.run(task, 0, (at + 100, at + 110));
        }
        // A task of another kind, and an event that a call of another name recorded.
        for (task, kind) in [(5, NOTIFY_RECORD), (6, EVENT_RECORD)] {
            let at = i64::from(task) * 100;
            profile.call(level::ACL, NOTIFY, (at, at + 20));
            profile.track(task, kind, at + 5);
            profile.run(task, 0, (at + 100, at + 110));
        }
        profile.launch("nothing", (900, 920));
        let events = profile.timeline();
        assert_eq!(arrows(&events, "f"), [200, 300, 400, 500], "{chip:?}");
        if chip == Chip::V4_1_0 {
            // The accelerated form begins one at a node even if it leads nowhere.
            assert_eq!(arrows(&events, "s"), [100, 200, 300, 400, 900]);
        }
    }
}

#[test]
fn a_task_of_which_the_host_told_nothing_has_the_largest_connection_or_minus_one() {
    for (chip, connection) in [(Chip::V4_1_0, json!(u64::MAX)), (Chip::V2_1_0, json!(-1))] {
        let mut profile = written(chip);
        profile.run(1, 0, (200, 210));
        assert_eq!(task(&profile.timeline(), 1)["args"]["connection_id"], connection, "{chip:?}");
    }
}

#[test]
fn calls_of_types_that_no_dictionary_names_are_called_by_their_numbers() {
    let mut profile = written(Chip::V4_1_0);
    profile.call(level::ACL, 998, (100, 110));
    profile.call(level::ACL, 999, (120, 130));
    profile.call(level::ACL, 999, (140, 150));
    profile.call(level::RUNTIME, 998, (160, 170));
    let mut rows = profile.cells("api_statistic", &["API Name", "Level", "Count"]);
    rows.sort_unstable();
    assert_eq!(rows, [["998", "acl", "1"], ["998", "runtime", "1"], ["999", "acl", "2"]]);
    let events = profile.timeline();
    assert_eq!(calls(&events), ["AscendCL@998", "AscendCL@999", "AscendCL@999", "Runtime@998"]);
}

#[test]
fn kinds_of_tasks_that_no_dictionary_names_are_called_by_their_numbers() {
    for chip in CHIPS {
        let mut profile = written(chip);
        profile.track(1, 777, 165);
        profile.run(1, 0, (200, 210));
        assert_eq!(profile.cells("task_time", &["kernel_type"]), [["777"]], "{chip:?}");
        assert_eq!(task(&profile.timeline(), 1)["name"], "777", "{chip:?}");
    }
}

/// A profile with calls before and about the collection's begin.
fn with_early_calls(chip: Chip) -> Written {
    const MODEL_LOAD: u32 = 2;
    const OTHER: u32 = 1_004;
    let mut profile = written(chip);
    profile.name_type(level::RUNTIME, OTHER, "StreamCreate");
    profile.call(level::MODEL, MODEL_LOAD, (-300, -200));
    profile.call(level::RUNTIME, OTHER, (-280, -270));
    // Two that ended before the begin, and one that reached beyond it.
    profile.call(level::ACL, COPY, (-150, -140));
    profile.call(level::RUNTIME, 1_002, (-100, -90));
    profile.call(level::ACL, RECORD_EVENT, (-10, 10));
    profile
}

#[test]
fn what_ended_before_the_collection_is_shown_only_if_it_loaded_a_model() {
    let profile = with_early_calls(Chip::V4_1_0);
    let events = profile.timeline();
    let expected = ["Model@ModelLoad", "Runtime@StreamCreate", "AscendCL@aclrtRecordEvent"];
    assert_eq!(calls(&events), expected);
    let mut names = profile.cells("api_statistic", &["API Name"]).concat();
    names.sort_unstable();
    assert_eq!(names, ["ModelLoad", "StreamCreate", "aclrtRecordEvent"]);
}

#[test]
fn the_plain_form_leaves_out_what_began_before_the_collection_and_counts_all() {
    let profile = with_early_calls(Chip::V2_1_0);
    assert_eq!(calls(&profile.timeline()), ["Model@ModelLoad", "Runtime@StreamCreate"]);
    assert_eq!(profile.cells("api_statistic", &["API Name"]).len(), 5);
}

#[test]
fn an_operator_whose_kernel_was_not_told_has_no_name_in_task_time() {
    for chip in CHIPS {
        let mut profile = written(chip);
        profile.operator("Add_1", 1, 100);
        assert_eq!(profile.cells("task_time", &["kernel_name"]), [["N/A"]], "{chip:?}");
        assert_eq!(profile.cells("op_summary", &["Op Name"]), [["Add_1"]], "{chip:?}");
    }
}

#[test]
fn a_910_does_not_tell_the_kind_of_a_task_that_no_host_launched() {
    for (chip, kind) in [(Chip::V4_1_0, "AI_CORE"), (Chip::V2_1_0, "Other")] {
        let mut profile = written(chip);
        profile.run(1, 0, (200, 210));
        assert_eq!(profile.cells("task_time", &["kernel_type"]), [[kind]], "{chip:?}");
        assert_eq!(task(&profile.timeline(), 1)["name"], kind, "{chip:?}");
    }
}

#[test]
fn operators_that_began_before_the_collection_do_not_count() {
    for chip in CHIPS {
        let mut profile = written(chip);
        profile.operator("Add_1", 1, -105);
        profile.operator("Add_2", 2, 100);
        assert_eq!(profile.cells("op_summary", &["Op Name"]), [["Add_1"], ["Add_2"]], "{chip:?}");
        assert_eq!(profile.cells("op_statistic", &["OP Type", "Count"]), [["Add", "1"]], "{chip:?}");
    }
}

#[test]
fn a_note_within_a_nested_call_is_of_the_inner_node() {
    for chip in CHIPS {
        let mut profile = written(chip);
        profile.launch("outer", (100, 200));
        profile.launch("inner", (120, 150));
        profile.track(1, AI_CORE, 110);
        profile.track(2, AI_CORE, 130);
        profile.track(3, AI_CORE, 170);
        profile.note("inner", "Mul", 140);
        profile.note("outer", "Add", 190);
        (1..).zip([300, 320, 340]).for_each(|(task, at)| profile.run(task, 0, (at, at + 10)));
        let rows = profile.cells("op_summary", &["Task ID", "Op Name", "OP Type"]);
        let expected = [["1", "outer", "Add"], ["2", "inner", "Mul"], ["3", "outer", "Add"]];
        assert_eq!(rows, expected, "{chip:?}");
    }
}

#[test]
fn the_last_of_two_notes_on_a_launch_counts() {
    let mut profile = written(Chip::V4_1_0);
    profile.launch("first", (100, 200));
    profile.track(1, AI_CORE, 150);
    profile.note("first", "Add", 110);
    profile.note("last", "Mul", 190);
    profile.run(1, 0, (300, 310));
    assert_eq!(profile.cells("op_summary", &["Op Name", "OP Type"]), [["last", "Mul"]]);
}

#[test]
fn a_launch_without_a_note_is_an_operator_at_the_lowest_level_only() {
    for chip in CHIPS {
        for (level, has_operator) in [("l1", false), ("l0", true)] {
            let mut profile = written(chip).with_option("prof_level", level);
            profile.launch("Conv", (100, 120));
            profile.track(1, AI_CORE, 110);
            profile.run(1, 0, (200, 210));
            let table = common::table(&profile.joined(), "op_summary");
            assert_eq!(table.len(), if has_operator { 2 } else { 0 }, "{chip:?} {level}");
            if has_operator {
                let rows = profile.cells("op_summary", &["Op Name", "OP Type", "Task Type"]);
                assert_eq!(rows, [["Conv", "N/A", "N/A"]], "{chip:?}");
            }
        }
    }
}

/// The record of a launch that tells how large it was.
fn whole(profile: &mut Written, task: u16, kind: u64, at: i64, extent: [u16; 6]) {
    let mut head = profile.head(level::RUNTIME, 802, at);
    head.length = TaskTrack::WHOLE;
    let stream = common::written::STREAM;
    let track = TaskTrack { head, stream, task, task_type: kind, extent, ..TaskTrack::default() };
    profile.add("compact.task_track", &track);
}

#[test]
fn blocks_are_those_of_the_runtimes_record_where_it_tells_them() {
    let mut profile = written(Chip::V4_1_0);
    profile.launch("told", (100, 120));
    // Two blocks of the other core for each; the bits above mean something else.
    whole(&mut profile, 1, AI_CORE, 105, [24, 512, 0b1010, 0, 0, 0]);
    profile.note("told", "Add", 110);
    profile.run(1, 0, (200, 210));
    profile.operator("noted", 2, 300);
    let rows = profile.cells("op_summary", &["Op Name", "Block Num", "Mix Block Num"]);
    assert_eq!(rows, [["told", "24", "48"], ["noted", "8", "0"]]);
}

#[test]
fn a_launch_of_many_threads_shows_its_grid() {
    const SIMT: u32 = 150;
    let mut profile = written(Chip::V4_1_0);
    profile.name_type(level::RUNTIME, SIMT, "KERNEL_SIMT");
    profile.launch("threads", (100, 120));
    whole(&mut profile, 1, u64::from(SIMT), 105, [24, 2, 1, 256, 4, 1]);
    profile.note("threads", "Add", 110);
    profile.run(1, 0, (200, 210));
    profile.operator("other", 2, 300);
    let events = profile.timeline();
    let shown = |number: u32| ["Grid Dim", "Block Dim"].map(|name| task(&events, number)["args"].get(name));
    assert_eq!(shown(1), [Some(&json!("24,2,1")), Some(&json!("256,4,1"))]);
    assert_eq!(shown(2), [None; 2]);
    // Its dimensions are no blocks.
    assert_eq!(profile.cells("op_summary", &["Block Num"]), [["8"], ["8"]]);
    let out = tempfile::tempdir().expect("a temporary directory");
    let path = export_database(&profile.joined(), out.path(), "0").expect("space on disk");
    let database = Connection::open(path.expect("a database")).expect("a database");
    let query = "SELECT n.value, g.value, b.value FROM COMPUTE_TASK_INFO i \
        JOIN STRING_IDS n ON n.id = i.name JOIN STRING_IDS g ON g.id = i.gridDim \
        JOIN STRING_IDS b ON b.id = i.blockDim ORDER BY n.value";
    let mut query = database.prepare(query).expect("the table");
    let rows = query.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?])).expect("rows");
    let rows: Vec<[String; 3]> = rows.map(|row| row.expect("a row")).collect();
    assert_eq!(rows, [["other", "N/A", "N/A"], ["threads", "24,2,1", "256,4,1"]]);
}

#[test]
fn the_plain_form_rounds_each_deviation_of_calls_before_it_averages_them() {
    // In hundredths of a microsecond. The squares are 0.0016, 0.0009 and 0.0049.
    let durations = [101, 102, 112];
    let columns = ["Time(us)", "Count", "Avg(us)", "Min(us)", "Max(us)", "Variance"];
    for (chip, variance) in [(Chip::V2_1_0, "0.003"), (Chip::V4_1_0, "0.002")] {
        let mut profile = written(chip);
        for (place, duration) in (1..).zip(durations) {
            let begin = profile.host_ticks(place * 100);
            profile.call_of_ticks(level::ACL, COPY, begin, begin + duration, 0);
        }
        let expected = [["3.15", "3", "1.05", "1.01", "1.12", variance]];
        assert_eq!(profile.cells("api_statistic", &columns), expected, "{chip:?}");
    }
}

/// Operators of ten microseconds, of a type and on a unit each.
fn operators_of_units(chip: Chip, units: &[(&str, u32)]) -> Written {
    let mut profile = written(chip);
    for (number, (op_type, unit)) in (1u16..).zip(units) {
        let (name, at) = (format!("op{number}"), i64::from(number) * 100);
        profile.launch(&name, (at, at + 20));
        profile.track(number, AI_CORE, at + 5);
        profile.note_of_unit(&name, op_type, *unit, at + 10);
        profile.run(number, 0, (at + 50, at + 60));
    }
    profile
}

#[test]
fn a_unit_that_has_no_name_is_told_by_its_number() {
    for chip in CHIPS {
        let profile = operators_of_units(chip, &[("Add", 77)]);
        let cells = profile.cells("op_summary", &["Op Name", "Task Type"]);
        assert_eq!(cells, [["op1", "77"]], "{chip:?}");
        assert_eq!(task(&profile.timeline(), 1)["args"]["Task Type"], "77", "{chip:?}");
    }
}

#[test]
fn the_unit_of_collective_operations_has_the_name_of_the_form() {
    let cells =
        |chip| operators_of_units(chip, &[("Add", 0), ("Sum", 9)]).cells("task_time", &["kernel_type"]);
    assert_eq!(cells(Chip::V4_1_0), [["AI_CORE"], ["COMMUNICATION"]]);
    assert_eq!(cells(Chip::V2_1_0), [["AI_CORE"], ["HCCL"]]);
}

#[test]
fn shares_are_of_the_time_of_operators_that_no_table_lists_as_well() {
    for chip in CHIPS {
        // Writing back is unit 3; 11 is no valid one.
        let profile = operators_of_units(chip, &[("Add", 0), ("Add", 3), ("Add", 11), ("Mul", 0)]);
        let rows = profile.cells("op_statistic", &["OP Type", "Count", "Ratio(%)"]);
        let whole = if chip == Chip::V4_1_0 { "25" } else { "25.0" };
        assert_eq!(rows, [["Add", "1", whole], ["Mul", "1", whole]], "{chip:?}");
        assert_eq!(profile.cells("op_summary", &["Op Name"]), [["op1"], ["op4"]], "{chip:?}");
    }
}

#[test]
fn kernels_without_a_node_name_no_model_in_the_plain_form_though_they_were_launched_while_one_was_loaded() {
    let mut profile = Written::new(Chip::V3_3_0);
    let (model, load) = (1, 2);
    for at in [50, 900] {
        let time = profile.host_ticks(at);
        profile.call_of_ticks(level::MODEL, load, time, EVENT_END, model);
    }
    profile.operator("named", 1, 100);
    let (head, kernel) = (profile.head(level::RUNTIME, 802, 300), profile.hash("bare_kernel"));
    profile.add(
        "compact.task_track",
        &TaskTrack { head, stream: STREAM, task: 2, kernel, ..TaskTrack::default() },
    );
    profile.run(2, 0, (400, 410));
    let rows = profile.cells("op_summary", &["Op Name", "Model ID"]);
    assert_eq!(rows, [["named", "1"], ["bare_kernel", "4294967295"]]);
}
