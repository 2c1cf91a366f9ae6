//! Nothing that a file says makes loading, inference or costing panic.

use bytes::Bytes;
use opscope_model::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, StringStringEntryProto, TensorProto, TensorShapeProto, TensorType, TypeProto,
    TypeValue, ValueInfoProto,
};
use opscope_model::{Bindings, Cost, Model, Shapes};
use proptest::prelude::*;
use prost::Message;

/// Does everything with a model that could be done with it.
fn exercise(model: &Model, bindings: &Bindings) {
    let graph = model.graph();
    if let Ok(shapes) = Shapes::infer(model, bindings) {
        for node in graph.nodes() {
            let cost = Cost::of(model, &shapes, node.id);
            assert!(cost.intensity().is_none_or(|intensity| intensity >= 0.0));
            serde_json::from_str::<serde_json::Value>(&node.attributes.to_json()).unwrap();
            assert_eq!(graph.node_by_name(node.name).map(|found| found.id), Some(node.id));
        }
        for value in graph.values() {
            let _ = shapes.get(value.id).and_then(|shape| shape.bytes());
        }
    }
    for tensor in &graph.proto().initializer {
        if let Ok(data) = model.tensor_data(tensor) {
            let _ = (data.to_f32s(), data.to_i64s());
        }
    }
    let named = model.with_named_nodes();
    assert!(Model::from_proto(named, None).is_ok());
}

fn node(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        op_type: Some(op_type.into()),
        input: inputs.iter().map(|&name| name.into()).collect(),
        output: outputs.iter().map(|&name| name.into()).collect(),
        ..Default::default()
    }
}

fn value(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dim = |&n: &i64| Dimension { value: Some(DimensionValue::Value(n)), denotation: None };
    let shape = TensorShapeProto { dim: dims.iter().map(dim).collect() };
    let tensor = TensorType { elem_type: Some(1), shape: Some(shape) };
    ValueInfoProto {
        name: Some(name.into()),
        r#type: Some(TypeProto { value: Some(TypeValue::Tensor(tensor)), denotation: None }),
        ..Default::default()
    }
}

fn model(graph: GraphProto, version: i64) -> ModelProto {
    let domain =
        |domain: &str, version| OperatorSetIdProto { domain: Some(domain.into()), version: Some(version) };
    ModelProto {
        ir_version: Some(9),
        opset_import: vec![domain("", version), domain("com.microsoft", 1)],
        graph: Some(graph),
        ..Default::default()
    }
}

/// A small model of everything that has a form of its own in a file.
fn specimen() -> Vec<u8> {
    let weight = TensorProto {
        name: Some("w".into()),
        dims: vec![4, 3, 3, 3],
        data_type: Some(1),
        raw_data: Some(vec![1; 432].into()),
        ..Default::default()
    };
    let target = TensorProto {
        name: Some("target".into()),
        dims: vec![2],
        data_type: Some(7),
        int64_data: vec![0, -1],
        ..Default::default()
    };
    let place =
        |key: &str, value: &str| StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) };
    let outside = TensorProto {
        name: Some("outside".into()),
        dims: vec![3],
        data_type: Some(10),
        data_location: Some(1),
        external_data: vec![place("location", "weights.bin"), place("offset", "64")],
        ..Default::default()
    };
    let branch = |from: &str| GraphProto {
        node: vec![node("Relu", &[from], &["inner"])],
        output: vec![value("inner", &[1, 4])],
        ..Default::default()
    };
    let graph_attribute = |name: &str, graph| AttributeProto {
        name: Some(name.into()),
        g: Some(Box::new(graph)),
        r#type: Some(AttributeType::Graph as i32),
        ..Default::default()
    };
    let mut choice = node("If", &["condition"], &["y"]);
    choice.attribute =
        vec![graph_attribute("then_branch", branch("flat")), graph_attribute("else_branch", branch("half"))];
    let graph = GraphProto {
        node: vec![
            node("Conv", &["x", "w"], &["c"]),
            node("Reshape", &["c", "target"], &["flat"]),
            node("Mul", &["flat", "outside"], &["half"]),
            choice,
        ],
        input: vec![value("x", &[1, 3, 3, 3]), value("condition", &[])],
        output: vec![value("y", &[1, 4])],
        initializer: vec![weight, target, outside],
        ..Default::default()
    };
    model(graph, 17).encode_to_vec()
}

