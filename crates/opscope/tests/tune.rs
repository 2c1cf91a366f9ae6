//! `opscope tune` as its users meet it.

mod common;

use common::{Place, number};
use opscope_testing::companions;
use serde_json::Value;

/// A development build measures for as short as it can: what is looked at here is the loop, not the gain.
const QUICK: [&str; 4] = ["--duration", "50ms", "--threads", "1"];

fn tune(place: &Place, model: &str, further: &[&str]) -> Value {
    let arguments: Vec<&str> =
        ["tune", model, "--json"].iter().chain(&QUICK).chain(further).copied().collect();
    place.done(&arguments).json()
}

#[test]
fn the_page_of_tune_compares_both_models() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    // Whether a rewrite pays here depends on the machine; without one that does, the page is of the model alone.
    let answer = tune(&place, &model, &["--only", "G01,G15", "--html", "page.html"]);
    let (page, _) = common::report(&std::fs::read_to_string(place.path("page.html")).expect("the page"));
    assert_eq!(page["about"]["path"], Value::Null, "kept in no file");
    match place.path("mask-ssd.tuned.onnx").exists() {
        true => {
            assert_eq!(page["name"], "mask-ssd.tuned.onnx");
            assert_eq!(page["against"]["name"], "mask-ssd.onnx");
            assert!(!page["compare"]["groups"].as_array().expect("groups").is_empty(), "{answer}");
        }
        false => assert_eq!((&page["name"], &page["compare"]), (&Value::from("mask-ssd.onnx"), &Value::Null)),
    }
    place.fails(2, &["would be overwritten"], &["tune", &model, "--html", &model]);
}

#[test]
fn every_step_is_checked_measured_and_logged() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let answer = tune(&place, &model, &["--only", "G01,G15", "--report", "log"]);
    let steps = answer["steps"].as_array().expect("steps");
    let fold = steps.iter().find(|step| step["rewrites"][0] == "G01").expect("the fold was tried");
    assert!(number(fold, "/agreement/max_relative_error") < 1e-4);
    assert!(number(fold, "/pairs") >= 12.0 && number(fold, "/speedup/median") > 0.0);
    assert!(number(fold, "/speedup/low") <= number(fold, "/speedup/median"));
    // Whether it was kept depends on the machine; the log and the file must fit together.
    let kept = steps.iter().any(|step| step["kept"] == true);
    assert_eq!(kept, place.path("mask-ssd.tuned.onnx").exists());
    assert_eq!(kept, answer["result"].is_object() && answer["output"].is_string());
    let log: Value =
        serde_json::from_slice(&std::fs::read(place.path("log/tune.json")).expect("a log")).expect("JSON");
    assert_eq!(log, answer);
    let text = std::fs::read_to_string(place.path("log/tune.md")).expect("a log");
    assert!(text.contains("| G01 conv-bn-fold | rounding |") && text.contains("The way back"), "{text}");
}

#[test]
fn mish_becomes_leaky_relu_where_that_is_allowed_and_wins() {
    if companions::onnx_runtime().is_none() {
        return;
    }
    let place = Place::new();
    let model = place.sample("yolo-mish");
    let leaky = place.sample("yolo-leaky");
    let further = ["--engine", "ort", "--only", "G05b", "--allow-lossy", "-o", "fast.onnx"];
    let answer = tune(&place, &model, &further);
    assert_eq!(answer["kept"], serde_json::json!(["G05b"]));
    let (low, error) =
        (number(&answer, "/result/speedup/low"), number(&answer, "/steps/0/agreement/max_relative_error"));
    // Three times as fast on a quiet machine.
    assert!(low > 1.3, "only {low} times as fast");
    assert!(error > 1e-3, "another function has an error: {error}");
    assert_eq!(answer["other_engine"]["agrees"], true);

    for (file, folder) in [("fast.onnx", "a"), (leaky.as_str(), "b")] {
        place.done(&["run", file, "--engine", "ort", "-n", "1", "--outputs", folder, "--quiet"]);
    }
    for output in ["fine", "middle", "coarse"] {
        let read = |folder: &str| {
            std::fs::read(place.path(&format!("{folder}/predictions_{output}.npy"))).expect("an output")
        };
        assert_eq!(read("a"), read("b"), "{output}");
    }
}

#[test]
fn a_lossy_rewrite_beyond_the_limit_is_undone_without_being_a_fault() {
    let place = Place::new();
    let model = place.sample("yolo-mish");
    let answer = tune(&place, &model, &["--only", "G05b", "--allow-lossy", "--max-error", "0.000001"]);
    assert_eq!(answer["steps"][0]["fate"], "check failed");
    assert_eq!((&answer["output"], &answer["check_failed"]), (&Value::Null, &Value::Bool(false)));
    assert_eq!(place.files(), ["yolo-mish.onnx"]);
}

#[test]
fn an_exact_rewrite_beyond_the_tolerance_is_undone_and_the_status_says_so() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    // No engine here agrees with itself to the last bit once a fold has rounded.
    let mut arguments = vec!["tune", &model, "--only", "G01", "--tolerance", "1e-12", "--json"];
    arguments.extend(QUICK);
    let answer = place.run(&arguments);
    if answer.stderr.contains("disagree about the model") {
        // With two engines, such a tolerance already parts them, which is refused before.
        assert_eq!(answer.status, Some(1));
        assert!(answer.stderr.contains("they part at the node"), "{}", answer.stderr);
        return;
    }
    assert_eq!(answer.status, Some(1), "{}", answer.stderr);
    let answer = answer.json();
    assert_eq!(
        (&answer["check_failed"], &answer["steps"][0]["fate"]),
        (&Value::Bool(true), &Value::from("check failed"))
    );
    assert!(!place.path("mask-ssd.tuned.onnx").exists());
}

#[test]
fn wrong_wishes_are_refused_before_anything_is_measured() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.fails(2, &["overwritten"], &["tune", &model, "-o", &model]);
    place.fails(2, &["no rewrite"], &["tune", &model, "--only", "nothing"]);
    place.fails(2, &["no input named"], &["tune", &model, "--input", "picture=1x3x8x8"]);
    place.fails(1, &["lowered"], &["tune", &model, "--opset", "7"]);
    place.fails(2, &["is no error"], &["tune", &model, "--tolerance=-1"]);
    place.fails(1, &["cannot open"], &["tune", "missing.onnx"]);
}
