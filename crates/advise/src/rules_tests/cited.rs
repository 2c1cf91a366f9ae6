//! The figures that the rules' sources cite, as profiles with those figures.

use super::*;
use crate::Finding;

/// The only finding of a rule.
fn only(case: &Case, id: &str) -> Finding {
    let mut found = case.found(id);
    assert_eq!(found.len(), 1, "{id}: {:?}", case.report().findings);
    found.remove(0)
}

/// The most that it could save, in microseconds and in percent of the operators' time.
fn saves(finding: &Finding) -> (i64, f64) {
    let micros = finding.saves.map_or(-1, |saves| saves.0 / 1_000);
    (micros, (finding.share.unwrap_or(-1.0) * 1_000.0).round() / 10.0)
}

const IMAGE: &[i64] = &[1, 32, 304, 304];

/// A convolution with Mish behind it, of the times of Huawei's case: 23.299 ms, of which LeakyRelu took
/// 9.109 ms away. The operators have tensors of these shapes.
fn mish(shapes: &[&[i64]]) -> Profile {
    let profile = Profile::new(&[
        ("conv", "Conv2D", AI, 14_190, &[]),
        ("softplus", "Softplus", AI, 4_000, &[]),
        ("tanh", "Tanh", AI, 3_000, &[]),
        ("mul", "Mul", AI, 2_109, &[]),
    ]);
    let inputs: Vec<(DataType, &[i64])> = shapes.iter().map(|shape| (DataType::Float16, *shape)).collect();
    profile.tensors_like_inputs(&inputs)
}

#[test]
fn mish_is_found_in_the_profile_alone_and_leads_to_leaky_relu_where_the_target_lacks_it() {
    let case = of(mish(&[IMAGE; 4]));
    let finding = only(&case, "G05");
    assert_eq!(saves(&finding), (9_109, 39.1));
    let note = finding.note.as_deref().unwrap();
    assert!(note.contains("Mish in 1 place") && note.contains("(39.1 %)"), "{note}");
    assert_eq!(finding.evidence[0].op_type, "Softplus + Tanh + Mul");
    assert_eq!(finding.evidence[0].detail, "behind conv");
    let advice = &finding.rule.advice;
    for words in ["cann-310 has no operator for Mish", "LeakyRelu", "trained again", "--allow-lossy"] {
        assert!(advice.contains(words), "{advice}");
    }
    let elsewhere = only(&on(Target::Cann, of(mish(&[IMAGE; 4]))), "G05");
    assert!(elsewhere.rule.advice.contains("Where the engine has Mish"));
}

/// A chain like Mish, whose last operator multiplies by something of a shape.
fn multiplied_by(shape: &[i64]) -> Profile {
    let mut profile = mish(&[IMAGE; 4]);
    let trace = &mut profile.trace;
    let factors = [IMAGE, shape].map(|shape| {
        let dimensions = Some(trace.dimensions.push(shape.iter().copied()));
        Tensor { name: None, data_type: DataType::Float16, dimensions, layout: None, parameter: false }
    });
    let (first_input, input_count) = trace.tensors.push_all(factors);
    let mul = trace.operators.ids().last().unwrap();
    let row = trace.operators.get(mul);
    trace.operators.set(mul, Operator { first_input, input_count, ..row });
    profile
}

