//! Groups with too few of their like, whose transfers are compared with the quicker ones among their own.
//!
//! By chance three quarters of such transfers are longer than what is taken for typical. Where nothing is slow they are
//! hardly longer; only those that clearly are tell of a slow link.

use std::collections::BTreeSet;

use crate::run::Run;
use crate::typical::FEWEST;

/// How many times as long as typical a transfer is that chance alone doesn't make so long.
const CLEARLY: f64 = 1.15;

/// The share of the group's excess that clearly longer transfers must have.
const MOST: f64 = 0.5;

/// Whether a group, given by its index, is longer than typical by more than chance, as far as that is in doubt: groups
/// with enough of their like are compared with the median of these. `tails` has the typical transfer of each instance.
pub fn is_beyond_chance(run: &Run, tails: &[f64], group: u32) -> bool {
    has_enough_like(run, group) || is_clearly_longer(run, tails, group)
}

fn has_enough_like(run: &Run, group: u32) -> bool {
    let (role, size) = (run.groups[group as usize].role, run.groups[group as usize].size());
    let is_like = |index: &u32| {
        let other = &run.groups[*index as usize];
        other.role == role && other.size() == size
    };
    let like: BTreeSet<u32> = run.instances.iter().map(|it| it.group).filter(is_like).collect();
    like.len() >= FEWEST
}

fn is_clearly_longer(run: &Run, tails: &[f64], group: u32) -> bool {
    let (mut clear, mut all) = (0.0, 0.0);
    for (instance, typical) in run.instances.iter().zip(tails).filter(|(it, _)| it.group == group) {
        let excess = (instance.tail - typical).max(0.0);
        all += excess;
        if instance.tail > CLEARLY * typical {
            clear += excess;
        }
    }
    clear > MOST * all
}
