//! Profiles of one model on several engines, which fuse and name its nodes in their own ways.

use super::tests::{model, profile, shaped_profile, stories};
use super::*;
use opscope_trace::{DataType, Operator, OperatorId, ProfileFormat, Tensor};

#[test]
fn a_convolution_that_is_named_by_what_it_took_in_is_the_one_that_feeds_it() {
    let apart = profile(&[
        ("conv1", "Conv", "", 90),
        ("conv2", "Conv", "", 100),
        ("bn1", "BatchNormalization", "", 60),
        ("bn2", "BatchNormalization", "", 10),
        ("add", "Add", "", 20),
        ("relu", "Relu", "", 30),
    ]);
    let fused =
        profile(&[("k1", "Convolution", "k1 bn1", 70), ("k2", "Convolution", "k2 bn2 add relu", 120)]);
    let nodes = [
        ("conv1", "Conv", ""),
        ("bn1", "BatchNormalization", "conv1"),
        ("conv2", "Conv", "bn1"),
        ("bn2", "BatchNormalization", "conv2"),
        ("add", "Add", "bn2 bn1"),
        ("relu", "Relu", "add"),
    ];
    let names = model(&nodes);
    let there = Comparison::joined(&apart, &fused, [&names, &names]);
    let expected = [
        "Conv + BatchNormalization became Convolution -80",
        "Conv + BatchNormalization + Add + Relu became Convolution -40",
    ];
    assert_eq!(stories(&there), expected);
    let back = Comparison::joined(&fused, &apart, [&names, &names]);
    assert_eq!(stories(&back)[0], "Convolution became Conv + BatchNormalization 80");
    assert_eq!(back.matched, (1.0, 1.0));
}

#[test]
fn a_convolution_that_is_named_by_the_last_operator_of_an_activation_takes_in_all_of_it() {
    let apart = profile(&[
        ("conv", "Conv", "", 90),
        ("sp", "Softplus", "", 20),
        ("th", "Tanh", "", 5),
        ("mish", "Mul", "", 7),
    ]);
    let fused = profile(&[("mish", "_MklNativeFusedConv2D", "mish", 60)]);
    let names = model(&[
        ("conv", "Conv", ""),
        ("sp", "Softplus", "conv"),
        ("th", "Tanh", "sp"),
        ("mish", "Mul", "conv th"),
    ]);
    let with_models = Comparison::joined(&apart, &fused, [&names, &names]);
    let expected = ["Conv + Softplus + Tanh + Mul became _MklNativeFusedConv2D -62"];
    assert_eq!(stories(&with_models), expected);
    assert_eq!(stories(&Comparison::of(&apart, &fused)), expected, "by the order");
}

#[test]
fn of_two_convolutions_that_feed_a_sum_none_is_chosen() {
    let apart = profile(&[("left", "Conv", "", 90), ("right", "Conv", "", 20), ("sum", "Add", "", 5)]);
    let fused = profile(&[("sum", "Convolution", "sum", 60)]);
    let names = model(&[("left", "Conv", ""), ("right", "Conv", ""), ("sum", "Add", "left right")]);
    let comparison = Comparison::joined(&apart, &fused, [&names, &names]);
    assert_eq!(stories(&comparison), ["Conv vanished -90", "Add slower 55", "Conv vanished -20"]);
}

#[test]
fn an_operator_that_computes_constants_is_none_that_computes_activations() {
    let a = profile(&[("conv", "Conv", "", 90), ("sum", "Add", "", 20)]);
    let b = profile(&[("eps", "AddV2", "", 2), ("conv", "Conv2D", "", 80)]);
    let of_a = model(&[("conv", "Conv", ""), ("sum", "Add", "conv")]);
    let mut of_b = model(&[("eps", "AddV2", ""), ("conv", "Conv2D", "eps")]);
    let pairs = |of_b: &NodeNames| {
        let comparison = Comparison::joined(&a, &b, [&of_a, of_b]);
        comparison.groups.iter().filter(|it| it.before.len() * it.after.len() > 0).count()
    };
    assert_eq!(pairs(&of_b), 2, "nothing tells them apart");
    of_b.nodes.get_mut("eps").unwrap().is_of_constants = true;
    assert_eq!(pairs(&of_b), 1);
}

