//! Which operators of two profiles belong together.
//!
//! 1. Operators that stand for common nodes of the graph are one group, however engines fused them.
//! 2. Of what is left, those of the same name and a type of the same kind.
//! 3. What is left of A in front of or behind a matched operator, of which the other has nothing
//!    more, was merged into it when such operators are fused into their predecessor.
//! 4. What is then left is matched by type in the order in which it ran.

use std::collections::HashMap;

use opscope_trace::Nanoseconds;

use super::side::{Row, Side};
use super::{Group, Member};
use crate::kind::kind;

/// Groups of operators, by their places among the rows of A and B.
#[derive(Default)]
struct Groups {
    of_before: Vec<Option<usize>>,
    of_after: Vec<Option<usize>>,
    members: Vec<(Vec<usize>, Vec<usize>)>,
}

impl Groups {
    fn pair(&mut self, before: usize, after: usize) {
        let group = self.members.len();
        self.members.push((vec![before], vec![after]));
        (self.of_before[before], self.of_after[after]) = (Some(group), Some(group));
    }
}

/// The groups of two profiles, and the matched part of the time of each.
pub(super) fn align(a: &Side<'_>, b: &Side<'_>) -> (Vec<Group>, (f64, f64)) {
    let mut groups = Groups {
        of_before: vec![None; a.rows.len()],
        of_after: vec![None; b.rows.len()],
        members: Vec::new(),
    };
    by_origin(&a.rows, &b.rows, &mut groups);
    by_name(&a.rows, &b.rows, &mut groups);
    absorb(&a.rows, &b.rows, &mut groups);
    by_order(&a.rows, &b.rows, &mut groups);
    finish(&a.rows, &b.rows, groups)
}

/// The names that an operator stands for: the graph's, or else those that its own name joins.
fn origins<'r>(row: &'r Row<'_>) -> Vec<&'r str> {
    if row.origins.is_empty() { row.name.split('+').map(str::trim).collect() } else { row.origins.clone() }
}

/// Joins whatever has a node of the graph in common, across both sides.
fn by_origin(a: &[Row<'_>], b: &[Row<'_>], groups: &mut Groups) {
    let known = |rows: &[Row<'_>]| rows.iter().any(|row| !row.origins.is_empty());
    if !known(a) && !known(b) {
        return;
    }
    // The rows of both sides are numbered through, those of B behind those of A.
    let mut sets = Sets::new(a.len() + b.len());
    let mut owners: HashMap<&str, usize> = HashMap::new();
    for (place, row) in a.iter().chain(b).enumerate() {
        for origin in origins(row) {
            let owner = *owners.entry(origin).or_insert(place);
            sets.join(owner, place);
        }
    }
    let mut found: HashMap<usize, (Vec<usize>, Vec<usize>)> = HashMap::new();
    for place in 0..a.len() + b.len() {
        let (before, after) = found.entry(sets.root(place)).or_default();
        if place < a.len() { before.push(place) } else { after.push(place - a.len()) }
    }
    let mut found: Vec<_> =
        found.into_values().filter(|(before, after)| !before.is_empty() && !after.is_empty()).collect();
    found.sort();
    for (before, after) in found {
        let group = groups.members.len();
        before.iter().for_each(|place| groups.of_before[*place] = Some(group));
        after.iter().for_each(|place| groups.of_after[*place] = Some(group));
        groups.members.push((before, after));
    }
}

/// Sets of numbers that are joined.
struct Sets {
    parents: Vec<usize>,
}

impl Sets {
    fn new(count: usize) -> Self {
        Self { parents: (0..count).collect() }
    }

    fn root(&mut self, mut place: usize) -> usize {
        while self.parents[place] != place {
            self.parents[place] = self.parents[self.parents[place]];
            place = self.parents[place];
        }
        place
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.parents[a.max(b)] = a.min(b);
    }
}

/// Pairs those of the same name, in order where a name occurs more than once.
fn by_name(a: &[Row<'_>], b: &[Row<'_>], groups: &mut Groups) {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, row) in b.iter().enumerate().rev().filter(|(place, _)| groups.of_after[*place].is_none()) {
        places.entry(row.name).or_default().push(place);
    }
    for (place, row) in a.iter().enumerate() {
        if groups.of_before[place].is_some() {
            continue;
        }
        let Some(free) = places.get_mut(row.name) else { continue };
        let same = free.iter().rposition(|other| kind(b[*other].op_type) == kind(row.op_type));
        if let Some(same) = same {
            let other = free.remove(same);
            groups.pair(place, other);
        }
    }
}

