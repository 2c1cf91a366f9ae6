//! Cases for the rules about graphs.

use super::*;

pub(super) fn cases() -> Vec<(&'static str, Case, Case)> {
    [fold_cases(), cleanup_cases(), target_cases()].into_iter().flatten().collect()
}

fn fold_cases() -> Vec<(&'static str, Case, Case)> {
    let pow = |exponent: f32| stored(&[2, 3], &["Pow x,E: -> y"], &[("E", &[exponent])], &[]);
    let parted = |gathers: &[&str]| {
        let product = ["MatMul x,W:16x48 -> a", "Reshape a,S:5 -> b", "Transpose b perm=2.0.3.1.4 -> c"];
        let integers: [(&str, &[i64]); 3] = [("S", &[0, 0, 3, 4, 4]), ("I", &[0]), ("J", &[1])];
        stored(&[1, 8, 16], &[&product[..], gathers].concat(), &[], &integers)
    };
    let gelu = |nodes: &[&str]| {
        let data: [(&str, &[f32]); 3] = [("K", &[std::f32::consts::SQRT_2]), ("O", &[1.0]), ("H", &[0.5])];
        on(Target::OnnxRuntime, stored(&[2, 3], nodes, &data, &[]))
    };
    let norm = |nodes: &[&str]| stored(&[2, 3, 16], nodes, &[("T", &[2.0]), ("E", &[1e-5])], &[]);
    let attention = |last: &str| {
        let nodes =
            ["Transpose x perm=0.1.3.2 -> t", "MatMul x,t -> p", "Div p,R: -> d", "Softmax d -> s", last];
        shaped(&[1, 2, 8, 16], &nodes)
    };
    let hard_swish = |nodes: &[&str]| on(Target::OnnxRuntime, graph(nodes));
    vec![
        (
            "G01",
            graph(&["Conv x,W:16x3x3x3 -> a", "BatchNormalization a,S:16,B:16,M:16,V:16 -> y"]),
            graph(&[
                "Conv x,W:16x3x3x3 -> a",
                "BatchNormalization a,S:16,B:16,M:16,V:16 -> y",
                "Relu a -> z",
            ]),
        ),
        (
            "G03",
            graph(&["Conv x,W:16x3x3x3 -> a", "Mul a,K:1x16x1x1 -> y"]),
            graph(&["Conv x,W:16x3x3x3 -> a", "Mul a,K:1x16x14x14 -> y"]),
        ),
        ("G04", pow(2.0), pow(2.5)),
        (
            "G05",
            graph(&["Softplus x -> s", "Tanh s -> t", "Mul x,t -> y"]),
            graph(&["Softplus x -> s", "Tanh s -> t", "Mul s,t -> y"]),
        ),
        (
            "G16",
            graph(&[
                "Transpose x perm=0.2.1.3 -> a",
                "BatchNormalization a,S:16,B:16,M:16,V:16 -> b",
                "Transpose b perm=0.2.1.3 -> y",
            ]),
            graph(&[
                "Relu x -> a",
                "BatchNormalization a,S:16,B:16,M:16,V:16 -> b",
                "Transpose b perm=0.2.1.3 -> y",
            ]),
        ),
        ("G21", parted(&["Gather c,I: -> q", "Gather c,J: -> k"]), parted(&["Gather c,I: -> q"])),
        ("G25", graph(&["Exp C:4 -> a", "Add x,a -> y"]), graph(&["Exp x -> a", "Add x,a -> y"])),
        (
            "G26",
            shaped(&[4, 16], &["MatMul x,W:16x8 -> a", "Add a,B:8 -> y"]),
            shaped(&[2, 4, 16], &["MatMul x,W:16x8 -> a", "Add a,B:8 -> y"]),
        ),
        (
            "G27",
            graph(&["Conv x,W:16x3x3x3 -> a", "Transpose a perm=0.2.3.1 -> b", "Relu b -> y"]),
            graph(&["Conv x,W:16x3x3x3 -> a", "Relu a -> b", "Transpose b perm=0.2.3.1 -> y"]),
        ),
        (
            "G28",
            gelu(&["Div x,K: -> a", "Erf a -> b", "Add b,O: -> c", "Mul x,c -> d", "Mul d,H: -> y"]),
            gelu(&["Div x,K: -> a", "Erf a -> b", "Add b,O: -> c", "Softmax c -> y"]),
        ),
        ("G28", attention("MatMul s,x -> y"), attention("Relu s -> y")),
        (
            "G28",
            hard_swish(&["HardSigmoid x alpha=0.16666667f beta=0.5f -> g", "Mul x,g -> y"]),
            hard_swish(&["HardSigmoid x -> g", "Mul x,g -> y"]),
        ),
        (
            "G28",
            norm(&LAYER_NORM),
            norm(&["ReduceMean x axes=2. -> m", "Sub x,m -> d", "Sqrt d -> r", "Div d,r -> y"]),
        ),
    ]
}

