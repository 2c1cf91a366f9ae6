//! Steps of which a rank lost collectives.
//!
//! Of a file that is cut, or from which records are missing, a step may be left in part. Its gaps look like the rank's
//! own work, so that it would seem to hold up the others; the step is left out for that rank instead. Most of a step is
//! missed before collectives are matched; single ones are by then.

use std::collections::{BTreeMap, BTreeSet};

use crate::absent::missing;
use crate::clocks::median;
use crate::error::{Loss, LossReason};
use crate::rows::StepsOrigin;
use crate::run::{Event, Rank, Run};

/// The share of what other ranks have that a step must have at least.
const LEAST: f64 = 0.5;

/// The fewest collectives that others must have.
const FEWEST: u32 = 4;

/// Leaves such steps out; returns them as losses.
pub fn leave_out(run: &mut Run) -> Vec<Loss> {
    let left = find(run);
    if left.is_empty() {
        return Vec::new();
    }
    take_out(run, left, LossReason::CutStep)
}

/// Leaves out the steps of ranks that lack any of the collectives which others have; returns them as losses. A rank that
/// lacks as many in each of its steps is kept: it doesn't record these. So are all in a step of which most ranks lack
/// some: recordings then begin and end at different times.
pub fn leave_out_lacking(run: &mut Run) -> Vec<Loss> {
    let lacking = lacking(run);
    let mut left = BTreeSet::new();
    for (rank, counts) in &lacking {
        let steps = run.ranks[*rank as usize].steps.len();
        let (least, most) = (counts.values().min(), counts.values().max());
        if counts.len() < steps || steps < 2 || least != most {
            left.extend(counts.keys().map(|step| (*rank, *step)));
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

/// By rank, which is given by its index, and step, the number of others' collectives that it lacks.
fn lacking(run: &Run) -> BTreeMap<u32, BTreeMap<i32, u32>> {
    let mut found: BTreeMap<u32, BTreeMap<i32, u32>> = BTreeMap::new();
    for instance in run.instances.iter().filter(|instance| !instance.is_complete()) {
        let step = run.first_of(instance).step;
        let recorded = missing(run, instance).into_iter().filter_map(|number| run.rank_of(number));
        for rank in recorded.filter(|rank| has_step(&run.ranks[*rank], step)) {
            *found.entry(rank as u32).or_default().entry(step).or_default() += 1;
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
/// what the other members of its groups have.
fn find(run: &Run) -> BTreeSet<(u32, i32)> {
    let mut counts: BTreeMap<(u32, i32), BTreeMap<u32, u32>> = BTreeMap::new();
    let tells_steps = |rank: u32| run.ranks[rank as usize].origin != StepsOrigin::Whole;
    let counted = |event: &&Event| !event.kind.is_between_two() && tells_steps(event.rank);
    for event in run.events.iter().filter(counted) {
        *counts.entry((event.group, event.step)).or_default().entry(event.rank).or_default() += 1;
    }
    // Of each rank and step, the count that it has and the count that it should have.
    let mut shares: BTreeMap<(u32, i32), (u32, u32)> = BTreeMap::new();
    for ((group, step), of_ranks) in counts {
        let recorded = run.groups[group as usize].ranks.iter().filter_map(|rank| run.rank_of(*rank));
        let recorded = recorded.filter(|rank| tells_steps(*rank as u32));
        let of_all: Vec<(u32, u32)> = recorded
            .map(|rank| (rank as u32, of_ranks.get(&(rank as u32)).copied().unwrap_or_default()))
            .collect();
        let usual =
            median(&mut of_all.iter().map(|(_, count)| f64::from(*count)).collect::<Vec<f64>>()) as u32;
        let most = of_all.iter().map(|(_, count)| *count).max().unwrap_or_default();
        for (rank, own) in &of_all {
            // Of two, who has more lacks nothing.
            let due = if of_all.len() > 2 { usual } else { most };
            let (has, should) = shares.entry((*rank, step)).or_default();
            (*has, *should) = (*has + (*own).min(due), *should + due);
        }
    }
    let is_told = |rank: u32, step: i32| {
        let rank = &run.ranks[rank as usize];
        !rank.events.is_empty() && rank.steps.iter().any(|it| it.step == step)
    };
    let is_cut =
        |(has, should): &(u32, u32)| *should >= FEWEST && f64::from(*has) < LEAST * f64::from(*should);
    let cut = shares.into_iter().filter(|((rank, step), share)| is_cut(share) && is_told(*rank, *step));
    cut.map(|(place, _)| place).collect()
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
