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
    assert!(failed.stdout.contains("not each side knows inferences"), "{}", failed.stdout);
    let alone = place.done(&["check", "--candidate", "op_summary_a.csv", "--target-ms", "2"]).stdout;
    assert!(alone.contains("in all that was recorded") && !alone.contains("each inference"), "{alone}");
    let passed = place.done(&[&arguments[..], &["--max-regression", "10%"]].concat());
    assert!(passed.stdout.contains("| no more than 10 % slower | passed | +8.0 % |"), "{}", passed.stdout);
}

#[test]
fn profiles_of_different_models_fail_unless_that_is_allowed() {
    let place = Place::new();
    let header = "Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Output Shapes";
    let layers = |name: &str, channels: u32, micros: f64| {
        let row = |number: u32| {
            let start = 1_760_000_000_000_000_u64 + u64::from(number) * 1_000;
            format!("{name}{number},Conv2D,AI_CORE,{start}.0,{micros:.3},\"1,{channels},{number}0,40\"\n")
        };
        format!("{header}\n{}", (1..4).map(row).collect::<String>())
    };
    place.write("op_summary_a.csv", layers("backbone", 24, 100.0));
    place.write("op_summary_b.csv", layers("encoder", 17, 50.0));
    let arguments = ["check", "--baseline", "op_summary_a.csv", "--candidate", "op_summary_b.csv"];
    let failed = place.run(&arguments);
    assert_eq!(failed.status, Some(1), "{}\n{}", failed.stdout, failed.stderr);
    assert!(failed.stdout.contains("both are of one model | failed"), "{}", failed.stdout);
    let allowed = place.done(&[&arguments[..], &["--allow-different-models"]].concat());
    assert!(allowed.stdout.contains("both are of one model | passed"), "{}", allowed.stdout);
    let compared = place.done(&["compare", "op_summary_a.csv", "op_summary_b.csv", "--json"]).json();
    assert_eq!(compared["kinship"], "different models", "{compared:#}");
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

#[test]
fn a_side_that_has_lost_records_fails_unless_that_is_allowed_and_every_report_names_it() {
    let place = Place::new();
    let event = |name: &str, start: u32| {
        format!(r#"{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{start},"dur":10}}"#)
    };
    let events: Vec<String> = (0..10).map(|index| event("gemm", index * 20)).collect();
    let whole = format!("{{\"traceEvents\":[{}]}}", events.join(","));
    place.write("whole.json", &whole);
    place.write("cut.json", &whole[..whole.len() * 4 / 10]);
    let arguments = ["check", "--baseline", "whole.json", "--candidate", "cut.json", "--junit", "check.xml"];
    let failed = place.run(&[&arguments[..], &["--summary", "check.md"]].concat());
    assert_eq!(failed.status, Some(1), "{}", failed.stderr);
    // The times alone would pass: what is missing takes no time.
    assert!(failed.stdout.contains("| no more than 5 % slower | passed | -"), "{}", failed.stdout);
    assert!(failed.stdout.contains("| losses of the candidate | failed | 1 × cut off"), "{}", failed.stdout);
    assert_eq!(std::fs::read_to_string(place.path("check.md")).expect("the summary"), failed.stdout);
    let report = std::fs::read_to_string(place.path("check.xml")).expect("the report");
    assert!(report.contains("name=\"losses of the candidate\"><failure message=\"1 × cut off"), "{report}");
    let baseline = place.run(&["check", "--baseline", "cut.json", "--candidate", "whole.json", "--json"]);
    assert_eq!(baseline.status, Some(1), "{}", baseline.stdout);
    let json = baseline.json();
    assert_eq!(json["conditions"][0]["condition"], "losses of the baseline", "{json:#}");
    assert_eq!(
        (&json["losses"][0]["profile"], &json["losses"][0]["severity"]),
        (&"cut.json".into(), &"lost".into())
    );
    let alone = place.run(&["check", "--candidate", "cut.json", "--target-ms", "15"]);
    assert_eq!(alone.status, Some(1), "{}", alone.stdout);
    let allowed = place.done(&[&arguments[..], &["--allow-losses"]].concat());
    assert!(
        allowed.stdout.contains("| losses of the candidate | passed | 1 × cut off"),
        "{}",
        allowed.stdout
    );
    assert!(allowed.stderr.contains("cut.json: lost: 1 × cut off"), "{}", allowed.stderr);
}

#[test]
fn a_page_of_the_candidate_is_left_whatever_the_verdict() {
    let place = Place::new();
    place.write("op_summary_a.csv", op_summary(1_000.0));
    place.write("op_summary_b.csv", op_summary(1_080.0));
    let arguments = ["check", "--baseline", "op_summary_a.csv", "--candidate", "op_summary_b.csv", "--json"];
    for (limit, status, page) in [("5%", 1, "failed.html"), ("10%", 0, "passed.html")] {
        let answer = place.run(&[&arguments[..], &["--max-regression", limit, "--html", page]].concat());
        assert_eq!(answer.status, Some(status), "{}", answer.stderr);
        let html = std::fs::read_to_string(place.path(page)).expect("the page");
        let (answers, _) = common::report(&html);
        assert_eq!(answers["overview"]["operator_time_ns"], answer.json()["after_ns"]);
        assert_eq!(answers["about"]["path"], "op_summary_b.csv");
    }
    let over = [&arguments[..], &["--html", "op_summary_a.csv"]].concat();
    place.fails(2, &["would be overwritten"], &over);
    let model = place.sample("mask-ssd");
    let models = ["check", "--baseline", &model, "--candidate", &model, "--html", "page.html"];
    place.fails(2, &["--html", "opscope run MODEL --db FILE"], &models);
    let with_model =
        [&arguments[..], &["--max-regression", "10%", "--html", "page.html", "--model", &model]].concat();
    place.done(&with_model);
    let html = std::fs::read_to_string(place.path("page.html")).expect("the page");
    let (answers, _) = common::report(&html);
    assert_eq!(answers["graph"]["from"], "model");
    assert!(answers["about"]["command"].as_str().is_some_and(|command| command.contains(" --model ")));
}

#[test]
fn a_mere_remark_fails_nothing() {
    let place = Place::new();
    let event = r#"{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":1,"dur":10}"#;
    // A metadata event about nothing that is known is left out.
    place.write(
        "remark.json",
        format!(r#"[{event},{{"ph":"M","name":"unknown","pid":0,"tid":7,"args":{{}}}}]"#),
    );
    let arguments = ["check", "--baseline", "remark.json", "--candidate", "remark.json"];
    let json = place.done(&[&arguments[..], &["--json"]].concat()).json();
    assert_eq!(json["losses"][0]["severity"], "remark", "{json:#}");
    let text = place.done(&arguments);
    assert!(!text.stdout.contains("losses of") && !text.stderr.contains("remark"), "{}", text.stdout);
}
