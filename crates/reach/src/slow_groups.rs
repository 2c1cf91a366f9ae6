//! Groups that lack a rank and whose transfers are slow.
//!
//! Whoever wasn't recorded makes a transfer look longer when it comes late, and so does a slow link of its. Late ranks
//! are late by some time, whatever is transferred; over a slow link everything takes so many times as long. Where
//! transfers of different lengths are all longer by one ratio, the link is slow; some are longer still, where somebody is
//! late besides.

use std::collections::BTreeMap;

use crate::peers::TailClass;
use crate::run::Run;

/// The least ratio to what is typical that is slow.
const SLOW: f64 = 1.15;

/// How many times as long the longest kind of transfer must be as the shortest, for times and ratios to be told apart.
const APART: f64 = 1.3;

/// How far ratios may differ, as a share.
const ALIKE: f64 = 0.1;

/// The fewest transfers of a kind that tell its ratio by their lower quartile. Fewer do beside such a kind, where they are
/// alike themselves.
const FEWEST: usize = 3;

/// The groups with an absent member of which every kind of transfer takes the same multiple of what is typical of it, by
/// their indices, and that multiple.
pub fn find(run: &Run, classes: &[TailClass], typical: &[f64]) -> BTreeMap<u32, f64> {
    let mut kinds: BTreeMap<u32, BTreeMap<TailClass, Vec<(f64, f64)>>> = BTreeMap::new();
    for ((instance, class), typical) in run.instances.iter().zip(classes).zip(typical) {
        if !instance.is_complete() && *typical > 0.0 {
            let of_group = kinds.entry(instance.group).or_default();
            of_group.entry(*class).or_default().push((*typical, instance.tail / typical));
        }
    }
    kinds.into_iter().filter_map(|(group, kinds)| Some((group, ratio(&kinds)?))).collect()
}

/// The ratio by which transfers of several lengths are all longer, at least; none if they aren't.
fn ratio(kinds: &BTreeMap<TailClass, Vec<(f64, f64)>>) -> Option<f64> {
    let lower_quartile = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values[values.len() / 4]
    };
    let of_kind = |all: &&Vec<(f64, f64)>| {
        let (typical, ratios): (Vec<f64>, Vec<f64>) = all.iter().copied().unzip();
        (lower_quartile(typical), lower_quartile(ratios))
    };
    let are_told = |all: &&Vec<(f64, f64)>| {
        let (least, most) = range(all.iter().map(|(_, ratio)| *ratio));
        all.len() >= FEWEST || are_alike(least, most)
    };
    let told: Vec<(f64, f64)> = kinds.values().filter(are_told).map(|all| of_kind(&all)).collect();
    let (shortest, longest) = range(told.iter().map(|(typical, _)| *typical));
    let (least, most) = range(told.iter().map(|(_, ratio)| *ratio));
    let is_enough = kinds.values().any(|all| all.len() >= FEWEST);
    let is_one = longest > APART * shortest && least > SLOW && are_alike(least, most);
    (is_enough && is_one).then_some(least)
}

/// The least and the most of values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 0.0), |(least, most): (f64, f64), it| (least.min(it), most.max(it)))
}

fn are_alike(least: f64, most: f64) -> bool {
    most < (1.0 + ALIKE) * least
}
