//! Products and convolutions that an engine made one operator of with operators behind them, and named after those.
//!
//! ONNX Runtime's sums, TensorFlow's activations and the normalisations of OpenVINO then have a counterpart, and the
//! operator that feeds them seems to have none. It belongs to them where the counterpart is of its kind, and their side
//! has no other one of that kind there.

use std::cell::RefCell;
use std::collections::HashMap;

use super::absorb::Fate;
use super::align::{Entries, Groups};
use super::side::Side;
use super::sources::Sources;
use crate::kind::kind;

/// Kinds that take in operators behind them.
const TAKES_IN: [&str; 3] = ["matmul", "conv", "convtranspose"];

/// Kinds of additions, which aren't all of those that are taken in.
const ADDITIONS: [&str; 3] = ["add", "biasadd", "bias"];

/// The longest way from an operator back to one that took it in: a normalisation, a sum and an activation such as mish
/// lie on it.
const LONGEST: usize = 5;

/// Adds operators without a counterpart to the group of those that they feed. A row's fate is told by its side and
/// place.
pub(super) fn join_feeding(
    sides: [&Side<'_>; 2],
    sources: &[Sources<'_>; 2],
    fate: impl Fn(usize, usize) -> Fate,
    groups: &mut Groups,
) {
    let taking =
        sides.map(|side| (0..side.rows.len()).map(|place| taking_kind(side, place)).collect::<Vec<_>>());
    // A transposition that was joined with a product is one.
    let fate = |side: usize, place: usize| match taking[side][place] {
        Some(_) => Fate::Alone,
        None if is_addition(sides[side], place) => Fate::TakenIn,
        None => fate(side, place),
    };
    for own in 0..2 {
        let other = 1 - own;
        let of_groups = |side: usize, groups: &Groups| {
            let mut kinds = vec![None; groups.count()];
            let rows = taking[side].iter().zip(groups.of(side));
            rows.filter_map(|(kind, group)| Some((*kind.as_ref()?, (*group)?)))
                .for_each(|(kind, group)| kinds[group] = Some(kind));
            kinds
        };
        let (mut has, wanted) = (of_groups(own, groups), of_groups(other, groups));
        let way = Way {
            taking: &taking[own],
            sources: &sources[own],
            before: rows_before(sides[own].rows.len(), |place| fate(own, place)),
        };
        for place in 0..sides[own].rows.len() {
            let Some(group) = groups.of(own)[place] else { continue };
            let is_taken_in = fate(own, place) == Fate::TakenIn;
            let Some(kind) = wanted[group].filter(|_| has[group].is_none() && is_taken_in) else { continue };
            if let Some(row) = way.back(place, kind, groups.of(own), |row| fate(own, row)) {
                groups.set(own, row, group);
                has[group] = Some(kind);
            }
        }
    }
}

/// For each row the one that ran before it, past changes of the layout.
fn rows_before(rows: usize, fate: impl Fn(usize) -> Fate) -> Vec<Option<usize>> {
    let mut last = None;
    let before = |place| if fate(place) == Fate::Between { last } else { last.replace(place) };
    (0..rows).map(before).collect()
}

/// The ways back from operators of a side to those that feed them.
struct Way<'a> {
    /// By row, its kind where it takes in others.
    taking: &'a [Option<&'static str>],
    sources: &'a Sources<'a>,
    /// By row, the one that ran before it.
    before: Vec<Option<usize>>,
}

impl Way<'_> {
    /// The nearest operator of a kind that has no group and feeds another one, be it through some that were taken in
    /// and have none either. Of several that are as near, nothing tells which it is.
    fn back(
        &self,
        place: usize,
        wanted: &str,
        groups: &[Option<usize>],
        fate: impl Fn(usize) -> Fate,
    ) -> Option<usize> {
        let mut at = vec![place];
        for _ in 0..LONGEST {
            let feeding = |place: &usize| {
                let known = self.sources.of(*place, &fate);
                known.unwrap_or_else(|| self.before[*place].into_iter().collect())
            };
            let mut found: Vec<usize> = at.iter().flat_map(feeding).collect();
            found.retain(|row| groups[*row].is_none());
            found.sort_unstable();
            found.dedup();
            let mut of_kind = found.iter().filter(|row| self.taking[**row] == Some(wanted));
            if let Some(first) = of_kind.next() {
                return of_kind.next().is_none().then_some(*first);
            }
            found.retain(|row| fate(*row) == Fate::TakenIn);
            at = found;
        }
        None
    }
}

/// By side and place, the groups of the operators that feed one, where all of these have some.
type KnownGroups = HashMap<(usize, usize), Option<Vec<usize>>>;

/// The operators that feed others, as the models of both sides tell, and the groups that these had before anything was
/// matched by its order.
pub(super) struct Feeds<'a, F> {
    entries: &'a Entries,
    sources: &'a [Sources<'a>; 2],
    groups: [Vec<Option<usize>>; 2],
    fate: F,
    /// Groups that were asked for before: each operator is asked about with many others.
    known: RefCell<KnownGroups>,
}

impl<'a, F: Fn(usize, usize) -> Fate> Feeds<'a, F> {
    pub fn of(entries: &'a Entries, sources: &'a [Sources<'a>; 2], groups: &Groups, fate: F) -> Self {
        let groups = [0, 1].map(|side| groups.of(side).to_vec());
        Self { entries, sources, groups, fate, known: RefCell::default() }
    }

    /// Whether an operator of A and one of B can't be one, because all operators that feed either have counterparts,
    /// and none of these feeds the other.
    pub fn contradict(&self, before: usize, after: usize) -> bool {
        self.learn(0, before);
        self.learn(1, after);
        let known = self.known.borrow();
        let groups = |side: usize, place: usize| known.get(&(side, place))?.as_ref();
        let both = groups(0, before).zip(groups(1, after));
        both.is_some_and(|(one, other)| one.iter().all(|group| !other.contains(group)))
    }

    fn is_constant(&self, side: usize, row: usize) -> bool {
        self.entries.of(side)[row].is_of_constants
    }

    fn learn(&self, side: usize, place: usize) {
        if self.known.borrow().contains_key(&(side, place)) {
            return;
        }
        let rows = self.sources[side].of(place, |row| (self.fate)(side, row));
        // Engines that fold no constants run operators of them, which have no counterparts elsewhere.
        let varying = rows.map(|rows| rows.into_iter().filter(|row| !self.is_constant(side, *row)));
        let groups = varying.and_then(|rows| {
            let of_rows = rows.map(|row| self.groups[side][row]);
            of_rows.collect::<Option<Vec<usize>>>().filter(|groups| !groups.is_empty())
        });
        self.known.borrow_mut().insert((side, place), groups);
    }
}

/// The kind of operator that takes in others, be it alone or joined with others.
fn taking_kind(side: &Side<'_>, place: usize) -> Option<&'static str> {
    let op_type = side.trace.strings.get(side.rows[place].op_type);
    op_type.split('+').find_map(|piece| {
        let own = kind(piece.trim());
        TAKES_IN.into_iter().find(|kind| *kind == own)
    })
}

fn is_addition(side: &Side<'_>, place: usize) -> bool {
    ADDITIONS.contains(&&*kind(side.trace.strings.get(side.rows[place].op_type)))
}
