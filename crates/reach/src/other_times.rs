//! Ranks that were recorded at another time than the others on their host, in other steps.
//!
//! A folder may hold the recordings of two times, the later of which lacks ranks. Collectives are numbered from each
//! recording's begin, so that those of both would be matched. Ranks of a host have one clock, by which such a rank is
//! known; one with a clock of its own numbers its steps as the others do.

use std::collections::BTreeSet;

use crate::error::{Loss, LossReason};
use crate::rows::StepsOrigin;
use crate::run::Run;

/// A rank's recording: its begin and end by its own clock, in nanoseconds, and the rank's index.
type Recording = (i64, i64, usize);

/// Leaves such ranks out, and returns them as losses. Of those that are known, some tell whose host isn't told.
pub fn leave_out(run: &mut Run, known: &[Loss]) -> Vec<Loss> {
    let is_untold = |rank: u32| {
        let of_host = |it: &&Loss| matches!(it.reason, LossReason::HostAbove | LossReason::NoHost);
        known.iter().filter(of_host).any(|loss| loss.rank == Some(rank))
    };
    let mut recordings: Vec<Vec<Recording>> = vec![Vec::new(); run.hosts.len()];
    for (index, rank) in run.ranks.iter().enumerate() {
        let events = &run.events[rank.events.clone()];
        if let Some(first) = events.first()
            && rank.origin == StepsOrigin::Profile
            && !is_untold(rank.number)
        {
            let end = events.iter().map(|event| event.end_ns()).max().unwrap_or(first.start_ns);
            recordings[rank.host].push((first.start_ns, end, index));
        }
    }
    let mut left = BTreeSet::new();
    let mut losses = Vec::new();
    for mut of_host in recordings {
        of_host.sort_unstable();
        for (rank, ahead_ns) in strays(run, &of_host) {
            let of_rank = &run.ranks[rank];
            let steps = of_rank.steps.iter().map(|step| step.step);
            let events = run.events[of_rank.events.clone()].iter().map(|event| event.step);
            left.extend(steps.chain(events).map(|step| (rank as u32, step)));
            let told: Vec<String> = of_rank.steps.iter().map(|step| format!("step {}", step.step)).collect();
            let loss =
                Loss::new(Some(of_rank.number), told.join(", "), LossReason::OtherTime, told.len() as u64);
            losses.push(loss.because(format!("{:+.3} s", ahead_ns as f64 / 1e9)));
        }
    }
    if !left.is_empty() {
        run.leave_out(&left);
    }
    for (rank, step) in left {
        run.ranks[rank as usize].steps_of_few.push(step);
    }
    losses
}

/// The ranks of a host, by their indices, whose recordings overlap with none of those of most, and share no step with
/// them; and by how much later they begin, in nanoseconds. None where as many ranks were recorded at each time.
fn strays(run: &Run, recordings: &[Recording]) -> Vec<(usize, i64)> {
    let mut times: Vec<(i64, Vec<Recording>)> = Vec::new();
    for &recording in recordings {
        match times.last_mut() {
            Some((end, together)) if recording.0 <= *end => {
                *end = recording.1.max(*end);
                together.push(recording);
            }
            _ => times.push((recording.1, vec![recording])),
        }
    }
    let most = times.iter().map(|(_, together)| together.len()).max().unwrap_or(0);
    let mut of_most = times.iter().filter(|(_, together)| together.len() == most);
    let (Some((_, usual)), None) = (of_most.next(), of_most.next()) else { return Vec::new() };
    let steps_of = |rank: usize| run.ranks[rank].steps.iter().map(|step| step.step);
    let steps: BTreeSet<i32> = usual.iter().flat_map(|(.., rank)| steps_of(*rank)).collect();
    let others = times.iter().flat_map(|(_, together)| together).filter(|it| !usual.contains(it));
    let strays = others.filter(|(.., rank)| steps_of(*rank).all(|step| !steps.contains(&step)));
    strays.map(|(begin, _, rank)| (*rank, begin.saturating_sub(usual[0].0))).collect()
}
