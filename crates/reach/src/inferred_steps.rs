//! Steps that were inferred rank by rank, and only count where all ranks have the same.

use std::collections::BTreeMap;

use crate::error::{Loss, LossReason};
use crate::rows::StepsOrigin;
use crate::run::Run;

/// Takes the whole recording as one step of all ranks whose steps were inferred, where those of one have other
/// collectives than those of the rest; changes the losses that tell of it.
pub fn keep_where_all_agree(run: &mut Run, losses: &mut [Loss]) {
    let is_inferred = |rank: &usize| run.ranks[*rank].origin == StepsOrigin::Inferred;
    let inferred: Vec<usize> = (0..run.ranks.len()).filter(is_inferred).collect();
    if inferred.is_empty() || agree(run) {
        return;
    }
    inferred.into_iter().for_each(|rank| run.join_steps(rank));
    for loss in losses.iter_mut().filter(|loss| loss.reason == LossReason::InferredSteps) {
        (loss.reason, loss.count) = (LossReason::NoSteps, 1);
    }
}

/// Whether all ranks have the same numbers of steps, from the same source, and all members of a group as many of its
/// collectives in each.
fn agree(run: &Run) -> bool {
    let recorded = run.ranks.iter().filter(|rank| !rank.events.is_empty());
    let mut numbers = recorded.map(|rank| (rank.origin, rank.steps.len()));
    let first = numbers.next();
    if !numbers.all(|other| Some(other) == first) {
        return false;
    }
    // By group and rank, how many collectives there are in each step.
    let mut counts: BTreeMap<(u32, u32), BTreeMap<i32, u32>> = BTreeMap::new();
    for event in run.events.iter().filter(|event| !event.kind.is_between_two()) {
        *counts.entry((event.group, event.rank)).or_default().entry(event.step).or_default() += 1;
    }
    let counts: Vec<_> = counts.into_iter().collect();
    let mut of_groups = counts.chunk_by(|a, b| a.0.0 == b.0.0);
    of_groups.all(|members| members.iter().all(|(_, steps)| *steps == members[0].1))
}