/// Types that are fused into the operator before them.
fn is_absorbed(op_type: &str) -> bool {
    const ABSORBED: [&str; 22] = [
        "batchnorm",
        "relu",
        "leakyrelu",
        "prelu",
        "elu",
        "sigmoid",
        "tanh",
        "clip",
        "add",
        "mul",
        "biasadd",
        "bias",
        "scale",
        "hardswish",
        "mish",
        "softplus",
        "sub",
        "div",
        "addv2",
        "cast",
        "power",
        "swish",
    ];
    ABSORBED.contains(&&*kind(op_type))
}

/// Adds operators of one side that the other has no more to the operator that took them in: the
/// one before them.
fn absorb(a: &[Row<'_>], b: &[Row<'_>], groups: &mut Groups) {
    let left = |rows: &[Row<'_>], of: &[Option<usize>]| {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for (row, _) in rows.iter().zip(of).filter(|(_, group)| group.is_none()) {
            *counts.entry(kind(row.op_type)).or_default() += 1;
        }
        counts
    };
    let (left_a, left_b) = (left(a, &groups.of_before), left(b, &groups.of_after));
    // Only kinds that one side lost: otherwise they were renamed, which the order tells.
    let gone = |mine: &HashMap<String, usize>, others: &HashMap<String, usize>, op_type: &str| {
        let kind = kind(op_type);
        mine.contains_key(&kind) && !others.contains_key(&kind)
    };
    for (place, row) in a.iter().enumerate().skip(1) {
        if groups.of_before[place].is_none()
            && is_absorbed(row.op_type)
            && gone(&left_a, &left_b, row.op_type)
        {
            let Some(group) = groups.of_before[place - 1] else { continue };
            groups.of_before[place] = Some(group);
            groups.members[group].0.push(place);
        }
    }
    for (place, row) in b.iter().enumerate().skip(1) {
        if groups.of_after[place].is_none() && is_absorbed(row.op_type) && gone(&left_b, &left_a, row.op_type)
        {
            let Some(group) = groups.of_after[place - 1] else { continue };
            groups.of_after[place] = Some(group);
            groups.members[group].1.push(place);
        }
    }
}

/// Pairs what is left by kind, in the order in which it ran.
fn by_order(a: &[Row<'_>], b: &[Row<'_>], groups: &mut Groups) {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (place, row) in b.iter().enumerate().rev().filter(|(place, _)| groups.of_after[*place].is_none()) {
        places.entry(kind(row.op_type)).or_default().push(place);
    }
    let mut paired = false;
    for (place, row) in a.iter().enumerate() {
        if groups.of_before[place].is_none()
            && let Some(other) = places.get_mut(&kind(row.op_type)).and_then(Vec::pop)
        {
            groups.pair(place, other);
            paired = true;
        }
    }
    if paired {
        // What follows an operator that only its order told may have been taken in by it.
        absorb(a, b, groups);
    }
}

fn finish(a: &[Row<'_>], b: &[Row<'_>], groups: Groups) -> (Vec<Group>, (f64, f64)) {
    let member =
        |row: &Row<'_>| Member { name: row.name.to_owned(), op_type: row.op_type.to_owned(), time: row.time };
    let of = |rows: &[Row<'_>], places: &[usize]| places.iter().map(|place| member(&rows[*place])).collect();
    let matched = (share(a, &groups.of_before), share(b, &groups.of_after));
    let pairs = groups.members.iter().map(|(before, after)| Group::new(of(a, before), of(b, after)));
    let alone = |of: &[Option<usize>]| {
        of.iter().enumerate().filter(|(_, group)| group.is_none()).map(|(place, _)| place).collect::<Vec<_>>()
    };
    let mut all: Vec<Group> = pairs.collect();
    all.extend(alone(&groups.of_before).iter().map(|place| Group::new(vec![member(&a[*place])], Vec::new())));
    all.extend(alone(&groups.of_after).iter().map(|place| Group::new(Vec::new(), vec![member(&b[*place])])));
    all.sort_by_key(|group| -group.delta.0.abs());
    (all, matched)
}

/// Which part of the time belongs to rows with a group.
fn share(rows: &[Row<'_>], of: &[Option<usize>]) -> f64 {
    let all: Nanoseconds = rows.iter().map(|row| row.time).sum();
    let in_groups = rows.iter().zip(of).filter(|(_, group)| group.is_some());
    let matched: Nanoseconds = in_groups.map(|(row, _)| row.time).sum();
    if all.0 > 0 { matched.0 as f64 / all.0 as f64 } else { 0.0 }
}
