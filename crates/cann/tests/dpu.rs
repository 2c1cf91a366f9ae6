//! Data processing units, which serve communication beside the processors: their lanes, their table of the database,
//! and their tasks in a trace.
//!
//! Values that stand here as literals were typed in from the output of the vendor's own parser on the same records.

mod common;

use common::written::{STREAM, Written};
use opscope_cann::join::Joined;
use opscope_cann::read::{AscendTimeline, database};
use opscope_cann::{
    ExportOptions, LaneChoice, LossKind, SampleLayout, SampleMode, SampleOptions, export_database,
    export_timeline, to_trace, write_sample,
};
use opscope_cann_raw::dpu::{DpuHcclInfo, DpuTrack};
use opscope_cann_raw::host::{Head, TaskTrack, level};
use opscope_cann_raw::{Chip, Record};
use opscope_formats::reading::Stop;
use opscope_trace::{DeviceKind, ExecutionUnit, Trace};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The number of unit 3.
const UNIT: u16 = 0x1003;

const KERNEL_AICPU: u32 = 1;

/// Times are in microseconds since the begin of the collection.
fn task(profile: &Written, number: u32, kind: u32, (begin, end): (i64, i64)) -> DpuTrack {
    let head = profile.head(level::RUNTIME, 0, end);
    let start = profile.host_ticks(begin);
    DpuTrack { head, device: UNIT, stream: 6, task: number, task_type: kind, start }
}

fn step(profile: &mut Written, (begin, end): (i64, i64)) -> DpuHcclInfo {
    let head = profile.head(level::COMMUNICATION, 0, end);
    let (item, group) = (profile.hash("RDMASend"), profile.hash("world"));
    DpuHcclInfo {
        head,
        item,
        tag: 99,
        group,
        local_rank: 2,
        remote_rank: 5,
        rank_size: 8,
        stage: 4,
        notify: 77,
        start: profile.host_ticks(begin),
        estimate: 2.5,
        size: 3_000,
        task: 1 << 20,
        ai_cpu_task: 12,
        stream: 7,
        plane: 1,
        processor: 1,
        device: UNIT,
        reduction: 1,
        data_type: 4,
        link: 3,
        transport: 1,
        rdma: 1,
        role: 1,
        mode: 9,
        ..DpuHcclInfo::default()
    }
}

/// Notes the kernel of a task when it is handed over.
fn hand_over(profile: &mut Written, number: u32, kernel: &str, at: i64) {
    let kernel = profile.hash(kernel);
    let head = profile.head(level::RUNTIME, 802, at);
    let (task, batch) = (number as u16, (number >> 16) as u16);
    let track = TaskTrack { head, device: UNIT, stream: STREAM, task, batch, kernel, ..TaskTrack::default() };
    profile.add("compact.task_track", &track);
}

/// A kernel, a task of another kind without a name, and a step.
fn written() -> Written {
    let mut profile = Written::new(Chip::V6_1_0);
    profile.name_type(level::RUNTIME, KERNEL_AICPU, "KERNEL_AICPU");
    hand_over(&mut profile, 70_000, "SendKernel", 90);
    profile.add("compact.dpu_track", &task(&profile, 70_000, KERNEL_AICPU, (100, 150)));
    profile.add("compact.dpu_track", &task(&profile, 70_001, 2, (120, 160)));
    let step = step(&mut profile, (200, 230));
    profile.add("additional.dpu_hccl_info", &step);
    profile
}

/// The process of the units in a timeline, by the number of the unit.
fn process(events: &[Value], unit: u64) -> u64 {
    let is_it = |event: &&Value| {
        event["name"] == "process_name"
            && event["args"]["name"] == "DPU"
            && event["pid"].as_u64().map(|pid| pid & 31) == Some(unit)
    };
    events.iter().find(is_it).expect("the unit's process")["pid"].as_u64().expect("a number")
}

