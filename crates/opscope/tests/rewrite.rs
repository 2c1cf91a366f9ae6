//! `opscope rewrite` as its users meet it.

mod common;

use common::{Place, number};
use opscope_testing::companions;
use serde_json::Value;

fn ids(answer: &Value) -> Vec<&str> {
    let applications = answer["applications"].as_array().expect("applications");
    let mut ids: Vec<&str> = applications.iter().map(|done| done["id"].as_str().expect("an id")).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[test]
fn normalisations_go_into_convolutions_and_the_outputs_stay() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let arguments =
        ["rewrite", &model, "-o", "out.onnx", "--only", "G01", "--check", "--json", "--threads", "1"];
    let answer = place.done(&arguments).json();
    assert_eq!(ids(&answer), ["G01"]);
    let (before, after) = (number(&answer, "/nodes_before"), number(&answer, "/nodes_after"));
    let folded = answer["applications"].as_array().expect("applications").len();
    assert!(folded > 10 && before - after == folded as f64, "{before} - {after} != {folded}");
    assert!(number(&answer, "/agreement/max_relative_error") < 1e-4);
    assert_eq!(answer["check_failed"], false);
    // The result is a model like any other.
    let again = place.done(&["rewrite", "out.onnx", "--dry-run", "--only", "G01", "--json"]).json();
    assert_eq!(again["applications"].as_array().map(Vec::len), Some(0));
    assert_eq!(number(&again, "/nodes_before"), after);
}

#[test]
fn a_dry_run_tells_the_nodes_and_writes_nothing() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    let answer = place.done(&["rewrite", &model, "--dry-run"]);
    assert!(answer.stdout.contains("G01 conv-bn-fold"), "{}", answer.stdout);
    assert!(answer.stdout.contains("(BatchNormalization) -> "), "{}", answer.stdout);
    assert_eq!(place.files(), ["mask-ssd.onnx"]);
}

#[test]
fn lossy_rewrites_must_be_allowed() {
    let place = Place::new();
    let model = place.sample("yolo-mish");
    place.fails(2, &["--allow-lossy"], &["rewrite", &model, "--dry-run", "--only", "G05b"]);
    let plain = place.done(&["rewrite", &model, "--dry-run", "--json"]).json();
    assert!(!ids(&plain).contains(&"G05b"));
    let answer =
        place.done(&["rewrite", &model, "--dry-run", "--only", "G05b", "--allow-lossy", "--json"]).json();
    assert_eq!(ids(&answer), ["G05b"]);
}

#[test]
fn a_newer_version_of_the_operators_lets_mish_be_one_of_them() {
    let place = Place::new();
    let model = place.sample("yolo-mish");
    let answer = place
        .done(&["rewrite", &model, "-o", "out.onnx", "--only", "G05a", "--opset", "18", "--json"])
        .json();
    assert_eq!(ids(&answer), ["G05a"]);
    assert_eq!(answer["opset"]["after"], 18);
    let Some(python) = companions::python() else { return };
    let script = "import onnx; m = onnx.load('out.onnx'); onnx.checker.check_model(m, full_check=True); \
                  print(m.opset_import[0].version, sum(n.op_type == 'Mish' for n in m.graph.node))";
    let run = std::process::Command::new(python)
        .args(["-c", script])
        .current_dir(place.path("."))
        .output()
        .expect("Python starts");
    let printed = String::from_utf8_lossy(&run.stdout).into_owned();
    let words: Vec<&str> = printed.split_whitespace().collect();
    assert!(
        matches!(words[..], ["18", count] if count != "0"),
        "{printed}{}",
        String::from_utf8_lossy(&run.stderr)
    );
}

#[test]
fn wrong_wishes_are_refused_with_the_way_out() {
    let place = Place::new();
    let model = place.sample("mask-ssd");
    place.fails(2, &["no rewrite `G99`", "G01"], &["rewrite", &model, "--dry-run", "--only", "G99"]);
    place.fails(2, &["overwritten"], &["rewrite", &model, "-o", &model]);
    place.fails(2, &["--output"], &["rewrite", &model]);
    place.fails(1, &["lowered", "--opset"], &["rewrite", &model, "--dry-run", "--opset", "9"]);
    let newer = ["rewrite", &model, "--dry-run", "--opset", "99"];
    place.fails(1, &["version 99", "at most", "--opset"], &newer);
    place.fails(1, &["cannot open"], &["rewrite", "missing.onnx", "--dry-run"]);
    let text = place.write("text.onnx", "hello");
    place.fails(1, &["not an ONNX model"], &["rewrite", text.to_str().expect("a path"), "--dry-run"]);
}

#[test]
fn the_list_names_every_rewrite_with_its_condition() {
    let place = Place::new();
    let list = place.done(&["rewrite", "--list", "--json"]).json();
    let rewrites = list["rewrites"].as_array().expect("rewrites");
    assert!(rewrites.len() >= 30, "only {}", rewrites.len());
    for rewrite in rewrites {
        for key in ["id", "name", "exactness", "applied", "summary", "condition"] {
            assert!(rewrite[key].as_str().is_some_and(|text| !text.is_empty()), "{rewrite}");
        }
    }
    let text = place.done(&["rewrite", "--list"]).stdout;
    assert!(text.contains("G05b") && text.contains("lossy"), "{text}");
}
