//! Calls of the host and ranges of the program that both profiles have.
//!
//! Spans of the same name on two layers, or at two places among other ranges, are not averaged: only
//! the same place of both profiles is compared. Where a name has one place in each, it may be another.
//! Times are those of an average inference, as operators' are, so that a call made more often counts as such. Of spans
//! that lie in no inference on a side, that of an average one of them is compared.

use std::collections::BTreeMap;

use opscope_trace::{IterationId, Nanoseconds, Trace};

use crate::Measured;
use crate::calls::{CallKinds, Inferences, has_times, iterations_of_calls};
use crate::range_tree::RangeTree;

/// A call or range that both profiles have.
#[derive(Clone, Debug, PartialEq)]
pub struct SpanChange {
    /// Its name.
    pub name: String,
    /// Whether it is a range of the program; otherwise it is a call.
    pub is_range: bool,
    /// Where it is: the layer of calls, or the ranges from the outermost to this one.
    pub place: String,
    /// Whether the name has no other place in either profile.
    pub has_one_place: bool,
    /// Whether times and counts are those of an average measured inference; otherwise the times are those of an
    /// average one of all, and the counts are of all.
    pub of_inference: bool,
    /// Its time in A.
    pub before: Nanoseconds,
    /// Its time in B.
    pub after: Nanoseconds,
    /// How often it comes in A and in B.
    pub counts: (f64, f64),
    /// Of a range, the time of A and of B in which nothing was recorded, where both profiles hold more than ranges.
    pub uncovered: Option<(Nanoseconds, Nanoseconds)>,
}

impl SpanChange {
    /// Its name, with its place where it has several.
    pub fn title(&self) -> String {
        match (self.has_one_place, self.is_range) {
            (true, _) => self.name.clone(),
            (false, true) => self.place.clone(),
            (false, false) => format!("{} ({})", self.name, self.place),
        }
    }

    /// B less A as a part of A: −0.39 is 39 % less.
    pub fn relative_change(&self) -> Option<f64> {
        relative_change(self.before, self.after)
    }
}

pub(super) fn relative_change(before: Nanoseconds, after: Nanoseconds) -> Option<f64> {
    (before.0 > 0).then(|| (after.0 - before.0) as f64 / before.0 as f64)
}

/// How often and how long.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    all: Total,
    /// Of those in measured inferences.
    measured: Total,
    /// The time in which nothing was recorded, where there was more to record than ranges.
    uncovered: Option<Nanoseconds>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Total {
    count: u64,
    time: i128,
}

impl Total {
    fn add(&mut self, time: Nanoseconds) {
        self.count += 1;
        self.time += i128::from(time.0);
    }
}

/// A place of a profile in figures that can be compared.
struct Figures {
    time: Nanoseconds,
    count: f64,
    uncovered: Option<Nanoseconds>,
}

impl Sum {
    fn add(&mut self, time: Nanoseconds, is_measured: bool) {
        self.all.add(time);
        if is_measured {
            self.measured.add(time);
        }
    }

    /// The figures of one of so many inferences, or of one of all.
    fn figures(self, inferences: Option<usize>) -> Figures {
        let all = self.all.count.max(1);
        let of_one = |time: i128, parts: u64| Nanoseconds((time / i128::from(parts)) as i64);
        let uncovered =
            |count: f64| Some(Nanoseconds((self.uncovered?.0 as f64 / all as f64 * count) as i64));
        match inferences {
            Some(inferences) => {
                let count = self.measured.count as f64 / inferences as f64;
                let time = of_one(self.measured.time, inferences as u64);
                Figures { time, count, uncovered: uncovered(count) }
            }
            None => Figures {
                time: of_one(self.all.time, all),
                count: self.all.count as f64,
                uncovered: uncovered(1.0),
            },
        }
    }
}