#[test]
fn a_unit_has_a_process_with_a_lane_for_each_stream() {
    let events = written().timeline();
    let pid = process(&events, 3);
    assert_eq!(pid >> 5 & 31, 8, "the place of the vendor's");
    let of_unit: Vec<&Value> = events.iter().filter(|event| event["pid"] == pid).collect();
    let labels: Vec<_> = of_unit.iter().filter(|event| event["name"] == "process_labels").collect();
    assert_eq!((labels.len(), &labels[0]["args"]["labels"]), (1, &json!("DPU 3")));
    let lanes: Vec<_> = of_unit
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .map(|event| (event["tid"].as_u64(), event["args"]["name"].as_str().expect("a name")))
        .collect();
    // The second task overlaps the first.
    assert_eq!(lanes, [(Some(6), "Stream 6"), (Some(6 + (1 << 32)), "Stream 6"), (Some(7), "Stream 7")]);
    let slices: Vec<_> = of_unit.iter().filter(|event| event["ph"] == "X").collect();
    let shown: Vec<_> = slices.iter().map(|slice| (&slice["name"], &slice["ts"], &slice["dur"])).collect();
    assert_eq!(
        shown,
        [
            (&json!("SendKernel"), &json!("1760000000000100.000"), &json!(50.0)),
            (&json!("N/A"), &json!("1760000000000120.000"), &json!(40.0)),
            (&json!("RDMASend"), &json!("1760000000000200.000"), &json!(30.0)),
        ]
    );
    let kernel = json!({"Thread Id": 777, "Physic Stream Id": 6, "Task Id": 70_000, "Task Type": "AI_CPU"});
    assert_eq!(slices[0]["args"], kernel);
    assert_eq!(slices[1]["args"]["Task Type"], "UNKNOWN");
    let group = written().hash("world");
    assert_eq!(
        slices[2]["args"],
        json!({
            "Thread Id": 777, "Physic Stream Id": 7, "Task Id": 1_048_576, "OP Type": "MUL",
            "AI CPU Device Id": 1, "AI CPU Task Id": 12, "Group Name": format!("world({group})"),
            "Plane Id": 1, "Notify Id": "77", "Duration Estimated(us)": 2.5, "Rank Size": 8, "Src Rank": 2,
            "Dst Rank": 5, "Transport Type": "RDMA", "Size(Byte)": 3_000, "Bandwidth(GB/s)": 0.1,
            "Data Type": "FP32", "Link Type": "ROCE", "Rdma Type": "RDMA_SEND_PAYLOAD",
        })
    );
}

