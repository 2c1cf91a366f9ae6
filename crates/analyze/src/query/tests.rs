//! Questions to small traces whose answers can be worked out by hand.

use opscope_trace::{
    ApiCall, ApiLevel, DataType, Device, DeviceKind, ExecutionUnit, Iteration, Nanoseconds, Operator,
    OperatorId, Stream, Task, Tensor, Trace,
};
use proptest::prelude::*;
use regex::Regex;

use super::*;
use crate::Roofline;
use crate::scope::Iterations;

/// Two convolutions and a pooling over one warm-up and two measured iterations on two streams, an
/// event that waits, and a task outside of all iterations.
fn trace() -> Trace {
    let mut trace = Trace::new();
    let name = trace.strings.intern("npu");
    let device = trace.devices.push(Device { number: 3, kind: DeviceKind::Npu, name });
    let mut stream = |number| {
        let name = trace.strings.intern("");
        trace.streams.push(Stream { device, number, thread: None, name })
    };
    let (first, second) = (stream(7), stream(8));
    let mut operator = |name: &str, op_type: &str, data_type, size: i64| {
        let (name, op_type) = (trace.strings.intern(name), trace.strings.intern(op_type));
        let dimensions = Some(trace.dimensions.push([1, size]));
        let tensor = Tensor { name: None, data_type, dimensions, layout: None, parameter: false };
        let input = trace.tensors.push(tensor);
        let row = Operator { first_input: Some(input), input_count: 1, ..Operator::new(name, op_type) };
        let row = Operator { flops: Some(1000), bytes_read: Some(60), bytes_written: Some(40), ..row };
        trace.operators.push(row)
    };
    let operators = [
        operator("conv1", "Conv", DataType::Float16, 4),
        operator("conv2", "Conv", DataType::Float32, 4),
        operator("pool1", "MaxPool", DataType::Float32, 8),
    ];
    for number in 0..3_u32 {
        let start = Nanoseconds(i64::from(number) * 1000);
        let duration = Nanoseconds(100);
        let warm_up = number == 0;
        let iteration = trace.iterations.push(Iteration { model: None, number, warm_up, start, duration });
        let slow = if warm_up { 500 } else { i64::from(number) };
        for (index, (stream, offset, duration)) in
            [(first, 0, 40 + slow), (first, 50, 30), (second, 10, 10)].into_iter().enumerate()
        {
            trace.tasks.push(Task {
                operator: Some(operators[index]),
                stream: Some(stream),
                unit: if index == 2 { ExecutionUnit::AiVectorCore } else { ExecutionUnit::AiCore },
                iteration: Some(iteration),
                wait: (index == 0).then_some(Nanoseconds(5)),
                ..Task::new(
                    trace.operators.name()[operators[index].index()],
                    start + Nanoseconds(offset),
                    Nanoseconds(duration),
                )
            });
        }
        let event = trace.strings.intern("EVENT_WAIT");
        let wait = Task::new(event, start + Nanoseconds(90), Nanoseconds(9));
        trace.tasks.push(Task { unit: ExecutionUnit::Control, iteration: Some(iteration), ..wait });
    }
    let copy = trace.strings.intern("copy");
    trace.tasks.push(Task::new(copy, Nanoseconds(5000), Nanoseconds(70)));
    trace
}

fn answer(query: Query) -> Answer {
    query.run(&trace()).unwrap()
}

/// The rows as a column's text, with the time of each.
fn shown(query: Query, column: Column) -> Vec<(String, i64)> {
    let trace = trace();
    let text = |cell| match cell {
        Cell::Text(text) => text,
        Cell::Count(count) => count.to_string(),
        other => format!("{other:?}"),
    };
    let rows = query.run(&trace).unwrap().rows;
    rows.iter().map(|row| (text(column.of(&trace, row)), row.total.0)).collect()
}

fn pairs<'a>(rows: impl IntoIterator<Item = (&'a str, i64)>) -> Vec<(String, i64)> {
    rows.into_iter().map(|(name, time)| (name.to_owned(), time)).collect()
}