#[test]
fn operators_of_one_scope_belong_together_whatever_node_either_engine_names_them_by() {
    let a = profile(&[
        ("l0/ff1/MatMul/MatMulAddFusion", "Gemm", "", 40),
        ("l0/ff2/MatMul/MatMulAddFusion", "Gemm", "", 100),
        ("l1/q/MatMul/MatMulAddFusion", "Gemm", "", 20),
    ]);
    // The first one was joined with something else.
    let b = profile(&[("l0/ff2/Add", "FullyConnected", "", 90), ("l1/q/Add", "FullyConnected", "", 25)]);
    let comparison = Comparison::of(&a, &b);
    assert_eq!(stories(&comparison), ["Gemm vanished -40", "Gemm faster -10", "Gemm slower 5"]);
    let of_q = comparison.groups.iter().find(|it| it.delta.0 == 5_000).unwrap();
    assert_eq!((of_q.before[0].name, of_q.after[0].name), ("l1/q/MatMul/MatMulAddFusion", "l1/q/Add"));
}

#[test]
fn operators_of_other_scopes_that_both_have_are_not_one() {
    let a =
        profile(&[("l0/qk", "MatMul", "", 40), ("l0/v/MatMul", "MatMul", "", 20), ("l1/x", "Relu", "", 1)]);
    let b = profile(&[("l0/y", "Relu", "", 1), ("l0/v/Add", "Gemm", "", 25), ("l1/o", "Gemm", "", 50)]);
    let comparison = Comparison::of(&a, &b);
    let mut found = stories(&comparison);
    found.sort();
    let expected =
        ["Gemm appeared 50", "MatMul slower 5", "MatMul vanished -40", "Relu appeared 1", "Relu vanished -1"];
    assert_eq!(found, expected);
    // Where scopes have other names, the order tells.
    let renamed = profile(&[("m/r", "Relu", "", 1), ("m/v/Add", "Gemm", "", 25), ("n/o", "Gemm", "", 50)]);
    assert_eq!(Comparison::of(&a, &renamed).matched, (1.0, 1.0));
}

#[test]
fn inputs_of_other_sizes_forbid_a_pairing_by_order() {
    const SHAPE: [i64; 4] = [1, 1, 128, 512];
    let with_inputs = |name: &str, inputs: &[&[i64]]| {
        let mut trace = shaped_profile(&[(name, "Gemm", SHAPE, 50)]);
        let tensors: Vec<Tensor> = inputs
            .iter()
            .map(|input| {
                let dimensions = Some(trace.dimensions.push(input.iter().copied()));
                let data_type = DataType::Float32;
                Tensor { name: None, data_type, dimensions, layout: None, parameter: false }
            })
            .collect();
        let (first_input, input_count) = trace.tensors.push_all(tensors);
        let id = OperatorId::from_index(0);
        let row = trace.operators.get(id);
        trace.operators.set(id, Operator { first_input, input_count, ..row });
        trace
    };
    let a = with_inputs("ff2", &[&[128, 2_048], &[2_048, 512], &[512]]);
    let matched = |inputs: &[&[i64]]| Comparison::of(&a, &with_inputs("q", inputs)).matched.0;
    assert_eq!(matched(&[&[128, 512], &[512, 512], &[512]]), 0.0);
    assert_eq!(matched(&[&[128, 2_048], &[512, 4_096], &[512]]), 0.0, "by the weights");
    assert_eq!(matched(&[&[1, 128, 2_048], &[512, 2_048]]), 1.0, "in another layout");
    assert_eq!(matched(&[]), 1.0, "nothing speaks against it");
}

