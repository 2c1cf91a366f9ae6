//! Groups with too few of their like, whose transfers are compared with the quicker ones among their own.
//!
//! By chance three quarters of such transfers are longer than what is taken for typical. Where nothing is slow they are
//! hardly longer; only transfers that clearly are tell of a slow link.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::peers::TailClass;
use crate::run::Run;
use crate::typical::FEWEST;

/// The least ratio to what is typical that chance doesn't explain.
const CLEARLY: f64 = 1.15;

/// The share of a group's excess that must not be chance.
const MOST: f64 = 0.5;

/// How many times the excess of a mean step a single one must have by itself.
const BY_ITSELF: f64 = 5.0;

/// By how much transfers are longer than typical, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Excess {
    all: f64,
    /// That of transfers which have enough of their like, or are clearly longer.
    beyond_chance: f64,
}

/// Of each group, by its index, whether its transfers are longer than typical by more than chance: in all steps together,
/// or in one of them. `classes` has the class of each instance, `tails` its typical transfer.
pub fn beyond_chance(run: &Run, classes: &[TailClass], tails: &[f64]) -> Vec<bool> {
    let has_enough = with_enough_groups(run, classes);
    let mut found: Vec<BTreeMap<i32, Excess>> = vec![BTreeMap::new(); run.groups.len()];
    for ((instance, class), typical) in run.instances.iter().zip(classes).zip(tails) {
        let of_step = found[instance.group as usize].entry(run.first_of(instance).step).or_default();
        let excess = (instance.tail - typical).max(0.0);
        of_step.all += excess;
        if has_enough.contains(class) || instance.tail > CLEARLY * typical {
            of_step.beyond_chance += excess;
        }
    }
    found.iter().map(|steps| is_beyond_chance(steps.values())).collect()
}

/// The classes whose typical transfer is that of enough groups.
fn with_enough_groups(run: &Run, classes: &[TailClass]) -> BTreeSet<TailClass> {
    let mut groups: HashMap<TailClass, BTreeSet<u32>> = HashMap::new();
    for (instance, class) in run.instances.iter().zip(classes) {
        let of_class = groups.entry(*class).or_default();
        if of_class.len() < FEWEST {
            of_class.insert(instance.group);
        }
    }
    groups.into_iter().filter(|(_, groups)| groups.len() >= FEWEST).map(|(class, _)| class).collect()
}

fn is_beyond_chance<'e>(steps: impl ExactSizeIterator<Item = &'e Excess> + Clone) -> bool {
    let all: f64 = steps.clone().map(|step| step.all).sum();
    let beyond: f64 = steps.clone().map(|step| step.beyond_chance).sum();
    let of_mean_step = all / steps.len().max(1) as f64;
    beyond > MOST * all || steps.clone().any(|step| step.beyond_chance > BY_ITSELF * of_mean_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_are_hardly_longer_are_chance_and_one_that_clearly_is_tells_though_the_others_have_noise() {
        let noise = Excess { all: 2.5, beyond_chance: 0.0 };
        let outlier = Excess { all: 4.0, beyond_chance: 1.5 };
        let slow = Excess { all: 200.0, beyond_chance: 200.0 };
        let of = |steps: &[Excess]| is_beyond_chance(steps.iter());
        assert!(!of(&[noise; 100]) && !of(&[noise, outlier, noise, outlier]) && !of(&[]));
        assert!(of(&[slow; 2]) && of(&[slow]));
        let one_of_many: Vec<Excess> = [slow].into_iter().chain([noise; 99]).collect();
        assert!(of(&one_of_many));
    }
}
