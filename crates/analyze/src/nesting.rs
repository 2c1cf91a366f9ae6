//! Spans within spans and across one another: the time of each that is its own.
//!
//! Each moment of a lane belongs to one span: of those that are open, to the innermost, which is the one that
//! began last, and of those that began at once the shortest. So nothing is negative, and the own times of a
//! lane sum to the time in which it was busy, also where spans cross one another.

use std::collections::BTreeMap;

use opscope_columns::Column;
use opscope_trace::{Nanoseconds, Trace};

use crate::scope::is_work;

/// The time that each task took itself: the part of its duration in which no task ran that began within it on
/// the same stream, such as the nodes of a loop's body within the loop. Tasks that only wait or handle streams
/// take no moment from work, nor work from them: each kind is by itself.
pub fn self_times(trace: &Trace) -> Column<Nanoseconds> {
    let tasks = &trace.tasks;
    if tasks.unit().iter().all(|unit| is_work(*unit)) {
        return own_times(tasks.stream(), tasks.start(), tasks.duration());
    }
    let kinds = tasks.stream().iter().zip(tasks.unit()).map(|(stream, unit)| (*stream, is_work(*unit)));
    own_times(&kinds.collect::<Column<_>>(), tasks.start(), tasks.duration())
}

/// The time that each call took itself: the part of its duration outside of the calls which it made on the
/// same thread.
pub fn own_call_times(trace: &Trace) -> Column<Nanoseconds> {
    let calls = &trace.api_calls;
    own_times(calls.thread(), calls.start(), calls.duration())
}

/// The part of each span that belongs to no other one of its lane.
pub(crate) fn own_times<Lane: Copy + Ord>(
    lanes: &[Lane],
    starts: &[Nanoseconds],
    durations: &[Nanoseconds],
) -> Column<Nanoseconds> {
    let mut times: Column<_> = starts.iter().map(|_| Nanoseconds::ZERO).collect();
    // Spans that have begun, each with its end, the last on top; some of those below may have ended.
    let mut open: Vec<(usize, Nanoseconds)> = Vec::new();
    let mut reached = Nanoseconds(i64::MIN);
    let mut share_out = |open: &mut Vec<(usize, Nanoseconds)>, until: Nanoseconds| {
        while let Some(&(top, end)) = open.last() {
            if end > reached {
                let to = end.min(until);
                times[top] += to - reached;
                reached = to;
            }
            if end > until {
                break;
            }
            open.pop();
        }
        reached = until;
    };
    let mut lane: Option<Lane> = None;
    for &index in &by_lane_and_start(lanes, starts, durations) {
        let index = index as usize;
        if lane != Some(lanes[index]) {
            lane = Some(lanes[index]);
            share_out(&mut open, Nanoseconds(i64::MAX));
        }
        share_out(&mut open, starts[index]);
        open.push((index, starts[index] + durations[index]));
    }
    share_out(&mut open, Nanoseconds(i64::MAX));
    times
}

/// Rows by lane, then start, the longer first where several start at once. A table has fewer rows than 2³².
pub(crate) fn by_lane_and_start<Lane: Copy + Ord>(
    lanes: &[Lane],
    starts: &[Nanoseconds],
    durations: &[Nanoseconds],
) -> Column<u32> {
    let (mut order, ends) = by_lane(lanes);
    // Most profiles have each lane in order, which costs less to see than a sort costs.
    let key = |index: u32| (starts[index as usize], -durations[index as usize], index);
    let mut begin = 0;
    for end in ends {
        let lane = &mut order[begin..end];
        if !lane.is_sorted_by_key(|&index| key(index)) {
            lane.sort_unstable_by_key(|&index| key(index));
        }
        begin = end;
    }
    order
}

/// Rows by lane, those of each in the order of the table, and where each lane ends.
fn by_lane<Lane: Copy + Ord>(lanes: &[Lane]) -> (Column<u32>, Vec<usize>) {
    let mut counts: BTreeMap<Lane, usize> = BTreeMap::new();
    for run in lanes.chunk_by(|a, b| a == b) {
        *counts.entry(run[0]).or_default() += run.len();
    }
    let mut begin = 0;
    let mut next: BTreeMap<Lane, usize> = BTreeMap::new();
    for (lane, count) in counts {
        next.insert(lane, begin);
        begin += count;
    }
    let mut order: Column<u32> = lanes.iter().map(|_| 0).collect();
    let mut row = 0;
    for run in lanes.chunk_by(|a, b| a == b) {
        if let Some(place) = next.get_mut(&run[0]) {
            for slot in &mut order[*place..*place + run.len()] {
                *slot = row;
                row += 1;
            }
            *place += run.len();
        }
    }
    (order, next.into_values().collect())
}

/// How much time the given spans (start and end) cover together, each moment counted once.
pub fn covered_time(mut spans: Vec<(Nanoseconds, Nanoseconds)>) -> Nanoseconds {
    spans.sort_unstable();
    covered_in_order(spans)
}

