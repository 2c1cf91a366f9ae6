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
    /// How manieth such product of the step it is.
    pub place: i32,
    /// The tokens of all the rank's experts.
    pub tokens: u64,
    /// Its length in nanoseconds.
    pub duration_ns: i64,
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
    /// Its tokens as a multiple of its group's mean.
    pub times_mean: f64,
}

/// A group of ranks that share experts. Figures are means over steps.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ExpertsGroup {
    /// Its ranks that have experts.
    pub ranks: Vec<u32>,
    /// The rank with the most tokens.
    pub most: u32,
    /// By how much that rank's tokens exceed the mean, as a share of it.
    pub imbalance: f64,
    /// The most that a step loses if each product is waited for: the sum over products of the longest time less the
    /// mean, in nanoseconds.
    #[serde(serialize_with = "crate::rows::whole_ns")]
    pub loses_ns: f64,
}

/// A product of the experts of a group, such as one of a layer: profiles number no layers, but products of all ranks
/// come in one order. Figures are means over steps.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ExpertsProduct {
    /// The group, by its place among [`Experts::groups`].
    pub group: usize,
    /// How manieth product of a step it is.
    pub place: i32,
    /// How many ranks have it.
    pub ranks: usize,
    /// The rank with the most tokens in it.
    pub most: u32,
    /// The mean of a rank's tokens.
    pub tokens: f64,
    /// By how much the tokens of that rank exceed the mean, as a share of it.
    pub imbalance: f64,
    /// The longest time of a rank.
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

/// The tokens and times of a product, by rank, each with how many steps have it.
type OfRanks = BTreeMap<u32, (f64, f64, f64)>;

/// A product as a line.
fn product(group: usize, place: i32, of_ranks: &OfRanks) -> ExpertsProduct {
    let means = of_ranks.iter().map(|(rank, (tokens, time, steps))| (*rank, tokens / steps, time / steps));
    let means: Vec<(u32, f64, f64)> = means.collect();
    let count = means.len().max(1) as f64;
    let tokens = means.iter().map(|(_, tokens, _)| tokens).sum::<f64>() / count;
    let mean_ns = means.iter().map(|(.., time)| time).sum::<f64>() / count;
    let most = means.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
    let longest_ns = means.iter().map(|(.., time)| *time).fold(0.0, f64::max);
    ExpertsProduct {
        group,
        place,
        ranks: means.len(),
        most: most.map_or(0, |(rank, ..)| *rank),
        tokens,
        imbalance: most.map_or(0.0, |(_, most, _)| if tokens > 0.0 { most / tokens - 1.0 } else { 0.0 }),
        longest_ns,
        loses_ns: longest_ns - mean_ns,
    }
}

/// Puts products together by rank and group.
pub fn experts(discovery: &Discovery, rows: &[ExpertRow]) -> Experts {
    let declared: Vec<&Vec<u32>> =
        discovery.groups.values().filter(|group| group.role == Role::Ep).map(|group| &group.ranks).collect();
    let group_of = |rank: u32| declared.iter().position(|ranks| ranks.contains(&rank));
    let mut by_rank: BTreeMap<u32, (Vec<i32>, f64, f64, f64)> = BTreeMap::new();
    let mut by_place: BTreeMap<(Option<usize>, i32, i32), Vec<i64>> = BTreeMap::new();
    let mut by_product: BTreeMap<(Option<usize>, i32), OfRanks> = BTreeMap::new();
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
        let of_rank = by_product.entry((group, row.place)).or_default().entry(row.rank).or_default();
        of_rank.0 += row.tokens as f64;
        of_rank.1 += row.duration_ns as f64;
        of_rank.2 += 1.0;
    }
    let mut ranks: Vec<ExpertsRow> = by_rank
        .iter()
        .map(|(rank, (steps, products, tokens, time))| {
            let steps = steps.len().max(1) as f64;
            let group = group_of(*rank);
            let (products, tokens, time_ns) = (products / steps, tokens / steps, time / steps);
            ExpertsRow { rank: *rank, group, products, tokens, time_ns, times_mean: 1.0 }
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
        let lost = by_place.range((key, i32::MIN, i32::MIN)..=(key, i32::MAX, i32::MAX)).map(|(_, times)| {
            let longest = times.iter().copied().max().unwrap_or(0) as f64;
            longest - times.iter().map(|time| *time as f64).sum::<f64>() / times.len() as f64
        });
        groups.push(ExpertsGroup {
            ranks: members.iter().map(|it| ranks[*it].rank).collect(),
            most: most.map_or(0, |it| ranks[it].rank),
            imbalance: most.map_or(0.0, |it| if mean > 0.0 { ranks[it].tokens / mean - 1.0 } else { 0.0 }),
            loses_ns: lost.sum::<f64>() / steps.len().max(1) as f64,
        });
        let of_group = by_product.range((key, i32::MIN)..=(key, i32::MAX));
        products.extend(of_group.map(|((_, place), of_ranks)| product(number, *place, of_ranks)));
        for it in members {
            ranks[it].times_mean = if mean > 0.0 { ranks[it].tokens / mean } else { 1.0 };
            ranks[it].group = key.map(|_| number);
        }
    }
    Experts { ranks, groups, products }
}
