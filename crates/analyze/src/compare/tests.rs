//! Profiles built for the purpose, compared.

use opscope_trace::*;

use super::*;

/// A profile of one inference: operators by name, type, origins and microseconds.
pub(super) fn profile(rows: &[(&str, &str, &str, i64)]) -> Trace {
    let mut trace = Trace::new();
    let mut start = 0;
    for &(name, op_type, origins, micros) in rows {
        let (name, op_type) = (trace.strings.intern(name), trace.strings.intern(op_type));
        let ids: Vec<StringId> =
            origins.split_whitespace().map(|origin| trace.strings.intern(origin)).collect();
        let origins = trace.names.push(ids);
        let operator = trace.operators.push(Operator { origins, ..Operator::new(name, op_type) });
        let task = Task::new(name, Nanoseconds(start), Nanoseconds(micros * 1_000));
        trace.tasks.push(Task { operator: Some(operator), ..task });
        start += micros * 1_000;
    }
    trace
}

/// A profile of one inference: operators by name, type, shape of the output and microseconds.
pub(super) fn shaped_profile(rows: &[(&str, &str, [i64; 4], i64)]) -> Trace {
    let unshaped: Vec<_> =
        rows.iter().map(|&(name, op_type, _, micros)| (name, op_type, "", micros)).collect();
    let mut trace = profile(&unshaped);
    for (index, (.., shape, _)) in rows.iter().enumerate() {
        let dimensions = Some(trace.dimensions.push(*shape));
        let data_type = DataType::Float32;
        let output = Tensor { name: None, data_type, dimensions, layout: None, parameter: false };
        let (first_output, output_count) = trace.tensors.push_all([output]);
        let id = OperatorId::from_index(index);
        let row = trace.operators.get(id);
        trace.operators.set(id, Operator { first_output, output_count, ..row });
    }
    trace
}

pub(super) fn stories(comparison: &Comparison<'_>) -> Vec<String> {
    comparison.groups.iter().map(|group| format!("{} {}", group.story(), group.delta.0 / 1_000)).collect()
}

/// The same with an inference around the operators that lasts so many microseconds.
fn inference(rows: &[(&str, &str, &str, i64)], micros: i64, times: TimeBasis) -> Trace {
    let mut trace = profile(rows);
    let (start, duration) = (Nanoseconds(0), Nanoseconds(micros * 1_000));
    let row = Iteration { model: None, number: 1, warm_up: false, start, duration };
    let iteration = Some(trace.iterations.push(row));
    for id in trace.tasks.ids().collect::<Vec<_>>() {
        let row = trace.tasks.get(id);
        trace.tasks.set(id, Task { iteration, ..row });
    }
    trace.run.layer_times = times;
    trace
}

#[test]
fn an_inference_that_was_timed_is_compared_with_no_sum_of_operators() {
    let rows = [("conv", "Conv", "", 100), ("relu", "Relu", "", 20)];
    let timed = inference(&rows, 200, TimeBasis::default());
    let stated = inference(&rows, 150, TimeBasis::Unplaced);
    let summed = inference(&rows, 120, TimeBasis::Unplaced);
    let figures = |before: &Trace, after: &Trace| {
        let comparison = Comparison::of(before, after);
        (comparison.basis, comparison.before.0 / 1_000, comparison.after.0 / 1_000)
    };
    assert_eq!(figures(&timed, &summed), (Basis::OperatorTime, 120, 120));
    assert_eq!(figures(&summed, &timed), (Basis::OperatorTime, 120, 120));
    assert_eq!(figures(&summed, &summed), (Basis::OperatorTime, 120, 120));
    assert_eq!(figures(&timed, &stated), (Basis::Iterations, 200, 150), "the file states how long it lasted");
}

