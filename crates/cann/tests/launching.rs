//! Collective operations whose steps a device's AI CPU launches: their lanes, tables of the database, and the
//! parts of the overlap analysis.
//!
//! Names, times and arguments that stand here as literals were typed in from the output of the vendor's own parser
//! on the same profile.

mod common;

use opscope_cann::join::Joined;
use opscope_cann::read::database;
use opscope_cann::tables::{DeviceTables, ServerPhase};
use opscope_cann::{
    Data, LossKind, SampleLayout, SampleMode, SampleOptions, discover, export_database, to_trace,
    write_sample,
};
use opscope_cann_raw::launching::{DeviceStep, kind};
use opscope_cann_raw::{Chip, Record};
use opscope_formats::reading::Stop;
use opscope_trace::{ExecutionUnit, Trace};
use proptest::prelude::*;
use serde_json::Value;

/// A profile with 18 operations of each kind, so that the numbers of tasks begin again.
fn sample(chip: Chip) -> Joined {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mode, layout) = (SampleMode::Collective, SampleLayout::Current);
    write_sample(directory.path(), SampleOptions { chip, tasks: 1_250, mode, layout, seed: 1 })
        .expect("a profile");
    let profile = discover(directory.path()).expect("a profile").remove(0);
    Joined::new(Data::load(profile).expect("a readable profile"))
}

#[test]
fn every_noted_step_has_its_task_and_nothing_is_lost() {
    for chip in [Chip::V4_1_0, Chip::V6_1_0, Chip::V6_2_0] {
        let joined = sample(chip);
        assert!(joined.all_losses().rows().is_empty(), "{chip:?}: {:?}", joined.all_losses().rows());
        let launched = &joined.devices[&0].launched;
        let tables = &joined.data.devices[&0].tables;
        assert_eq!((launched.of_steps.len(), launched.of_ends.len()), (18 * 10, 18 * 2), "{chip:?}");
        for (step, task) in tables.launching.steps.rows().zip(&launched.of_steps) {
            let task = tables.tasks.row(task.expect("a task") as usize);
            assert_eq!((task.stream, task.task), (step.stream, step.task), "{chip:?}");
            // A step is noted when it is launched, and begins at most ten microseconds later.
            let ticks = joined.data.devices[&0].clock.hertz() / 100_000;
            assert!((0..=ticks).contains(&(task.start - step.note.time)), "{chip:?}: {step:?} {task:?}");
        }
        // The AI CPU's own tasks are on the host's streams, whatever the layout of their records.
        let launching = &tables.launching;
        assert!(launching.operations.stream().iter().all(|stream| *stream == 30), "{chip:?}");
        let streams = launching.ends.rows().map(|end| (end.launch_stream, end.stream));
        assert!(streams.into_iter().all(|streams| streams == (30, 41)), "{chip:?}");
        assert!(launching.phases.stream().iter().all(|stream| *stream == 31), "{chip:?}");
        let batches = tables.tasks.rows().filter(|task| task.stream == 41).map(|task| task.batch);
        assert_eq!(batches.max(), Some(if chip == Chip::V4_1_0 { 2 } else { 0 }), "{chip:?}");
    }
}

/// The process with the lanes of a group of lanes.
fn process<'a>(events: &'a [Value], name: &str) -> &'a Value {
    let is_it = |event: &&Value| event["name"] == "process_name" && event["args"]["name"] == name;
    &events.iter().find(is_it).expect("a process")["pid"]
}

/// The slices of a process, with the names of their lanes, by time.
fn slices<'a>(events: &'a [Value], pid: &Value) -> Vec<(&'a str, &'a Value)> {
    let lane_of = |slice: &Value| {
        let is_lane = |event: &&Value| {
            event["name"] == "thread_name" && event["pid"] == *pid && event["tid"] == slice["tid"]
        };
        events.iter().find(is_lane).and_then(|event| event["args"]["name"].as_str()).expect("a lane's name")
    };
    let mut slices: Vec<(&str, &Value)> = events
        .iter()
        .filter(|event| event["ph"] == "X" && event["pid"] == *pid)
        .map(|slice| (lane_of(slice), slice))
        .collect();
    slices.sort_by(|a, b| a.1["ts"].as_str().cmp(&b.1["ts"].as_str()));
    slices
}

