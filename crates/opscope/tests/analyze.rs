//! `opscope analyze`: the same questions to profiles of every format.

mod common;

use common::{Answer, Place, number};
use opscope_testing::companions;
use serde_json::Value;

/// A MegEngine profile whose answers can be worked out by hand: a convolution that waits 1 ms for
/// its input, and two additions.
const MEGENGINE: &str = r#"{"graph_exec": {"operator": {
    "1": {"id": "1", "name": "conv", "type": "ConvolutionForward", "input": [], "output": [], "node_type": "operator", "extra": {}},
    "2": {"id": "2", "name": "add_a", "type": "Elemwise", "input": [], "output": [], "node_type": "operator", "extra": {}},
    "3": {"id": "3", "name": "add_b", "type": "Elemwise", "input": [], "output": [], "node_type": "operator", "extra": {}}},
    "var": {}, "mem_chunk": {}, "comp_seq": ["1", "2", "3"]},
  "profiler": {"device": {
    "1": {"CompNode(\"gpu0:0\" from \"xpux:0\")": {"start": 0.001, "kern": 0.002, "end": 0.005}},
    "2": {"CompNode(\"gpu0:0\" from \"xpux:0\")": {"start": 0.005, "kern": 0.005, "end": 0.006}},
    "3": {"CompNode(\"gpu0:0\" from \"xpux:0\")": {"start": 0.007, "kern": 0.007, "end": 0.0075}}},
  "host": {
    "1": {"@0x1": {"start": 0.0001, "kern": 0.0001, "end": 0.0002}},
    "2": {"@0x1": {"start": 0.0002, "kern": 0.0002, "end": 0.0005}}},
  "opr_footprint": {
    "1": {"memory": 1000000, "computation": 8000000, "in_shapes": [], "out_shapes": []},
    "2": {"memory": 3000000, "computation": 1000, "in_shapes": [], "out_shapes": []},
    "3": {"memory": 2000000, "computation": 1000, "in_shapes": [], "out_shapes": []}}, "opr_internal_pf": {}}}"#;

fn rows(answer: &Answer) -> Vec<Value> {
    answer.json()["rows"].as_array().expect("rows").clone()
}

/// A column of the rows of a question in JSON.
fn column(place: &Place, arguments: &[&str], key: &str) -> Vec<Value> {
    let arguments = [&["analyze", "profile.json", "--json"], arguments].concat();
    rows(&place.done(&arguments)).iter().map(|row| row[key].clone()).collect()
}

fn megengine() -> Place {
    let place = Place::new();
    place.write("profile.json", MEGENGINE);
    place
}

#[test]
fn the_first_sight_fits_a_screen_and_tells_wall_time_idleness_and_the_top() {
    let place = megengine();
    let text = place.done(&["analyze", "profile.json"]).stdout;
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.contains("a profile of MegEngine"), "{text}");
    assert!(text.contains("wall time 6.50 ms in the only iteration"), "{text}");
    assert!(text.contains("busy      5.50 ms (84.6 %)") && text.contains("idle 1.00 ms (15.4 %)"), "{text}");
    assert!(text.contains("0.85 times the wall time"), "{text}");
    assert!(text.contains("All 3 operators") && text.contains("All 2 types"), "{text}");
    let json = place.done(&["analyze", "profile.json", "--json"]).json();
    assert_eq!(number(&json, "/overview/wall_ns"), 6_500_000.0);
    assert_eq!(number(&json, "/overview/busy_ns"), 5_500_000.0);
    assert_eq!(number(&json, "/overview/with_flops_ns"), 5_500_000.0);
    assert_eq!(number(&json, "/rows/0/share"), 4.0 / 5.5);
    assert_eq!(number(&json, "/rows/0/flops_per_second"), 2e9);
}

#[test]
fn filters_and_groups_choose_what_their_names_say() {
    let place = megengine();
    let names = |arguments: &[&str]| column(&place, arguments, "name");
    assert_eq!(names(&[]), ["conv", "add_a", "add_b"]);
    assert_eq!(names(&["--name", "^add_[ab]$"]), ["add_a", "add_b"]);
    assert_eq!(names(&["--type", "elemwise", "--type", "Pooling"]), ["add_a", "add_b"]);
    assert_eq!(names(&["--min-time", "1ms"]), ["conv", "add_a"]);
    assert_eq!(names(&["--min-time", "600us", "--max-time", "2ms"]), ["add_a"]);
    assert_eq!(names(&["--max-time", "500us"]), ["add_b"]);
    place.fails(2, &["500s", "500us"], &["analyze", "profile.json", "--max-time", "500"]);
    assert_eq!(names(&["--unit", "gpu", "-t", "1"]), ["conv"]);
    assert_eq!(names(&["--unit", "cpu"]), [""; 0]);
    assert_eq!(names(&["--dtype", "float16"]), [""; 0]);
    assert_eq!(names(&["--sort", "moved"]), ["add_a", "add_b", "conv"]);
    assert_eq!(names(&["--sort", "+time"]), ["add_b", "add_a", "conv"]);
    let types = |arguments: &[&str], key| column(&place, &[&["--group-by", "type"], arguments].concat(), key);
    assert_eq!(types(&[], "type"), ["ConvolutionForward", "Elemwise"]);
    assert_eq!(types(&["--agg", "max"], "max_ns"), [4_000_000, 1_000_000]);
    assert_eq!(types(&["--agg", "mean"], "mean_ns"), [4_000_000, 750_000]);
    assert_eq!(types(&["--agg", "count"], "count"), [2, 1]);
    assert_eq!(column(&place, &["--time", "kernel"], "time_ns"), [3_000_000, 1_000_000, 500_000]);
    assert_eq!(column(&place, &["--time", "wait"], "time_ns"), [1_000_000, 0, 0]);
    assert_eq!(column(&place, &["--host"], "time_ns"), [300_000, 100_000]);
    assert_eq!(column(&place, &["--group-by", "stream"], "time_ns"), [5_500_000]);
    assert_eq!(column(&place, &["--group-by", "iteration", "--iteration", "1"], "iteration"), [1]);
    assert_eq!(names(&["--device", "0"]).len(), 3);
}

