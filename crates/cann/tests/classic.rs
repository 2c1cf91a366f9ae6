//! Results in the layout of 2022: other places and names, the same content.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::read::{is_folder, read_folder};
use opscope_cann::{
    Data, ExportLayout, ExportOptions, IterationRange, LaneChoice, SampleLayout, SampleMode, SampleOptions,
    SheetFormat, discover, export_summary, export_timeline, write_sample,
};
use opscope_cann_raw::Chip;
use opscope_trace::{LossKind, Task, Trace};

const CLASSIC: ExportOptions<'static> = ExportOptions {
    format: SheetFormat::Csv,
    iterations: None,
    layout: ExportLayout::Classic,
    lanes: LaneChoice::ALL,
    timeline_bytes: None,
    other_recorders: None,
};

fn sample(directory: &Path, chip: Chip, mode: SampleMode, layout: SampleLayout) -> Joined {
    let options = SampleOptions { chip, tasks: 300, mode, layout, seed: 5 };
    let path = write_sample(directory, options).expect("space on disk");
    Joined::new(Data::load(discover(&path).expect("a profile").remove(0)).expect("a readable profile"))
}

fn iterations(model: u64, first: u64, count: u64) -> Option<IterationRange> {
    Some(IterationRange { model, first, count })
}

/// Exports all and gives the files' paths relative to `root`.
fn export(joined: &Joined, root: &Path, options: ExportOptions) -> BTreeSet<String> {
    let mut files = export_summary(joined, root, "7", options).expect("space on disk");
    files.extend(export_timeline(joined, root, "7", options).expect("space on disk"));
    let relative = |path: PathBuf| {
        assert!(path.is_file(), "{}", path.display());
        path.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/")
    };
    files.into_iter().map(relative).collect()
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn files_lie_below_the_profile_and_its_device_and_carry_device_model_and_iteration() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = sample(directory.path(), Chip::V1_1_0, SampleMode::Static, SampleLayout::Prof2022);
    let files = export(&joined, &directory.path().join("out"), CLASSIC);
    let expected = [
        "device_0/summary/op_statistic_0_1_1.csv",
        "device_0/summary/op_summary_0_1_1.csv",
        "device_0/summary/step_trace_0_1_1.csv",
        "device_0/summary/task_time_0_1_1.csv",
        "device_0/timeline/step_trace_0_1_1.json",
        "device_0/timeline/task_time_0_1_1.json",
        "summary/acl_statistic_0_1_1.csv",
        "summary/api_statistic_0_1_1.csv",
        "timeline/acl_0_1_1.json",
        "timeline/msprof_0_1_1.json",
    ];
    assert_eq!(files.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn a_file_holds_what_todays_layout_has_for_the_same_iteration() {
    for chip in [Chip::V1_1_0, Chip::V2_1_0, Chip::V4_1_0] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let joined = sample(directory.path(), chip, SampleMode::Static, SampleLayout::Current);
        let (classic, current) = (directory.path().join("classic"), directory.path().join("current"));
        export(&joined, &classic, ExportOptions { iterations: iterations(1, 2, 1), ..CLASSIC });
        let options = ExportOptions { iterations: iterations(1, 2, 1), ..ExportOptions::default() };
        export(&joined, &current, options);
        for kind in ["op_summary", "op_statistic", "task_time", "step_trace"] {
            let table = read(classic.join(format!("device_0/summary/{kind}_0_1_2.csv")));
            assert!(table.lines().count() > 1, "{chip:?} {kind}");
            assert!(table == read(current.join(format!("{kind}_7.csv"))), "{chip:?} {kind}");
        }
        let calls = read(classic.join("summary/api_statistic_0_1_2.csv"));
        assert!(calls == read(current.join("api_statistic_7.csv")), "{chip:?}");
        let of_acl = read(classic.join("summary/acl_statistic_0_1_2.csv"));
        let expected: Vec<&str> = calls
            .lines()
            .enumerate()
            .filter(|(n, row)| *n == 0 || row.contains(",acl,"))
            .map(|(_, r)| r)
            .collect();
        assert!(expected.len() > 1, "{chip:?}");
        assert_eq!(of_acl.lines().collect::<Vec<_>>(), expected, "{chip:?}");
        let timeline = read(classic.join("timeline/msprof_0_1_2.json"));
        // But for the names that rows had then.
        let timeline = timeline.replace("Task Scheduler", "Ascend Hardware");
        assert_eq!(names_of_rows(&timeline).len(), names_of_rows(&read(current.join("msprof_7.json"))).len());
        let events = |text: &str| -> Vec<serde_json::Value> {
            let all: Vec<serde_json::Value> = serde_json::from_str(text).expect("JSON");
            all.into_iter().filter(|event| event["name"] != "process_name").collect()
        };
        assert!(events(&timeline) == events(&read(current.join("msprof_7.json"))), "{chip:?}");
    }
}

/// The names of the processes of a timeline.
fn names_of_rows(timeline: &str) -> Vec<String> {
    let events: serde_json::Value = serde_json::from_str(timeline).expect("JSON");
    let named = events.as_array().expect("an array").iter().filter(|event| event["name"] == "process_name");
    named.map(|event| event["args"]["name"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn rows_have_the_names_that_they_had_then() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = sample(directory.path(), Chip::V1_1_0, SampleMode::Static, SampleLayout::Prof2022);
    let root = directory.path().join("out");
    export(&joined, &root, CLASSIC);
    let names = names_of_rows(&read(root.join("timeline/msprof_0_1_1.json")));
    assert!(names.iter().any(|name| name == "Task Scheduler"), "{names:?}");
    assert!(
        names.iter().any(|name| name.starts_with("AscendCL") || name.contains(", AscendCL")),
        "{names:?}"
    );
    assert!(!names.iter().any(|name| name == "CANN" || name == "Ascend Hardware"), "{names:?}");
}

#[test]
fn several_iterations_have_a_file_each_and_only_recorded_ones_have_any() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = sample(directory.path(), Chip::V4_1_0, SampleMode::Static, SampleLayout::Current);
    let options = ExportOptions { iterations: iterations(1, 4, u64::MAX), ..CLASSIC };
    let files = export(&joined, &directory.path().join("out"), options);
    let of = |kind: &str| files.iter().filter(|name| name.contains(kind)).cloned().collect::<Vec<_>>();
    assert_eq!(
        of("op_summary"),
        ["device_0/summary/op_summary_0_1_4.csv", "device_0/summary/op_summary_0_1_5.csv"]
    );
    let options = ExportOptions { iterations: iterations(9, 1, 1), ..CLASSIC };
    assert!(export(&joined, &directory.path().join("none"), options).is_empty());
}

#[test]
fn operators_outside_of_a_model_have_files_without_its_number() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = sample(directory.path(), Chip::V4_1_0, SampleMode::Dynamic, SampleLayout::Current);
    let root = directory.path().join("out");
    let files = export(&joined, &root, ExportOptions { format: SheetFormat::Json, ..CLASSIC });
    assert!(files.contains("device_0/summary/op_summary_0_1.json"), "{files:?}");
    let table: serde_json::Value =
        serde_json::from_str(&read(root.join("device_0/summary/op_summary_0_1.json"))).expect("JSON");
    assert_eq!(table.as_array().map(Vec::len), Some(300), "nothing is left out");
}

#[test]
fn a_job_directory_has_everything_directly_below_it() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = sample(directory.path(), Chip::V2_1_0, SampleMode::Static, SampleLayout::Job2022);
    let files = export(&joined, &directory.path().join("out"), CLASSIC);
    for expected in
        ["summary/op_summary_0_1_1.csv", "summary/acl_statistic_0_1_1.csv", "timeline/acl_0_1_1.json"]
    {
        assert!(files.contains(expected), "{expected}: {files:?}");
    }
}

