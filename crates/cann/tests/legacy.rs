//! Profiles of the tool chain of 2022: they tell the same of the same run as those of today.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{
    Data, ExportOptions, LossKind, SampleLayout, SampleMode, SampleOptions, discover, export_summary,
    export_timeline, to_trace, write_sample,
};
use opscope_cann_raw::{Chip, Record, legacy};
use opscope_trace::{ApiLevel, ExecutionUnit};

const CHIPS: [Chip; 4] = [Chip::V1_1_0, Chip::V2_1_0, Chip::V3_3_0, Chip::V4_1_0];
const MODES: [SampleMode; 2] = [SampleMode::Static, SampleMode::Dynamic];

fn sample(directory: &Path, chip: Chip, mode: SampleMode, layout: SampleLayout) -> PathBuf {
    write_sample(directory, SampleOptions { chip, tasks: 300, mode, layout, seed: 5 }).expect("space on disk")
}

fn load(path: &Path) -> Joined {
    let mut profiles = discover(path).expect("a profile");
    assert_eq!(profiles.len(), 1);
    Joined::new(Data::load(profiles.remove(0)).expect("a readable profile"))
}

/// The exported tables, by kind.
fn tables(joined: &Joined) -> BTreeMap<String, String> {
    let output = tempfile::tempdir().expect("a temporary directory");
    let files = export_summary(joined, output.path(), "0", ExportOptions::default()).expect("space on disk");
    let read = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).expect("a table"))
    };
    files.iter().map(read).collect()
}

/// A row without the kernel's name, which the tool chain of 2022 didn't record: the operator's name
/// stands for it.
fn comparable<'a>(kind: &str, row: &'a str) -> Vec<&'a str> {
    let is_kernel = |column: usize| kind.starts_with("task_time") && column == 1;
    row.split(',').enumerate().filter(|(column, _)| !is_kernel(*column)).map(|(_, cell)| cell).collect()
}

#[test]
fn the_same_run_gives_the_same_tables_of_operators_and_tasks_as_todays_layout() {
    for chip in CHIPS {
        for mode in MODES {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let of = |layout| tables(&load(&sample(directory.path(), chip, mode, layout)));
            let [current, job] = [SampleLayout::Current, SampleLayout::Job2022].map(of);
            std::fs::remove_dir_all(directory.path()).expect("a removable directory");
            let old = of(SampleLayout::Prof2022);
            for kind in ["op_summary_0.csv", "op_statistic_0.csv", "task_time_0.csv"] {
                let table = current.get(kind).expect("the table");
                assert!(table.lines().count() > 5, "{chip:?} {mode:?} {kind}");
                for other in [&old, &job] {
                    let other = other.get(kind).expect("the table");
                    let differ =
                        |(one, other): &(&str, &str)| comparable(kind, one) != comparable(kind, other);
                    let different = table.lines().zip(other.lines()).find(differ);
                    assert_eq!(different, None, "{chip:?} {mode:?} {kind}");
                    assert_eq!(table.lines().count(), other.lines().count(), "{chip:?} {mode:?} {kind}");
                }
            }
            assert_eq!(old.get("step_trace_0.csv"), current.get("step_trace_0.csv"), "{chip:?} {mode:?}");
        }
    }
}

#[test]
fn calls_of_ascendcl_the_runtime_and_the_model_have_their_names() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = sample(directory.path(), Chip::V1_1_0, SampleMode::Static, SampleLayout::Prof2022);
    let joined = load(&path);
    let trace = to_trace(&joined);
    let named = |level: ApiLevel, name: &str| {
        let of = |call: &opscope_trace::ApiCall| call.level == level && trace.strings.get(call.name) == name;
        trace.api_calls.iter().filter(|(_, call)| of(call)).count()
    };
    assert_eq!(named(ApiLevel::Application, "aclmdlLoadFromFileWithMem"), 1);
    assert_eq!(named(ApiLevel::Application, "aclmdlExecute"), 5);
    assert_eq!(named(ApiLevel::Model, "ModelExecute"), 5);
    assert_eq!(named(ApiLevel::Model, "ModelLoad"), 1);
    assert_eq!(named(ApiLevel::Model, "InputCopy"), 5);
    assert_eq!(named(ApiLevel::Runtime, "KernelLaunch"), 70);
    assert_eq!(trace.strings.get(trace.models.name()[0]), "sample_yolo");
    assert!(trace.tasks.iter().all(|(_, task)| task.unit == ExecutionUnit::AiCore));
    let launch = trace.tasks.iter().find_map(|(_, task)| task.launched_by).expect("a launch");
    assert_eq!(trace.strings.get(trace.api_calls.get(launch).name), "ModelLoad");
    let statistic = tables(&joined).remove("api_statistic_0.csv").expect("the table");
    assert!(statistic.contains("acl,aclmdlExecute,"), "{statistic}");
}

