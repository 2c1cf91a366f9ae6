//! Nothing is lost or made between a profile of another tool, the database and the timeline that are made
//! of it, and a few lines of Python that count by themselves. Rows that are left out are counted losses.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Place, number};
use opscope_testing::companions;
use serde_json::Value;

/// Numbers and summed durations of a profile's tables.
const SUMS: &str = "SELECT (SELECT count(*) FROM tasks) AS tasks, (SELECT sum(duration_ns) FROM tasks) AS task_time, \
     (SELECT count(*) FROM api_calls) AS calls, (SELECT sum(duration_ns) FROM api_calls) AS call_time, \
     (SELECT count(*) FROM ranges) AS ranges, (SELECT sum(duration_ns) FROM ranges) AS range_time, \
     (SELECT count(*) FROM iterations) AS iterations, \
     (SELECT sum(duration_ns) FROM iterations) AS iteration_time";

fn sums(place: &Place, profile: &str) -> Value {
    place.done(&["sql", profile, SUMS, "--json"]).json()
}

/// The profile's sums, which its database and its timeline must have as well.
fn conserved(place: &Place, profile: &str) -> Value {
    place.done(&["import", profile, "--db", "made.db", "--trace", "made.json", "--quiet"]);
    let own = sums(place, profile);
    for made in ["made.db", "made.json"] {
        assert_eq!(sums(place, made)["rows"], own["rows"], "{profile}: {made}");
        std::fs::remove_file(place.path(made)).expect("a file");
    }
    for (of_what, is_all) in [(&[][..], true), (&["--host"][..], true), (&["--unit", "control"][..], false)] {
        let ask = [&["analyze", profile, "--iteration", "all", "--json"][..], of_what].concat();
        let answer = place.done(&ask).json();
        let rows = answer["rows"].as_array().expect("rows");
        let shares: Vec<f64> = rows.iter().map(|row| number(row, "/share")).collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)), "{profile} {of_what:?}: {shares:?}");
        let sum: f64 = shares.iter().sum();
        let is_conserved = if is_all { (sum - 1.0).abs() < 1e-9 } else { sum < 1.0 + 1e-9 };
        assert!(rows.is_empty() || is_conserved, "{profile} {of_what:?}: shares sum to {sum}");
    }
    own
}

/// The counts of a program that shares no code with opscope.
fn oracle(files: &[PathBuf]) -> Vec<Value> {
    let python = std::env::var_os("OPSCOPE_PYTHON").unwrap_or_else(|| "python3".into());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/sums_of_files.py");
    let output = Command::new(&python).arg(script).args(files).output();
    let output = output.unwrap_or_else(|problem| {
        panic!("{}: {problem}; set OPSCOPE_PYTHON to a Python 3", python.to_string_lossy())
    });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Compares a file's sums with those of the oracle.
fn agrees(own: &Value, expected: &Value, file: &Path) {
    let losses = own["losses"].as_array().expect("losses");
    let dropped =
        losses.iter().filter(|loss| loss["reason"].as_str().unwrap_or("").starts_with("dropped: a task"));
    let dropped: f64 = dropped.map(|loss| number(loss, "/count")).sum();
    let found = number(own, "/rows/0/tasks");
    assert_eq!(found + dropped, number(expected, "/executions"), "{}", file.display());
    if dropped == 0.0 {
        let apart = number(own, "/rows/0/task_time") - number(expected, "/nanoseconds");
        assert!(apart.abs() <= found, "{}: {apart} ns", file.display());
    }
}

#[test]
fn a_run_of_our_own_is_conserved_in_every_file_that_is_made_of_it() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let files = ["--db", "run.db", "--trace", "run.json", "--profile", "profile.json"];
    place.done(
        &[&["run", &model, "--engine", "tract", "-n", "4", "--warmup", "1", "--quiet"], &files[..]].concat(),
    );
    assert_eq!(conserved(&place, "run.db")["rows"], conserved(&place, "run.json")["rows"]);
    let profile = place.path("profile.json");
    agrees(&conserved(&place, "profile.json"), &oracle(std::slice::from_ref(&profile))[0], &profile);
}