#[test]
fn operators_are_listed_by_their_time_in_an_average_measured_iteration() {
    let found = shown(Query::default(), Column::Name);
    // (41 + 42) / 2, rounded down as all times are.
    assert_eq!(found, pairs([("conv1", 41), ("conv2", 30), ("pool1", 10)]));
    let answer = answer(Query::default());
    assert_eq!((answer.whole, answer.selected, answer.averaged), (Nanoseconds(81), Nanoseconds(81), 2));
    assert_eq!((answer.executions, answer.subjects, answer.all_subjects), (6, 3, 3));
    // Shares are of both iterations, and so aren't rounded.
    assert!((answer.rows[1].cumulative_share - 143.0 / 163.0).abs() < 1e-9);
    assert_eq!((answer.rows[0].flops, answer.rows[0].bytes), (Some(1000), Some(100)));
}

#[test]
fn filters_choose_by_name_type_data_type_unit_and_time() {
    let names = |filter| shown(Query { filter, ..Query::default() }, Column::Name);
    let none = Filter::default;
    assert_eq!(names(Filter { name: Some(Regex::new("1$").unwrap()), ..none() }).len(), 2);
    let types = vec!["conv".to_owned()];
    assert_eq!(names(Filter { types, ..none() }), pairs([("conv1", 41), ("conv2", 30)]));
    let data_types = vec![DataType::Float16];
    assert_eq!(names(Filter { data_types, ..none() }), pairs([("conv1", 41)]));
    let units = vec![ExecutionUnit::AiVectorCore];
    assert_eq!(names(Filter { units, ..none() }), pairs([("pool1", 10)]));
    let units = vec![ExecutionUnit::Control];
    assert_eq!(names(Filter { units, ..none() }), pairs([("EVENT_WAIT", 9)]));
    let (min_time, max_time) = (Some(Nanoseconds(11)), Some(Nanoseconds(40)));
    assert_eq!(names(Filter { min_time, max_time, ..none() }), pairs([("conv2", 30)]));
    // Shares stay those of everything.
    let types = vec!["MaxPool".to_owned()];
    let only = answer(Query { filter: Filter { types, ..none() }, ..Query::default() });
    assert!((only.rows[0].share - 20.0 / 163.0).abs() < 1e-9);
    assert_eq!((only.subjects, only.all_subjects), (1, 3));
}

#[test]
fn iterations_without_tasks_have_their_times() {
    let mut trace = Trace::new();
    for (number, micros) in [(1, 20), (2, 30)] {
        let (start, duration) = (Nanoseconds(i64::from(number) * 100), Nanoseconds(micros));
        trace.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
    }
    let query = Query { group_by: GroupBy::Iteration, ..Query::default() };
    let rows = query.run(&trace).unwrap().rows;
    let cells = |column: Column| rows.iter().map(|row| column.of(&trace, row)).collect::<Vec<_>>();
    assert_eq!(cells(Column::Iteration), [Cell::Count(2), Cell::Count(1)]);
    assert_eq!(cells(Column::Wall), [Cell::Time(Nanoseconds(30)), Cell::Time(Nanoseconds(20))]);
    assert_eq!(cells(Column::Time), [Cell::Missing, Cell::Missing]);
}

#[test]
fn of_rows_that_only_hold_later_parts_of_executions_no_operations_are_known() {
    let mut trace = Trace::new();
    let [name, copy] = ["matmul", "matmul_copy"].map(|name| trace.strings.intern(name));
    let row = Operator {
        flops: Some(1000),
        bytes_read: Some(60),
        bytes_written: Some(40),
        ..Operator::new(name, name)
    };
    let operator = Some(trace.operators.push(row));
    let units = [(name, ExecutionUnit::AiCore, 0), (copy, ExecutionUnit::MemoryCopy, 10)];
    for (name, unit, start) in units {
        trace.tasks.push(Task { operator, unit, ..Task::new(name, Nanoseconds(start), Nanoseconds(10)) });
    }
    let query = Query { group_by: GroupBy::Unit, ..Query::default() };
    let known: Vec<_> = query.run(&trace).unwrap().rows.iter().map(|row| (row.flops, row.bytes)).collect();
    assert_eq!(known, [(Some(1000), Some(100)), (None, None)]);
}