/// A layer normalisation in pieces.
pub(super) const LAYER_NORM: [&str; 7] = [
    "ReduceMean x axes=2. -> m",
    "Sub x,m -> d",
    "Pow d,T: -> s",
    "ReduceMean s axes=2. -> v",
    "Add v,E: -> w",
    "Sqrt w -> r",
    "Div d,r -> y",
];

#[test]
fn a_rewrite_that_was_measured_to_be_slower_on_a_target_is_not_advised_there() {
    let norm = |target| on(target, stored(&[2, 3, 16], &LAYER_NORM, &[("T", &[2.0]), ("E", &[1e-5])], &[]));
    assert!(norm(Target::Tract).finds("G28"));
    assert!(!norm(Target::OnnxRuntime).finds("G28"));
}

#[test]
fn integers_that_the_file_has_in_32_bits_are_no_wide_ones() {
    use opscope_testing::tensorflow::{INT32, INT64, Node, graph as file};
    let with_places = |data_type: i64| {
        let nodes = [
            Node::placeholder("x", &[64, 8, 64]),
            Node::integers("one", &[1], true),
            Node::new("top", "TopKV2", &["x", "one"]).data_type("index_type", data_type),
            Node::new("next", "Neg", &["top:1"]),
            Node::new("most", "ArgMax", &["x", "one"]).data_type("output_type", data_type),
        ];
        Case { model: Some(Model::from_any_bytes(file(&nodes).into()).unwrap()), ..Case::default() }
    };
    let (narrow, wide) = (with_places(INT32), with_places(INT64));
    for rule in ["G11", "G24"] {
        assert!(wide.finds(rule) && !narrow.finds(rule), "{rule}");
    }
}

/// A profile of a resize between images of 18 channels.
fn seen_resize(op_type: &str, from: i64, to: i64) -> Profile {
    let rows = [("up", op_type, AI, 20_000, &[][..])];
    Profile::new(&rows).tensors(&[(DataType::Float16, &[1, 18, from, from])], &[1, 18, to, to])
}

fn cleanup_cases() -> Vec<(&'static str, Case, Case)> {
    let slice = |start: i64, end: i64| Case {
        model: Some(graph_of(&["Slice x,S:1,E:1 -> y"], &[], &[("S", &[start]), ("E", &[end])])),
        ..Case::default()
    };
    let gathers = |first: i64| {
        let nodes = ["Gather x,I:1 -> a", "Gather x,J:1 -> b"];
        stored(&[2, 4], &nodes, &[], &[("I", &[first]), ("J", &[1])])
    };
    let wide = |length: u64| shaped(&[1, length], &["Cast x to=7 -> a", "Abs a -> y"]);
    vec![
        (
            "G11",
            shaped(&[1, 4096], &["Cast x to=7 -> a", "Abs a -> y"]),
            shaped(&[1, 4096], &["Cast x to=6 -> a", "Abs a -> y"]),
        ),
        ("G11", wide(1024), wide(1023)),
        (
            "G12",
            graph(&["Cast x to=11 -> a", "Cast a to=10 -> y"]),
            graph(&["Cast x to=10 -> a", "Relu a -> y"]),
        ),
        (
            "G13",
            graph(&["Concat x,x axis=1 -> a", "Concat a,x axis=1 -> y"]),
            graph(&["Concat x,x axis=1 -> a", "Concat a,a axis=2 -> y"]),
        ),
        ("G14", gathers(0), gathers(3)),
        (
            "G15",
            graph(&["Transpose x perm=0.2.3.1 -> a", "Transpose a perm=0.3.1.2 -> b", "Relu b -> y"]),
            graph(&["Transpose x perm=0.2.3.1 -> a", "Relu a -> y"]),
        ),
        ("G22", graph(&["Shape x -> s", "Reshape x,s -> y"]), graph(&["Reshape x,S:2 -> y"])),
        ("G23", slice(3, 3), slice(0, 3)),
    ]
}

