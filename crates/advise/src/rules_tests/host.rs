//! Cases for the rules that hold for any engine.

use super::*;

pub(super) fn cases() -> Vec<(&'static str, Case, Case)> {
    [iterations(), operators(), sweeps_and_limits()].into_iter().flatten().collect()
}

fn ort(case: Case) -> Case {
    on(Target::OnnxRuntime, case)
}

fn iterations() -> Vec<(&'static str, Case, Case)> {
    let runs = |micros: &[i64]| {
        ort(of(Profile::new(&[("a", "Conv", ExecutionUnit::Cpu, 95, &[])]).iterations(micros)))
    };
    // The inferences of one model take ten times as long as those of the other.
    let mixed = |last: i64| {
        let micros: Vec<i64> = [[100, 1_000]; 4].concat().into_iter().chain([100, last]).collect();
        ort(of(Profile::new(&[("a", "Conv", ExecutionUnit::Cpu, 95, &[])])
            .iterations(&micros)
            .of_two_models()))
    };
    let reshaped = |micros| ort(of(changing_shapes(micros)));
    let level = |level: &str| ort(of(Profile::new(&[]).property("optimization", level)));
    vec![
        ("H01", runs(&[310, 100, 100, 100]), runs(&[300, 100, 100, 100])),
        ("H02", runs(&[9480, 9480, 10000, 10520, 10520]), runs(&[9500, 9500, 10000, 10500, 10500])),
        ("H02", runs(&[100, 100, 100, 100, 210]), runs(&[100, 100, 100, 100, 200])),
        ("H02", mixed(2_100), mixed(2_000)),
        ("H05", runs(&[106]), runs(&[105])),
        ("H09", level("off"), level("full")),
        ("H14", reshaped(210), reshaped(200)),
    ]
}

fn operators() -> Vec<(&'static str, Case, Case)> {
    let small = |count: usize, micros| {
        let rows: Vec<Op<'_>> = (0..250)
            .map(|at| ("a", "Add", ExecutionUnit::Cpu, if at < count { micros } else { 50 }, &[][..]))
            .collect();
        ort(ops(&rows))
    };
    let part = |target, op_type, micros| {
        on(target, ops(&[("a", op_type, AI, micros, &[]), ("b", "Elemwise", AI, 1000 - micros, &[])]))
    };
    let typed = |micros| {
        let rows = [("a", "Conv2D", AI, micros, &[][..]), ("b", "Conv2D", AI, 100 - micros, &[])];
        let shape: &[i64] = &[8];
        of(Profile::new(&rows).tensors(&[(DataType::Float32, shape), (DataType::Float16, shape)], shape))
    };
    vec![
        ("H06", small(53, 2), small(50, 2)),
        ("H06", small(100, 4), small(100, 5)),
        ("H08", part(Target::OnnxRuntime, "Transpose", 53), part(Target::OnnxRuntime, "Transpose", 50)),
        ("H10", typed(51), typed(50)),
        (
            "H12",
            part(Target::MegEngine, "ConvolutionForward", 105),
            part(Target::MegEngine, "ConvolutionForward", 100),
        ),
    ]
}

fn sweeps_and_limits() -> Vec<(&'static str, Case, Case)> {
    let swept = |others: &[(&str, &str, i64)]| {
        let run = |threads: &str, input: &str, micros: i64| {
            let profile = Profile::new(&[]).property("threads", threads).property("engine", "ort");
            profile.property("input x", input).iterations(&[micros; 4]).trace
        };
        let sweep = others.iter().map(|(threads, input, micros)| run(threads, input, *micros)).collect();
        ort(Case { trace: Some(run("1", "float32 1x3x8x8", 1000)), sweep, ..Case::default() })
    };
    let image = "float32 1x3x8x8";
    // Eight images at once take so long that a second has so many times as many of them.
    let eight = |times: f64| ("1", "float32 8x3x8x8", (8000.0 / times) as i64);
    let four = |times: f64| ("1", "float32 4x3x8x8", (4000.0 / times) as i64);
    let roof = Some(Roofline { flops: 1e9, bandwidth: 1e9 });
    let at_the_roof = |rows: &[(i64, u64)]| {
        let ops: Vec<Op<'_>> = rows
            .iter()
            .zip(["a", "b"])
            .map(|((micros, _), name)| (name, "Conv", ExecutionUnit::Cpu, *micros, &[][..]))
            .collect();
        let flops: Vec<u64> = rows.iter().map(|(_, flops)| *flops).collect();
        ort(Case { roof, ..of(Profile::new(&ops).costs(&flops, 1)) })
    };
    let memory = |in_use: f64, reserved: f64| {
        let rows = [("memory of PTA allocated", in_use), ("memory of PTA reserved", reserved)];
        ort(of(Profile::new(&[]).samples(&rows)))
    };
    vec![
        ("H03", swept(&[("4", image, 948)]), swept(&[("4", image, 951)])),
        ("H04", swept(&[eight(1.105)]), swept(&[eight(1.095)])),
        ("H04", swept(&[four(1.05), eight(1.2)]), swept(&[four(1.09), eight(1.2)])),
        ("H07", at_the_roof(&[(100, 29_000)]), at_the_roof(&[(100, 30_000)])),
        (
            "H07",
            at_the_roof(&[(105, 1_000), (9_895, 9_895_000)]),
            at_the_roof(&[(99, 1_000), (9_901, 9_901_000)]),
        ),
        ("H13", memory(20e6, 42e6), memory(20e6, 40e6)),
        ("H13", memory(10e6, 27e6), memory(10e6, 26e6)),
    ]
}