/// How much time spans that are sorted by start cover together, each moment counted once.
pub(crate) fn covered_in_order(spans: impl IntoIterator<Item = (Nanoseconds, Nanoseconds)>) -> Nanoseconds {
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
    use opscope_trace::{Device, DeviceKind, ExecutionUnit, Stream, Task};
    use proptest::prelude::*;

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
    fn a_moment_of_several_tasks_of_a_stream_is_that_of_the_last_begun_and_other_streams_are_apart() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name });
        let stream = trace.streams.push(Stream { device, number: 1, thread: None, name });
        let task = |start, duration| Task::new(name, Nanoseconds(start), Nanoseconds(duration));
        trace.tasks.push(task(0, 100));
        trace.tasks.push(task(50, 100));
        trace.tasks.push(Task { stream: Some(stream), ..task(10, 20) });
        assert_eq!(self_times(&trace).iter().map(|t| t.0).collect::<Vec<_>>(), [50, 100, 20]);
    }

    #[test]
    fn waiting_takes_no_time_from_the_work_that_it_crosses() {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let unit = ExecutionUnit::Control;
        trace.tasks.push(Task::new(name, Nanoseconds(0), Nanoseconds(100)));
        trace.tasks.push(Task { unit, ..Task::new(name, Nanoseconds(80), Nanoseconds(50)) });
        trace.tasks.push(Task { unit, ..Task::new(name, Nanoseconds(90), Nanoseconds(5)) });
        assert_eq!(self_times(&trace).iter().map(|t| t.0).collect::<Vec<_>>(), [100, 45, 5]);
    }

    #[test]
    fn tasks_that_cross_within_another_are_taken_off_it_once() {
        let own = |spans: &[(i64, i64)]| -> Vec<i64> {
            let starts: Vec<_> = spans.iter().map(|span| Nanoseconds(span.0)).collect();
            let durations: Vec<_> = spans.iter().map(|span| Nanoseconds(span.1 - span.0)).collect();
            own_times(&vec![0; spans.len()], &starts, &durations).iter().map(|time| time.0).collect()
        };
        assert_eq!(own(&[(0, 100), (0, 80), (40, 100)]), [0, 40, 60]);
        // The first of those within goes on behind the second.
        assert_eq!(own(&[(0, 100), (10, 60), (20, 30), (25, 40)]), [50, 30, 5, 15]);
        assert_eq!(own(&[(0, 10), (0, 10), (20, 20)]), [0, 10, 0]);
    }

    #[test]
    fn covered_time_counts_each_moment_once() {
        let spans = [(0, 10), (5, 15), (20, 25), (21, 22)];
        let spans = spans.iter().map(|&(a, b)| (Nanoseconds(a), Nanoseconds(b))).collect();
        assert_eq!(covered_time(spans), Nanoseconds(20));
        assert_eq!(covered_time(Vec::new()), Nanoseconds::ZERO);
    }

    /// Durations less those of what lies within, which is right where nothing crosses.
    fn less_what_is_within(spans: &[(u8, i64, i64)]) -> Vec<i64> {
        let end = |span: &(u8, i64, i64)| span.1 + span.2;
        let mut order: Vec<usize> = (0..spans.len()).collect();
        order.sort_by_key(|&index| (spans[index].0, spans[index].1, -spans[index].2));
        let mut times: Vec<i64> = spans.iter().map(|span| span.2).collect();
        for (place, &index) in order.iter().enumerate() {
            let (lane, start, _) = spans[index];
            let holds = |around: &&usize| {
                spans[**around].0 == lane
                    && end(&spans[**around]) > start
                    && end(&spans[**around]) >= end(&spans[index])
            };
            if let Some(&around) = order[..place].iter().rev().find(holds) {
                times[around] -= spans[index].2;
            }
        }
        times
    }

    proptest! {
        #[test]
        fn own_times_are_never_negative_and_sum_to_what_each_stream_was_busy(
            spans in proptest::collection::vec((0_u8..3, 0_i64..200, 0_i64..100), 0..60),
        ) {
            let lanes: Vec<u8> = spans.iter().map(|span| span.0).collect();
            let starts: Vec<_> = spans.iter().map(|span| Nanoseconds(span.1)).collect();
            let durations: Vec<_> = spans.iter().map(|span| Nanoseconds(span.2)).collect();
            let own = own_times(&lanes, &starts, &durations);
            prop_assert!(own.iter().zip(&durations).all(|(own, all)| own.0 >= 0 && own <= all), "{own:?}");
            for lane in 0..3 {
                let of_lane = || (0..spans.len()).filter(|&index| lanes[index] == lane);
                let busy = covered_time(of_lane().map(|at| (starts[at], starts[at] + durations[at])).collect());
                prop_assert_eq!(of_lane().map(|index| own[index]).sum::<Nanoseconds>(), busy);
            }
        }

        #[test]
        fn where_nothing_crosses_own_times_are_durations_less_those_within(
            cuts in proptest::collection::vec((0_u8..2, 0_i64..64, 0_u32..7), 0..40),
        ) {
            // Spans of a power of two that begin at its multiples hold one another or lie apart.
            let aligned = |(lane, at, power): (u8, i64, u32)| (lane, at >> power << power, 1_i64 << power);
            let mut spans: Vec<_> = cuts.into_iter().map(aligned).collect();
            spans.sort_unstable();
            spans.dedup();
            let lanes: Vec<u8> = spans.iter().map(|span| span.0).collect();
            let starts: Vec<_> = spans.iter().map(|span| Nanoseconds(span.1)).collect();
            let durations: Vec<_> = spans.iter().map(|span| Nanoseconds(span.2)).collect();
            let own: Vec<i64> = own_times(&lanes, &starts, &durations).iter().map(|time| time.0).collect();
            prop_assert_eq!(own, less_what_is_within(&spans));
        }
    }
}