/// A program of two threads in Kineto's form: loading, then two steps, in microseconds. Of the loading
/// five seconds lie in nothing.
const RANGES: &str = r#"{"schemaVersion": 1, "traceEvents": [
  {"ph": "X", "cat": "user_annotation", "name": "main", "pid": 1, "tid": 1, "ts": 0, "dur": 5700000},
  {"ph": "X", "cat": "user_annotation", "name": "load", "pid": 1, "tid": 1, "ts": 0, "dur": 5645052},
  {"ph": "X", "cat": "cuda_runtime", "name": "read", "pid": 1, "tid": 1, "ts": 0, "dur": 601000},
  {"ph": "X", "cat": "user_annotation", "name": "step", "pid": 1, "tid": 1, "ts": 5650000, "dur": 20000},
  {"ph": "X", "cat": "cpu_op", "name": "infer", "pid": 1, "tid": 1, "ts": 5650000, "dur": 19000},
  {"ph": "X", "cat": "user_annotation", "name": "step", "pid": 1, "tid": 1, "ts": 5670000, "dur": 30000},
  {"ph": "X", "cat": "cpu_op", "name": "infer", "pid": 1, "tid": 1, "ts": 5670000, "dur": 29000},
  {"ph": "X", "cat": "user_annotation", "name": "wait", "pid": 1, "tid": 2, "ts": 5650000, "dur": 40000}
]}"#;

#[test]
fn ranges_of_a_program_are_a_tree_that_says_what_nothing_covers() {
    let place = Place::new();
    place.write("ranges.json", RANGES);
    let answer = place.done(&["analyze", "ranges.json", "--json"]).json();
    let rows = answer["ranges"]["rows"].as_array().expect("rows");
    let row = |row: &Value| {
        let us = |key: &str| number(row, &format!("/{key}")) / 1e3;
        let times = ["total_ns", "own_ns", "in_calls_ns", "in_operators_ns", "uncovered_ns"].map(us);
        (row["name"].as_str().expect("a name").to_owned(), row["count"].clone(), times)
    };
    let rows: Vec<_> = rows.iter().map(row).collect();
    let expected = [
        ("main", 1, [5_700_000.0, 4_948.0, 0.0, 0.0, 4_948.0]),
        ("load", 1, [5_645_052.0, 5_645_052.0, 601_000.0, 0.0, 5_044_052.0]),
        ("step", 2, [50_000.0, 50_000.0, 0.0, 48_000.0, 2_000.0]),
        ("wait", 1, [40_000.0, 40_000.0, 0.0, 39_000.0, 1_000.0]),
    ];
    assert_eq!(rows, expected.map(|(name, count, times)| (name.to_owned(), Value::from(count), times)));
    assert_eq!(number(&answer, "/ranges/uncovered_ns"), 5_051_000_000.0);

    for command in ["analyze", "show"] {
        let text = place.done(&[command, "ranges.json"]).stdout;
        let lines: Vec<&str> = text.lines().filter(|line| line.trim_end().ends_with("load")).collect();
        assert!(lines.len() == 1 && lines[0].contains("5.04 s") && lines[0].ends_with("  load"), "{text}");
        assert!(!text.contains("No operator"), "{text}");
    }
    assert_eq!(place.done(&["show", "ranges.json", "--json"]).json()["ranges"], answer["ranges"]);
}

#[test]
fn time_that_a_range_lost_is_the_first_thing_advised_on() {
    let place = Place::new();
    place.write("ranges.json", RANGES);
    let advice = place.done(&["advise", "ranges.json", "--json"]).json();
    let first = &advice["findings"][0];
    assert_eq!((&first["id"], &first["evidence"][0]["name"]), (&"A33".into(), &"main / load".into()));
    assert_eq!(number(first, "/evidence/0/time_ns"), 5_044_052_000.0);
    let detail = first["evidence"][0]["detail"].as_str().expect("a detail");
    assert!(detail.contains("nearly 5 s") && detail.contains("sleep"), "{detail}");
    // The sleep is gone.
    place.write("ranges.json", RANGES.replace("\"dur\": 601000", "\"dur\": 5645052"));
    let advice = place.done(&["advise", "ranges.json", "--json"]).json();
    assert!(!advice["findings"].to_string().contains("A33"), "{advice:#}");
}