#[test]
fn what_a_convolution_took_in_is_told_as_merged() {
    let before = profile(&[
        ("conv1", "Conv2D", "", 100),
        ("bn1", "BNInferenceD", "", 60),
        ("relu1", "Relu", "", 40),
        ("conv2", "Conv2D", "", 100),
        ("softmax", "SoftmaxV2", "", 10),
    ]);
    let after = profile(&[
        ("conv1", "Conv2D", "", 90),
        ("conv2", "Conv2D", "", 100),
        ("softmax", "SoftmaxV2", "", 10),
    ]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(
        stories(&comparison),
        ["Conv2D + BNInferenceD + Relu became Conv2D -110", "Conv2D same 0", "SoftmaxV2 same 0"]
    );
    assert_eq!(comparison.matched, (1.0, 1.0));
}

#[test]
fn sizes_in_the_models_go_before_the_order_and_tell_other_networks() {
    let a = profile(&[("c1", "Conv", "", 50), ("c2", "Conv", "", 30)]);
    let b = profile(&[("k2", "Conv", "", 30), ("k1", "Conv", "", 50)]);
    let names = |nodes: &[(&str, [u64; 3], u64)]| NodeNames {
        nodes: nodes
            .iter()
            .map(|(name, sizes, weights)| {
                let node =
                    ModelNode { op_type: "Conv".to_owned(), sizes: sizes.to_vec(), ..Default::default() };
                ((*name).to_owned(), ModelNode { weights: *weights, ..node })
            })
            .collect(),
        ..NodeNames::default()
    };
    let of_a = names(&[("c1", [1, 8, 16], 27), ("c2", [1, 8, 16], 64)]);
    let of_b = names(&[("k1", [1, 8, 16], 27), ("k2", [1, 8, 16], 64)]);
    let comparison = Comparison::joined(&a, &b, [&of_a, &of_b]);
    assert_eq!(stories(&comparison), ["Conv same 0", "Conv same 0"], "by their weights");
    assert_eq!(comparison.kinship(), Kinship::SameModel);
    let other = names(&[("k1", [1, 9, 99], 1), ("k2", [1, 9, 77], 2)]);
    assert_eq!(Comparison::joined(&a, &b, [&of_a, &other]).kinship(), Kinship::DifferentModels);
}

#[test]
fn an_operator_that_is_named_by_a_node_and_its_fusion_was_made_of_that_node() {
    let apart = profile(&[
        ("/0/Conv", "Conv", "", 100),
        ("/0/act/Sigmoid", "Sigmoid", "", 40),
        ("/0/act/Mul", "Mul", "", 30),
        ("/1/Conv", "Conv", "", 80),
    ]);
    let fused = profile(&[
        ("/0/Conv_output_0_nchwc", "Conv", "", 90),
        ("/0/act/Mul/QuickGeluFusion/", "QuickGelu", "", 20),
        ("/1/Conv_output_0_nchwc", "Conv", "", 80),
    ]);
    let comparison = Comparison::of(&apart, &fused);
    assert_eq!(
        stories(&comparison),
        ["Sigmoid + Mul became QuickGelu -50", "Conv faster -10", "Conv same 0"]
    );
    assert_eq!(comparison.matched, (1.0, 1.0));
    assert!(
        stories(&Comparison::of(&fused, &apart)).contains(&"QuickGelu became Sigmoid + Mul 50".to_owned())
    );
}

#[test]
fn a_product_that_took_in_an_addition_and_an_activation_is_the_node_that_it_is_named_by() {
    let apart = profile(&[
        ("fc0/MatMul", "MatMul", "", 100),
        ("fc0/Add", "Add", "", 4),
        ("fc0/Relu", "Relu", "", 3),
        ("fc1/MatMul", "MatMul", "", 200),
        ("fc1/Add", "Add", "", 5),
    ]);
    // The order is another one.
    let fused = profile(&[
        ("fc1/MatMul/MatMulAddFusion", "Gemm", "", 210),
        ("fused fc0/MatMul/MatMulAddFusion", "FusedGemm", "", 90),
    ]);
    let comparison = Comparison::of(&apart, &fused);
    assert_eq!(
        stories(&comparison),
        ["MatMul + Add + Relu became FusedGemm -17", "MatMul + Add became Gemm 5"]
    );
    assert_eq!((comparison.matched, comparison.kinship()), ((1.0, 1.0), Kinship::SameModel));
}

#[test]
fn a_pool_is_of_either_kind_only_where_its_type_does_not_tell_which() {
    let told = profile(&[("a1", "MaxPool", "", 10), ("a2", "AveragePool", "", 20)]);
    let untold = profile(&[("b1", "Pooling", "", 12), ("b2", "Pooling", "", 25)]);
    assert_eq!(stories(&Comparison::of(&told, &untold)), ["AveragePool slower 5", "MaxPool slower 2"]);
    assert_eq!(stories(&Comparison::of(&untold, &told)), ["Pooling faster -5", "Pooling faster -2"]);
    let other = profile(&[("b1", "aten::avg_pool2d", "", 25), ("b2", "aten::max_pool2d", "", 12)]);
    assert_eq!(stories(&Comparison::of(&told, &other)), ["AveragePool slower 5", "MaxPool slower 2"]);
    // Of one name, though another operator of the type ran first.
    let named = profile(&[("x", "MaxPool", "", 10), ("y", "MaxPool", "", 20)]);
    let renamed = profile(&[("y", "Pooling", "", 21), ("x", "Pooling", "", 13)]);
    assert_eq!(stories(&Comparison::of(&named, &renamed)), ["MaxPool slower 3", "MaxPool slower 1"]);
}

#[test]
fn profiles_of_models_that_have_all_nodes_in_common_are_not_of_different_ones() {
    let before = profile(&[("a", "Conv", "", 100)]);
    let after = profile(&[("engine_1", "Myelin", "", 50)]);
    let names = NodeNames { is_of_one_model: true, ..model(&[("a", "Conv", "")]) };
    assert_eq!(Comparison::joined(&before, &after, [&names, &names]).kinship(), Kinship::SameModel);
    let other = NodeNames { is_of_one_model: false, ..names.clone() };
    let comparison = Comparison::joined(&before, &after, [&names, &other]);
    assert_eq!(comparison.kinship(), Kinship::DifferentModels);
}

#[test]
fn an_operator_that_an_engine_named_in_its_own_way_is_the_nodes_that_its_model_tells() {
    let a =
        profile(&[("v1_nchwc", "Conv", "", 50), ("v2_nchwc", "Conv", "", 30), ("p_nchwc", "MaxPool", "", 9)]);
    let b = profile(&[
        ("k2", "Convolution", "c2 r2", 31),
        ("k1", "Convolution", "c1", 50),
        ("pool", "Pooling", "pool", 8),
    ]);
    let nodes = [("c1", "Conv", ""), ("c2", "Conv", "pool"), ("r2", "Relu", "c2"), ("pool", "MaxPool", "c1")];
    let mut of_a = model(&nodes);
    let made_of = [("v1_nchwc", "c1"), ("v2_nchwc", "c2"), ("p_nchwc", "pool")];
    of_a.made_of = made_of.map(|(name, node)| (name.to_owned(), vec![node.to_owned()])).into();
    let of_b = model(&nodes);
    let comparison = Comparison::joined(&a, &b, [&of_a, &of_b]);
    assert_eq!(stories(&comparison), ["Conv slower 1", "MaxPool faster -1", "Conv same 0"]);
    assert_eq!((comparison.matched, comparison.agreeing), ((1.0, 1.0), (1.0, 1.0)));
}

#[test]
fn an_operator_that_is_known_to_be_one_node_has_no_counterpart_that_is_another() {
    // Either engine left another convolution out.
    let a = profile(&[("stem", "Conv", "", 90), ("one", "Conv", "", 20)]);
    let b = profile(&[("stem", "Conv", "", 90), ("two", "Convolution", "", 25)]);
    let nodes = [("stem", "Conv", ""), ("one", "Conv", "stem"), ("two", "Conv", "stem")];
    let names = model(&nodes);
    let comparison = Comparison::joined(&a, &b, [&names, &names]);
    assert_eq!(stories(&comparison), ["Convolution appeared 25", "Conv vanished -20", "Conv same 0"]);
    // One that only an addition behind it names may be any convolution.
    let b = profile(&[("stem", "Conv", "", 90), ("sum", "Convolution", "", 25)]);
    let nodes = [("stem", "Conv", ""), ("one", "Conv", "stem"), ("sum", "Add", "one")];
    let names = model(&nodes);
    let comparison = Comparison::joined(&a, &b, [&names, &names]);
    assert_eq!(stories(&comparison), ["Conv slower 5", "Conv same 0"]);
}

#[test]
fn where_shapes_tell_counterparts_none_is_of_other_shapes() {
    const SMALL: [i64; 4] = [1, 8, 10, 10];
    const LARGE: [i64; 4] = [1, 8, 99, 99];
    let a = shaped_profile(&[("a1", "Conv", SMALL, 90), ("a2", "Conv", SMALL, 20)]);
    let b = shaped_profile(&[("b1", "Conv", SMALL, 90), ("b2", "Conv", LARGE, 25)]);
    assert_eq!(stories(&Comparison::of(&a, &b)), ["Conv appeared 25", "Conv vanished -20", "Conv same 0"]);
    // Channels that ONNX Runtime filled up to whole blocks are no other shape.
    const FILLED: [i64; 4] = [1, 16, 10, 10];
    let a = shaped_profile(&[("a1", "Conv", SMALL, 90), ("v_nchwc", "Conv", FILLED, 20)]);
    let b = shaped_profile(&[("b1", "Conv", SMALL, 90), ("b2", "Conv", SMALL, 25)]);
    assert_eq!(stories(&Comparison::of(&a, &b)), ["Conv slower 5", "Conv same 0"]);
}

/// A profile of PyTorch's operators on the host: two inferences of 1 ms, each of calls by name, begin and end in
/// microseconds.
fn calls_of_pytorch(calls: &[(&str, i64, i64)]) -> Trace {
    let mut trace = Trace::new();
    for number in 0..2_u32 {
        let (start, duration) = (Nanoseconds(i64::from(number) * 1_000_000), Nanoseconds(1_000_000));
        let row = Iteration { model: None, number, warm_up: false, start, duration };
        let iteration = Some(trace.iterations.push(row));
        for (name, begin, end) in calls {
            let name = trace.strings.intern(name);
            let known = trace.operators.name().iter().position(|known| *known == name);
            let operator = match known {
                Some(place) => OperatorId::from_index(place),
                None => trace.operators.push(Operator::new(name, name)),
            };
            let (begin, duration) = (Nanoseconds(begin * 1_000), Nanoseconds((end - begin) * 1_000));
            let task = Task::new(name, start + begin, duration);
            let unit = ExecutionUnit::Cpu;
            trace.tasks.push(Task { operator: Some(operator), iteration, unit, ..task });
        }
    }
    trace
}

#[test]
fn against_another_engine_an_operator_of_pytorchs_takes_as_long_as_all_that_it_calls() {
    let torch = calls_of_pytorch(&[
        ("forward", 0, 700),
        ("aten::conv2d", 0, 300),
        ("aten::convolution", 5, 300),
        ("aten::mkldnn_convolution", 10, 290),
        ("aten::empty", 12, 20),
        ("aten::relu", 300, 340),
        ("aten::clamp_min", 305, 340),
        ("aten::conv2d", 350, 450),
        ("aten::mkldnn_convolution", 351, 449),
        ("aten::linear", 450, 500),
        ("aten::addmm", 460, 495),
    ]);
    let engine =
        profile(&[("k1", "Conv", "", 200), ("k2", "Conv", "", 110), ("k3", "FullyConnected", "", 45)]);
    let comparison = Comparison::of(&torch, &engine);
    let expected = [
        "forward vanished -210",
        "aten::conv2d + aten::relu became Conv -140",
        "aten::conv2d slower 10",
        "aten::linear faster -5",
    ];
    assert_eq!(stories(&comparison), expected);
    assert_eq!(comparison.operators.0, Nanoseconds(700_000), "nothing counts twice, and nothing is lost");
    assert_eq!(comparison.kinship(), Kinship::Untold);
    let mut back = stories(&Comparison::of(&engine, &torch));
    back.sort();
    let expected = [
        "Conv became aten::conv2d + aten::relu 140",
        "Conv faster -10",
        "FullyConnected slower 5",
        "forward appeared 210",
    ];
    assert_eq!(back, expected);
}

#[test]
fn a_call_of_pytorchs_that_ends_behind_another_is_no_part_of_it_but_for_rounding() {
    let engine = profile(&[("k1", "Conv", "", 100), ("k2", "Relu", "", 50)]);
    let compared = |end: i64| {
        let torch = calls_of_pytorch(&[("aten::conv2d", 0, 100), ("aten::relu", 60, end)]);
        Comparison::of(&torch, &engine).groups.iter().filter(|group| group.before.len() == 1).count()
    };
    assert_eq!((compared(101), compared(110)), (1, 2));
}

#[test]
fn profiles_of_pytorchs_are_compared_call_by_call() {
    let torch = calls_of_pytorch(&[("aten::conv2d", 0, 100), ("aten::mkldnn_convolution", 5, 95)]);
    let comparison = Comparison::of(&torch, &torch);
    assert_eq!(stories(&comparison).len(), 2);
    assert_eq!(comparison.operators, (Nanoseconds(100_000), Nanoseconds(100_000)));
}

#[test]
fn nodes_that_the_models_tell_align_profiles_without_a_name_in_common() {
    let before = profile(&[("conv1", "Conv", "", 50), ("relu1", "Relu", "", 20), ("conv2", "Conv", "", 30)]);
    // The order is another one.
    let after = profile(&[("k0", "Conv2D", "", 40), ("k1", "Conv2D", "", 60), ("k2", "TransData", "", 5)]);
    let made_of = [("k0", vec!["second"]), ("k1", vec!["first", "r"])];
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    let names = NodeNames {
        made_of: made_of.into_iter().map(|(name, nodes)| (name.to_owned(), owned(nodes))).collect(),
        same_as: [("first", "conv1"), ("r", "relu1"), ("second", "conv2")]
            .map(|(node, other)| (node.to_owned(), other.to_owned()))
            .into(),
        ..NodeNames::default()
    };
    let none = NodeNames::default();
    let comparison = Comparison::joined(&before, &after, [&none, &names]);
    let mut found = stories(&comparison);
    found.sort();
    assert_eq!(found, ["Conv + Relu became Conv2D -10", "Conv slower 10", "TransData appeared 5"]);
    assert_eq!(comparison.matched.0, 1.0);
    // Without the models, the order alone tells.
    let mut unjoined = stories(&Comparison::of(&before, &after));
    unjoined.sort();
    assert_eq!(unjoined, ["Conv + Relu became Conv2D -30", "Conv slower 30", "TransData appeared 5"]);
}

#[test]
fn origins_align_engines_that_fuse_and_name_in_different_ways() {
    let before = profile(&[
        ("n0", "Conv", "conv1", 50),
        ("n1", "Relu", "relu1", 20),
        ("n2", "Gemm", "fc", 30),
        ("n3", "Softmax", "prob", 5),
    ]);
    let after = profile(&[
        ("fused_0", "FusedConv", "conv1 relu1", 55),
        ("k7", "MatMul", "fc", 60),
        ("copy", "ReorderInput", "", 8),
        ("prob_nchwc", "Softmax", "prob", 5),
    ]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(
        stories(&comparison),
        ["Gemm slower 30", "Conv + Relu became FusedConv -15", "ReorderInput appeared 8", "Softmax same 0",]
    );
}

#[test]
fn renamed_operators_are_matched_by_their_order() {
    let before = profile(&[("a1", "Conv", "", 10), ("a2", "Conv", "", 20), ("a3", "Pool", "", 5)]);
    let after = profile(&[("b1", "Conv", "", 11), ("b2", "Conv", "", 12), ("b3", "Pool", "", 5)]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(stories(&comparison), ["Conv faster -8", "Conv slower 1", "Pool same 0"]);
}

/// A network with Mish in three operators and one with LeakyRelu, whose engines run two branches in
/// different order and number their operators through.
fn mish_and_leaky() -> (Trace, Trace) {
    const SMALL: [i64; 4] = [1, 64, 10, 10];
    const LARGE: [i64; 4] = [1, 128, 20, 20];
    const FOUND: [i64; 4] = [1, 255, 10, 10];
    let before = shaped_profile(&[
        ("Conv_4", "Conv", SMALL, 50),
        ("Softplus_6", "Softplus", SMALL, 20),
        ("Tanh_8", "Tanh", SMALL, 10),
        ("Mul_10", "Mul", SMALL, 10),
        ("Conv_14", "Conv", LARGE, 80),
        ("Softplus_16", "Softplus", LARGE, 30),
        ("Tanh_18", "Tanh", LARGE, 20),
        ("Mul_20", "Mul", LARGE, 10),
        ("Conv_24", "Conv", FOUND, 7),
    ]);
    let after = shaped_profile(&[
        ("Conv_14", "Conv", SMALL, 50),
        ("LeakyRelu_16", "LeakyRelu", SMALL, 5),
        ("Conv_30", "Conv", FOUND, 6),
        ("Conv_4", "Conv", LARGE, 80),
        ("LeakyRelu_6", "LeakyRelu", LARGE, 5),
    ]);
    (before, after)
}

#[test]
fn operators_of_other_names_are_paired_with_those_of_the_same_shapes() {
    let (before, after) = mish_and_leaky();
    let comparison = Comparison::of(&before, &after);
    assert_eq!(
        stories(&comparison),
        [
            "Conv + Softplus + Tanh + Mul became Conv + LeakyRelu -55",
            "Conv + Softplus + Tanh + Mul became Conv + LeakyRelu -35",
            "Conv faster -1"
        ]
    );
    let names = |group: &Group<'_>| (group.before[0].name.to_owned(), group.after[0].name.to_owned());
    let names: Vec<_> = comparison.groups.iter().map(names).collect();
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(names, [pair("Conv_14", "Conv_4"), pair("Conv_4", "Conv_14"), pair("Conv_24", "Conv_30")]);
}

#[test]
fn operators_of_the_same_names_are_paired_though_another_size_gives_them_other_shapes() {
    let layers = |edge: i64| {
        let half = edge / 2;
        shaped_profile(&[
            ("one", "Conv", [1, 64, edge, edge], edge),
            ("two", "Conv", [1, 64, half, half], half),
        ])
    };
    let (before, after) = (layers(64), layers(128));
    let comparison = Comparison::of(&before, &after);
    assert!(comparison.groups.iter().all(|group| group.before[0].name == group.after[0].name));
}

#[test]
fn operators_that_share_a_name_pair_up_by_kind_each_once_and_in_order() {
    let before = profile(&[("x", "Conv", "", 1), ("y", "Relu", "", 9), ("x", "MatMul", "", 2)]);
    let after = profile(&[("x", "Gemm", "", 12), ("x", "FusedConv", "", 31), ("x", "Pool", "", 5)]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(
        stories(&comparison),
        ["Conv + Relu became FusedConv 21", "MatMul slower 10", "Pool appeared 5"]
    );
}

#[test]
fn a_name_that_joins_those_of_the_graph_counts_as_standing_for_them() {
    let before = profile(&[("conv1", "Conv", "conv1", 50), ("relu1", "Relu", "relu1", 20)]);
    let after = profile(&[("conv1 + relu1", "k", "", 55), ("unknown+piece", "q", "", 1)]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(stories(&comparison), ["Conv + Relu became k -15", "q appeared 1"]);
}

#[test]
fn profiles_of_different_models_are_known_as_such() {
    let before = profile(&[("conv", "Conv", "", 100), ("relu", "Relu", "", 10)]);
    let after = profile(&[("lstm", "LSTM", "", 100), ("relu9", "Relu", "", 10)]);
    let comparison = Comparison::of(&before, &after);
    assert!(comparison.is_of_different_models(), "{:?}", comparison.matched);
}

#[test]
fn networks_that_agree_in_types_and_order_alone_are_different_if_their_shapes_contradict() {
    let network = |names: [&'static str; 3], channels: i64| {
        shaped_profile(&[
            (names[0], "Conv", [1, channels, 40, 40], 100),
            (names[1], "Relu", [1, channels, 40, 40], 10),
            (names[2], "Conv", [1, 2 * channels, 20, 20], 50),
        ])
    };
    let before = network(["a1", "a2", "a3"], 24);
    let other = network(["b1", "b2", "b3"], 17);
    let comparison = Comparison::of(&before, &other);
    assert_eq!((comparison.matched, comparison.agreeing), ((1.0, 1.0), (0.0, 0.0)));
    assert_eq!(comparison.kinship(), Kinship::DifferentModels);
    // The same network with other names, and the same with other sizes.
    let renamed = network(["b1", "b2", "b3"], 24);
    assert_eq!(Comparison::of(&before, &renamed).kinship(), Kinship::SameModel);
    let resized = network(["a1", "a2", "a3"], 17);
    assert_eq!(Comparison::of(&before, &resized).kinship(), Kinship::SameModel);
}

#[test]
fn nothing_is_said_to_be_of_one_model_that_types_and_order_alone_bring_together() {
    let before = profile(&[("a1", "Conv", "", 10), ("a2", "Pool", "", 5)]);
    let after = profile(&[("b1", "Conv", "", 11), ("b2", "Pool", "", 5)]);
    assert_eq!(Comparison::of(&before, &after).kinship(), Kinship::Untold);
    assert_eq!(Comparison::of(&before, &before).kinship(), Kinship::SameModel);
}

#[test]
fn a_model_that_lost_most_of_its_time_is_still_the_same() {
    let before = profile(&[("conv", "Conv", "", 100), ("nms", "NonMaxSuppression", "", 300)]);
    let after = profile(&[("conv", "Conv", "", 100)]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(comparison.matched, (0.25, 1.0));
    assert!(!comparison.is_of_different_models());
    let tiny = profile(&[("conv", "Conv", "", 100), ("nms", "NonMaxSuppression", "", 3_000)]);
    assert!(Comparison::of(&tiny, &after).is_of_different_models());
}

#[test]
fn changes_of_layout_do_not_part_an_operator_from_what_it_took_in() {
    let before = profile(&[
        ("conv1", "Conv", "conv1", 50),
        ("reorder", "ReorderOutput", "", 5),
        ("soft1", "Softplus", "soft1", 20),
        ("tanh1", "Tanh", "tanh1", 20),
        ("mul1", "Mul", "mul1", 20),
        ("reorder_1", "ReorderInput", "", 4),
        ("conv2", "Conv", "conv2", 50),
    ]);
    let after = profile(&[("conv1", "Conv", "conv1 leaky1", 50), ("conv2", "Conv", "conv2", 50)]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(
        stories(&comparison),
        [
            "Conv + Softplus + Tanh + Mul became Conv -60",
            "ReorderOutput vanished -5",
            "ReorderInput vanished -4",
            "Conv same 0"
        ]
    );
}

#[test]
fn a_product_belongs_to_the_addition_after_which_an_engine_named_both() {
    let before = profile(&[
        ("scores", "Transpose+MatMul", "scores", 40),
        ("bias", "Add", "bias", 10),
        ("other", "MatMul", "other", 30),
        ("sum", "Add", "sum", 5),
    ]);
    let after = profile(&[("bias", "FullyConnected", "bias", 35), ("sum", "Add", "sum", 5)]);
    let comparison = Comparison::of(&before, &after);
    let mut found = stories(&comparison);
    found.sort();
    let expected = ["Add same 0", "MatMul vanished -30", "Transpose+MatMul + Add became FullyConnected -15"];
    assert_eq!(found, expected);
    // By a model, it is the product that the addition reads.
    let names = model(&[("scores", "MatMul", ""), ("other", "MatMul", ""), ("bias", "Add", "other")]);
    let none = NodeNames::default();
    let comparison = Comparison::joined(&before, &after, [&names, &none]);
    assert!(
        stories(&comparison).contains(&"Add + MatMul became FullyConnected -5".to_owned()),
        "{comparison:?}"
    );
}

#[test]
fn copies_between_layouts_have_a_counterpart_only_between_the_same_operators() {
    let before = profile(&[
        ("in_1", "ReorderInput", "", 3),
        ("conv", "Conv", "", 50),
        ("out_1", "ReorderOutput", "", 4),
        ("pool", "Pool", "", 5),
    ]);
    let after = profile(&[
        ("conv", "Conv", "", 50),
        ("trans_7", "TransData", "", 6),
        ("pool", "Pool", "", 5),
        ("trans_9", "TransData", "", 7),
    ]);
    let mut found = stories(&Comparison::of(&before, &after));
    found.sort();
    let expected = [
        "Conv same 0",
        "Pool same 0",
        "ReorderInput vanished -3",
        "ReorderOutput slower 2",
        "TransData appeared 7",
    ];
    assert_eq!(found, expected);
}

#[test]
fn an_operator_of_other_elements_than_the_one_before_it_was_not_taken_in() {
    let large = ("conv", "Conv", [1, 64, 80, 80], 100);
    let before =
        shaped_profile(&[large, ("head", "Sigmoid", [1, 1, 9, 4], 400), ("fc", "Gemm", [1, 1, 1, 9], 5)]);
    let after = shaped_profile(&[large, ("fc", "Gemm", [1, 1, 1, 9], 5)]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(stories(&comparison), ["Sigmoid vanished -400", "Conv same 0", "Gemm same 0"]);
    assert_eq!(comparison.matched, (105.0 / 505.0, 1.0));
    let comparison = Comparison::of(&after, &before);
    assert_eq!(stories(&comparison), ["Sigmoid appeared 400", "Conv same 0", "Gemm same 0"]);
}

#[test]
fn where_outputs_are_not_told_inputs_say_that_an_operator_was_not_taken_in() {
    let of_inputs = |rows: &[(&str, &str, [i64; 4], i64)]| {
        let mut trace = shaped_profile(rows);
        for id in trace.operators.ids().collect::<Vec<_>>() {
            let row = trace.operators.get(id);
            let (first_input, input_count) = (row.first_output, row.output_count);
            let operator = Operator { first_input, input_count, first_output: None, output_count: 0, ..row };
            trace.operators.set(id, operator);
        }
        trace
    };
    let (mm, relu) = (("mm", "mm", [1, 1, 8, 8], 10), ("relu", "Relu", [1, 1, 8, 8], 20));
    let before = of_inputs(&[mm, relu]);
    let after = of_inputs(&[mm, relu, ("add", "Add", [1, 1, 1024, 1024], 100)]);
    assert_eq!(stories(&Comparison::of(&before, &after)), ["Add appeared 100", "mm same 0", "Relu same 0"]);
    let after = of_inputs(&[mm, relu, ("add", "Add", [1, 1, 8, 8], 100)]);
    assert_eq!(stories(&Comparison::of(&before, &after)), ["Relu became Relu + Add 100", "mm same 0"]);
}

#[test]
fn an_operator_takes_in_one_of_a_kind_unless_a_model_tells_of_more() {
    let before = profile(&[("conv", "Conv", "", 50), ("r1", "Relu", "", 20), ("r2", "Relu", "", 30)]);
    let after = profile(&[("conv", "Conv", "", 50)]);
    let comparison = Comparison::of(&before, &after);
    assert_eq!(stories(&comparison), ["Relu vanished -30", "Conv + Relu became Conv -20"]);
    let names = model(&[("conv", "Conv", ""), ("r1", "Relu", "conv"), ("r2", "Relu", "r1")]);
    let none = NodeNames::default();
    let comparison = Comparison::joined(&before, &after, [&names, &none]);
    assert_eq!(stories(&comparison), ["Conv + Relu + Relu became Conv -50"]);
}

/// The nodes of a model: name, type and those before.
pub(super) fn model(nodes: &[(&str, &str, &str)]) -> NodeNames {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
    let node = |&(name, op_type, sources): &(&str, &str, &str)| {
        (
            name.to_owned(),
            ModelNode { op_type: op_type.to_owned(), sources: words(sources), ..Default::default() },
        )
    };
    NodeNames { nodes: nodes.iter().map(node).collect(), ..NodeNames::default() }
}

#[test]
fn by_its_model_an_operator_was_taken_in_by_one_that_it_reads_whatever_ran_between() {
    let before = profile(&[
        ("conv_a", "Conv", "", 50),
        ("conv_b", "Conv", "", 60),
        ("relu_a", "Relu", "", 20),
        ("relu_b", "Relu", "", 30),
        ("late", "Sigmoid", "", 7),
        ("first", "Tanh", "", 9),
    ]);
    let after = profile(&[("conv_a", "Conv", "", 50), ("conv_b", "Conv", "", 60)]);
    let names = model(&[
        ("conv_a", "Conv", ""),
        ("norm", "BatchNormalization", "conv_a"),
        ("relu_a", "Relu", "flat"),
        ("flat", "Reshape", "norm"),
        ("conv_b", "Conv", "relu_a"),
        ("relu_b", "Relu", "conv_b"),
        // Behind a node that the profile has no operator of, and behind none.
        ("pool", "MaxPool", "relu_b"),
        ("late", "Sigmoid", "pool"),
        ("first", "Tanh", ""),
    ]);
    let none = NodeNames::default();
    let comparison = Comparison::joined(&before, &after, [&names, &none]);
    assert_eq!(
        stories(&comparison),
        [
            "Conv + Relu became Conv -30",
            "Conv + Relu became Conv -20",
            "Tanh vanished -9",
            "Sigmoid vanished -7"
        ]
    );
    let of_a = comparison.groups.iter().find(|group| group.delta.0 == -20_000).expect("the group of conv_a");
    assert_eq!(of_a.before.iter().map(|member| member.name).collect::<Vec<_>>(), ["conv_a", "relu_a"]);
}

#[test]
fn names_of_nodes_before_a_conversion_lead_to_those_that_were_made_of_them() {
    let before = profile(&[("a", "Conv", "", 50), ("b", "Conv", "", 60), ("relu_of_a", "Relu", "r", 20)]);
    let after = profile(&[("a", "Conv", "", 50), ("b", "Conv", "", 60)]);
    let mut names = model(&[("k0", "Conv2D", ""), ("k1", "Conv2D", ""), ("k2", "Relu", "k0")]);
    names.made_of = [("k0", "a"), ("k1", "b"), ("k2", "r")]
        .map(|(node, origin)| (node.to_owned(), vec![origin.to_owned()]))
        .into();
    let none = NodeNames::default();
    let comparison = Comparison::joined(&before, &after, [&names, &none]);
    let taken: Vec<_> = comparison.groups[0].before.iter().map(|member| member.name).collect();
    assert_eq!(taken, ["a", "relu_of_a"]);
}

#[test]
fn changes_with_the_same_story_are_taken_together() {
    let before = profile(&[("a", "Conv", "", 10), ("b", "Conv", "", 30), ("c", "Pool", "", 25)]);
    let after = profile(&[("a", "Conv", "", 5), ("b", "Conv", "", 20), ("c", "Pool", "", 13)]);
    let comparison = Comparison::of(&before, &after);
    let families = comparison.families();
    let lines: Vec<_> = families
        .iter()
        .map(|it| (&*it.story, it.count, it.delta.0 / 1_000, it.greatest.before[0].name))
        .collect();
    assert_eq!(lines, [("Conv faster", 2, -15, "b"), ("Pool faster", 1, -12, "c")]);
}

#[test]
fn several_iterations_give_a_verdict() {
    let iterations = |durations: &[i64]| {
        let mut trace = Trace::new();
        for (number, micros) in durations.iter().enumerate() {
            let (number, warm_up) = (number as u32, number == 0);
            let (start, duration) = (Nanoseconds(i64::from(number) * 1_000_000), Nanoseconds(micros * 1_000));
            trace.iterations.push(Iteration { model: None, number, warm_up, start, duration });
        }
        trace
    };
    let (before, after) = (iterations(&[900, 100, 101, 99]), iterations(&[50, 80, 81, 79]));
    let comparison = Comparison::of(&before, &after);
    assert_eq!((comparison.basis, comparison.before), (Basis::Iterations, Nanoseconds(100_000)));
    assert_eq!(comparison.difference.unwrap().verdict, Verdict::Faster);
    let (before, after) = (iterations(&[1, 100, 120, 80]), iterations(&[1, 99, 118, 85]));
    let same = Comparison::of(&before, &after);
    assert_eq!(same.difference.unwrap().verdict, Verdict::WithinNoise);
}

#[test]
fn inferences_of_several_networks_are_not_tested_unless_one_is_chosen() {
    let profile = |times: [i64; 4]| {
        let mut trace = Trace::new();
        let name = trace.strings.intern("net");
        let models = [1, 2].map(|number| trace.models.push(Model { number, name }));
        for (number, time) in times.into_iter().enumerate() {
            let (start, duration) = (Nanoseconds(number as i64 * 1_000), Nanoseconds(time));
            let (model, number) = (Some(models[number / 2]), number as u32);
            trace.iterations.push(Iteration { model, number, warm_up: false, start, duration });
        }
        (trace, models[1])
    };
    let ((mut before, second), (after, _)) = (profile([100, 101, 500, 501]), profile([80, 81, 400, 401]));
    let mixed = Comparison::of(&before, &after);
    assert_eq!((mixed.difference, mixed.networks), (None, (2, 2)));
    before.counted_model = Some(second);
    assert!(Comparison::of(&before, &after).is_of_several_networks());
    let mut after = after;
    after.counted_model = Some(second);
    let chosen = Comparison::of(&before, &after);
    assert_eq!(chosen.difference.unwrap().verdict, Verdict::Faster);
}

#[test]
fn calls_and_ranges_that_come_more_often_in_an_inference_take_more_of_it() {
    let profile = |per_inference: i64| {
        let mut trace = Trace::new();
        let [malloc, load, forward] =
            ["cudaMalloc", "loadModel", "forward"].map(|it| trace.strings.intern(it));
        let call = |name, start, duration| ApiCall {
            thread: None,
            level: ApiLevel::Runtime,
            name,
            start: Nanoseconds(start),
            duration: Nanoseconds(duration),
            iteration: None,
        };
        trace.api_calls.push(call(load, 0, 500));
        for number in 1..=2_u32 {
            let begin = i64::from(number) * 1_000;
            let (start, duration) = (Nanoseconds(begin), Nanoseconds(900));
            trace.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
            for place in 0..per_inference {
                trace.api_calls.push(call(malloc, begin + 10 + place * 100, 80));
                let range = Range::new(forward, Nanoseconds(begin + 5 + place * 100), Nanoseconds(90));
                trace.ranges.push(Range { kind: RangeKind::PushPop, ..range });
            }
        }
        trace
    };
    let (once, often) = (profile(1), profile(8));
    let comparison = Comparison::of(&once, &often);
    let shown = |it: &SpanChange| (it.name.clone(), it.of_inference, it.before.0, it.after.0, it.counts);
    let found: Vec<_> = comparison.spans.iter().map(shown).collect();
    let expected = [
        ("forward".to_owned(), true, 90, 720, (1.0, 8.0)),
        ("cudaMalloc".to_owned(), true, 80, 640, (1.0, 8.0)),
        ("loadModel".to_owned(), false, 500, 500, (1.0, 1.0)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_range_that_lost_five_seconds_is_suspected_of_a_sleep() {
    let range = |micros: i64| {
        let mut trace = Trace::new();
        let name = trace.strings.intern("CreateMultipleStreamsFromFile");
        trace.ranges.push(Range::new(name, Nanoseconds(0), Nanoseconds(micros * 1_000)));
        trace
    };
    let (mut before, mut after) = (range(5_645_052), range(642_772));
    for trace in [&mut before, &mut after] {
        let row = trace.ranges.get(RangeId::from_index(0));
        trace.ranges.set(RangeId::from_index(0), Range { kind: RangeKind::PushPop, ..row });
    }
    let comparison = Comparison::of(&before, &after);
    assert_eq!(comparison.basis, Basis::Range);
    let [suspect] = &comparison.suspects[..] else { panic!("{:?}", comparison.suspects) };
    assert_eq!((suspect.seconds, suspect.delta), (5, Nanoseconds(-5_002_280_000)));
}

#[test]
fn a_range_that_lost_a_sleep_and_other_time_beside_is_suspected_by_what_nothing_covers() {
    // Of 5.54 s the calls of the host take half a second, and then a fifth of it.
    let profile = |call: i64, uncovered: i64| {
        let mut trace = Trace::new();
        let name = trace.strings.intern("CreateStreams");
        let range = Range::new(name, Nanoseconds(0), Nanoseconds(call + uncovered));
        trace.ranges.push(Range { kind: RangeKind::PushPop, ..range });
        let task = trace.strings.intern("conv");
        trace.tasks.push(Task::new(task, Nanoseconds(0), Nanoseconds(call)));
        trace
    };
    let suspects = |before: i64| -> Vec<(u64, i64)> {
        let (before, after) = (profile(540_000_000, before), profile(195_000_000, 25_000_000));
        let comparison = Comparison::of(&before, &after);
        let of_range = comparison.suspects.iter().filter(|suspect| suspect.is_uncovered);
        of_range.map(|suspect| (suspect.seconds, suspect.delta.0)).collect()
    };
    assert_eq!(suspects(5_002_000_000), [(5, -4_977_000_000)]);
    assert_eq!(suspects(1_002_000_000), [(1, -977_000_000)]);
    assert_eq!(suspects(5_400_000_000), []);
}

#[test]
fn waiting_and_handling_of_streams_is_neither_compared_nor_part_of_the_operators() {
    let (before, mut after) =
        (profile(&[("conv1", "Conv2D", "", 100)]), profile(&[("conv1", "Conv2D", "", 90)]));
    let wait = after.strings.intern("EVENT_WAIT");
    let row = Task::new(wait, Nanoseconds(90_000), Nanoseconds(20_500_000));
    after.tasks.push(Task { unit: ExecutionUnit::Control, ..row });
    for (a, b, delta) in [(&before, &after, -10), (&after, &before, 10)] {
        let comparison = Comparison::of(a, b);
        assert_eq!(stories(&comparison).len(), 1, "{comparison:?}");
        assert_eq!(
            (comparison.groups[0].delta, comparison.matched),
            (Nanoseconds(delta * 1_000), (1.0, 1.0))
        );
    }
}

#[test]
fn operators_that_one_side_alone_tells_have_not_appeared() {
    let (nothing, something) = (Trace::new(), profile(&[("conv1", "Conv", "", 50)]));
    let comparison = Comparison::of(&nothing, &something);
    assert_eq!((comparison.basis, comparison.groups.len()), (Basis::Nothing, 0));
    assert_eq!(comparison.waterfall(10, false), []);
}

#[test]
fn empty_profiles_compare_as_nothing() {
    let nothing = Trace::new();
    let comparison = Comparison::of(&nothing, &nothing);
    assert_eq!((comparison.basis, comparison.speed_up()), (Basis::Nothing, None));
    assert!(!comparison.is_of_different_models());
}

#[test]
fn collectives_are_the_same_whatever_number_their_group_has_in_a_run() {
    let run = |group: u32, typed: bool| {
        let names = [0, 1].map(|number| format!("hcom_allReduce__{group}_{number}_1"));
        let of = |name: &'static str| if typed { "hcom_allReduce_" } else { name };
        let [first, second] = names.map(|name| &*name.leak());
        profile(&[(first, of(first), "", 100), ("Mul", "Mul", "", 10), (second, of(second), "", 90)])
    };
    for other in [run(577, false), run(577, true)] {
        let own = run(576, false);
        let comparison = Comparison::of(&own, &other);
        assert_eq!(comparison.matched, (1.0, 1.0), "{:?}", stories(&comparison));
        assert_eq!(comparison.kinship(), Comparison::of(&own, &own).kinship());
    }
}