#[test]
fn totals_by_type_are_compared_by_kind() {
    let mut table = profile(&[
        ("aten::conv2d", "aten::conv2d", "", 5),
        ("aten::mkldnn_convolution", "aten::mkldnn_convolution", "", 290),
        ("aten::relu", "aten::relu", "", 40),
        ("aten::addmm", "aten::addmm", "", 50),
    ]);
    table.run.format = Some(ProfileFormat::PyTorchTable);
    let single = profile(&[("c1", "Conv", "", 100), ("c2", "Conv", "", 150), ("fc", "Gemm", "", 60)]);
    let comparison = Comparison::of(&table, &single);
    assert_eq!(
        stories(&comparison),
        [
            "aten::conv2d + aten::mkldnn_convolution became Conv -45",
            "aten::relu vanished -40",
            "aten::addmm slower 10"
        ]
    );
    assert_eq!((comparison.totals, comparison.matched.1), ((true, false), 1.0));
    let back = Comparison::of(&single, &table);
    assert_eq!(stories(&back)[0], "Conv became aten::conv2d + aten::mkldnn_convolution 45");
    // Two tables have the same functions.
    let tables = Comparison::of(&table, &table);
    assert_eq!((tables.totals, tables.groups.len()), ((false, false), 4));
}

#[test]
fn a_normalisation_is_the_only_one_of_its_scope_in_another_engines_type() {
    let a = profile(&[
        ("l0/ln1/mul/LayerNormFusion/", "LayerNormalization", "", 9),
        ("l0/ln2/mul/LayerNormFusion/", "LayerNormalization", "", 8),
    ]);
    let b = profile(&[
        ("l0/ln2/div", "MVN", "", 5),
        ("l0/ln2/out", "Subgraph", "", 2),
        ("l0/ln1/div", "MVN", "", 7),
    ]);
    let comparison = Comparison::of(&a, &b);
    let expected = ["LayerNormalization faster -3", "LayerNormalization faster -2", "Subgraph appeared 2"];
    assert_eq!(stories(&comparison), expected);
    assert_eq!(comparison.groups[0].after[0].name, "l0/ln2/div");
}

#[test]
fn an_operator_that_others_feed_is_another_one() {
    let a = profile(&[("c1", "Conv", "", 50), ("c2", "Conv", "", 40), ("s", "Add", "", 5)]);
    let b = profile(&[
        ("c1", "Conv", "", 50),
        ("bias", "Add", "", 3),
        ("c2", "Conv", "", 40),
        ("x", "AddN", "", 6),
    ]);
    let of_a = model(&[("c1", "Conv", ""), ("c2", "Conv", "c1"), ("s", "Add", "c2")]);
    let of_b = model(&[("c1", "Conv", ""), ("bias", "Add", "c1"), ("c2", "Conv", "bias")]);
    let found = |names: [&NodeNames; 2]| {
        let comparison = Comparison::joined(&a, &b, names);
        let mut found = stories(&comparison);
        found.sort();
        found
    };
    let none = NodeNames::default();
    assert!(found([&none, &none]).contains(&"Add faster -2".to_owned()), "by the order");
    // Constants that an engine didn't fold feed an operator as well.
    let b = profile(&[
        ("eps", "Sub", "", 1),
        ("c1", "Conv", "", 50),
        ("bias", "Add", "", 3),
        ("c2", "Conv", "", 40),
        ("x", "AddN", "", 6),
    ]);
    let mut of_b = of_b;
    of_b.nodes.insert("eps".to_owned(), ModelNode { is_of_constants: true, ..ModelNode::default() });
    of_b.nodes.get_mut("bias").unwrap().sources.push("eps".to_owned());
    let found = |names: [&NodeNames; 2]| {
        let comparison = Comparison::joined(&a, &b, names);
        let mut found = stories(&comparison);
        found.retain(|story| !story.starts_with("Sub "));
        found.sort();
        found
    };
    // Behind their counterparts, either was taken in.
    let expected = ["AddN appeared 6", "Conv + Add became Conv -5", "Conv became Conv + Add 3"];
    assert_eq!(found([&of_a, &of_b]), expected);
}