#[test]
fn the_specimen_itself_is_a_model() {
    let model = Model::from_bytes(specimen().into(), None).unwrap();
    let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
    let output = shapes.get(model.graph().outputs()[0]).unwrap();
    // The branches give one row of 4 and, broadcast against 3 elements, nothing that fits.
    assert_eq!(output.dims, [Some(1), Some(4)]);
    exercise(&model, &Bindings::new());
}

/// Operators that inference or costing knows, by domain.
const OPERATORS: [(&str, &str); 2] = [
    (
        "",
        "Abs Add AffineGrid And ArgMax Attention AveragePool BatchNormalization Bernoulli BitShift Cast \
         CastLike CausalConvWithState CenterCropPad Clip Col2Im Compress Concat Constant ConstantOfShape \
         Conv ConvInteger ConvTranspose CumSum DFT DeformConv DepthToSpace DequantizeLinear Det Div \
         Dropout DynamicQuantizeLinear Einsum Equal Expand EyeLike Flatten GRU Gather GatherElements \
         GatherND Gemm GlobalAveragePool GlobalLpPool GridSample GroupNormalization HannWindow Identity \
         If ImageDecoder InstanceNormalization LRN LSTM LayerNormalization LinearAttention Loop LpPool \
         MatMul MatMulInteger Max MaxPool MaxRoiPool MaxUnpool Mean MelWeightMatrix Mod Mul Multinomial \
         Neg NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot PRelu Pad Pow QLinearConv \
         QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike Range ReduceMax \
         ReduceProd ReduceSum Reshape Resize RoiAlign RotaryEmbedding STFT Scan ScatterND Shape Size \
         Slice SoftmaxCrossEntropyLoss SpaceToDepth Split Sqrt Squeeze Sub Sum TfIdfVectorizer Tile TopK \
         Transpose Trilu Unique Unsqueeze Upsample Where",
    ),
    (
        "com.microsoft",
        "Attention BiasGelu BiasSplitGelu DynamicQuantizeMatMul EmbedLayerNormalization FusedConv \
         FusedGemm FusedMatMul GroupQueryAttention MatMulNBits MultiHeadAttention NhwcMaxPool QAttention \
         QGemm QLinearAdd QLinearAveragePool QLinearConcat QLinearConv QLinearGlobalAveragePool \
         SkipLayerNormalization",
    ),
];

const INTS: [&str; 12] = [
    "axes",
    "dilations",
    "kernel_shape",
    "output_padding",
    "output_shape",
    "pads",
    "perm",
    "scan_input_axes",
    "shape",
    "split",
    "strides",
    "value_ints",
];

const INT: [&str; 29] = [
    "K",
    "N",
    "allowzero",
    "axis",
    "batch_dims",
    "blocksize",
    "ceil_mode",
    "channels_last",
    "end",
    "group",
    "hidden_size",
    "inverse",
    "keepdims",
    "kv_num_heads",
    "layout",
    "noop_with_empty_axes",
    "num_heads",
    "num_outputs",
    "num_scan_inputs",
    "onesided",
    "output_height",
    "q_num_heads",
    "sample_size",
    "size",
    "start",
    "to",
    "transA",
    "transB",
    "value_int",
];

const STRING: [(&str, &[&str]); 6] = [
    ("auto_pad", &["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"]),
    ("equation", &["ij,jk->ik", "...i,...j->...ij", "ii", "i,j", "->", ",", "a...b", "é->é"]),
    ("direction", &["forward", "bidirectional"]),
    ("mode", &["nearest", "linear", "cubic"]),
    ("keep_aspect_ratio_policy", &["not_larger", "not_smaller"]),
    ("reduction", &["none", "mean"]),
];

/// Numbers as files hold them: mostly small, some absurd.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        12 => -3i64..8,
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
        1 => any::<i64>(),
    ]
}

fn named(name: &'static str, attribute: AttributeProto) -> AttributeProto {
    AttributeProto { name: Some(name.into()), ..attribute }
}

