//! `opscope import`: profiles of ONNX Runtime and whatever else is thrown at it.

mod common;

use common::{Place, number};
use opscope_testing::companions;

/// A session of two runs, as ONNX Runtime writes them: whole microseconds, arguments as text.
const PROFILE: &str = r#"[
{"cat":"Session","pid":7,"tid":7,"dur":900,"ts":1,"ph":"X","name":"model_loading_uri","args":{}},
{"cat":"Session","pid":7,"tid":7,"dur":500,"ts":1000,"ph":"X","name":"session_initialization","args":{}},
{"cat":"Node","pid":7,"tid":7,"dur":30,"ts":2010,"ph":"X","name":"conv1_kernel_time","args":{"op_name":"Conv","provider":"CPUExecutionProvider","node_index":"0","parameter_size":"432","activation_size":"12288","output_size":"16384","input_type_shape":[{"float":[1,3,32,32]},{"float":[4,3,3,3]}],"output_type_shape":[{"float":[1,4,32,32]}]}},
{"cat":"Node","pid":7,"tid":7,"dur":10,"ts":2045,"ph":"X","name":"relu1_kernel_time","args":{"op_name":"Relu","provider":"CPUExecutionProvider","node_index":"1","parameter_size":"0","activation_size":"16384","output_size":"16384","input_type_shape":[{"float":[1,4,32,32]}],"output_type_shape":[{"float":[1,4,32,32]}]}},
{"cat":"Session","pid":7,"tid":7,"dur":50,"ts":2008,"ph":"X","name":"SequentialExecutor::Execute","args":{}},
{"cat":"Session","pid":7,"tid":7,"dur":60,"ts":2000,"ph":"X","name":"model_run","args":{}},
{"cat":"Node","pid":7,"tid":7,"dur":50,"ts":3010,"ph":"X","name":"conv1_kernel_time","args":{"op_name":"Conv","provider":"CPUExecutionProvider","node_index":"0","parameter_size":"432","activation_size":"12288","output_size":"16384","input_type_shape":[{"float":[1,3,32,32]},{"float":[4,3,3,3]}],"output_type_shape":[{"float":[1,4,32,32]}]}},
{"cat":"Node","pid":7,"tid":7,"dur":10,"ts":3065,"ph":"X","name":"relu1_kernel_time","args":{"op_name":"Relu","provider":"CPUExecutionProvider","node_index":"1","parameter_size":"0","activation_size":"16384","output_size":"16384","input_type_shape":[{"float":[1,4,32,32]}],"output_type_shape":[{"float":[1,4,32,32]}]}},
{"cat":"Session","pid":7,"tid":7,"dur":70,"ts":3008,"ph":"X","name":"SequentialExecutor::Execute","args":{}},
{"cat":"Session","pid":7,"tid":7,"dur":80,"ts":3000,"ph":"X","name":"model_run","args":{}}
]
"#;

#[test]
fn a_profile_of_onnx_runtime_is_summarised_and_kept_beside_it() {
    let place = Place::new();
    place.write("profile.json", PROFILE);
    let answer = place.done(&["import", "profile.json", "--json"]);
    assert!(answer.stderr.contains("profile.json.db"), "{}", answer.stderr);
    let answer = answer.json();
    assert_eq!(number(&answer, "/latency/count"), 2.0);
    assert_eq!(number(&answer, "/latency/mean_ns"), 70_000.0);
    let conv = &answer["operators"][0];
    assert_eq!((conv["name"].as_str(), conv["type"].as_str()), (Some("conv1"), Some("Conv")));
    assert_eq!(number(conv, "/time_ns"), 40_000.0);
    assert_eq!(number(conv, "/share"), 0.8);
    assert_eq!(conv["outputs"][0]["shape"], serde_json::json!([1, 4, 32, 32]));
    assert_eq!(number(&answer, "/inside_ns"), 50_000.0);
    assert_eq!(place.files(), ["profile.json", "profile.json.db"]);
    let again = place.done(&["import", "profile.json.db", "--json"]).json();
    assert_eq!(answer, again);
    assert_eq!(place.files(), ["profile.json", "profile.json.db"]);
    place.fails(2, &["named twice"], &["import", "profile.json", "-o", "./profile.json"]);
    place.fails(2, &["--db"], &["import", "profile.json", "-o", "a.db", "--db", "b.db"]);
}

