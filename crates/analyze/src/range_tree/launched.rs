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
    // The ranges that are open, the innermost last: ends and nodes.
    let mut open: Vec<(Nanoseconds, u32)> = Vec::new();
    let mut thread = None;
    for launch in &*launches {
        if thread != Some(launch.thread) {
            thread = Some(launch.thread);
            open.clear();
        }
        while let Some(&range) = next.peek() {
            match threads[range] {
                Some(of_range) if of_range == launch.thread && starts[range] <= launch.at => {
                    open.retain(|(end, _)| *end > starts[range]);
                    open.push((starts[range] + durations[range], nodes[range]));
                }
                // Ranges without a thread come first, and hold nobody's launches.
                Some(of_range) if of_range >= launch.thread => break,
                _ => {}
            }
            next.next();
        }
        open.retain(|(end, _)| *end > launch.at);
        if let Some((_, node)) = open.last() {
            let sum = sums.entry((*node, name_of(trace, launch.task))).or_insert((0, Nanoseconds::ZERO));
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