#[test]
fn all_calls_of_the_host_are_shown_and_loading_is_told_from_inferences() {
    let place = Place::new();
    place.done(&["sample", "prof", "-o", "runs", "--chip", "310", "--mode", "static", "--tasks", "300"]);
    let rows = |arguments: &[&str]| {
        let all = [&["analyze", "runs", "--host", "--json"], arguments].concat();
        let answer = place.done(&all).json();
        let rows = answer["rows"].as_array().expect("rows").clone();
        let sum: f64 = rows.iter().map(|row| number(row, "/time_ns")).sum();
        assert_eq!(sum, number(&answer, "/whole_ns"), "{answer:#}");
        rows
    };
    let usual = rows(&[]);
    let phase = |name: &str| {
        let found: Vec<&Value> = usual.iter().filter(|row| row["name"] == name).collect();
        assert_eq!(found.len(), 1, "{name}: {usual:?}");
        found[0]["phase"].clone()
    };
    for name in ["aclmdlExecute", "ModelExecute", "StreamSynchronize"] {
        assert_eq!(phase(name), "steady-state", "{name}");
    }
    for name in ["aclmdlLoadFromFile", "ModelLoad"] {
        assert_eq!(phase(name), "one-off", "{name}");
    }
    assert_eq!(usual, rows(&["--iteration", "all"]));
    // Of one inference, the calls that ran then are shown.
    let number_of_one =
        if place.run(&["analyze", "runs", "--iteration", "0"]).status == Some(0) { "0" } else { "1" };
    let one = rows(&["--iteration", number_of_one]);
    assert!(one.iter().any(|row| row["name"] == "aclmdlExecute"), "{one:?}");
    assert!(one.iter().all(|row| row["phase"] == "steady-state"), "{one:?}");
    let text = place.done(&["analyze", "runs", "--host"]).stdout;
    assert!(text.contains("while inferences ran") && text.contains("to load something"), "{text}");
}

#[test]
fn every_form_of_output_holds_the_same_rows() {
    let place = megengine();
    let csv = place.done(&["analyze", "profile.json", "--csv", "--columns", "time,name,share"]).stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[..2], ["rank,time_ns,name,share", "1,4000000,conv,0.7272727272727273"]);
    assert_eq!(lines.len(), 4);
    let markdown = place.done(&["analyze", "profile.json", "--markdown", "--columns", "time,name"]).stdout;
    assert!(
        markdown.starts_with("| # | time | name |\n| ---: | ---: | --- |\n| 1 | 4.00 ms | conv |"),
        "{markdown}"
    );
    let table = place.done(&["analyze", "profile.json", "--columns", "name,time", "-t", "2"]).stdout;
    assert!(table.contains("Top 2 of 3 operators") && table.contains("conv   4.00 ms"), "{table}");
    assert!(!table.contains("types"), "{table}");
    place.fails(2, &["--csv"], &["analyze", "profile.json", "--csv", "--json"]);
}

#[test]
fn mistakes_are_answered_with_what_there_is() {
    let place = megengine();
    place.fails(2, &["did you mean 'time'", "bandwidth"], &["analyze", "profile.json", "--sort", "tim"]);
    place.fails(
        2,
        &["there is no column 'beauty'", "shapes"],
        &["analyze", "profile.json", "--columns", "name,beauty"],
    );
    place.fails(2, &["regular expression"], &["analyze", "profile.json", "--name", "conv("]);
    place.fails(2, &["ai-core", "gpu"], &["analyze", "profile.json", "--unit", "warp"]);
    place.fails(2, &["float16"], &["analyze", "profile.json", "--dtype", "floaty"]);
    place.fails(2, &["50us"], &["analyze", "profile.json", "--min-time", "soon"]);
    place.fails(
        2,
        &["there is no iteration 7", "the only one is 1"],
        &["analyze", "profile.json", "--iteration", "7"],
    );
    place.fails(2, &["3..1"], &["analyze", "profile.json", "--iteration", "3..1"]);
    place.fails(2, &["there is no device 5", "gpu0"], &["analyze", "profile.json", "--device", "5"]);
    let none = place.done(&["analyze", "profile.json", "--type", "Conv"]);
    assert!(
        none.stderr.contains("there is no type 'Conv'") && none.stderr.contains("Elemwise"),
        "{}",
        none.stderr
    );
    place.fails(1, &["missing.json", "no such file"], &["analyze", "missing.json"]);
    place.write("text.json", "hello");
    place.fails(1, &["text.json", "not a profile"], &["analyze", "text.json"]);
}

/// Spans within another that cross: `outer` has no time of its own, `a` that before `b` began.
const CROSSING: &str = r#"{"traceEvents": [
    {"name": "outer", "ph": "X", "ts": 0, "dur": 100, "pid": 1, "tid": 1},
    {"name": "a", "ph": "X", "ts": 0, "dur": 80, "pid": 1, "tid": 1},
    {"name": "b", "ph": "X", "ts": 40, "dur": 60, "pid": 1, "tid": 1}]}"#;

