//! Products and convolutions that an engine made one operator of with the addition behind them, and named after that.
//!
//! The addition then has a counterpart, and the operator that feeds it seems to have none. It belongs to the addition
//! where the counterpart is of its kind, and the addition's side has no other one of that kind there.

use super::absorb::Fate;
use super::align::Groups;
use super::side::Side;
use super::sources::Sources;
use crate::kind::kind;

/// Kinds that take in an addition behind them.
const TAKES_IN: [&str; 3] = ["matmul", "conv", "convtranspose"];

/// Kinds of additions.
const ADDITIONS: [&str; 3] = ["add", "biasadd", "bias"];

/// Adds operators without a counterpart to the group of the addition that they feed. A row's fate is told by its side
/// and place.
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
        let mut last = None;
        for place in 0..sides[own].rows.len() {
            if fate(own, place) == Fate::Between {
                continue;
            }
            let before = last.replace(place);
            let Some(group) = groups.of(own)[place] else { continue };
            let Some(kind) = wanted[group].filter(|_| has[group].is_none() && is_addition(sides[own], place))
            else {
                continue;
            };
            let feeding = sources[own].of(place, |row| fate(own, row));
            let feeding = feeding.unwrap_or_else(|| before.into_iter().collect());
            let is_free = |row: &usize| groups.of(own)[*row].is_none() && taking[own][*row] == Some(kind);
            if let Some(row) = feeding.into_iter().find(is_free) {
                groups.set(own, row, group);
                has[group] = Some(kind);
            }
        }
    }
}

/// The kind of operator that takes in additions, be it alone or joined with others.
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
