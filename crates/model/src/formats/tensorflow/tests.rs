//! Graphs, whole and damaged.

use opscope_testing::tensorflow::{self as made, INT32, graph, small};
use opscope_trace::DataType;

use super::*;
use crate::{Bindings, Cost, LoadError, Model, Shapes};

fn load(bytes: Vec<u8>) -> Result<Model, LoadError> {
    Model::from_any_bytes(bytes.into())
}

fn inferred(nodes: &[made::Node]) -> (Model, Shapes) {
    let model = load(graph(nodes)).unwrap();
    assert_eq!(model.kind(), ModelKind::TensorFlow);
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    assert_eq!(shapes.notes(), [], "the operators do not fit together");
    (model, shapes)
}

fn dims(model: &Model, shapes: &Shapes, value: &str) -> Vec<u64> {
    let graph = model.graph();
    let found = graph.nodes().flat_map(|node| (0..).map_while(move |place| node.output(place)));
    let found = found.into_iter().find(|id| graph.value(*id).name == value);
    shapes.get(found.unwrap_or_else(|| panic!("no value {value}"))).unwrap().known_dims().unwrap()
}

fn types(model: &Model) -> Vec<String> {
    model.graph().nodes().map(|node| format!("{} {}", node.name, node.op_type)).collect()
}

#[test]
fn images_stay_in_one_order_from_operator_to_operator() {
    let model = load(small()).unwrap();
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    assert_eq!((shapes.notes(), &model.provenance().losses[..]), (&[][..], &[][..]));
    assert_eq!(
        types(&model),
        [
            "image:nchw Transpose",
            "conv Conv",
            "norm BatchNormalization",
            "relu Clip",
            "deep Conv",
            "sum Add",
            "mean ReduceMean",
            "fc MatMul",
            "logits Add",
            "prob Softmax"
        ]
    );
    assert_eq!(dims(&model, &shapes, "conv"), [1, 8, 9, 9]);
    assert_eq!(dims(&model, &shapes, "sum"), [1, 8, 9, 9]);
    assert_eq!(dims(&model, &shapes, "mean"), [1, 8]);
    let outputs: Vec<_> = model.graph().outputs().iter().map(|id| model.graph().value(*id).name).collect();
    assert_eq!(outputs, ["prob"], "an order without data reads nothing");
    let cost = |name: &str| Cost::of(&model, &shapes, model.graph().node_by_name(name).unwrap().id);
    assert_eq!((cost("conv").flops, cost("conv").parameters), (Some(2 * 8 * 81 * 27), 3 * 3 * 3 * 8));
    assert_eq!((cost("deep").flops, cost("deep").parameters), (Some(2 * 8 * 81 * 9), 9 * 8));
    assert_eq!(cost("fc").flops, Some(2 * 8 * 10));
    assert_eq!(cost("relu").parameters, 0, "the file has no bounds of Relu6");
}

#[test]
fn a_convolution_has_the_groups_that_its_image_and_its_filter_tell() {
    let convolution = |name: &str, inputs: &[&str]| {
        made::Node::new(name, "Conv2D", inputs).ints("strides", &[1, 1, 1, 1]).text("padding", "SAME")
    };
    let (model, shapes) = inferred(&[
        made::Node::placeholder("image", &[1, 8, 8, 6]),
        made::Node::constant("first/filter", &[1, 1, 3, 16], 0.5),
        made::Node::constant("second/filter", &[3, 3, 4, 32], 0.5),
        made::Node::constant("third/filter", &[1, 1, 48, 8], 0.5),
        made::Node::constant("bias", &[16], 0.5),
        convolution("first", &["image", "first/filter"]),
        made::Node::new("biased", "BiasAdd", &["first", "bias"]),
        made::Node::new("relu", "Relu", &["biased"]),
        made::Node::integers("widths", &[0, 0, 1, 1, 1, 1, 0, 0], false),
        made::Node::new("padded", "Pad", &["relu", "widths"]),
        convolution("second", &["relu", "second/filter"]),
        made::Node::integers("axis", &[3], true),
        made::Node::new("joined", "ConcatV2", &["second", "relu", "axis"]),
        convolution("third", &["joined", "third/filter"]),
        convolution("fourth", &["padded", "second/filter"]),
    ]);
    let group = |name: &str| model.graph().node_by_name(name).unwrap().attributes.int("group");
    assert_eq!([group("first"), group("second"), group("fourth")], [Some(2), Some(4), Some(4)]);
    assert_eq!(group("third"), None, "one that reads all channels has no groups");
    assert_eq!(dims(&model, &shapes, "third"), [1, 8, 8, 8]);
    assert_eq!(dims(&model, &shapes, "fourth"), [1, 32, 10, 10]);
    let cost = Cost::of(&model, &shapes, model.graph().node_by_name("second").unwrap().id);
    assert_eq!(cost.flops, Some(2 * 64 * 9 * 4 * 32));

    let first = |name: &str, inputs: &[&str]| convolution(name, inputs).text("data_format", "NCHW");
    let (model, shapes) = inferred(&[
        made::Node::placeholder("image", &[1, 6, 8, 8]),
        made::Node::constant("filter", &[1, 1, 3, 16], 0.5),
        first("first", &["image", "filter"]),
    ]);
    assert_eq!(dims(&model, &shapes, "first"), [1, 16, 8, 8]);
}

