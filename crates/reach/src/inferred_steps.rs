//! Steps that were inferred rank by rank, and only count where all ranks have the same.

use crate::error::{Loss, LossReason};
use crate::rows::StepsOrigin;
use crate::run::Run;

/// Takes the whole recording as one step of all ranks whose steps were inferred, where one has other numbers of steps
/// than the rest; changes the losses that tell of it.
pub fn keep_where_all_agree(run: &mut Run, losses: &mut [Loss]) {
    let recorded = run.ranks.iter().filter(|rank| !rank.events.is_empty());
    let mut numbers = recorded.map(|rank| (rank.origin, rank.steps.len()));
    let Some(first) = numbers.next() else { return };
    if numbers.all(|other| other == first) {
        return;
    }
    let is_inferred = |rank: &usize| run.ranks[*rank].origin == StepsOrigin::Inferred;
    let inferred: Vec<usize> = (0..run.ranks.len()).filter(is_inferred).collect();
    inferred.into_iter().for_each(|rank| run.join_steps(rank));
    for loss in losses.iter_mut().filter(|loss| loss.reason == LossReason::InferredSteps) {
        (loss.reason, loss.count) = (LossReason::NoSteps, 1);
    }
}
