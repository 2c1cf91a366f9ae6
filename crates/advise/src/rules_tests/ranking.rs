//! The order of findings, repetitions, and silence about operators that the engine made.

use super::*;

const FOLDED: [&str; 3] =
    ["Conv x,W:16x3x3x3 -> a", "BatchNormalization a,S:16,B:16,M:16,V:16 -> b", "Relu b -> y"];

/// A run of a convolution with its normalisation, of which the engine made these operators.
fn run(rows: &[(&str, &str, &[&str])]) -> Case {
    let ops: Vec<Op<'_>> =
        rows.iter().map(|(name, op_type, _)| (*name, *op_type, ExecutionUnit::Cpu, 100, &[][..])).collect();
    let profile =
        rows.iter().fold(Profile::new(&ops), |profile, (name, _, nodes)| profile.stands_for(name, nodes));
    on(Target::OnnxRuntime, with_model(of(profile), &FOLDED))
}

#[test]
fn what_the_engine_has_folded_is_no_saving() {
    let apart = run(&[
        ("Conv_a", "Conv", &["Conv_a"]),
        ("BatchNormalization_b", "BatchNormalization", &["BatchNormalization_b"]),
        ("Relu_y", "Relu", &["Relu_y"]),
    ]);
    assert_eq!(apart.found("G01")[0].saves, Some(Nanoseconds(100_000)));
    assert!(apart.report().done.is_empty());
    let all = ["Conv_a", "BatchNormalization_b", "Relu_y"];
    let fused = run(&[("Conv_a", "Conv+BatchNormalization+Relu", &all)]);
    let report = fused.report();
    assert!(!is_found(&report, "G01") && report.together.is_none(), "{:?}", report.findings);
    let done: Vec<(&str, usize)> = report.done.iter().map(|done| (&*done.id, done.places)).collect();
    assert_eq!(done, [("G01", 1)]);
    // A node that isn't in the profile at all was computed beforehand, or had no name left.
    let gone = run(&[("Conv_a", "Conv", &["Conv_a"]), ("Relu_y", "Relu", &["Relu_y"])]);
    assert!(!gone.finds("G01") && gone.report().done.len() == 1);
    // ONNX Runtime names a convolution in its own layout by the value that it makes.
    let named = run(&[("b_nchwc", "Conv", &[]), ("Relu_y", "Relu", &[])]);
    assert!(!named.finds("G01") && named.report().done.len() == 1);
    // A profile of another model says nothing about this one.
    let other = run(&[("elsewhere", "Conv", &["elsewhere"])]);
    assert_eq!(other.found("G01")[0].saves, None);
}

#[test]
fn what_rewrites_would_only_move_claims_no_time_and_is_done_where_the_engine_fused_it() {
    let nodes = ["Conv x,W:16x3x3x3 -> a", "Transpose a perm=0.2.3.1 -> b", "Relu b -> y"];
    let all = ["Conv_a", "Transpose_b", "Relu_y"];
    let with = |profile: Profile| on(Target::OnnxRuntime, with_model(of(profile), &nodes));
    let types = ["Conv", "Transpose", "Relu"];
    let rows: Vec<Op<'_>> = all
        .iter()
        .zip(types)
        .map(|(name, op_type)| (*name, op_type, ExecutionUnit::Cpu, 100, &[][..]))
        .collect();
    let found = with(Profile::new(&rows)).found("G27").remove(0);
    assert_eq!((found.saves, &*found.evidence[0].detail), (None, "with Transpose_b"));
    let fused = Profile::new(&[("Conv_a", "Conv+Transpose+Relu", ExecutionUnit::Cpu, 100, &[])]);
    assert!(!with(fused.stands_for("Conv_a", &all)).finds("G27"));
}

#[test]
fn the_form_of_a_convolution_matters_in_whatever_it_was_made_into_and_its_time_is_not_split() {
    let nodes = ["Conv x,W:17x3x3x3 -> a", "Relu a -> y"];
    let profile = Profile::new(&[("Conv_a", "Conv2D+Relu", AI, 100, &[])]);
    let profile = profile.stands_for("Conv_a", &["Conv_a", "Relu_y"]);
    let finding = with_model(of(profile), &nodes).found("A34").remove(0);
    assert_eq!(finding.evidence[0].time, Some(Nanoseconds(100_000)), "the whole operator's");
    assert!(finding.evidence[0].detail.ends_with("; within Conv2D+Relu"), "{:?}", finding.evidence);
    assert_eq!(finding.saves, None);
}