/// Inferences of two shapes by turns, three of each, the first after a change of so many microseconds
/// and the others of 100.
fn changing_shapes(first: i64) -> Profile {
    let conv = ("a", "Conv", ExecutionUnit::Cpu, 50, &[][..]);
    let mut profile = Profile::new(&[]);
    let small = profile.add(&conv);
    let large = profile.add(&conv);
    profile.trace.tasks = TaskTable::default();
    let name = profile.trace.operators.name()[small.index()];
    let mut start = Nanoseconds(0);
    for number in 0..12u32 {
        let duration = Nanoseconds(if number % 3 == 0 && number > 0 { first } else { 100 } * 1_000);
        let row = Iteration { model: None, number, warm_up: false, start, duration };
        let iteration = Some(profile.trace.iterations.push(row));
        let operator = Some(if number / 3 % 2 == 0 { small } else { large });
        profile.trace.tasks.push(Task { operator, iteration, ..Task::new(name, start, duration) });
        start += duration;
    }
    profile
}

#[test]
fn what_runs_of_a_sweep_don_t_have_in_common_is_not_compared() {
    let run = |model: &str| {
        let mut trace = Profile::new(&[]).property("threads", "1").iterations(&[100; 4]).trace;
        let name = trace.strings.intern(model);
        trace.models.push(opscope_trace::Model { number: 0, name });
        trace
    };
    let mut other = run("another");
    other.run.threads = Some(4);
    let case = Case { trace: Some(run("this")), sweep: vec![other], ..Case::default() };
    assert!(!case.asks("H03"));
}

#[test]
fn a_process_that_grew_by_much_more_than_its_values_need_is_told() {
    let grown = |bytes: f64| {
        let profile =
            Profile::new(&[]).samples(&[("resident memory", 50e6), ("resident memory", 50e6 + bytes)]);
        // Two values of 64 x 64 x 64 x 4 bytes live at once.
        let model = shaped(&[1, 64, 64, 64], &["Cast x to=1 -> a", "Sigmoid a -> b", "Relu b -> y"]);
        on(Target::OnnxRuntime, Case { trace: Some(profile.trace), ..model })
    };
    assert!(grown(40e6).finds("H13"));
    assert!(!grown(3e6).finds("H13") && grown(3e6).asks("H13"));
}

#[test]
fn what_the_recorder_adds_between_operators_is_no_gap_of_the_model() {
    let gap = |unrecorded: &[i64]| {
        let mut profile = Profile::new(&[("a", "Conv", ExecutionUnit::Cpu, 95, &[])]).iterations(&[300]);
        for (number, micros) in unrecorded.iter().enumerate() {
            let (model, number, warm_up) = (None, number as u32 + 1, false);
            let (start, duration) = (Nanoseconds(0), Nanoseconds(micros * 1_000));
            let row = opscope_trace::UnrecordedIteration { model, number, warm_up, start, duration };
            profile.trace.unrecorded_iterations.push(row);
        }
        on(Target::OnnxRuntime, of(profile))
    };
    assert!(gap(&[]).finds("H05"), "205 of 300 us lie in no operator");
    assert!(!gap(&[100; 5]).finds("H05"), "of 100 us no more than 5 do");
    let slower = gap(&[900; 5]).found("H05").remove(0);
    assert_eq!(slower.saves, Some(Nanoseconds(205_000)), "of 900 us no operators are known");
}

#[test]
fn batches_of_a_server_are_neither_noise_nor_warm_up() {
    let mut profile = Profile::new(&[]).iterations(&[900, 100, 110, 130, 150, 190]);
    assert!(of(Profile { trace: profile.trace.clone(), at: 0 }).finds("H02"));
    profile.trace.run.format = Some(ProfileFormat::CannServer);
    let case = of(profile);
    for rule in ["H01", "H02"] {
        assert!(!case.finds(rule), "{rule}");
    }
}
