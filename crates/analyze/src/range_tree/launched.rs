//! The tasks that were launched within ranges, whenever and wherever they ran then.
//!
//! A task belongs to the innermost range that was open on the launching thread when its call began: the framework's
//! call where that is known, because it may hand the launch on to another thread, else the runtime's. A task that a
//! thread of the host ran itself, such as an operator on the CPU, was launched where it ran. Operators on the CPU
//! call one another, so that own times are summed: the outermost alone has the time of all.

use std::collections::HashMap;

use opscope_columns::Column;
use opscope_trace::{Nanoseconds, RangeId, StringId, TaskId, ThreadId, Trace};

use crate::measured::work;
use crate::nesting::{by_lane_and_start, self_times};

/// The tasks of one name that were launched within the ranges of a node, and in no range within them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// The node.
    pub node: usize,
    /// The name of the operator that they executed, or else their own.
    pub name: StringId,
    /// How many there are.
    pub count: usize,
    /// How long they ran, without what ran within them on the same stream; several may have run at a time.
    pub total: Nanoseconds,
}

/// A moment on a thread at which a task was launched.
#[derive(Clone, Copy)]
struct Launch {
    thread: ThreadId,
    at: Nanoseconds,
    task: TaskId,
}

/// Sums up the tasks that were launched within ranges, whose nodes are given in the same order: by node, those first
/// that took longest.
pub(super) fn of(trace: &Trace, ranges: &[RangeId], nodes: &[u32]) -> Vec<Launched> {
    let (launches, own) = (launches(trace), self_times(trace));
    let table = &trace.ranges;
    let threads: Vec<Option<ThreadId>> = ranges.iter().map(|id| table.thread()[id.index()]).collect();
    let column = |rows: &[Nanoseconds]| ranges.iter().map(|id| rows[id.index()]).collect::<Vec<_>>();
    let (starts, durations) = (column(table.start()), column(table.duration()));
    let order = by_lane_and_start(&threads, &starts, &durations);
    let mut next = order.iter().map(|index| *index as usize).peekable();
    let mut sums: HashMap<(u32, StringId), (usize, Nanoseconds)> = HashMap::new();
    let mut open = OpenRanges::default();
    let mut thread = None;
    for launch in &*launches {
        if thread != Some(launch.thread) {
            thread = Some(launch.thread);
            open = OpenRanges::default();
        }
        while let Some(&range) = next.peek() {
            match threads[range] {
                Some(of_range) if of_range == launch.thread && starts[range] <= launch.at => {
                    open.begin(starts[range] + durations[range], nodes[range]);
                }
                // Ranges without a thread come first, and hold nobody's launches.
                Some(of_range) if of_range >= launch.thread => break,
                _ => {}
            }
            next.next();
        }
        if let Some(node) = open.innermost(launch.at) {
            let sum = sums.entry((node, name_of(trace, launch.task))).or_insert((0, Nanoseconds::ZERO));
            sum.0 += 1;
            sum.1 += own[launch.task.index()];
        }
    }
    let rows = sums.into_iter();
    let mut rows: Vec<Launched> = rows
        .map(|((node, name), (count, total))| Launched { node: node as usize, name, count, total })
        .collect();
    rows.sort_by_key(|row| (row.node, std::cmp::Reverse(row.total), row.name));
    rows
}

/// The ranges of a thread that may be the innermost open one at some later time, as ends and nodes, the last begun
/// on top. Each outlasts those above it: one that ends no later than another that began behind it is never further in.
#[derive(Default)]
struct OpenRanges(Vec<(Nanoseconds, u32)>);

impl OpenRanges {
    /// Enters the range that begins next.
    fn begin(&mut self, end: Nanoseconds, node: u32) {
        while self.0.pop_if(|(earlier, _)| *earlier <= end).is_some() {}
        self.0.push((end, node));
    }

    /// The node of the last begun range that hasn't ended. Times only go on.
    fn innermost(&mut self, at: Nanoseconds) -> Option<u32> {
        while self.0.pop_if(|(end, _)| *end <= at).is_some() {}
        self.0.last().map(|(_, node)| *node)
    }
}

