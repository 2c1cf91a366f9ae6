//! Steps that some ranks recorded and others didn't, as where one was stopped later.
//!
//! In a step of which most ranks tell nothing, hardly anything can be matched, and nobody's work has peers: it would
//! only dilute what the others cost. Such steps are left out. Of a rank that lacks a step which most have, its costs are
//! those of the steps that it has.

use std::collections::{BTreeMap, BTreeSet};

use crate::cut_steps;
use crate::error::{Loss, LossReason};
use crate::rows::StepsOrigin;
use crate::run::{Rank, Run};

/// Leaves out the steps that fewer than half of the ranks recorded, and tells of those, and of ranks that lack a step.
pub fn leave_out(run: &mut Run) -> Vec<Loss> {
    let few = steps_of_few(run);
    let mut losses = cut_steps::losses(run, &few, LossReason::StepOfFew);
    let cut: Vec<usize> = run.ranks.iter().map(|rank| rank.steps_left_out).collect();
    if !few.is_empty() {
        run.leave_out(&few);
    }
    let all = run.steps().len();
    for (rank, cut) in run.ranks.iter().zip(cut).filter(|(rank, _)| tells_steps(rank)) {
        let lacking = all.saturating_sub(rank.finishes.len() + cut);
        if lacking > 0 {
            let reason = LossReason::LacksSteps;
            losses.push(Loss::new(
                Some(rank.number),
                format!("{lacking} of {all} steps"),
                reason,
                lacking as u64,
            ));
        }
    }
    losses
}

/// Whether a rank's steps are told, and nothing else than steps.
fn tells_steps(rank: &Rank) -> bool {
    rank.origin != StepsOrigin::Whole && !rank.events.is_empty() && !rank.finishes.is_empty()
}

/// The ranks, by their indices, with the steps of theirs that fewer than half of the ranks have.
fn steps_of_few(run: &Run) -> BTreeSet<(u32, i32)> {
    let of_rank = |rank: &Rank| rank.finishes.iter().map(|it| it.step).collect::<BTreeSet<i32>>();
    let steps: Vec<BTreeSet<i32>> = run
        .ranks
        .iter()
        .map(|rank| if tells_steps(rank) { of_rank(rank) } else { BTreeSet::new() })
        .collect();
    let telling = steps.iter().filter(|its| !its.is_empty()).count();
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    steps.iter().flatten().for_each(|step| *counts.entry(*step).or_default() += 1);
    // Where ranks were recorded one after the other, no step is common, and nothing can be left out.
    if counts.values().all(|count| 2 * count < telling) {
        return BTreeSet::new();
    }
    let is_of_few = |step: &i32| counts.get(step).is_some_and(|count| 2 * count < telling);
    let of_rank = |(rank, its): (usize, BTreeSet<i32>)| {
        its.into_iter().filter(is_of_few).map(move |step| (rank as u32, step)).collect::<Vec<_>>()
    };
    steps.into_iter().enumerate().flat_map(of_rank).collect()
}