#[test]
fn every_timeline_is_json_and_holds_only_its_part() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = sample(directory.path(), Chip::V1_1_0, SampleMode::Static, SampleLayout::Prof2022);
    let root = directory.path().join("out");
    let files = export(&joined, &root, CLASSIC);
    let slices = |file: &str| -> Vec<String> {
        let events: serde_json::Value = serde_json::from_str(&read(root.join(file))).expect(file);
        let all = events.as_array().expect("an array").iter();
        all.filter(|event| event["ph"] == "X").map(|event| event["name"].to_string()).collect()
    };
    for file in files.iter().filter(|file| file.ends_with(".json")) {
        assert!(!slices(file).is_empty(), "{file}");
    }
    let is_call = |name: &String| name.contains('@');
    assert!(slices("timeline/acl_0_1_1.json").iter().all(is_call));
    assert!(!slices("device_0/timeline/task_time_0_1_1.json").iter().any(is_call));
    assert_eq!(slices("device_0/timeline/task_time_0_1_1.json").len(), 70);
    let whole = slices("timeline/msprof_0_1_1.json");
    assert!(whole.iter().any(is_call) && whole.contains(&"\"Conv2D_0\"".to_owned()));
}

#[test]
fn a_folder_is_read_as_the_profile_that_todays_layout_is() {
    for chip in [Chip::V1_1_0, Chip::V2_1_0, Chip::V4_1_0] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let joined = sample(directory.path(), chip, SampleMode::Static, SampleLayout::Current);
        let (classic, current) = (directory.path().join("classic"), directory.path().join("current"));
        export(&joined, &classic, ExportOptions { iterations: iterations(1, 2, 1), ..CLASSIC });
        std::fs::create_dir(&current).expect("a folder");
        let options = ExportOptions { iterations: iterations(1, 2, 1), ..ExportOptions::default() };
        export_summary(&joined, &current, "20260101000000", options).expect("space on disk");
        export_timeline(&joined, &current, "20260101000000", options).expect("space on disk");
        let [classic, current] = [classic, current].map(|folder| {
            assert!(is_folder(&folder));
            read_folder(&folder).expect("a profile")
        });
        assert!(!current.tasks.is_empty() && !current.api_calls.is_empty(), "{chip:?}");
        assert_eq!(rows(&classic), rows(&current), "{chip:?}");
    }
}