#[test]
fn operators_that_need_the_files_order_get_it_once_for_each_value() {
    let (model, shapes) = inferred(&[
        made::Node::placeholder("x", &[2, 6, 8, 4]),
        made::Node::new("pool", "MaxPool", &["x"])
            .ints("ksize", &[1, 2, 2, 1])
            .ints("strides", &[1, 2, 2, 1])
            .text("padding", "VALID"),
        made::Node::integers("flat", &[2, -1], false),
        made::Node::new("reshape", "Reshape", &["pool", "flat"]),
        made::Node::integers("turn", &[0, 2, 1, 3], false),
        made::Node::new("transpose", "Transpose", &["pool", "turn"]),
        made::Node::new("shape", "Shape", &["pool"]),
    ]);
    assert_eq!(dims(&model, &shapes, "pool"), [2, 4, 3, 4]);
    assert_eq!(dims(&model, &shapes, "reshape"), [2, 48]);
    assert_eq!(dims(&model, &shapes, "transpose"), [2, 4, 3, 4]);
    assert_eq!(dims(&model, &shapes, "shape"), [4]);
    let turned = types(&model).iter().filter(|node| node.starts_with("pool:nhwc")).count();
    assert_eq!(turned, 1, "{:?}", types(&model));
    let stated = model.provenance().stated.iter().find(|fact| fact.key == "inserted_transposes").unwrap();
    assert_eq!(stated.value, StatedValue::Count(2));
}

#[test]
fn parts_follow_pythons_rules() {
    let strided = |name: &str, begin: &str, end: &str| {
        made::Node::new(name, "StridedSlice", &["x", begin, end, "steps"])
    };
    let (model, shapes) = inferred(&[
        made::Node::placeholder("x", &[4, 6, 8]),
        made::Node::integers("zero", &[0, 0, 0], false),
        made::Node::integers("begin", &[1, -3, 1], false),
        made::Node::integers("end", &[3, -1, 7], false),
        made::Node::integers("steps", &[1, 1, 2], false),
        strided("part", "begin", "end"),
        strided("open", "begin", "zero").int("end_mask", 7),
        strided("one", "begin", "end").int("shrink_axis_mask", 2),
        made::Node::integers("sizes", &[2, -1, 3], false),
        made::Node::new("slice", "Slice", &["x", "zero", "sizes"]),
        made::Node::integers("axis", &[2], true),
        made::Node::new("split", "Split", &["axis", "x"]).int("num_split", 2),
        made::Node::new("join", "ConcatV2", &["split:1", "split", "split:0", "axis"]),
        made::Node::new("pack", "Pack", &["split", "split:1"]).int("axis", 1),
        made::Node::new("only", "Pack", &["part"]).int("axis", 0),
        made::Node::new("unpack", "Unpack", &["pack"]).int("axis", 1).int("num", 2),
        made::Node::new("last", "Identity", &["unpack:1"]),
    ]);
    for (value, expected) in [
        ("part", &[2, 2, 3][..]),
        ("open", &[3, 3, 4]),
        ("one", &[2, 3]),
        ("slice", &[2, 6, 3]),
        ("split:1", &[4, 6, 4]),
        ("join", &[4, 6, 12]),
        ("pack", &[4, 2, 6, 4]),
        ("only", &[1, 2, 2, 3]),
        ("last", &[4, 6, 4]),
    ] {
        assert_eq!(dims(&model, &shapes, value), expected, "{value}");
    }
    assert!(types(&model).contains(&"only Unsqueeze".to_owned()), "{:?}", types(&model));
}

