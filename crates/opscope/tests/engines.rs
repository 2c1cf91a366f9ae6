//! Profiles of inference engines and frameworks that tell durations and no starts.

mod common;

use std::fs;

use common::{Place, number};
use serde_json::Value;

/// TensorRT's profile of a small network: two inferences of 100 are summed up.
const TENSORRT: &str = r#"[
  { "count" : 100 }
, { "name" : "Reformatting CopyNode for Input Tensor 0 to conv1 + relu1", "timeMs" : 5, "averageMs" : 0.05, "medianMs" : 0.04, "percentage" : 2.5 }
, { "name" : "conv1 + relu1", "timeMs" : 120, "averageMs" : 1.2, "medianMs" : 1.1, "percentage" : 60 }
, { "name" : "PWN(mish1)", "timeMs" : 75, "percentage" : 37.5 }
]"#;

const TENSORRT_LAYERS: &str = r#"{"Layers": [{
  "Name": "conv1 + relu1", "LayerType": "CaskConvolution",
  "Inputs": [{"Name": "x", "Location": "Device", "Dimensions": [1,3,8,8], "Format/Datatype": "Row major linear FP16"}],
  "Outputs": [{"Name": "y", "Location": "Device", "Dimensions": [1,4,8,8], "Format/Datatype": "Row major linear FP16"}],
  "TacticName": "sm80_xmma", "Metadata": "[ONNX Layer: /a/Conv]\u001e[ONNX Layer: /a/Relu]"
},{
  "Name": "PWN(mish1)", "LayerType": "PointWiseV2", "Inputs": [], "Outputs": [], "Metadata": "[ONNX Layer: /a/Mish]"
},{
  "Name": "weights", "LayerType": "Constant", "Inputs": [], "Outputs": []
}], "Bindings": ["x", "y"]}"#;

fn tensorrt_times() -> String {
    let item = |n: usize| {
        let begin = n as f64 * 2.0;
        format!(
            r#"{{ "startEnqMs" : {}, "endEnqMs" : {}, "startH2dMs" : {}, "endH2dMs" : {}, "startComputeMs" : {}, "endComputeMs" : {}, "startD2hMs" : {}, "endD2hMs" : {}, "h2dMs" : 0.1, "computeMs" : 1.5, "d2hMs" : 0, "latencyMs" : 1.6 }}"#,
            begin,
            begin + 0.1,
            begin + 0.1,
            begin + 0.2,
            begin + 0.2,
            begin + 1.7,
            begin + 1.7,
            begin + 1.7
        )
    };
    format!("[\n{}\n]", (0..10).map(item).collect::<Vec<_>>().join("\n, "))
}

const OPENVINO: &str = "\
layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)
x;Status.NOT_RUN;Parameter;unknown_f32;0.000;0.000
conv1;Status.EXECUTED;Convolution;jit_avx512_f32;1.250;1.200
mish1;Status.EXECUTED;Mish;jit_avx512_f32;0.750;0.750
Total;;;;2.000;1.950

layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)
x;Status.NOT_RUN;Parameter;unknown_f32;0.000;0.000
conv1;Status.EXECUTED;Convolution;jit_avx512_f32;1.750;1.700
mish1;Status.EXECUTED;Mish;jit_avx512_f32;0.250;0.250
Total;;;;2.000;1.950

";

const OPENVINO_GRAPH: &str = r#"<?xml version="1.0"?>
<net name="net" version="11"><layers>
<layer id="0" name="x" type="Input"><data execOrder="0" execTimeMcs="not_executed" originalLayersNames="x" primitiveType="unknown_f32" runtimePrecision="f32"/>
<output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></output></layer>
<layer id="1" name="conv1" type="Convolution"><data execOrder="2" execTimeMcs="1500" originalLayersNames="conv1,relu1" primitiveType="jit_avx512_f32" runtimePrecision="f32"/>
<input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input><output><port id="1" precision="FP32"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="2" name="mish1" type="Mish"><data execOrder="1" execTimeMcs="500" originalLayersNames="mish1" primitiveType="jit_avx512_f32" runtimePrecision="f32"/></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges></net>
"#;

const OPENVINO_JSON: &str = r#"{"report_type": "detailed", "detailed_performance": [
{"nodes": [
 {"name": "x", "node_type": "Parameter", "status": "Status.NOT_RUN", "real_time": "0.000", "cpu_time": "0.000", "exec_type": "unknown"},
 {"name": "conv1", "node_type": "Convolution", "status": "Status.EXECUTED", "real_time": "1.250", "cpu_time": "1.200", "exec_type": "jit"},
 {"name": "mish1", "node_type": "Mish", "status": "Status.EXECUTED", "real_time": "0.750", "cpu_time": "0.750", "exec_type": "jit"}],
 "total_real_time": "2.000", "total_cpu_time": "1.950"},
{"nodes": [
 {"name": "conv1", "node_type": "Convolution", "status": "Status.EXECUTED", "real_time": "1.750", "cpu_time": "1.700", "exec_type": "jit"},
 {"name": "mish1", "node_type": "Mish", "status": "Status.EXECUTED", "real_time": "0.250", "cpu_time": "0.250", "exec_type": "jit"}],
 "total_real_time": "2.000", "total_cpu_time": "1.950"}]}"#;