#[test]
fn of_several_inferences_all_tasks_are_read_and_their_timelines_counted() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let joined = sample(directory.path(), Chip::V4_1_0, SampleMode::Static, SampleLayout::Current);
    let root = directory.path().join("out");
    let files = export(&joined, &root, ExportOptions { iterations: iterations(1, 1, 2), ..CLASSIC });
    let tables = files.iter().filter(|name| name.contains("op_summary"));
    let written: usize = tables.map(|name| read(root.join(name)).lines().count() - 1).sum();
    let trace = read_folder(&root).expect("a profile");
    assert_eq!((trace.tasks.len(), trace.iterations.len()), (written, 2));
    let unread = trace.losses.iter().filter(|(_, loss)| loss.kind == LossKind::UnreadFile);
    assert_eq!(unread.map(|(_, loss)| loss.count).sum::<u64>(), 2);
}

/// The tasks and calls of a trace, in order.
fn rows(trace: &Trace) -> Vec<String> {
    let text = |name| trace.strings.get(name);
    let op_type = |task: &Task| task.operator.map(|id| text(trace.operators.get(id).op_type));
    let task = |task: Task| {
        format!(
            "{} {:?} {:?} {:?} {:?} {:?} {:?}",
            text(task.name),
            op_type(&task),
            task.unit,
            task.start,
            task.duration,
            task.launched_by,
            task.iteration
        )
    };
    let tasks = trace.tasks.iter().map(|(_, row)| task(row));
    let calls = trace.api_calls.iter().map(|(_, call)| {
        format!("{} {:?} {:?} {:?}", text(call.name), call.level, call.start, call.duration)
    });
    let mut rows: Vec<String> = tasks.chain(calls).collect();
    rows.sort();
    rows
}

#[test]
fn each_device_of_a_golden_profile_has_its_own_files() {
    let Some(golden) = common::golden() else { return };
    let joined = Joined::new(common::load(&golden, "910_static"));
    let output = tempfile::tempdir().expect("a temporary directory");
    let files = export(&joined, output.path(), CLASSIC);
    assert!(files.contains("device_0/summary/op_statistic_0_1_1.csv"), "{files:?}");
    assert!(files.contains("timeline/msprof_0_1_1.json"), "{files:?}");
}
