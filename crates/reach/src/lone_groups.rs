//! Groups with too few of their like, whose transfers are compared with the quicker ones among their own.
//!
//! By chance three quarters of such transfers are longer than what is taken for typical. Where nothing is slow they are
//! hardly longer; only those that clearly are tell of a slow link.

use std::collections::BTreeMap;

use crate::discover::Role;
use crate::run::Run;
use crate::typical::FEWEST;

/// How many times as long as typical a transfer is that chance alone doesn't make so long.
const CLEARLY: f64 = 1.15;

/// The share of the group's excess that clearly longer transfers must have.
const MOST: f64 = 0.5;

/// By how much a group's transfers are longer than typical, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Longer {
    /// In all of its collectives.
    all: f64,
    /// In those of them that are clearly longer.
    clearly: f64,
    /// How many collectives it has.
    count: usize,
}

/// Of each group, by its index, whether it is longer than typical by more than chance, as far as that is in doubt: groups
/// with enough of their like are compared with the median of these. `tails` has the typical transfer of each instance.
pub fn beyond_chance(run: &Run, tails: &[f64]) -> Vec<bool> {
    let mut found = vec![Longer::default(); run.groups.len()];
    for (instance, typical) in run.instances.iter().zip(tails) {
        let of_group = &mut found[instance.group as usize];
        let excess = (instance.tail - typical).max(0.0);
        of_group.all += excess;
        of_group.count += 1;
        if instance.tail > CLEARLY * typical {
            of_group.clearly += excess;
        }
    }
    let mut like: BTreeMap<(Role, u32), usize> = BTreeMap::new();
    let kind = |index: usize| (run.groups[index].role, run.groups[index].size());
    for (index, _) in found.iter().enumerate().filter(|(_, longer)| longer.count > 0) {
        *like.entry(kind(index)).or_default() += 1;
    }
    let is_beyond = |(index, longer): (usize, &Longer)| {
        like.get(&kind(index)).is_some_and(|like| *like >= FEWEST) || longer.clearly > MOST * longer.all
    };
    found.iter().enumerate().map(is_beyond).collect()
}