#[test]
fn the_lanes_are_hidden_where_others_are_chosen() {
    let joined = written().joined();
    let out = tempfile::tempdir().expect("a temporary directory");
    let lanes = LaneChoice::from_json(r#"{"json_process": {"cann": true}}"#).expect("a choice");
    let options = ExportOptions { lanes, ..ExportOptions::default() };
    export_timeline(&joined, out.path(), "0", options).expect("space on disk");
    let text = std::fs::read_to_string(out.path().join("msprof_0.json")).expect("a timeline");
    assert!(!text.contains("\"DPU\""));
}

/// Name, unit, number of the task and stream, begin and length of a task, and whether it has an operator.
type OfUnit = (String, ExecutionUnit, Option<u32>, u64, i64, i64, bool);

/// The tasks of units by their begin.
fn of_units(trace: &Trace) -> Vec<OfUnit> {
    let mut found: Vec<_> = trace
        .tasks
        .iter()
        .filter_map(|(_, task)| {
            let stream = trace.streams.get(task.stream?);
            let device = trace.devices.get(stream.device);
            if device.kind != DeviceKind::Other || trace.strings.get(device.name) != "DPU" {
                return None;
            }
            let name = trace.strings.get(task.name).to_owned();
            let (start, duration) = (task.start.0, task.duration.0);
            Some((name, task.unit, task.number, stream.number, start, duration, task.operator.is_some()))
        })
        .collect();
    found.sort_by_key(|row| row.4);
    found
}

#[test]
fn trace_database_and_timeline_tell_the_same_tasks() {
    let mut profile = written();
    profile.operator("Add", 1, 1_000);
    let joined = profile.joined();
    let trace = to_trace(&joined);
    let expected = [
        ("SendKernel".to_owned(), ExecutionUnit::AiCpu, Some(70_000), 6, 100_000, 50_000, true),
        ("N/A".to_owned(), ExecutionUnit::Other, Some(70_001), 6, 120_000, 40_000, false),
        ("RDMASend".to_owned(), ExecutionUnit::Communication, Some(1 << 20), 7, 200_000, 30_000, false),
    ];
    assert_eq!(of_units(&trace), expected);
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = export_database(&joined, folder.path(), "0").expect("space on disk").expect("a database");
    let read = database::read_file(&path, &Stop::default()).expect("a database");
    assert_eq!(of_units(&read), expected);
    let files =
        export_timeline(&joined, folder.path(), "0", ExportOptions::default()).expect("space on disk");
    let whole = files.iter().find(|file| file.ends_with("msprof_0.json")).expect("the timeline");
    let bytes = std::fs::read(whole).expect("a file");
    let read = opscope_formats::chrome::read_with(&bytes, &[&AscendTimeline], &Stop::default());
    let mut shown = of_units(&read.expect("a timeline"));
    // A timeline begins with its first slice.
    let first = shown[0].4;
    shown.iter_mut().for_each(|row| row.4 += 100_000 - first);
    assert_eq!(shown, expected);
}

#[test]
fn the_database_has_the_vendors_columns_and_details() {
    let joined = written().joined();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = export_database(&joined, folder.path(), "0").expect("space on disk").expect("a database");
    let database = rusqlite::Connection::open(path).expect("a database");
    let rows = "SELECT dpuDeviceId, globalTid, startNs, endNs, streamId, taskId, n.value, a.value FROM DPU_TASK \
                JOIN STRING_IDS n ON n.id = opName JOIN STRING_IDS a ON a.id = args ORDER BY startNs";
    let mut statement = database.prepare(rows).expect("columns");
    let rows = statement.query_map([], |row| {
        let numbers: Vec<i64> = (0..6).map(|column| row.get(column).expect("a number")).collect();
        Ok((numbers, row.get::<_, String>(6)?, row.get::<_, String>(7)?))
    });
    let rows: Vec<_> = rows.expect("rows").map(|row| row.expect("a row")).collect();
    let begin = 1_760_000_000_000_000_000;
    assert_eq!(rows[0].0, [3, 777, begin + 100_000, begin + 150_000, 6, 70_000]);
    assert_eq!(
        (rows[0].1.as_str(), rows[0].2.as_str()),
        ("SendKernel", r#"["Thread Id",777,"Physic Stream Id",6,"Task Id",70000,"Task Type","AI_CPU"]"#)
    );
    let details: Vec<Value> = serde_json::from_str(&rows[2].2).expect("a list");
    let bandwidth = details.iter().position(|name| name == "Bandwidth(B/s)").expect("a rate");
    assert_eq!(details[bandwidth + 1], json!(100_000_000.0));
    assert_eq!((details.len(), rows.len()), (2 * 19, 3));
}

#[test]
fn a_kernel_is_the_last_that_was_handed_over_under_its_tasks_number_before_it_began() {
    let mut profile = Written::new(Chip::V6_1_0);
    for (kernel, at) in [("First", 90), ("Second", 300), ("Third", 500)] {
        hand_over(&mut profile, 8, kernel, at);
    }
    hand_over(&mut profile, 9, "Late", 950);
    for (number, begin) in [(8, 100), (8, 400), (8, 400), (8, 50), (9, 900), (10, 600)] {
        profile.add("compact.dpu_track", &task(&profile, number, KERNEL_AICPU, (begin, begin + 10)));
    }
    let trace = to_trace(&profile.joined());
    let names: Vec<String> = of_units(&trace).into_iter().map(|row| row.0).collect();
    // Before the first note, or behind none, the only one that there is stands.
    assert_eq!(names, ["First", "First", "Second", "Second", "N/A", "Late"]);
}

#[test]
fn tasks_that_were_handed_to_a_unit_are_no_tasks_of_the_processor() {
    let mut profile = written();
    profile.operator("Add", 1, 1_000);
    let joined = profile.joined();
    assert_eq!(joined.data.host.task_tracks.len(), 1);
    let lost: Vec<_> = joined.all_losses().rows().iter().map(|loss| loss.kind).collect();
    assert!(!lost.contains(&LossKind::UnknownRecord), "{lost:?}");
}

#[test]
fn damage_is_counted_and_what_is_whole_is_kept() {
    let mut profile = written();
    // Ends before it begins; another magic number; a device of an unknown kind; a time after the end of days.
    profile.add("compact.dpu_track", &task(&profile, 1, KERNEL_AICPU, (150, 100)));
    let broken =
        DpuTrack { head: Head { magic: 7, ..profile.head(level::RUNTIME, 0, 10) }, ..DpuTrack::default() };
    profile.add("compact.dpu_track", &broken);
    let mut late = step(&mut profile, (300, 310));
    late.head.time = u64::MAX;
    profile.add("additional.dpu_hccl_info", &late);
    let mut hostile = step(&mut profile, (400, 410));
    (hostile.estimate, hostile.size, hostile.item) = (f64::NAN, u64::MAX, 12_345);
    hostile.device = u16::MAX;
    profile.add("additional.dpu_hccl_info", &hostile);
    let joined = profile.joined();
    let losses = joined.all_losses();
    let count = |kind, place: &str| {
        let found = losses.rows().iter().filter(|loss| loss.kind == kind && loss.place == place);
        found.map(|loss| loss.count).sum::<u64>()
    };
    assert_eq!(count(LossKind::InvalidRecord, "compact.dpu_track"), 1, "{losses:?}");
    assert_eq!(count(LossKind::BrokenMagic, "compact.dpu_track"), 1, "{losses:?}");
    assert_eq!(count(LossKind::ImpossibleTime, "additional.dpu_hccl_info"), 1, "{losses:?}");
    assert_eq!(count(LossKind::UnnamedHash, "additional.dpu_hccl_info"), 1, "{losses:?}");
    let events = common::timeline(&joined);
    let shown = events.iter().find(|event| event["name"] == "12345").expect("the step with the unknown name");
    assert_eq!(shown["args"]["Size(Byte)"], u64::MAX);
    assert_eq!(joined.data.host.dpu.tasks.len() + joined.data.host.dpu.steps.len(), 4);
}

#[test]
fn a_generated_run_of_collective_operations_has_units_and_loses_nothing() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (chip, mode, layout) = (Chip::V6_1_0, SampleMode::Collective, SampleLayout::Current);
    write_sample(directory.path(), SampleOptions { chip, tasks: 300, mode, layout, seed: 1 })
        .expect("a profile");
    let joined: Joined = common::joined(directory.path());
    assert!(joined.all_losses().rows().is_empty(), "{:?}", joined.all_losses().rows());
    let rounds = joined.data.host.dpu.tasks.len();
    assert!(rounds > 1);
    let trace = to_trace(&joined);
    let rows = of_units(&trace);
    assert_eq!(rows.len(), 3 * rounds);
    assert!(rows.chunks(3).all(|round| round[0].0 == "DpuSend" && round[0].5 == 20_000 && round[0].6));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_bytes_decode_into_records_that_can_be_shown(
        tracks in prop::collection::vec(any::<u8>(), 0..1_024),
        steps in prop::collection::vec(any::<u8>(), 0..2_048),
        with_magic in any::<bool>(),
    ) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let (chip, mode, layout) = (Chip::V6_1_0, SampleMode::Dynamic, SampleLayout::Current);
        let options = SampleOptions { chip, tasks: 1, mode, layout, seed: 1 };
        let profile = write_sample(directory.path(), options).expect("a profile");
        for (stream, mut bytes, size) in
            [("compact.dpu_track", tracks, DpuTrack::SIZE), ("additional.dpu_hccl_info", steps, DpuHcclInfo::SIZE)]
        {
            if with_magic {
                bytes.chunks_exact_mut(size).for_each(|record| record[..2].copy_from_slice(&[0x5A, 0x5A]));
            }
            std::fs::write(profile.join(format!("host/data/aging.{stream}.slice_0")), bytes).expect("a file");
        }
        let joined = common::joined(directory.path());
        let shown = joined.data.host.dpu.tasks.len() + joined.data.host.dpu.steps.len();
        prop_assert!(shown <= 1_024 / 64 + 2_048 / 256);
        prop_assert!(common::timeline(&joined).iter().all(Value::is_object));
        // Tasks that would last for centuries are none of a trace.
        prop_assert!(of_units(&to_trace(&joined)).len() <= shown);
    }
}