#[test]
fn operators_that_make_nothing_but_sizes_which_onnxs_operators_do_not_read_are_known() {
    let nodes = [
        made::Node::placeholder("x", &[1, 4, 4, 8]),
        made::Node::new("shape", "Shape", &["x"]),
        made::Node::integers("zero", &[0], false),
        made::Node::integers("one", &[1], false),
        made::Node::new("batch", "StridedSlice", &["shape", "zero", "one", "one"]).int("shrink_axis_mask", 1),
        made::Node::integers("size", &[8], true),
        made::Node::new("sizes", "Pack", &["batch", "size", "size", "size"]),
        made::Node::constant("filter", &[2, 2, 8, 8], 0.5),
        made::Node::new("larger", "Conv2DBackpropInput", &["sizes", "filter", "x"])
            .ints("strides", &[1, 2, 2, 1])
            .text("padding", "SAME"),
    ];
    let unread = |nodes: &[made::Node]| {
        let model = load(graph(nodes)).unwrap();
        ["shape", "batch", "sizes", "larger"].map(|name| model.is_unread(name))
    };
    assert_eq!(unread(&nodes), [true, true, true, false]);
    let other = made::Node::new("other", "Neg", &["batch"]);
    assert_eq!(unread(&[&nodes[..], &[other]].concat()), [false, false, true, false]);
}

#[test]
fn sizes_and_places_have_the_integers_of_the_file() {
    let (model, shapes) = inferred(&[
        made::Node::placeholder("x", &[2, 6, 8, 4]),
        made::Node::integers("three", &[3], true),
        made::Node::new("top", "TopKV2", &["x", "three"]),
        made::Node::new("place", "Neg", &["top:1"]),
        made::Node::integers("axis", &[1], true),
        made::Node::new("most", "ArgMax", &["x", "axis"]).data_type("output_type", INT32),
        made::Node::new("least", "ArgMin", &["x", "axis"]),
        made::Node::new("long", "Shape", &["x"]).data_type("out_type", made::INT64),
        made::Node::new("pool", "MaxPool", &["x"])
            .ints("ksize", &[1, 2, 2, 1])
            .ints("strides", &[1, 2, 2, 1])
            .text("padding", "VALID"),
        made::Node::new("of_image", "Shape", &["pool"]),
        made::Node::new("shape", "Shape", &["x"]),
        made::Node::integers("zero", &[0], false),
        made::Node::integers("one", &[1], false),
        made::Node::new("batch", "StridedSlice", &["shape", "zero", "one", "one"]).int("shrink_axis_mask", 1),
        made::Node::integers("rest", &[-1], true),
        made::Node::new("sizes", "Pack", &["batch", "rest"]),
        made::Node::new("flat", "Reshape", &["x", "sizes"]),
    ]);
    let data_type =
        |value: &str| shapes.get(model.graph().value_by_name(value).unwrap().id).unwrap().data_type;
    for value in ["top:1", "place", "most", "of_image", "shape", "batch", "sizes"] {
        assert_eq!(data_type(value), DataType::Int32, "{value}");
    }
    assert_eq!([data_type("least"), data_type("long")], [DataType::Int64; 2]);
    assert_eq!(dims(&model, &shapes, "flat"), [2, 192], "the sizes are known through the conversion");
    let helpers = ["top:1:cast", "most:cast", "of_image:cast", "shape:cast"];
    assert_eq!(helpers.map(|name| model.is_helper(name)), [true; 4]);
    assert_eq!(["top", "most", "shape", "least:cast"].map(|name| model.is_helper(name)), [false; 4]);
}

#[test]
fn constants_that_nothing_reads_under_their_name_are_outputs() {
    let (model, shapes) = inferred(&[
        made::Node::placeholder("x", &[1, 4]),
        made::Node::constant("stored", &[2, 3], 0.5),
        made::Node::integers("sizes", &[3, 2], false),
        made::Node::new("y", "Neg", &["x"]),
        made::Node::new("same", "Identity", &["stored"]),
        made::Node::new("turned", "Reshape", &["same", "sizes"]),
        made::Node::new("last", "Identity", &["turned"]).data_type("T", made::FLOAT),
        made::Node::new("other", "Reshape", &["stored", "sizes"]),
    ]);
    let outputs: Vec<_> = model.graph().outputs().iter().map(|id| model.graph().value(*id).name).collect();
    assert_eq!(outputs, ["y", "last", "other"]);
    let mut types = types(&model);
    types.sort();
    assert_eq!(types, ["last Identity", "other Reshape", "y Neg"]);
    assert_eq!([dims(&model, &shapes, "last"), dims(&model, &shapes, "other")], [[3_u64, 2]; 2]);
}

