//! Ranks whose collectives don't end with the others' of the same group and number.
//!
//! Ranks of two runs may name groups and number collectives alike, and a rank may count from a begin that is too far off
//! to be put right. Nobody leaves a collective that all leave together before the last has come, so that all parts of one
//! end at one moment; between clocks that are apart, the differences of their ends are at least always the same. Which
//! of two ranks is the strange one, only others tell: it disagrees with most of those that it meets.

use std::collections::{BTreeMap, BTreeSet};

use crate::clocks::{median, theil_sen};
use crate::discover::jobs::numbers;
use crate::error::{Loss, LossReason};
use crate::rows::CollectiveType;
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
    for ((a, b), differences) in
        differences(run, false).into_iter().filter(|(_, it)| it.len() >= FEWEST_OF_PAIR)
    {
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
    if losses.is_empty() { two_runs(run).into_iter().collect() } else { losses }
}

/// A loss where the ranks fall into parts, within each of which collectives end together, and none of the sends and
/// collectives from one part to another do. Nobody can say then which of them are the strangers.
fn two_runs(run: &Run) -> Option<Loss> {
    let mut parts: Vec<usize> = (0..run.ranks.len()).collect();
    let mut apart: Vec<((usize, usize), usize)> = Vec::new();
    for ((a, b), differences) in
        differences(run, true).into_iter().filter(|(_, it)| it.len() >= FEWEST_OF_PAIR)
    {
        let length = length(run, a).max(length(run, b));
        if deviation(&differences) > JITTER.max(SHARE * length) {
            apart.push(((a, b), differences.len()));
        } else {
            let (kept, gone) = (parts[a], parts[b]);
            parts.iter_mut().filter(|it| **it == gone).for_each(|it| *it = kept);
        }
    }
    apart.retain(|((a, b), _)| parts[*a] != parts[*b]);
    let count: usize = apart.iter().map(|(_, count)| count).sum();
    let of_part = |part: usize| -> Vec<u32> {
        let members = run.ranks.iter().zip(&parts).filter(|(_, of)| **of == part);
        members.map(|(rank, _)| rank.number).collect()
    };
    apart.retain(|((a, b), _)| [a, b].iter().all(|rank| of_part(parts[**rank]).len() > 1));
    let &((a, b), _) = apart.first().filter(|_| apart.len() > 1 && count >= FEWEST)?;
    let [a, b] = [a, b].map(|rank| numbers(of_part(parts[rank]).into_iter()));
    let loss = Loss::new(None, "collectives", LossReason::Stranger, count as u64);
    Some(loss.because(format!("{a} / {b}")))
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
/// times of these ends, by the ranks' own clocks. Sends and receives are among them only `with_pairs`: their order alone
/// tells which belong together, which proves nothing of a single rank.
fn differences(run: &Run, with_pairs: bool) -> BTreeMap<(usize, usize), Vec<(f64, f64)>> {
    let mut differences: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
    let zero = run.events.iter().map(|event| event.start_ns).min().unwrap_or(0);
    let mut parts: Vec<(usize, i64)> = Vec::new();
    for instance in run.instances.iter().filter(|it| it.seen > 1) {
        let is_taken = |kind: CollectiveType| kind.ends_together() && (with_pairs || !kind.is_between_two());
        if !run.events_of(instance).all(|it| is_taken(it.kind)) {
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