#[test]
fn spans_that_cross_have_one_time_in_every_command() {
    let place = Place::new();
    place.write("crossing.json", CROSSING);
    let json = place.done(&["analyze", "crossing.json", "--json"]).json();
    let found = json["rows"].as_array().expect("rows").iter();
    let found: Vec<_> = found.map(|row| (row["name"].as_str(), number(row, "/time_ns"))).collect();
    assert_eq!(found, [(Some("b"), 60_000.0), (Some("a"), 40_000.0), (Some("outer"), 0.0)]);
    let of = |arguments: &[&str], pointer: &str| number(&place.done(arguments).json(), pointer);
    let wholes = [
        number(&json, "/rows/2/cumulative_share") * 100_000.0,
        number(&json, "/overview/operator_time_ns"),
        of(&["advise", "crossing.json", "--json"], "/operator_time_ns"),
        of(&["compare", "crossing.json", "crossing.json", "--json"], "/operators_after_ns"),
        of(&["whatif", "crossing.json", "--remove", "a", "--json"], "/measured_ns"),
        of(&["import", "crossing.json", "--json"], "/operator_time_ns"),
    ];
    assert_eq!(wholes, [100_000.0; 6]);
    assert_eq!(of(&["whatif", "crossing.json", "--remove", "a", "--json"], "/predicted_ns"), 60_000.0);
}

#[test]
fn a_roof_tells_computing_from_moving_from_neither() {
    let place = megengine();
    // 8 MFLOP take 4 ms at 2 GFLOP/s; 3 MB take 0.75 ms at 4 GB/s; 2 MB in 0.5 ms are the peak itself.
    let roof = ["--peak-flops", "2GFLOPS", "--peak-bandwidth", "4GB/s"];
    assert_eq!(column(&place, &roof, "bound"), ["compute", "memory", "memory"]);
    assert_eq!(column(&place, &roof, "share_of_ceiling"), [1.0, 0.75, 1.0]);
    assert_eq!(column(&place, &roof, "ideal_ns"), [4_000_000, 750_000, 500_000]);
    let far = ["--peak-flops", "2TFLOPS", "--peak-bandwidth", "4TB/s"];
    assert_eq!(column(&place, &far, "bound"), ["neither"; 3]);
    let text = place.done(&[&["analyze", "profile.json"][..], &roof].concat()).stdout;
    assert!(text.contains("0.5 operations a byte") && text.contains("100.0 %"), "{text}");
    // Waiting computes nothing.
    let waiting = [&["--time", "wait"][..], &roof].concat();
    for key in ["bound", "share_of_ceiling", "ideal_ns", "flops_per_second", "bytes_per_second"] {
        assert!(column(&place, &waiting, key).iter().all(Value::is_null), "{key}");
    }
    assert_eq!(column(&place, &waiting, "time_ns"), [1_000_000, 0, 0]);
    place.fails(2, &["(gpu0", "--peak-flops"], &["analyze", "profile.json", "--roofline"]);
    place.fails(2, &["--peak-bandwidth"], &["analyze", "profile.json", "--peak-flops", "2T"]);
    place.fails(
        2,
        &["22TFLOPS"],
        &["analyze", "profile.json", "--peak-flops", "fast", "--peak-bandwidth", "1GB/s"],
    );
}

#[test]
fn a_run_of_our_own_is_analysed_from_its_database_and_its_timeline_alike() {
    let place = Place::new();
    let model = place.sample("mobilenet-v2");
    place.done(&["run", &model, "--iterations", "3", "--db", "run.db", "--trace", "run.json", "--quiet"]);
    let of = |file: &str| place.done(&["analyze", file, "--json"]).json();
    let (database, timeline) = (of("run.db"), of("run.json"));
    assert_eq!(number(&database, "/averaged_over"), 3.0);
    for pointer in ["/overview/tasks", "/executions", "/operators"] {
        assert_eq!(number(&database, pointer), number(&timeline, pointer), "{pointer}");
    }
    assert!(number(&database, "/overview/attributed_ns") > 0.0);
    // No operator computes faster than is believable, however the engine splits it into tasks.
    let answer = of("run.db");
    let summary = place.done(&["import", "run.db", "--json"]).json();
    let first = &answer["rows"][0];
    let operators = summary["operators"].as_array().expect("operators");
    let same = operators.iter().find(|row| row["name"] == first["name"]).expect("the same operator");
    assert_eq!(first["flops"], same["flops"]);
    let one = place.done(&["analyze", "run.db", "--iteration", "2", "--json"]).json();
    assert_eq!(number(&one, "/overview/iterations"), 1.0);
    assert!(number(&one, "/executions") * 3.0 - number(&database, "/executions") == 0.0);
}

