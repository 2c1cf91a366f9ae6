use super::*;
use crate::overview::Overview;
use crate::scope::Scope;
use opscope_trace::{ExecutionUnit, Iteration, IterationId, Operator, Task};

/// Two operators over one warm-up and two measured iterations.
fn trace() -> Trace {
    let mut trace = Trace::new();
    let (conv, relu) = (trace.strings.intern("conv1"), trace.strings.intern("relu1"));
    let (conv_type, relu_type) = (trace.strings.intern("Conv"), trace.strings.intern("Relu"));
    let cost = Operator {
        flops: Some(100),
        bytes_read: Some(30),
        bytes_written: Some(10),
        ..Operator::new(conv, conv_type)
    };
    let conv_operator = trace.operators.push(cost);
    let relu_operator = trace.operators.push(Operator::new(relu, relu_type));
    for number in 0..3i64 {
        let start = Nanoseconds(number * 1000);
        let slow = if number == 0 { 500 } else { 0 };
        let iteration = trace.iterations.push(Iteration {
            model: None,
            number: number as u32,
            warm_up: number == 0,
            start,
            duration: Nanoseconds(100 + slow),
        });
        let task = |operator, name, offset, duration| Task {
            operator: Some(operator),
            iteration: Some(iteration),
            ..Task::new(name, start + Nanoseconds(offset), Nanoseconds(duration))
        };
        // The convolution takes two tasks.
        trace.tasks.push(task(conv_operator, conv, 0, 40 + slow));
        trace.tasks.push(task(conv_operator, conv, 40 + slow, 20));
        trace.tasks.push(task(relu_operator, relu, 60 + slow, 20));
    }
    trace
}

#[test]
fn warm_up_iterations_are_left_out_of_the_figures() {
    let summary = Summary::of(&trace());
    assert_eq!(summary.iterations, 2);
    assert_eq!(summary.latency.unwrap().mean, Nanoseconds(100));
    assert_eq!(summary.warm_up.unwrap().mean, Nanoseconds(600));
    assert_eq!((summary.inside, summary.between), (Nanoseconds(80), Nanoseconds(20)));
}

#[test]
fn tasks_add_up_to_operators_and_operators_to_types() {
    let trace = trace();
    let summary = Summary::of(&trace);
    let [conv, relu] = &summary.operators[..] else { panic!("{:?}", summary.operators) };
    assert_eq!((conv.time, conv.tasks), (Nanoseconds(60), 4));
    assert_eq!(trace.strings.get(relu.name), "relu1");
    assert!((conv.share - 0.75).abs() < 1e-9 && (relu.cumulative_share - 1.0).abs() < 1e-9);
    assert_eq!(conv.per_iteration.median, Nanoseconds(60));
    // It is executed twice in each iteration.
    assert_eq!((conv.executions, conv.flops, conv.bytes), (4, Some(200), Some(80)));
    assert_eq!((summary.types[0].flops, summary.types[0].bytes), (Some(200), Some(80)));
    assert_eq!(summary.types[1].flops, None);
}

#[test]
fn one_disturbed_iteration_does_not_make_its_operator_the_most_costly() {
    let mut trace = Trace::new();
    let op_type = trace.strings.intern("Conv");
    let [quick, steady] = ["quick", "steady"].map(|name| {
        let name = trace.strings.intern(name);
        (name, trace.operators.push(Operator::new(name, op_type)))
    });
    for number in 0..10i64 {
        let (start, model) = (Nanoseconds(number * 100_000), None);
        let disturbed = if number == 4 { 50_000 } else { 0 };
        let (number, duration) = (number as u32, Nanoseconds(30 + disturbed));
        let row = Iteration { model, number, warm_up: false, start, duration };
        let iteration = Some(trace.iterations.push(row));
        for ((name, operator), offset, time) in [(quick, 0, 10 + disturbed), (steady, 10 + disturbed, 20)] {
            let task = Task::new(name, start + Nanoseconds(offset), Nanoseconds(time));
            trace.tasks.push(Task { operator: Some(operator), iteration, ..task });
        }
    }
    let summary = Summary::of(&trace);
    let [first, second] = &summary.operators[..] else { panic!("{:?}", summary.operators) };
    assert_eq!((trace.strings.get(first.name), first.time), ("steady", Nanoseconds(20)));
    assert_eq!((trace.strings.get(second.name), second.time), ("quick", Nanoseconds(10)));
    assert!(second.per_iteration.mean > second.per_iteration.median + Nanoseconds(4_000));
    assert!((first.share + second.share - 1.0).abs() < 1e-9 && second.cumulative_share > 0.999);
    assert_eq!((summary.operator_time, summary.inside), (Nanoseconds(30), Nanoseconds(30)));
}

#[test]
fn unrecorded_iterations_are_the_latency_and_scale_what_was_recorded() {
    let mut trace = trace();
    let (model, number, start) = (None, 0, Nanoseconds::ZERO);
    for (warm_up, duration) in [(true, 900), (false, 50), (false, 40), (false, 60)] {
        let row = opscope_trace::UnrecordedIteration {
            model,
            number,
            warm_up,
            start,
            duration: Nanoseconds(duration),
        };
        trace.unrecorded_iterations.push(row);
    }
    let summary = Summary::of(&trace);
    assert_eq!(summary.latency.map(|latency| (latency.count, latency.median)), Some((3, Nanoseconds(50))));
    assert_eq!(summary.recorded.map(|recorded| recorded.median), Some(Nanoseconds(100)));
    assert_eq!(summary.warm_up.map(|warm_up| warm_up.median), Some(Nanoseconds(900)));
    // Recorded times are averaged over the recorded iterations only.
    assert_eq!((summary.iterations, summary.operators[0].time), (2, Nanoseconds(60)));
}

