//! Traffic of groups that a rank isn't in: another rank's table lies among its files.

use std::collections::BTreeMap;

use crate::discover::Discovery;
use crate::error::{Loss, LossReason};
use crate::run::{Rank, Run, RunGroup};

/// Leaves such traffic out; returns a loss for each rank that has some.
pub fn leave_out(discovery: &Discovery, run: &mut Run) -> Vec<Loss> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    let (ranks, groups) = (&run.ranks, &run.groups);
    // Most links follow one of the same rank and group.
    let mut last: Option<((u32, u64), bool)> = None;
    run.links.retain(|(rank, link)| {
        let key = (*rank, link.group_key);
        let is_foreign = match last {
            Some((known, is_foreign)) if known == key => is_foreign,
            _ => {
                let group = groups.binary_search_by_key(&link.group_key, |group| group.key).ok();
                group.is_some_and(|group| is_foreign(&groups[group], &ranks[*rank as usize]))
            }
        };
        last = Some((key, is_foreign));
        *counts.entry(*rank).or_default() += u64::from(is_foreign);
        !is_foreign
    });
    let loss = |(rank, count): (u32, u64)| {
        let number = run.ranks[rank as usize].number;
        let found = discovery.collections.iter().find(|it| it.rank == number);
        let source = found.map_or_else(String::new, |it| it.folder.display().to_string());
        let detail = "links of groups that the rank isn't in, as another rank has them, were left out";
        Loss::new(Some(number), source, LossReason::Damaged, count).because(detail)
    };
    counts.into_iter().filter(|(_, count)| *count > 0).map(loss).collect()
}

/// Whether a rank isn't in a group. Of a group that nobody declares, a rank may have lost its collectives.
fn is_foreign(group: &RunGroup, rank: &Rank) -> bool {
    (group.is_declared || !rank.events.is_empty()) && !group.ranks.contains(&rank.number)
}