#[test]
fn an_operator_made_of_several_is_of_a_type_only_if_all_of_them_are() {
    let case = |op_type: &'static str, nodes: &[&str]| {
        let profile = Profile::new(&[("a", op_type, ExecutionUnit::Cpu, 100, &[])]);
        on(Target::OnnxRuntime, of(profile.stands_for("a", nodes)))
    };
    assert!(case("Transpose", &["a"]).finds("H08"));
    assert!(case("Transpose+Transpose", &["a", "b"]).finds("H08"));
    assert!(!case("Transpose+MatMul", &["a", "b"]).finds("H08"), "its time is the product's");
}

#[test]
fn all_findings_together_save_no_more_than_the_operators_took() {
    let slow = [("memory_bound", 1.5), ("mte2_ratio", 0.5), ("mac_ratio", 0.1), ("vec_ratio", 0.2)];
    let case = ops(&[
        ("a", "Conv2D", AI, 100, &slow),
        ("b", "BNInferenceD", AI, 60, &slow),
        ("c", "TopKD", CPU, 40, &[]),
        ("d", "Conv2D", AI, 100, &[]),
    ]);
    let report = case.report();
    let sum: i64 = report.findings.iter().filter_map(|finding| finding.saves).map(|saves| saves.0).sum();
    let whole = 300_000;
    assert!(sum > whole, "they overlap: {sum}");
    let together = report.together.unwrap();
    // All of the first three, whatever is said of each how often, and nothing of the last.
    assert_eq!(together, Nanoseconds(200_000));
}

#[test]
fn what_one_can_act_on_stands_above_figures_and_what_is_not_about_time_below_them() {
    let case = Case {
        environment: Environment { mode: Some(0o100_666), ..Environment::default() },
        ..ops(&[
            ("a", "Conv2D", AI, 900, &[("mac_ratio", 0.1), ("memory_bound", 2.0)]),
            ("b", "Pow", CPU, 60, &[]),
        ])
    };
    let report = case.report();
    let kinds: Vec<Kind> = report.findings.iter().map(|finding| finding.rule.kind).collect();
    assert!(kinds.is_sorted_by(|a, b| a >= b), "{kinds:?}");
    assert!(kinds.contains(&Kind::Figure) && kinds.contains(&Kind::Note), "{kinds:?}");
    assert_eq!(report.findings[0].rule.title, "Pow on the AI CPU", "6 % to act on before 90 % to know");
}

#[test]
fn operators_on_the_ai_cpu_are_a_finding_for_each_cause() {
    let number: (DataType, &[i64]) = (DataType::Float16, &[100]);
    let profile = Profile::new(&[
        ("pow", "Pow", CPU, 60, &[]),
        ("nms", "NonMaxSuppressionV6", CPU, 50, &[]),
        ("gather", "GatherV2", CPU, 40, &[]),
        ("gather_1", "GatherV2", CPU, 40, &[]),
        ("cast", "Cast", CPU, 30, &[]),
        ("topk", "TopK", CPU, 10, &[]),
        ("odd", "Mystery", CPU, 5, &[]),
    ]);
    let wide: (DataType, &[i64]) = (DataType::Int64, &[100]);
    let inputs = [number, number, wide, wide, (DataType::Float64, &[100]), number, number];
    let report = of(profile.tensors(&inputs, &[100])).report();
    let said = |name: &str| {
        let of_cause = report.findings.iter().filter(|finding| {
            let refers = finding.evidence.iter().any(|item| item.name == name);
            refers && finding.rule.kind == Kind::Change && finding.rule.id.starts_with("A0")
        });
        let found: Vec<_> = of_cause.collect();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        (found[0].rule.id.clone(), found[0].rule.why.clone(), found[0].rule.advice.clone())
    };
    let causes: Vec<_> = ["pow", "nms", "gather", "cast", "topk", "odd"].map(said).into();
    let ids: Vec<&str> = causes.iter().map(|(id, ..)| &**id).collect();
    assert_eq!(ids, ["A04", "A04", "A05", "A07", "A04", "A04"]);
    assert_eq!(said("gather"), said("gather_1"));
    for (place, (_, why, advice)) in causes.iter().enumerate() {
        let others = causes.iter().enumerate().filter(|(other, _)| *other != place);
        assert!(others.clone().all(|(_, (_, other, _))| other != why), "{why}");
        assert!(others.clone().all(|(_, (.., other))| other != advice), "{advice}");
    }
    assert!(causes[5].1.contains("The profile doesn't say"), "{}", causes[5].1);
    // Silencing a special rule leaves its operators to the general one.
    let case = of(Profile::new(&[("g", "GatherV2", CPU, 40, &[])]).inputs(DataType::Int64, &[100]));
    let mut settings = Settings::default();
    settings.add_silence("A05");
    let ids: Vec<String> =
        case.report_with(&settings).findings.into_iter().map(|finding| finding.rule.id).collect();
    assert!(ids.contains(&"A04".to_owned()), "{ids:?}");
}