#[test]
fn the_result_says_that_it_was_decoded_with_the_old_layout() {
    for layout in [SampleLayout::Prof2022, SampleLayout::Job2022] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let joined = load(&sample(directory.path(), Chip::V2_1_0, SampleMode::Static, layout));
        let trace = to_trace(&joined);
        assert_eq!(trace.run.format, Some(opscope_trace::ProfileFormat::Cann2022));
        assert!(trace.run.note.as_deref().is_some_and(|note| note.contains("2022 layout")));
        let losses = joined.all_losses();
        assert!(losses.total(LossKind::OldLayout) > 290, "{losses:?}");
        let other: Vec<_> = losses.rows().iter().filter(|loss| loss.kind != LossKind::OldLayout).collect();
        assert!(other.is_empty(), "{other:?}");
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let current = sample(directory.path(), Chip::V2_1_0, SampleMode::Static, SampleLayout::Current);
    assert_eq!(to_trace(&load(&current)).run.note, None);
}

#[test]
fn a_file_with_another_layout_under_the_same_name_is_refused_and_reported() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = sample(directory.path(), Chip::V1_1_0, SampleMode::Static, SampleLayout::Prof2022);
    let file = path.join("host/data/AclModule.acl_model.0.slice_0");
    // Records of half the size, each with the magic number: every other one would look right.
    let mut bytes = Vec::new();
    for n in 0..64u64 {
        bytes.extend([0x5A, 0x5A, 0, 0]);
        bytes.extend([n.to_le_bytes(); 7].concat());
        bytes.extend([0xEE; 4]);
    }
    std::fs::write(&file, bytes).expect("a writable file");
    let joined = load(&path);
    assert_eq!(joined.all_losses().total(LossKind::RefusedFile), 1);
    assert!(!tables(&joined)["api_statistic_0.csv"].contains("acl,"), "nothing is made up");
    assert!(tables(&joined)["op_summary_0.csv"].lines().count() > 60, "the rest is read");
}

#[test]
fn a_damaged_record_is_dropped_and_the_others_are_kept() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = sample(directory.path(), Chip::V1_1_0, SampleMode::Static, SampleLayout::Prof2022);
    let file = path.join("host/data/AclModule.acl_model.0.slice_0");
    let mut bytes = std::fs::read(&file).expect("the file");
    let mut record = legacy::AclCall::read(&bytes[128..]).expect("a record");
    (record.begin, record.end) = (record.end, record.begin);
    record.write(&mut bytes[128..]);
    bytes.truncate(bytes.len() - 7);
    std::fs::write(&file, bytes).expect("a writable file");
    let losses = load(&path).all_losses();
    assert_eq!(losses.total(LossKind::InvalidRecord), 1, "{losses:?}");
    assert_eq!(losses.total(LossKind::PartialRecord), 1, "{losses:?}");
}

#[test]
fn a_job_directory_has_a_timeline_with_operators_and_calls() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = sample(directory.path(), Chip::V2_1_0, SampleMode::Static, SampleLayout::Job2022);
    let output = directory.path().join("output");
    let files = export_timeline(&load(&path), &output, "0", ExportOptions::default()).expect("space on disk");
    let timeline = files.iter().find(|path| path.ends_with("msprof_0.json")).expect("the timeline");
    let text = std::fs::read_to_string(timeline).expect("the timeline");
    let events: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let events = events.as_array().expect("an array");
    let count =
        |name: &str| events.iter().filter(|event| event["name"] == name && event["ph"] == "X").count();
    assert_eq!(count("AscendCL@aclmdlExecute"), 5);
    assert_eq!(count("Conv2D_3"), 5);
}
