//! Tokens and time of experts: how unevenly they are spread over the ranks of a group, and what that costs.

use std::collections::BTreeMap;

use crate::discover::{Discovery, Role};

/// A product of a rank's experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpertRow {
    /// The rank.
    pub rank: u32,
    /// The step.
    pub step: i32,
    /// Its ordinal among such products of the step.
    pub place: i32,
    /// The tokens of all the rank's experts.
    pub tokens: u64,
    /// Its length in nanoseconds.
    pub duration_ns: i64,
}

/// The products of all ranks' experts, as they were recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpertRows {
    /// The products.
    pub products: Vec<ExpertRow>,
    /// The ranks that were recorded without operators, so that nothing is known of their experts.
    pub without_operators: Vec<u32>,
}

/// A rank's experts. Figures are means over steps.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ExpertsRow {
    /// The rank.
    pub rank: u32,
    /// The group of experts that it is in, by its place among those; `None` where none is declared: then all ranks
    /// are one.
    pub group: Option<usize>,
    /// The products a step.
    pub products: f64,
    /// The tokens of all products a step.
    pub tokens: f64,
    /// The time of all products a step, in nanoseconds.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub time_ns: f64,
    /// Its tokens as a multiple of its group's mean; `None` where members of that, or their operators, weren't recorded.
    pub times_mean: Option<f64>,
}

/// A group of ranks that share experts. Figures are means over steps.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ExpertsGroup {
    /// Its ranks that have experts.
    pub ranks: Vec<u32>,
    /// Its members that weren't recorded, without which neither its mean nor its longest is known.
    pub missing: Vec<u32>,
    /// Its members that were recorded without operators, which is as bad.
    pub without_operators: Vec<u32>,
    /// The rank with the most tokens of those recorded.
    pub most: u32,
    /// By how much that rank's tokens exceed the mean, as a share of it; `None` where members are missing, or their operators.
    pub imbalance: Option<f64>,
    /// The most that a step loses if each product is waited for: the sum over products of the longest time less the
    /// mean, in nanoseconds; `None` where members are missing, or their operators.
    pub loses_ns: Option<f64>,
}

/// A product of the experts of a group, such as one of a layer: profiles number no layers, but products of all ranks
/// come in one order. Figures are means over steps.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ExpertsProduct {
    /// The group, by its place among [`Experts::groups`].
    pub group: usize,
    /// Its ordinal among the products of a step.
    pub place: i32,
    /// How many ranks have it.
    pub ranks: usize,
    /// The rank with the most tokens in it.
    pub most: u32,
    /// The mean of a rank's tokens.
    pub tokens: f64,
    /// By how much the tokens of that rank exceed the mean, as a share of it.
    pub imbalance: f64,
    /// The longest time of a rank in each step.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub longest_ns: f64,
    /// The part of it by which it exceeds the mean.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub loses_ns: f64,
}

/// The experts of all ranks.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Experts {
    /// The ranks that have any.
    pub ranks: Vec<ExpertsRow>,
    /// The groups that they share them in.
    pub groups: Vec<ExpertsGroup>,
    /// The products of each group, in the order of a step.
    pub products: Vec<ExpertsProduct>,
}

/// A product in all steps.
#[derive(Default)]
struct OfSteps {
    /// The tokens of each rank, with how many steps have it.
    tokens: BTreeMap<u32, (f64, f64)>,
    /// The sums over steps of the longest time, and of its excess over the mean.
    longest_ns: f64,
    loses_ns: f64,
}

/// A product as a line, of so many steps. Another rank may lead in each of them.
fn product(group: usize, place: i32, of: &OfSteps, steps: f64) -> ExpertsProduct {
    let means = of.tokens.iter().map(|(rank, (tokens, count))| (*rank, tokens / count));
    let means: Vec<(u32, f64)> = means.collect();
    let tokens = means.iter().map(|(_, tokens)| tokens).sum::<f64>() / means.len().max(1) as f64;
    let most = means.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    ExpertsProduct {
        group,
        place,
        ranks: means.len(),
        most: most.map_or(0, |(rank, ..)| *rank),
        tokens,
        imbalance: most.map_or(0.0, |(_, most)| if tokens > 0.0 { most / tokens - 1.0 } else { 0.0 }),
        longest_ns: of.longest_ns / steps,
        loses_ns: of.loses_ns / steps,
    }
}

/// The longest of some times, and by how much it exceeds their mean.
fn longest_and_excess(times: &[i64]) -> (f64, f64) {
    let longest = times.iter().copied().max().unwrap_or(0) as f64;
    (longest, longest - times.iter().map(|time| *time as f64).sum::<f64>() / times.len().max(1) as f64)
}