#[test]
fn phases_of_fused_operators_are_beside_their_tasks() {
    let joined = sample(Chip::V4_1_0);
    let events = common::timeline(&joined);
    let hardware = slices(&events, process(&events, "Ascend Hardware"));
    let phases: Vec<&Value> = hardware
        .iter()
        .filter(|(lane, slice)| *lane == "Stream 31" && slice["args"].get("Task Type").is_none())
        .map(|(_, slice)| *slice)
        .collect();
    assert_eq!(phases.len(), 18 * 2 * 8);
    let name = |slice: &&Value| slice["name"].as_str().expect("a name").to_owned();
    let first: Vec<String> = phases.iter().take(9).map(name).collect();
    assert_eq!(
        first,
        [
            "StartServer 0",
            "WaitCompute 0",
            "TaskWaitRequest 0",
            "Compute 0",
            "TaskOrchestration 0",
            "TaskLaunch 0",
            "TaskExecute 0",
            "Finalize 0",
            "StartServer 1",
        ]
    );
    assert_eq!(phases[6]["dur"], 10.0);
    assert_eq!(phases[0]["args"], serde_json::json!({"Physic Stream Id": 31, "Task Id": 0}));
}

#[test]
fn steps_that_the_ai_cpu_launched_are_in_the_lanes_of_their_groups() {
    let joined = sample(Chip::V4_1_0);
    let events = common::timeline(&joined);
    let pid = process(&events, "Communication");
    let lanes: Vec<&str> = events
        .iter()
        .filter(|event| event["name"] == "thread_name" && event["pid"] == *pid)
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert_eq!(
        lanes,
        [
            "Group hccl_world_group Communication",
            "Plane 0",
            "Plane 1",
            "Plane 2",
            "Group mc2_group Aicpu Communication",
            "Plane 0",
            "Plane 1",
        ]
    );
    let all = slices(&events, pid);
    assert_eq!(all.len(), 18 * (1 + 2 + 4) + 18 * (1 + 6));
    let start =
        |slice: &Value| slice["ts"].as_str().and_then(|time| time.parse::<f64>().ok()).expect("a time");
    let begin = start(all[0].1);
    let mut first: Vec<(&str, &str, f64, f64)> = all
        .iter()
        .take(14)
        .map(|(lane, slice)| {
            let name = slice["name"].as_str().expect("a name");
            (*lane, name, (start(slice) - begin).round(), slice["dur"].as_f64().expect("a duration"))
        })
        .collect();
    let [all_reduce, fused] = ["Group hccl_world_group Communication", "Group mc2_group Aicpu Communication"];
    let mut expected: [(&str, &str, f64, f64); 14] = [
        (all_reduce, "hcom_allReduce__001_0_483_0_1", 0.0, 30.0),
        ("Plane 0", "Notify_Record", 0.0, 1.0),
        ("Plane 1", "Notify_Wait", 4.0, 0.7),
        ("Plane 2", "Memcpy", 6.0, 5.0),
        ("Plane 1", "Reduce_Inline", 6.0, 7.0),
        ("Plane 1", "Notify_Record", 14.0, 1.0),
        ("Plane 0", "Notify_Wait", 23.0, 7.0),
        (fused, "AllGatherMatmulAicpuKernel_520_0_1", 41.0, 27.0),
        ("Plane 0", "Notify_Record", 41.0, 1.0),
        ("Plane 1", "Memcpy", 43.0, 6.0),
        ("Plane 0", "Memcpy", 43.0, 7.0),
        ("Plane 0", "Notify_Record", 59.0, 1.0),
        ("Plane 1", "Memcpy", 61.0, 6.0),
        ("Plane 0", "Memcpy", 61.0, 7.0),
    ];
    // Slices of the same moment come in any order.
    first.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(b.0)));
    expected.sort_by(|a, b| a.2.total_cmp(&b.2).then(a.0.cmp(b.0)));
    assert_eq!(first, expected);
    let copy =
        all.iter().find(|(lane, slice)| *lane == "Plane 2" && slice["name"] == "Memcpy").expect("a copy").1;
    assert_eq!(
        copy["args"],
        serde_json::json!({
            "notify_id": "18446744073709551615", "duration estimated(us)": 1.5, "stream id": 42, "task id": 0,
            "context id": 4_294_967_295u32, "task type": "Memcpy", "src rank": 0, "dst rank": 1,
            "transport type": "SDMA", "size(Byte)": 1_048_576, "data type": "FP32", "link type": "HCCS",
            "bandwidth(GB/s)": 209.7152, "model id": 4_294_967_295u32,
        })
    );
    let whole = all.iter().find(|(lane, _)| *lane == fused).expect("an operation").1;
    assert_eq!(whole["args"]["rank_size"], 2);
    // Only what computes counts as computing: kernels that launch don't.
    let overlap = slices(&events, process(&events, "Overlap Analysis"));
    let communicating = overlap.iter().filter(|(_, slice)| slice["name"] == "Communication").count();
    assert_eq!(communicating, 36);
    let tasks = joined.data.devices[&0].tables.tasks.rows().filter(|task| task.stream == 2).count();
    let computing = overlap.iter().filter(|(_, slice)| slice["name"] == "Computing").count();
    assert_eq!(computing, tasks);
}