#[test]
fn the_shares_of_all_rows_are_the_whole_whatever_they_are_grouped_by() {
    use GroupBy::{Iteration, Name, Operator, Shape, Stream, Type, Unit};
    for group_by in [Operator, Type, Name, Unit, Stream, Shape, Iteration] {
        for iterations in [Iterations::Measured, Iterations::All, Iterations::Numbers(1, 1)] {
            let scope = Scope { iterations, ..Scope::default() };
            let answer = answer(Query { group_by, scope, ..Query::default() });
            let shares: f64 = answer.rows.iter().map(|row| row.share).sum();
            assert!((shares - 1.0).abs() < 1e-9, "{group_by:?} {iterations:?}: {shares}");
            let last = answer.rows.last().unwrap().cumulative_share;
            assert!((last - 1.0).abs() < 1e-9, "{group_by:?} {iterations:?}: {last}");
        }
    }
}

#[test]
fn groups_add_up_what_belongs_together() {
    let grouped = |group_by, column| shown(Query { group_by, ..Query::default() }, column);
    assert_eq!(grouped(GroupBy::Type, Column::Type), pairs([("Conv", 71), ("MaxPool", 10)]));
    assert_eq!(grouped(GroupBy::Unit, Column::Unit), pairs([("ai-core", 71), ("ai-vector-core", 10)]));
    assert_eq!(grouped(GroupBy::Stream, Column::Stream), pairs([("7", 71), ("8", 10)]));
    assert_eq!(grouped(GroupBy::Iteration, Column::Iteration), pairs([("2", 82), ("1", 81)]));
    assert_eq!(grouped(GroupBy::Shape, Column::Shapes), pairs([("1x4", 71), ("1x8", 10)]));
    assert_eq!(grouped(GroupBy::Name, Column::Name).len(), 3);
}

#[test]
fn aggregates_are_of_the_single_executions() {
    let value = |aggregate| {
        let query = Query { group_by: GroupBy::Type, aggregate, ..Query::default() };
        answer(query).rows.iter().map(|row| row.value).collect::<Vec<_>>()
    };
    // The convolutions took 41, 42, 30 and 30.
    assert_eq!(value(Aggregate::Sum), [71.0, 10.0]);
    assert_eq!(value(Aggregate::Mean), [36.0, 10.0]);
    assert_eq!(value(Aggregate::Min), [30.0, 10.0]);
    assert_eq!(value(Aggregate::Max), [42.0, 10.0]);
    assert_eq!(value(Aggregate::Median), [36.0, 10.0]);
    assert_eq!(value(Aggregate::Count), [4.0, 2.0]);
    // Of two iterations each, the median is the mean.
    assert_eq!(value(Aggregate::Typical), [72.0, 10.0]);
}

#[test]
fn iterations_and_devices_are_chosen_by_number() {
    let total = |scope| answer(Query { scope, ..Query::default() }).whole.0;
    let of = |iterations| Scope { iterations, ..Scope::default() };
    assert_eq!(total(of(Iterations::Numbers(2, 2))), 82);
    assert_eq!(total(of(Iterations::Numbers(1, 2))), 81);
    // All of it: the warm-up iteration and what lies outside as well, not averaged. The second
    // convolution lies within the first there.
    assert_eq!(total(of(Iterations::All)), 510 + 41 + 42 + 3 * 40 + 70);
    assert_eq!(
        total(Scope { iterations: Iterations::All, device: Some(3), ..Scope::default() }),
        510 + 41 + 42 + 3 * 40
    );
    let fails = |scope| Query { scope, ..Query::default() }.run(&trace()).unwrap_err().to_string();
    assert!(fails(of(Iterations::Numbers(9, 9))).contains("there are 3 from 0 to 2"));
    assert!(fails(Scope { device: Some(0), ..Scope::default() }).contains("there are: 3 (npu)"));
}