#[test]
fn several_sessions_in_one_file_are_answered_one_by_one() {
    let place = Place::new();
    // The same once more, 90 ms later and with other names.
    let second =
        PROFILE.trim_start_matches("[\n").replace("conv1", "dense1").replace("\"dur\":60", "\"dur\":90");
    let second = second.replace("\"ts\":1,", "\"ts\":0000,").replace("\"ts\":", "\"ts\":9");
    place.write("two.json", format!("{},\n{second}", PROFILE.trim_end().trim_end_matches(']').trim_end()));
    let answer = place.done(&["import", "two.json", "--json"]).json();
    assert_eq!(number(&answer, "/latency/count"), 4.0);
    let models = answer["models"].as_array().expect("models");
    let of = |model: usize| {
        (models[model]["operators"][0]["name"].clone(), number(&models[model], "/latency/max_ns"))
    };
    assert_eq!(models.len(), 2);
    assert_eq!(of(0), ("conv1".into(), 80_000.0));
    assert_eq!(of(1), ("dense1".into(), 90_000.0));
    let text = place.done(&["import", "two.json"]).stdout;
    assert!(text.contains("session 1") && text.contains("session 2"), "{text}");
}

#[test]
fn a_profile_that_was_cut_off_keeps_what_is_whole_and_says_what_is_lost() {
    let place = Place::new();
    let cut =
        PROFILE.find("relu1_kernel_time\",\"args\":{\"op_name\":\"Relu\"").expect("the second node") + 40;
    place.write("cut.json", &PROFILE[..cut]);
    let answer = place.done(&["import", "cut.json", "--json"]).json();
    assert_eq!(answer["operators"][0]["name"], "conv1");
    assert!(!answer["losses"].as_array().expect("losses").is_empty(), "{answer:#}");
}

#[test]
fn files_that_are_no_profile_are_named_for_what_they_are() {
    let place = Place::new();
    place.write("text.json", "this is no JSON");
    place.fails(1, &["text.json"], &["import", "text.json"]);
    place.write("empty.json", "");
    place.fails(1, &["empty.json", "empty"], &["import", "empty.json"]);
    place.fails(1, &["missing.json"], &["import", "missing.json"]);
    let model = place.sample("mobilenet-v2");
    place.fails(1, &["opscope run"], &["import", &model]);
    let before = place.files();
    place.write("half.db", b"SQLite format 3\0and then nothing");
    place.fails(1, &["half.db"], &["import", "half.db"]);
    assert_eq!(place.files().len(), before.len() + 1, "something half written was left: {:?}", place.files());
}

#[test]
fn a_compressed_profile_is_read_as_it_is() {
    let place = Place::new();
    let path = place.write("profile.json", PROFILE);
    let status = std::process::Command::new("gzip").arg(&path).status();
    assert!(status.is_ok_and(|status| status.success()), "gzip is needed");
    let answer = place.done(&["import", "profile.json.gz", "--json", "-o", "out.db"]).json();
    assert_eq!(number(&answer, "/latency/count"), 2.0);
    assert!(place.path("out.db").exists());
}

#[test]
fn of_a_profile_without_inferences_idle_time_is_told_as_analyze_does() {
    let place = Place::new();
    let event = |at: u32| {
        format!(
            r#"{{"ph": "X", "name": "gemm", "cat": "kernel", "ts": {at}, "dur": 30, "pid": 0, "tid": 7}}"#
        )
    };
    place.write("trace.json", format!("[{}, {}]", event(0), event(70)));
    let said = place.done(&["import", "trace.json"]).stdout;
    assert!(said.contains("60 µs (60.0 %) of the whole profile"), "{said}");
    assert!(said.contains("40 µs (40.0 %) between"), "{said}");
    assert!(place.done(&["analyze", "trace.json"]).stdout.contains("40 µs (40.0 %)"));
}

