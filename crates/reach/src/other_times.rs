//! Ranks that were recorded at another time than the others on their host, in other steps.
//!
//! A folder may hold the recordings of two times, the later of which lacks ranks. Collectives are numbered from each
//! recording's begin, so that those of both would be matched. Ranks of a host have one clock, by which such a rank is
//! known; one with a clock of its own numbers its steps as the others do.

use std::collections::{BTreeMap, BTreeSet};

use crate::cut_steps;
use crate::error::{Loss, LossReason};
use crate::rows::StepsOrigin;
use crate::run::{Event, Run};

/// A rank's recording: its begin and end by its own clock, in nanoseconds, and the rank's index.
type Recording = (i64, i64, usize);

/// Leaves such ranks out, and returns them as losses. Of those that are known, some tell whose host isn't told.
pub fn leave_out(run: &mut Run, known: &[Loss]) -> Vec<Loss> {
    let of_host = |it: &&Loss| matches!(it.reason, LossReason::HostAbove | LossReason::NoHost);
    let untold: BTreeSet<u32> = known.iter().filter(of_host).filter_map(|loss| loss.rank).collect();
    let mut recordings: Vec<Vec<Recording>> = vec![Vec::new(); run.hosts.len()];
    for (index, rank) in run.ranks.iter().enumerate() {
        let events = &run.events[rank.events.clone()];
        if let Some(first) = events.first()
            && rank.origin == StepsOrigin::Profile
            && !rank.steps.is_empty()
            && !untold.contains(&rank.number)
        {
            let end = events.iter().map(Event::end_ns).max().unwrap_or(first.start_ns);
            recordings[rank.host].push((first.start_ns, end, index));
        }
    }
    let usual = usual_steps(run, recordings.iter().flatten().map(|(.., rank)| *rank));
    let strays: Vec<usize> = recordings.iter().flat_map(|of_host| strays(run, &usual, of_host)).collect();
    if strays.is_empty() {
        return Vec::new();
    }
    let mut left = BTreeSet::new();
    for rank in strays {
        let of_rank = &run.ranks[rank];
        let steps = of_rank.steps.iter().map(|step| step.step);
        let events = run.events[of_rank.events.clone()].iter().map(|event| event.step);
        left.extend(steps.chain(events).map(|step| (rank as u32, step)));
    }
    let losses = cut_steps::losses(run, &left, LossReason::OtherTime);
    run.leave_out(&left);
    for (rank, step) in left {
        run.ranks[rank as usize].steps_of_few.push(step);
    }
    losses
}

/// The steps that most of some ranks have.
fn usual_steps(run: &Run, ranks: impl Iterator<Item = usize>) -> BTreeSet<i32> {
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    let mut all = 0;
    for rank in ranks {
        all += 1;
        run.ranks[rank].steps.iter().for_each(|step| *counts.entry(step.step).or_default() += 1);
    }
    counts.into_iter().filter(|(_, count)| 2 * count > all).map(|(step, _)| step).collect()
}

/// The ranks of a host, by their indices, that have none of the usual steps and were recorded at no time at which any was
/// that has. None where nobody has any.
fn strays(run: &Run, usual: &BTreeSet<i32>, recordings: &[Recording]) -> Vec<usize> {
    let is_usual =
        |(.., rank): &&Recording| run.ranks[*rank].steps.iter().any(|step| usual.contains(&step.step));
    let (usual, others): (Vec<&Recording>, Vec<&Recording>) = recordings.iter().partition(is_usual);
    let (Some(begin), Some(end)) = (usual.iter().map(|it| it.0).min(), usual.iter().map(|it| it.1).max())
    else {
        return Vec::new();
    };
    others.into_iter().filter(|it| it.1 < begin || end < it.0).map(|(.., rank)| *rank).collect()
}
