//! Ranks whose collectives don't end with the others' of the same group and number.
//!
//! Ranks of two runs may name groups and number collectives alike, and a rank may count from a begin that is too far off
//! to be put right. Nobody leaves a collective that all leave together before the last has come, so that all parts of one
//! end at one moment; between clocks that are apart, the differences of their ends are at least always the same. Which
//! of two ranks is the strange one, only others tell: it disagrees with most of those that it meets.

use std::collections::{BTreeMap, BTreeSet};

use crate::clocks::{median, theil_sen};
use crate::error::{Loss, LossReason};
use crate::run::Run;

/// The fewest collectives by which a rank is judged, and the fewest of them with one other.
const FEWEST: usize = 16;
const FEWEST_OF_PAIR: usize = 2;

/// Of fewer nothing is usual.
const FEW: usize = 8;

/// How many collectives of a pair are looked at.
const MOST: usize = 32;

/// By how much the clock of a host may be faster than another's.
const DRIFT: f64 = 1e-4;

/// How many others a rank is compared with in a group, on either side in the order of ranks.
const NEIGHBOURS: usize = 2;

/// The deviation from the usual difference, in nanoseconds, that jitter doesn't reach.
const JITTER: f64 = 1e6;

/// The share of a part's length that the deviation must have besides.
const SHARE: f64 = 0.25;

/// Leaves the collectives of strangers out, unless half of the ranks are: then nobody is a stranger to the others. Changes
/// the losses that tell of them; returns whether any were.
pub fn leave_out(run: &mut Run, strangers: &mut [Loss]) -> bool {
    let ranks: BTreeSet<u32> =
        strangers.iter().filter_map(|loss| Some(run.rank_of(loss.rank?)? as u32)).collect();
    let recorded = run.ranks.iter().filter(|rank| !rank.events.is_empty()).count();
    if ranks.is_empty() || 2 * ranks.len() >= recorded {
        return false;
    }
    let of_events = run.events.iter().filter(|event| ranks.contains(&event.rank));
    let mut left: BTreeSet<(u32, i32)> = of_events.map(|event| (event.rank, event.step)).collect();
    for rank in ranks {
        left.extend(run.ranks[rank as usize].steps.iter().map(|step| (rank, step.step)));
    }
    run.leave_out(&left);
    strangers.iter_mut().for_each(|loss| loss.reason = LossReason::StrangerLeftOut);
    true
}

/// A loss for each rank whose ends have nothing to do with those of most others.
pub fn find(run: &Run) -> Vec<Loss> {
    // By rank, with how many others it disagrees, and of how many; and the deviations from them.
    let mut votes: BTreeMap<usize, (usize, usize, Vec<f64>)> = BTreeMap::new();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for ((a, b), differences) in differences(run).into_iter().filter(|(_, it)| it.len() >= FEWEST_OF_PAIR) {
        let count = differences.len();
        let deviation = deviation(&differences);
        for rank in [a, b] {
            let (against, all, deviations) = votes.entry(rank).or_default();
            *all += 1;
            *counts.entry(rank).or_default() += count;
            if deviation > JITTER.max(SHARE * length(run, rank)) {
                *against += 1;
                deviations.push(deviation);
            }
        }
    }
    let mut losses = Vec::new();
    for (rank, (against, all, mut deviations)) in votes {
        if counts[&rank] >= FEWEST && 2 * against > all {
            let of_rank = &run.ranks[rank];
            let (source, parts) = ("collectives", of_rank.events.len() as u64);
            let loss = Loss::new(Some(of_rank.number), source, LossReason::Stranger, parts);
            losses.push(loss.because(format!("± {:.1} ms", median(&mut deviations) / 1e6)));
        }
    }
    losses
}

/// How far apart some differences lie, each given with its time: the usual distance from the usual one, less the drift of
/// clocks; of few half of the greatest.
fn deviation(differences: &[(f64, f64)]) -> f64 {
    let first = differences.first().map_or(0.0, |(time, _)| *time);
    let last = differences.last().map_or(0.0, |(time, _)| *time);
    let slope = match differences.len() < FEW {
        true => 0.0,
        false => theil_sen(differences, (last - first).abs() / 4.0).clamp(-DRIFT, DRIFT),
    };
    let mut left: Vec<f64> = differences.iter().map(|(time, it)| it - slope * (time - first)).collect();
    let usual = median(&mut left);
    if left.len() < FEW {
        return left.last().zip(left.first()).map_or(0.0, |(greatest, least)| (greatest - least) / 2.0);
    }
    median(&mut left.iter().map(|it| (it - usual).abs()).collect::<Vec<f64>>())
}

/// The usual length of a rank's parts in collectives, in nanoseconds.
fn length(run: &Run, rank: usize) -> f64 {
    let lengths = run.events[run.ranks[rank].events.clone()].iter().map(|event| event.duration_ns as f64);
    median(&mut lengths.collect::<Vec<f64>>())
}

/// By how much the ends of one rank's parts lie behind another's, of ranks that are near one another in a group; with the
/// times of these ends, by the ranks' own clocks.
fn differences(run: &Run) -> BTreeMap<(usize, usize), Vec<(f64, f64)>> {
    let mut differences: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
    let zero = run.events.iter().map(|event| event.start_ns).min().unwrap_or(0);
    let mut parts: Vec<(usize, i64)> = Vec::new();
    for instance in run.instances.iter().filter(|it| it.seen > 1) {
        // Sends and receives are told by their order alone, which proves nothing.
        if run.events_of(instance).any(|it| it.kind.is_between_two() || !it.kind.ends_together()) {
            continue;
        }
        parts.clear();
        parts.extend(run.events_of(instance).map(|event| (event.rank as usize, event.end_ns())));
        parts.sort_unstable_by_key(|(rank, _)| *rank);
        for (place, (rank, end)) in parts.iter().enumerate() {
            for step in 1..=NEIGHBOURS.min(parts.len() - 1) {
                let (other, of_other) = parts[(place + step) % parts.len()];
                let (pair, (first, second)) = match *rank < other {
                    true => ((*rank, other), (*end, of_other)),
                    false => ((other, *rank), (of_other, *end)),
                };
                let of_pair = differences.entry(pair).or_default();
                if *rank != other && of_pair.len() < MOST {
                    of_pair.push((first.saturating_sub(zero) as f64, second.saturating_sub(first) as f64));
                }
            }
        }
    }
    differences
}