#[test]
fn profiles_of_real_models_on_onnx_runtime_are_read_whole() {
    let place = Place::new();
    let mut read = 0;
    for (name, runs, nodes) in [
        ("ssd_mask_all", 2, 122 - 6),
        ("ssd_mask_off", 2, 198 - 6),
        ("transformer_all", 2, 234 - 6),
        ("yolo_leaky_off", 2, 190 - 6),
        ("yolo_mish_off", 2, 342 - 6),
    ] {
        let Some(path) = companions::shared(&format!("golden/onnxruntime/{name}.json")) else { return };
        let path = path.to_str().expect("a readable path");
        let answer = place.done(&["import", path, "--json", "-o", "out.db"]).json();
        assert_eq!(number(&answer, "/latency/count"), f64::from(runs), "{name}");
        let tasks: f64 =
            answer["operators"].as_array().expect("operators").iter().map(|row| number(row, "/tasks")).sum();
        assert_eq!(tasks, f64::from(nodes), "{name}");
        assert!(answer["losses"].as_array().expect("losses").is_empty(), "{name}");
        read += 1;
    }
    assert_eq!(read, 5);
}

#[test]
fn megengines_own_questions_are_answered_as_its_own_tool_answers_them() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    place.done(&["run", &model, "--quiet", "--iterations", "1", "--profile", "profile.json"]);
    let arguments =
        ["profile_analyze", "profile.json", "-t", "2", "--aggregate-by", "type", "--aggregate", "sum"];
    let answer = place.done(&arguments).stdout;
    assert!(answer.contains("total device time") && answer.contains("device self time"), "{answer}");
    assert_eq!(answer.matches("│ #").count(), 2, "{answer}");
    assert!(place.done(&["profile_analyze", "--help"]).stdout.contains("--order-by"));
    place.fails(2, &["--order-by"], &["profile_analyze", "profile.json", "--order-by", "beauty"]);
    place.fails(1, &["missing.json"], &["profile_analyze", "missing.json"]);
}

/// A timeline of PyTorch's with an operator and the memory that it took.
const KINETO: &str = r#"{"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": 1700000000000000000,
"traceEvents": [
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 500.000, "dur": 40.000, "args": {}},
{"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": 510.000,
 "args": {"Total Reserved": 4096, "Total Allocated": 1024, "Bytes": 1024, "Addr": 139, "Device Id": 0, "Device Type": 1}}
]}"#;

#[test]
fn a_timeline_keeps_the_clock_on_the_wall_and_counts_what_has_no_place_on_it() {
    let place = Place::new();
    place.write("kineto.json", KINETO);
    let source = place.done(&["info", "kineto.json", "--json"]).json();
    assert_eq!(number(&source, "/content/unix_zero_ns"), 1.7e18, "{source}");
    for timeline in ["t.pftrace", "t.json"] {
        place.done(&["import", "kineto.json", "--trace", timeline]);
        let read = place.done(&["info", timeline, "--json"]).json();
        assert_eq!(read["content"]["unix_zero_ns"], source["content"]["unix_zero_ns"], "{timeline}");
        let text = place.done(&["info", timeline]).stdout;
        assert!(text.contains("2023-11-14 22:13:20") && !text.contains("the wall-clock time"), "{text}");
        let stated = place.done(&["info", "kineto.json"]).stdout;
        assert!(stated.contains("owner of memory at its peak"), "{stated}");
        assert!(
            text.contains("rows for which timelines have no place (figures that are stated: peak-memory)"),
            "{text}"
        );
    }
}

#[test]
fn a_timeline_has_the_operators_of_the_profile_that_it_was_written_of() {
    let place = Place::new();
    place.done(&["sample", "cluster", "--ranks", "2", "--format", "kineto", "-o", "made"]);
    let folder = "made/cluster_2_ranks_seed_1/kineto";
    let mut names = std::fs::read_dir(place.path(folder)).expect("a folder").flatten();
    let name = names.next().expect("a timeline").file_name();
    let source = format!("{folder}/{}", name.to_string_lossy());
    let operators = |path: &str| place.done(&["info", path, "--json"]).json()["content"]["operators"].clone();
    let of_source = operators(&source);
    // Each execution of a collective has numbers of its own, by which it is no other operator.
    let count = number(&of_source, "/count");
    assert!((10.0..100.0).contains(&count), "{of_source}");
    for timeline in ["t.pftrace", "t.json"] {
        place.done(&["import", &source, "--trace", timeline, "--quiet"]);
        assert_eq!(operators(timeline), of_source, "{timeline}");
    }
}
