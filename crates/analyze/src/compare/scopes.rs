//! The scopes in which operators lie, as the names of their nodes tell: `l0/ff2` is that of `l0/ff2/MatMul`.
//!
//! Engines name what they fused by another one of its nodes each, `l0/ff2/MatMul` and `l0/ff2/Add`, which mostly lie in
//! one scope of the model's. So operators of alike kinds belong together where each is the only one left in its scope, and
//! two of scopes that both profiles have don't.

use std::collections::HashMap;

use super::align::{Entries, Entry, Groups};
use super::fused_names::node_of_fused;
use super::side::{Row, Side};

/// The scopes of the operators of two profiles.
pub(super) struct Scopes {
    /// By row of A and of B, the number of its scope where its name tells one.
    of_rows: [Vec<Option<u32>>; 2],
    /// By scope, whether A has operators in it, and whether B has.
    sides: Vec<[bool; 2]>,
}

impl Scopes {
    pub fn of(sides: [&Side<'_>; 2]) -> Self {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut is_of: Vec<[bool; 2]> = Vec::new();
        let of_rows = [0, 1].map(|own| {
            let side: &Side<'_> = sides[own];
            let mut number = |row: &Row<'_>| {
                let scope = scope_of(side.trace.strings.get(row.name))?;
                let next = numbers.len() as u32;
                let number = *numbers.entry(scope).or_insert(next);
                if number == next {
                    is_of.push([false; 2]);
                }
                is_of[number as usize][own] = true;
                Some(number)
            };
            side.rows.iter().map(&mut number).collect::<Vec<_>>()
        });
        Self { of_rows, sides: is_of }
    }

    /// Whether an operator of A and one of B lie in scopes that both profiles have, and not in the same one.
    pub fn contradict(&self, before: usize, after: usize) -> bool {
        let both = self.of_rows[0][before].zip(self.of_rows[1][after]);
        let is_common = |scope: u32| self.sides[scope as usize] == [true; 2];
        both.is_some_and(|(one, other)| one != other && is_common(one) && is_common(other))
    }

    /// The operators of a side that are left, of those that may be, each with its scope.
    fn free_of(
        &self,
        side: usize,
        entries: &Entries,
        may_be: &impl Fn(&Entry) -> bool,
        groups: &Groups,
    ) -> Vec<(usize, usize)> {
        let of_side = entries.of(side).iter().zip(groups.of(side)).zip(&self.of_rows[side]).enumerate();
        let is_free = of_side.filter(|(_, ((entry, group), _))| group.is_none() && may_be(entry));
        is_free.filter_map(|(place, (_, scope))| Some((place, scope.as_ref().copied()? as usize))).collect()
    }

    /// Pairs what is left and has one counterpart alone in its scope, which has no other one either: of operators that
    /// may be and whose kinds are alike.
    pub fn pair_only_ones(
        &self,
        entries: &Entries,
        may_be: impl Fn(&Entry) -> bool,
        mut may_pair: impl FnMut(usize, usize) -> bool,
        groups: &mut Groups,
    ) {
        let mut free: Vec<[Vec<usize>; 2]> = vec![Default::default(); self.sides.len()];
        for (place, scope) in self.free_of(0, entries, &may_be, groups) {
            free[scope][0].push(place);
        }
        for (place, scope) in self.free_of(1, entries, &may_be, groups) {
            free[scope][1].push(place);
        }
        for [of_a, of_b] in &free {
            if of_a.len().max(of_b.len()) > MOST {
                continue;
            }
            for &before in of_a {
                let Some(after) = only(of_b, |after| may_pair(before, after)) else { continue };
                if only(of_a, |other| may_pair(other, after)).is_some() {
                    groups.pair(before, after);
                }
            }
        }
    }
}

/// So many operators that are left in one scope are compared with one another: with more of them, names don't tell
/// parts of a network.
const MOST: usize = 16;

/// The place that fits, where it is the only one.
fn only(places: &[usize], mut fits: impl FnMut(usize) -> bool) -> Option<usize> {
    let mut fitting = places.iter().copied().filter(|place| fits(*place));
    fitting.next().filter(|_| fitting.next().is_none())
}

/// The scope of the node by which an operator is named.
fn scope_of(name: &str) -> Option<&str> {
    let node = node_of_fused(name).unwrap_or(name);
    let (scope, own) = node.rsplit_once('/')?;
    (!scope.is_empty() && !own.is_empty()).then_some(scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_those_of_nodes_without_the_endings_of_engines() {
        assert_eq!(scope_of("l0/ff2/MatMul/MatMulAddFusion"), Some("l0/ff2"));
        assert_eq!(scope_of("l0/ff2/Add"), Some("l0/ff2"));
        assert_eq!(scope_of("l0/qk/MatMulScaleFusion/"), Some("l0"));
        assert_eq!(scope_of("fused /1/Conv"), Some("/1"));
        for name in ["/Conv", "Conv", "l0/", ""] {
            assert_eq!(scope_of(name), None, "{name}");
        }
    }
}
