//! `opscope check`: exit status, summary and report.

mod common;

use common::Place;

fn op_summary(micros: f64) -> String {
    let header = "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)";
    format!("{header}\n0,1,1,2,conv1,Conv2D,AI_CORE,1760000000000000.000\t,{micros:.3}\n")
}

/// Iterations of these milliseconds, as Ascend's tools export them.
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

#[test]
fn a_regression_beyond_the_limit_fails_and_one_within_it_passes() {
    let place = Place::new();
    place.write("op_summary_a.csv", op_summary(1_000.0));
    place.write("op_summary_b.csv", op_summary(1_080.0));
    let arguments = ["check", "--baseline", "op_summary_a.csv", "--candidate", "op_summary_b.csv"];
    let failed = place.run(&arguments);
    assert_eq!(failed.status, Some(1), "{}", failed.stderr);
    assert!(
        failed.stdout.contains("opscope check: failed") && failed.stdout.contains("+8.0 %"),
        "{}",
        failed.stdout
    );
    let passed = place.done(&[&arguments[..], &["--max-regression", "10%"]].concat());
    assert!(passed.stdout.contains("| no more than 10 % slower | passed | +8.0 % |"), "{}", passed.stdout);
}

#[test]
fn scatter_around_the_limit_is_undecided() {
    let place = Place::new();
    place.write("step_trace_a.csv", step_trace(&[10.0, 12.0, 9.0, 11.0, 8.5, 10.5]));
    place.write("step_trace_b.csv", step_trace(&[10.5, 12.5, 9.5, 11.5, 9.0, 11.0]));
    let answer = place.run(&[
        "check",
        "--baseline",
        "step_trace_a.csv",
        "--candidate",
        "step_trace_b.csv",
        "--junit",
        "check.xml",
        "--summary",
        "check.md",
    ]);
    assert_eq!(answer.status, Some(3), "{}\n{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains("no difference beyond noise"), "{}", answer.stdout);
    let report = std::fs::read_to_string(place.path("check.xml")).unwrap();
    assert!(report.contains("skipped=\"1\"") && report.contains("undecided within the noise"), "{report}");
    assert_eq!(std::fs::read_to_string(place.path("check.md")).unwrap(), answer.stdout);
}

#[test]
fn a_target_is_judged_by_itself() {
    let place = Place::new();
    place.write("step_trace_b.csv", step_trace(&[14.0, 14.1, 14.2, 13.9]));
    place.done(&["check", "--candidate", "step_trace_b.csv", "--target-ms", "15"]);
    let failed = place.run(&["check", "--candidate", "step_trace_b.csv", "--target-ms", "10", "--json"]);
    assert_eq!((failed.status, failed.json()["outcome"].as_str()), (Some(1), Some("failed")));
}

#[test]
fn two_models_are_measured_alternately() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    std::fs::copy(place.path(&model), place.path("copy.onnx")).unwrap();
    let answer = place.run(&[
        "check",
        "--baseline",
        &model,
        "--candidate",
        "copy.onnx",
        "--duration",
        "300ms",
        "--threads",
        "1",
        "--max-regression",
        "80%",
    ]);
    assert!(matches!(answer.status, Some(0 | 3)), "{}\n{}", answer.stdout, answer.stderr);
    assert!(answer.stdout.contains("measured alternately"), "{}", answer.stdout);
}

#[test]
fn mistakes_are_usage_errors() {
    let place = Place::new();
    place.write("op_summary_a.csv", op_summary(1_000.0));
    let model = place.sample("mask-ssd");
    let mixed = ["check", "--baseline", &model, "--candidate", "op_summary_a.csv"];
    place.fails(2, &["two models or two profiles"], &mixed);
    place.fails(2, &["required"], &["check", "--candidate", "op_summary_a.csv"]);
    place.fails(
        2,
        &["percentage"],
        &["check", "--candidate", "op_summary_a.csv", "--target-ms", "5", "--max-regression", "lots"],
    );
    place.fails(2, &["--baseline"], &["check", "--candidate", &model, "--target-ms", "5"]);
}