#[test]
fn the_database_has_operations_and_steps_of_both_sides() {
    let out = tempfile::tempdir().expect("a temporary directory");
    let path =
        export_database(&sample(Chip::V4_1_0), out.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let count = |query: &str| database.query_row(query, [], |row| row.get::<_, i64>(0)).expect(query);
    let text = |column: &str| format!("(SELECT value FROM STRING_IDS WHERE id = {column})");
    assert_eq!(count("SELECT count(*) FROM COMMUNICATION_OP"), 36);
    let of_group = |group: &str| {
        count(&format!(
            "SELECT count(*) FROM COMMUNICATION_OP JOIN COMMUNICATION_TASK_INFO USING (opId) WHERE {} = '{group}'",
            text("COMMUNICATION_OP.groupName")
        ))
    };
    assert_eq!((of_group("hccl_world_group"), of_group("mc2_group Aicpu")), (18 * 6, 18 * 6));
    // The device's record of an operation that the host launched.
    assert_eq!(count("SELECT count(*) FROM COMMUNICATION_OP WHERE relay = 0 AND retry = 1"), 18);
    assert_eq!(count("SELECT max(endNs - startNs) FROM COMMUNICATION_OP"), 30_000);
    assert_eq!(count("SELECT sum(size) FROM COMMUNICATION_TASK_INFO"), 18 * 6 * (1 << 20));
    let without = "SELECT count(*) FROM COMMUNICATION_TASK_INFO LEFT JOIN TASK USING (globalTaskId) WHERE streamId IS NULL";
    assert_eq!(count(without), 0);
    // Kernels that launch are no operators that compute.
    assert_eq!(count("SELECT count(*) FROM COMMUNICATION_SCHEDULE_TASK_INFO"), 36);
    let kernels =
        format!("SELECT count(*) FROM COMPUTE_TASK_INFO WHERE {} LIKE '%AicpuKernel'", text("name"));
    assert_eq!(count(&kernels), 0);
}

/// Name, stream, begin since 1970 and length of the operations of a trace as a whole.
fn operations(trace: &Trace) -> Vec<(String, String, i64, i64)> {
    let text = |id| trace.strings.get(id).to_owned();
    let zero = trace.clock.unix_zero.expect("a wall clock");
    let whole = trace.tasks.iter().filter(|(_, task)| task.unit == ExecutionUnit::Communication);
    let mut found: Vec<_> = whole
        .map(|(_, task)| {
            let stream = trace.streams.get(task.stream.expect("a stream"));
            assert!(task.operator.is_some() && task.launched_by.is_some(), "{task:?}");
            (text(task.name), text(stream.name), task.start.0 + zero, task.duration.0)
        })
        .collect();
    found.sort();
    found
}

#[test]
fn the_trace_of_the_raw_records_has_the_operations_that_a_database_gives() {
    let joined = sample(Chip::V4_1_0);
    let raw = operations(&to_trace(&joined));
    assert_eq!(raw.len(), 36);
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = export_database(&joined, directory.path(), "0").expect("space on disk").expect("a database");
    let read = database::read_file(&path, &Stop::default()).expect("a database");
    assert_eq!(raw, operations(&read));
}

/// A device's tables of a profile whose AI CPU left these bytes, how many records were lost, and how many phases
/// had times that can't be.
fn decoded(bytes: &[u8]) -> (DeviceTables, u64, u64) {
    let edited = common::edited::Edited::new(Chip::V4_1_0, 1).with_bytes(0, "aicpu.data", bytes);
    let mut joined = edited.joined();
    let losses = joined.all_losses();
    let counted = [LossKind::InvalidRecord, LossKind::UnknownRecord, LossKind::BrokenMagic];
    let lost = counted.iter().map(|kind| losses.total(*kind)).sum();
    let impossible = joined.all_losses().total(LossKind::ImpossibleTime);
    (joined.data.devices.remove(&0).expect("the device").tables, lost, impossible)
}

#[test]
fn times_of_a_round_that_do_not_rise_are_no_phases() {
    use opscope_cann_raw::launching::ComputeTurn;
    let record = |times| {
        let head = head(kind::COMPUTE_TURN);
        ComputeTurn { head, times, stream: 3, task: 4, turn: 5, ..ComputeTurn::default() }
    };
    let mut bytes = Vec::new();
    [[10, 20, 30], [10, 9, 30], [0, 1, 2]].map(record).iter().for_each(|record| record.append_to(&mut bytes));
    let (tables, lost, _) = decoded(&bytes);
    let phases: Vec<(ServerPhase, u64, u64, u8)> =
        tables.launching.phases.rows().map(|run| (run.phase, run.start, run.end, run.turn)).collect();
    assert_eq!(phases, [(ServerPhase::WaitCompute, 10, 20, 5), (ServerPhase::Compute, 20, 30, 5)]);
    assert_eq!(lost, 2);
}

fn head(kind: u32) -> opscope_cann_raw::host::Head {
    use opscope_cann_raw::host::{Head, MAGIC, level};
    Head { magic: MAGIC, level: level::AICPU, kind, ..Head::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Records of any content: each is decoded, or counted.
    #[test]
    fn every_record_is_decoded_or_counted(
        records in prop::collection::vec((0u32..16, prop::collection::vec(any::<u8>(), 232)), 0..20)
    ) {
        let mut bytes = Vec::new();
        for (kind, content) in &records {
            head(*kind).append_to(&mut bytes);
            bytes.extend_from_slice(content);
        }
        let (tables, lost, impossible) = decoded(&bytes);
        let launching = &tables.launching;
        let count = |of: &[u32]| records.iter().filter(|(kind, _)| of.contains(kind)).count() as u64;
        let is_group = |bytes: &[u8]| bytes[16..24] != [0; 8];
        let steps = records.iter().map(|(number, content)| match *number {
            kind::STEPS => content.chunks(<DeviceStep as Record>::SIZE).filter(|step| is_group(step)).count(),
            kind::STEP => 1,
            _ => 0,
        });
        prop_assert_eq!(launching.steps.len(), steps.sum::<usize>());
        prop_assert_eq!(launching.operations.len() as u64, count(&[kind::OPERATION]));
        // Rounds have six and two phases; those whose times rise are kept, as far as a clock can show them.
        let rounds = records.iter().filter_map(|(number, content)| {
            let times = match *number {
                kind::COMMUNICATION_TURN => 7,
                kind::COMPUTE_TURN => 3,
                _ => return None,
            };
            let time = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
            let times: Vec<u64> = content.chunks_exact(8).take(times).map(time).collect();
            (times.is_sorted() && times[0] > 0).then_some(times.len() as u64 - 1)
        });
        let rounds: Vec<u64> = rounds.collect();
        prop_assert_eq!(launching.phases.len() as u64 + impossible, rounds.iter().sum::<u64>());
        let kept = (rounds.len() + launching.flips.len() + launching.ends.len()) as u64;
        let decoded_here = [kind::COMMUNICATION_TURN, kind::COMPUTE_TURN, kind::FLIP, kind::MAIN_STREAM_TASK];
        let known = [&decoded_here[..], &[kind::NODE, kind::PREPARATION, kind::OPERATION, kind::STEP, kind::STEPS]];
        let unknown = records.len() as u64 - count(&known.concat());
        prop_assert_eq!(kept + lost, count(&decoded_here) + unknown);
    }
}
