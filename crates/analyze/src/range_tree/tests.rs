//! Ranges of small traces, as they lie within one another.

use opscope_trace::{ApiCall, ApiLevel, Device, DeviceKind, Iteration, Process, Stream, Task, Thread};
use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;

/// A trace with so many threads, and ranges (thread, name, begin and duration in ms).
fn trace(threads: u64, ranges: &[(usize, &str, i64, i64)]) -> Trace {
    let mut trace = Trace::new();
    let name = trace.strings.intern("");
    let process = trace.processes.push(Process { pid: 1, name });
    let threads: Vec<ThreadId> =
        (0..threads).map(|tid| trace.threads.push(Thread { process, tid, name })).collect();
    for (thread, name, start, duration) in ranges {
        let name = trace.strings.intern(name);
        let range = Range::new(name, Nanoseconds(start * MS), Nanoseconds(duration * MS));
        trace.ranges.push(Range { thread: Some(threads[*thread]), ..range });
    }
    trace
}

fn call(trace: &mut Trace, thread: usize, start: i64, duration: i64) {
    let (level, name) = (ApiLevel::Application, trace.strings.intern("call"));
    let (start, duration) = (Nanoseconds(start * MS), Nanoseconds(duration * MS));
    let thread = Some(ThreadId::from_index(thread));
    trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration: None });
}

/// Depth, name and milliseconds: total, own, in calls, in operators, uncovered.
fn rows(trace: &Trace) -> Vec<(usize, &str, [i64; 5])> {
    let tree = RangeTree::of(trace);
    let row = |node: &RangeNode| {
        let times = [node.total, node.own, node.in_calls, node.in_operators, node.uncovered];
        (node.depth, trace.strings.get(node.name), times.map(|time| time.0 / MS))
    };
    tree.nodes.iter().map(row).collect()
}

#[test]
fn ranges_nest_and_what_nothing_covers_is_told() {
    let mut trace = trace(
        1,
        &[
            (0, "main", 0, 100),
            (0, "load", 0, 60),
            (0, "run", 60, 15),
            (0, "run", 80, 15),
            (0, "end", 110, 5),
        ],
    );
    call(&mut trace, 0, 0, 10);
    call(&mut trace, 0, 62, 10);
    let name = trace.strings.intern("conv");
    trace.tasks.push(Task::new(name, Nanoseconds(81 * MS), Nanoseconds(10 * MS)));
    assert_eq!(
        rows(&trace),
        [
            (0, "main", [100, 10, 0, 0, 10]),
            (1, "load", [60, 60, 10, 0, 50]),
            (1, "run", [30, 30, 10, 10, 10]),
            (0, "end", [5, 5, 0, 0, 5]),
        ]
    );
    let tree = RangeTree::of(&trace);
    assert_eq!(tree.nodes[1].longest_uncovered, Some((Nanoseconds(10 * MS), Nanoseconds(60 * MS))));
    assert_eq!((tree.extent.0 / MS, tree.uncovered.0 / MS), (105, 75));
    assert_eq!(tree.path(&trace, 2), ["main", "run"]);
}

#[test]
fn threads_nest_by_themselves_and_only_their_own_calls_are_theirs() {
    let mut trace = trace(2, &[(0, "wait", 0, 100), (1, "work", 10, 50), (1, "wait", 70, 20)]);
    call(&mut trace, 1, 10, 50);
    assert_eq!(
        rows(&trace),
        [(0, "wait", [120, 120, 0, 0, 70]), (0, "work", [50, 50, 50, 0, 0])],
        "what another thread does is not uncovered, nor a call of this one"
    );
    assert_eq!(RangeTree::of(&trace).nodes[0].threads, 2);
}

