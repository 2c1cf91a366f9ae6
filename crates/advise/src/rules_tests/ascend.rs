//! Cases for the rules about profiles of Ascend processors.

use super::*;

/// An operator of a type on a unit for so many microseconds, beside others that make it a part of so
/// many in all.
fn beside<'a>(op: Op<'a>, whole: i64, other: &'a [(&'a str, f64)]) -> Case {
    ops(&[op, ("other", "Conv2D", AI, whole - op.3, other)])
}

pub(super) fn cases() -> Vec<(&'static str, Case, Case)> {
    [layouts_and_units(), counters(), blocks_and_sequences(), single_operators(), calls()]
        .into_iter()
        .flatten()
        .collect()
}

fn layouts_and_units() -> Vec<(&'static str, Case, Case)> {
    let t = |name| (name, "TransData", AI, 10, &[][..]);
    let x = |name| (name, "Mul", AI, 10, &[][..]);
    let conversions = |count: usize, whole: i64| {
        let names = ["a", "b", "c"].into_iter().take(count);
        let rest = whole - 10 * count as i64;
        ops(&names.map(t).chain([("other", "Conv2D", AI, rest, &[][..])]).collect::<Vec<Op<'_>>>())
    };
    let on_cpu = |name, micros| Profile::new(&[(name, name, CPU, micros, &[])]);
    let around = |model: &[&str]| {
        let rows: [Op<'_>; 4] =
            [("Relu_a", "Relu", AI, 9, &[]), t("t1"), t("t2"), ("Relu_y", "Relu", AI, 9, &[])];
        with_model(ops(&rows), model)
    };
    let waits = |micros, wait| {
        of(Profile::new(&[("z", "Mul", AI, 1, &[]), ("a", "Mul", AI, micros, &[])]).apart(wait))
    };
    vec![
        ("A01", conversions(3, 2_000), conversions(2, 2_000)),
        ("A01", conversions(1, 490), conversions(1, 500)),
        (
            "A02",
            ops(&[t("a"), x("1"), t("b"), x("2"), t("c"), x("3"), t("d")]),
            ops(&[t("a"), x("1"), t("b"), x("2"), t("c"), x("3"), x("4")]),
        ),
        (
            "A03",
            around(&["Relu x -> a", "Reshape a,S:2 -> b", "Relu b -> y"]),
            around(&["Relu x -> a", "Relu a -> y"]),
        ),
        ("A04", of(on_cpu("TopKD", 5)), ops(&[x("a")])),
        (
            "A05",
            of(on_cpu("Mul", 21).inputs(DataType::Int64, &[8])),
            of(on_cpu("Mul", 20).inputs(DataType::Int64, &[8])),
        ),
        (
            "A05",
            of(on_cpu("Mul", 21).inputs(DataType::Uint64, &[8])),
            of(on_cpu("NonMaxSuppressionV6", 21).inputs(DataType::Int64, &[8])),
        ),
        ("A06", of(on_cpu("StridedSliceGrad", 21)), of(on_cpu("StridedSliceGrad", 20))),
        (
            "A07",
            of(on_cpu("Mul", 21).inputs(DataType::Float64, &[8])),
            of(on_cpu("Mul", 20).inputs(DataType::Float64, &[8])),
        ),
        (
            "A07",
            of(on_cpu("Mul", 30).inputs(DataType::Float64, &[8])),
            of(on_cpu("Mul", 30).inputs(DataType::Float32, &[8])),
        ),
        ("A08", of(on_cpu("NonZero", 3)), of(on_cpu("TopKD", 3))),
        (
            "A09",
            beside(("a", "TopKD", CPU, 53, &[]), 1000, &[]),
            beside(("a", "TopKD", CPU, 50, &[]), 1000, &[]),
        ),
        ("A10", waits(10, 11), waits(10, 10)),
        ("A10", waits(968, 31), waits(969, 30)),
    ]
}

fn counters() -> Vec<(&'static str, Case, Case)> {
    let busy = [("mac_ratio", 0.9), ("vec_ratio", 0.9)];
    let bound =
        |micros| beside(("a", "Mul", AI, micros, &[("memory_bound", 1.5)]), 100, &[("memory_bound", 0.5)]);
    let pipeline = |bound, busy| metrics(&[("memory_bound", bound), ("mte2_ratio", busy)]);
    let cube_does_vector =
        |micros, vec| ops(&[("a", "Conv2D", AI, micros, &[("mac_ratio", 0.1), ("vec_ratio", vec)])]);
    let vector = |micros, whole| {
        beside(("a", "Relu", AI, micros, &[("mac_ratio", 0.0), ("vec_ratio", 0.5)]), whole, &busy)
    };
    let cube = |micros, whole| beside(("a", "Conv2D", AI, micros, &[("aic_mac_ratio", 0.5)]), whole, &busy);
    let none = |micros, busy| ops(&[("a", "Mul", AI, micros, &[("mac_ratio", busy), ("vec_ratio", 0.3)])]);
    let rows = |ratio, value, bytes| {
        of(Profile::new(&[("a", "MatMul", AI, 9, &[(ratio, value)])]).inputs(DataType::Int8, &[8, bytes]))
    };
    vec![
        ("A11", metric("memory_bound", 1.05), metric("memory_bound", 1.0)),
        ("A11", bound(51), bound(50)),
        ("A12", pipeline(1.05, 0.75), pipeline(1.0, 0.75)),
        ("A12", pipeline(1.05, 0.75), pipeline(1.05, 0.8)),
        // 85 and 78 % of the rates that msadvisor has for each path of the Ascend 310.
        ("A13", metric("main_mem_read_bw", 34.8), metric("main_mem_read_bw", 31.9)),
        ("A13", metric("l2_read_bw", 68.9), metric("l2_read_bw", 63.2)),
        ("A13", metric("l0a_write_bw", 275.6), metric("l0a_write_bw", 252.9)),
        ("A13", metric("l0b_write_bw", 137.8), metric("l0b_write_bw", 126.5)),
        ("A14", metric("vector_bound", 1.05), metric("vector_bound", 1.0)),
        ("A15", cube_does_vector(21, 0.85), cube_does_vector(20, 0.85)),
        ("A15", cube_does_vector(21, 0.85), cube_does_vector(21, 0.8)),
        (
            "A15",
            cube_does_vector(30, 0.9),
            ops(&[("a", "Mul", AI, 30, &[("mac_ratio", 0.0), ("vec_ratio", 0.9)])]),
        ),
        (
            "A16",
            metrics(&[("mac_ratio", 0.0), ("vec_ratio", 0.75)]),
            metrics(&[("mac_ratio", 0.0), ("vec_ratio", 0.8)]),
        ),
        ("A16", vector(53, 1000), vector(50, 1000)),
        ("A17", metric("aic_mac_ratio", 0.75), metric("aic_mac_ratio", 0.8)),
        ("A17", cube(53, 1000), cube(50, 1000)),
        ("A18", metric("scalar_ratio", 0.85), metric("scalar_ratio", 0.8)),
        ("A19", metric("vec_bank_cflt_ratio", 0.042), metric("vec_bank_cflt_ratio", 0.04)),
        ("A19", metric("vec_bankgroup_cflt_ratio", 0.042), metric("vec_bankgroup_cflt_ratio", 0.04)),
        ("A23", metric("memory_workspace", 1.0), metric("memory_workspace", 0.0)),
        (
            "A24",
            metrics(&[("mac_time", 48.0), ("vec_time", 100.0)]),
            metrics(&[("mac_time", 50.0), ("vec_time", 100.0)]),
        ),
        ("A25", none(30, 0.8), none(30, 0.85)),
        ("A25", none(20, 0.5), none(19, 0.5)),
        (
            "A26",
            of(Profile::new(&[]).frequencies(&[1000.0, 900.0])),
            of(Profile::new(&[]).frequencies(&[1000.0, 904.0])),
        ),
        ("A27", rows("mac_ratio", 0.85, 257), rows("mac_ratio", 0.85, 256)),
        ("A27", rows("mac_ratio", 0.85, 257), rows("mac_ratio", 0.8, 257)),
        ("A27", rows("mte2_ratio", 0.96, 257), rows("mte2_ratio", 0.95, 257)),
    ]
}

fn blocks_and_sequences() -> Vec<(&'static str, Case, Case)> {
    let x = |name| (name, "Mul", AI, 10, &[][..]);
    let blocks = |blocks| Case { cores: Some(8), ..metrics(&[("block_num", blocks), ("mac_ratio", 0.5)]) };
    let mixed = |blocks| {
        of(Profile::new(&[("a", "MatMul", AI, 50, &[("mix_block_num", blocks)])])
            .property("vector_cores", "8"))
    };
    let repeated = |times: usize, transfer: &[(&'static str, f64)], filler| {
        let mut rows: Vec<Op<'_>> = vec![("c", "Conv2D", AI, filler, &[])];
        let pair = [("a", "Sub", AI, 10, transfer), ("b", "Pow", AI, 10, transfer)];
        rows.extend((0..times).flat_map(|_| pair));
        Profile::new(&rows)
    };
    let waiting = |times, wait, filler| of(repeated(times, &[], filler).apart(wait));
    let moving = |transfer| of(repeated(6, &[("mte2_ratio", transfer)], 1));
    let normalised =
        |micros| ops(&[("c", "Conv2D", AI, 2000 - micros, &[]), ("b", "BNInferenceD", AI, micros, &[])]);
    let casts = |between: usize, back: DataType| {
        let cast: Op<'_> = ("cast", "Cast", AI, 10, &[]);
        let (half, single) = ((DataType::Float16, &[8_i64][..]), (DataType::Float32, &[8_i64][..]));
        let ops = [vec![cast], vec![x("mul"); between], vec![cast]].concat();
        let inputs = [vec![half], vec![single; between + 1]].concat();
        let outputs = [vec![DataType::Float32; between + 1], vec![back]].concat();
        of(Profile::new(&ops).tensors(&inputs, &[8]).output_types(&outputs))
    };
    // The one back reads another tensor.
    let of_others = {
        let cast: Op<'_> = ("cast", "Cast", AI, 10, &[]);
        let inputs = [(DataType::Float16, &[8_i64][..]), (DataType::Float32, &[4_i64][..])];
        of(Profile::new(&[cast, cast])
            .tensors(&inputs, &[8])
            .output_types(&[DataType::Float32, DataType::Float16]))
    };
    let costly = |op_type, unit, micros| {
        ops(&[("p", op_type, unit, micros, &[]), ("c", "Conv2D", AI, 1000 - micros, &[])])
    };
    vec![
        ("A43", casts(3, DataType::Float16), casts(4, DataType::Float16)),
        ("A43", casts(0, DataType::Float16), casts(1, DataType::Int8)),
        ("A43", casts(0, DataType::Float16), of_others),
        ("A44", costly("Pow", AI, 21), costly("Pow", AI, 20)),
        ("A44", costly("Power", AI, 500), costly("Power", CPU, 500)),
        ("A44", costly("TopKV2", AI, 500), costly("TopKV2", CPU, 500)),
        ("A20", blocks(7.0), blocks(8.0)),
        ("A21", blocks(12.0), blocks(16.0)),
        ("A22", mixed(12.0), mixed(24.0)),
        ("A28", waiting(5, 50, 1), waiting(4, 50, 1)),
        ("A28", waiting(6, 7, 1), waiting(6, 6, 1)),
        ("A28", waiting(5, 50, 9_424), waiting(5, 50, 9_900)),
        ("A28", moving(0.82), moving(0.78)),
        ("A29", sequence(&["Conv2D", "BNInferenceD", "Relu"]), sequence(&["Conv2D", "Softmax", "Relu"])),
        ("A29", normalised(21), normalised(20)),
        ("A31", of(Profile::new(&[x("a")]).dynamic(true)), of(Profile::new(&[x("a")]).dynamic(false))),
    ]
}

fn single_operators() -> Vec<(&'static str, Case, Case)> {
    let kernel = |metrics: &[(&str, f64)]| {
        let profile = Profile::new(&[("add_custom", "add_custom", AI, 40, metrics)]);
        of(profile.property("format", "CANN single operators"))
    };
    let metric = |name, value| kernel(&[(name, value)]);
    let of_model = |name, value| ops(&[("a", "Add", AI, 40, &[(name, value)])]);
    let cache = |hits, read| kernel(&[("aiv_total_hit_rate", hits), ("read_main_memory_datas", read)]);
    let clock = |current| kernel(&[("current_frequency", current), ("rated_frequency", 1_800.0)]);
    vec![
        ("A35", metric("aiv_mte2_ratio", 0.52), metric("aiv_mte2_ratio", 0.5)),
        ("A35", metric("aic_mte3_ratio", 0.52), of_model("aic_mte3_ratio", 0.9)),
        ("A36", metric("aiv_vec_ratio", 0.52), metric("aiv_vec_ratio", 0.5)),
        ("A25", metric("aiv_vec_ratio", 0.49), metric("aiv_vec_ratio", 0.52)),
        ("A36", metric("aic_mac_ratio", 0.82), metric("aic_mac_ratio", 0.8)),
        ("A37", metric("aiv_scalar_ratio", 0.31), metric("aiv_scalar_ratio", 0.3)),
        ("A38", cache(0.48, 400.0), cache(0.5, 400.0)),
        ("A38", cache(0.2, 102.0), cache(0.2, 96.0)),
        ("A39", metric("aic_fixpipe_ratio", 0.16), metric("aic_fixpipe_ratio", 0.15)),
        ("A40", metric("block_num", 1.0), metric("block_num", 2.0)),
        ("A41", clock(1_705.0), clock(1_715.0)),
    ]
}

fn calls() -> Vec<(&'static str, Case, Case)> {
    let synchronising = |waits, launches| {
        of(Profile::new(&[]).call("SynchronizeStream", 5, waits).call("launch", 1, launches))
    };
    vec![
        ("A30", synchronising(2, 4), synchronising(9, 19)),
        (
            "A32",
            of(Profile::new(&[]).call("aclmdlLoadFromFileWithMem", 900, 1).call("aclmdlExecute", 20, 3)),
            of(Profile::new(&[]).call("aclmdlLoadFromFileWithMem", 50, 1).call("aclmdlExecute", 20, 3)),
        ),
        (
            "A33",
            of(Profile::new(&[]).call("aclmdlLoadFromFileWithMem", 601_000, 1).range(5_645_052)),
            of(Profile::new(&[]).call("aclmdlLoadFromFileWithMem", 601_000, 1).range(642_772)),
        ),
        ("A34", graph(&["Conv x,W:17x3x3x3 -> y"]), graph(&["Conv x,W:16x3x3x3 -> y"])),
        ("A42", collective(&[49.0]), collective(&[50.0])),
    ]
}

/// Collective operations of 100 ns that carry data for so many of them.
fn collective(transits: &[f64]) -> Case {
    let mut profile = Profile::new(&[("a", "Mul", AI, 10, &[])]);
    for (number, transit) in transits.iter().enumerate() {
        let about = FigureSubject {
            topic: FigureTopic::Collective,
            source: "communication.json",
            step: "7",
            subject: &format!("hcom_allReduce__1_{number}"),
            part: "",
        };
        let figures = [("elapsed", "ns", Some(100.0)), ("transit", "ns", Some(*transit))];
        profile.trace.push_figures(about, &figures);
    }
    of(profile)
}

#[test]
fn times_of_transfer_that_a_table_leaves_at_0_are_unknown_and_no_waiting() {
    let of_most = collective(&[0.0, 0.0, 20.0]);
    assert!(!of_most.finds("A42") && !of_most.asks("A42"));
    let of_one = &collective(&[0.0, 20.0, 30.0]).found("A42")[0];
    assert_eq!(of_one.evidence.len(), 2);
    assert!(of_one.note.as_ref().unwrap().contains(" 25.0 % of their time"), "{:?}", of_one.note);
}

#[test]
fn lost_time_in_a_range_is_found_whatever_it_comes_to() {
    let load = |micros| Profile::new(&[]).call("aclmdlLoadFromFileWithMem", micros, 1);
    for micros in [5_645_052, 5_002_280, 642_772, 300_000] {
        assert!(of(Profile::new(&[]).range(micros)).finds("A33"), "{micros} us that nothing covers");
        assert!(of(load(micros - 120_000).range(micros)).finds("A33"), "the last 120 ms of {micros} us");
    }
    // 90 ms of 5.5 s are neither a long stretch nor a large part; of half a second they are.
    assert!(!of(load(5_410_000).range(5_500_000)).finds("A33"));
    assert!(of(load(410_000).range(500_000)).finds("A33"));

    let report = of(load(601_000).range(5_645_052)).report();
    let finding = report.findings.iter().find(|finding| finding.rule.id == "A33").unwrap();
    assert_eq!(finding.evidence[0].time, Some(Nanoseconds(5_044_052_000)));
    assert!(finding.evidence[0].detail.contains("nearly 5 s"), "{}", finding.evidence[0].detail);
    assert!(finding.note.as_ref().unwrap().contains("no call and no operator"));
}

#[test]
fn ranges_of_tables_that_hold_nothing_else_are_no_lost_time() {
    for format in [ProfileFormat::CannServer, ProfileFormat::CannRanges] {
        let mut profile = Profile::new(&[]).range(500_000);
        profile.trace.run.format = Some(format);
        let case = of(profile);
        assert!(!case.finds("A33") && !case.asks("A33"), "{format:?}: nothing can be said");
    }
}

#[test]
fn lost_time_between_operators_is_told_without_ranges_where_there_are_none() {
    let report =
        of(Profile::new(&[("a", "Conv", AI, 10, &[]), ("b", "Conv", AI, 10, &[])]).apart(3_000_000)).report();
    let finding = report.findings.iter().find(|finding| finding.rule.id == "A33").unwrap();
    assert!(finding.evidence[0].name.starts_with("between"), "{finding:?}");
    assert!(!finding.rule.title.contains("range") && finding.note.is_none(), "{finding:?}");
}

#[test]
fn calls_that_an_interface_makes_below_are_not_counted_with_it() {
    let nested = |times: usize| {
        let mut profile = Profile::new(&[]).call("aclrtSynchronizeStream", 10, times).call("launch", 1, 4);
        let rows: Vec<_> = profile.trace.api_calls.iter().map(|(_, row)| row).collect();
        for row in rows {
            let level = ApiLevel::Runtime;
            let name = match profile.trace.strings.get(row.name) {
                "launch" => "KernelLaunch",
                _ => "StreamSynchronize",
            };
            let name = profile.trace.strings.intern(name);
            profile.trace.api_calls.push(ApiCall { level, name, ..row });
        }
        profile
    };
    let report = of(nested(4)).report();
    let finding = report.findings.iter().find(|finding| finding.rule.id == "A30").unwrap();
    assert_eq!(finding.evidence[0].detail, "4 for 4 launches");
    assert_eq!(finding.evidence[0].time, Some(Nanoseconds(40_000)));
}

/// Operators of two inferences of 100 us each, by inference, name, type, begin and microseconds; each waited
/// from the end of the one before it on its stream on, with 50 us before the first.
fn two_inferences(rows: &[(usize, &str, &str, i64, i64)]) -> Case {
    let mut profile = Profile::new(&[]).iterations(&[100, 100]);
    let ids: Vec<_> = profile.trace.iterations.ids().collect();
    let mut before = -50_000;
    for (inference, name, op_type, start, micros) in rows {
        let operator = profile.add(&(name, op_type, AI, *micros, &[]));
        let task = profile.trace.tasks.ids().last().unwrap();
        let row = profile.trace.tasks.get(task);
        // The second begins a nanosecond behind the first.
        let start = Nanoseconds(start * 1_000 + *inference as i64);
        let (iteration, wait) = (Some(ids[*inference]), Some(Nanoseconds(start.0 - before)));
        profile.trace.tasks.set(task, Task { operator: Some(operator), iteration, start, wait, ..row });
        before = start.0 + micros * 1_000;
    }
    of(profile)
}

/// The conversions of layout that are told at the ends of the model, between its operators, and where nobody knows.
fn told_conversions(case: &Case) -> [Vec<String>; 3] {
    let found = case.found("A01");
    let titles = [
        "layouts converted at the ends of the model",
        "layouts converted between operators",
        "layouts converted between operators or at the ends of the model",
    ];
    assert!(found.iter().all(|finding| titles.contains(&&*finding.rule.title)), "{found:?}");
    titles.map(|title| {
        let told = found.iter().filter(|finding| finding.rule.title == title);
        let mut names: Vec<String> =
            told.flat_map(|finding| &finding.evidence).map(|item| item.name.clone()).collect();
        names.sort();
        names
    })
}

#[test]
fn conversions_of_each_input_and_output_are_at_the_ends_of_the_model_with_casts_and_without() {
    let rows = [
        ("to16", "Cast", AI, 10, &[][..]),
        ("a", "TransData", AI, 10, &[]),
        ("b", "TransData", AI, 10, &[]),
        ("conv", "Conv2D", AI, 10, &[]),
        ("bias", "Add", AI, 10, &[]),
        ("t", "TransData", AI, 10, &[]),
        ("mul", "Mul", AI, 10, &[]),
        ("sum", "Add", AI, 10, &[]),
        ("y", "TransData", AI, 10, &[]),
        ("to32", "Cast", AI, 10, &[]),
        ("z", "TransData", AI, 10, &[]),
    ];
    let profile = || Profile::new(&rows);
    let expected: [&[&str]; 3] = [&["a", "b", "y", "z"], &["t"], &[]];
    assert_eq!(told_conversions(&of(profile().iterations(&[110]))), expected);
    let expected: [&[&str]; 3] = [&[], &[], &["a", "b", "t", "y", "z"]];
    assert_eq!(told_conversions(&of(profile())), expected, "nothing tells where the model begins");
}

#[test]
fn a_conversion_that_runs_beside_other_operators_in_some_inferences_is_told_once() {
    let case = two_inferences(&[
        (0, "in", "TransData", 0, 10),
        (0, "conv", "Conv2D", 10, 10),
        (0, "t", "TransData", 20, 10),
        (0, "mul", "Mul", 30, 10),
        (1, "conv", "Conv2D", 110, 10),
        (1, "in", "TransData", 115, 10),
        (1, "t", "TransData", 125, 10),
        (1, "mul", "Mul", 135, 10),
    ]);
    let expected: [&[&str]; 3] = [&["in"], &["t"], &[]];
    assert_eq!(told_conversions(&case), expected);
    // One name for all of them.
    let case = two_inferences(&[
        (0, "TransData", "TransData", 0, 10),
        (0, "conv", "Conv2D", 10, 10),
        (0, "TransData", "TransData", 20, 10),
        (0, "mul", "Mul", 30, 10),
    ]);
    let expected: [&[&str]; 3] = [&[], &["TransData"], &[]];
    assert_eq!(told_conversions(&case), expected);
}

#[test]
fn a_wait_counts_only_where_nothing_ran_within_the_same_inference() {
    let case = two_inferences(&[
        (0, "a", "Conv2D", 0, 40),
        (0, "b", "Relu", 60, 20),
        (1, "a", "Conv2D", 110, 50),
        (1, "b", "Relu", 160, 40),
    ]);
    // 20 us in the first, and 10 us at the begin of the second; not what lies before and between them.
    let finding = &case.found("A10")[0];
    assert_eq!((finding.saves, finding.share), (Some(Nanoseconds(10_000)), Some(0.1)));
    assert_eq!(finding.evidence.len(), 1, "no more than 10 us before the second: {:?}", finding.evidence);

    let with_copy = |copied: i64| {
        let mut profile = Profile::new(&[("a", "Conv2D", AI, 10, &[]), ("b", "Relu", AI, 60, &[])]).apart(30);
        let name = profile.trace.strings.intern("memcpy");
        let copy = Task::new(name, Nanoseconds(10_000), Nanoseconds(copied * 1_000));
        profile.trace.tasks.push(Task { unit: ExecutionUnit::MemoryCopy, ..copy });
        of(profile)
    };
    let finding = &with_copy(15).found("A10")[0];
    assert_eq!((finding.saves, finding.whole), (Some(Nanoseconds(15_000)), crate::Whole::Profile));
    assert_eq!(finding.share, Some(0.15), "of the 100 us from the first task to the last");
    assert!(!with_copy(20).finds("A10") && with_copy(20).asks("A10"), "10 us are left");
    assert!(!with_copy(30).finds("A10"));
}

#[test]
fn several_streams_that_wait_at_once_save_no_more_than_the_idle_time() {
    let mut profile = Profile::new(&[("a", "Conv2D", AI, 10, &[]), ("b", "Relu", AI, 60, &[])]).apart(30);
    profile.add(&("c", "Relu", AI, 60, &[]));
    let wait = Some(Nanoseconds(30_000));
    let (last, start) = (profile.trace.tasks.ids().last().unwrap(), Nanoseconds(40_000));
    let row = profile.trace.tasks.get(last);
    profile.trace.tasks.set(last, Task { start, wait, ..row });
    let finding = &of(profile).found("A10")[0];
    assert_eq!((finding.evidence.len(), finding.saves), (2, Some(Nanoseconds(30_000))));
}

#[test]
fn sequences_end_where_an_inference_does_and_are_counted_in_one() {
    // Relu + Conv2D lie in two inferences, and so does the pair of conversions.
    let rows = |second: usize| {
        two_inferences(&[
            (0, "t", "TransData", 0, 10),
            (0, "x", "Conv2D", 10, 10),
            (0, "t", "TransData", 20, 10),
            (0, "y", "Conv2D", 30, 60),
            (second, "z", "BNInferenceD", 101, 10),
        ])
    };
    assert!(rows(0).finds("A29") && !rows(1).finds("A29"));
    let back = |second: usize| {
        let row = |at: i64| {
            let op_type = if at % 2 == 0 { "TransData" } else { "Mul" };
            (if at < 4 { 0 } else { second }, op_type, op_type, 10 * at, 10)
        };
        two_inferences(&(0..7).map(row).collect::<Vec<_>>())
    };
    assert!(back(0).finds("A02") && !back(1).finds("A02"));
    let around = |second: usize| {
        let rows = [("Relu_a", "Relu"), ("t1", "TransData"), ("t2", "TransData"), ("Relu_y", "Relu")];
        let row = |(at, (name, op_type)): (usize, &(&'static str, &'static str))| {
            (if at < 2 { 0 } else { second }, *name, *op_type, 10 * at as i64, 10)
        };
        let case = two_inferences(&rows.iter().enumerate().map(row).collect::<Vec<_>>());
        with_model(case, &["Relu x -> a", "Reshape a,S:2 -> b", "Relu b -> y"])
    };
    assert!(around(0).finds("A03") && !around(1).finds("A03"));
    // Ten pairs that wait: five in each inference, or nine of which one has only four.
    let pairs = |count: i64| {
        let row = |at: i64| {
            let op_type = if at % 2 == 0 { "Sub" } else { "Pow" };
            (at as usize / 10, op_type, op_type, at * 10, 5)
        };
        two_inferences(&(0..2 * count).map(row).collect::<Vec<_>>())
    };
    let finding = &pairs(10).found("A28")[0];
    // Operators of 5 us each, and as long between them; the waits before pairs are no part of either.
    let pair = &finding.evidence[0];
    assert_eq!(pair.time, Some(Nanoseconds(50_000)));
    assert_eq!(pair.detail, "5 times in each inference, 75 µs with the idle time between them");
    assert!(!pairs(9).finds("A28") && pairs(9).asks("A28"));
}

#[test]
fn blocks_are_counted_against_the_cores_of_their_own_kind() {
    let on_unit = |unit, metric, blocks| {
        let values = [(metric, blocks), ("mac_ratio", 0.5)];
        let profile = Profile::new(&[("a", "Mul", unit, 50, &values)]).property("vector_cores", "40");
        Case { cores: Some(20), ..of(profile) }
    };
    let vector = |blocks| on_unit(ExecutionUnit::AiVectorCore, "block_num", blocks);
    assert!(!vector(30.0).finds("A21") && !vector(40.0).finds("A21"), "one round");
    assert_eq!(vector(50.0).found("A21")[0].evidence[0].detail, "50 blocks on 40 cores");
    assert_eq!(vector(1.0).found("A20")[0].evidence[0].detail, "1 block on 40 cores");
    assert!(on_unit(AI, "block_num", 30.0).finds("A21") && !on_unit(AI, "block_num", 19.0).finds("A21"));
    let mixed = |unit| on_unit(unit, "mix_block_num", 30.0);
    assert!(!mixed(ExecutionUnit::MixAiCore).finds("A22"), "30 blocks on 40 vector cores");
    assert!(mixed(ExecutionUnit::MixVectorCore).finds("A22"), "30 blocks on 20 others");
    assert!(!on_unit(CPU, "block_num", 30.0).asks("A21"), "nobody knows what its blocks run on");
}

#[test]
fn figures_of_one_execution_are_not_told_as_those_of_all() {
    let detail = |second: f64| {
        let one = [("mac_ratio", 0.5)];
        let other = [("mac_ratio", second)];
        let case = ops(&[("a", "Conv2D", AI, 50, &one), ("a", "Conv2D", AI, 50, &other)]);
        case.found("A17")[0].evidence[0].detail.clone()
    };
    assert_eq!(detail(0.5), "mac_ratio 0.500");
    assert_eq!(detail(0.25), "mac_ratio 0.500 in one of 2, which differ");
}

#[test]
fn an_activation_of_other_elements_is_no_missed_fusion() {
    let behind = |shape: &[i64]| {
        let rows = [("conv", "Conv2D", AI, 10, &[][..]), ("relu", "Relu", AI, 10, &[])];
        let image: &[i64] = &[1, 64, 80, 80];
        Profile::new(&rows).tensors_like_inputs(&[(DataType::Float16, image), (DataType::Float16, shape)])
    };
    assert!(of(behind(&[1, 64, 80, 80])).finds("A29"));
    assert!(of(behind(&[1, 4, 80, 80, 16])).finds("A29"), "in another layout");
    assert!(!of(behind(&[1, 9, 4])).finds("A29"));
}

#[test]
fn a_product_of_a_board_is_known_by_its_name() {
    let mish = |name: &str| {
        on(
            Target::Svp,
            ops(&[
                ("Conv_0", "Conv", AI, 10, &[]),
                ("Softplus_0", "Softplus", AI, 10, &[]),
                ("Tanh_0", "Tanh", AI, 10, &[]),
                (name, "Eltwise", AI, 10, &[]),
            ]),
        )
    };
    assert!(mish("Mul_0").found("G05")[0].note.as_ref().unwrap().contains("by names where types"));
    for named in ["conv4_mul", "block.act.Mul_3", "act/my_product", "Multiply.2"] {
        assert!(mish(named).finds("G05"), "{named}");
    }
    for other in ["Add_0", "MatMul_0", "Multi_0", "eltwise"] {
        assert!(!mish(other).finds("G05"), "{other}");
    }
}

#[test]
fn products_of_matrices_whose_transfers_keep_the_cube_busy_use_it_and_are_no_sequence_to_fuse() {
    let busy = [("mac_ratio", 0.82), ("mte2_ratio", 0.96), ("mac_time", 82.0), ("mte2_time", 96.0)];
    let more = [("scalar_time", 48.0), ("mte1_time", 65.0)];
    let all = [&busy[..], &more[..]].concat();
    let pair = [("a", "MatMulV2", AI, 10, &all[..]), ("b", "MatMulV3", AI, 10, &all[..])];
    let case = ops(&pair.repeat(6));
    assert!(!case.finds("A24") && case.asks("A24"));
    assert!(!case.finds("A28") && case.asks("A28"));
}

#[test]
fn gaps_of_a_sequence_in_which_another_stream_works_are_no_part_of_it() {
    let pair =
        [("a", "Sub", AI, 10, &[("mte2_ratio", 0.9)][..]), ("b", "Pow", AI, 10, &[("mte2_ratio", 0.9)][..])];
    let mut profile = Profile::new(&pair.repeat(6)).apart(100);
    let trace = &mut profile.trace;
    let name = trace.strings.intern("hcom_allReduce_");
    let operator = trace.operators.push(Operator::new(name, name));
    let nameless = trace.strings.intern("");
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Npu, name: nameless });
    let stream = Some(trace.streams.push(Stream { device, number: 9, thread: None, name: nameless }));
    let whole = Task::new(name, Nanoseconds(0), Nanoseconds(2_000_000));
    let unit = ExecutionUnit::Communication;
    trace.tasks.push(Task { operator: Some(operator), unit, stream, ..whole });
    let finding = &of(profile).found("A28")[0];
    assert!(finding.evidence.iter().all(|sequence| !sequence.detail.contains("idle time")), "{finding:?}");
}

#[test]
fn time_in_which_tasks_of_an_unknown_unit_run_is_not_the_ai_cpus_alone() {
    let row = ("a", "TopKD", CPU, 20, &[][..]);
    let mut profile = Profile::new(&[row, ("m", "aclnnMm", ExecutionUnit::Other, 980, &[])]);
    let nothing = TaskId::from_index(1);
    profile.trace.tasks.set(nothing, Task { operator: None, ..profile.trace.tasks.get(nothing) });
    assert!(!of(profile).finds("A09"));
    assert!(of(Profile::new(&[row])).finds("A09"));
}

#[test]
fn kernels_that_launch_a_collective_from_the_ai_cpu_are_no_operators_to_replace() {
    for name in ["AllReduceAicpuKernel", "AllGatherMatmulAicpuKernel"] {
        let case = ops(&[(name, "AllGatherMatmul", CPU, 40, &[])]);
        assert!(!case.finds("A04") && !case.finds("A09"), "{name}");
    }
    assert!(ops(&[("a", "AllGatherMatmul", CPU, 40, &[])]).finds("A04"));
}

#[test]
fn only_the_largest_input_that_can_be_padded_tells_of_rows() {
    let rows = |inputs: &[(DataType, &[i64])]| {
        let mut profile = Profile::new(&[("a", "Apply", AI, 9, &[("mte2_ratio", 0.99)])]);
        let trace = &mut profile.trace;
        let mut first_input = None;
        for &(data_type, shape) in inputs {
            let dimensions = Some(trace.dimensions.push(shape.iter().copied()));
            let row = Tensor { name: None, data_type, dimensions, layout: None, parameter: false };
            first_input.get_or_insert(trace.tensors.push(row));
        }
        let operator = OperatorId::from_index(0);
        let row = trace.operators.get(operator);
        trace.operators.set(operator, Operator { first_input, input_count: inputs.len() as u32, ..row });
        of(profile)
    };
    let weights: (DataType, &[i64]) = (DataType::Float32, &[4, 1024]);
    let step: (DataType, &[i64]) = (DataType::Int64, &[1]);
    let odd: (DataType, &[i64]) = (DataType::Float32, &[8, 1025]);
    assert!(!rows(&[weights, step]).finds("A27") && !rows(&[step]).finds("A27"));
    assert!(rows(&[weights, odd]).finds("A27") && rows(&[odd, weights]).finds("A27"));
}

#[test]
fn vector_operators_have_no_room_below_their_busiest_unit() {
    let of_type = |op_type, moved: f64| {
        let values = [("mac_ratio", 0.0), ("vec_ratio", 0.1), ("mte2_ratio", moved)];
        ops(&[("a", op_type, AI, 100, &values)])
    };
    assert!(!of_type("ForeachAddList", 0.97).finds("A16") && !of_type("TensorMove", 0.6).finds("A16"));
    assert_eq!(of_type("Mul", 0.6).found("A16")[0].saves, Some(Nanoseconds(40_000)));
}

#[test]
fn channels_in_blocks_of_16_are_asked_of_ascend_only() {
    let of = |target| on(target, graph(&["Conv x,W:17x3x3x3 -> y"]));
    assert!(of(Target::Cann310).finds("A34") && of(Target::Cann).finds("A34"));
    assert!(!of(Target::TensorRt).finds("A34") && !of(Target::Svp).finds("A34"));
}