fn target_cases() -> Vec<(&'static str, Case, Case)> {
    let padded = |mode: &str| {
        let pad = format!("Pad x,P:8 mode={mode} -> a");
        stored(&[1, 3, 16, 16], &[&pad, "Mul a,K: -> y"], &[], &[("P", &[0, 0, 1, 1, 0, 0, 1, 1])])
    };
    let trt = |nodes: &[&str]| on(Target::TensorRt, graph(nodes));
    // The size to resize to is the fourth input; without it, the file says nothing about the output.
    let resize = |from: u64, to: i64| Case {
        model: Some(graph_of(
            &["Resize x,,,Z:4 mode=linear coordinate_transformation_mode=align_corners -> y"],
            &[],
            &[("Z", &[1, 18, to, to])],
        )),
        shape: Some(vec![1, 18, from, from]),
        ..Case::default()
    };
    vec![
        ("G02", sequence(&["Conv2D", "BNInferenceD"]), sequence(&["Conv2D", "Softmax"])),
        ("G06", graph(&["HardSwish x -> y"]), graph(&["LeakyRelu x -> y"])),
        (
            "G07",
            graph(&["Conv x,W:17x3x3x3 -> a", "Relu a -> b", "Conv b,V:32x17x3x3 -> y"]),
            graph(&["Conv x,W:16x3x3x3 -> a", "Relu a -> b", "Conv b,V:32x16x3x3 -> y"]),
        ),
        (
            "G07",
            graph(&["Conv x,W:17x3x3x3 -> a", "Relu a -> b", "Conv b,V:32x17x3x3 -> y"]),
            graph(&["Conv x,W:17x3x3x3 -> a", "Softmax a -> b", "Conv b,V:32x17x3x3 -> y"]),
        ),
        ("G08", padded("reflect"), padded("constant")),
        ("G09", resize(175, 350), resize(176, 351)),
        ("G09", resize(175, 350), resize(175, 349)),
        ("G09", of(seen_resize("Interp", 175, 350)), of(seen_resize("Interp", 176, 351))),
        ("G10", graph(&["Upsample x,S:4 mode=linear -> y"]), graph(&["Upsample x,S:4 mode=nearest -> y"])),
        ("G17", graph(&["Conv x,W:16x3x5 -> y"]), graph(&["Conv x,W:16x3x5x5 -> y"])),
        (
            "G18",
            shaped(&[1, 3, 1, 400], &["Conv x,W:4x3x1x193 -> y"]),
            shaped(&[1, 3, 1, 400], &["Conv x,W:4x3x1x192 -> y"]),
        ),
        (
            "G19",
            shaped(&[1, 3, 1, 20000], &["Conv x,W:4x3x1x3 -> y"]),
            shaped(&[1, 3, 1, 19999], &["Conv x,W:4x3x1x3 -> y"]),
        ),
        (
            "G20",
            graph(&["AveragePool x kernel_shape=16.16 strides=16.16 -> y"]),
            shaped(&[1, 3, 24, 42], &["AveragePool x kernel_shape=12.21 strides=12.21 -> y"]),
        ),
        ("G24", graph(&["TopK x,K:1 -> v,i", "Abs i -> y"]), graph(&["TopK x,K:1 -> v,i"])),
        (
            "G24",
            graph(&["TopK x,K:1 -> v,i", "Cast i to=6 -> j", "Abs j -> y", "Abs i -> z"]),
            graph(&["TopK x,K:1 -> v,i", "Cast i to=6 -> j", "Abs j -> y"]),
        ),
        ("H11", trt(&["Gather x,I:2 axis=1 -> y"]), trt(&["Gather x,I:2 axis=0 -> y"])),
        ("H11", trt(&["Conv x,W:9x3x3x3 -> y"]), trt(&["Conv x,W:8x3x3x3 -> y"])),
    ]
}
