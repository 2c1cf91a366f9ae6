//! Members of groups that no profile declares.
//!
//! Of these the ranks are known that were seen in them. Links name places in the group, also of members that weren't
//! recorded: so there are more of these than were seen, and which ranks they are isn't told.

use std::collections::BTreeMap;

use crate::run::Run;

/// More members than any cluster has are a mistake of a file.
const MOST: u32 = 1 << 20;

/// Counts the members of undeclared groups that nobody names, and takes the places of the others.
pub fn count_unnamed(run: &mut Run) {
    let mut sizes: BTreeMap<u64, u32> = BTreeMap::new();
    let mut own_places: BTreeMap<u64, BTreeMap<u32, u32>> = BTreeMap::new();
    for (rank, link) in &run.links {
        let last = link.src.max(link.dst);
        if last < MOST {
            let size = sizes.entry(link.group_key).or_default();
            *size = (*size).max(last + 1);
        }
        if link.src == link.dst {
            let number = run.ranks[*rank as usize].number;
            own_places.entry(link.group_key).or_default().insert(link.src, number);
        }
    }
    for group in run.groups.iter_mut().filter(|group| !group.is_declared) {
        let size = sizes.get(&group.key).copied().unwrap_or(0);
        group.unnamed = size.saturating_sub(group.ranks.len() as u32);
        if group.unnamed > 0 {
            group.places = own_places.remove(&group.key).unwrap_or_default();
        }
    }
}