#[test]
fn operations_and_bytes_are_those_that_a_query_gives() {
    use crate::{GroupBy, Query};
    let mut trace = trace();
    // Beside what is executed once or twice, an operator that one call splits into two tasks, and
    // one that an engine splits into tasks of other names.
    let name = trace.strings.intern("matmul1");
    let (op_type, pack) = (trace.strings.intern("MatMul"), trace.strings.intern("matmul1.pack"));
    let row = Operator {
        flops: Some(7),
        bytes_read: Some(2),
        bytes_written: Some(3),
        ..Operator::new(name, op_type)
    };
    let operator = Some(trace.operators.push(row));
    let (level, duration) = (opscope_trace::ApiLevel::Node, Nanoseconds(5));
    for iteration in [1, 2].map(IterationId::from_index) {
        let start = trace.iterations.start()[iteration.index()] + Nanoseconds(700);
        let iteration = Some(iteration);
        let call = opscope_trace::ApiCall { thread: None, level, name, start, duration, iteration };
        let launched_by = Some(trace.api_calls.push(call));
        for task in [name, name, pack] {
            trace.tasks.push(Task { operator, launched_by, iteration, ..Task::new(task, start, duration) });
        }
    }
    let summary = Summary::of(&trace);
    for group_by in [GroupBy::Operator, GroupBy::Type] {
        let query = Query { group_by, ..Query::default() };
        for row in query.run(&trace).unwrap().rows {
            let found = match group_by {
                GroupBy::Operator => {
                    let cost = summary.operators.iter().find(|cost| Some(cost.name) == row.name).unwrap();
                    (cost.flops, cost.bytes)
                }
                _ => {
                    let cost = summary.types.iter().find(|cost| Some(cost.op_type) == row.op_type).unwrap();
                    (cost.flops, cost.bytes)
                }
            };
            assert_eq!(found, (row.flops, row.bytes), "{group_by:?} {row:?}");
        }
    }
    let matmul = summary.operators.iter().find(|cost| cost.operator == operator).unwrap();
    assert_eq!((matmul.tasks, matmul.executions, matmul.flops), (6, 2, Some(7)));
}

#[test]
fn a_profile_without_iterations_counts_as_one() {
    let mut trace = Trace::new();
    let name = trace.strings.intern("kernel");
    trace.tasks.push(Task::new(name, Nanoseconds(0), Nanoseconds(30)));
    trace.tasks.push(Task::new(name, Nanoseconds(50), Nanoseconds(30)));
    let summary = Summary::of(&trace);
    assert_eq!((summary.iterations, summary.latency), (1, None));
    assert_eq!((summary.inside, summary.between), (Nanoseconds(60), Nanoseconds(20)));
    assert_eq!(summary.operators[0].time, Nanoseconds(60));
    assert_eq!(summary.operators[0].operator, None);
}

#[test]
fn the_iterations_of_one_model_are_summarised_alone() {
    let mut trace = Trace::new();
    let name = trace.strings.intern("net");
    for number in 0..2 {
        let model = trace.models.push(opscope_trace::Model { number, name });
        let duration = Nanoseconds(100 * (number as i64 + 1));
        let start = Nanoseconds(1000 * number as i64);
        let row = Iteration { model: Some(model), number: 0, warm_up: false, start, duration };
        let iteration = trace.iterations.push(row);
        trace.tasks.push(Task { iteration: Some(iteration), ..Task::new(name, start, duration) });
    }
    let second = Summary::of_model(&trace, ModelId::from_index(1));
    assert_eq!(second.latency.map(|latency| latency.mean), Some(Nanoseconds(200)));
    assert_eq!((second.operator_time, second.between), (Nanoseconds(200), Nanoseconds::ZERO));
    assert_eq!(Summary::of(&trace).latency.map(|latency| latency.count), Some(2));
}

#[test]
fn tasks_that_only_wait_are_no_operators_and_untied_ones_are_of_the_whole_profile() {
    let mut trace = trace();
    let name = trace.strings.intern("EVENT_WAIT");
    let wait = Task {
        iteration: Some(IterationId::from_index(1)),
        ..Task::new(name, Nanoseconds(1_090), Nanoseconds(9))
    };
    trace.tasks.push(Task { unit: ExecutionUnit::Control, ..wait });
    assert_eq!(Summary::of(&trace).operators.len(), 2);
    for task in trace.tasks.ids().collect::<Vec<_>>() {
        let row = trace.tasks.get(task);
        trace.tasks.set(task, Task { iteration: None, ..row });
    }
    let summary = Summary::of(&trace);
    assert_eq!(
        (summary.iterations, summary.is_of_whole_profile, summary.between),
        (1, true, Overview::of(&trace, Scope::default()).unwrap().idle())
    );
    assert_eq!(summary.operators[0].time, Nanoseconds(540 + 40 + 40 + 3 * 20));
    assert_eq!(summary.latency.unwrap().count, 2);
}

#[test]
fn an_empty_trace_has_an_empty_summary() {
    let summary = Summary::of(&Trace::new());
    assert_eq!((summary.operators.len(), summary.inside), (0, Nanoseconds::ZERO));
}