const TFLITE: &str = "\
Inference timings in us: Init: 1700, First inference: 9000, Warmup (avg): 8000, Inference (avg): 4200
Profiling Info for Benchmark Initialization:
============================== Run Order ==============================
\t             [node type]\t          [start]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]
\t         AllocateTensors\t            0.000\t    1.356\t    0.678\t100.000%\t100.000%\t     0.000\t        2\tAllocateTensors/0

============================== Top by Computation Time ==============================
\t             [node type]\t          [start]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]
\t         AllocateTensors\t            0.000\t    1.356\t    0.678\t100.000%\t100.000%\t     0.000\t        2\tAllocateTensors/0

Timings (microseconds): count=1 curr=1356

Operator-wise Profiling Info for Regular Benchmark Runs:
============================== Run Order ==============================
\t             [node type]\t          [start]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]
\t                 CONV_2D\t            0.066\t    3.100\t    3.000\t 75.000%\t 75.000%\t    64.000\t        1\t[net/conv1/Relu]:0
\t                 SOFTMAX\t            3.100\t    1.000\t    0.500\t 25.000%\t100.000%\t     0.000\t        2\t[net/softmax]:1

============================== Top by Computation Time ==============================
\t             [node type]\t          [start]\t  [first]\t [avg ms]\t     [%]\t  [cdf%]\t  [mem KB]\t[times called]\t[Name]
\t                 CONV_2D\t            0.066\t    3.100\t    3.000\t 75.000%\t 75.000%\t    64.000\t        1\t[net/conv1/Relu]:0

============================== Summary by node type ==============================
\t             [Node type]\t  [count]\t  [avg ms]\t    [avg %]\t    [cdf %]\t  [mem KB]\t[times called]
\t                 CONV_2D\t        1\t     3.000\t    75.000%\t    75.000%\t    64.000\t        1

Timings (microseconds): count=50 first=4100 curr=4000 min=3900 max=4300 avg=4000 std=50
31 nodes observed
";

const TFLITE_CSV: &str = "\
Operator-wise Profiling Info for Regular Benchmark Runs:
============================== Run Order ==============================
node type, first, avg_ms, %, cdf%, mem KB, times called, name
Convolution (NHWC, F32) IGEMM, 3.1, 3.0, 75%, 75%, 0, 1, Delegate/Convolution (NHWC\t F32) IGEMM:0
SOFTMAX, 1.1, 1.0, 25%, 100%, 0, 1, [net/softmax]:1

============================== Top by Computation Time ==============================
node type, first, avg_ms, %, cdf%, mem KB, times called, name
Convolution (NHWC, F32) IGEMM, 3.1, 3.0, 75%, 75%, 0, 1, Delegate/Convolution (NHWC\t F32) IGEMM:0
";

const NCNN: &str = "\
Convolution              conv1                             3.00ms    | [  8,   8,   3 *1] -> [  8,   8,   1 *4]     kernel: 3 x 3     stride: 1 x 1
Mish                     mish1                             1.00ms    |
Convolution              conv1                             4.00ms    | [  8,   8,   3 *1] -> [  8,   8,   1 *4]     kernel: 3 x 3     stride: 1 x 1
Mish                     mish1                             2.00ms    |
";

const BENCHNCNN: &str = "\
loop_count = 8
num_threads = 4
powersave = 0
          squeezenet  min =    8.84  max =    8.89  avg =    8.87
           mobilenet  min =   11.36  max =   11.46  avg =   11.41
";

const MNN: &str = "Sort by node name !\nNode Name \tOp Type \tAvg(ms) \t% \tFlops Rate \t\n\
    conv1 \tConvolution \t3.000000 \t75.0 \t99.0 \t\nmish1 \tMish \t1.000000 \t25.0 \t1.0 \t\n\
    Sort by time cost !\nNode Type \tAvg(ms) \t% \tCalled times \tFlops Rate \t\n\
    Mish \t1.000000 \t25.0 \t1.000000 \t1.0 \t\nConvolution \t3.000000 \t75.0 \t1.000000 \t99.0 \t\n\
    total time : 4.000000 ms, total mflops : 12.000000 \n";

const PYTORCH: &str = "\
-------------  ------------  ------------  ------------  ------------  ------------  ------------  \n\
\x20        Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  \n\
-------------  ------------  ------------  ------------  ------------  ------------  ------------  \n\
 aten::conv2d        75.00%       3.000ms       100.00%       3.500ms       1.750ms             2  \n\
   aten::relu        25.00%       1.000ms        25.00%       1.000ms     500.000us             2  \n\
-------------  ------------  ------------  ------------  ------------  ------------  ------------  \n\
Self CPU time total: 4.000ms\n";

