//! The costliest path: of all ways through the graph that on which most time was spent.

use opscope_trace::Nanoseconds;

use super::draft::{Draft, ItemId, Kind};
use super::layout::turned;

/// The items of the path from its begin to its end, and their time. A fused operator is one step, because its time
/// is no single node's; links that go up in a circle, and mere order, are no steps.
pub(super) fn costliest(draft: &Draft<'_>, times: &[Nanoseconds]) -> (Vec<ItemId>, Nanoseconds) {
    let step = |item: ItemId| {
        let around = draft.items[item as usize].within;
        around.filter(|&around| draft.items[around as usize].kind == Kind::Fused).unwrap_or(item)
    };
    let links = draft.links.iter().filter(|link| !link.is_order).map(|link| (step(link.from), step(link.to)));
    let mut links: Vec<(ItemId, ItemId)> = links.filter(|(from, to)| from != to).collect();
    links.sort_unstable();
    links.dedup();
    let (order, is_back) = turned(times.len(), &links);
    let mut position = vec![0; times.len()];
    (0..).zip(&order).for_each(|(at, &item)| position[item as usize] = at);
    let mut forward: Vec<(ItemId, ItemId)> =
        links.iter().zip(is_back).filter(|(_, back)| !back).map(|(&link, _)| link).collect();
    forward.sort_unstable_by_key(|&(from, to)| (position[from as usize], to));
    let mut until: Vec<i64> = times.iter().map(|time| time.0.max(0)).collect();
    let mut before: Vec<Option<ItemId>> = vec![None; times.len()];
    for (from, to) in forward {
        let with = until[from as usize].saturating_add(times[to as usize].0.max(0));
        if with > until[to as usize] || before[to as usize].is_none() && with == until[to as usize] {
            (until[to as usize], before[to as usize]) = (with, Some(from));
        }
    }
    let Some(last) = (0..times.len()).max_by_key(|&item| (until[item], std::cmp::Reverse(item))) else {
        return (Vec::new(), Nanoseconds::ZERO);
    };
    if until[last] == 0 || links.is_empty() {
        return (Vec::new(), Nanoseconds::ZERO);
    }
    let mut path: Vec<ItemId> =
        std::iter::successors(Some(last as ItemId), |&item| before[item as usize]).collect();
    path.reverse();
    (path, Nanoseconds(until[last]))
}
