//! Small models with something odd about them, run from the command line.

mod common;

use common::Place;
use opscope_model::Model;
use opscope_model::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, FunctionProto, GraphProto, ModelProto,
    NodeProto, OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto, TensorType,
    TypeProto, TypeValue, ValueInfoProto, encode,
};
use opscope_testing::companions;

const FLOAT: i32 = 1;
const BOOL: i32 = 9;

fn dimension(size: &str) -> Dimension {
    let value = match size.parse() {
        Ok(size) => DimensionValue::Value(size),
        Err(_) => DimensionValue::Param(size.to_owned()),
    };
    Dimension { value: Some(value), denotation: None }
}

fn value(name: &str, shape: &[&str]) -> ValueInfoProto {
    let shape = TensorShapeProto { dim: shape.iter().map(|size| dimension(size)).collect() };
    let tensor = TensorType { elem_type: Some(FLOAT), shape: Some(shape) };
    let r#type = Some(TypeProto { value: Some(TypeValue::Tensor(tensor)), denotation: None });
    ValueInfoProto { name: Some(name.to_owned()), r#type, ..Default::default() }
}

fn node(op_type: &str, name: &str, inputs: &[&str], output: &str) -> NodeProto {
    let (domain, op_type) =
        op_type.rsplit_once('.').map_or((None, op_type), |(d, o)| (Some(d.to_owned()), o));
    NodeProto {
        op_type: Some(op_type.to_owned()),
        domain,
        name: Some(name.to_owned()),
        input: inputs.iter().map(|&input| input.to_owned()).collect(),
        output: vec![output.to_owned()],
        ..Default::default()
    }
}

/// A model from `x` of the given shape to `y`.
fn model(shape: &[&str], nodes: Vec<NodeProto>, initializer: Vec<TensorProto>) -> Vec<u8> {
    encode(&model_proto(17, shape, nodes, initializer))
}

/// The same with the given version of ONNX's operators, before it becomes a file.
fn model_proto(
    version: i64,
    shape: &[&str],
    nodes: Vec<NodeProto>,
    initializer: Vec<TensorProto>,
) -> ModelProto {
    let domains = [Some(String::new()), Some("example.custom".to_owned())];
    let opset_import =
        domains.into_iter().map(|domain| OperatorSetIdProto { domain, version: Some(version) }).collect();
    ModelProto {
        ir_version: Some(8),
        opset_import,
        graph: Some(GraphProto {
            name: Some("odd".to_owned()),
            node: nodes,
            initializer,
            input: vec![value("x", shape)],
            output: vec![value("y", shape)],
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn engines() -> Vec<&'static str> {
    if companions::onnx_runtime().is_some() { vec!["tract", "ort"] } else { vec!["tract"] }
}

const QUICK: [&str; 4] = ["--iterations", "2", "--warmup", "0"];

#[test]
fn values_that_are_not_finite_are_traced_to_the_first_node_that_makes_them() {
    let place = Place::new();
    let nodes = vec![
        node("Neg", "turn", &["x"], "negative"),
        node("Sqrt", "root", &["negative"], "roots"),
        node("Relu", "after", &["roots"], "y"),
    ];
    place.write("nan.onnx", model(&["1", "64"], nodes, Vec::new()));
    for engine in engines() {
        let answer = place.done(&[&["run", "nan.onnx", "--engine", engine], &QUICK[..]].concat());
        // Relu turns NaN into zero in some engines: the output may be finite.
        if answer.stderr.contains("warning") {
            assert!(answer.stderr.contains("the output 'y' holds NaN values"), "{}", answer.stderr);
            assert!(answer.stderr.contains("the node 'root'"), "{}", answer.stderr);
        }
    }
    let nodes = vec![
        node("Neg", "turn", &["x"], "negative"),
        node("Sqrt", "root", &["negative"], "roots"),
        node("Add", "after", &["roots", "x"], "y"),
    ];
    place.write("nan.onnx", model(&["1", "64"], nodes, Vec::new()));
    for engine in engines() {
        let answer = place.done(&[&["run", "nan.onnx", "--engine", engine], &QUICK[..]].concat());
        assert!(answer.stderr.contains("the output 'y' holds NaN values"), "{engine}: {}", answer.stderr);
        assert!(answer.stderr.contains("they begin at the node 'root'"), "{engine}: {}", answer.stderr);
    }
}

#[test]
fn an_operator_that_the_engine_lacks_is_named_with_its_node() {
    let place = Place::new();
    let nodes = vec![node("example.custom.Warp", "warp_1", &["x"], "y")];
    place.write("custom.onnx", model(&["1", "4"], nodes, Vec::new()));
    for engine in engines() {
        place.fails(
            1,
            &["custom.onnx: ", "example.custom.Warp", "warp_1"],
            &[&["run", "custom.onnx", "--engine", engine], &QUICK[..]].concat(),
        );
    }
    let nodes = vec![node("Det", "determinant", &["x"], "y")];
    place.write("det.onnx", model(&["4", "4"], nodes, Vec::new()));
    let arguments = [&["run", "det.onnx", "--engine", "tract"], &QUICK[..]].concat();
    place.fails(1, &["det.onnx: tract", "Det", "'determinant'", "--engine ort"], &arguments);
}

#[test]
fn by_default_the_other_engine_takes_what_the_embedded_one_lacks_and_that_is_said() {
    let place = Place::new();
    let det = vec![node("Det", "determinant", &["x"], "d"), node("Add", "sum", &["x", "d"], "y")];
    place.write("det.onnx", model(&["4", "4"], det, Vec::new()));
    let relu = vec![node("Relu", "relu", &["x"], "y")];
    place.write("relu.onnx", model(&["4", "4"], relu, Vec::new()));
    let engine_of = |file: &str| {
        let answer = place.done(&[&["run", file, "--json"], &QUICK[..]].concat());
        (answer.json()["properties"]["engine"].as_str().map(str::to_owned), answer.stderr)
    };
    let (engine, said) = engine_of("relu.onnx");
    assert_eq!((engine.as_deref(), said.contains("--engine auto")), (Some("tract"), false), "{said}");
    if companions::onnx_runtime().is_none() {
        return;
    }
    let (engine, said) = engine_of("det.onnx");
    assert_eq!(engine.as_deref(), Some("ort"));
    assert!(said.contains("Det") && said.contains("'determinant'"), "{said}");
    assert!(said.contains("ONNX Runtime takes its place (--engine auto)"), "{said}");
    let further: [&[&str]; 3] = [
        &["tune", "det.onnx", "--duration", "50ms"],
        &["check", "--baseline", "det.onnx", "--candidate", "relu.onnx", "--duration", "50ms"],
        &["rewrite", "det.onnx", "-o", "out.onnx", "--check"],
    ];
    for arguments in further {
        let said = place.run(arguments).stderr;
        assert!(said.contains("ONNX Runtime takes its place"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_model_that_only_the_optimizer_fails_on_runs_without_it_and_that_is_said() {
    let place = Place::new();
    // The embedded engine computes an attention with a mask of truth values, but can't optimize it.
    let mask = TensorProto {
        name: Some("mask".to_owned()),
        dims: vec![4, 4],
        data_type: Some(BOOL),
        raw_data: Some(vec![1; 16].into()),
        ..Default::default()
    };
    let nodes = vec![node("Attention", "attend", &["x", "x", "x", "mask"], "y")];
    place.write("mask.onnx", encode(&model_proto(23, &["1", "1", "4", "8"], nodes, vec![mask])));
    let run = [&["run", "mask.onnx", "--engine", "tract", "--json"], &QUICK[..]].concat();
    let answer = place.done(&run);
    let said = "it runs without its optimizer (--optimize off), which takes longer";
    assert!(answer.stderr.contains("'attend'") && answer.stderr.contains(said), "{}", answer.stderr);
    let properties = &answer.json()["properties"];
    assert_eq!((&properties["engine"], &properties["optimization"]), (&"tract".into(), &"off".into()));
    let asked = place.done(&[&run[..], &["--optimize", "off"]].concat());
    assert!(!asked.stderr.contains("optimizer"), "{}", asked.stderr);
}

#[test]
fn sizes_of_inputs_reach_the_shapes_that_the_file_declares_between_nodes() {
    let place = Place::new();
    let nodes = || vec![node("Relu", "first", &["x"], "a"), node("Neg", "second", &["a"], "y")];
    // One name for a dimension, another, and the size of the exporter's own example.
    for declared in [["batch", "8"], ["unk__1", "8"], ["7", "8"]] {
        let mut proto = model_proto(17, &["batch", "8"], nodes(), Vec::new());
        let graph = proto.graph.as_mut().expect("a graph");
        graph.value_info = vec![value("a", &declared)];
        graph.output = vec![value("y", &declared)];
        place.write("declared.onnx", encode(&proto));
        for size in [&["--dim", "batch=3"][..], &["--input", "x=3x8"]] {
            let quick = [&["run", "declared.onnx", "--engine", "tract", "--json"], size, &QUICK[..]].concat();
            let answer = place.done(&quick).json();
            for row in answer["operators"].as_array().expect("operators") {
                assert_eq!(row["outputs"][0]["shape"], serde_json::json!([3, 8]), "{declared:?} {row:#}");
            }
        }
    }
}

#[test]
fn a_single_number_is_the_value_of_a_scalar_and_the_size_of_a_vector() {
    let place = Place::new();
    let folder = |further: &[&str]| {
        place.done(&[&["run", "m.onnx", "--outputs", "out"], further, &QUICK[..]].concat());
        let bytes = std::fs::read(place.path("out").join("y.npy")).expect("the output");
        let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let values = bytes[header..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
        values.collect::<Vec<f32>>()
    };
    for shape in [&[][..], &["1"]] {
        place.write("m.onnx", model(shape, vec![node("Neg", "turn", &["x"], "y")], Vec::new()));
        assert_eq!(folder(&["--input", "x=16000"]), [-16000.0], "{shape:?}");
        assert_eq!(folder(&["--input", "x=-0.5"]), [0.5], "{shape:?}");
    }
    place.write("m.onnx", model(&["n"], vec![node("Neg", "turn", &["x"], "y")], Vec::new()));
    assert_eq!(folder(&["--input", "x=5"]).len(), 5);
    place.fails(2, &["0.5", "scalar", "x=FILE.npy"], &["run", "m.onnx", "--input", "x=0.5"]);
}

#[test]
fn an_open_dimension_is_asked_for_by_name_and_axis() {
    let place = Place::new();
    place.write("open.onnx", model(&["batch", "8"], vec![node("Relu", "relu", &["x"], "y")], Vec::new()));
    fn run<'a>(further: &[&'a str]) -> Vec<&'a str> {
        [&["run", "open.onnx", "--json"], &QUICK[..], further].concat()
    }
    place.fails(2, &["how large is 'batch', axis 0 of the input 'x'", "--dim batch=N"], &run(&[]));
    place.fails(2, &["no symbolic dimension named 'bach'", "batch"], &run(&["--dim", "bach=2"]));
    for engine in engines() {
        let answer = place.done(&run(&["--dim", "batch=3", "--engine", engine])).json();
        assert_eq!(answer["operators"][0]["inputs"][0]["shape"], serde_json::json!([3, 8]), "{engine}");
        let answer = place.done(&run(&["--input", "x=5x8", "--engine", engine])).json();
        assert_eq!(answer["operators"][0]["flops"], 40, "{engine}");
    }
    place.fails(2, &["axis 0 is 4 instead of 3"], &run(&["--dim", "batch=3", "--input", "x=4x8"]));
}

/// Weights of a model that lie in a file of their own.
fn external(file: &str) -> TensorProto {
    let entry =
        |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    TensorProto {
        name: Some("weights".to_owned()),
        dims: vec![8],
        data_type: Some(FLOAT),
        data_location: Some(1),
        external_data: vec![entry("location", file), entry("offset", "0"), entry("length", "32")],
        ..Default::default()
    }
}

#[test]
fn weights_in_a_file_of_their_own_are_found_or_missed_by_name() {
    let place = Place::new();
    let nodes = || vec![node("Add", "shift", &["x", "weights"], "y")];
    place.write("external.onnx", model(&["1", "8"], nodes(), vec![external("weights.bin")]));
    let run =
        |file: &'static str, engine: &'static str| [&["run", file, "--engine", engine], &QUICK[..]].concat();
    place.fails(1, &["weights.bin", "weights"], &run("external.onnx", "tract"));
    #[cfg(unix)]
    {
        let made = std::process::Command::new("mkfifo").arg(place.path("weights.bin")).status();
        assert!(made.expect("mkfifo is there").success());
        place.fails(1, &["weights.bin", "a pipe"], &run("external.onnx", "tract"));
        std::fs::remove_file(place.path("weights.bin")).expect("no pipe");
    }
    place.write("weights.bin", [0u8; 20]);
    place.fails(1, &["weights.bin", "weights"], &run("external.onnx", "tract"));
    place.write("weights.bin", [0u8; 32]);
    for engine in engines() {
        place.done(&run("external.onnx", engine));
    }
    place.write("escape.onnx", model(&["1", "8"], nodes(), vec![external("../../etc/passwd")]));
    place.fails(1, &["passwd", "weights"], &run("escape.onnx", "tract"));
}

#[test]
fn nodes_without_a_name_get_one_that_both_engines_agree_on() {
    let place = Place::new();
    let nodes =
        vec![node("Neg", "", &["x"], "a"), node("Abs", "", &["a"], "b"), node("Neg", "", &["b"], "y")];
    place.write("unnamed.onnx", model(&["1", "64"], nodes, Vec::new()));
    for engine in engines() {
        let run = ["run", "unnamed.onnx", "--json", "--optimize", "off", "--engine", engine];
        let answer = place.done(&[&run, &QUICK[..]].concat()).json();
        let operators = answer["operators"].as_array().expect("operators");
        let mut names: Vec<&str> =
            operators.iter().map(|row| row["name"].as_str().expect("a name")).collect();
        names.sort_unstable();
        assert_eq!(names, ["Abs_1", "Neg_0", "Neg_2"], "{engine}");
        assert_eq!(answer["graph"]["unattributed"], 0);
    }
}

#[test]
fn a_graph_that_waits_for_itself_is_refused() {
    let place = Place::new();
    let nodes = vec![
        node("Add", "one", &["x", "b"], "a"),
        node("Neg", "two", &["a"], "b"),
        node("Neg", "three", &["b"], "y"),
    ];
    place.write("circle.onnx", model(&["1", "4"], nodes, Vec::new()));
    place.fails(1, &["circle.onnx", "circle", "`one`"], &["run", "circle.onnx"]);
    place
        .write("dangling.onnx", model(&["1", "4"], vec![node("Neg", "lonely", &["ghost"], "y")], Vec::new()));
    place.fails(1, &["dangling.onnx", "`lonely`", "`ghost`"], &["run", "dangling.onnx"]);
}

/// The commands that look at graphs, each with what it takes besides the model.
const ABOUT_GRAPHS: [(&str, &[&str]); 4] = [
    ("advise", &["--target", "cann-310", "--json"]),
    ("fusion", &["--json"]),
    ("rewrite", &["--dry-run", "--json"]),
    ("tune", &["--duration", "50ms", "--threads", "1", "--json"]),
];

#[test]
fn commands_about_graphs_refuse_unsound_ones_by_the_node() {
    let place = Place::new();
    let circle = vec![
        node("Add", "one", &["x", "b"], "a"),
        node("Neg", "two", &["a"], "b"),
        node("Neg", "three", &["b"], "y"),
    ];
    place.write("circle.onnx", model(&["1", "4"], circle, Vec::new()));
    let lonely = vec![node("Neg", "lonely", &["ghost"], "y")];
    place.write("dangling.onnx", model(&["1", "4"], lonely, Vec::new()));
    for (command, further) in ABOUT_GRAPHS {
        let with = |file| [&[command, file], further].concat();
        place.fails(1, &["circle.onnx", "circle", "`one`"], &with("circle.onnx"));
        place.fails(1, &["dangling.onnx", "`lonely`", "`ghost`"], &with("dangling.onnx"));
    }
}

#[test]
fn operators_of_other_domains_are_left_alone_and_engines_without_them_say_so() {
    let place = Place::new();
    let nodes = vec![
        node("Identity", "copy", &["x"], "a"),
        node("example.custom.Mystery", "odd", &["a"], "b"),
        node("Identity", "again", &["b"], "y"),
    ];
    place.write("custom.onnx", model(&["1", "4"], nodes, Vec::new()));
    for (command, further) in &ABOUT_GRAPHS[..3] {
        place.done(&[&[*command, "custom.onnx"], *further].concat());
    }
    let done = place.done(&["rewrite", "custom.onnx", "-o", "out.onnx", "--json"]).json();
    let nodes = ["/nodes_before", "/nodes_after"].map(|place| done.pointer(place).cloned());
    assert_eq!(nodes, [Some(3.into()), Some(1.into())], "{done}");
    let answer = place.done(&["rewrite", "out.onnx", "--dry-run", "--json"]).json();
    assert_eq!(answer["nodes_after"], 1, "the odd node is still there");
    let tune = place.run(&["tune", "custom.onnx", "--duration", "50ms"]);
    assert_eq!(tune.status, Some(1));
    assert!(tune.stderr.contains("Mystery"), "{}", tune.stderr);
}

#[test]
fn a_function_of_the_models_own_is_left_to_the_engine_that_knows_such() {
    let place = Place::new();
    let call = node("example.custom.Twice", "call", &["x"], "y");
    let mut proto = model_proto(17, &["1", "4"], vec![call], Vec::new());
    proto.functions = vec![FunctionProto {
        name: Some("Twice".to_owned()),
        domain: Some("example.custom".to_owned()),
        input: vec!["a".to_owned()],
        output: vec!["b".to_owned()],
        node: vec![node("Add", "sum", &["a", "a"], "b")],
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        ..Default::default()
    }];
    place.write("function.onnx", encode(&proto));
    let arguments = ["run", "function.onnx", "--engine", "tract"];
    place.fails(1, &["Twice", "'call'", "--engine ort"], &[&arguments[..], &QUICK[..]].concat());
    if companions::onnx_runtime().is_some() {
        let quick = ["--duration", "50ms", "--engine", "ort"];
        let answer = place.done(&[&["tune", "function.onnx"], &quick[..]].concat());
        // It runs there already.
        assert!(
            answer.stdout.contains("tract cannot run the operator example.custom.Twice"),
            "{}",
            answer.stdout
        );
        assert!(!answer.stdout.contains("try --engine"), "{}", answer.stdout);
    }
}

#[test]
fn rewrites_of_a_version_of_the_future_come_with_a_warning() {
    let place = Place::new();
    let nodes = || vec![node("Identity", "copy", &["x"], "a"), node("Relu", "relu", &["a"], "y")];
    for (version, is_known) in [(28, true), (99, false)] {
        place.write("model.onnx", encode(&model_proto(version, &["1", "4"], nodes(), Vec::new())));
        let answer = place.done(&["rewrite", "model.onnx", "--dry-run"]);
        let warned = answer.stderr.contains(&format!("version {version} of ONNX's operators"));
        assert_eq!(warned, !is_known, "{}", answer.stderr);
    }
}

#[test]
fn engines_that_disagree_before_any_rewrite_keep_a_model_from_being_tuned() {
    if companions::onnx_runtime().is_none() {
        return;
    }
    let place = Place::new();
    // ONNX doesn't say what becomes of a number that the type can't hold: one engine keeps the low bits,
    // the other takes the largest number.
    let to = |data_type: i64, mut node: NodeProto| {
        let (name, r#type) = (Some("to".to_owned()), Some(AttributeType::Int as i32));
        node.attribute = vec![AttributeProto { name, r#type, i: Some(data_type), ..Default::default() }];
        node
    };
    let large = TensorProto {
        name: Some("large".to_owned()),
        data_type: Some(FLOAT),
        raw_data: Some(1000_f32.to_le_bytes().to_vec().into()),
        ..Default::default()
    };
    let nodes = vec![
        node("Identity", "copy", &["x"], "a"),
        node("Mul", "scale", &["a", "large"], "b"),
        to(2, node("Cast", "narrow", &["b"], "c")),
        to(1, node("Cast", "widen", &["c"], "y")),
    ];
    place.write("narrow.onnx", model(&["1", "400"], nodes, vec![large]));
    for engine in ["ort", "tract"] {
        let arguments = ["tune", "narrow.onnx", "--engine", engine, "--duration", "50ms"];
        place.fails(1, &["disagree about the model", "they part at the node narrow (Cast)"], &arguments);
    }
    assert_eq!(place.files(), ["narrow.onnx"], "nothing was written");
}

#[test]
fn open_dimensions_keep_no_graph_command_from_its_work_but_tuning_asks_for_them() {
    let place = Place::new();
    let nodes = || vec![node("Identity", "copy", &["x"], "a"), node("Relu", "relu", &["a"], "y")];
    place.write("open.onnx", model(&["batch", "8"], nodes(), Vec::new()));
    for (command, further) in &ABOUT_GRAPHS[..3] {
        place.done(&[&[*command, "open.onnx"], *further].concat());
    }
    for command in ["advise", "fusion"] {
        place.done(&[command, "open.onnx", "--dim", "batch=2"]);
        place.fails(2, &["no symbolic dimension named 'bach'"], &[command, "open.onnx", "--dim", "bach=2"]);
        place.fails(2, &["axis 1 is 9 instead of 8"], &[command, "open.onnx", "--input", "x=2x9"]);
    }
    place.fails(2, &["how large is 'batch'"], &["tune", "open.onnx", "--duration", "50ms"]);
    place.done(&["tune", "open.onnx", "--dim", "batch=2", "--duration", "50ms", "--threads", "1"]);
}

#[test]
fn weights_in_a_file_of_their_own_go_with_the_rewritten_model_or_are_named() {
    let place = Place::new();
    let nodes = || vec![node("Identity", "copy", &["x"], "a"), node("Add", "shift", &["a", "weights"], "y")];
    place.write("external.onnx", model(&["1", "8"], nodes(), vec![external("weights.bin")]));
    // Advice about the graph needs no weights.
    place.done(&["advise", "external.onnx", "--target", "ort"]);
    place.done(&["fusion", "external.onnx"]);
    place.fails(1, &["weights.bin"], &["tune", "external.onnx", "--duration", "50ms"]);
    place.write("weights.bin", [0u8; 32]);
    place.done(&["rewrite", "external.onnx", "-o", "out.onnx"]);
    place.done(&[&["run", "out.onnx"], &QUICK[..]].concat());
    place.write("escape.onnx", model(&["1", "8"], nodes(), vec![external("../../etc/passwd")]));
    place.fails(1, &["passwd", "weights"], &["tune", "escape.onnx", "--duration", "50ms"]);
}

/// A node that computes `output` from nothing: a constant whose data lie in a file of their own.
fn external_constant(file: &str, output: &str) -> NodeProto {
    let mut constant = node("Constant", "", &[], output);
    constant.attribute = vec![AttributeProto {
        name: Some("value".to_owned()),
        t: Some(Box::new(TensorProto { name: None, ..external(file) })),
        r#type: Some(AttributeType::Tensor as i32),
        ..Default::default()
    }];
    constant
}

#[test]
fn constants_in_a_file_of_their_own_go_with_the_rewritten_model_or_are_named() {
    let place = Place::new();
    let folders = ["elsewhere", "branching", "branching/elsewhere"];
    for folder in folders {
        std::fs::create_dir(place.path(folder)).expect("a folder");
    }
    let nodes = vec![
        node("Identity", "copy", &["x"], "a"),
        external_constant("weights.bin", "shift"),
        node("Add", "", &["a", "shift"], "y"),
    ];
    place.write("external.onnx", model(&["1", "8"], nodes, Vec::new()));
    for command in [&["run", "external.onnx"][..], &["rewrite", "external.onnx", "-o", "out.onnx"]] {
        place.fails(1, &["weights.bin", "`value of the node "], command);
    }
    let numbers: Vec<u8> = (0..8u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
    place.write("weights.bin", &numbers);
    // Within a branch, a constant is an attribute's attribute.
    let mut branching = Model::from_bytes(branching().into(), None).expect("a model").proto().clone();
    let graph = branching.graph.as_mut().expect("a graph");
    let choice = graph.node.last_mut().expect("a node");
    let branch = choice.attribute[0].g.as_deref_mut().expect("a branch");
    let mut constant = external_constant("weights.bin", "four");
    let tensor = constant.attribute[0].t.as_deref_mut().expect("a tensor");
    tensor.dims = vec![4];
    tensor.external_data[2].value = Some("16".to_owned());
    branch.node[1] = node("Add", "then_work", &["then_inner", "four"], "then_result");
    branch.node.insert(0, constant);
    place.write("branching/external.onnx", encode(&branching));
    place.write("branching/weights.bin", &numbers);

    for folder in ["", "branching/"] {
        for output in [format!("{folder}out.onnx"), format!("{folder}elsewhere/out.onnx")] {
            let input = format!("{folder}external.onnx");
            let answer = place.done(&["rewrite", &input, "-o", &output, "--check", "--json"]).json();
            assert_eq!(answer["agreement"]["max_relative_error"].as_f64(), Some(0.0), "{answer}");
            for engine in engines() {
                place.done(&[&["run", &output, "--engine", engine], &QUICK[..]].concat());
            }
            // Only the one in the model's own folder needs the other file still.
            std::fs::rename(place.path(folder).join("weights.bin"), place.path("gone.bin")).expect("a move");
            let run = place.run(&[&["run", &output], &QUICK[..]].concat());
            assert_eq!(run.status == Some(0), output.contains("elsewhere"), "{output}: {}", run.stderr);
            std::fs::rename(place.path("gone.bin"), place.path(folder).join("weights.bin")).expect("a move");
        }
    }
}

/// `If` on a condition that is an input of its own, with a branch that reads `x` around it.
fn branching() -> Vec<u8> {
    let branch = |name: &str, op_type: &str| {
        let result = format!("{name}_result");
        GraphProto {
            name: Some(name.to_owned()),
            node: vec![
                node("Identity", &format!("{name}_copy"), &["a"], &format!("{name}_inner")),
                node(op_type, &format!("{name}_work"), &[&format!("{name}_inner")], &result),
            ],
            output: vec![value(&result, &["1", "4"])],
            ..Default::default()
        }
    };
    let attribute = |name: &str, graph: GraphProto| AttributeProto {
        name: Some(name.to_owned()),
        g: Some(Box::new(graph)),
        r#type: Some(AttributeType::Graph as i32),
        ..Default::default()
    };
    let mut choice = node("If", "choice", &["which"], "y");
    choice.attribute = vec![
        attribute("then_branch", branch("then", "Relu")),
        attribute("else_branch", branch("else", "Neg")),
    ];
    let which = TensorProto {
        name: Some("which".to_owned()),
        data_type: Some(9),
        raw_data: Some(vec![1u8].into()),
        ..Default::default()
    };
    model(&["1", "4"], vec![node("Identity", "copy", &["x"], "a"), choice], vec![which])
}

#[test]
fn what_is_inside_of_nodes_is_counted_and_what_it_reads_stays() {
    let place = Place::new();
    place.write("branch.onnx", branching());
    for (command, further) in &ABOUT_GRAPHS[..3] {
        place.done(&[&[*command, "branch.onnx"], *further].concat());
    }
    let text = place.done(&["rewrite", "branch.onnx", "-o", "out.onnx"]).stdout;
    assert!(text.contains("4 nodes inside of others"), "{text}");
    let before = place.done(&["run", "branch.onnx", "-n", "1", "--outputs", "a", "--quiet"]);
    let after = place.done(&["run", "out.onnx", "-n", "1", "--outputs", "b", "--quiet"]);
    assert_eq!((before.status, after.status), (Some(0), Some(0)));
    let read = |folder: &str| std::fs::read(place.path(&format!("{folder}/y.npy"))).expect("an output");
    assert_eq!(read("a"), read("b"));
}

/// A model of so many nodes side by side that the embedded engine takes long to make it ready.
#[cfg(unix)]
fn wide(count: usize) -> Vec<u8> {
    let name = |number: usize| format!("v{number}");
    let operator = |number: usize| ["Relu", "Neg", "Abs", "Sigmoid"][number % 4];
    let mut nodes: Vec<NodeProto> = (0..count)
        .map(|number| node(operator(number), &format!("n{number}"), &["x"], &name(number)))
        .collect();
    let names: Vec<String> = (0..count).map(name).collect();
    let mut concat = node("Concat", "all", &names.iter().map(String::as_str).collect::<Vec<_>>(), "all");
    concat.attribute = vec![AttributeProto {
        name: Some("axis".to_owned()),
        i: Some(1),
        r#type: Some(AttributeType::Int as i32),
        ..Default::default()
    }];
    nodes.push(concat);
    nodes.push(node("ReduceSum", "sum", &["all"], "y"));
    model(&["1", "1"], nodes, Vec::new())
}

#[test]
fn a_concat_of_a_thousand_sums_gives_the_same_on_both_engines_and_keeps_its_name() {
    const COUNT: usize = 1_000;
    let place = Place::new();
    let names: Vec<String> = (0..COUNT).map(|number| format!("v{number}")).collect();
    let weights = (0..COUNT).map(|number| TensorProto {
        name: Some(format!("w{number}")),
        data_type: Some(FLOAT),
        // Each value twice, so that there are equal readers as well.
        raw_data: Some(((number / 2) as f32).to_le_bytes().to_vec().into()),
        ..Default::default()
    });
    let sum =
        |number: usize| node("Add", &format!("sum{number}"), &["x", &format!("w{number}")], &names[number]);
    let mut nodes: Vec<NodeProto> = (0..COUNT).map(sum).collect();
    let mut concat = node("Concat", "join", &names.iter().map(String::as_str).collect::<Vec<_>>(), "y");
    let (name, r#type) = (Some("axis".to_owned()), Some(AttributeType::Int as i32));
    concat.attribute = vec![AttributeProto { name, r#type, i: Some(1), ..Default::default() }];
    nodes.push(concat);
    let mut proto = model_proto(17, &["1", "1"], nodes, weights.collect());
    proto.graph.as_mut().expect("a graph").output = vec![value("y", &["1", "1000"])];
    place.write("join.onnx", encode(&proto));
    for engine in engines() {
        for level in ["off", "full"] {
            let run = ["run", "join.onnx", "--engine", engine, "--optimize", level, "--input", "x=ones"];
            let answer = place.done(&[&run[..], &["--outputs", "out"], &QUICK].concat());
            assert!(answer.stdout.contains("join"), "{engine}, {level}: {}", answer.stdout);
            let bytes = std::fs::read(place.path("out/y.npy")).expect("the output");
            let values = bytes[bytes.len() - COUNT * 4..]
                .as_chunks::<4>()
                .0
                .iter()
                .map(|four| f32::from_le_bytes(*four));
            assert!(values.eq((0..COUNT).map(|number| (number / 2) as f32 + 1.0)), "{engine}, {level}");
        }
    }
}

#[test]
fn a_model_that_the_embedded_engine_would_read_for_minutes_is_refused_at_once() {
    let place = Place::new();
    let weights = (0..20_001).map(|number: i32| TensorProto {
        name: Some(format!("w{number}")),
        data_type: Some(FLOAT),
        raw_data: Some((number as f32).to_le_bytes().to_vec().into()),
        ..Default::default()
    });
    let relu = vec![node("Relu", "relu", &["x"], "y")];
    place.write("many.onnx", model(&["1", "4"], relu, weights.collect()));
    let run = ["run", "many.onnx", "--engine", "tract"];
    place.fails(1, &["many.onnx: tract", "20001 weights", "20000 are taken", "--engine ort"], &run);
}

#[cfg(unix)]
#[test]
fn an_engine_that_makes_a_model_ready_says_so_and_can_be_stopped() {
    use std::io::BufRead;
    let place = Place::new();
    place.write("wide.onnx", wide(100_000));
    std::fs::create_dir(place.path("tmp")).expect("a folder");
    let rewrite =
        ["rewrite", "wide.onnx", "-o", "out.onnx", "--check", "--engine", "tract", "--only", "G15a"];
    for (signal, command) in [("-INT", &["run", "wide.onnx", "--engine", "tract"][..]), ("-TERM", &rewrite)] {
        let mut child = place
            .command(command)
            .env("TMPDIR", place.path("tmp"))
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut said = std::io::BufReader::new(child.stderr.take().expect("its errors")).lines();
        let first = said.next().expect("a line").expect("text");
        assert!(first.contains("still making the model ready"), "{first}");
        let asked = std::time::Instant::now();
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        assert_eq!(child.wait().expect("its end").code(), Some(130), "{command:?}");
        // It would take minutes.
        assert!(asked.elapsed() < std::time::Duration::from_secs(20), "{command:?}");
        if command[0] == "run" {
            let last = said.last().expect("a line").expect("text");
            assert!(last.contains("interrupted while the engine was busy"), "{last}");
        }
    }
    assert_eq!(place.files(), ["tmp", "wide.onnx"]);
}

#[cfg(unix)]
#[test]
fn a_session_that_is_stopped_while_it_loads_leaves_no_folder_behind() {
    if companions::onnx_runtime().is_none() {
        return;
    }
    let place = Place::new();
    place.write("wide.onnx", wide(100_000));
    let folder = place.path("tmp");
    std::fs::create_dir(&folder).expect("a folder");
    let mut child = place
        .command(&["run", "wide.onnx", "--engine", "ort", "--duration", "5min"])
        .env("TMPDIR", &folder)
        .spawn()
        .expect("the program starts");
    // ONNX Runtime itself leaves a file there.
    let is_empty = || {
        let mut entries = std::fs::read_dir(&folder).expect("the folder").flatten();
        !entries.any(|entry| entry.path().is_dir())
    };
    while is_empty() {
        assert_eq!(child.try_wait().expect("its state"), None, "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status();
    assert!(kill.expect("kill").success());
    assert_eq!(child.wait().expect("its end").code(), Some(130));
    assert!(is_empty());
}

/// A model that repeats `x` as often as its constant says.
fn repeated(times: i64) -> Vec<u8> {
    let repeats = TensorProto {
        name: Some("times".to_owned()),
        dims: vec![1],
        data_type: Some(7),
        int64_data: vec![times],
        ..Default::default()
    };
    model(&["n"], vec![node("Tile", "repeat", &["x", "times"], "y")], vec![repeats])
}

#[test]
fn values_that_do_not_fit_into_memory_are_refused_by_name_before_they_are_made() {
    let place = Place::new();
    place.write("repeated.onnx", repeated(1 << 40));
    place.write("huge.onnx", repeated(1 << 60));
    place.write("modest.onnx", repeated(1 << 20));
    let refused = |says: &[&str], arguments: &[&str]| {
        for engine in engines() {
            let engine = ["--engine", engine];
            place.fails(1, says, &[&["run"], arguments, &["--dim", "n=4"], &engine, &QUICK[..]].concat());
        }
    };
    refused(&["repeat", "Tile", "'y'", "float32 4398046511104", "16.0 TiB", "--memory"], &["repeated.onnx"]);
    refused(&["repeat", "--memory"], &["huge.onnx"]);
    refused(&["repeat", "16.0 MiB", "9.54 MiB"], &["modest.onnx", "--memory", "10MB"]);
    place.done(&[&["run", "modest.onnx", "--dim", "n=4", "--memory", "100MB"], &QUICK[..]].concat());
    let large = ["run", "modest.onnx", "--dim", "n=4000000000000"];
    place.fails(2, &["the input 'x'", "4000000000000", "TiB", "--memory"], &large);
    // Each of the inputs would fit by itself, and neither can be counted in 64 bits in the last.
    let sum = || model_proto(17, &["n"], vec![node("Add", "sum", &["x", "x"], "y")], Vec::new());
    let mut two = sum();
    let graph = two.graph.as_mut().expect("a graph");
    let second = ValueInfoProto { name: Some("second".to_owned()), ..graph.input[0].clone() };
    graph.input.push(second);
    place.write("two.onnx", encode(&two));
    place.write("sum.onnx", encode(&sum()));
    let both = ["run", "two.onnx", "--dim", "n=1000000", "--memory", "12MB"];
    place.fails(2, &["beside the other input", "--memory"], &both);
    place.fails(
        2,
        &["'x'", "2147483648", "--memory"],
        &["run", "sum.onnx", "--dim", "n=2147483648", "--memory", "8GB"],
    );
    let endless = ["run", "sum.onnx", "--dim", "n=9223372036854775807"];
    place.fails(2, &["'x'", "9223372036854775807", "does not fit"], &endless);
}

#[test]
fn what_no_wish_can_mend_is_told_with_the_models_file_and_status_1() {
    let place = Place::new();
    // Texts can't be fed, and no engine has the operator.
    let mut texts = model_proto(17, &["2"], vec![node("Identity", "same", &["x"], "y")], Vec::new());
    for value in texts.graph.iter_mut().flat_map(|graph| graph.input.iter_mut().chain(&mut graph.output)) {
        let Some(TypeProto { value: Some(TypeValue::Tensor(tensor)), .. }) = &mut value.r#type else {
            panic!("a tensor")
        };
        tensor.elem_type = Some(8);
    }
    place.write("texts.onnx", encode(&texts));
    place.write("odd.onnx", model(&["2"], vec![node("example.custom.Odd", "odd", &["x"], "y")], Vec::new()));
    place.write("well.onnx", model(&["2"], vec![node("Relu", "relu", &["x"], "y")], Vec::new()));
    for (name, complaint, remedy) in [
        ("texts.onnx", "tensor of string", "extract_model"),
        ("odd.onnx", "example.custom.Odd", "a program of its own"),
    ] {
        let checking = ["check", "--baseline", "well.onnx", "--candidate", name, "--max-regression", "5%"];
        for command in
            [&["run", name][..], &["tune", name], &["rewrite", name, "-o", "out.onnx", "--check"], &checking]
        {
            let said = place.fails(1, &[complaint, remedy], command).stderr;
            assert!(said.starts_with(&format!("error: {name}: ")), "{command:?}: {said}");
        }
        assert!(!place.path("out.onnx").exists());
    }
}

#[test]
fn a_normalisation_of_a_sum_has_the_bias_that_onnx_runtime_added_in_it_in_compare() {
    let place = Place::new();
    let stored = |name: &str, dims: &[i64]| {
        let bytes = dims.iter().product::<i64>() as usize * 4;
        TensorProto {
            name: Some(name.to_owned()),
            dims: dims.to_vec(),
            data_type: Some(FLOAT),
            raw_data: Some(vec![0; bytes].into()),
            ..Default::default()
        }
    };
    let nodes = vec![
        node("MatMul", "product", &["x", "weights"], "m"),
        node("Add", "biased", &["m", "bias"], "b"),
        node("Add", "sum", &["b", "x"], "s"),
        node("LayerNormalization", "norm", &["s", "scale", "shift"], "y"),
    ];
    let channels = ["bias", "scale", "shift"].map(|name| stored(name, &[8]));
    let stored = [stored("weights", &[8, 8])].into_iter().chain(channels).collect();
    place.write("net.onnx", model(&["1", "4", "8"], nodes, stored));
    let profile = |operators: &[(&str, &str, &str)]| {
        let event = |(number, (name, op_type, inputs)): (usize, &(&str, &str, &str))| {
            let start = 2_010 + 50 * number;
            format!(
                r#"{{"cat": "Node", "pid": 7, "tid": 7, "dur": 40, "ts": {start}, "ph": "X", "name": "{name}_kernel_time",
                "args": {{"op_name": "{op_type}", "provider": "CPUExecutionProvider", "node_index": "{number}",
                "parameter_size": "0", "activation_size": "0", "output_size": "128", "input_type_shape": [{inputs}],
                "output_type_shape": [{{"float": [1, 4, 8]}}]}}}}"#
            )
        };
        let mut events: Vec<String> = operators.iter().enumerate().map(event).collect();
        for name in ["SequentialExecutor::Execute", "model_run"] {
            let run = r#"{"cat": "Session", "pid": 7, "tid": 7, "dur": 400, "ts": 2000, "ph": "X", "name": "#;
            events.push(format!(r#"{run}"{name}", "args": {{}}}}"#));
        }
        format!("[{}]", events.join(",\n"))
    };
    let (whole, channel) = (r#"{"float": [1, 4, 8]}"#, r#"{"float": [8]}"#);
    let inputs = |words: &[&str]| words.join(", ");
    let product = ("product", "MatMul", &*inputs(&[whole, r#"{"float": [8, 8]}"#]));
    let biased = ("biased", "Add", &*inputs(&[whole, channel]));
    let sum = ("sum", "Add", &*inputs(&[whole, whole]));
    let norm = ("norm", "LayerNormalization", &*inputs(&[whole, channel, channel]));
    let name = "SkipLayerNormalization";
    let four = (name, name, &*inputs(&[whole, whole, channel, channel]));
    let five = (name, name, &*inputs(&[whole, whole, channel, channel, channel]));
    place.write("apart.json", profile(&[product, biased, sum, norm]));
    place.write("with.json", profile(&[product, five]));
    place.write("without.json", profile(&[product, biased, four]));
    for (file, became) in [
        ("with.json", "  Add + Add + LayerNormalization became"),
        ("without.json", "  Add + LayerNormalization became"),
    ] {
        let with_models = ["--model-a", "net.onnx", "--model-b", "net.onnx"];
        let text = place.done(&[&["compare", "apart.json", file], &with_models[..]].concat()).stdout;
        assert!(text.contains(became), "{text}");
        assert!(!text.contains("MatMul +"), "{text}");
    }
}
