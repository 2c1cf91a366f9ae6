//! Cases for the rules about profiles of Ascend processors.

use super::*;

pub(super) fn cases() -> Vec<(&'static str, Case, Case)> {
    let t = |name| (name, "TransData", AI, 10, &[][..]);
    let x = |name| (name, "Mul", AI, 10, &[][..]);
    let on_cpu = |name, micros| Profile::new(&[(name, name, CPU, micros, &[])]);
    let waiting = [("vec_ratio", 0.1)];
    let repeated = |times| {
        let rows: Vec<Op<'_>> = (0..times)
            .flat_map(|_| [("a", "Sub", AI, 10, &waiting[..]), ("b", "Pow", AI, 10, &waiting[..])])
            .collect();
        of(Profile::new(&rows).waits(50))
    };
    let blocks = |blocks| Case { cores: Some(8), ..metrics(&[("block_num", blocks), ("mac_ratio", 0.5)]) };
    let mixed = |blocks| {
        of(Profile::new(&[("a", "MatMul", AI, 50, &[("mix_block_num", blocks)])])
            .property("vector_cores", "8"))
    };
    let around = |model: &[&str]| {
        let rows: [Op<'_>; 4] =
            [("Relu_a", "Relu", AI, 9, &[]), t("t1"), t("t2"), ("Relu_y", "Relu", AI, 9, &[])];
        with_model(ops(&rows), model)
    };
    vec![
        ("A01", ops(&[t("a"), t("b"), t("c")]), ops(&[t("a"), t("b"), x("c")])),
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
            of(on_cpu("Mul", 30).inputs(DataType::Int64, &[8])),
            of(on_cpu("Mul", 19).inputs(DataType::Int64, &[8])),
        ),
        ("A06", of(on_cpu("StridedSliceGrad", 30)), of(on_cpu("StridedSlice", 30))),
        (
            "A07",
            of(on_cpu("Mul", 30).inputs(DataType::Float64, &[8])),
            of(on_cpu("Mul", 30).inputs(DataType::Float32, &[8])),
        ),
        ("A08", of(on_cpu("NonZero", 3)), of(on_cpu("TopKD", 3))),
        (
            "A09",
            ops(&[("a", "TopKD", CPU, 10, &[]), x("b")]),
            ops(&[("a", "TopKD", CPU, 1, &[]), ("b", "Mul", AI, 99, &[])]),
        ),
        ("A10", of(Profile::new(&[x("a"), x("b")]).waits(15)), of(Profile::new(&[x("a"), x("b")]).waits(9))),
        ("A11", metric("memory_bound", 1.5), metric("memory_bound", 0.9)),
        (
            "A12",
            metrics(&[("memory_bound", 1.5), ("mte2_ratio", 0.7)]),
            metrics(&[("memory_bound", 1.5), ("mte2_ratio", 0.9)]),
        ),
        ("A13", metric("main_mem_read_bw", 38.0), metric("main_mem_read_bw", 20.0)),
        ("A14", metric("vector_bound", 1.1), metric("vector_bound", 0.9)),
        (
            "A15",
            metrics(&[("mac_ratio", 0.1), ("vec_ratio", 0.9)]),
            metrics(&[("mac_ratio", 0.0), ("vec_ratio", 0.9)]),
        ),
        (
            "A16",
            metrics(&[("mac_ratio", 0.0), ("vec_ratio", 0.5)]),
            metrics(&[("mac_ratio", 0.0), ("vec_ratio", 0.85)]),
        ),
        ("A17", metric("aic_mac_ratio", 0.5), metric("aic_mac_ratio", 0.85)),
        ("A18", metric("scalar_ratio", 0.9), metric("scalar_ratio", 0.7)),
        ("A19", metric("vec_bank_cflt_ratio", 0.05), metric("vec_bank_cflt_ratio", 0.03)),
        ("A20", blocks(3.0), blocks(8.0)),
        ("A21", blocks(12.0), blocks(16.0)),
        ("A22", mixed(12.0), mixed(24.0)),
        ("A23", metric("memory_workspace", 64.0), metric("memory_workspace", 0.0)),
        (
            "A24",
            metrics(&[("mac_time", 1.0), ("vec_time", 9.0)]),
            metrics(&[("mac_time", 9.0), ("vec_time", 1.0)]),
        ),
        ("A25", metrics(&[("mac_ratio", 0.5), ("vec_ratio", 0.3)]), metrics(&[("mac_ratio", 0.85)])),
        (
            "A26",
            of(Profile::new(&[]).frequencies(&[1000.0, 800.0])),
            of(Profile::new(&[]).frequencies(&[1000.0, 990.0])),
        ),
        (
            "A27",
            of(Profile::new(&[("a", "MatMul", AI, 9, &[("mac_ratio", 0.9)])])
                .inputs(DataType::Float16, &[8, 100])),
            of(Profile::new(&[("a", "MatMul", AI, 9, &[("mac_ratio", 0.9)])])
                .inputs(DataType::Float16, &[8, 128])),
        ),
        ("A28", repeated(6), repeated(4)),
        ("A29", sequence(&["Conv2D", "BNInferenceD", "Relu"]), sequence(&["Conv2D", "Softmax", "Relu"])),
        (
            "A30",
            of(Profile::new(&[]).call("SynchronizeStream", 5, 3).call("launch", 1, 4)),
            of(Profile::new(&[]).call("SynchronizeStream", 5, 1).call("launch", 1, 4)),
        ),
        ("A31", of(Profile::new(&[x("a")]).dynamic(true)), of(Profile::new(&[x("a")]).dynamic(false))),
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
        ("A34", graph(&["Conv x,W:18x3x3x3 -> y"]), graph(&["Conv x,W:32x3x3x3 -> y"])),
    ]
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