#[test]
fn what_a_terminal_would_obey_is_shown_as_it_is_written() {
    let place = Place::new();
    place.write("profile.json", MEGENGINE.replace("\"name\": \"conv\"", "\"name\": \"conv\\u001b[31m\\n\""));
    let text = place.done(&["analyze", "profile.json"]).stdout;
    assert!(text.contains("conv\\u{1b}[31m\\n") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn profiles_of_a_real_chip_give_the_figures_of_independent_queries() {
    let Some(folder) = companions::shared("data/ascend-pytorch") else { return };
    let place = Place::new();
    let units =
        ["--unit", "ai-core", "--unit", "ai-vector-core", "--unit", "mix-vector-core", "--unit", "other"];
    for (run, nanoseconds) in [("db_level2_rank0", 8_900_456.0), ("text_level2_rank0", 8_868_215.0)] {
        let path = folder.join(run);
        let path = path.to_str().expect("a readable path");
        let arguments =
            [&["analyze", path, "--json", "--iteration", "all", "--group-by", "unit"][..], &units].concat();
        let answer = place.done(&arguments).json();
        assert_eq!(number(&answer, "/executions"), 187.0, "{run}");
        // A timeline rounds each of its times.
        assert!((number(&answer, "/selected_ns") - nanoseconds).abs() <= 100.0, "{run}: {answer:#}");
        let text = place.done(&["analyze", path]).stdout;
        assert!(text.contains("hcom_allReduce") && text.contains("left out"), "{text}");
    }
    let timeline = folder.join("text_level2_rank0/ASCEND_PROFILER_OUTPUT/trace_view.json");
    let sql = "SELECT (SELECT count(*) FROM tasks) + (SELECT count(*) FROM api_calls) + \
               (SELECT count(*) FROM iterations) + (SELECT count(*) FROM ranges) + (SELECT sum(count) FROM loss_details WHERE reason LIKE '%slices%') AS n";
    let answer = place.done(&["sql", timeline.to_str().expect("a readable path"), sql, "--json"]).json();
    assert_eq!(number(&answer, "/rows/0/n"), 4_811.0, "complete events");
}

/// A name, what the file holds, how many executions are found in it, and what must be said.
type Damaged = (&'static str, &'static [u8], Option<u64>, &'static [&'static str]);

/// Files that are damaged in every way, and what must be said of each; the number is of the
/// executions that are still found, none where nothing can be read.
const DAMAGED: [Damaged; 12] = [
    ("cut.json", b"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1},{\"ph\":\"X\",\"na", Some(1), &["cut off", "byte"]),
    ("invalid.json", b"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1} oops", Some(1), &["damaged", "expected"]),
    ("negative.json", b"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":-2,\"pid\":1,\"tid\":1}]", Some(0), &["negative duration"]),
    ("huge.json", b"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":99999999999999999999999999,\"dur\":2}]", Some(0), &["beyond 292 years"]),
    ("letters.json", b"[{\"ph\":\"X\",\"name\":\"a\xff\xfe\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]", Some(1), &[]),
    ("twice.json", b"[{\"ph\":\"X\",\"name\":\"a\",\"name\":\"b\",\"ts\":1,\"ts\":2,\"dur\":2,\"pid\":1,\"tid\":1}]", Some(1), &[]),
    ("order.json", b"[{\"ph\":\"X\",\"name\":\"a\",\"ts\":9,\"dur\":2,\"pid\":1,\"tid\":1},{\"ph\":\"X\",\"name\":\"b\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1}]", Some(2), &[]),
    ("untimed.csv", b"Name,Type,Start Time(us),Duration(us)\nx\n,,,\na,b,c,d\na,b,1,-5\na,b,1,5\n", Some(1), &["too few cells", "without a time"]),
    ("megengine.json", b"{\"profiler\": {\"device\": {\"1\": {", None, &["byte 31", "expected a name in quotes"]),
    ("lacks.json", b"{\"profiler\": {\"device\": {}}}", None, &["graph_exec"]),
    ("half.db", b"SQLite format 3\0and no more", None, &["database"]),
    ("empty.json", b"", None, &["an empty file"]),
];

#[test]
fn damage_costs_what_it_spoils_and_is_told() {
    let place = Place::new();
    for (name, content, executions, says) in DAMAGED {
        place.write(name, content);
        let Some(executions) = executions else {
            place.fails(1, &[&[name], says].concat(), &["analyze", name]);
            continue;
        };
        let answer = place.done(&["analyze", name, "--json"]).json();
        assert_eq!(number(&answer, "/executions"), executions as f64, "{name}");
        let losses = answer["losses"].to_string();
        assert!(says.iter().all(|text| losses.contains(text)), "{name}: {losses}");
    }
    let deep = format!("{{\"traceEvents\":[{{\"ph\":\"X\",\"args\":{}", "{\"a\":".repeat(100_000));
    place.write("deep.json", deep);
    place.fails(1, &["deep.json", "128 levels of nesting"], &["analyze", "deep.json"]);
}

#[test]
fn ids_that_point_nowhere_leave_the_rest_as_it_is() {
    let place = Place::new();
    place.write("profile.json", MEGENGINE.replace("\"2\": {\"CompNode", "\"77\": {\"CompNode"));
    let answer = place.done(&["analyze", "profile.json", "--json"]).json();
    assert_eq!(number(&answer, "/operators"), 2.0);
    assert!(answer["losses"].to_string().contains("the graph doesn't have"), "{answer:#}");
}

#[test]
fn operators_whose_names_were_lost_are_not_known_operators() {
    let Some(profile) = companions::shared("golden/megengine/bad/truncated.json") else { return };
    let answer = Place::new().done(&["analyze", &profile.to_string_lossy(), "--json"]).json();
    let overview = &answer["overview"];
    assert_eq!(overview["attributed_ns"], 0, "{overview}");
    assert!(overview["operator_time_ns"].as_u64().is_some_and(|time| time > 0), "{overview}");
}

#[test]
fn a_report_has_the_figures_of_analyze_and_advise() {
    let place = Place::new();
    let raw = place.done(&["sample", "prof", "-o", ".", "--tasks", "2000", "--quiet"]).stdout;
    let raw = raw.trim();
    place.done(&["report", raw, "-o", "report.html"]);
    let html = std::fs::read_to_string(place.path("report.html")).expect("the report");
    let (answers, columns) = common::report(&html);

    let analyzed = place.done(&["analyze", raw, "--json"]).json();
    for (key, figure) in analyzed["overview"].as_object().expect("figures") {
        assert_eq!(&answers["overview"][key], figure, "{key}");
    }
    assert_eq!(answers["overview"]["whole_ns"], analyzed["whole_ns"]);
    let container = opscope_web::columns::Container::read(&columns).expect("columns");
    let rows = analyzed["rows"].as_array().expect("rows");
    assert_eq!(container.count("operators").expect("the table"), rows.len());
    for (column, key) in [("time", "time_ns"), ("count", "count"), ("mean", "mean_ns")] {
        let of_analyze = place.done(&["analyze", raw, "--json", "--columns", key]).json();
        let of_analyze: Vec<f64> = of_analyze["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| common::number(row, &format!("/{key}")))
            .collect();
        assert_eq!(container.numbers("operators", column).expect("numbers"), of_analyze, "{column}");
    }
    let types = place.done(&["analyze", raw, "--json", "--group-by", "type"]).json();
    let named = |rows: &Value| -> Vec<(Value, Value)> {
        rows.as_array()
            .expect("rows")
            .iter()
            .map(|row| (row["type"].clone(), row["time_ns"].clone()))
            .collect()
    };
    assert_eq!(named(&answers["overview"]["types"]), named(&types["rows"]));
    let advice = place.done(&["advise", raw, "--json"]).json();
    assert!(advice["findings"][0]["zh"]["title"].is_string(), "{advice}");
    let mut findings = answers["advice"]["findings"].clone();
    for finding in findings.as_array_mut().expect("findings") {
        finding.as_object_mut().expect("a finding").remove("evidence_left_out");
    }
    assert_eq!(findings, advice["findings"]);
    assert_eq!(answers["advice"]["saves_together_at_most_ns"], advice["saves_together_at_most_ns"]);
    assert_eq!(answers["advice"]["not_run"], advice["not_run"]);
    // Whoever has no scripts reads the same.
    let (text, _) = html.split_once("</main>").expect("the text");
    for heading in ["Time", "Operators", "Types", "Advice"] {
        assert!(text.contains(&format!("<h2>{heading}</h2>")), "{heading}");
    }
}

#[test]
fn a_report_of_nothing_says_so_and_one_of_many_slices_says_what_is_left_out() {
    let place = Place::new();
    let event = |n: u32| {
        format!(r#"{{"ph":"X","cat":"kernel","name":"k{}","ts":{},"dur":2,"pid":0,"tid":7}}"#, n % 9, n * 5)
    };
    let events: Vec<String> = (0..3_000).map(event).collect();
    place.write("many.json", format!(r#"{{"traceEvents":[{}]}}"#, events.join(",")));
    let answer = place.done(&["report", "many.json", "--slices", "1000"]);
    assert!(
        answer.stderr.contains("1000 of 3000 slices") && answer.stderr.contains("beginning"),
        "{}",
        answer.stderr
    );
    let report = |name: &str| common::report(&std::fs::read_to_string(place.path(name)).expect("a report"));
    let left_out = &report("many.html").0["left_out"];
    assert_eq!((&left_out["slices"], &left_out["slices_in_full"]), (&3_000.into(), &1_000.into()));

    let mark = r#"{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","ts":1,"dur":2,"pid":0,"tid":7}"#;
    place.write("calls.json", format!(r#"{{"traceEvents":[{mark}]}}"#));
    place.done(&["report", "calls.json"]);
    let (answers, _) = report("calls.html");
    assert!(
        answers["about"]["notes"][0].as_str().expect("a note").contains("holds no operator"),
        "{answers}"
    );
    assert_eq!(answers["overview"]["latency"], Value::Null);
    place.fails(2, &["this is a model", "--model"], &["report", &place.sample("mask-ssd")]);
}

#[test]
fn the_page_of_analyze_is_that_of_report_and_has_the_whole_profile() {
    let place = Place::new();
    let raw = place.done(&["sample", "prof", "-o", ".", "--tasks", "500", "--quiet"]).stdout;
    let raw = raw.trim();
    let arguments = ["analyze", raw, "--type", "Conv2D", "--html", "page.html", "--json"];
    let answer = place.done(&arguments);
    assert!(answer.stderr.contains("wrote the report page.html"), "{}", answer.stderr);
    let page = std::fs::read_to_string(place.path("page.html")).expect("the page");
    let (answers, _) = common::report(&page);
    for (key, figure) in answer.json()["overview"].as_object().expect("figures") {
        assert_eq!(&answers["overview"][key], figure, "{key}");
    }
    place.done(&["report", raw, "-o", "report.html"]);
    assert!(page == std::fs::read_to_string(place.path("report.html")).expect("the report"));

    // With the model that it is of, the page has that model's graph, as the report has.
    assert_ne!(answers["graph"]["from"], "model");
    let model = place.sample("mask-ssd");
    place.done(&["analyze", raw, "--html", "page.html", "--model", &model]);
    place.done(&["report", raw, "-o", "report.html", "--model", &model]);
    let page = std::fs::read_to_string(place.path("page.html")).expect("the page");
    assert_eq!(common::report(&page).0["graph"]["from"], "model");
    assert!(page == std::fs::read_to_string(place.path("report.html")).expect("the report"));
    place.fails(2, &["--html"], &["analyze", raw, "--model", &model]);
    place.fails(1, &["none.onnx"], &["analyze", raw, "--html", "page.html", "--model", "none.onnx"]);
    place.fails(2, &["would be overwritten"], &["analyze", raw, "--html", &model, "--model", &model]);

    // A page that can't be written is found out before any work, and nothing of it stays.
    place.fails(1, &["none/page.html"], &["analyze", raw, "--html", "none/page.html"]);
    let file = place.write("a.json", r#"{"traceEvents":[]}"#);
    let path = file.to_string_lossy();
    place.fails(2, &["would be overwritten"], &["analyze", &path, "--html", "a.json"]);
    assert_eq!(std::fs::read(&file).expect("the profile"), br#"{"traceEvents":[]}"#);
}

/// `opscope serve` until it is dropped.
#[cfg(unix)]
struct Server {
    child: std::process::Child,
    host: String,
    token: String,
}

#[cfg(unix)]
impl Server {
    fn of(place: &Place, profiles: &[&str]) -> Self {
        use std::io::BufRead;
        let arguments = [&["serve", "--no-open", "--port", "0"], profiles].concat();
        let mut command = place.command(&arguments);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        std::io::BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").expect("the address");
        let (host, token) = address.split_once("/#token=").expect("the token");
        Self { child, host: host.to_owned(), token: token.to_owned() }
    }

    /// Status and body.
    fn get(&self, path: &str) -> (u16, Value) {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(&self.host).unwrap();
        let heads =
            format!("Host: {}\r\nAuthorization: Bearer {}\r\nConnection: close", self.host, self.token);
        write!(stream, "GET {path} HTTP/1.1\r\n{heads}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap())
    }

    fn is_read(&self) -> bool {
        self.get("/api/status").1["profiles"].as_array().unwrap().iter().all(|it| it["state"] == "ready")
    }

    /// Ends it by Ctrl-C, and returns its status.
    fn end(mut self) -> Option<i32> {
        let killed = std::process::Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        self.child.wait().unwrap().code()
    }
}

#[cfg(unix)]
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(unix)]
#[test]
fn a_server_gives_the_answers_of_the_command_line_and_ends_by_ctrl_c() {
    let place = megengine();
    let server = Server::of(&place, &["profile.json"]);
    while !server.is_read() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let without_fingerprint = |(status, mut answer): (u16, Value)| {
        assert_eq!(status, 200, "{answer}");
        let fingerprint = answer.as_object_mut().unwrap().remove("fingerprint").unwrap();
        assert!(fingerprint.as_str().is_some_and(|digits| digits.len() == 8), "{fingerprint}");
        answer
    };
    for (question, options) in [
        ("", &[][..]),
        ("group-by=type&sort=count&top=1", &["--group-by", "type", "--sort", "count", "--top", "1"]),
        ("host", &["--host"]),
        (
            "name=%5Eadd&columns=name,time&type=Elemwise",
            &["--name", "^add", "--columns", "name,time", "--type", "Elemwise"],
        ),
    ] {
        let printed = place.done(&[&["analyze", "profile.json", "--json"], options].concat()).json();
        assert_eq!(
            without_fingerprint(server.get(&format!("/api/0/table?{question}"))),
            printed,
            "{question}"
        );
    }
    let mut advice = without_fingerprint(server.get("/api/0/advice"));
    for finding in advice["findings"].as_array_mut().unwrap() {
        // A page is told how much evidence it isn't given.
        assert_eq!(finding.as_object_mut().unwrap().remove("evidence_left_out"), Some(0.into()));
    }
    assert_eq!(advice, place.done(&["advise", "profile.json", "--json"]).json());
    for wrong in [
        "nothing=1",
        "group-by=colour",
        "help",
        "html=x.html",
        "iteration=9",
        "csv",
        "path=/etc/passwd",
        "-t=1",
    ] {
        let (status, answer) = server.get(&format!("/api/0/table?{wrong}"));
        assert!(status == 400 && answer["error"].is_string(), "{wrong}: {status} {answer}");
    }
    assert!(!place.files().iter().any(|file| file.ends_with(".html")));
    assert_eq!(server.end(), Some(0));
}

#[test]
fn what_cannot_be_served_is_said_at_once() {
    let place = Place::new();
    place.write("damaged.json", "{\"traceEvents\": 7}");
    place.fails(1, &["missing.json"], &["serve", "--no-open", "missing.json"]);
    place.fails(1, &["damaged.json"], &["serve", "--no-open", "damaged.json"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    place.write("profile.json", MEGENGINE);
    place.fails(1, &[&port, "--port"], &["serve", "--no-open", "--port", &port, "profile.json"]);
}

#[test]
fn launches_that_were_read_are_none_of_the_folders_beside_a_profile() {
    let place = Place::new();
    let make = |name: &str| {
        let folder = place.path(name);
        std::fs::create_dir_all(&folder).expect("a new folder");
        folder
    };
    for number in 0..70 {
        let table = "Op Name,Op Type,Task Duration(us),Block Dim,Device Id,\nadd,vector,7.98,2,3,\n";
        let launch = make(&format!("OPPROF_1/add_{number}/0"));
        std::fs::write(launch.join("OpBasicInfo.csv"), table).expect("a new file");
    }
    let losses = || {
        let answer = place.done(&["analyze", "OPPROF_1", "--columns", "name,count", "--json"]).json();
        assert_eq!(answer["rows"][0]["count"], 70, "{answer}");
        let losses = answer["losses"].as_array().expect("losses").clone();
        losses.into_iter().map(|loss| loss["kind"].as_str().expect("a kind").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(losses(), [""; 0]);
    (0..64).for_each(|number| drop(make(&format!("OPPROF_1/notes_{number}"))));
    assert_eq!(losses(), [""; 0]);
    make("OPPROF_1/notes_64");
    assert_eq!(losses(), ["unseen-beside"]);
    // Another profile among many launches is told.
    let requests = "http_rid,start_time(ms),recv_token_size,reply_token_size,execution_time(ms),\
                    queue_wait_time(ms),first_token_latency(ms)\na,1736412474730.5,5,20,45.67,0.5,12.25\n";
    std::fs::write(make("OPPROF_1/notes_1").join("request.csv"), requests).expect("a new file");
    assert_eq!(losses(), ["other-profile", "unseen-beside"]);
}

#[test]
fn single_operators_are_found_by_their_tables_and_told_what_limits_them() {
    let place = Place::new();
    let folder = place.done(&["sample", "opprof", "-o", "runs", "--blocks", "8"]).stdout.trim().to_owned();
    assert!(folder.starts_with("runs/OPPROF_"), "{folder}");
    place.fails(1, &["it is there already"], &["sample", "opprof", "-o", "runs"]);
    // The folder, the one above, a launch's own and one of its tables.
    let (launch, table) =
        (format!("{folder}/add_custom/0"), format!("{folder}/add_custom/0/PipeUtilization.csv"));
    for (path, launches) in [(&*folder, 4), (&launch, 1), (&table, 1)] {
        let answer = place.done(&["analyze", path, "--columns", "name,type,count,time", "--json"]).json();
        assert_eq!(answer["rows"].as_array().map(Vec::len), Some(launches), "{path}: {answer}");
        assert_eq!(answer["losses"], serde_json::json!([]), "{path}");
        let info = place.done(&["info", path]).stdout;
        assert!(info.contains("single operators"), "{info}");
    }
    let said = place.done(&["show", &folder]).stderr;
    assert!(said.contains("no times to draw"), "{said}");
    let report = place.done(&["advise", &folder, "--json"]).json();
    let named = |id: &str| {
        let findings = report["findings"].as_array().expect("findings");
        let finding = findings.iter().find(|finding| finding["id"] == id);
        let evidence = finding.and_then(|finding| finding["evidence"].as_array());
        let names =
            evidence.into_iter().flatten().map(|it| it["name"].as_str().unwrap_or_default().to_owned());
        names.collect::<Vec<_>>()
    };
    for (id, kernels) in [
        ("A19", &["add_custom"][..]),
        ("A35", &["add_custom"]),
        ("A36", &["attention_custom_mix_aic", "matmul_custom"]),
        ("A37", &["gather_rows_custom"]),
        ("A38", &["add_custom"]),
        ("A39", &["matmul_custom"]),
        ("A40", &["gather_rows_custom"]),
        ("A41", &["gather_rows_custom"]),
    ] {
        let mut found = named(id);
        found.sort();
        assert_eq!(found, kernels, "{id}: {report}");
    }
    // An import has the same, with every counter.
    place.done(&["import", &folder, "--db", "kept.db"]);
    let ratio = "SELECT value FROM task_metrics WHERE metric = 'aiv_mte2_ratio' ORDER BY value DESC LIMIT 1";
    let answer = place.done(&["sql", "kept.db", ratio, "--json"]).json();
    let found = answer["rows"][0]["value"].as_f64().unwrap_or(0.0);
    // Times have six digits.
    assert!((found - 0.82).abs() < 1e-4, "{answer}");
    let compared = place.done(&["compare", &folder, "kept.db"]).stdout;
    assert!(compared.contains("1.000x") && compared.contains("4 same"), "{compared}");
    // A list that is cut off is told.
    let pipes = std::fs::read_to_string(place.path(&table)).expect("a table");
    for end in [pipes.len() - 40, pipes.len() / 2, pipes.find('\n').unwrap_or(0) + 1] {
        place.write(&table, &pipes[..end]);
        let answer = place.done(&["analyze", &launch, "--json"]).json();
        assert_ne!(answer["losses"], serde_json::json!([]), "cut at {end}");
    }
    std::fs::remove_file(place.path(&format!("{launch}/OpBasicInfo.csv"))).expect("a table");
    place.fails(1, &["OpBasicInfo.csv", "OPPROF_"], &["analyze", &launch]);
}
