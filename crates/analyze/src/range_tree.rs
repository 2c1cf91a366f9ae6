//! The ranges that a program marked, as they lie within one another, and what of each is accounted
//! for by calls and operators.
//!
//! A range lies within the shortest one of its thread that holds it whole. Of several devices or processes, ranges that
//! were started and stopped on threads that nobody tells lie in none: nothing tells whose they are. Ranges of one
//! name, domain and kind below the same others are one node. The own time of a range is what no range within it covers.

mod holders;
mod launched;

use std::collections::HashMap;

use opscope_trace::{DeviceKind, Nanoseconds, Range, RangeId, RangeKind, StringId, ThreadId, Trace};

use crate::calls::Inferences;
use crate::cover::{Cover, Span};
use crate::measured::work;
use crate::nesting::by_lane_and_start;
use crate::scope::{Chosen, Iterations, Scope, ScopeError};
use holders::Holders;

pub use launched::Launched;

/// The ranges of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangeTree {
    /// The nodes, each behind the one that it lies in; of several in one, the longest first.
    pub nodes: Vec<RangeNode>,
    /// The tasks that were launched within ranges, by node; in each those first that took longest.
    pub launched: Vec<Launched>,
    /// The ranges, each with its node.
    pub ranges: Vec<(RangeId, usize)>,
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
    /// How many tasks were launched within, and within the ranges below.
    pub tasks: usize,
    /// How long these ran, whenever and wherever they did; those within others of their stream count once.
    pub launched: Nanoseconds,
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
            tasks: 0,
            launched: zero,
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
        Self::among(trace, trace.ranges.ids().collect())
    }

    /// The same of the ranges in the iterations of a scope that names some; ranges around several of these are in none.
    ///
    /// # Errors
    /// When the trace has no such iteration or device.
    pub fn of_scope(trace: &Trace, scope: Scope) -> Result<Self, ScopeError> {
        if !matches!(scope.iterations, Iterations::Numbers(..)) {
            return Ok(Self::of(trace));
        }
        let (chosen, inferences) = (Chosen::new(trace, scope)?, Inferences::of(trace));
        let is_chosen = |id: &RangeId| chosen.has_iteration(inferences.during(span(trace, *id)));
        Ok(Self::among(trace, trace.ranges.ids().filter(is_chosen).collect()))
    }

    fn among(trace: &Trace, ranges: Vec<RangeId>) -> Self {
        let (marks, spans): (Vec<_>, Vec<_>) =
            ranges.into_iter().partition(|id| trace.ranges.kind()[id.index()] == RangeKind::Mark);
        let marks = marks.len();
        if spans.is_empty() {
            return Self { marks, ..Self::default() };
        }
        let covers = Covers::of(trace, &spans);
        let extent = Cover::of(spans.iter().map(|id| span(trace, *id)));
        let left = |span: &Span| span.1 - span.0 - covers.everything.within(*span);
        let builder = Builder { trace, covers: &covers, nodes: Vec::new(), node_of: vec![0; spans.len()] };
        let (mut nodes, node_of) = builder.build(&spans);
        let launched = launched::of(trace, &spans, &node_of);
        add_launched(&mut nodes, &launched);
        Self {
            nodes,
            launched,
            ranges: spans.into_iter().zip(node_of.into_iter().map(|node| node as usize)).collect(),
            marks,
            extent: extent.total(),
            uncovered: extent.spans().iter().map(left).sum(),
            has_others: !(trace.tasks.is_empty() && trace.api_calls.is_empty()),
        }
    }

    /// The tasks that were launched within a node, and in no range within it.
    pub fn launched_in(&self, node: usize) -> &[Launched] {
        let begin = self.launched.partition_point(|row| row.node < node);
        let end = self.launched.partition_point(|row| row.node <= node);
        &self.launched[begin..end]
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

/// Enters what was launched within nodes, and what was within the nodes below them.
fn add_launched(nodes: &mut [RangeNode], launched: &[Launched]) {
    for row in launched {
        nodes[row.node].tasks += row.count;
        nodes[row.node].launched += row.total;
    }
    // Each stands behind the one that it lies in.
    for index in (0..nodes.len()).rev() {
        let RangeNode { tasks, launched, parent, .. } = nodes[index];
        if let Some(parent) = parent {
            nodes[parent].tasks += tasks;
            nodes[parent].launched += launched;
        }
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
        let operators = Cover::of(work(trace).map(|task| {
            let start = trace.tasks.start()[task.index()];
            (start, start + trace.tasks.duration()[task.index()])
        }));
        let everything = Cover::of(operators.spans().iter().copied().chain((0..calls.len()).map(call)));
        let calls = by_thread.into_iter().map(|(thread, spans)| (thread, Cover::of(spans))).collect();
        Self { calls, operators, everything }
    }
}

/// Whether all that a trace has is of one process and one device beside the host's.
fn has_one_owner(trace: &Trace) -> bool {
    let devices = trace.devices.kind().iter().filter(|kind| **kind != DeviceKind::Cpu).count();
    devices <= 1 && trace.processes.len() <= 1
}

/// A range that may have others within.
struct Around {
    node: usize,
    /// How far its time is accounted for.
    reached: Nanoseconds,
}

struct Builder<'t> {
    trace: &'t Trace,
    covers: &'t Covers,
    nodes: Vec<RangeNode>,
    /// The node of each range.
    node_of: Vec<u32>,
}