/// The rows that `analyze` answers with.
fn rows(place: &Place, path: &str) -> Vec<(String, f64, f64)> {
    let answer = place.done(&["analyze", path, "--json", "--columns", "name,time,count"]).json();
    let row = |row: &Value| {
        (row["name"].as_str().expect("a name").to_owned(), number(row, "/time_ns"), number(row, "/count"))
    };
    let mut rows: Vec<_> = answer["rows"].as_array().expect("rows").iter().map(row).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

fn overview(place: &Place, path: &str) -> Value {
    place.done(&["analyze", path, "--json"]).json()["overview"].clone()
}

/// Asserts that a profile without starts is as each has to be: known by its content, told as such, and drawn nowhere.
fn draws_nothing(place: &Place, path: &str, kind: &str) {
    let info = place.done(&["info", path]).stdout;
    assert!(info.contains(kind), "{info}");
    let overview = overview(place, path);
    assert!(overview["wall_ns"].is_null() && overview["idle_ns"].is_null(), "{overview}");
    let text = place.done(&["analyze", path]).stdout;
    assert!(text.contains("no times to draw") && !text.contains("wall time"), "{text}");
    place.fails(1, &["no timeline was written", "no times to draw"], &["import", path, "--trace", "t.json"]);
    assert!(!place.path("t.json").exists());
    place.done(&["report", path, "-o", "page.html"]);
    let html = fs::read_to_string(place.path("page.html")).expect("a page");
    let (answers, _) = common::report(&html);
    assert_eq!(answers["left_out"]["slices"], 0, "a slice would be drawn");
    assert_eq!(answers["overview"]["summed_runs"], overview["summed_runs"], "the page tells a mean as that");
    let notes = answers["about"]["notes"].to_string();
    assert!(notes.contains("no times to draw"), "{notes}");
    place.done(&["advise", path]);
    place.done(&["show", path]);
}

#[test]
fn a_profile_of_tensorrt_is_the_mean_of_its_inferences_and_knows_onnx_nodes_by_the_layers_beside_it() {
    let place = Place::new();
    place.write("p.json", TENSORRT);
    let alone = rows(&place, "p.json");
    let times: Vec<_> = alone.iter().map(|row| (row.1, row.2)).collect();
    assert_eq!(times, [(750_000.0, 1.0), (50_000.0, 1.0), (1_200_000.0, 1.0)], "{alone:?}");
    let whole = overview(&place, "p.json");
    assert_eq!((number(&whole, "/operator_time_ns"), number(&whole, "/summed_runs")), (2_000_000.0, 100.0));
    assert_eq!(number(&whole, "/iterations"), 1.0);
    let text = place.done(&["analyze", "p.json"]).stdout;
    assert!(text.contains("the mean of 100 inferences"), "{text}");
    let text = place.done(&["import", "p.json"]).stdout;
    assert!(text.contains("mean 2.00 ms of 100 inferences"), "{text}");
    draws_nothing(&place, "p.json", "a profile of TensorRT");

    fs::create_dir(place.path("run")).unwrap();
    place.write("run/p.json", TENSORRT);
    place.write("run/layers.json", TENSORRT_LAYERS);
    place.write("run/times.json", tensorrt_times());
    for path in ["run/p.json", "run"] {
        let answer = place.done(&["analyze", path, "--group-by", "type", "--json"]).json();
        let types: Vec<_> =
            answer["rows"].as_array().unwrap().iter().map(|row| row["type"].as_str()).collect();
        assert_eq!(types, [Some("CaskConvolution"), Some("PointWiseV2"), Some("Reformat")], "{path}");
        place.write(
            "ort.json",
            onnx_runtime(&[("/a/Conv", "Conv", 2_000), ("/a/Relu", "Relu", 500), ("/a/Mish", "Mish", 700)]),
        );
        let compared = place.done(&["compare", "ort.json", path, "--json"]).json();
        assert!(
            number(&compared, "/matched/before") > 0.999 && number(&compared, "/matched/after") > 0.9,
            "{compared}"
        );
        let answer = place.done(&["analyze", path, "--json"]).json();
        assert_eq!(number(&answer, "/overview/operator_time_ns"), 2_000_000.0);
        assert_eq!(number(&answer, "/latency/iterations"), 10.0, "{answer}");
        assert_eq!(number(&answer, "/latency/median_ns"), 1_600_000.0);
        let kinds: Vec<_> =
            answer["losses"].as_array().unwrap().iter().map(|loss| loss["kind"].as_str()).collect();
        assert_eq!(kinds, [Some("layer-not-described"), Some("layer-not-profiled")], "{path}");
    }
    // Beside the profile of another network, layers are left out.
    fs::create_dir(place.path("other")).unwrap();
    place.write("other/p.json", TENSORRT.replace("conv1", "conv7").replace("mish1", "mish7"));
    place.write("other/layers.json", TENSORRT_LAYERS);
    let answer = place.done(&["analyze", "other", "--json"]).json();
    assert_eq!(answer["losses"][0]["kind"], "other-network", "{answer}");
    let refused = place.fails(1, &["put it beside the profile"], &["analyze", "run/layers.json"]);
    assert!(refused.stderr.contains("the layers of a TensorRT engine"), "{}", refused.stderr);
}

#[test]
fn layers_of_an_engine_are_told_as_such_and_not_as_damage_whatever_their_name() {
    let place = Place::new();
    place.write("layers.json", TENSORRT_LAYERS);
    // The names alone, under a name that the converter of boards gives as well.
    place.write("layer.json", r#"{"Layers": ["conv", "sp", "mul"], "Bindings": ["x"]}"#);
    for file in ["layers.json", "layer.json"] {
        let text = place.done(&["info", file]).stdout;
        assert!(text.contains("the layers of a TensorRT engine") && text.contains("trtexec"), "{text}");
        assert!(!text.contains("damaged"), "{text}");
        let json = place.done(&["info", file, "--json"]).json();
        assert!(json["content"]["layers"] == 3 && json["problem"].is_null(), "{json}");
    }
    place.write("cut.json", &TENSORRT_LAYERS[..30]);
    let cut = place.run(&["info", "cut.json"]);
    assert_eq!(cut.status, Some(1), "{}", cut.stdout);
}

#[test]
fn the_times_of_tensorrts_inferences_are_drawn() {
    let place = Place::new();
    place.write("times.json", tensorrt_times());
    let rows = rows(&place, "times.json");
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!((rows[0].0.as_str(), rows[0].1, rows[0].2), ("computing", 1_500_000.0, 10.0));
    assert_eq!((rows[1].0.as_str(), rows[1].1, rows[1].2), ("copy to the device", 100_000.0, 10.0));
    let whole = overview(&place, "times.json");
    assert_eq!((number(&whole, "/iterations"), number(&whole, "/wall_ns")), (10.0, 1_600_000.0));
    place.done(&["import", "times.json", "--trace", "t.json", "--db", "t.db"]);
    let drawn = place.done(&["analyze", "t.json", "--json"]).json();
    assert_eq!(number(&drawn, "/overview/tasks"), 20.0);
}

#[test]
fn openvinos_counters_are_a_mean_inference_and_know_the_layers_of_the_graph_beside_them() {
    let place = Place::new();
    for (path, text) in [("c.csv", OPENVINO), ("c.json", OPENVINO_JSON)] {
        place.write(path, text);
        let found = rows(&place, path);
        assert_eq!(found[0].0, "conv1");
        assert_eq!((found[0].1, found[0].2, found[1].1), (1_500_000.0, 1.0, 500_000.0), "{path}");
        let whole = overview(&place, path);
        assert_eq!((number(&whole, "/iterations"), number(&whole, "/operator_time_ns")), (1.0, 2_000_000.0));
        let text = place.done(&["analyze", path]).stdout;
        assert!(
            text.contains("the mean of inferences, of which the profile doesn't tell how many"),
            "{text}"
        );
        let info = place.done(&["info", path]).stdout;
        assert!(info.contains("2 sections of the counters tell different means"), "{info}");
        draws_nothing(&place, path, "a profile of OpenVINO");
    }
    fs::create_dir(place.path("run")).unwrap();
    place.write("run/graph.xml", OPENVINO_GRAPH);
    place.write("run/benchmark_report.csv", "Command line parameters\n-m;net.onnx\n");
    place.write("run/counters.csv", OPENVINO);
    place.write("graph.xml", OPENVINO_GRAPH);
    for (path, time) in [("run", 1_500_000.0), ("run/counters.csv", 1_500_000.0), ("graph.xml", 1_500_000.0)]
    {
        assert_eq!(rows(&place, path)[0].1, time, "{path}");
        // ONNX Runtime runs the same network as three nodes: two of them are one here.
        place.write(
            "ort.json",
            onnx_runtime(&[("conv1", "Conv", 2_000), ("relu1", "Relu", 500), ("mish1", "Mish", 700)]),
        );
        let compared = place.done(&["compare", "ort.json", path, "--json"]).json();
        let groups = compared["groups"].as_array().unwrap();
        let merged =
            groups.iter().find(|group| group["before"].as_array().is_some_and(|side| side.len() == 2));
        assert!(merged.is_some(), "{path}: {compared}");
        assert_eq!(
            (number(&compared, "/before_ns"), number(&compared, "/after_ns")),
            (3_200_000.0, 2_000_000.0)
        );
    }
    draws_nothing(&place, "graph.xml", "an executable graph of OpenVINO");
}

#[test]
fn requests_that_share_a_stream_of_openvinos_are_no_scatter_to_test_against() {
    let place = Place::new();
    let section = |real: &str| {
        format!(
            "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\n\
             conv1;Status.EXECUTED;Convolution;jit_avx512_f32;{real};{real}\nTotal;;;;{real};{real}\n\n"
        )
    };
    place.write("before.csv", section("1.000").repeat(4));
    place.write("after.csv", section("0.950").repeat(4));
    let compared = place.done(&["compare", "before.csv", "after.csv"]).stdout;
    assert!(
        compared.contains("says nothing about noise") && !compared.contains("beyond noise"),
        "{compared}"
    );
}

#[test]
fn nodes_by_time_beside_the_other_counters_of_a_run_of_openvinos_are_named_and_left_out() {
    let place = Place::new();
    fs::create_dir(place.path("run")).unwrap();
    let nodes = |names: &[&str]| {
        let node = |name: &&str| {
            format!(
                r#"{{"name": "{name}", "node_type": "Relu", "status": "Status.EXECUTED", "real_time": "1.000", "cpu_time": "1.000", "exec_type": "jit"}}"#
            )
        };
        names.iter().map(node).collect::<Vec<_>>().join(", ")
    };
    let report = |kind: &str, names: &[&str]| {
        format!(r#"{{"report_type": "{kind}", "avg_performance": {{"nodes": [{}]}}}}"#, nodes(names))
    };
    place.write("run/average.json", report("average", &["last"]));
    place.write("run/sorted.json", report("sorted", &["last", "first"]));
    assert_eq!(rows(&place, "run").len(), 2, "averages of one node lack the others");
    let info = place.done(&["info", "run"]).stderr;
    assert!(info.contains("average.json tells of the same run as sorted.json and was left out"), "{info}");
    place.write("run/sorted.json", report("sorted", &["other"]));
    place.fails(1, &["there are 2 profiles of OpenVINO here"], &["analyze", "run"]);
}

/// A session of ONNX Runtime with one inference of the given nodes: name, type, microseconds.
fn onnx_runtime(nodes: &[(&str, &str, u64)]) -> String {
    let mut start = 1_000;
    let mut events = Vec::new();
    for (place, (name, op_type, micros)) in nodes.iter().enumerate() {
        events.push(format!(
            r#"{{"cat": "Node", "pid": 7, "tid": 7, "dur": {micros}, "ts": {start}, "ph": "X", "name": "{name}_kernel_time", "args": {{"op_name": "{op_type}", "provider": "CPUExecutionProvider", "node_index": "{place}"}}}}"#
        ));
        start += micros;
    }
    let run = |name: &str| {
        let length = start - 1_000;
        format!(
            r#"{{"cat": "Session", "pid": 7, "tid": 7, "dur": {length}, "ts": 1000, "ph": "X", "name": "{name}", "args": {{}}}}"#
        )
    };
    format!("[\n{},\n{},\n{}\n]", events.join(",\n"), run("SequentialExecutor::Execute"), run("model_run"))
}

#[test]
fn tensorflow_lites_run_order_is_a_mean_inference_and_its_other_sections_count_nothing() {
    let place = Place::new();
    place.write("t.txt", TFLITE);
    let found = rows(&place, "t.txt");
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!((found[0].0.as_str(), found[0].1, found[0].2), ("net/conv1/Relu", 3_000_000.0, 1.0));
    assert_eq!((found[1].0.as_str(), found[1].1, found[1].2), ("net/softmax", 1_000_000.0, 2.0));
    let whole = overview(&place, "t.txt");
    assert_eq!((number(&whole, "/summed_runs"), number(&whole, "/operator_time_ns")), (50.0, 4_000_000.0));
    let text = place.done(&["import", "t.txt"]).stdout;
    assert!(text.contains("mean 4.20 ms of 50 inferences"), "the stated mean: {text}");
    let calls = place.done(&["analyze", "t.txt", "--host", "--json"]).json();
    assert_eq!(number(&calls, "/rows/0/time_ns"), 1_356_000.0, "{calls}");
    draws_nothing(&place, "t.txt", "a profile of TensorFlow Lite");

    place.write("t.csv", TFLITE_CSV);
    let found = rows(&place, "t.csv");
    assert_eq!(found[0].0, "Delegate/Convolution (NHWC, F32) IGEMM:0");
    assert_eq!((found[0].1, found[1].1), (3_000_000.0, 1_000_000.0));
    let types = place.done(&["analyze", "t.csv", "--group-by", "type", "--json"]).json();
    assert_eq!(types["rows"][0]["type"], "Convolution (NHWC, F32) IGEMM", "{types}");
    draws_nothing(&place, "t.csv", "a profile of TensorFlow Lite");
}

#[test]
fn tensorflow_lites_message_tells_what_its_text_does() {
    /// A field that holds bytes.
    fn field(number: u8, content: &[u8]) -> Vec<u8> {
        assert!(content.len() < 0x80 * 0x80);
        let length = match content.len() {
            length @ ..0x80 => vec![length as u8],
            length => vec![length as u8 | 0x80, (length >> 7) as u8],
        };
        [vec![number << 3 | 2], length, content.to_vec()].concat()
    }
    let operator = |op_type: &str, name: &str, sum: u8, place: u8| {
        let stat = [8 << 3, sum, 9 << 3, 2];
        let fields = [
            field(1, op_type.as_bytes()),
            field(2, &stat),
            vec![4 << 3, 1],
            field(5, name.as_bytes()),
            vec![6 << 3, place],
        ];
        field(3, &fields.concat())
    };
    let graph = [operator("CONV_2D", "[conv1]:0", 61, 0), operator("SOFTMAX", "[softmax]:1", 20, 1)].concat();
    let message = [field(1, b"net.tflite"), field(3, &field(1, &graph))].concat();
    let place = Place::new();
    place.write("profile.pb", &message);
    let found = rows(&place, "profile.pb");
    assert_eq!(found[0], ("conv1".to_owned(), 30_500.0, 1.0));
    assert_eq!(found[1], ("softmax".to_owned(), 10_000.0, 1.0));
    assert_eq!(number(&overview(&place, "profile.pb"), "/summed_runs"), 2.0);
    draws_nothing(&place, "profile.pb", "a profile of TensorFlow Lite as a protocol buffer");
    place.write("cut.pb", &message[..message.len() - 9]);
    let answer = place.done(&["analyze", "cut.pb", "--json"]).json();
    assert_eq!(answer["losses"][0]["severity"], "lost", "{answer}");
    assert_eq!(rows(&place, "cut.pb")[0].1, 30_500.0);
}

#[test]
fn layers_of_ncnn_and_nodes_of_mnn_have_their_times() {
    let place = Place::new();
    place.write("ncnn.txt", NCNN);
    place.write("mnn.txt", MNN);
    let ncnn = rows(&place, "ncnn.txt");
    assert_eq!((ncnn[0].1, ncnn[0].2, ncnn[1].1), (3_500_000.0, 2.0, 1_500_000.0));
    let whole = overview(&place, "ncnn.txt");
    assert_eq!((number(&whole, "/iterations"), number(&whole, "/operator_time_ns")), (2.0, 5_000_000.0));
    let mnn = rows(&place, "mnn.txt");
    assert_eq!(mnn.iter().map(|row| row.1).collect::<Vec<_>>(), [3_000_000.0, 1_000_000.0]);
    draws_nothing(&place, "ncnn.txt", "a profile of ncnn");
    draws_nothing(&place, "mnn.txt", "a profile of MNN");
    let compared = place.done(&["compare", "ncnn.txt", "mnn.txt", "--json"]).json();
    assert_eq!((number(&compared, "/before_ns"), number(&compared, "/after_ns")), (5_000_000.0, 4_000_000.0));
    assert!(compared["difference"].is_null(), "nobody knows the spread of a mean: {compared}");
    assert_eq!(compared["durations_alone"], serde_json::json!({ "before": true, "after": true }));
    let text = place.done(&["compare", "ncnn.txt", "mnn.txt"]).stdout;
    assert!(text.contains("Both tell durations and no starts"), "{text}");
}

#[test]
fn benchmarks_of_networks_are_an_inference_each() {
    let place = Place::new();
    place.write("b.txt", BENCHNCNN);
    let answer = place.done(&["import", "b.txt", "--json"]).json();
    let models = answer["models"].as_array().expect("models");
    assert_eq!(models.len(), 2, "{answer}");
    let means: Vec<_> = models.iter().map(|model| number(model, "/latency/mean_ns")).collect();
    assert_eq!(means, [8_870_000.0, 11_410_000.0]);
    let stated = place.done(&["analyze", "b.txt"]).stdout;
    assert!(stated.contains("longest inference") && stated.contains("mobilenet"), "{stated}");
    place.fails(1, &["no timeline was written"], &["import", "b.txt", "--trace", "t.json"]);
}

#[test]
fn the_table_of_pytorchs_profiler_has_an_execution_for_each_call() {
    let place = Place::new();
    place.write("table.txt", PYTORCH);
    let found = rows(&place, "table.txt");
    assert_eq!(found[0], ("aten::conv2d".to_owned(), 3_000_000.0, 2.0));
    assert_eq!(found[1], ("aten::relu".to_owned(), 1_000_000.0, 2.0));
    draws_nothing(&place, "table.txt", "a table of PyTorch's profiler");
}

/// All samples: name and content.
fn samples() -> Vec<(&'static str, String)> {
    let times = tensorrt_times();
    let of = |(name, text): (&'static str, &str)| (name, text.to_owned());
    [
        ("tensorrt.json", TENSORRT),
        ("times.json", &times),
        ("openvino.csv", OPENVINO),
        ("openvino.json", OPENVINO_JSON),
        ("graph.xml", OPENVINO_GRAPH),
        ("tflite.txt", TFLITE),
        ("tflite.csv", TFLITE_CSV),
        ("ncnn.txt", NCNN),
        ("benchncnn.txt", BENCHNCNN),
        ("mnn.txt", MNN),
        ("pytorch.txt", PYTORCH),
    ]
    .into_iter()
    .map(of)
    .collect()
}

#[test]
fn what_is_cut_off_is_read_as_far_as_it_goes() {
    let place = Place::new();
    for (name, text) in samples() {
        for share in 1..12 {
            let cut = &text[..text.len() * share / 12];
            place.write("cut", cut);
            let answer = place.run(&["analyze", "cut", "--json"]);
            assert!(!answer.stderr.contains("panicked"), "{name} {share}: {}", answer.stderr);
            match answer.status {
                Some(0) => {
                    // Text that tells no end, of lines that are whole, may be all there was.
                    let has_no_end =
                        matches!(name, "ncnn.txt" | "benchncnn.txt" | "mnn.txt") && cut.ends_with('\n');
                    let losses = answer.json()["losses"].as_array().expect("losses").len();
                    assert!(losses > 0 || has_no_end || is_whole(name, cut), "{name} {share}: {cut}");
                }
                status => assert!(
                    status == Some(1) && answer.stderr.contains("error: "),
                    "{name}: {}",
                    answer.stderr
                ),
            }
        }
    }
}

/// Whether a cut took only what sums up the rest.
fn is_whole(name: &str, cut: &str) -> bool {
    match name {
        "tflite.txt" => cut.contains("Operator-wise") && cut.matches("= Top by").count() == 2,
        "tflite.csv" => cut.contains("= Top by"),
        "graph.xml" => cut.contains("</edges>"),
        "mnn.txt" => cut.contains("Sort by time cost"),
        "pytorch.txt" => cut.matches("\n--").count() == 2,
        "openvino.csv" => cut.ends_with("1.950") || cut.ends_with("1.950\n"),
        _ => false,
    }
}

#[test]
fn odd_values_and_names_cost_their_own_rows_only() {
    let place = Place::new();
    let long = "x".repeat(1 << 20);
    let odd = [
        ("t.json", TENSORRT.replace("1.2,", "-1.2,")),
        ("t.json", TENSORRT.replace("1.2,", "1e300,")),
        ("t.json", TENSORRT.replace("1.2,", "\"fast\",").replace("120,", "null,")),
        ("o.csv", OPENVINO.replace("1.250;", "nan;")),
        ("o.csv", OPENVINO.replace(";1.250;1.200", "")),
        ("g.xml", OPENVINO_GRAPH.replace("\"1500\"", "\"-3\"")),
        ("f.txt", TFLITE.replace("    3.000\t 75", "    inf\t 75")),
        ("p.txt", PYTORCH.replace("3.000ms", "   fast")),
        ("n.txt", NCNN.replace("3.00ms", "-3.00ms")),
        ("m.txt", MNN.replace("3.000000 \t75", "x \t75")),
    ];
    for (name, text) in odd {
        place.write(name, &text);
        let answer = place.done(&["analyze", name, "--json"]).json();
        let losses = answer["losses"].as_array().unwrap();
        let lost = losses.iter().any(|loss| loss["severity"] == "lost");
        assert!(lost && number(&answer, "/overview/tasks") > 0.0, "{name}: {answer}");
    }
    for (name, text) in samples() {
        let text = text.replace("conv1", &long);
        place.write(name, &text);
        let answer = place.run(&["analyze", name]);
        assert!(answer.stdout.len() < 100_000 && !answer.stderr.contains("panicked"), "{name}");
    }
}

#[test]
fn several_profiles_in_a_folder_are_named() {
    let place = Place::new();
    fs::create_dir(place.path("runs")).unwrap();
    place.write("runs/a.json", TENSORRT);
    place.write("runs/b.json", TENSORRT.replace("120", "130"));
    place.write("runs/notes.txt", "two runs");
    place.fails(1, &["2 profiles of TensorRT", "a.json", "b.json"], &["analyze", "runs"]);
    assert_eq!(rows(&place, "runs/a.json").len(), 3);
}

#[test]
fn one_of_several_networks_can_be_chosen_and_several_are_not_averaged_untold() {
    let place = Place::new();
    let text = |squeeze: f64, mobile: f64| {
        let line =
            |name: &str, ms: f64| format!("{name:>20}  min = {ms:7.2}  max = {ms:7.2}  avg = {ms:7.2}\n");
        format!("loop_count = 8\n{}{}", line("squeezenet", squeeze), line("mobilenet", mobile))
    };
    place.write("a.txt", text(3.0, 50.0));
    place.write("b.txt", text(3.9, 50.0));
    let check = ["check", "--baseline", "a.txt", "--candidate", "b.txt"];
    let mixed = place.run(&check);
    assert!(mixed.stderr.contains("2 models (squeezenet, mobilenet)"), "{}", mixed.stderr);
    assert!(mixed.stderr.contains("--network"), "{}", mixed.stderr);
    let of = |network: &str| place.run(&[&check[..], &["--network", network]].concat());
    assert_eq!((of("squeezenet").status, of("mobilenet").status), (Some(1), Some(0)));
    assert!(!of("mobilenet").stderr.contains("averaged"), "{}", of("mobilenet").stderr);
    let compared = place.done(&["compare", "a.txt", "b.txt", "--network", "squeezenet"]).stdout;
    assert!(compared.contains("+30.0 %"), "{compared}");
    place.fails(
        2,
        &["no inferences of a model 'vgg'", "squeezenet, mobilenet"],
        &["analyze", "a.txt", "--network", "vgg"],
    );
}

#[test]
fn runs_behind_the_first_of_a_text_are_told_and_change_nothing() {
    let place = Place::new();
    for (name, text) in samples().into_iter().filter(|(name, _)| ["tflite.txt", "mnn.txt"].contains(name)) {
        place.write(name, &text);
        place.write("twice.txt", [&text[..], &text].concat());
        assert_eq!(rows(&place, "twice.txt"), rows(&place, name), "{name}");
        let told = place.done(&["analyze", "twice.txt", "--json"]).json();
        let further = told["losses"].as_array().unwrap().iter().filter(|it| it["kind"] == "further-run");
        assert_eq!(further.count(), 1, "{name}: {:#}", told["losses"]);
    }
}

/// The operators' time of a profile, and the kinds of its losses with what each tells.
fn time_and_losses(place: &Place, path: &str) -> (f64, Vec<(String, String)>) {
    let answer = place.done(&["analyze", path, "--json"]).json();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let losses = answer["losses"].as_array().expect("losses").iter();
    let losses = losses.map(|loss| (text(loss, "kind"), text(loss, "detail"))).collect();
    (number(&answer, "/overview/operator_time_ns"), losses)
}

#[test]
fn names_with_semicolons_are_whole_in_counters_of_openvinos_and_the_nodes_by_time_tell_the_same() {
    let place = Place::new();
    fs::create_dir(place.path("run")).unwrap();
    let (conv, pool) = ("model/conv0/BiasAdd;model/conv0/Conv2D", "a;b;c");
    let average = format!(
        "layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)\n\
         x;y;Status.NOT_RUN;Parameter;unknown;0.000;0.000\n\
         {conv};Status.EXECUTED;Convolution;jit;1.250;1.200\n\
         {pool};Status.EXECUTED;Pooling;jit;0.750;0.750\n\
         Total;;;;2.000;1.950\n\n"
    );
    let sorted = format!(
        "layerName,execStatus,layerType,execType,realTime (ms),cpuTime (ms),\"proportion (%)\n\"\n\
         {conv},Status.EXECUTED,Convolution,jit,1.250,1.200,62.50%\n\
         {pool},Status.EXECUTED,Pooling,jit,0.750,0.750,37.50%\n\
         x;y,Status.NOT_RUN,Parameter,unknown,0.000,0.000,0.00%\n\n\
         Total time: 2.00 milliseconds\nTotal CPU time: 1.95 milliseconds\n\n\n"
    );
    place.write("run/benchmark_average_counters_report.csv", &average);
    place.write("run/benchmark_sorted_report.csv", &sorted);
    place.write("average.csv", average);
    place.write("sorted.csv", sorted);
    let expected = [(pool, 750_000.0), (conv, 1_250_000.0)];
    for path in ["average.csv", "sorted.csv", "run"] {
        let found = rows(&place, path);
        let found: Vec<_> = found.iter().map(|(name, time, _)| (name.as_str(), *time)).collect();
        assert_eq!(found, expected, "{path}");
        let (time, losses) = time_and_losses(&place, path);
        assert_eq!(time, 2_000_000.0, "{path}");
        assert_eq!(losses, [("layer-not-run".to_owned(), "nodes".to_owned())], "{path}");
    }
    let told = place.done(&["info", "run"]).stderr;
    assert!(told.contains("benchmark_sorted_report.csv tells of the same run"), "{told}");
}

/// A table of PyTorch's of a device: name, own times of processor and device, calls.
fn table_of_device(rows: &[[&str; 4]]) -> String {
    let dashes = "------------  ".repeat(6) + "\n";
    let line = |cells: [&str; 6]| cells.map(|cell| format!("{cell:>12}  ")).concat() + "\n";
    let headings = line(["Name", "Self CPU %", "Self CPU", "CPU total", "Self CUDA", "# of Calls"]);
    let share = |cpu: &str| if cpu == "0.000us" { "0.00%" } else { "9.00%" };
    let rows: String = rows
        .iter()
        .map(|[name, cpu, device, calls]| line([name, share(cpu), cpu, cpu, device, calls]))
        .collect();
    let totals = "Self CPU time total: 6.000ms\nSelf CUDA time total: 11.000ms\n";
    format!("{dashes}{headings}{dashes}{rows}{dashes}{totals}")
}

#[test]
fn a_table_of_pytorchs_with_few_rows_counts_no_time_of_a_device_twice_and_tells_what_lacks() {
    let place = Place::new();
    let all = [
        ["model", "2.000ms", "0.000us", "1"],
        ["aten::conv", "3.000ms", "10.000ms", "20"],
        ["aten::relu", "1.000ms", "1.000ms", "20"],
        ["gemm", "0.000us", "6.000ms", "20"],
        ["im2col", "0.000us", "4.000ms", "20"],
        ["relu_k", "0.000us", "1.000ms", "20"],
    ];
    let lacks = |time: &str| ("rows-not-printed".to_owned(), format!("{time} ms of the device's time total"));
    place.write("all.txt", table_of_device(&all));
    assert_eq!(time_and_losses(&place, "all.txt"), (11_000_000.0, vec![]));
    place.write("some.txt", table_of_device(&[all[0], all[1], all[2], all[4]]));
    assert_eq!(time_and_losses(&place, "some.txt"), (4_000_000.0, vec![lacks("7.000")]));
    // No row that was printed has a time of the device: the host's times are none of it.
    place.write("host.txt", table_of_device(&all[..1]));
    let (time, losses) = time_and_losses(&place, "host.txt");
    assert_eq!((time, losses.contains(&lacks("11.000"))), (0.0, true), "{losses:?}");
    let text = place.done(&["analyze", "host.txt"]).stdout;
    assert!(text.contains("11.000 ms of the device's time total"), "{text}");
    let calls = place.done(&["analyze", "host.txt", "--host", "--json"]).json();
    assert_eq!(number(&calls, "/rows/0/time_ns"), 2_000_000.0, "{calls}");
}

#[test]
fn a_long_log_above_a_table_hides_it_only_beyond_what_is_looked_at() {
    let place = Place::new();
    let log = "2026-11-29 10:11:12 step done, loss 0.25\n".repeat(15_000);
    place.write("table.txt", format!("{log}{PYTORCH}"));
    assert_eq!(time_and_losses(&place, "table.txt").0, 4_000_000.0);
    place.write("lite.txt", format!("{log}{TFLITE}"));
    assert_eq!(time_and_losses(&place, "lite.txt").0, 4_000_000.0);
    fs::create_dir_all(place.path("runs/monday")).unwrap();
    place.write("runs/monday/lite.txt", format!("{log}{TFLITE}"));
    assert_eq!(time_and_losses(&place, "runs").0, 4_000_000.0, "in a folder as well");
    place.write("long.txt", format!("{}{PYTORCH}", log.repeat(30)));
    place.fails(1, &["text (opscope looked at the first 16 MiB of it", "cut off"], &["analyze", "long.txt"]);
    fs::create_dir(place.path("long")).unwrap();
    fs::rename(place.path("long.txt"), place.path("long/run.log")).unwrap();
    place.write("long/short.log", log.repeat(2));
    let said = place.fails(1, &["looked at the first 16 MiB", "cut off"], &["analyze", "long"]).stderr;
    assert!(said.contains("long/run.log") && !said.contains("short.log"), "{said}");
    // A log that goes on for longer is known by its beginning.
    let stacks = "main;run;conv 3\nmain;run;pool 2\n".repeat(600_000);
    fs::create_dir(place.path("stacks")).unwrap();
    place.write("stacks/out.txt", stacks);
    assert!(place.done(&["info", "stacks"]).stdout.contains("a text of folded stacks"));
}

#[test]
fn a_table_of_pytorchs_in_seconds_says_that_they_are_too_coarse_for_what_it_prints_as_nothing() {
    let place = Place::new();
    place.write("seconds.txt", PYTORCH.replace("3.000ms", " 0.003s").replace("1.000ms", " 0.000s"));
    let expected = vec![("rounded-to-nothing".to_owned(), "rows".to_owned())];
    assert_eq!(time_and_losses(&place, "seconds.txt"), (3_000_000.0, expected));
    let text = place.done(&["analyze", "seconds.txt"]).stdout;
    assert!(text.contains("its unit is too coarse"), "{text}");
}
