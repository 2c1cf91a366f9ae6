//! Ranks whose collectives don't end with the others' of the same group and number.
//!
//! Ranks of two runs may name groups and number collectives alike, and a rank may count from a begin that is too far off
//! to be put right. Nobody leaves a collective that all leave together before the last has come, so that all parts of one
//! end at one moment; between clocks that are apart, the differences of their ends are at least always the same.

use std::collections::BTreeSet;

use crate::clocks::median;
use crate::error::{Loss, LossReason};
use crate::run::Run;

/// The fewest collectives by which a rank is judged.
const FEWEST: usize = 16;

/// The deviation from the usual difference, in nanoseconds, that jitter doesn't reach.
const JITTER: f64 = 1e6;

/// The share of a part's length that the deviation must have besides.
const SHARE: f64 = 0.25;

/// Leaves the collectives of strangers out, unless most ranks are: then nobody is a stranger to the others. Returns
/// whether any were.
pub fn leave_out(run: &mut Run, strangers: &[Loss]) -> bool {
    let ranks: BTreeSet<u32> =
        strangers.iter().filter_map(|loss| Some(run.rank_of(loss.rank?)? as u32)).collect();
    if ranks.is_empty() || 2 * ranks.len() > run.ranks.len() {
        return false;
    }
    let of_events = run.events.iter().filter(|event| ranks.contains(&event.rank));
    let mut left: BTreeSet<(u32, i32)> = of_events.map(|event| (event.rank, event.step)).collect();
    for rank in ranks {
        left.extend(run.ranks[rank as usize].steps.iter().map(|step| (rank, step.step)));
    }
    run.leave_out(&left);
    true
}

/// A loss for each rank whose ends have nothing to do with those of the others.
pub fn find(run: &Run) -> Vec<Loss> {
    let mut apart: Vec<Vec<f64>> = vec![Vec::new(); run.ranks.len()];
    for instance in run.instances.iter().filter(|it| it.seen > 1) {
        let parts = || run.events_of(instance);
        // Sends and receives are told by how manieth they are, which proves nothing.
        if parts().any(|event| event.kind.is_between_two() || !event.kind.ends_together()) {
            continue;
        }
        let middle = median(&mut parts().map(|event| event.end()).collect::<Vec<f64>>());
        parts().for_each(|event| apart[event.rank as usize].push(event.end() - middle));
    }
    let mut losses = Vec::new();
    for (rank, mut apart) in run.ranks.iter().zip(apart).filter(|(_, apart)| apart.len() >= FEWEST) {
        let usual = median(&mut apart);
        let deviation = median(&mut apart.iter().map(|it| (it - usual).abs()).collect::<Vec<f64>>());
        let lengths = run.events[rank.events.clone()].iter().map(|event| event.duration_ns as f64);
        if deviation > JITTER.max(SHARE * median(&mut lengths.collect::<Vec<f64>>())) {
            let loss = Loss::new(Some(rank.number), "collectives", LossReason::Stranger, apart.len() as u64);
            losses.push(loss.because(format!("± {:.1} ms", deviation / 1e6)));
        }
    }
    losses
}
