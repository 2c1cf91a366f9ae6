//! Traffic of groups that a rank isn't in, or that nobody is in: another rank's table, or that of another job, lies
//! among its files.

use std::collections::BTreeMap;

use crate::discover::Discovery;
use crate::error::{Loss, LossReason};
use crate::run::{Rank, Run, RunGroup};

/// Whose traffic of a rank's it may be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// Its own.
    Own,
    /// A group's that others are in.
    OtherRanks,
    /// That of a group of which nobody recorded a collective.
    Nobodys,
}

impl Origin {
    /// The words for what was left out for it.
    fn told(self) -> &'static str {
        match self {
            Self::Own => "",
            Self::OtherRanks => {
                "links of groups that the rank isn't in, as another rank has them, were left out"
            }
            Self::Nobodys => {
                "links of groups of which no rank has a collective, as another run has them, were left out"
            }
        }
    }
}

/// Leaves such traffic out; returns the losses of each rank that has some.
pub fn leave_out(discovery: &Discovery, run: &mut Run) -> Vec<Loss> {
    let mut counts: BTreeMap<(u32, Origin), u64> = BTreeMap::new();
    let (ranks, groups) = (&run.ranks, &run.groups);
    // Most links follow one of the same rank and group.
    let mut last: Option<((u32, u64), Origin)> = None;
    run.links.retain(|(rank, link)| {
        let key = (*rank, link.group_key);
        let origin = match last {
            Some((known, origin)) if known == key => origin,
            _ => match groups.binary_search_by_key(&link.group_key, |group| group.key) {
                Ok(group) if is_foreign(&groups[group], &ranks[*rank as usize]) => Origin::OtherRanks,
                Ok(_) => Origin::Own,
                Err(_) => Origin::Nobodys,
            },
        };
        last = Some((key, origin));
        if origin != Origin::Own {
            *counts.entry((*rank, origin)).or_default() += 1;
        }
        origin == Origin::Own
    });
    let loss = |((rank, origin), count): ((u32, Origin), u64)| {
        let number = run.ranks[rank as usize].number;
        let found = discovery.collections.iter().find(|it| it.rank == number);
        let source = found.map_or_else(String::new, |it| it.folder.display().to_string());
        Loss::new(Some(number), source, LossReason::Damaged, count).because(origin.told())
    };
    counts.into_iter().map(loss).collect()
}

/// Whether a rank isn't in a group. Of a group that nobody declares, a rank may have lost its collectives.
fn is_foreign(group: &RunGroup, rank: &Rank) -> bool {
    (group.is_declared || !rank.events.is_empty()) && !group.ranks.contains(&rank.number)
}
