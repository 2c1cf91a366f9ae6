//! The ranges that a program marked, as they lie within one another, and what of each is accounted
//! for by calls and operators.
//!
//! A range lies within the innermost one of its thread that holds it whole. Ranges of one name, domain
//! and kind below the same others are one node. The own time of a range is what no range within it covers.

use std::collections::HashMap;

use opscope_trace::{ExecutionUnit, Nanoseconds, Range, RangeId, RangeKind, StringId, ThreadId, Trace};

use crate::cover::{Cover, Span};
use crate::nesting::by_lane_and_start;

/// The ranges of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeTree {
    /// The nodes, each behind the one that it lies in; of several in one, the longest first.
    pub nodes: Vec<RangeNode>,
    /// How many single marks there are beside.
    pub marks: usize,
    /// The time in which at least one range was open.
    pub extent: Nanoseconds,
    /// The part of it in which no call and no operator ran, on whichever thread or stream.
    pub uncovered: Nanoseconds,
    /// Whether the profile has calls or operators at all, so that ranges could be covered.
    pub has_others: bool,
}

/// The ranges of one name in one place of the tree. Times are sums over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeNode {
    /// The program's text.
    pub name: StringId,
    /// The program's domain or category.
    pub domain: Option<StringId>,
    /// How they were opened and closed.
    pub kind: RangeKind,
    /// The node that it lies in.
    pub parent: Option<usize>,
    /// How many nodes it lies in.
    pub depth: usize,
    /// How many ranges there are.
    pub count: usize,
    /// On how many threads.
    pub threads: usize,
    /// How long they last.
    pub total: Nanoseconds,
    /// The longest.
    pub longest: Nanoseconds,
    /// The part that no range within covers.
    pub own: Nanoseconds,
    /// Of the own time, what lies in calls of the range's thread.
    pub in_calls: Nanoseconds,
    /// Of the own time, that in which at least one operator ran, on whichever stream.
    pub in_operators: Nanoseconds,
    /// Of the own time, that in which no call and no operator ran at all.
    pub uncovered: Nanoseconds,
    /// Begin and end of the longest stretch of that.
    pub longest_uncovered: Option<(Nanoseconds, Nanoseconds)>,
}

impl RangeNode {
    fn new(range: &Range, parent: Option<usize>, depth: usize) -> Self {
        let zero = Nanoseconds::ZERO;
        Self {
            name: range.name,
            domain: range.domain,
            kind: range.kind,
            parent,
            depth,
            count: 0,
            threads: 0,
            total: zero,
            longest: zero,
            own: zero,
            in_calls: zero,
            in_operators: zero,
            uncovered: zero,
            longest_uncovered: None,
        }
    }

    /// How long the longest uncovered stretch is.
    pub fn longest_gap(&self) -> Nanoseconds {
        self.longest_uncovered.map_or(Nanoseconds::ZERO, |(start, end)| end - start)
    }
}

impl RangeTree {
    /// Puts the ranges of a trace together.
    pub fn of(trace: &Trace) -> Self {
        let spans: Vec<RangeId> =
            trace.ranges.ids().filter(|id| trace.ranges.kind()[id.index()] != RangeKind::Mark).collect();
        let marks = trace.ranges.len() - spans.len();
        if spans.is_empty() {
            return Self { marks, ..Self::default() };
        }
        let covers = Covers::of(trace, &spans);
        let extent = Cover::of(spans.iter().map(|id| span(trace, *id)));
        let left = |span: &Span| span.1 - span.0 - covers.everything.within(*span);
        Self {
            nodes: Builder { trace, covers: &covers, nodes: Vec::new() }.build(&spans),
            marks,
            extent: extent.total(),
            uncovered: extent.spans().iter().map(left).sum(),
            has_others: !(trace.tasks.is_empty() && trace.api_calls.is_empty()),
        }
    }

    /// The names from the outermost node to this one.
    pub fn path<'t>(&self, trace: &'t Trace, node: usize) -> Vec<&'t str> {
        let above = |at: &usize| self.nodes[*at].parent;
        let mut names: Vec<&str> = std::iter::successors(Some(node), above)
            .map(|at| trace.strings.get(self.nodes[at].name))
            .collect();
        names.reverse();
        names
    }
}

fn span(trace: &Trace, range: RangeId) -> Span {
    let start = trace.ranges.start()[range.index()];
    (start, start + trace.ranges.duration()[range.index()])
}

/// The spans that account for time.
struct Covers {
    /// The calls of each thread that has ranges; of `None`, all calls.
    calls: HashMap<Option<ThreadId>, Cover>,
    operators: Cover,
    everything: Cover,
}

impl Covers {
    fn of(trace: &Trace, ranges: &[RangeId]) -> Self {
        let calls = &trace.api_calls;
        let call = |index: usize| (calls.start()[index], calls.start()[index] + calls.duration()[index]);
        let mut by_thread: HashMap<Option<ThreadId>, Vec<Span>> =
            ranges.iter().map(|id| (trace.ranges.thread()[id.index()], Vec::new())).collect();
        // Where a format doesn't tell a thread, any may be it.
        let unknown: Vec<Span> =
            (0..calls.len()).filter(|&index| calls.thread()[index].is_none()).map(call).collect();
        for (thread, spans) in &mut by_thread {
            if thread.is_some() {
                spans.extend(&unknown);
            }
        }
        for index in 0..calls.len() {
            if let Some(spans) = calls.thread()[index].and_then(|thread| by_thread.get_mut(&Some(thread))) {
                spans.push(call(index));
            }
        }
        if let Some(spans) = by_thread.get_mut(&None) {
            spans.extend((0..calls.len()).map(call));
        }
        let tasks = &trace.tasks;
        // Waiting and handling of streams is no work.
        let work = (0..tasks.len()).filter(|&index| tasks.unit()[index] != ExecutionUnit::Control);
        let operators = Cover::of(
            work.map(|index| (tasks.start()[index], tasks.start()[index] + tasks.duration()[index])),
        );
        let everything = Cover::of(operators.spans().iter().copied().chain((0..calls.len()).map(call)));
        let calls = by_thread.into_iter().map(|(thread, spans)| (thread, Cover::of(spans))).collect();
        Self { calls, operators, everything }
    }
}