#[test]
fn ranges_that_overlap_stand_side_by_side_and_count_each_moment_once() {
    let trace = trace(1, &[(0, "all", 0, 100), (0, "a", 10, 40), (0, "b", 30, 40), (0, "in b", 55, 5)]);
    assert_eq!(
        rows(&trace),
        [
            (0, "all", [100, 40, 0, 0, 40]),
            (1, "a", [40, 40, 0, 0, 40]),
            (1, "b", [40, 35, 0, 0, 35]),
            (2, "in b", [5, 5, 0, 0, 5]),
        ]
    );
}

#[test]
fn a_range_that_crosses_another_takes_nothing_that_lies_within_that_one() {
    let mut trace = trace(
        1,
        &[(0, "layer0", 90, 270), (0, "layer1", 240, 115), (0, "batch", 110, 320), (0, "rest", 360, 20)],
    );
    let batch = trace.ranges.get(RangeId::from_index(2));
    trace.ranges.set(RangeId::from_index(2), Range { kind: RangeKind::StartStop, ..batch });
    assert_eq!(
        rows(&trace),
        [
            (0, "batch", [320, 300, 0, 0, 300]),
            (1, "rest", [20, 20, 0, 0, 20]),
            (0, "layer0", [270, 155, 0, 0, 155]),
            (1, "layer1", [115, 115, 0, 0, 115]),
        ]
    );
}

#[test]
fn ranges_of_several_devices_started_and_stopped_on_threads_that_nobody_tells_stand_side_by_side() {
    let mut trace = trace(1, &[(0, "own", 0, 50)]);
    let name = trace.strings.intern("GPU");
    trace.devices.push(Device { number: 0, kind: DeviceKind::Gpu, name });
    // The modules of two devices, one of which began a little earlier, and a phase that was pushed.
    let kinds = [RangeKind::StartStop, RangeKind::StartStop, RangeKind::PushPop, RangeKind::PushPop];
    for (kind, (name, start, long)) in
        kinds.into_iter().zip([("jit_f", 0, 30), ("jit_f", 5, 20), ("phase", 6, 10), ("step", 7, 5)])
    {
        let name = trace.strings.intern(name);
        let range = Range::new(name, Nanoseconds(start * MS), Nanoseconds(long * MS));
        trace.ranges.push(Range { kind, ..range });
    }
    let nested = rows(&trace);
    assert!(nested.iter().any(|row| (row.0, row.1) == (1, "jit_f")), "those of one device: {nested:?}");
    trace.devices.push(Device { number: 1, kind: DeviceKind::Gpu, name });
    assert_eq!(
        rows(&trace),
        [
            (0, "jit_f", [50, 50, 0, 0, 50]),
            (0, "own", [50, 50, 0, 0, 50]),
            (0, "phase", [10, 5, 0, 0, 5]),
            (1, "step", [5, 5, 0, 0, 5]),
        ]
    );
}

#[test]
fn tasks_belong_to_the_innermost_range_that_their_launch_lies_in_wherever_they_ran() {
    let mut trace =
        trace(2, &[(0, "net", 0, 100), (0, "conv", 10, 20), (0, "relu", 40, 20), (1, "other", 0, 100)]);
    for (thread, start) in [(0, 15), (0, 16), (0, 45), (0, 70), (0, 120), (1, 50)] {
        call(&mut trace, thread, start, 1);
    }
    let kernels: [(&str, usize, i64); 6] =
        [("gemm", 0, 7), ("bias", 1, 1), ("relu", 2, 2), ("copy", 3, 3), ("late", 4, 5), ("side", 5, 4)];
    for (name, launch, duration) in kernels {
        let name = trace.strings.intern(name);
        // All of them run when no range is open any more.
        let task = Task::new(name, Nanoseconds((200 + 10 * launch as i64) * MS), Nanoseconds(duration * MS));
        trace.tasks.push(Task { launched_by: Some(opscope_trace::ApiCallId::from_index(launch)), ..task });
    }
    let tree = RangeTree::of(&trace);
    let rows: Vec<_> = tree
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| {
            let own: Vec<_> = tree
                .launched_in(index)
                .iter()
                .map(|row| (trace.strings.get(row.name), row.count, row.total.0 / MS))
                .collect();
            (trace.strings.get(node.name), node.tasks, node.launched.0 / MS, own)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("net", 4, 13, vec![("copy", 1, 3)]),
            ("conv", 2, 8, vec![("gemm", 1, 7), ("bias", 1, 1)]),
            ("relu", 1, 2, vec![("relu", 1, 2)]),
            ("other", 1, 4, vec![("side", 1, 4)]),
        ]
    );
}