/// The launches of all tasks that do work, by thread and time.
fn launches(trace: &Trace) -> Column<Launch> {
    let sites: HashMap<TaskId, _> =
        trace.launch_sites.iter().map(|(_, site)| (site.task, site.call)).collect();
    let mut launches: Column<Launch> = Column::new();
    for task in work(trace) {
        let call = sites.get(&task).copied().or(trace.tasks.launched_by()[task.index()]);
        let launch = match call {
            Some(call) => trace.api_calls.thread()[call.index()].map(|thread| Launch {
                thread,
                at: trace.api_calls.start()[call.index()],
                task,
            }),
            None => trace.tasks.stream()[task.index()]
                .and_then(|stream| trace.streams.thread()[stream.index()])
                .map(|thread| Launch { thread, at: trace.tasks.start()[task.index()], task }),
        };
        launches.extend(launch);
    }
    launches.sort_unstable_by_key(|launch| (launch.thread, launch.at, launch.task));
    launches
}

fn name_of(trace: &Trace, task: TaskId) -> StringId {
    match trace.tasks.operator()[task.index()] {
        Some(operator) => trace.operators.name()[operator.index()],
        None => trace.tasks.name()[task.index()],
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use opscope_trace::{ApiCall, ApiCallId, ApiLevel, Process, Range, Task, Thread};
    use proptest::prelude::*;

    use super::*;

    /// A trace of one thread with ranges and launches at some times, and all of its ranges.
    fn trace(ranges: &[(i64, i64)], launches: &[i64]) -> (Trace, Vec<RangeId>) {
        let mut trace = Trace::new();
        let name = trace.strings.intern("x");
        let process = trace.processes.push(Process { pid: 1, name });
        let thread = Some(trace.threads.push(Thread { process, tid: 1, name }));
        let range = |&(start, duration): &(i64, i64)| Range {
            thread,
            ..Range::new(name, Nanoseconds(start), Nanoseconds(duration))
        };
        let ranges = ranges.iter().map(|row| trace.ranges.push(range(row))).collect();
        for (place, at) in launches.iter().enumerate() {
            let (level, start, duration) = (ApiLevel::Runtime, Nanoseconds(*at), Nanoseconds(1));
            trace.api_calls.push(ApiCall { thread, level, name, start, duration, iteration: None });
            let launched_by = Some(ApiCallId::from_index(place));
            let task = Task::new(name, Nanoseconds(2 * place as i64), Nanoseconds(1));
            trace.tasks.push(Task { launched_by, ..task });
        }
        (trace, ranges)
    }

    /// How long the sums of a trace take, each of whose ranges is a node.
    fn time_of(ranges: &[(i64, i64)], launches: &[i64]) -> Duration {
        let (trace, ranges) = trace(ranges, launches);
        let nodes: Vec<u32> = (0..ranges.len() as u32).collect();
        let once = || {
            let begun = Instant::now();
            assert!(!of(&trace, &ranges, &nodes).is_empty());
            begun.elapsed()
        };
        (0..3).map(|_| once()).min().expect("several")
    }

    #[test]
    fn launches_in_deep_nests_take_hardly_longer_than_in_ranges_side_by_side() {
        let count = 30_000;
        let launches: Vec<i64> = (0..count).map(|at| 2 * count + at).collect();
        let deep: Vec<_> = (0..count).map(|at| (at, 10 * count - 2 * at)).collect();
        let flat: Vec<_> = (0..count).map(|at| (2 * count + at, 1)).collect();
        let (deep, flat) = (time_of(&deep, &launches), time_of(&flat, &launches));
        assert!(deep < 8 * flat, "{deep:?} is not near {flat:?}");
    }

    proptest! {
        #[test]
        fn a_launch_belongs_to_the_last_begun_range_that_has_not_ended(
            ranges in proptest::collection::vec((0_i64..50, -2_i64..30), 0..20),
            launches in proptest::collection::vec(-2_i64..80, 0..20),
        ) {
            let (trace, ids) = trace(&ranges, &launches);
            let nodes: Vec<u32> = (0..ids.len() as u32).collect();
            let mut order: Vec<usize> = (0..ranges.len()).collect();
            order.sort_by_key(|&place| (ranges[place].0, -ranges[place].1, place));
            let is_open = |place: usize, at: i64| {
                let (start, duration) = ranges[place];
                start <= at && start + duration > at
            };
            let mut expected = vec![0; ranges.len()];
            for at in launches {
                if let Some(&place) = order.iter().rev().find(|place| is_open(**place, at)) {
                    expected[place] += 1;
                }
            }
            let mut found = vec![0; ranges.len()];
            of(&trace, &ids, &nodes).iter().for_each(|row| found[row.node] += row.count);
            prop_assert_eq!(found, expected);
        }
    }
}
