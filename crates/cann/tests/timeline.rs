//! The timelines, event by event against those of the reference.
//!
//! Deliberate differences, each undone by [`normal`] or checked on its own:
//! - arrows from calls to tasks have ids below 64 bits and begin once, at the launching call, also
//!   where the reference joins four numbers into one of more than 64 bits;
//! - durations have three decimals without the noise of double precision, and are the difference of
//!   the shown times, so that a slice never reaches into the next (off by at most 1 ns);
//! - sampled lanes have their exact times, where the reference's are rounded to 256 ns;
//! - names of lanes and values of the frequency aren't repeated.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{ExportOptions, IterationRange, export_timeline};
use serde_json::{Map, Value, json};

fn read(path: &Path) -> Vec<Map<String, Value>> {
    let text = std::fs::read_to_string(path).expect("a readable timeline");
    serde_json::from_str(&text).unwrap_or_else(|problem| panic!("{}: {problem}", path.display()))
}

fn timelines(directory: &Path) -> BTreeMap<String, PathBuf> {
    let files = std::fs::read_dir(directory).expect("a listing").filter_map(|entry| Some(entry.ok()?.path()));
    let kind = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".json")?.to_owned();
        Some((name.rsplit_once('_')?.0.to_owned(), path))
    };
    files.filter_map(kind).collect()
}

/// Thousandths of a number.
fn thousandths(value: &Value) -> i64 {
    (value.as_f64().expect("a number") * 1_000.0).round() as i64
}

/// An event without what differs deliberately; `None` for arrows from calls to tasks.
fn normal(mut event: Map<String, Value>) -> Option<(String, i64)> {
    if event.get("cat") == Some(&json!("HostToDevice")) {
        return None;
    }
    let duration = event.remove("dur").map_or(0, |duration| thousandths(&duration));
    if event["ph"] == json!("C") {
        let time: f64 = event["ts"].as_str().expect("a time").parse().expect("a number");
        event.insert("ts".to_owned(), json!(time.round()));
    }
    if event.get("args") == Some(&json!({})) {
        event.remove("args");
    }
    event.remove("bp");
    let args = event.get_mut("args").and_then(Value::as_object_mut);
    if let Some(time) = args.and_then(|args| args.get_mut("Iteration Time(us)")) {
        *time = json!(thousandths(time));
    }
    Some((Value::Object(event).to_string(), duration))
}

/// The durations of all events that are equal else.
fn normals(events: Vec<Map<String, Value>>) -> BTreeMap<String, Vec<i64>> {
    let mut all: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for event in events {
        let is_repeated = event["ph"] == json!("M") || event["name"] == json!("AI Core Freq");
        let Some((text, duration)) = normal(event) else { continue };
        let durations = all.entry(text).or_default();
        if durations.is_empty() || !is_repeated {
            durations.push(duration);
        }
    }
    all.values_mut().for_each(|durations| durations.sort_unstable());
    all
}

/// Every arrow to a task begins at a call, and no two begin with one id.
fn check_arrows(case: &str, events: &[Map<String, Value>]) {
    let arrows = |kind: &str| {
        let of_kind =
            events.iter().filter(|e| e.get("cat") == Some(&json!("HostToDevice")) && e["ph"] == json!(kind));
        of_kind.map(|event| event["id"].as_str().expect("an id").to_owned()).collect::<Vec<String>>()
    };
    let (begins, ends) = (arrows("s"), arrows("f"));
    let begin_set: BTreeSet<&String> = begins.iter().collect();
    assert_eq!(begin_set.len(), begins.len(), "{case}: ids of begins are unique");
    assert_eq!(ends.iter().collect::<BTreeSet<_>>(), begin_set, "{case}");
    let tasks = events.iter().filter(|e| e.get("args").is_some_and(|args| args.get("Task Type").is_some()));
    assert_eq!(tasks.count(), ends.len(), "{case}: every task of these cases was launched by a call");
}

#[test]
fn timelines_have_the_events_of_the_reference() {
    let Some(golden) = common::golden() else { return };
    let mut problems = Vec::new();
    for (case, is_plain) in
        [("910b_static", false), ("910b_dynamic_flip", false), ("910_static", true), ("310_static", true)]
    {
        let joined = Joined::new(common::load(&golden, case));
        let directory = tempfile::tempdir().expect("a temporary directory");
        export_timeline(&joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
        let ours = timelines(directory.path());
        let reference = timelines(&golden.join(case).join("oracle_cpp/mindstudio_profiler_output"));
        assert_eq!(ours.keys().collect::<Vec<_>>(), reference.keys().collect::<Vec<_>>(), "{case}");
        check_arrows(case, &read(&ours["msprof"]));
        for (kind, path) in &reference {
            let (ours, reference) = (normals(read(&ours[kind])), normals(read(path)));
            let tolerance = i64::from(is_plain);
            for (event, durations) in &reference {
                let found = ours.get(event).map_or(&[][..], Vec::as_slice);
                let is_equal = found.len() == durations.len()
                    && found.iter().zip(durations).all(|(a, b)| (a - b).abs() <= tolerance);
                // Of a chosen iteration the reference leaves arrows between slices that it drops.
                let is_dangling = case == "310_static" && kind == "msprof" && event.contains("MsTx_");
                if !is_equal && !is_dangling {
                    problems.push(format!("{case} {kind}: {found:?} instead of {durations:?} of {event}"));
                }
            }
            // Without its accelerated library the reference doesn't order the lanes of the overlap.
            let is_extra = |event: &&String| !(is_plain && event.contains("thread_sort_index"));
            for event in ours.keys().filter(|event| !reference.contains_key(*event)).filter(is_extra) {
                problems.push(format!("{case} {kind}: the reference has no {event}"));
            }
        }
    }
    let shown: Vec<&String> = problems.iter().take(40).collect();
    assert!(problems.is_empty(), "{} differences, the first:\n{shown:#?}", problems.len());
}

/// Slices and samples without their durations, and how many there are of each.
fn counted(events: Vec<Map<String, Value>>) -> BTreeMap<String, usize> {
    let shown = events.into_iter().filter(|event| event["ph"] == json!("X") || event["ph"] == json!("C"));
    let mut all = BTreeMap::new();
    for (text, _) in shown.filter_map(normal) {
        *all.entry(text).or_default() += 1;
    }
    all
}

#[test]
fn a_chosen_iteration_has_the_slices_and_samples_of_the_reference() {
    let Some(golden) = common::golden() else { return };
    let case = "310_static";
    let joined = Joined::new(common::load(&golden, case));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let iterations = Some(IterationRange { model: 1, first: 2, count: 1 });
    let options = ExportOptions { iterations, ..ExportOptions::default() };
    export_timeline(&joined, directory.path(), "0", options).expect("space on disk");
    let reference = timelines(&golden.join(case).join("oracle_cpp_model1_iter2"));
    let ours = counted(read(&timelines(directory.path())["msprof"]));
    let reference = counted(read(&reference["msprof"]));
    assert!(reference.len() > 100, "{reference:#?}");
    for (event, count) in &ours {
        assert_eq!(reference.get(event), Some(count), "{event}");
    }
    assert_eq!(ours.len(), reference.len());
}
