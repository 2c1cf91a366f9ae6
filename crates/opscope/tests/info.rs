//! `opscope info`: what anything is.

mod common;

use common::{Place, number};
use opscope_testing::companions;

#[test]
fn a_model_is_described_by_its_inputs_nodes_and_weights() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    let text = place.done(&["info", &model]).stdout;
    assert!(text.contains("an ONNX model") && text.contains("Conv 52"), "{text}");
    let json = place.done(&["info", &model, "--json"]).json();
    assert!(number(&json, "/content/weights/elements") > 1e6);
    assert!(number(&json, "/content/nodes/count") > 100.0);
    assert_eq!(
        number(&json, "/content/file_bytes"),
        std::fs::metadata(place.path(&model)).expect("it").len() as f64
    );
    let encoder = place.sample("encoder");
    let text = place.done(&["info", &encoder]).stdout;
    assert!(text.contains("input") && text.contains("ai.onnx"), "{text}");
}

#[test]
fn a_profile_is_described_by_what_it_holds_and_lacks() {
    let place = Place::new();
    let event = r#"{"ph": "X", "name": "gemm", "cat": "kernel", "ts": 10, "dur": 5, "pid": 0, "tid": 7}"#;
    place.write("trace.json", format!("[{event}, {event}, {{\"ph\": \"X\", \"name\": \"cut"));
    let answer = place.done(&["info", "trace.json"]).stdout;
    assert!(answer.contains("Chrome's trace format"), "{answer}");
    assert!(answer.contains("lost") && answer.contains("cut off"), "{answer}");
    assert!(answer.contains("missing") && answer.contains("iterations"), "{answer}");
    let json = place.done(&["info", "trace.json", "--json"]).json();
    assert_eq!(number(&json, "/content/tasks/count"), 2.0);
    assert_eq!(json["problem"], serde_json::Value::Null);
}

#[test]
fn what_cannot_be_read_is_still_named_for_what_it_is() {
    let place = Place::new();
    place.write("half.json", "{\"profiler\": {\"device\": {");
    let answer = place.run(&["info", "half.json"]);
    assert_eq!(answer.status, Some(1));
    assert!(
        answer.stdout.contains("a profile of MegEngine") && answer.stdout.contains("damaged"),
        "{}",
        answer.stdout
    );
    assert_eq!(answer.stdout.matches("found the end of the file").count(), 1, "{}", answer.stdout);
    place.write("notes.txt", "just words");
    let answer = place.done(&["info", "notes.txt"]).stdout;
    assert!(answer.contains("text"), "{answer}");
    place.write("empty", "");
    assert!(place.done(&["info", "empty"]).stdout.contains("an empty file"));
    place.fails(1, &["no such file"], &["info", "missing"]);
    let totals = "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n\
                  0,Conv2D,AI_CORE,1,5.0,5.0,5.0,5.0,100.0\n";
    place.write("op_statistic_1.csv", totals);
    let table = place.done(&["info", "op_statistic_1.csv"]).stdout;
    assert!(table.contains("missing") && table.contains("the folder that the table is in"), "{table}");
    assert!(!table.contains("damaged"), "{table}");
    let folder = place.done(&["info", "."]).stdout;
    for known in ["half.json", "a profile of MegEngine", "notes.txt", "an empty file"] {
        assert!(folder.contains(known), "{folder}");
    }
}

#[test]
fn folders_and_databases_of_a_real_run_are_known() {
    let Some(folder) = companions::shared("data/ascend-pytorch") else { return };
    let place = Place::new();
    let of = |path: &str| place.done(&["info", folder.join(path).to_str().expect("a path"), "--json"]).json();
    let text = of("text_level2_rank0");
    assert_eq!(text["kind"], "a folder of outputs of the Ascend tools");
    assert_eq!(number(&text, "/content/tasks/units/communication"), 4.0);
    let database = of("db_level2_rank0/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db");
    assert_eq!(database["kind"], "a database of the Ascend tools");
    // Of the 556 rows of its table these are told by their parts.
    let divided =
        database["losses"].as_array().expect("losses").iter().find(|it| it["kind"] == "divided-task");
    assert_eq!(divided.expect("the whole tasks")["count"], 17);
    assert_eq!(number(&database, "/content/tasks/count"), 556.0 - 17.0);
    assert_eq!(
        of("db_level2_rank0/ASCEND_PROFILER_OUTPUT/analysis.db")["kind"],
        "a SQLite database of another program"
    );
    let listed = place.done(&["info", folder.to_str().expect("a path")]).stdout;
    assert!(listed.contains("text_level2_rank0") && listed.contains("a folder of outputs"), "{listed}");
}
