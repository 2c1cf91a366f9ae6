//! Steps that some ranks recorded and others didn't, as where one was stopped later.
//!
//! In a step of which most ranks tell nothing, hardly anything can be matched, and nobody's work has peers: it would
//! only dilute what the others cost. Such steps are left out. Of a rank that lacks a step which most have, its costs are
//! those of the steps that it has. Of two ranks neither is most: each lacks what the other alone has, and nothing is left
//! out.

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
    let expected: Vec<i32> = counts.expected_steps().collect();
    for rank in run.ranks.iter().filter(|rank| tells_steps(rank)) {
        let has = |step: &i32| {
            rank.finishes.iter().any(|finish| finish.step == *step) || rank.cut_steps.contains(step)
        };
        let lacking: Vec<i32> = expected.iter().copied().filter(|step| !has(step)).collect();
        if !lacking.is_empty() {
            let source = format!("{} of {}", lacking.len(), expected.len());
            let loss = Loss::new(Some(rank.number), source, LossReason::LacksSteps, lacking.len() as u64);
            losses.push(loss.because(named(&lacking)));
        }
    }
    losses
}

/// Steps in words: `step 12`, `steps 12, 13`, the first of them if there are many.
fn named(steps: &[i32]) -> String {
    const LISTED: usize = 8;
    let noun = if steps.len() == 1 { "step" } else { "steps" };
    let numbers: Vec<String> = steps.iter().take(LISTED).map(i32::to_string).collect();
    let more = if steps.len() > LISTED { ", …" } else { "" };
    format!("{noun} {}{more}", numbers.join(", "))
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

    /// The steps that every rank should have: those of most. Of two ranks that is each step of either, unless they have none
    /// in common, as where they were recorded one after the other.
    fn expected_steps(&self) -> impl Iterator<Item = i32> + '_ {
        let are_two = self.telling == 2 && self.of_steps.values().any(|count| *count == 2);
        let is_expected = move |count: usize| are_two || 2 * count > self.telling;
        self.of_steps.iter().filter(move |(_, count)| is_expected(**count)).map(|(step, _)| *step)
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
