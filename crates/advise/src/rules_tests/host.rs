//! Cases for the rules that hold for any engine.

use super::*;

pub(super) fn cases() -> Vec<(&'static str, Case, Case)> {
    let ort = |case| on(Target::OnnxRuntime, case);
    let runs = |micros: &[i64]| {
        ort(of(Profile::new(&[("a", "Conv", ExecutionUnit::Cpu, 95, &[])]).iterations(micros)))
    };
    let small = |count: usize| {
        let rows: Vec<Op<'_>> = (0..10)
            .map(|at| ("a", "Add", ExecutionUnit::Cpu, if at < count { 2 } else { 50 }, &[][..]))
            .collect();
        ort(ops(&rows))
    };
    let level = |level: &str| ort(of(Profile::new(&[]).property("optimization", level)));
    let typed = |data_type| of(Profile::new(&[("a", "Conv2D", AI, 50, &[])]).inputs(data_type, &[8]));
    let mge = |op_type| on(Target::MegEngine, sequence(&[op_type]));
    let swept = |others: &[(&str, &str, i64)]| {
        let run = |threads: &str, input: &str, micros: i64| {
            let profile = Profile::new(&[]).property("threads", threads).property("engine", "ort");
            profile.property("input x", input).iterations(&[micros; 4]).trace
        };
        let sweep = others.iter().map(|(threads, input, micros)| run(threads, input, *micros)).collect();
        ort(Case { trace: Some(run("1", "float32 1x3x8x8", 100)), sweep, ..Case::default() })
    };
    let image = "float32 1x3x8x8";
    let roof = Some(Roofline { flops: 1e9, bandwidth: 1e9 });
    let at_the_roof = |flops| {
        let profile = Profile::new(&[("a", "Conv", ExecutionUnit::Cpu, 100, &[])]).costs(flops, 1_000);
        ort(Case { roof, ..of(profile) })
    };
    let memory = |reserved: f64| {
        let rows = [("memory of PTA allocated", 20e6), ("memory of PTA reserved", reserved)];
        ort(of(Profile::new(&[]).samples(&rows)))
    };
    let reshaped = |micros| ort(of(changing_shapes(micros)));
    vec![
        ("H01", runs(&[900, 100, 100, 100]), runs(&[120, 100, 100, 100])),
        ("H02", runs(&[100, 140, 80, 160, 70, 150]), runs(&[100, 101, 99, 100, 102, 100])),
        ("H03", swept(&[("4", image, 40)]), swept(&[("4", image, 99)])),
        ("H04", swept(&[("1", "float32 8x3x8x8", 400)]), swept(&[("1", "float32 8x3x8x8", 800)])),
        ("H05", runs(&[120]), runs(&[100])),
        ("H06", small(5), small(1)),
        ("H07", at_the_roof(1_000), at_the_roof(90_000)),
        ("H08", ort(sequence(&["Conv", "Transpose"])), ort(sequence(&["Conv", "Relu"]))),
        ("H09", level("off"), level("full")),
        ("H10", typed(DataType::Float32), typed(DataType::Float16)),
        ("H12", mge("ConvolutionForward"), mge("Elemwise")),
        ("H13", memory(80e6), memory(30e6)),
        ("H14", reshaped(500), reshaped(110)),
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
    other.set_property("threads", "4");
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
