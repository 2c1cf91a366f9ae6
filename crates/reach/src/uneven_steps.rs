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
    let counts = Counts::of(run);
    let few = counts.steps_of_few(run);
    let mut losses = cut_steps::losses(run, &few, LossReason::StepOfFew);
    if !few.is_empty() {
        run.leave_out(&few);
    }
    for (rank, step) in few {
        run.ranks[rank as usize].steps_of_few.push(step);
    }
    let most: Vec<i32> = counts.steps_of_most().collect();
    for rank in run.ranks.iter().filter(|rank| tells_steps(rank)) {
        let has = |step: &i32| {
            rank.finishes.iter().any(|finish| finish.step == *step) || rank.cut_steps.contains(step)
        };
        let lacking = most.iter().filter(|step| !has(step)).count();
        if lacking > 0 {
            let (source, reason) = (format!("{lacking} of {}", most.len()), LossReason::LacksSteps);
            losses.push(Loss::new(Some(rank.number), source, reason, lacking as u64));
        }
    }
    losses
}

/// Whether a rank's steps are told, and nothing else than steps.
fn tells_steps(rank: &Rank) -> bool {
    rank.origin != StepsOrigin::Whole && !rank.events.is_empty() && !rank.finishes.is_empty()
}

/// How many ranks have each step.
struct Counts {
    /// The ranks that tell steps.
    telling: usize,
    of_steps: BTreeMap<i32, usize>,
}

impl Counts {
    fn of(run: &Run) -> Self {
        let mut counts = Self { telling: 0, of_steps: BTreeMap::new() };
        for rank in run.ranks.iter().filter(|rank| tells_steps(rank)) {
            counts.telling += 1;
            let steps: BTreeSet<i32> = rank.finishes.iter().map(|it| it.step).collect();
            steps.into_iter().for_each(|step| *counts.of_steps.entry(step).or_default() += 1);
        }
        counts
    }

    fn steps_of_most(&self) -> impl Iterator<Item = i32> + '_ {
        self.of_steps.iter().filter(|(_, count)| 2 * **count > self.telling).map(|(step, _)| *step)
    }

    /// The ranks, by their indices, with the steps of theirs that fewer than half of the ranks have. Where ranks were
    /// recorded one after the other, no step is common, and nothing can be left out.
    fn steps_of_few(&self, run: &Run) -> BTreeSet<(u32, i32)> {
        let is_of_few = |step: &i32| self.of_steps.get(step).is_some_and(|count| 2 * count < self.telling);
        if self.of_steps.keys().all(is_of_few) {
            return BTreeSet::new();
        }
        let telling = run.ranks.iter().enumerate().filter(|(_, rank)| tells_steps(rank));
        let of_rank = |(index, rank): (usize, &Rank)| {
            let steps: Vec<i32> = rank.finishes.iter().map(|it| it.step).filter(is_of_few).collect();
            steps.into_iter().map(move |step| (index as u32, step))
        };
        telling.flat_map(of_rank).collect()
    }
}
