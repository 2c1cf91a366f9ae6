//! Models of other kinds than ONNX: what they are, what was fused, advice with them, and what can't be done.

mod common;

use common::{Place, number};
use opscope_testing::ge_dump::{self, Level};
use opscope_testing::om_file::{Form, small, small_graph};
use opscope_testing::{caffe_file, megengine_file, tflite_file};

/// Two inferences of the small model that `om_file` makes.
const PROFILE: &str = "\
Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)
0,1,1,3,trans_TransData_0,TransData,AI_CORE,100,10,0
0,1,2,3,conv/relu,Conv2D,AI_CORE,110,30,0
0,1,3,3,add,Add,AI_CORE,140,5,0
";

fn om() -> Place {
    let place = Place::new();
    place.write("model.om", small(Form::New));
    place.write("op_summary_0.csv", PROFILE);
    place
}

#[test]
fn an_offline_model_is_described_by_its_compilation_operators_and_sizes() {
    let place = om();
    let text = place.done(&["info", "model.om"]).stdout;
    for words in [
        "an offline model of Ascend (.om)",
        "Ascend310B4",
        "made from",
        "3 nodes: Add 1, Conv2D 1, TransData 1",
        "image:0 float16 [1,3,8,8]",
        "1 operator of 2 before",
        "AIcoreEngine 3",
        "workspace  4.50 KiB",
        "needed by  conv/relu",
        "graph",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    assert!(!text.contains("ai.onnx") && !text.contains("missing"), "{text}");
    let json = place.done(&["info", "model.om", "--nodes", "--json"]).json();
    assert_eq!(json["kind"], "an offline model of Ascend (.om)");
    assert_eq!(number(&json, "/content/memory_bytes"), 11_275_776.0);
    assert_eq!(number(&json, "/content/weights/elements"), 224.0);
    let nodes = json["nodes"]["rows"].as_array().or(json["nodes"].as_array()).expect("the nodes");
    let conv = nodes.iter().find(|node| node["name"] == "conv/relu").expect("the convolution");
    assert_eq!((conv["flops"].as_u64(), conv["parameters"].as_u64()), (Some(8 * 64 * 55), Some(224)));
    // A file that is cut off says what it lacks, and what it has is shown.
    let whole = small(Form::Old);
    place.write("cut.om", &whole[..whole.len() - 100]);
    let text = place.done(&["info", "cut.om"]).stdout;
    assert!(text.contains("lost") && text.contains("cut off") && text.contains("Conv2D 1"), "{text}");
    place.write("head.om", &whole[..300]);
    place.fails(1, &[], &["info", "head.om"]);
    place.fails(1, &["head.om", "offset"], &["fusion", "head.om"]);
}

#[test]
fn an_offline_model_says_itself_what_was_fused() {
    let place = om();
    let text = place.done(&["fusion", "model.om"]).stdout;
    assert!(text.contains("made 3 operators of 3 before: 1 stand for 2 of them"), "{text}");
    assert!(text.contains("of: conv + relu") && text.contains("by: TbeConvReluFusionPass"), "{text}");
    let text = place.done(&["fusion", "model.om", "--all"]).stdout;
    assert!(text.contains("trans_TransData_0  added"), "{text}");
    let all = place.done(&["fusion", "model.om", "--json"]).json();
    let listed = |kind: &str| all["fused"][kind].as_array().unwrap().len() as u64;
    assert_eq!(
        Some(listed("fused") + listed("single") + listed("added")),
        all["fused"]["operators"].as_u64()
    );
    let single = all["fused"]["single"][0]["name"].as_str().expect("an operator that stands for one");
    assert!(text.contains(single), "{text}");
    let json = place.done(&["fusion", "model.om", "--json"]).json();
    assert_eq!(json["fused"]["fused"][0]["of_types"], serde_json::json!(["Conv2D", "Relu"]));
    assert_eq!(json["fused"]["added"][0]["name"], "trans_TransData_0");
    assert!(json.get("chains").is_none(), "chains are of models that are yet to be converted");
    place.fails(2, &["converted already"], &["fusion", "model.om", "--switch-file", "switch.cfg"]);
}

#[test]
fn advice_on_a_profile_is_joined_with_the_model_that_ran() {
    let place = om();
    let answer = place.done(&["advise", "op_summary_0.csv", "--model", "model.om"]);
    assert!(!answer.stderr.contains("is it another model?"), "{}", answer.stderr);
    let answer = place.done(&["advise", "model.om", "--json"]);
    assert!(answer.json()["findings"].is_array());
    place.done(&["report", "op_summary_0.csv", "--model", "model.om", "-o", "page.html"]);
    let page = std::fs::read_to_string(place.path("page.html")).expect("the page");
    let (facts, _) = common::report(&page);
    assert!(facts.to_string().contains("trans_TransData_0"), "the graph has the model's operators");
}

#[test]
fn a_node_is_found_in_the_operator_that_it_became_a_part_of() {
    let place = om();
    let with = ["op_summary_0.csv", "--model", "model.om"];
    let text = place.done(&[&["where", "relu"], &with[..]].concat()).stdout;
    assert!(text.contains("The operator conv/relu"), "{text}");
    assert!(text.contains("conv/relu was made of conv + relu, by TbeConvReluFusionPass"), "{text}");
    let json = place.done(&[&["where", "relu", "--json"], &with[..]].concat()).json();
    assert_eq!((&json["matched"], &json["made_of"][0]["operator"]), (&"name".into(), &"conv/relu".into()));
    // By its own name it is found as without the model, and the nodes are told.
    let text = place.done(&[&["where", "conv/relu"], &with[..]].concat()).stdout;
    assert!(text.contains("The operator conv/relu") && text.contains("made of conv + relu"), "{text}");
    let lines: Vec<&str> = PROFILE.lines().collect();
    place.write("op_summary_1.csv", format!("{}\n{}\n", lines[0], lines[3]));
    let arguments = ["where", "relu", "op_summary_1.csv", "--model", "model.om"];
    place.fails(1, &["'relu' became conv/relu, which did not run"], &arguments);
}

#[test]
fn an_offline_model_is_neither_run_nor_rewritten_and_the_way_out_is_told() {
    let place = om();
    for arguments in [
        &["run", "model.om"][..],
        &["rewrite", "model.om", "-o", "out.onnx"],
        &["tune", "model.om"],
        &["check", "--candidate", "model.om", "--baseline", "model.om"],
    ] {
        place.fails(1, &["an offline model of Ascend", ".onnx"], arguments);
    }
    place.fails(1, &["model.om", "--model"], &["analyze", "model.om"]);
}

/// The same model as a dumped graph in both forms, and as ATC's JSON.
fn dumps() -> Place {
    let place = Place::new();
    let graphs = [("made", small_graph())];
    place.write("model.json", ge_dump::json(&graphs));
    place.write("ge_proto_00000046_graph_0_afterUBMatch.txt", ge_dump::proto(&graphs));
    place.write("ge_onnx_00000078_graph_0_Build.pbtxt", ge_dump::onnx(&graphs, Level::All));
    place.write("ge_onnx_00000001_graph_0_PreRunBegin.pbtxt", ge_dump::onnx(&graphs, Level::WithoutTexts));
    place.write("op_summary_0.csv", PROFILE);
    place
}

#[test]
fn a_dumped_graph_is_described_with_the_pass_that_its_name_tells() {
    let place = dumps();
    for (file, kind, pass) in [
        ("model.json", "as ATC's JSON", None),
        ("ge_proto_00000046_graph_0_afterUBMatch.txt", "ge_proto_*.txt", Some(("afterUBMatch", 46))),
        ("ge_onnx_00000078_graph_0_Build.pbtxt", "ge_onnx_*.pbtxt", Some(("Build", 78))),
    ] {
        let text = place.done(&["info", file]).stdout;
        for words in
            [kind, "3 nodes: Add 1, Conv2D 1, TransData 1", "image:0 float16 [1,3,8,8]", "AIcoreEngine 3"]
        {
            assert!(text.contains(words), "no {words:?} in\n{text}");
        }
        assert!(!text.contains("lost") && !text.contains("missing"), "{text}");
        let json = place.done(&["info", file, "--nodes", "--json"]).json();
        let content = &json["content"];
        let told = content["compiler_pass"].as_str().zip(content["dump_number"].as_i64());
        assert_eq!(told, pass, "{file}");
        let nodes = json["nodes"]["rows"].as_array().or(json["nodes"].as_array()).expect("the nodes");
        let conv = nodes.iter().find(|node| node["name"] == "conv/relu").expect("the convolution");
        assert_eq!(conv["flops"].as_u64(), Some(8 * 64 * 55), "{file}");
    }
}

#[test]
fn a_dumped_graph_says_what_was_fused_and_joins_the_profile_of_what_ran() {
    let place = dumps();
    for file in
        ["model.json", "ge_proto_00000046_graph_0_afterUBMatch.txt", "ge_onnx_00000078_graph_0_Build.pbtxt"]
    {
        let text = place.done(&["fusion", file]).stdout;
        assert!(text.contains("of: conv + relu") && text.contains("by: TbeConvReluFusionPass"), "{text}");
        let answer = place.done(&["advise", "op_summary_0.csv", "--model", file]);
        assert!(!answer.stderr.contains("is it another model?"), "{}", answer.stderr);
        let text = place.done(&["where", "relu", "op_summary_0.csv", "--model", file]).stdout;
        assert!(text.contains("The operator conv/relu"), "{text}");
        place.fails(1, &[file, ".onnx"], &["run", file]);
        place.fails(2, &["converted already"], &["fusion", file, "--switch-file", "switch.cfg"]);
    }
    let json = |file: &str| place.done(&["fusion", file, "--json"]).json()["fused"].clone();
    assert_eq!(json("model.json")["added"][0]["name"], "trans_TransData_0");
    let proto = json("ge_proto_00000046_graph_0_afterUBMatch.txt");
    assert_eq!((proto["before"].as_i64(), proto["unknown"].as_i64()), (Some(4), Some(0)));
    assert_eq!(json("ge_onnx_00000078_graph_0_Build.pbtxt")["unknown"], 1);
    let early = place.done(&["fusion", "ge_onnx_00000001_graph_0_PreRunBegin.pbtxt"]).stderr;
    assert!(early.contains("DUMP_GE_GRAPH=2"), "{early}");
}

#[test]
fn weights_of_caffe_alone_are_described_as_their_network() {
    let place = Place::new();
    place.write("net.caffemodel", caffe_file::small());
    let text = place.done(&["info", "net.caffemodel"]).stdout;
    for words in ["a network of Caffe", "data float32 [1,3,32,32]", "prob float32 [1,10]", "Conv 1"] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    assert!(!text.contains("lost"), "{text}");
    let switches = ["fusion", "net.caffemodel", "--switch-file", "switch.cfg"];
    place.fails(2, &[".prototxt"], &switches);
    place.done(&["fusion", "net.caffemodel"]);
    place.done(&["advise", "net.caffemodel"]);
}

#[test]
fn a_model_of_megengine_is_described_by_its_operators_and_neither_run_nor_fused() {
    let place = Place::new();
    place.write("new.mge", megengine_file::small(megengine_file::Form::Second));
    place.write("old.mdl", megengine_file::small(megengine_file::Form::First));
    for (file, producer, form) in
        [("new.mge", "MegEngine 1.13.0", "2"), ("old.mdl", "MegEngine 0.109.0", "1")]
    {
        let text = place.done(&["info", file]).stdout;
        for words in [
            "a model of MegEngine (.mge)",
            producer,
            "4 nodes: Elemwise 2, Convolution 1, Split 1",
            "data float32 [1,3,8,8]",
        ] {
            assert!(text.contains(words), "no {words:?} in\n{text}");
        }
        assert!(!text.contains("lost") && text.contains(&format!("form       {form}")), "{text}");
        let nodes = place.done(&["info", file, "--nodes"]).stdout;
        assert!(nodes.contains("conv.Convolution") && nodes.contains("RELU"), "{nodes}");
        place.fails(1, &["MegEngine", "ONNX"], &["run", file]);
        place.fails(1, &["of which no chain is known", "mgeconvert"], &["fusion", file]);
        let told = place.done(&["advise", file]).stderr;
        assert!(told.contains("rules about the graph know nothing") && told.contains("mgeconvert"), "{told}");
    }
    let switches = ["fusion", "new.mge", "--switch-file", "switch.cfg"];
    place.fails(2, &["doesn't read a model of MegEngine"], &switches);
}

/// A network whose interpolation doesn't come out even, as the one in the vendor's own case.
const NETWORK: &str = "name: \"net\"
layer { name: \"data\" type: \"Input\" top: \"data\" input_param { shape { dim: 1 dim: 3 dim: 175 dim: 175 } } }
layer { name: \"conv\" type: \"Convolution\" bottom: \"data\" top: \"c\"
  convolution_param { num_output: 16 kernel_size: 3 pad: 1 bias_term: false } }
layer { name: \"bn\" type: \"BatchNorm\" bottom: \"c\" top: \"c\" }
layer { name: \"relu\" type: \"ReLU\" bottom: \"c\" top: \"c\" }
layer { name: \"up\" type: \"Interp\" bottom: \"c\" top: \"u\" interp_param { height: 350 width: 350 } }
";

#[test]
fn a_network_of_caffe_is_described_fused_and_advised_like_onnx() {
    let place = Place::new();
    place.write("net.prototxt", NETWORK);
    let text = place.done(&["info", "net.prototxt"]).stdout;
    for words in [
        "a network of Caffe (.prototxt, .caffemodel)",
        "layers     5",
        "4 nodes: BatchNormalization 1, Conv 1, Relu 1, Resize 1",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let json = place.done(&["info", "net.prototxt", "--nodes", "--json"]).json();
    let nodes = json["nodes"].as_array().expect("the nodes");
    assert_eq!(nodes[0]["flops"].as_u64(), Some(2 * 16 * 175 * 175 * 27));
    let text = place.done(&["fusion", "net.prototxt", "--switch-file", "switch.cfg"]).stdout;
    assert!(text.contains("Conv + BatchNormalization + Relu") && text.contains("--framework=0"), "{text}");
    assert!(
        text.contains("--weight=net.caffemodel") && text.contains("--input_shape=data:1,3,175,175"),
        "{text}"
    );
    let text = place.done(&["advise", "net.prototxt", "--target", "cann-310"]).stdout;
    assert!(text.contains("175 to 350; take 176 to 351"), "{text}");
    assert!(!text.contains("opscope rewrite net.prototxt"), "a network can't be rewritten:\n{text}");
    assert!(
        text.contains("but  opscope rewrites ONNX models only") && !text.contains("; rewrite G"),
        "{text}"
    );
    place.fails(1, &["a network of Caffe", "convert it to ONNX"], &["run", "net.prototxt"]);
    // Cut off: the layers before are there.
    place.write("cut.prototxt", &NETWORK[..NETWORK.len() - 120]);
    let text = place.done(&["info", "cut.prototxt"]).stdout;
    assert!(text.contains("lost") && text.contains("line") && text.contains("Conv 1"), "{text}");
}

/// A table of `benchmark_model` about the small model that `tflite_file` makes.
const LAYERS: &str = "\
Operator-wise Profiling Info for Regular Benchmark Runs:
== Run Order ==
\t[node type]\t[first]\t[avg ms]\t[%]\t[cdf%]\t[mem KB]\t[times called]\t[Name]
\tCONV_2D\t3.1\t3.0\t60%\t60%\t0.0\t1\t[conv/Relu6]:0
\tDEPTHWISE_CONV_2D\t1.1\t1.0\t20%\t80%\t0.0\t1\t[depthwise]:1
\tSOFTMAX\t1.1\t1.0\t20%\t100%\t0.0\t1\t[likely]:6
";

#[test]
fn a_model_of_tensorflow_lite_is_described_and_joined_with_its_profile() {
    let place = Place::new();
    let whole = tflite_file::small();
    place.write("model.tflite", &whole);
    place.write("layers.txt", LAYERS);
    let text = place.done(&["info", "model.tflite"]).stdout;
    for words in [
        "a model of TensorFlow Lite (.tflite)",
        "made by hand",
        "operators   7",
        "10 nodes: Conv 2, Add 1, Clip 1",
        "image float32 [1,8,8,3]",
        "likely float32 [1,10]",
        "reordered   1",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let json = place.done(&["info", "model.tflite", "--nodes", "--json"]).json();
    let nodes = json["nodes"].as_array().expect("the nodes");
    let conv = nodes.iter().find(|node| node["name"] == "conv/Relu6").expect("the convolution");
    assert_eq!(conv["flops"].as_u64(), Some(4 * 16 * (2 * 27 + 1)));
    let text = place.done(&["fusion", "model.tflite"]).stdout;
    assert!(text.contains("Conv + Clip"), "{text}");
    place.fails(2, &["convert it to ONNX first"], &["fusion", "model.tflite", "--switch-file", "switch.cfg"]);
    // The profile's operators are the model's nodes.
    let answer = place.done(&["advise", "layers.txt", "--model", "model.tflite"]);
    assert!(!answer.stderr.contains("is it another model?"), "{}", answer.stderr);
    place.write(
        "other.txt",
        LAYERS.replace("conv/Relu6", "a").replace("depthwise", "b").replace("likely", "c"),
    );
    let answer = place.done(&["advise", "other.txt", "--model", "model.tflite"]);
    assert!(answer.stderr.contains("is it another model?"), "{}", answer.stderr);
    place.done(&["report", "layers.txt", "--model", "model.tflite", "-o", "page.html"]);
    let page = std::fs::read_to_string(place.path("page.html")).expect("the page");
    let (facts, columns) = common::report(&page);
    assert_eq!(facts["graph"]["is_matched"], true);
    assert!(String::from_utf8_lossy(&columns).contains("image:nchw"), "the graph has the model's nodes");
    place.fails(1, &["a model of TensorFlow Lite", "tf2onnx"], &["run", "model.tflite"]);
    place.write("cut.tflite", &whole[..whole.len() - 500]);
    let text = place.done(&["info", "cut.tflite"]).stdout;
    assert!(text.contains("lost") && text.contains("offset") && text.contains("Conv 2"), "{text}");
    place.write("head.tflite", &whole[..40]);
    place.fails(1, &["head.tflite", "damaged or cut off", "at offset"], &["fusion", "head.tflite"]);
}

/// A model of OpenVINO: a convolution with what was fused into it, an activation, and pooling of all of the image.
const OPENVINO: &str = r#"<?xml version="1.0"?>
<net name="net" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,3,32,32" element_type="f32"/><output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim><dim>32</dim><dim>32</dim></port></output></layer>
<layer id="1" name="filter" type="Const" version="opset1"><data element_type="f32" shape="16,3,3,3" offset="16" size="1728"/><output><port id="0" precision="FP32"><dim>16</dim><dim>3</dim><dim>3</dim><dim>3</dim></port></output></layer>
<layer id="2" name="conv1" type="Convolution" version="opset1"><data strides="1, 1" dilations="1, 1" pads_begin="1, 1" pads_end="1, 1" auto_pad="explicit"/><rt_info><attribute name="fused_names" version="0" value="conv,bn"/></rt_info><input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"><dim>1</dim><dim>16</dim><dim>32</dim><dim>32</dim></port></output></layer>
<layer id="3" name="mish1" type="Mish" version="opset4"><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>16</dim><dim>32</dim><dim>32</dim></port></output></layer>
<layer id="4" name="axes" type="Const" version="opset1"><data element_type="i64" shape="2" offset="0" size="16"/><output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
<layer id="5" name="mean" type="ReduceMean" version="opset1"><data keep_dims="false"/><input><port id="0"/><port id="1"/></input><output><port id="2" precision="FP32"><dim>1</dim><dim>16</dim></port></output></layer>
<layer id="6" name="quantised" type="FakeQuantize" version="opset1"><data levels="256"/><input><port id="0"/></input><output><port id="1" precision="FP32"><dim>1</dim><dim>16</dim></port></output></layer>
<layer id="7" name="y" type="Result" version="opset1"><input><port id="0"/></input></layer>
</layers><edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/><edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/><edge from-layer="3" from-port="1" to-layer="5" to-port="0"/>
<edge from-layer="4" from-port="0" to-layer="5" to-port="1"/><edge from-layer="5" from-port="2" to-layer="6" to-port="0"/>
<edge from-layer="6" from-port="1" to-layer="7" to-port="0"/>
</edges></net>
"#;

/// Counters of an inference with it, as `benchmark_app` writes them.
const COUNTERS: &str = "\
layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms)
x;Status.NOT_RUN;Parameter;unknown_f32;0.000;0.000
conv1;Status.EXECUTED;Convolution;jit_avx512_f32;1.250;1.200
mish1;Status.EXECUTED;Mish;jit_avx512_f32;0.750;0.750
Total;;;;2.000;1.950

";

#[test]
fn a_model_of_openvino_is_described_fused_and_advised_beside_its_profile() {
    let place = Place::new();
    place.write("model.xml", OPENVINO);
    place.write("model.bin", [[2i64, 3].map(i64::to_le_bytes).concat(), vec![0; 1728]].concat());
    let text = place.done(&["info", "model.xml"]).stdout;
    for words in [
        "a model of OpenVINO (.xml)",
        "model.bin",
        "4 nodes: Conv 1, FakeQuantize 1, Mish 1, ReduceMean 1",
        "x float32 [1,3,32,32]",
        "quantised float32 [1,16]",
        "1 operator of 2 before",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    assert!(!text.contains("lost") && !text.contains("missing"), "{text}");
    let json = place.done(&["info", "model.xml", "--nodes", "--json"]).json();
    let nodes = json["nodes"].as_array().expect("the nodes");
    assert_eq!(
        (nodes[0]["name"].as_str(), nodes[0]["flops"].as_u64()),
        (Some("conv1"), Some(2 * 16 * 1024 * 27))
    );
    let text = place.done(&["fusion", "model.xml", "--all"]).stdout;
    assert!(text.contains("Mish") && text.contains("no operator of the Ascend 310"), "{text}");
    assert!(text.contains("of: conv + bn"), "{text}");
    place.fails(
        2,
        &["doesn't read a model of OpenVINO"],
        &["fusion", "model.xml", "--switch-file", "switch.cfg"],
    );
    place.write("counters.csv", COUNTERS);
    let answer = place.done(&["advise", "counters.csv", "--model", "model.xml"]);
    assert!(!answer.stderr.contains("is it another model?"), "{}", answer.stderr);
    place.done(&["report", "counters.csv", "--model", "model.xml", "-o", "page.html"]);
    let page = std::fs::read_to_string(place.path("page.html")).expect("the page");
    let (_, columns) = common::report(&page);
    assert!(columns.windows(9).any(|part| part == b"quantised"), "the graph has the model's layers");
    place.fails(1, &["a model of OpenVINO", ".onnx"], &["run", "model.xml"]);
    place.fails(1, &["model.xml", "--model"], &["analyze", "model.xml"]);
    // Without its constants, and cut off: what is there is told.
    std::fs::remove_file(place.path("model.bin")).expect("the file");
    let text = place.done(&["info", "model.xml"]).stdout;
    assert!(text.contains("lost") && text.contains("model.bin"), "{text}");
    place.write("cut.xml", &OPENVINO[..OPENVINO.find("</layers>").expect("layers")]);
    let text = place.done(&["info", "cut.xml"]).stdout;
    assert!(text.contains("lost") && text.contains("cut off") && text.contains("Convolution 1"), "{text}");
}

#[test]
fn a_frozen_graph_of_tensorflow_is_described_fused_and_advised_like_onnx() {
    let place = Place::new();
    let graph = opscope_testing::tensorflow::small();
    place.write("net.pb", &graph);
    place.write("profile.csv", TENSORFLOW_PROFILE);
    let text = place.done(&["info", "net.pb"]).stdout;
    for words in [
        "a frozen graph of TensorFlow (.pb)",
        "nodes             18",
        "reordered         1",
        "Conv 2",
        "image float32 [1,17,17,3]",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let json = place.done(&["info", "net.pb", "--nodes", "--json"]).json();
    let content = &json["content"];
    assert_eq!((&content["file_nodes"], &content["nodes"]["types"]["Conv"]), (&18.into(), &2.into()));
    let nodes = json["nodes"].as_array().expect("the nodes");
    let conv = nodes.iter().find(|node| node["name"] == "conv").expect("the convolution");
    assert_eq!(conv["flops"].as_u64(), Some(2 * 8 * 81 * 27));
    let text = place.done(&["fusion", "net.pb", "--switch-file", "switch.cfg"]).stdout;
    assert!(text.contains("Conv + BatchNormalization"), "{text}");
    for words in ["--framework=3", "--input_format=NHWC", "--input_shape=image:1,17,17,3"] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let answer = place.done(&["advise", "profile.csv", "--model", "net.pb"]);
    assert!(!answer.stderr.contains("is it another model?"), "{}", answer.stderr);
    place.fails(1, &["a frozen graph of TensorFlow", "tf2onnx"], &["run", "net.pb"]);
    place.fails(1, &["net.pb", "--model"], &["analyze", "net.pb"]);
    // Cut off: the nodes before are there, and the loss is told.
    place.write("cut.pb", &graph[..graph.len() - 60]);
    let text = place.done(&["info", "cut.pb"]).stdout;
    assert!(text.contains("damaged") && text.contains("Conv 2"), "{text}");
}

#[test]
fn operators_whose_sizes_nothing_tells_are_named_and_outputs_have_the_type_that_is_known() {
    use opscope_testing::tensorflow::{FLOAT, Node, graph};
    let place = Place::new();
    let own = |shape: &[i64]| {
        graph(&[
            Node::placeholder("x", shape),
            Node::new("own", "MyOwnOp", &["x"]),
            Node::new("y", "Identity", &["own"]).data_type("T", FLOAT),
        ])
    };
    place.write("own.pb", own(&[1, 4]));
    let text = place.done(&["info", "own.pb"]).stdout;
    assert!(
        text.contains("nothing tells those of own (MyOwnOp)") && text.contains("y float32 […]"),
        "{text}"
    );
    place.write("open.pb", own(&[-1, 4]));
    let text = place.done(&["info", "open.pb"]).stdout;
    assert!(text.contains("--input and --dim give those of inputs"), "{text}");
    place.write("net.pb", opscope_testing::tensorflow::small());
    let text = place.done(&["info", "net.pb"]).stdout;
    assert!(text.contains("prob float32 [1,10]"), "{text}");
}

#[test]
fn operators_that_a_reader_put_in_are_neither_advised_on_nor_fused() {
    use opscope_testing::tensorflow::{Node, graph};
    let place = Place::new();
    let conv = Node::new("conv", "Conv2D", &["image", "weights"]).text("padding", "SAME");
    let whole = graph(&[
        Node::placeholder("image", &[1, 8, 8, 3]),
        Node::constant("weights", &[3, 3, 3, 8], 0.5),
        conv.ints("strides", &[1, 1, 1, 1]),
        Node::new("root", "Rsqrt", &["conv"]),
        Node::integers("row", &[1, -1], false),
        Node::new("flat", "Reshape", &["root", "row"]),
        Node::integers("one", &[1, 1], false),
        Node::integers("two", &[2, 2], false),
        Node::new("sizes", "Pack", &["one", "two"]),
        Node::new("same", "Identity", &["flat"]),
    ]);
    place.write("net.pb", &whole);
    let nodes = place.done(&["info", "net.pb", "--nodes"]).stdout;
    assert!(nodes.contains("root:nhwc") && nodes.contains("sizes:part0"), "{nodes}");
    let json = place.done(&["fusion", "net.pb", "--json"]).json();
    let chains = json["chains"].as_array().expect("the chains");
    let links = chains.iter().flat_map(|chain| chain["links"].as_array().expect("links"));
    let names: Vec<&str> = links.map(|link| link["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["conv", "root"], "{json}");
    let stop = chains[0]["stop"].as_str().expect("a reason");
    assert!(stop.contains("root:nhwc (Transpose), which ONNX needs here"), "{stop}");
    // Another user of the result is named, and not the operator before it.
    place.write("net.pb", [graph(&[Node::new("second", "Neg", &["root"])]), whole].concat());
    let json = place.done(&["fusion", "net.pb", "--json"]).json();
    let stop = json["chains"][0]["stop"].as_str().expect("a reason");
    assert!(stop.contains("also used by") && !stop.contains(':'), "{stop}");
    let json = place.done(&["advise", "net.pb", "--json"]).json();
    let findings = json["findings"].as_array().expect("findings").iter();
    let evidence = findings.flat_map(|finding| finding["evidence"].as_array().expect("evidence"));
    let names: Vec<&str> = evidence.map(|item| item["name"].as_str().expect("a name")).collect();
    assert!(names.contains(&"same") && !names.iter().any(|name| name.contains(':')), "{names:?}");
}

#[test]
fn nobody_is_said_to_read_an_operator_only_where_none_does_in_the_file() {
    use opscope_testing::tensorflow::{Node, graph};
    let place = Place::new();
    let graph = graph(&[
        Node::placeholder("x", &[1, 4]),
        Node::new("merge", "Add", &["x", "back"]),
        Node::new("back", "Neg", &["merge"]),
        Node::new("y", "Relu", &["x"]),
    ]);
    place.write("net.pb", graph);
    let answer = place.done(&["advise", "net.pb"]);
    assert!(answer.stderr.contains("lead back in loops"), "{}", answer.stderr);
    assert!(!answer.stdout.contains("nobody reads it"), "{}", answer.stdout);
}

/// Two inferences of the small network after the converter has fused it.
const TENSORFLOW_PROFILE: &str = "\
Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)
0,1,1,3,conv,Conv2D,AI_CORE,100,30,0
0,1,2,3,deep,DepthwiseConv2D,AI_CORE,130,20,0
0,1,3,3,fc,MatMulV2,AI_CORE,150,5,0
0,1,4,3,prob,SoftmaxV2,AI_CORE,155,5,0
";

/// Two inferences of the network that the small offline model was made from, whose sum has another name there.
const BEFORE: &str = "\
Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),Task Wait Time(us)
0,1,1,3,conv,Conv,AI_CORE,100,50,0
0,1,2,3,relu,Relu,AI_CORE,150,20,0
0,1,3,3,total,Add,AI_CORE,170,10,0
";

/// A run on Ascend with the given operators: name and type, ten microseconds each.
fn op_summary(operators: &[(&str, &str)]) -> String {
    let headings = BEFORE.lines().next().expect("the headings");
    let line = |(number, (name, op_type)): (usize, &(&str, &str))| {
        format!("0,1,{number},3,{name},{op_type},AI_CORE,{},10,0\n", 100 + 10 * number)
    };
    format!("{headings}\n{}", operators.iter().enumerate().map(line).collect::<String>())
}

#[test]
fn a_gelu_that_an_engine_numbered_is_the_nodes_that_compute_it_in_the_model() {
    use opscope_testing::tensorflow::{Node, graph};
    let place = om();
    let constant = |name: &str| Node::constant(name, &[1], 0.5);
    let nodes = [
        ("scaled", "RealDiv", ["x", "root"]),
        ("erf", "Erf", ["scaled", ""]),
        ("plus", "AddV2", ["erf", "one"]),
        ("product", "Mul", ["x", "plus"]),
        ("halved", "Mul", ["product", "half"]),
    ];
    let node = |(name, op_type, [first, second]): &(&str, &str, [&str; 2])| match *second {
        "" => Node::new(name, op_type, &[first]),
        second => Node::new(name, op_type, &[first, second]),
    };
    let stored = ["root", "one", "half"].map(constant);
    let all: Vec<Node> =
        [Node::placeholder("x", &[4, 8])].into_iter().chain(stored).chain(nodes.iter().map(node)).collect();
    place.write("net.pb", graph(&all));
    place.write("op_summary_apart.csv", op_summary(&nodes.map(|(name, op_type, _)| (name, op_type))));
    place.write("op_summary_fused.csv", op_summary(&[("Gelu", "Gelu")]));
    let with = ["--model-a", "net.pb", "--model-b", "net.pb"];
    let files = ["compare", "op_summary_apart.csv", "op_summary_fused.csv"];
    let text = place.done(&[&files[..], &with].concat()).stdout;
    assert!(text.contains("RealDiv + Erf + AddV2 + Mul + Mul became Gelu"), "{text}");
}

#[test]
fn a_gelu_by_the_hyperbolic_tangent_is_the_nodes_that_compute_it_whatever_ran_between() {
    use opscope_testing::tensorflow::{Node, graph};
    let place = om();
    let nodes = [
        Node::placeholder("x", &[4, 8]),
        Node::constant("three", &[1], 3.0),
        Node::constant("little", &[1], 0.044715),
        Node::constant("root", &[1], 0.797_884_6),
        Node::constant("one", &[1], 1.0),
        Node::constant("half", &[1], 0.5),
        Node::new("cube", "Pow", &["x", "three"]),
        Node::new("scaled", "Mul", &["cube", "little"]),
        Node::new("sum", "AddV2", &["x", "scaled"]),
        Node::new("bent", "Mul", &["sum", "root"]),
        Node::new("tanh", "Tanh", &["bent"]),
        Node::new("plus", "AddV2", &["tanh", "one"]),
        Node::new("halved", "Mul", &["x", "half"]),
        Node::new("gelu", "Mul", &["halved", "plus"]),
    ];
    place.write("net.pb", graph(&nodes));
    let apart = [
        ("cube", "Pow"),
        ("scaled", "Mul"),
        ("sum", "AddV2"),
        ("bent", "Mul"),
        ("tanh", "Tanh"),
        ("another", "MatMul"),
        ("plus", "AddV2"),
        ("halved", "Mul"),
        ("gelu", "Mul"),
    ];
    place.write("op_summary_apart.csv", op_summary(&apart));
    place.write("op_summary_fused.csv", op_summary(&[("another", "MatMul"), ("GPT2Gelu", "FastGelu")]));
    let with = ["--model-a", "net.pb", "--model-b", "net.pb"];
    let files = ["compare", "op_summary_apart.csv", "op_summary_fused.csv"];
    let text = place.done(&[&files[..], &with].concat()).stdout;
    assert!(text.contains("Pow + Mul + AddV2 + Mul + Tanh + AddV2 + Mul + Mul became FastGelu"), "{text}");
    let without = place.done(&files).stdout;
    assert!(without.contains("FastGelu appeared"), "{without}");
}

#[test]
fn an_operator_that_only_stored_values_reach_is_none_that_computes_activations() {
    use opscope_testing::tensorflow::{Node, graph};
    let place = om();
    let given = || [Node::placeholder("x", &[4, 8]), Node::constant("variance", &[8], 0.5)];
    let model = |nodes: Vec<Node>| graph(&given().into_iter().chain(nodes).collect::<Vec<_>>());
    place.write(
        "a.pb",
        model(vec![Node::new("total", "AddV2", &["x", "x"]), Node::new("y", "Tanh", &["total"])]),
    );
    place.write(
        "b.pb",
        model(vec![
            Node::new("epsilon", "AddV2", &["variance", "variance"]),
            Node::new("root", "Rsqrt", &["epsilon"]),
            Node::new("scaled", "Mul", &["x", "root"]),
            Node::new("y", "Tanh", &["scaled"]),
        ]),
    );
    place.write("op_summary_a.csv", op_summary(&[("total", "Add"), ("y", "Tanh")]));
    place.write("op_summary_b.csv", op_summary(&[("epsilon", "Add"), ("scaled", "Mul"), ("y", "Tanh")]));
    let with = ["--model-a", "a.pb", "--model-b", "b.pb"];
    let files = ["compare", "op_summary_a.csv", "op_summary_b.csv"];
    let text = place.done(&[&files[..], &with].concat()).stdout;
    assert!(text.contains("Add appeared: epsilon"), "{text}");
}

#[test]
fn models_bring_operators_together_across_a_conversion() {
    use opscope_testing::tensorflow::{Node, graph};
    let place = om();
    let window = |node: Node| node.ints("strides", &[1, 1, 1, 1]).text("padding", "SAME");
    place.write(
        "net.pb",
        graph(&[
            Node::placeholder("image", &[1, 8, 8, 3]),
            Node::constant("weights", &[3, 3, 3, 8], 0.5),
            window(Node::new("conv", "Conv2D", &["image", "weights"])),
            Node::new("relu", "Relu", &["conv"]),
            Node::new("total", "AddV2", &["relu", "relu"]),
        ]),
    );
    place.write("op_summary_before.csv", BEFORE);
    let with = ["--model-a", "net.pb", "--model-b", "model.om"];
    let files = ["compare", "op_summary_before.csv", "op_summary_0.csv"];
    let text = place.done(&[&files[..], &with].concat()).stdout;
    for words in [
        "Conv + Relu became Conv2D",
        "Add faster",
        "TransData appeared",
        "A's model net.pb: 3 of 3 operators are its nodes",
        "B's model model.om: 3 of 3 operators are its nodes",
        "by their places in the graph",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let json = place.done(&[&files[..], &with, &["--json"]].concat()).json();
    assert_eq!(json["matched"]["before"], 1.0);
    assert_eq!(json["models"]["before"]["operators_known"], 3);
    // All that is in common is told by how it was found.
    assert_eq!(json["models"]["before"]["nodes_in_common"], 3);
    for (how, count) in [("name", 0), ("origin", 2), ("structure", 1)] {
        assert_eq!(json["models"][format!("paired_by_{how}")], count, "{how}");
    }
    let groups = json["groups"].as_array().expect("the groups");
    let sum = groups.iter().find(|group| group["after"][0]["name"] == "add").expect("the sum");
    assert_eq!(sum["before"][0]["name"], "total");
    // Markdown and the page tell the same.
    let text = place.done(&[&files[..], &with, &["--markdown"]].concat()).stdout;
    assert!(text.contains("Conv + Relu became Conv2D") && text.contains("net.pb"), "{text}");
    place.done(&[&files[..], &with, &["--html", "page.html"]].concat());
    let page = std::fs::read_to_string(place.path("page.html")).expect("the page");
    let compared = common::report(&page).0["compare"].clone();
    assert_eq!((&compared["groups"], &compared["models"]), (&json["groups"], &json["models"]));
    assert!(page.contains("s model net.pb: 3 of 3 operators are its nodes"));
    // A report with both models compares as they tell, and names the options that made it.
    let of_both = ["--model", "model.om", "--against-model", "net.pb", "-o", "report.html"];
    place.done(&[&["report", files[2], "--against", files[1]], &of_both[..]].concat());
    let report = std::fs::read_to_string(place.path("report.html")).expect("the report");
    let answers = common::report(&report).0;
    assert_eq!(answers["compare"]["groups"], json["groups"]);
    let command = answers["about"]["command"].as_str().expect("the command");
    assert!(command.contains("--against-model net.pb"), "{command}");
    let alone = ["report", files[2], "--against-model", "net.pb"];
    place.fails(2, &["--against <OTHER>"], &alone);
    // Without the models, nothing is said of them; with another model, that is said.
    let json = place.done(&[&files[..], &["--json"]].concat()).json();
    assert!(json["models"].is_null());
    place.write("other.prototxt", NETWORK.replace("\"conv\"", "\"first\""));
    let answer = place.done(&["compare", files[2], files[2], "--model-a", "other.prototxt"]);
    assert!(answer.stderr.contains("is it another model?"), "{}", answer.stderr);
    place.fails(1, &["gone.onnx"], &["compare", files[1], files[2], "--model-b", "gone.onnx"]);
}