#[test]
fn an_activation_behind_a_sum_waits_for_the_operator_that_took_that_in() {
    // The second product has no counterpart, so that scales are taken in last.
    let a = profile(&[("pool", "MaxPool", "", 20), ("conv", "Conv", "", 90), ("other", "Mul", "", 3)]);
    let b = profile(&[
        ("pool", "MaxPool", "", 20),
        ("conv", "Conv", "", 90),
        ("scale", "Mul", "", 8),
        ("relu", "Relu", "", 7),
    ]);
    let of_a = model(&[("pool", "MaxPool", ""), ("conv", "Conv", "pool"), ("other", "Mul", "pool")]);
    let of_b = model(&[
        ("pool", "MaxPool", ""),
        ("conv", "Conv", "pool"),
        ("scale", "Mul", "conv"),
        ("sum", "Add", "scale pool"),
        ("relu", "Relu", "sum"),
    ]);
    let comparison = Comparison::joined(&a, &b, [&of_a, &of_b]);
    let found = stories(&comparison);
    assert!(found.contains(&"Conv became Conv + Mul + Relu 15".to_owned()), "{found:?}");
}

#[test]
fn names_of_tensorflow_lites_operators_tell_the_nodes_that_they_are_joined_of() {
    let apart = profile(&[
        ("a/Conv2D", "Conv2D", "", 90),
        ("a/Relu", "Relu", "", 10),
        ("b/Conv2D", "Conv2D", "", 50),
        ("b/Relu", "Relu", "", 5),
    ]);
    let mut fused = profile(&[
        ("b/Relu;b/Bias;b/Conv2D", "CONV_2D", "", 40),
        ("a/Relu;b/Bias;a/Conv2D", "CONV_2D", "", 80),
    ]);
    fused.run.format = Some(ProfileFormat::TensorFlowLite);
    let comparison = Comparison::of(&apart, &fused);
    assert_eq!(
        stories(&comparison),
        ["Conv2D + Relu became CONV_2D -20", "Conv2D + Relu became CONV_2D -15"]
    );
    assert_eq!(comparison.agreeing, (1.0, 1.0));
    // Layers of other engines may have semicolons in their own names.
    fused.run.format = Some(ProfileFormat::OpenVino);
    assert_eq!(Comparison::of(&apart, &fused).agreeing, (0.0, 0.0));
}

/// Operators by type and microseconds, each named by its place.
fn in_a_row(types: &[(&str, i64)]) -> opscope_trace::Trace {
    let names: Vec<String> = (0..types.len()).map(|place| format!("{}_{place}", types.len())).collect();
    let rows: Vec<_> =
        types.iter().zip(&names).map(|((op_type, micros), name)| (&**name, *op_type, "", *micros)).collect();
    profile(&rows)
}