#[test]
fn rows_are_sorted_by_any_column_with_what_is_unknown_last() {
    let sorted = |column, ascending| {
        let sort = Some(Sort { column, ascending });
        let rows = shown(Query { sort, ..Query::default() }, Column::Name);
        rows.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(sorted(Column::Name, true), ["conv1", "conv2", "pool1"]);
    assert_eq!(sorted(Column::Name, false), ["pool1", "conv2", "conv1"]);
    assert_eq!(sorted(Column::Time, true), ["pool1", "conv2", "conv1"]);
    assert_eq!(sorted(Column::Wait, true)[0], "conv1");
    assert_eq!(sorted(Column::Wait, false)[0], "conv1");
}

#[test]
fn waiting_is_as_recorded_or_from_the_launch_where_none_is_but_never_both() {
    let wait = |trace: &Trace| {
        let answer = Query { time: TimeKind::Wait, ..Query::default() }.run(trace).unwrap();
        (answer.rows.iter().map(|row| row.total.0).collect::<Vec<_>>(), answer.unknown)
    };
    let mut trace = trace();
    assert_eq!(wait(&trace), (vec![5], 4));
    // The second convolution was launched 20 ns before it began.
    let (level, name) = (ApiLevel::Node, trace.strings.intern("launch"));
    for task in trace.tasks.ids().collect::<Vec<_>>() {
        let row = trace.tasks.get(task);
        if row.operator == Some(OperatorId::from_index(1)) {
            let (start, duration) = (row.start - Nanoseconds(30), Nanoseconds(10));
            let call = ApiCall { thread: None, level, name, start, duration, iteration: row.iteration };
            let call = trace.api_calls.push(call);
            trace.tasks.set(task, Task { launched_by: Some(call), ..row });
        }
    }
    assert_eq!(wait(&trace), (vec![5], 4), "the first convolution's is recorded, so launches tell nothing");
    let mut unrecorded = trace.clone();
    for task in trace.tasks.ids() {
        unrecorded.tasks.set(task, Task { wait: None, ..trace.tasks.get(task) });
    }
    assert_eq!(wait(&unrecorded), (vec![20], 4));
    // Kernel time is the duration, but where the wait is part of that.
    let kernel = |trace: &Trace| {
        Query { time: TimeKind::Kernel, ..Query::default() }.run(trace).unwrap().rows[0].total
    };
    assert_eq!(kernel(&trace), Nanoseconds(41));
    trace.run.waiting = opscope_trace::TaskWait::Within;
    assert_eq!(kernel(&trace), Nanoseconds(36));
    let host = Query { host: true, group_by: GroupBy::Type, ..Query::default() }.run(&trace).unwrap();
    assert_eq!((host.rows.len(), host.rows[0].total), (1, Nanoseconds(10)));
}

#[test]
fn tasks_that_one_call_launched_are_one_execution_of_their_operator() {
    let mut trace = Trace::new();
    let name = trace.strings.intern("MatMul");
    let row = Operator {
        flops: Some(100),
        bytes_read: Some(1),
        bytes_written: Some(1),
        ..Operator::new(name, name)
    };
    let operator = Some(trace.operators.push(row));
    let (start, duration) = (Nanoseconds(0), Nanoseconds(1));
    for _ in 0..2 {
        let call = ApiCall { thread: None, level: ApiLevel::Node, name, start, duration, iteration: None };
        let launched_by = Some(trace.api_calls.push(call));
        for kernel in 0..2 {
            trace.tasks.push(Task {
                operator,
                launched_by,
                ..Task::new(name, Nanoseconds(10 * kernel), duration)
            });
        }
    }
    let answer = Query::default().run(&trace).unwrap();
    assert_eq!((answer.rows[0].flops, answer.rows[0].times.count), (Some(200), 4));
    // So is what an engine splits an operator into: tasks of other names.
    let pack = trace.strings.intern("MatMul.pack");
    trace.tasks.push(Task { operator, ..Task::new(pack, Nanoseconds(50), duration) });
    assert_eq!(Query::default().run(&trace).unwrap().rows[0].flops, Some(200));
}

#[test]
fn a_roof_says_what_holds_each_row_back() {
    let roofline = Some(Roofline { flops: 30e9, bandwidth: 100e9 });
    let rows = answer(Query { roofline, ..Query::default() }).rows;
    // 1000 operations take 33 ns at the peak, 100 bytes 1 ns.
    let position = rows[0].position.unwrap();
    assert_eq!((position.bound.name(), position.ideal), ("compute", Nanoseconds(33)));
}

#[test]
fn waiting_has_no_rates_and_no_place_under_the_roof() {
    let roofline = Some(Roofline { flops: 30e9, bandwidth: 100e9 });
    let trace = trace();
    for (time, is_known) in [(TimeKind::Total, true), (TimeKind::Kernel, true), (TimeKind::Wait, false)] {
        let rows = Query { roofline, time, ..Query::default() }.run(&trace).unwrap().rows;
        for column in [Column::Rate, Column::Bandwidth, Column::Bound, Column::Ceiling, Column::Ideal] {
            let is_missing = column.of(&trace, &rows[0]) == Cell::Missing;
            assert_eq!(is_missing, !is_known, "{time:?} {}", column.name());
        }
        assert_eq!(Column::Compute.of(&trace, &rows[0]), Cell::Flops(1000));
    }
}

#[test]
fn columns_are_found_by_word_and_key() {
    for &column in Column::ALL {
        assert_eq!(Column::from_name(column.name()), Some(column));
        assert_eq!(Column::from_name(&column.key().to_uppercase()), Some(column));
        assert!(column.about().ends_with('.'));
    }
    assert_eq!(Column::from_name("beauty"), None);
}

proptest! {
    /// However odd the times are, nothing panics, and grouped or not the same time is found.
    #[test]
    fn every_grouping_finds_all_executions(
        times in proptest::collection::vec((any::<i64>(), -1000_i64..1_000_000, 0_u8..4, 0_u32..3), 0..40),
    ) {
        let mut trace = Trace::new();
        for (start, duration, kind, iteration) in times.iter().copied() {
            let name = trace.strings.intern(["a", "b", "c", "d"][usize::from(kind)]);
            let operator = (kind < 2).then(|| trace.operators.push(Operator::new(name, name)));
            while trace.iterations.len() <= iteration as usize {
                let number = trace.iterations.len() as u32;
                let (start, duration) = (Nanoseconds::ZERO, Nanoseconds(5));
                trace.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
            }
            let iteration = trace.iterations.ids().nth(iteration as usize);
            trace.tasks.push(Task { operator, iteration, ..Task::new(name, Nanoseconds(start), Nanoseconds(duration)) });
        }
        for group_by in [GroupBy::Operator, GroupBy::Type, GroupBy::Name, GroupBy::Unit, GroupBy::Stream, GroupBy::Shape, GroupBy::Iteration] {
            let answer = Query { group_by, ..Query::default() }.run(&trace).unwrap();
            prop_assert_eq!(answer.executions, times.len());
            for &column in Column::ALL {
                let _ = Query { group_by, sort: Some(Sort { column, ascending: true }), ..Query::default() }.run(&trace);
            }
        }
        // Summary, overview and every grouping tell the same of the same part.
        let overview = crate::Overview::of(&trace, Scope::default()).unwrap();
        let summary = crate::Summary::of(&trace);
        for group_by in [GroupBy::Operator, GroupBy::Type] {
            let query = Query { group_by, aggregate: Aggregate::Typical, ..Query::default() };
            let answer = query.run(&trace).unwrap();
            prop_assert_eq!((overview.operator_time, overview.tasks), (answer.whole, answer.executions));
            let typical: Nanoseconds = answer.rows.iter().map(|row| row.per_iteration.unwrap().typical).sum();
            prop_assert_eq!(typical, summary.operator_time);
            prop_assert_eq!(summary.types.iter().map(|cost| cost.time).sum::<Nanoseconds>(), typical);
            let tasks: usize = summary.operators.iter().map(|cost| cost.tasks).sum();
            prop_assert_eq!((tasks, summary.iterations), (answer.executions, answer.averaged));
        }
    }
}