#[test]
fn operators_on_the_cpu_that_call_one_another_count_once() {
    let mut trace = trace(1, &[(0, "module", 0, 100)]);
    let name = trace.strings.intern("cpu");
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name });
    let thread = Some(ThreadId::from_index(0));
    let stream = Some(trace.streams.push(Stream { device, number: 0, thread, name }));
    for (name, start, duration) in [("conv2d", 5, 90), ("convolution", 7, 85), ("mkldnn_convolution", 9, 75)]
    {
        let name = trace.strings.intern(name);
        let task = Task::new(name, Nanoseconds(start * MS), Nanoseconds(duration * MS));
        trace.tasks.push(Task { stream, ..task });
    }
    let tree = RangeTree::of(&trace);
    let rows: Vec<_> =
        tree.launched.iter().map(|row| (trace.strings.get(row.name), row.total.0 / MS)).collect();
    assert_eq!(rows, [("mkldnn_convolution", 75), ("convolution", 10), ("conv2d", 5)]);
    assert_eq!((tree.nodes[0].tasks, tree.nodes[0].launched.0 / MS), (3, 90));
}

#[test]
fn of_chosen_iterations_only_the_ranges_within_count() {
    let mut trace = trace(1, &[(0, "epoch", 0, 300), (0, "forward", 110, 20), (0, "forward", 210, 30)]);
    for number in 1..=2_u32 {
        let (start, duration) = (Nanoseconds(i64::from(number) * 100 * MS), Nanoseconds(90 * MS));
        trace.iterations.push(Iteration { model: None, number, warm_up: false, start, duration });
    }
    let totals = |iterations| {
        let tree = RangeTree::of_scope(&trace, Scope { iterations, ..Scope::default() }).unwrap();
        tree.nodes.iter().map(|node| node.total.0 / MS).collect::<Vec<_>>()
    };
    assert_eq!(totals(Iterations::Measured), [300, 50]);
    assert_eq!(totals(Iterations::Numbers(2, 2)), [30]);
}

proptest! {
    /// However ranges and calls lie, the parts of a node are no more than the whole.
    #[test]
    fn parts_are_within_the_whole(
        ranges in proptest::collection::vec((0_usize..2, 0_usize..3, -50_i64..50, -5_i64..60), 0..20),
        calls in proptest::collection::vec((0_usize..2, -50_i64..50, -5_i64..60), 0..8),
    ) {
        let named: Vec<_> =
            ranges.iter().map(|(thread, name, start, long)| (*thread, ["a", "b", "c"][*name], *start, *long)).collect();
        let mut trace = trace(2, &named);
        calls.iter().for_each(|(thread, start, duration)| call(&mut trace, *thread, *start, *duration));
        let tree = RangeTree::of(&trace);
        prop_assert_eq!(tree.nodes.iter().map(|node| node.count).sum::<usize>(), ranges.len());
        prop_assert!(tree.uncovered <= tree.extent);
        for (index, node) in tree.nodes.iter().enumerate() {
            prop_assert!(node.in_calls <= node.own && node.uncovered + node.in_calls <= node.own);
            prop_assert!(node.longest_gap() <= node.uncovered);
            prop_assert!(node.parent.is_none_or(|parent| parent < index && tree.nodes[parent].depth + 1 == node.depth));
        }
    }
}
