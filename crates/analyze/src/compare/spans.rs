//! Calls of the host and ranges of the program that both profiles have.
//!
//! Spans of the same name on two layers, or at two places among other ranges, are not averaged: only
//! the same place of both profiles is compared. Where a name has one place in each, it may be another.

use std::collections::BTreeMap;

use opscope_trace::{Nanoseconds, Trace};

use crate::calls::CallKinds;
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
    /// Its mean duration in A.
    pub before: Nanoseconds,
    /// Its mean duration in B.
    pub after: Nanoseconds,
    /// Of a range, the mean time of A and of B in which nothing was recorded, where both profiles hold more
    /// than ranges.
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
    count: u64,
    total: i128,
    /// The time in which nothing was recorded, where there was more to record than ranges.
    uncovered: Option<Nanoseconds>,
}

impl Sum {
    fn add(&mut self, count: usize, total: Nanoseconds) {
        self.count += count as u64;
        self.total += i128::from(total.0);
    }

    fn mean(self) -> Nanoseconds {
        Nanoseconds((self.total / i128::from(self.count.max(1))) as i64)
    }

    fn mean_uncovered(self) -> Option<Nanoseconds> {
        Some(Nanoseconds(self.uncovered?.0 / self.count.max(1) as i64))
    }
}

/// The calls and ranges of a profile: by whether it is a range, and the name, their places.
#[derive(Debug, Default)]
pub(super) struct Spans<'t> {
    by_name: BTreeMap<(bool, &'t str), BTreeMap<String, Sum>>,
}

impl<'t> Spans<'t> {
    pub fn of(trace: &'t Trace) -> Self {
        let mut spans = Self::default();
        let kinds = CallKinds::of(trace);
        let mut calls: BTreeMap<_, Sum> = BTreeMap::new();
        for id in trace.api_calls.ids() {
            let kind = kinds.kind(trace, id);
            let sum = calls.entry((kind.name, kind.level, kind.within_itself)).or_default();
            sum.add(1, trace.api_calls.duration()[id.index()]);
        }
        for ((name, level, within_itself), sum) in calls {
            let place = format!("{}{}", level.name(), if within_itself { ", within itself" } else { "" });
            spans.by_name.entry((false, trace.strings.get(name))).or_default().insert(place, sum);
        }
        let tree = RangeTree::of(trace);
        for (index, node) in tree.nodes.iter().enumerate() {
            let places = spans.by_name.entry((true, trace.strings.get(node.name))).or_default();
            let place = tree.path(trace, index).join(" / ");
            let sum = places.entry(place).or_default();
            sum.add(node.count, node.total);
            if tree.has_others {
                *sum.uncovered.get_or_insert(Nanoseconds::ZERO) += node.uncovered;
            }
        }
        spans
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
            changes.extend(other.map(|other| SpanChange {
                name: (*name).to_owned(),
                is_range: *is_range,
                place: place.clone(),
                has_one_place,
                before: sum.mean(),
                after: other.mean(),
                uncovered: sum.mean_uncovered().zip(other.mean_uncovered()),
            }));
        }
    }
    changes.sort_by_key(|change| -(change.after - change.before).0.abs());
    changes
}