#[test]
fn a_cause_on_the_ai_cpu_that_operators_of_several_types_share_is_one_finding_of_all_their_time() {
    let types = ["Add", "Cast", "Equal", "GatherV2", "Less"];
    // One of them is too short to be told of by itself.
    let ops: Vec<Op<'_>> =
        types.iter().zip([40, 30, 25, 60, 5]).map(|(it, us)| (*it, *it, CPU, us, &[][..])).collect();
    let report = of(Profile::new(&ops).inputs(DataType::Int64, &[100])).report();
    let found: Vec<_> = report.findings.iter().filter(|it| it.rule.why.contains("int64")).collect();
    let [finding] = found[..] else { panic!("{found:?}") };
    assert_eq!((&*finding.rule.id, &finding.also[..]), ("A05", &["A04".to_owned()][..]));
    assert_eq!(finding.rule.title, "Add, Cast, Equal, GatherV2 and 1 more on the AI CPU");
    let named: Vec<&str> = finding.evidence.iter().map(|item| &*item.op_type).collect();
    assert_eq!(named, ["GatherV2", "Add", "Cast", "Equal", "Less"]);
    assert_eq!((finding.saves, report.together), (Some(Nanoseconds(160_000)), Some(Nanoseconds(160_000))));
}

/// An operator on the AI CPU with inputs of these types.
fn on_the_ai_cpu(op_type: &str, types: &[DataType]) -> Profile {
    let mut profile = Profile::new(&[("it", op_type, CPU, 100, &[])]);
    let trace = &mut profile.trace;
    let mut first_input = None;
    for &data_type in types {
        let dimensions = Some(trace.dimensions.push([1_000]));
        let row = Tensor { name: None, data_type, dimensions, layout: None, parameter: false };
        first_input.get_or_insert(trace.tensors.push(row));
    }
    let operator = OperatorId::from_index(0);
    let row = trace.operators.get(operator);
    trace.operators.set(operator, Operator { first_input, input_count: types.len() as u32, ..row });
    profile
}

#[test]
fn an_operator_on_the_ai_cpu_gets_one_reason_with_one_replacement_the_same_as_where_it_is_looked_up() {
    use DataType::{Float16, Float64, Int16, Int64};
    for (op_type, types, id, told) in [
        ("GatherV2", &[Float64, Int64][..], "A07", "Compute with float32; and use int32"),
        ("GatherV2", &[Float16, Int64][..], "A05", "Use int32"),
        ("Pow", &[Float64, Float64][..], "A07", "Compute with float32"),
        ("Pow", &[Float16, Float16][..], "A04", "Mul(x, x)"),
        ("Cast", &[Float64][..], "A07", "Drop the conversion"),
        ("TransData", &[Int64][..], "A05", "Use int32"),
        ("TransData", &[Float16][..], "A04", "in one layout"),
        ("NonZero", &[Float64][..], "A08", "A mask of fixed shape"),
        ("Add", &[Int16, Int16][..], "A04", "int32 where they come from"),
        ("Sort", &[Float16][..], "A04", "Sort float16 along the last axis"),
    ] {
        let case = of(on_the_ai_cpu(op_type, types));
        let report = case.report();
        let changes = report.findings.iter().filter(|finding| finding.rule.kind == Kind::Change);
        let [finding] = changes.collect::<Vec<_>>()[..] else { panic!("{op_type}: {:?}", report.findings) };
        assert_eq!(finding.rule.id, id, "{op_type} of {types:?}");
        assert!(finding.rule.advice.contains(told), "{op_type} of {types:?}: {}", finding.rule.advice);
        let trace = case.trace.as_ref().unwrap();
        let why = crate::why_on_ai_cpu(trace, OperatorId::from_index(0));
        let told = [&finding.rule.why, &finding.rule.advice];
        assert_eq!(told, [&format!("{}.", why.because), &format!("{}.", why.instead)], "{op_type}");
    }
}