/// A range that may have others within.
struct Open {
    node: usize,
    end: Nanoseconds,
    /// How far its time is accounted for.
    reached: Nanoseconds,
}

struct Builder<'t> {
    trace: &'t Trace,
    covers: &'t Covers,
    nodes: Vec<RangeNode>,
}

impl Builder<'_> {
    fn build(mut self, ranges: &[RangeId]) -> Vec<RangeNode> {
        let column = |rows: &[Nanoseconds]| ranges.iter().map(|id| rows[id.index()]).collect::<Vec<_>>();
        let table = &self.trace.ranges;
        let threads: Vec<Option<ThreadId>> = ranges.iter().map(|id| table.thread()[id.index()]).collect();
        let (starts, durations) = (column(table.start()), column(table.duration()));
        let mut known: HashMap<(Option<usize>, StringId, Option<StringId>, bool), usize> = HashMap::new();
        let mut seen_on: Vec<Option<ThreadId>> = Vec::new();
        let mut open: Vec<Open> = Vec::new();
        let mut lane: Option<Option<ThreadId>> = None;
        for index in by_lane_and_start(&threads, &starts, &durations) {
            let (thread, start, end) = (threads[index], starts[index], starts[index] + durations[index]);
            if lane != Some(thread) {
                self.close_all(&mut open, lane);
                lane = Some(thread);
            }
            while open.last().is_some_and(|around| around.end < end || around.end <= start) {
                self.close(open.pop(), thread);
            }
            let parent = open.last().map(|around| around.node);
            if let Some(around) = open.last_mut() {
                let own = (around.reached, start);
                around.reached = around.reached.max(end);
                let node = around.node;
                self.account(node, thread, own);
            }
            let row = table.get(ranges[index]);
            let nodes = &mut self.nodes;
            let node = *known
                .entry((parent, row.name, row.domain, row.kind == RangeKind::PushPop))
                .or_insert_with(|| {
                    let depth = parent.map_or(0, |parent| nodes[parent].depth + 1);
                    nodes.push(RangeNode::new(&row, parent, depth));
                    seen_on.push(None);
                    nodes.len() - 1
                });
            let of_node = &mut nodes[node];
            if of_node.count == 0 || seen_on[node] != thread {
                of_node.threads += 1;
                seen_on[node] = thread;
            }
            of_node.count += 1;
            of_node.total += row.duration;
            of_node.longest = of_node.longest.max(row.duration);
            open.push(Open { node, end, reached: start });
        }
        self.close_all(&mut open, lane);
        in_order(self.nodes)
    }

    fn close_all(&mut self, open: &mut Vec<Open>, lane: Option<Option<ThreadId>>) {
        while let Some(last) = open.pop() {
            self.close(Some(last), lane.flatten());
        }
    }

    fn close(&mut self, range: Option<Open>, thread: Option<ThreadId>) {
        if let Some(range) = range {
            self.account(range.node, thread, (range.reached, range.end));
        }
    }

    /// Enters a stretch of a range's own time.
    fn account(&mut self, node: usize, thread: Option<ThreadId>, own: Span) {
        let length = own.1 - own.0;
        if length <= Nanoseconds::ZERO {
            return;
        }
        let of_node = &mut self.nodes[node];
        of_node.own += length;
        of_node.in_operators += self.covers.operators.within(own);
        if let Some(calls) = self.covers.calls.get(&thread) {
            of_node.in_calls += calls.within(own);
        }
        let uncovered = length - self.covers.everything.within(own);
        of_node.uncovered += uncovered;
        if uncovered > of_node.longest_gap() {
            let gap = self.covers.everything.longest_gap(own);
            let is_longer = gap.is_some_and(|(start, end)| end - start > of_node.longest_gap());
            of_node.longest_uncovered = if is_longer { gap } else { of_node.longest_uncovered };
        }
    }
}

/// The nodes with each behind the one that it lies in, the longest first.
fn in_order(nodes: Vec<RangeNode>) -> Vec<RangeNode> {
    let mut within: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut left: Vec<usize> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        node.parent.map_or(&mut left, |parent| &mut within[parent]).push(index);
    }
    // The next to come is last.
    let by_time =
        |list: &mut Vec<usize>| list.sort_by_key(|&index| (nodes[index].total, std::cmp::Reverse(index)));
    by_time(&mut left);
    let mut place = vec![0; nodes.len()];
    let mut ordered: Vec<RangeNode> = Vec::with_capacity(nodes.len());
    while let Some(index) = left.pop() {
        place[index] = ordered.len();
        let parent = nodes[index].parent.map(|parent| place[parent]);
        ordered.push(RangeNode { parent, ..nodes[index] });
        by_time(&mut within[index]);
        left.append(&mut within[index]);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use opscope_trace::{ApiCall, ApiLevel, Process, Task, Thread};
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
}
