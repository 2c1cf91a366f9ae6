//! Tasks within tasks.

use opscope_trace::{Nanoseconds, Trace};

/// The time that each task took itself: its duration less that of the tasks which ran within it on
/// the same stream, such as the nodes of a loop's body within the loop.
pub fn self_times(trace: &Trace) -> Vec<Nanoseconds> {
    let tasks = &trace.tasks;
    own_times(tasks.stream(), tasks.start(), tasks.duration())
}

/// The time that each call took itself: its duration less that of the calls which it made on the
/// same thread.
pub fn own_call_times(trace: &Trace) -> Vec<Nanoseconds> {
    let calls = &trace.api_calls;
    own_times(calls.thread(), calls.start(), calls.duration())
}

/// Durations less those of what lies within, lane by lane.
fn own_times<Lane: Copy + Ord>(
    lanes: &[Lane],
    starts: &[Nanoseconds],
    durations: &[Nanoseconds],
) -> Vec<Nanoseconds> {
    let mut times = durations.to_vec();
    let mut open: Vec<usize> = Vec::new();
    let mut lane: Option<Lane> = None;
    for index in by_lane_and_start(lanes, starts, durations) {
        if lane != Some(lanes[index]) {
            lane = Some(lanes[index]);
            open.clear();
        }
        let end = |index: usize| starts[index] + durations[index];
        while open.last().is_some_and(|&around| end(around) < end(index) || end(around) <= starts[index]) {
            open.pop();
        }
        if let Some(&around) = open.last() {
            times[around] -= durations[index];
        }
        open.push(index);
    }
    times
}

/// Rows by lane, then start, the longer first where several start at once.
pub(crate) fn by_lane_and_start<Lane: Copy + Ord>(
    lanes: &[Lane],
    starts: &[Nanoseconds],
    durations: &[Nanoseconds],
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..starts.len()).collect();
    order.sort_by_key(|&index| (lanes[index], starts[index], -durations[index]));
    order
}

/// How much time the given spans (start and end) cover together, each moment counted once.
pub fn covered_time(mut spans: Vec<(Nanoseconds, Nanoseconds)>) -> Nanoseconds {
    spans.sort_unstable();
    let mut covered = Nanoseconds::ZERO;
    let mut reached = Nanoseconds(i64::MIN);
    for (start, end) in spans {
        let start = start.max(reached);
        if end > start {
            covered += end - start;
            reached = end;
        }
    }
    covered
}

#[cfg(test)]
mod tests {
    use super::*;
    use opscope_trace::{Device, DeviceKind, Stream, Task};

    #[test]
    fn the_body_of_a_loop_is_taken_off_the_loop() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let push = |trace: &mut Trace, start, duration| {
            trace.tasks.push(Task::new(name, Nanoseconds(start), Nanoseconds(duration)));
        };
        push(&mut trace, 0, 100); // the loop
        push(&mut trace, 10, 40); // a branch in it
        push(&mut trace, 20, 5); // a node of the branch
        push(&mut trace, 60, 30); // another node of the loop
        push(&mut trace, 100, 10); // behind the loop
        assert_eq!(self_times(&trace).iter().map(|t| t.0).collect::<Vec<_>>(), [30, 35, 5, 30, 10]);
    }

    #[test]
    fn tasks_that_only_overlap_keep_their_time_and_so_do_other_streams() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name });
        let stream = trace.streams.push(Stream { device, number: 1, thread: None, name });
        let task = |start, duration| Task::new(name, Nanoseconds(start), Nanoseconds(duration));
        trace.tasks.push(task(0, 100));
        trace.tasks.push(task(50, 100));
        trace.tasks.push(Task { stream: Some(stream), ..task(10, 20) });
        assert_eq!(self_times(&trace).iter().map(|t| t.0).collect::<Vec<_>>(), [100, 100, 20]);
    }

    #[test]
    fn covered_time_counts_each_moment_once() {
        let spans = [(0, 10), (5, 15), (20, 25), (21, 22)];
        let spans = spans.iter().map(|&(a, b)| (Nanoseconds(a), Nanoseconds(b))).collect();
        assert_eq!(covered_time(spans), Nanoseconds(20));
        assert_eq!(covered_time(Vec::new()), Nanoseconds::ZERO);
    }
}