#[test]
fn operators_without_a_like_keep_their_names_and_are_told() {
    let model = load(graph(&[
        made::Node::placeholder("x", &[1, 4]),
        made::Node::new("own", "MyOwnOp", &["x"]).int("depth", 3).data_type("T", INT32),
        made::Node::new("read", "Relu", &["own:2"]),
    ]))
    .unwrap();
    let node = model.graph().node_by_name("own").unwrap();
    assert_eq!((node.op_type, node.domain), ("MyOwnOp", DOMAIN));
    let told = "1 of the operators have no like in ONNX: own (MyOwnOp)";
    assert_eq!(model.provenance().losses, [told], "no sizes behind it are said to be lost");
    assert_eq!(types(&model), ["own MyOwnOp", "read Relu"]);
}

#[test]
fn outputs_have_the_real_type_that_their_node_states() {
    let declared = |node: made::Node| {
        let model = load(graph(&[made::Node::placeholder("x", &[1, 4]), node])).unwrap();
        let output = model.graph().value(model.graph().outputs()[0]);
        output.declared().map(|declared| declared.data_type)
    };
    let stated = |op: &str, data_type| made::Node::new("y", op, &["x"]).data_type("T", data_type);
    assert_eq!(declared(stated("Identity", made::FLOAT)), Some(DataType::Float32));
    assert_eq!(declared(stated("Identity", INT32)), None);
    assert_eq!(declared(stated("Shape", made::FLOAT)), None, "its type is that of its input alone");
}

#[test]
fn lists_of_sizes_are_no_parameters() {
    let model = load(graph(&[
        made::Node::placeholder("x", &[1, 4]),
        made::Node::integers("sizes", &[2, 2], false),
        made::Node::constant("weights", &[3], 0.5),
        made::Node::new("own", "MyOwnOp", &["x", "sizes", "weights"]),
    ]))
    .unwrap();
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    let own = model.graph().node_by_name("own").unwrap().id;
    assert_eq!(Cost::of(&model, &shapes, own).parameters, 3);
}

#[test]
fn nodes_may_stand_in_any_order_and_loops_are_left_out() {
    let model = load(graph(&[
        made::Node::new("b", "Relu", &["a"]),
        made::Node::new("a", "Neg", &["x"]),
        made::Node::placeholder("x", &[1, 4]),
        made::Node::new("merge", "Merge", &["x", "next"]),
        made::Node::new("body", "Neg", &["merge"]),
        made::Node::new("next", "NextIteration", &["body"]),
        made::Node::new("self", "Add", &["self", "x"]),
        made::Node::new("a", "Exp", &["x"]),
    ]))
    .unwrap();
    assert_eq!(types(&model)[..2], ["a Neg", "b Relu"]);
    let losses = model.provenance().losses.join("\n");
    assert!(losses.contains("1 of the nodes have the name of another"), "{losses}");
    assert!(losses.contains("2 of the values lead back in loops"), "{losses}");
    // Nobody reads them any more, and somebody does in the file.
    assert!(["merge", "body", "next", "self"].iter().all(|name| model.is_unread(name)));
    assert!(!["a", "b"].iter().any(|name| model.is_unread(name)));
}

#[test]
fn a_graph_that_is_cut_off_is_read_as_far_as_it_goes() {
    let whole = small();
    for end in 0..whole.len() {
        let Ok(model) = load(whole[..end].to_vec()) else { continue };
        if model.kind() == ModelKind::TensorFlow && end + 20 < whole.len() {
            assert!(Shapes::infer(&model, &Bindings::new()).is_ok());
        }
    }
    let model = load(whole[..whole.len() - 30].to_vec()).unwrap();
    assert!(model.provenance().losses[0].contains("damaged"), "{:?}", model.provenance().losses);
    assert!(model.graph().node_by_name("logits").is_some());
}

#[test]
fn small_constants_are_read_in_all_their_forms() {
    use opscope_testing::protobuf::Message as Bytes;
    let shape = |size| Bytes::new().message(2, &Bytes::new().int(1, size));
    let ints = |message: Bytes| {
        let message = Message::new(&message.0, 0);
        constant::Constant::of(message, &bytes::Bytes::new()).and_then(|constant| constant.ints)
    };
    let of = |size| Bytes::new().int(1, INT32).message(2, &shape(size));
    assert_eq!(ints(of(3).packed(7, &[5, -1, 7])), Some(vec![5, -1, 7]));
    assert_eq!(ints(of(3).int(7, 5)), Some(vec![5, 5, 5]), "the last number is repeated");
    assert_eq!(ints(of(2)), Some(vec![0, 0]), "nothing but sizes is zeros");
    assert_eq!(ints(of(1).packed(7, &[5, 6])), None, "more numbers than elements");
    assert_eq!(ints(Bytes::new().int(1, 9).message(2, &shape(1)).int(10, 1 << 40)), Some(vec![1 << 40]));
}