#[test]
fn profiles_of_other_tools_are_conserved() {
    let (Some(golden), Some(data)) =
        (companions::shared("golden"), companions::shared("data/ascend-pytorch"))
    else {
        return;
    };
    let place = Place::new();
    let mut files = Vec::new();
    let folders = ["onnxruntime", "megengine"].map(|name| golden.join(name));
    for folder in folders {
        let entries = std::fs::read_dir(&folder).expect("the folder").flatten().map(|entry| entry.path());
        let is_profile = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        files.extend(entries.filter(is_profile));
    }
    let runs = std::fs::read_dir(&data).expect("the folder").flatten();
    let runs: Vec<PathBuf> = runs.map(|entry| entry.path()).collect();
    let kernels = |run: &PathBuf| run.join("ASCEND_PROFILER_OUTPUT/kernel_details.csv");
    files.extend(runs.iter().map(kernels).filter(|path| path.exists()));
    // Profiles of the host alone have no executions to count.
    files.retain(|path| !path.ends_with("edge_no_device.json"));
    assert!(files.len() >= 15 && runs.len() >= 6, "{files:?} {runs:?}");
    for (file, expected) in files.iter().zip(oracle(&files)) {
        agrees(&conserved(&place, &file.to_string_lossy()), &expected, file);
    }
    for run in runs {
        let own = conserved(&place, &run.to_string_lossy());
        assert!(number(&own, "/rows/0/tasks") > 0.0, "{}", run.display());
    }
}

/// A timeline of PyTorch's profiler whose host launches three steps of four kernels each, 20 us a step, of which the
/// device takes 100 us each; the second of two streams works across the steps.
fn ahead_of_its_device() -> String {
    let mut events = Vec::new();
    let mut add = |category: &str, name: &str, thread: u32, (start, duration): (u32, u32), more: &str| {
        events.push(format!(
            r#"{{"ph": "X", "cat": "{category}", "name": "{name}", "pid": 1, "tid": {thread}, "ts": {start},
                "dur": {duration}, "args": {{{more}}}}}"#
        ));
    };
    for step in 0..3 {
        let host = 1_000 + step * 20;
        add("user_annotation", &format!("ProfilerStep#{}", 101 + step), 1, (host, 20), "");
        for kernel in 0..4 {
            let (launch, link) = (host + 1 + kernel * 4, 1 + step * 4 + kernel);
            add("cuda_runtime", "cudaLaunchKernel", 1, (launch, 2), &format!(r#""correlation": {link}"#));
            // Of the four, the last is a copy beside the kernels of the next step.
            let start = 1_010 + step * 100 + kernel * 30;
            let (stream, duration) = if kernel == 3 { (8, 45) } else { (7, 28) };
            let more = format!(r#""correlation": {link}, "device": 0, "stream": {stream}"#);
            add("kernel", "gemm", stream, (start, duration), &more);
        }
    }
    format!(r#"{{"schemaVersion": 1, "traceEvents": [{}]}}"#, events.join(","))
}

#[test]
fn busy_and_idle_time_are_the_wall_time_however_iterations_are_shown() {
    let place = Place::new();
    std::fs::write(place.path("ahead.json"), ahead_of_its_device()).expect("a file");
    let overview = |further: &[&str]| {
        let answer = place.done(&[&["analyze", "ahead.json", "--json"][..], further].concat()).json();
        let [wall, busy, idle] =
            ["wall", "busy", "idle"].map(|it| number(&answer, &format!("/overview/{it}_ns")));
        assert_eq!(wall, busy + idle, "{further:?}");
        assert!(busy > 0.0 && idle >= 0.0, "{further:?}: {answer}");
        (wall, busy, answer)
    };
    // From the first kernel to the last; a copy ends 35 us into the next step, and 2 us lie behind a kernel.
    let (wall, busy, answer) = overview(&[]);
    assert_eq!((wall, busy), (111_666.0, 107_000.0), "{answer}");
    assert_eq!(number(&answer, "/overview/host_wall_ns"), 20_000.0);
    let (whole, busy_of_whole, answer) = overview(&["--iteration", "all"]);
    assert_eq!((whole, busy_of_whole), (335_000.0, 321_000.0), "{answer}");
    let alone = ["101", "102", "103"].map(|number| overview(&["--iteration", number]));
    assert_eq!(alone.iter().map(|(wall, ..)| wall).sum::<f64>(), whole);
    assert_eq!(alone.iter().map(|(_, busy, _)| busy).sum::<f64>(), busy_of_whole);
    let rows = place.done(&["analyze", "ahead.json", "--json", "--group-by", "iteration"]).json();
    let rows = rows["rows"].as_array().expect("rows");
    assert_eq!(rows.iter().map(|row| number(row, "/wall_ns")).sum::<f64>(), whole);
    let text = place.done(&["analyze", "ahead.json"]).stdout;
    assert!(text.contains("as the device ran it; 20 µs on the host"), "{text}");
    let compared = place.done(&["compare", "ahead.json", "ahead.json"]).stdout;
    assert!(
        compared.contains("0.112 ms → 0.112 ms") && compared.contains("A and of B last until"),
        "{compared}"
    );
}