#[test]
fn operators_that_one_side_has_written_out_are_the_one_of_the_other() {
    let softmax = [("ReduceMax", 4), ("Sub", 3), ("Exp", 6), ("ReduceSum", 4), ("RealDiv", 5)];
    let gelu =
        [("Pow", 9), ("Mul", 2), ("Add", 2), ("Mul", 2), ("Tanh", 7), ("Add", 2), ("Mul", 2), ("Mul", 2)];
    // Half of x is taken early, and the power is two products.
    let other_gelu = [
        ("Mul", 2),
        ("Mul", 4),
        ("Mul", 5),
        ("Mul", 2),
        ("Add", 2),
        ("Mul", 2),
        ("Tanh", 7),
        ("Add", 2),
        ("Mul", 2),
    ];
    let by_erf = [("Div", 5), ("Erf", 9), ("Add", 5), ("Mul", 5), ("Mul", 4)];
    let sum = [("Add", 4), ("LayerNormalization", 6)];
    for (parts, whole) in [
        (&softmax[..], "Softmax"),
        (&gelu, "FastGelu"),
        (&other_gelu, "Gelu"),
        (&by_erf, "GELU"),
        (&sum, "SkipLayerNormalization"),
    ] {
        let around = |inner: &[(&'static str, i64)]| {
            let layer = [&[("MatMul", 50), ("Add", 1)], inner, &[("Conv", 30)]].concat();
            in_a_row(&layer.repeat(2))
        };
        let time: i64 = parts.iter().map(|(_, micros)| micros).sum();
        let (apart, one) = (around(parts), around(&[(whole, time - 3)]));
        let types: Vec<&str> = parts.iter().map(|(op_type, _)| *op_type).collect();
        let told = |from: &str, to: &str, delta: i64| format!("{from} became {to} {delta}");
        let there = Comparison::of(&apart, &one);
        let expected = told(&types.join(" + "), whole, -3);
        assert_eq!(stories(&there)[..2], [&*expected, &*expected], "{:?}", stories(&there));
        assert_eq!(there.matched, (1.0, 1.0));
        let back = Comparison::of(&one, &apart);
        let expected = told(whole, &types.join(" + "), 3);
        assert_eq!(stories(&back)[..2], [&*expected, &*expected], "{:?}", stories(&back));
    }
}

#[test]
fn of_fewer_operators_than_the_other_side_has_written_out_none_is_chosen() {
    let parts = [("ReduceMax", 4), ("Sub", 3), ("Exp", 6), ("ReduceSum", 4), ("Div", 5)];
    let apart = in_a_row(&parts.repeat(2));
    let found = |types: &[(&str, i64)]| stories(&Comparison::of(&apart, &in_a_row(types)));
    assert!(found(&[("Softmax", 9)]).contains(&"Softmax appeared 9".to_owned()));
    // One that both have as one counts as well.
    let mixed = in_a_row(&[&parts[..], &[("Softmax", 8)]].concat());
    let found = stories(&Comparison::of(&mixed, &in_a_row(&[("Softmax", 9), ("Softmax", 9)])));
    let expected = ["ReduceMax + Sub + Exp + ReduceSum + Div became Softmax -13", "Softmax slower 1"];
    assert_eq!(found, expected);
}

#[test]
fn operators_that_were_written_out_have_no_counterpart_of_another_size() {
    let row = |name, op_type, size: i64| (name, op_type, [1, 1, size, 9], 5);
    let parts = |name, size: i64| {
        ["ReduceMax", "Sub", "Exp", "ReduceSum", "Div"].map(|op_type| row(name, op_type, size)).to_vec()
    };
    let apart = shaped_profile(&[parts("a", 32), parts("b", 64)].concat());
    let of_sizes = |first, second| {
        let whole = [row("s1", "Softmax", first), row("s2", "Softmax", second)];
        stories(&Comparison::of(&apart, &shaped_profile(&whole)))
    };
    let joined = |found: &[String]| found.iter().filter(|story| story.contains("became Softmax")).count();
    assert_eq!(joined(&of_sizes(32, 64)), 2);
    assert_eq!(joined(&of_sizes(32, 77)), 1);
    assert_eq!(joined(&of_sizes(48, 96)), 2, "the whole network is of another size");
}

#[test]
fn a_mean_over_an_image_is_a_pool_of_another_engine() {
    let pool = [("Conv", 50), ("GlobalAveragePool", 8), ("Gemm", 20)];
    for mean in ["ReduceMeanD", "Mean", "MEAN", "ReduceMean", "AvgPool"] {
        let other = in_a_row(&[("Conv2D", 50), (mean, 9), ("MatMul", 20), ("Cast", 1)]);
        let found = stories(&Comparison::of(&in_a_row(&pool), &other));
        assert!(found.contains(&"GlobalAveragePool slower 1".to_owned()), "{found:?}");
    }
    let of_two = in_a_row(&[("Conv2D", 50), ("Mean", 9), ("Sub", 2), ("Mean", 9), ("MatMul", 20)]);
    let found = stories(&Comparison::of(&in_a_row(&pool), &of_two));
    assert!(found.contains(&"GlobalAveragePool vanished -8".to_owned()), "either may be it: {found:?}");
    let pool = shaped_profile(&[("p", "GlobalAveragePool", [1, 512, 1, 1], 8)]);
    let matched = |shape| Comparison::of(&pool, &shaped_profile(&[("m", "Mean", shape, 8)])).matched;
    assert_eq!(matched([1, 1, 1, 512]), (1.0, 1.0), "in another layout");
    assert_eq!(matched([1, 49, 1, 1]), (0.0, 0.0), "over other dimensions");
}
