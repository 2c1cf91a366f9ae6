//! Steps of which a rank lost collectives.
//!
//! Of a file that is cut, or from which records are missing, a step may be left in part. Its gaps look like the rank's
//! own work, so that it would seem to hold up the others; the step is left out for that rank instead. Most of a step is
//! missed before collectives are matched; single ones are by then.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::absent::missing;
use crate::clocks::median;
use crate::error::{Loss, LossReason};
use crate::rows::{CollectiveType, StepsOrigin};
use crate::run::{Event, Rank, Run};

/// The share of what other ranks have that a step must have at least.
const LEAST: f64 = 0.5;

/// The fewest collectives that others must have.
const FEWEST: u32 = 4;

/// The hashes of places, the same in each run.
const HASHES: BuildHasherDefault<DefaultHasher> = BuildHasherDefault::new();

/// Leaves such steps out; returns them as losses.
pub fn leave_out(run: &mut Run) -> Vec<Loss> {
    let left = find(run);
    if left.is_empty() {
        return Vec::new();
    }
    take_out(run, left, LossReason::CutStep)
}

/// Leaves out the steps of ranks that lack any of the collectives which others have; returns them as losses. A rank that
/// lacks the same in each of its steps is kept: it doesn't record these. So are all in a step of which most ranks lack
/// some: recordings then begin and end at different times.
pub fn leave_out_lacking(run: &mut Run) -> Vec<Loss> {
    let lacking = lacking(run);
    let mut left = BTreeSet::new();
    for (rank, of_steps) in &lacking {
        let steps = run.ranks[*rank as usize].steps.len();
        let mut all = of_steps.values();
        let first = all.next();
        if of_steps.len() < steps || steps < 2 || all.any(|of_step| Some(of_step) != first) {
            left.extend(of_steps.keys().map(|step| (*rank, *step)));
        }
    }
    let mut of_steps: BTreeMap<i32, usize> = BTreeMap::new();
    left.iter().for_each(|(_, step)| *of_steps.entry(*step).or_default() += 1);
    let have = |step: i32| run.ranks.iter().filter(|rank| has_step(rank, step)).count();
    let of_most: Vec<i32> =
        of_steps.into_iter().filter(|(step, ranks)| 2 * ranks > have(*step)).map(|(step, _)| step).collect();
    left.retain(|(_, step)| !of_most.contains(step));
    if left.is_empty() {
        return Vec::new();
    }
    take_out(run, left, LossReason::LacksCollectives)
}

/// Takes steps of ranks out of the run, and notes them there; returns them as losses.
fn take_out(run: &mut Run, left: BTreeSet<(u32, i32)>, reason: LossReason) -> Vec<Loss> {
    let losses = losses(run, &left, reason);
    run.leave_out(&left);
    for (rank, step) in left {
        run.ranks[rank as usize].cut_steps.push(step);
    }
    losses
}

/// Collectives of a step that a rank lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lacking {
    count: u32,
    /// The sum of their places' hashes, by which those of two steps are the same or not.
    places: u64,
}

/// By rank, which is given by its index, and step, the others' collectives that it lacks.
fn lacking(run: &Run) -> BTreeMap<u32, BTreeMap<i32, Lacking>> {
    let mut found: BTreeMap<u32, BTreeMap<i32, Lacking>> = BTreeMap::new();
    let mut occurrences: BTreeMap<(u32, CollectiveType, i32), u32> = BTreeMap::new();
    for instance in &run.instances {
        let (kind, step) = (run.first_of(instance).kind, run.first_of(instance).step);
        let next = occurrences.entry((instance.group, kind, step)).or_default();
        let place = (instance.group, kind, *next);
        *next += 1;
        if instance.is_complete() {
            continue;
        }
        let recorded = missing(run, instance).into_iter().filter_map(|number| run.rank_of(number));
        for rank in recorded.filter(|rank| has_step(&run.ranks[*rank], step)) {
            let of_step = found.entry(rank as u32).or_default().entry(step).or_default();
            of_step.count += 1;
            of_step.places = of_step.places.wrapping_add(HASHES.hash_one(place));
        }
    }
    found
}

fn has_step(rank: &Rank, step: i32) -> bool {
    let is_told = rank.origin != StepsOrigin::Whole && !rank.events.is_empty();
    is_told && rank.steps.iter().any(|it| it.step == step)
}

