//! Who waits because of a suspect: the run is replayed without it, and what the others wait less is its doing. Some wait
//! for it at once, the others for those that it held up.

use std::collections::{BTreeMap, BTreeSet};

use crate::discover::Role;
use crate::peers::Peers;
use crate::replay::{Scenario, waits};
use crate::rows::CollectiveType;
use crate::run::{Instance, Run};
use crate::suspects::Who;

/// Ranks that wait in collectives of one use and type because of a suspect.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Held {
    /// Whether the suspect itself came last, or transferred; otherwise those did that it had held up.
    pub at_once: bool,
    /// The use of the collectives' groups.
    pub role: Role,
    /// Their operation; a send and its receive are a receive.
    #[serde(rename = "type")]
    pub kind: CollectiveType,
    /// The numbers of the ranks that wait, in order.
    pub ranks: Vec<u32>,
    /// How long they wait because of it, in nanoseconds in all of these steps.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub waited_ns: f64,
}

/// Waits that are shorter without a suspect by less are clocks' doing, in nanoseconds.
const LEAST_NS: f64 = 1_000.0;

/// Who waits in some steps because of a suspect, which `without` takes out of the run: those that wait longest first.
pub fn held_by(run: &Run, peers: &Peers, who: &Who, without: &Scenario, steps: &BTreeSet<i32>) -> Vec<Held> {
    let (workers, groups): (BTreeSet<usize>, _) = (who.workers(run).into_iter().collect(), who.groups());
    let is_its_own = |instance: &Instance| {
        let last = peers.absent.last_part(run, run.first_of(instance).instance);
        let rank_of = |part: u32| run.events[part as usize].rank as usize;
        groups.contains(&instance.group) || last.is_some_and(|last| workers.contains(&rank_of(last)))
    };
    let mut found: BTreeMap<(bool, Role, CollectiveType), (BTreeSet<u32>, f64)> = BTreeMap::new();
    waits(run, peers, without, |instance, event, less_ns| {
        let event = &run.events[event as usize];
        let is_held = less_ns >= LEAST_NS && !workers.contains(&(event.rank as usize));
        if !is_held || !steps.contains(&event.step) {
            return;
        }
        let kind = if event.kind.is_between_two() { CollectiveType::Receive } else { event.kind };
        let key = (is_its_own(instance), run.groups[event.group as usize].role, kind);
        let (ranks, waited) = found.entry(key).or_default();
        ranks.insert(run.ranks[event.rank as usize].number);
        *waited += less_ns;
    });
    let held = |((at_once, role, kind), (ranks, waited_ns)): (_, (BTreeSet<u32>, f64))| Held {
        at_once,
        role,
        kind,
        ranks: ranks.into_iter().collect(),
        waited_ns,
    };
    let mut found: Vec<Held> = found.into_iter().map(held).collect();
    found.sort_by(|a, b| b.at_once.cmp(&a.at_once).then(b.waited_ns.total_cmp(&a.waited_ns)));
    found
}
