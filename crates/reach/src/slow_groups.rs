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

/// The fewest transfers of a kind that tell its ratio by their lower quartile. Where only one kind has so many, fewer do
/// beside it that are alike themselves.
const FEWEST: usize = 3;

/// The groups with an absent member of which every kind of transfer that tells takes the same multiple of what is typical of it, by
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
    let has_enough = |all: &&Vec<(f64, f64)>| all.len() >= FEWEST;
    let is_plain = |all: &&Vec<(f64, f64)>| {
        let (least, most) = range(all.iter().map(|(_, ratio)| *ratio));
        has_enough(all) || are_alike(least, most)
    };
    let enough = kinds.values().filter(has_enough).count();
    let told = kinds.values().filter(|all| if enough > 1 { has_enough(all) } else { is_plain(all) });
    let told: Vec<(f64, f64)> = told.map(|all| of_kind(&all)).collect();
    let by_length = |a: &&(f64, f64), b: &&(f64, f64)| a.0.total_cmp(&b.0);
    let (shortest, longest) = (told.iter().min_by(by_length)?, told.iter().max_by(by_length)?);
    let (least, most) = range(told.iter().map(|(_, ratio)| *ratio));
    let times = longest.0 / shortest.0;
    // Whoever is late by some time makes all transfers longer by as much.
    let excess = |(typical, ratio): &(f64, f64)| (ratio - 1.0) * typical;
    let grows = excess(longest) > times.sqrt() * excess(shortest);
    let is_one = times > APART && least > SLOW && are_alike(least, most) && grows;
    (enough > 0 && is_one).then_some(least)
}

/// The least and the most of values.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 0.0), |(least, most): (f64, f64), it| (least.min(it), most.max(it)))
}

fn are_alike(least: f64, most: f64) -> bool {
    most < (1.0 + ALIKE) * least
}
