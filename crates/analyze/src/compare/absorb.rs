//! Which operators of one side were taken in by others, because the other side has nothing more of them.
//!
//! Engines fuse activations, normalisations and sums into the operator before them. Of an operator that the side's
//! model knows, that is one from which its inputs come, as the graph tells; of another one, the one that ran before
//! it, which takes in one of a kind only. Shapes may contradict either.

use super::align::{Entries, Entry, Groups};
use super::side::Side;
use super::sources::Sources;
use super::texts::KindId;
use crate::elements::may_pass_elements;

/// Kinds that are fused into the operator before them.
const ABSORBED: [&str; 21] = [
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
    "cast",
    "power",
    "swish",
];

/// Kinds that change only the layout: an engine puts them between operators that belong together.
const LAYOUT: [&str; 2] = ["transdata", "transpose"];

/// The fate that an operator of a kind may have, when the other side has no counterpart of it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was taken in by the operator before it.
    TakenIn,
    /// It stands between an operator and what that took in.
    Between,
    /// Neither.
    Alone,
}

impl Fate {
    pub fn of(kind: &str) -> Self {
        match kind {
            _ if ABSORBED.contains(&kind) => Self::TakenIn,
            _ if LAYOUT.contains(&kind) => Self::Between,
            _ => Self::Alone,
        }
    }
}

/// Whether operators are matched by their order afterwards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Round {
    /// They are: kinds that both sides have left may be counterparts, and so may what feeds others.
    First,
    /// They were: what is left has no counterpart.
    Last,
}

/// Adds operators of one side that the other has no more to the operator that took them in.
pub(super) fn absorb(
    sides: [&Side<'_>; 2],
    entries: &Entries,
    fates: &[Fate],
    sources: &[Sources<'_>; 2],
    round: Round,
    groups: &mut Groups,
) {
    let left = |entries: &[Entry], of: &[Option<usize>]| {
        let mut there = vec![false; fates.len()];
        let alone = entries.iter().zip(of).filter(|(_, group)| group.is_none());
        alone.for_each(|(entry, _)| there[entry.kind.index()] = true);
        there
    };
    // Only kinds that one side lost: otherwise they were renamed, which the order tells.
    let left_before = left(&entries.before, &groups.before);
    let left_after = left(&entries.after, &groups.after);
    let absorber =
        |side: usize, entries, others| Absorber { side: sides[side], entries, others, fates, round };
    absorber(0, &entries.before, &left_after).join(&sources[0], &mut groups.before);
    absorber(1, &entries.after, &left_before).join(&sources[1], &mut groups.after);
}

/// One side, whose operators may have been taken in.
struct Absorber<'a> {
    side: &'a Side<'a>,
    entries: &'a [Entry],
    /// By kind, whether the other side has operators of it that are left.
    others: &'a [bool],
    fates: &'a [Fate],
    round: Round,
}

impl Absorber<'_> {
    fn join(&self, sources: &Sources<'_>, groups: &mut [Option<usize>]) {
        // The operator that ran before, if it has a group, and the kinds of all that this has of late.
        let (mut last, mut kinds): (Option<usize>, Vec<KindId>) = (None, Vec::new());
        for (place, entry) in self.entries.iter().enumerate() {
            let fate = self.fates[entry.kind.index()];
            if fate == Fate::Between {
                continue;
            }
            let is_left = groups[place].is_none();
            let is_elsewhere = self.others[entry.kind.index()];
            if is_left && fate == Fate::TakenIn && (!is_elsewhere || self.round == Round::Last) {
                let taker = match sources.of(place, |row| self.fate(row)) {
                    Some(rows) if self.round == Round::First && self.is_open(&rows, groups) => None,
                    Some(rows) => self.taker(place, rows, groups),
                    None if is_elsewhere || kinds.contains(&entry.kind) => None,
                    None => self.taker(place, last.into_iter().collect(), groups),
                };
                groups[place] = taker.and_then(|taker| groups[taker]);
            }
            if !is_left || groups[place].is_none() {
                kinds.clear();
            }
            kinds.push(entry.kind);
            last = groups[place].map(|_| place);
        }
    }

    fn fate(&self, row: usize) -> Fate {
        self.fates[self.entries[row].kind.index()]
    }

    /// Whether any of some operators has no group yet and may get one, be it by its order or by being taken in.
    fn is_open(&self, rows: &[usize], groups: &[Option<usize>]) -> bool {
        let may_get = |row: &usize| self.fate(*row) == Fate::TakenIn && !self.entries[*row].is_of_constants;
        rows.iter().any(|row| groups[*row].is_none() && may_get(row))
    }

    /// Of some operators with a group, the last whose shapes don't contradict.
    fn taker(&self, place: usize, rows: Vec<usize>, groups: &[Option<usize>]) -> Option<usize> {
        // All kinds that are taken in work element by element.
        let operator =
            |row: usize| self.side.rows[row].operator.map(|id| (id, self.fate(row) == Fate::TakenIn));
        let fits = |row: usize| {
            let both = operator(place).zip(operator(row));
            both.is_none_or(|(own, taker)| may_pass_elements(self.side.trace, own, taker))
        };
        let may_take = |row: &usize| groups[*row].is_some() && fits(*row);
        rows.into_iter().filter(may_take).max()
    }
}