/// Puts products together by rank and group.
pub fn experts(discovery: &Discovery, recorded: &ExpertRows) -> Experts {
    let rows = &recorded.products;
    let declared: Vec<&Vec<u32>> =
        discovery.groups.values().filter(|group| group.role == Role::Ep).map(|group| &group.ranks).collect();
    let group_of = |rank: u32| declared.iter().position(|ranks| ranks.contains(&rank));
    let mut by_rank: BTreeMap<u32, (Vec<i32>, f64, f64, f64)> = BTreeMap::new();
    let mut by_place: BTreeMap<(Option<usize>, i32, i32), Vec<i64>> = BTreeMap::new();
    let mut by_product: BTreeMap<(Option<usize>, i32), OfSteps> = BTreeMap::new();
    for row in rows {
        let (steps, products, tokens, time) = by_rank.entry(row.rank).or_default();
        if steps.last() != Some(&row.step) && !steps.contains(&row.step) {
            steps.push(row.step);
        }
        *products += 1.0;
        *tokens += row.tokens as f64;
        *time += row.duration_ns as f64;
        let group = group_of(row.rank);
        by_place.entry((group, row.step, row.place)).or_default().push(row.duration_ns);
        let product = by_product.entry((group, row.place)).or_default();
        let of_rank = product.tokens.entry(row.rank).or_default();
        *of_rank = (of_rank.0 + row.tokens as f64, of_rank.1 + 1.0);
    }
    for ((group, _, place), times) in &by_place {
        let product = by_product.entry((*group, *place)).or_default();
        let (longest, loses) = longest_and_excess(times);
        (product.longest_ns, product.loses_ns) = (product.longest_ns + longest, product.loses_ns + loses);
    }
    let mut ranks: Vec<ExpertsRow> = by_rank
        .iter()
        .map(|(rank, (steps, products, tokens, time))| {
            let steps = steps.len().max(1) as f64;
            let group = group_of(*rank);
            let (products, tokens, time_ns) = (products / steps, tokens / steps, time / steps);
            ExpertsRow { rank: *rank, group, products, tokens, time_ns, times_mean: None }
        })
        .collect();
    let mut steps: Vec<i32> = rows.iter().map(|row| row.step).collect();
    steps.sort_unstable();
    steps.dedup();
    let mut keys: Vec<Option<usize>> = ranks.iter().map(|row| row.group).collect();
    keys.sort_unstable();
    keys.dedup();
    let (mut groups, mut products) = (Vec::new(), Vec::new());
    for (number, key) in keys.into_iter().enumerate() {
        let members: Vec<usize> = (0..ranks.len()).filter(|it| ranks[*it].group == key).collect();
        let mean = members.iter().map(|it| ranks[*it].tokens).sum::<f64>() / members.len() as f64;
        let most = members.iter().copied().max_by(|a, b| ranks[*a].tokens.total_cmp(&ranks[*b].tokens));
        let of_group = by_place.range((key, i32::MIN, i32::MIN)..=(key, i32::MAX, i32::MAX));
        let lost = of_group.map(|(_, times)| longest_and_excess(times).1);
        let here: Vec<u32> = members.iter().map(|it| ranks[*it].rank).collect();
        let declared = key.map_or(&[][..], |key| declared[key].as_slice());
        let others = declared.iter().copied().filter(|rank| !here.contains(rank));
        let (without_operators, missing): (Vec<u32>, Vec<u32>) =
            others.partition(|rank| recorded.without_operators.contains(rank));
        let is_whole = missing.is_empty() && without_operators.is_empty();
        let times_mean = |rank: usize| {
            let times = if mean > 0.0 { ranks[rank].tokens / mean } else { 1.0 };
            is_whole.then_some(times)
        };
        groups.push(ExpertsGroup {
            ranks: here,
            most: most.map_or(0, |it| ranks[it].rank),
            imbalance: most.and_then(times_mean).map(|times| times - 1.0),
            loses_ns: is_whole.then(|| (lost.sum::<f64>() / steps.len().max(1) as f64).round()),
            missing,
            without_operators,
        });
        let of_members: Vec<(usize, Option<f64>)> = members.iter().map(|it| (*it, times_mean(*it))).collect();
        let of_group = by_product.range((key, i32::MIN)..=(key, i32::MAX));
        let steps = steps.len().max(1) as f64;
        products.extend(of_group.map(|((_, place), of)| product(number, *place, of, steps)));
        for (it, times_mean) in of_members {
            ranks[it].times_mean = times_mean;
            ranks[it].group = key.map(|_| number);
        }
    }
    Experts { ranks, groups, products }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_lose_together_what_their_group_loses_whoever_leads_in_each_step() {
        let row =
            |rank, step, place, tokens, duration_ns| ExpertRow { rank, step, place, tokens, duration_ns };
        let rows = [
            row(0, 1, 0, 30, 3_000),
            row(1, 1, 0, 10, 1_000),
            row(0, 1, 1, 10, 1_000),
            row(1, 1, 1, 10, 1_000),
            row(0, 2, 0, 10, 1_000),
            row(1, 2, 0, 30, 3_000),
            row(0, 2, 1, 10, 1_000),
            row(1, 2, 1, 14, 1_400),
        ];
        let recorded = ExpertRows { products: rows.to_vec(), without_operators: Vec::new() };
        let found = experts(&Discovery::default(), &recorded);
        let lost: Vec<f64> = found.products.iter().map(|it| it.loses_ns).collect();
        assert_eq!(lost, [1_000.0, 100.0]);
        assert_eq!(found.groups[0].loses_ns, Some(1_100.0));
        let first = &found.products[0];
        assert_eq!((first.longest_ns, first.tokens, first.imbalance, first.ranks), (3_000.0, 20.0, 0.0, 2));
    }
}