#[test]
fn what_only_looks_like_mish_is_not_taken_for_it() {
    let other: &[i64] = &[1, 32, 152, 152];
    assert!(of(multiplied_by(IMAGE)).finds("G05"));
    assert!(!of(multiplied_by(&[1])).finds("G05"), "a product with a number");
    assert!(!of(multiplied_by(&[1, 32, 1, 1])).finds("G05"), "a product with a vector");
    assert!(of(mish(&[IMAGE; 4])).finds("G05"));
    assert!(!of(mish(&[IMAGE, IMAGE, other, IMAGE])).finds("G05"), "of another shape");
    let rows = |types: [&'static str; 4]| sequence(&types);
    assert!(rows(["Conv2D", "Softplus", "Tanh", "Mul"]).finds("G05"), "by the order, behind a convolution");
    let normalised = sequence(&["Conv2D", "BNInferenceD", "Softplus", "Tanh", "Mul"]);
    assert_eq!(only(&normalised, "G05").evidence[0].detail, "behind Conv2D");
    let note = only(&rows(["Conv2D", "Softplus", "Tanh", "Mul"]), "G05").note.unwrap();
    assert!(note.contains("the profile has no shapes"), "{note}");
    assert!(!rows(["Softmax", "Softplus", "Tanh", "Mul"]).finds("G05"), "without shapes and convolution");
    assert!(!rows(["Conv2D", "Softplus", "Mul", "Tanh"]).finds("G05"));
}

/// A convolution with Mish behind it, of operators by name and type, as an engine without shapes tells them.
fn named_mish(rows: &[(&'static str, &'static str); 4]) -> Profile {
    Profile::new(&rows.map(|(name, op_type)| (name, op_type, ExecutionUnit::Gpu, 10, &[][..])))
}

#[test]
fn names_tell_mish_where_types_leave_it_open_and_the_finding_says_so() {
    let note = |profile: Profile| only(&on(Target::TensorRt, of(profile)), "G05").note.unwrap();
    let told = "by names where types leave them open";
    // Without a description of its layers, TensorRT's names stand in for their types.
    let nameless = ["Conv_1", "Softplus_2", "Tanh_3", "Mul_4"].map(|name| (name, name));
    assert!(note(named_mish(&nameless)).contains(told));
    let shared = [
        ("Conv_1", "Convolution"),
        ("SoftPlus_2", "Eltwise"),
        ("/act/Tanh", "Activation"),
        ("Mul4", "ElementWise"),
    ];
    assert!(note(named_mish(&shared)).contains(told));
    let scoped = [
        ("block.conv.Conv_1", "Eltwise"),
        ("block.act.Softplus", "Activation"),
        ("/act.2/Tanh.1", "Activation"),
        ("block.act.Mul_3", "ElementWise"),
    ];
    assert!(note(named_mish(&scoped)).contains(told));
    let own = [("a", "Convolution"), ("Relu_1", "Softplus"), ("Relu_2", "Tanh"), ("Relu_3", "Mul")];
    assert!(!note(named_mish(&own)).contains(told), "types tell");
    for (place, name, op_type) in [
        (1, "Softplus_2", "Conv"),
        (1, "Softplusish_2", "Eltwise"),
        (1, "my_Softplus_2", "Eltwise"),
        (1, "Softplus.act", "Eltwise"),
        (1, "Softplus层", "Eltwise"),
        (2, "Tanhshrink_3", "Activation"),
        (3, "MatMul_4", "ElementWise"),
        (3, "conv4_mul", "Eltwise"),
    ] {
        let mut rows = shared;
        rows[place] = (name, op_type);
        assert!(!on(Target::TensorRt, of(named_mish(&rows))).finds("G05"), "{name} of type {op_type}");
    }
}

#[test]
fn names_of_nodes_tell_mish_but_not_those_of_one_of_several() {
    let rows = [("c", "Convolution"), ("sp", "Activation"), ("th", "Activation"), ("mul", "ElementWise")];
    let of_nodes = |softplus: &[&str]| {
        let profile = named_mish(&rows).stands_for("sp", softplus).stands_for("th", &["/act/Tanh"]);
        on(Target::TensorRt, of(profile)).finds("G05")
    };
    assert!(of_nodes(&["/act/Softplus"]));
    assert!(!of_nodes(&["/act/Softplus", "/act/Relu"]));
}

#[test]
fn the_command_for_mish_makes_no_operator_that_the_target_lacks() {
    let nodes = ["Softplus x -> s", "Tanh s -> t", "Mul x,t -> y"];
    let options = |target| only(&on(target, graph(&nodes)), "G05").does.unwrap().options().unwrap();
    assert_eq!(options(Target::Cann310), "--only G05b --allow-lossy");
    assert_eq!(options(Target::Svp), "--only G05b --allow-lossy");
    assert_eq!(options(Target::OnnxRuntime), "--only G05b --allow-lossy");
    assert_eq!(options(Target::Tract), "--only G05a --opset 18");
    let hard_swish = graph(&["HardSigmoid x alpha=0.16666667f beta=0.5f -> g", "Mul x,g -> y"]);
    let does = only(&hard_swish, "G06").does.unwrap();
    assert_eq!(does.options(), None);
    assert!(matches!(does, crate::Does::Unsuitable(made) if made == "HardSwish"));
}

#[test]
fn operators_that_were_not_fused_cost_what_huawei_measured() {
    // The face-mask SSD: 7.209 ms, and 2.305 ms with the rules of fusion on.
    let case = ops(&[
        ("conv", "Conv2D", AI, 2_305, &[]),
        ("bn", "BNInferenceD", AI, 3_404, &[]),
        ("relu", "Relu", AI, 1_500, &[]),
    ]);
    let finding = only(&case, "A29");
    assert_eq!((saves(&finding), &finding.also[..]), ((4_904, 68.0), &["G02".to_owned()][..]));
    assert!(case.found("G02").is_empty(), "the same is said once");
    assert_eq!(saves(&only(&on(Target::Svp, case), "G02")), (4_904, 68.0), "boards have no A29");
}

#[test]
fn folding_of_normalisations_saves_what_paddle_measured() {
    // ResNet: 11.2 s, and 9.3 s with the normalisations folded.
    let nodes = ["Conv x,W:16x3x3x3 -> a", "BatchNormalization a,S:16,B:16,M:16,V:16 -> y"];
    let profile = Profile::new(&[
        ("Conv_a", "Conv", ExecutionUnit::Cpu, 9_300, &[]),
        ("BatchNormalization_y", "BatchNormalization", ExecutionUnit::Cpu, 1_900, &[]),
    ]);
    let case = on(Target::OnnxRuntime, with_model(of(profile), &nodes));
    assert_eq!(saves(&only(&case, "G01")), (1_900, 17.0));
}

#[test]
fn the_resize_of_huaweis_case_is_found_by_the_shapes_of_the_profile() {
    let resize = |op_type: &str, from: i64, to: i64| {
        let profile = Profile::new(&[("up", op_type, AI, 20_000, &[])]);
        of(profile.tensors(&[(DataType::Float16, &[1, 18, from, from])], &[1, 18, to, to]))
    };
    let finding = only(&resize("Interp", 175, 350), "G09");
    assert_eq!(saves(&finding), (20_000, 100.0));
    assert_eq!(finding.evidence[0].detail, "175 to 350; take 176 to 351, or 175 to 349");
    let unsure = only(&resize("ResizeBilinearV2", 175, 350), "G09");
    assert!(unsure.evidence[0].detail.contains("the profile doesn't say"), "{:?}", unsure.evidence[0]);
    assert!(!resize("Interp", 176, 351).finds("G09"));
    // OpenVINO's is another operator than Caffe's, and a model tells which way it resizes.
    let other = only(&resize("Interpolate", 175, 350), "G09");
    assert!(other.evidence[0].detail.contains("the profile doesn't say"), "{:?}", other.evidence[0]);
    assert!(!on(Target::OnnxRuntime, resize("Interpolate", 175, 350)).finds("G09"));
    for mode in ["mode=nearest", "mode=linear coordinate_transformation_mode=asymmetric"] {
        let node = format!("Resize x,R:,S:4 {mode} -> y");
        assert!(!with_model(resize("Interp", 175, 350), &[&node]).finds("G09"), "{mode}");
    }
    assert!(!resize("ResizeNearestNeighborV2", 175, 350).finds("G09"));
    assert!(!on(Target::OnnxRuntime, resize("Resize", 175, 350)).finds("G09"));
}

#[test]
fn a_softmax_of_boards_can_become_four_times_as_fast_and_weights_of_four_bits_load_in_half() {
    let softmax = on(Target::Svp, ops(&[("s", "Softmax", AI, 400, &[]), ("c", "Conv", AI, 600, &[])]));
    assert_eq!(saves(&only(&softmax, "V07")), (300, 30.0));
    let weights = on(Target::Svp, metric("WLD Ratio", 0.85));
    assert_eq!(saves(&only(&weights, "S05")), (50, 50.0));
}

#[test]
fn ratios_leave_room_for_what_they_lack() {
    assert_eq!(saves(&only(&metric("aic_mac_ratio", 0.75), "A17")), (25, 25.0));
    assert_eq!(saves(&only(&metric("vec_bank_cflt_ratio", 0.05), "A19")), (5, 5.0));
    let blocks = Case { cores: Some(8), ..metrics(&[("block_num", 2.0), ("mac_ratio", 0.5)]) };
    assert_eq!(saves(&only(&blocks, "A20")), (75, 75.0));
    let uneven = Case { cores: Some(8), ..metrics(&[("block_num", 12.0), ("mac_ratio", 0.5)]) };
    assert_eq!(saves(&only(&uneven, "A21")), (25, 25.0));
    // 3 x 16 x 3 x 3 x 2 operations for each of 14 x 14 points in 100 us, of half a tera a second.
    let case = Case {
        shape: Some(vec![1, 3, 16, 16]),
        ..with_model(metric("Mac Ppen Ratio", 0.9), &["Conv x,W:16x3x3x3 -> y"])
    };
    let note = only(&on(Target::Svp, case), "S09").note.unwrap();
    assert!(note.starts_with("0.3 % of 0.5 T"), "{note}");
}