#[test]
fn conversions_of_layout_are_told_with_their_neighbours_and_by_one_rule() {
    let row = |name, op_type| (name, op_type, AI, 10, &[][..]);
    let ops = [row("in", "TransData"), row("conv", "Conv2D"), row("t", "TransData"), row("mul", "Mul")];
    let tensor = (DataType::Float16, &[1, 16, 8, 8][..]);
    let mut profile = Profile::new(&ops).tensors_like_inputs(&[tensor]).iterations(&[40]);
    let trace = &mut profile.trace;
    let [device, plain] = ["NC1HWC0", "NCHW"].map(|layout| Some(trace.strings.intern(layout)));
    // Each takes and gives these layouts.
    let layouts = [(plain, device), (device, device), (device, plain), (plain, plain)];
    for (id, (from, to)) in trace.operators.ids().collect::<Vec<_>>().into_iter().zip(layouts) {
        let operator = trace.operators.get(id);
        let tensor = trace.tensors.get(operator.first_input.unwrap());
        let first_input = Some(trace.tensors.push(Tensor { layout: from, ..tensor }));
        let first_output = Some(trace.tensors.push(Tensor { layout: to, ..tensor }));
        trace.operators.set(id, Operator { first_input, first_output, ..operator });
    }
    let case = of(profile);
    let mut told: Vec<(String, String)> = (case.found("A01").into_iter())
        .map(|finding| (finding.rule.title, finding.evidence[0].detail.clone()))
        .collect();
    told.sort();
    let at_ends = "layouts converted at the ends of the model";
    let between = "layouts converted between operators";
    assert_eq!(
        told,
        [
            (at_ends.to_owned(), "NCHW to NC1HWC0, before conv (Conv2D)".to_owned()),
            (between.to_owned(), "NC1HWC0 to NCHW, behind conv (Conv2D), before mul (Mul)".to_owned()),
        ]
    );
    assert!(case.found("H08").is_empty(), "the same is said once");
}

#[test]
fn operators_with_fewer_blocks_than_cores_are_not_told_to_divide_badly_as_well() {
    let blocks = |blocks| Case { cores: Some(8), ..metrics(&[("block_num", blocks), ("mac_ratio", 0.5)]) };
    let few = blocks(5.0);
    assert!(few.finds("A20") && !few.finds("A21") && few.asks("A21"), "there is one round only");
    assert!(blocks(12.0).found("A20").is_empty() && blocks(12.0).finds("A21"));
}

#[test]
fn what_is_said_under_another_rules_id_is_silent_with_it() {
    let case = sequence(&["Conv2D", "BNInferenceD"]);
    let ids = |silenced: &[&str]| {
        let mut settings = Settings::default();
        silenced.iter().for_each(|id| settings.add_silence(id));
        let report = case.report_with(&settings);
        report.findings.into_iter().map(|finding| finding.rule.id).collect::<Vec<String>>()
    };
    assert!(ids(&[]).contains(&"A29".to_owned()) && !ids(&[]).contains(&"G02".to_owned()));
    assert!(!ids(&["A29"]).iter().any(|id| id == "A29" || id == "G02"));
    assert!(ids(&["G02"]).contains(&"A29".to_owned()));
}

#[test]
fn rules_are_silenced_by_the_vendors_names_too() {
    let mut settings = Settings::default();
    settings.add_silence("A01");
    settings.add_silence("rule_aicpu_1");
    assert!(settings.silences_vendor("rule_transData_1") && settings.silences_vendor("rule_aicpu_1"));
    assert!(!settings.silences_vendor("rule_aicpu_2"));
    let silent = |id: &str| rules().iter().any(|rule| rule.id == id && settings.silences(rule));
    assert!(silent("A01") && silent("A04") && !silent("A05"));
}