/// The ranks, by their indices, with the steps of which they have too little.
///
/// All members of a group have the same number of its collectives in a step. What a rank has is therefore compared with
/// what the other members of its groups have. A rank that has as many as they in all steps together lost none: somebody
/// divides them into steps otherwise.
fn find(run: &Run) -> BTreeSet<(u32, i32)> {
    let mut counts: BTreeMap<(u32, i32), BTreeMap<u32, u32>> = BTreeMap::new();
    let tells_steps = |rank: u32| run.ranks[rank as usize].origin != StepsOrigin::Whole;
    let counted = |event: &&Event| !event.kind.is_between_two() && tells_steps(event.rank);
    for event in run.events.iter().filter(counted) {
        *counts.entry((event.group, event.step)).or_default().entry(event.rank).or_default() += 1;
    }
    // Of each rank and step, the count that it has and the count that it should have.
    let mut shares: BTreeMap<(u32, i32), (u32, u32)> = BTreeMap::new();
    let mut totals: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    for ((group, step), of_ranks) in counts {
        for Share { rank, has, should } in compare(run, group, &of_ranks) {
            let share = shares.entry((rank, step)).or_default();
            *share = (share.0 + has, share.1 + should);
        }
        let total = totals.entry(group).or_default();
        of_ranks.into_iter().for_each(|(rank, count)| *total.entry(rank).or_default() += count);
    }
    let mut lost: BTreeMap<u32, u32> = BTreeMap::new();
    for (group, of_ranks) in totals {
        for Share { rank, has, should } in compare(run, group, &of_ranks) {
            *lost.entry(rank).or_default() += should - has;
        }
    }
    let is_told = |rank: u32, step: i32| {
        let rank = &run.ranks[rank as usize];
        !rank.events.is_empty() && rank.steps.iter().any(|it| it.step == step)
    };
    let is_cut = |rank: u32, (has, should): (u32, u32)| {
        let is_lost = f64::from(lost[&rank]) >= LEAST * f64::from(should - has);
        should >= FEWEST && f64::from(has) < LEAST * f64::from(should) && is_lost
    };
    let cut =
        shares.into_iter().filter(|((rank, step), share)| is_cut(*rank, *share) && is_told(*rank, *step));
    cut.map(|(place, _)| place).collect()
}

/// How many of the collectives that a rank should have it has.
struct Share {
    rank: u32,
    has: u32,
    should: u32,
}

/// The shares of the recorded members of a group, of which each has some collectives.
fn compare(run: &Run, group: u32, of_ranks: &BTreeMap<u32, u32>) -> Vec<Share> {
    let recorded = run.groups[group as usize].ranks.iter().filter_map(|rank| run.rank_of(*rank));
    let recorded = recorded.filter(|rank| run.ranks[*rank].origin != StepsOrigin::Whole);
    let counts: Vec<(u32, u32)> = recorded
        .map(|rank| (rank as u32, of_ranks.get(&(rank as u32)).copied().unwrap_or_default()))
        .collect();
    let usual = median(&mut counts.iter().map(|(_, count)| f64::from(*count)).collect::<Vec<f64>>()) as u32;
    let most = counts.iter().map(|(_, count)| *count).max().unwrap_or_default();
    // Of two, who has more lacks nothing.
    let should = if counts.len() > 2 { usual } else { most };
    counts.into_iter().map(|(rank, count)| Share { rank, has: count.min(should), should }).collect()
}

/// A loss for each rank of whose steps some are left out; ranks are given by their indices.
pub fn losses(run: &Run, left: &BTreeSet<(u32, i32)>, reason: LossReason) -> Vec<Loss> {
    let left: Vec<(u32, i32)> = left.iter().copied().collect();
    let of_rank = |steps: &[(u32, i32)]| {
        let rank = &run.ranks[steps[0].0 as usize];
        let is_left = |step: i32| steps.binary_search_by_key(&step, |(_, left)| *left).is_ok();
        let parts = run.events[rank.events.clone()].iter().filter(|event| is_left(event.step)).count();
        let source = match steps {
            [(_, step)] => format!("step {step}"),
            _ => format!("{} steps from {} on", steps.len(), steps[0].1),
        };
        Loss::new(Some(rank.number), source, reason, parts as u64)
    };
    left.chunk_by(|a, b| a.0 == b.0).map(of_rank).collect()
}