fn attribute() -> impl Strategy<Value = AttributeProto> {
    let ints = (proptest::sample::select(&INTS[..]), prop::collection::vec(number(), 0..7)).prop_map(
        |(name, ints)| {
            named(
                name,
                AttributeProto { ints, r#type: Some(AttributeType::Ints as i32), ..Default::default() },
            )
        },
    );
    let int = (proptest::sample::select(&INT[..]), number()).prop_map(|(name, i)| {
        named(
            name,
            AttributeProto { i: Some(i), r#type: Some(AttributeType::Int as i32), ..Default::default() },
        )
    });
    let string = (proptest::sample::select(&STRING[..]), any::<prop::sample::Index>()).prop_map(
        |((name, values), place)| {
            let s = Some(Bytes::from_static(place.get(values).as_bytes()));
            named(
                name,
                AttributeProto { s, r#type: Some(AttributeType::String as i32), ..Default::default() },
            )
        },
    );
    let scales = prop::collection::vec(-1f32..4.0, 0..5).prop_map(|floats| {
        named(
            "scales",
            AttributeProto { floats, r#type: Some(AttributeType::Floats as i32), ..Default::default() },
        )
    });
    let body = prop::sample::select(vec!["body", "then_branch", "else_branch"]).prop_map(|name| {
        let graph = GraphProto {
            node: vec![node("Add", &["s", "in0"], &["t"]), node("Identity", &["go"], &["on"])],
            input: vec![value("i", &[]), value("go", &[]), value("s", &[2])],
            output: vec![value("on", &[]), value("t", &[2])],
            ..Default::default()
        };
        let g = Some(Box::new(graph));
        named(name, AttributeProto { g, r#type: Some(AttributeType::Graph as i32), ..Default::default() })
    });
    prop_oneof![4 => ints, 6 => int, 2 => string, 1 => scales, 1 => body]
}

#[derive(Clone, Debug)]
enum Input {
    Shape(Vec<i64>),
    List(Vec<i64>),
    Floats(Vec<f32>),
    Scalar(i64),
}

fn input() -> impl Strategy<Value = Input> {
    prop_oneof![
        4 => prop::collection::vec(number(), 0..6).prop_map(Input::Shape),
        3 => prop::collection::vec(number(), 0..6).prop_map(Input::List),
        1 => prop::collection::vec(-1f32..4.0, 0..6).prop_map(Input::Floats),
        1 => number().prop_map(Input::Scalar),
    ]
}

fn operators() -> Vec<(&'static str, &'static str)> {
    let of = |(domain, names): &(&'static str, &'static str)| {
        let domain = *domain;
        names.split_whitespace().map(move |name| (domain, name)).collect::<Vec<_>>()
    };
    OPERATORS.iter().flat_map(of).collect()
}

fn one_operator() -> impl Strategy<Value = ModelProto> {
    (
        proptest::sample::select(operators()),
        prop::collection::vec(input(), 1..6),
        prop::collection::vec(attribute(), 0..6),
        1i64..29,
        0usize..4,
    )
        .prop_map(|((domain, op_type), inputs, attributes, version, outputs)| {
            let mut graph = GraphProto::default();
            let names: Vec<String> = (0..inputs.len()).map(|place| format!("in{place}")).collect();
            for (name, input) in names.iter().zip(inputs) {
                let stored = |dims, tensor| TensorProto { name: Some(name.clone()), dims, ..tensor };
                match input {
                    Input::Shape(dims) => graph.input.push(value(name, &dims)),
                    Input::List(list) => graph.initializer.push(stored(
                        vec![list.len() as i64],
                        TensorProto { data_type: Some(7), int64_data: list, ..Default::default() },
                    )),
                    Input::Floats(list) => {
                        graph.initializer.push(stored(
                            vec![list.len() as i64],
                            TensorProto { data_type: Some(1), float_data: list, ..Default::default() },
                        ));
                    }
                    Input::Scalar(n) => graph.initializer.push(stored(
                        vec![],
                        TensorProto { data_type: Some(7), int64_data: vec![n], ..Default::default() },
                    )),
                }
            }
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let outputs: Vec<String> = (0..=outputs).map(|place| format!("out{place}")).collect();
            let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
            let mut tested = node(op_type, &names, &outputs);
            tested.domain = Some(domain.into());
            tested.attribute = attributes;
            graph.node =
                vec![tested, node("Shape", &["out0"], &["shape"]), node("Expand", &["in0", "shape"], &["z"])];
            graph.output = vec![value("z", &[])];
            model(graph, version)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4000) })]

    #[test]
    fn no_operator_panics_whatever_its_inputs_and_attributes(proto in one_operator()) {
        // Bodies read `in0`; where nothing defines it, loading says so.
        if let Ok(model) = Model::from_proto(proto, None) {
            exercise(&model, &Bindings::new());
        }
    }

    #[test]
    fn mutated_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        length in any::<prop::sample::Index>(),
        cuts in any::<bool>(),
    ) {
        let mut bytes = specimen();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if cuts {
            bytes.truncate(length.index(bytes.len()));
        }
        if let Ok(model) = Model::from_bytes(bytes.into(), None) {
            exercise(&model, &Bindings::new());
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..256)) {
        let _ = Model::from_bytes(bytes.into(), None);
    }
}