impl Builder<'_> {
    /// The nodes in their order, and the node of each range.
    fn build(mut self, ranges: &[RangeId]) -> (Vec<RangeNode>, Vec<u32>) {
        let column = |rows: &[Nanoseconds]| ranges.iter().map(|id| rows[id.index()]).collect::<Vec<_>>();
        let table = &self.trace.ranges;
        let threads: Vec<Option<ThreadId>> = ranges.iter().map(|id| table.thread()[id.index()]).collect();
        let (starts, durations) = (column(table.start()), column(table.duration()));
        let mut known: HashMap<(Option<usize>, StringId, Option<StringId>, bool), usize> = HashMap::new();
        let mut seen_on: Vec<Option<ThreadId>> = Vec::new();
        let order = by_lane_and_start(&threads, &starts, &durations);
        let has_one_owner = has_one_owner(self.trace);
        for lane in order.chunk_by(|&a, &b| threads[a as usize] == threads[b as usize]) {
            let thread = threads[lane[0] as usize];
            let spans: Vec<Span> =
                lane.iter().map(|&index| span(self.trace, ranges[index as usize])).collect();
            let mut holders = Holders::new(spans.iter().map(|(_, end)| *end));
            let mut begun: Vec<Around> = Vec::with_capacity(lane.len());
            for (place, (&index, &(start, end))) in lane.iter().zip(&spans).enumerate() {
                let row = table.get(ranges[index as usize]);
                let is_placed = thread.is_some() || has_one_owner || row.kind != RangeKind::StartStop;
                let holder = if is_placed { holders.of((start, end)) } else { None };
                let parent = holder.map(|holder| begun[holder].node);
                if let Some(holder) = holder {
                    let Around { node, reached } = begun[holder];
                    begun[holder].reached = reached.max(end);
                    self.account(node, thread, (reached, start));
                }
                let nodes = &mut self.nodes;
                let node = *known
                    .entry((parent, row.name, row.domain, row.kind == RangeKind::PushPop))
                    .or_insert_with(|| {
                        let depth = parent.map_or(0, |parent| nodes[parent].depth + 1);
                        nodes.push(RangeNode::new(&row, parent, depth));
                        seen_on.push(None);
                        nodes.len() - 1
                    });
                self.node_of[index as usize] = node as u32;
                let of_node = &mut nodes[node];
                if of_node.count == 0 || seen_on[node] != thread {
                    of_node.threads += 1;
                    seen_on[node] = thread;
                }
                of_node.count += 1;
                of_node.total += row.duration;
                of_node.longest = of_node.longest.max(row.duration);
                if is_placed {
                    holders.enter(place, (start, end));
                }
                begun.push(Around { node, reached: start });
            }
            for (range, (_, end)) in begun.iter().zip(&spans) {
                self.account(range.node, thread, (range.reached, *end));
            }
        }
        let (nodes, place) = in_order(self.nodes);
        self.node_of.iter_mut().for_each(|node| *node = place[*node as usize]);
        (nodes, self.node_of)
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

/// The nodes with each behind the one that it lies in, the longest first; and where each is then.
fn in_order(nodes: Vec<RangeNode>) -> (Vec<RangeNode>, Vec<u32>) {
    let mut within: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut left: Vec<usize> = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        node.parent.map_or(&mut left, |parent| &mut within[parent]).push(index);
    }
    // The next to come is last.
    let by_time =
        |list: &mut Vec<usize>| list.sort_by_key(|&index| (nodes[index].total, std::cmp::Reverse(index)));
    by_time(&mut left);
    let mut place = vec![0_u32; nodes.len()];
    let mut ordered: Vec<RangeNode> = Vec::with_capacity(nodes.len());
    while let Some(index) = left.pop() {
        place[index] = ordered.len() as u32;
        let parent = nodes[index].parent.map(|parent| place[parent] as usize);
        ordered.push(RangeNode { parent, ..nodes[index] });
        by_time(&mut within[index]);
        left.append(&mut within[index]);
    }
    (ordered, place)
}

#[cfg(test)]
mod tests;
