//! Ranks that do the same and all of whose AI Cores run at a lower frequency than others'. Beside their peers none of them
//! is slow, and no rank at the others' frequency does the same work, so that what it costs isn't known.

use std::collections::BTreeMap;

use crate::clocks::median;
use crate::peers::Peers;
use crate::run::Run;

/// The share of the others' frequency that is lower.
const LOWER: f64 = 0.97;

/// Peers at a lower frequency than others.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SlowClass {
    /// Their numbers.
    pub ranks: Vec<u32>,
    /// The median of their frequencies.
    pub mhz: f64,
    /// That of the peers who run fastest.
    pub others_mhz: f64,
}

/// All such, in the order of their ranks.
pub fn find(run: &Run, peers: &Peers) -> Vec<SlowClass> {
    let mut classes: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
    for (rank, class) in run.ranks.iter().zip(&peers.class) {
        if let Some(mhz) = rank.frequency_mhz.filter(|_| !rank.events.is_empty()) {
            classes.entry(*class).or_default().push((rank.number, mhz));
        }
    }
    let middle = |ranks: &[(u32, f64)]| median(&mut ranks.iter().map(|(_, mhz)| *mhz).collect::<Vec<_>>());
    let others_mhz = classes.values().map(|ranks| middle(ranks)).fold(0.0, f64::max);
    let is_lower = |ranks: &&Vec<(u32, f64)>| ranks.iter().all(|(_, mhz)| *mhz < LOWER * others_mhz);
    let slow = classes.values().filter(is_lower).map(|ranks| SlowClass {
        ranks: ranks.iter().map(|(number, _)| *number).collect(),
        mhz: middle(ranks),
        others_mhz,
    });
    let mut slow: Vec<SlowClass> = slow.collect();
    slow.sort_by(|a, b| a.ranks.cmp(&b.ranks));
    slow
}
