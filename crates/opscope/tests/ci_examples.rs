//! The steps that `docs/ci/` shows, run as a pipeline would run them.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::{Answer, Place};
use opscope_testing::programs::output_in_time;

/// The shell script of the step `name` in the workflow for GitHub.
fn script_of_step(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ci/github.yml");
    let workflow = fs::read_to_string(path).expect("the workflow is in the repository");
    let mut lines = workflow.lines().skip_while(|line| line.trim() != format!("- name: {name}"));
    let head = lines.find(|line| line.trim() == "run: |").expect("the step runs a script");
    let indent = head.len() - head.trim_start().len();
    lines
        .take_while(|line| line.trim().is_empty() || line.len() - line.trim_start().len() > indent)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// Inferences of these milliseconds, as Ascend's tools export them.
fn step_trace(ms: &[f64]) -> String {
    let mut text = String::from(
        "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),Model ID\n",
    );
    let mut end = 1_760_000_000_000_000.0;
    for (number, ms) in ms.iter().enumerate() {
        end += ms * 1_000.0;
        text.push_str(&format!("0,{},N/A,N/A,{end:.3}\t,{:.3},1\n", number + 1, ms * 1_000.0));
    }
    text
}

/// Runs the step that measures, in a workspace with these states before and after the change.
fn measure(before: &[f64], after: &[f64]) -> (Place, Answer) {
    let place = Place::new();
    for (state, times) in [("main", before), ("change", after)] {
        fs::create_dir_all(place.path(state)).expect("a folder");
        place.write(&format!("{state}/step_trace_1.csv"), step_trace(times));
    }
    fs::create_dir_all(place.path("home/.local/opscope/bin")).expect("a folder");
    symlink(env!("CARGO_BIN_EXE_opscope"), place.path("home/.local/opscope/bin/opscope")).expect("a link");
    let mut shell = Command::new("bash");
    // As GitHub's runners start the scripts of steps.
    shell.args(["-e", "-c", &script_of_step("Measure both, one in turn with the other")]);
    shell.current_dir(place.path(""));
    shell.env("HOME", place.path("home"));
    shell.env("MODEL", "step_trace_1.csv");
    shell.env("GITHUB_STEP_SUMMARY", place.path("summary.md"));
    let answer = Answer::from(output_in_time(&mut shell).expect("the step ends"));
    (place, answer)
}

#[test]
fn the_workflow_passes_a_change_that_is_no_slower() {
    let times = [10.0, 10.01, 9.99, 10.0, 10.02, 9.98];
    let (place, answer) = measure(&times, &times.map(|ms| ms * 0.9));
    assert_eq!(answer.status, Some(0), "{}\n{}", answer.stdout, answer.stderr);
    assert!(!answer.stdout.contains("::warning::"), "{}", answer.stdout);
    let summary = fs::read_to_string(place.path("summary.md")).expect("the summary of the run's page");
    assert!(summary.contains("opscope check: passed"), "{summary}");
}

#[test]
fn the_workflow_fails_a_slower_change_and_leaves_report_and_page() {
    let times = [10.0, 10.01, 9.99, 10.0, 10.02, 9.98];
    let (place, answer) = measure(&times, &times.map(|ms| ms * 1.2));
    assert_eq!(answer.status, Some(1), "{}\n{}", answer.stdout, answer.stderr);
    let report = fs::read_to_string(place.path("speed.xml")).expect("the test report");
    assert!(report.contains("<failure"), "{report}");
    let page = fs::read_to_string(place.path("speed.html")).expect("the page");
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"), "{}", &page[..80]);
}

#[test]
fn the_workflow_warns_where_noise_hides_the_difference() {
    let (_place, answer) = measure(&[10.0, 12.0, 9.0, 11.0, 8.5, 10.5], &[10.5, 12.5, 9.5, 11.5, 9.0, 11.0]);
    assert_eq!(answer.status, Some(0), "{}\n{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains("::warning::"), "{}", answer.stdout);
}