/// The calls and ranges of a profile: by whether it is a range, and the name, their places.
#[derive(Debug, Default)]
pub(super) struct Spans<'t> {
    by_name: BTreeMap<(bool, &'t str), BTreeMap<String, Sum>>,
    /// How many inferences were measured.
    inferences: usize,
}

impl<'t> Spans<'t> {
    /// Adds up those of a profile, of which so much was measured.
    pub fn of(trace: &'t Trace, measured: &Measured) -> Self {
        let mut spans = Self { inferences: measured.iterations.len(), ..Self::default() };
        let mut chosen = vec![false; trace.iterations.len()];
        measured.iterations.iter().for_each(|id| chosen[id.index()] = true);
        let is_measured = |id: Option<IterationId>| id.is_some_and(|id| chosen[id.index()]);
        let kinds = CallKinds::of(trace);
        // Sums of calls are laid end to end, in no inference.
        let iterations = if has_times(trace) {
            iterations_of_calls(trace)
        } else {
            trace.api_calls.iteration().iter().copied().collect()
        };
        let mut calls: BTreeMap<_, Sum> = BTreeMap::new();
        for (id, iteration) in trace.api_calls.ids().zip(iterations) {
            let kind = kinds.kind(trace, id);
            let sum = calls.entry((kind.name, kind.level, kind.within_itself)).or_default();
            sum.add(trace.api_calls.duration()[id.index()], is_measured(iteration));
        }
        for ((name, level, within_itself), sum) in calls {
            let place = format!("{}{}", level.name(), if within_itself { ", within itself" } else { "" });
            spans.by_name.entry((false, trace.strings.get(name))).or_default().insert(place, sum);
        }
        spans.add_ranges(trace, is_measured);
        spans
    }

    fn add_ranges(&mut self, trace: &'t Trace, is_measured: impl Fn(Option<IterationId>) -> bool) {
        let tree = RangeTree::of(trace);
        let inferences = Inferences::of(trace);
        let mut sums = vec![Sum::default(); tree.nodes.len()];
        for (id, node) in &tree.ranges {
            let (start, duration) = (trace.ranges.start()[id.index()], trace.ranges.duration()[id.index()]);
            sums[*node].add(duration, is_measured(inferences.during((start, start + duration))));
        }
        for (index, (node, own)) in tree.nodes.iter().zip(sums).enumerate() {
            let places = self.by_name.entry((true, trace.strings.get(node.name))).or_default();
            let sum = places.entry(tree.path(trace, index).join(" / ")).or_default();
            for (total, own) in [(&mut sum.all, own.all), (&mut sum.measured, own.measured)] {
                *total = Total { count: total.count + own.count, time: total.time + own.time };
            }
            if tree.has_others {
                *sum.uncovered.get_or_insert(Nanoseconds::ZERO) += node.uncovered;
            }
        }
    }
}

/// The spans that both have, the greatest change first.
pub(super) fn changes(a: &Spans<'_>, b: &Spans<'_>) -> Vec<SpanChange> {
    let mut changes = Vec::new();
    for ((is_range, name), before) in &a.by_name {
        let Some(after) = b.by_name.get(&(*is_range, *name)) else { continue };
        let has_one_place = before.len() == 1 && after.len() == 1;
        for (place, sum) in before {
            let other = if has_one_place { after.values().next() } else { after.get(place) };
            changes.extend(other.map(|other| {
                let of_inference = sum.measured.count > 0 && other.measured.count > 0;
                let [before, after] = [(sum, a.inferences), (other, b.inferences)]
                    .map(|(sum, inferences)| sum.figures(of_inference.then_some(inferences)));
                SpanChange {
                    name: (*name).to_owned(),
                    is_range: *is_range,
                    place: place.clone(),
                    has_one_place,
                    of_inference,
                    before: before.time,
                    after: after.time,
                    counts: (before.count, after.count),
                    uncovered: before.uncovered.zip(after.uncovered),
                }
            }));
        }
    }
    changes.sort_by_key(|change| -(change.after - change.before).0.abs());
    changes
}
