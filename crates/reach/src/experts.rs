//! Tokens and time of experts: how unevenly they are spread over the ranks of a group, and what that costs.

use std::collections::{BTreeMap, BTreeSet};

use opscope_formats::reading::Stop;

use crate::comparable::Comparable;
use crate::discover::{Discovery, Role};
use crate::error::{Loss, ReachError};
use crate::profiles::{Profiles, sort_losses};
use crate::rows::{StepRow, StepsOrigin};
use crate::run::{Rank, Run};
use crate::set::manifest::Keep;
use crate::{Progress, Stage};

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

/// The products of all ranks' experts.
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
    /// Its tokens as a multiple of its group's mean, in the steps that all of that have; `None` where there are none, or
    /// members, or their operators, weren't recorded.
    pub times_mean: Option<f64>,
}

/// A group of ranks that share experts. Figures are means over the steps that all its ranks have: a step that one of
/// them lacks tells nothing of how tokens were spread.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ExpertsGroup {
    /// Its ranks that have experts.
    pub ranks: Vec<u32>,
    /// Its members of which no step was recorded whole, without which neither its mean nor its longest is known.
    pub missing: Vec<u32>,
    /// Its members that were recorded without operators, which is as bad.
    pub without_operators: Vec<u32>,
    /// The rank with the most tokens of those recorded.
    pub most: u32,
    /// By how much that rank's tokens exceed the mean, as a share of it; `None` where members are missing, or their
    /// operators, or they share no step.
    pub imbalance: Option<f64>,
    /// The most that a step loses if each product is waited for: the sum over products of the longest time less the
    /// mean, in nanoseconds; `None` as the imbalance.
    pub loses_ns: Option<f64>,
}

/// A product of the experts of a group, such as one of a layer: profiles number no layers, but products of all ranks
/// come in one order. Figures are means over the steps that all ranks of the group have.
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

impl Profiles {
    /// The products of all ranks' experts, with what was lost of the ranks. Steps that are left out where ranks are
    /// compared, such as those that were cut, have none: their products are there in part.
    ///
    /// # Errors
    /// When a set can't be read, or doesn't keep operators, or `stop` is wanted.
    pub fn experts(
        &self,
        stop: &Stop,
        progress: &Progress<'_>,
    ) -> Result<(ExpertRows, Vec<Loss>), ReachError> {
        if matches!(self, Self::Set(set) if set.keep() < Keep::All) {
            return Err(ReachError::NoOperators);
        }
        let (run, losses) = self.side_by_side(stop, progress)?;
        if stop.is_wanted() {
            return Err(ReachError::Interrupted);
        }
        let (mut found, lost) = self.products_of_experts(&run, stop, progress)?;
        let told: Vec<Vec<StepRow>> = run.ranks.iter().map(|rank| rank.steps.clone()).collect();
        progress(Stage::Matching);
        let Comparable { run, mut losses, .. } = Comparable::of(self.discovery(), run, losses);
        keep_compared(&mut found.products, &run, &told);
        losses.extend(lost);
        sort_losses(&mut losses);
        Ok((found, losses))
    }
}

/// Numbers the steps of products as those of the other ranks, and leaves out those of steps that aren't compared. `told`
/// has each rank's steps as its profile has them.
fn keep_compared(products: &mut Vec<ExpertRow>, run: &Run, told: &[Vec<StepRow>]) {
    let added: Vec<Option<i32>> = run.ranks.iter().zip(told).map(|(rank, told)| added(rank, told)).collect();
    products.retain_mut(|row| {
        let Some(index) = run.rank_of(row.rank) else { return true };
        let Some(added) = added[index] else { return true };
        row.step = row.step.saturating_add(added);
        run.ranks[index].steps.iter().any(|step| step.step == row.step)
    });
}

/// By how much the steps of a rank are numbered higher than its profile has them; `None` where it tells none, or they are
/// divided otherwise.
fn added(rank: &Rank, told: &[StepRow]) -> Option<i32> {
    let of_same = |step: &StepRow| {
        let time = |it: &StepRow| it.start_ns.map(|start| (start, it.duration_ns));
        let same = told.iter().find(|it| time(it).is_some() && time(it) == time(step))?;
        Some(step.step.saturating_sub(same.step))
    };
    let is_told = |step: &StepRow| told.iter().any(|it| it.step == step.step);
    let is_as_told =
        || !told.is_empty() && rank.origin != StepsOrigin::Whole && rank.steps.iter().all(is_told);
    rank.steps.iter().find_map(of_same).or_else(|| is_as_told().then_some(0))
}

/// A rank's experts in a step.
#[derive(Clone, Copy, Debug, Default)]
struct OfStep {
    products: f64,
    tokens: f64,
    time_ns: f64,
}

/// The steps of a rank.
type OfRank = BTreeMap<i32, OfStep>;

/// A product in the steps that all ranks of its group have.
#[derive(Default)]
struct OfSteps {
    /// The tokens of each rank, with how many steps have it.
    tokens: BTreeMap<u32, (f64, f64)>,
    /// The sums over steps of the longest time, and of its excess over the mean.
    longest_ns: f64,
    loses_ns: f64,
}

impl OfSteps {
    /// Adds a step, of which the ranks' rows are given.
    fn add(&mut self, rows: &[ExpertRow]) {
        for row in rows {
            let of_rank = self.tokens.entry(row.rank).or_default();
            *of_rank = (of_rank.0 + row.tokens as f64, of_rank.1 + 1.0);
        }
        let longest = rows.iter().map(|row| row.duration_ns).max().unwrap_or(0) as f64;
        let mean = rows.iter().map(|row| row.duration_ns as f64).sum::<f64>() / rows.len().max(1) as f64;
        self.longest_ns += longest;
        self.loses_ns += longest - mean;
    }
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

/// The steps that all of some ranks have.
fn shared_steps(by_rank: &BTreeMap<u32, OfRank>, ranks: &[u32]) -> BTreeSet<i32> {
    let steps_of = |rank: &u32| by_rank[rank].keys().copied().collect::<BTreeSet<i32>>();
    ranks.iter().map(steps_of).reduce(|shared, of_rank| &shared & &of_rank).unwrap_or_default()
}

/// The mean tokens of a rank in some steps, or in all of its own where these are none.
fn tokens_in(steps: &BTreeSet<i32>, of_rank: &OfRank) -> f64 {
    let taken = of_rank.iter().filter(|(step, _)| steps.is_empty() || steps.contains(*step));
    let tokens: Vec<f64> = taken.map(|(_, of_step)| of_step.tokens).collect();
    tokens.iter().sum::<f64>() / tokens.len().max(1) as f64
}

/// Puts products together by rank and group.
pub fn experts(discovery: &Discovery, recorded: &ExpertRows) -> Experts {
    let declared: Vec<&Vec<u32>> =
        discovery.groups.values().filter(|group| group.role == Role::Ep).map(|group| &group.ranks).collect();
    let group_of = |rank: u32| declared.iter().position(|ranks| ranks.contains(&rank));
    let mut by_rank: BTreeMap<u32, OfRank> = BTreeMap::new();
    let mut by_place: BTreeMap<(Option<usize>, i32, i32), Vec<ExpertRow>> = BTreeMap::new();
    for row in &recorded.products {
        let of_step = by_rank.entry(row.rank).or_default().entry(row.step).or_default();
        of_step.products += 1.0;
        of_step.tokens += row.tokens as f64;
        of_step.time_ns += row.duration_ns as f64;
        by_place.entry((group_of(row.rank), row.step, row.place)).or_default().push(*row);
    }
    let mut by_group: BTreeMap<Option<usize>, Vec<u32>> = BTreeMap::new();
    by_rank.keys().for_each(|rank| by_group.entry(group_of(*rank)).or_default().push(*rank));
    let mut found = Experts::default();
    for (number, (key, here)) in by_group.into_iter().enumerate() {
        let shared = shared_steps(&by_rank, &here);
        let mut of_places: BTreeMap<i32, OfSteps> = BTreeMap::new();
        for ((_, step, place), rows) in by_place.range((key, i32::MIN, i32::MIN)..=(key, i32::MAX, i32::MAX))
        {
            if shared.contains(step) {
                of_places.entry(*place).or_default().add(rows);
            }
        }
        let steps = shared.len().max(1) as f64;
        found.products.extend(of_places.iter().map(|(place, of)| product(number, *place, of, steps)));
        let tokens: Vec<f64> = here.iter().map(|rank| tokens_in(&shared, &by_rank[rank])).collect();
        let mean = tokens.iter().sum::<f64>() / tokens.len() as f64;
        let most = (0..here.len()).max_by(|a, b| tokens[*a].total_cmp(&tokens[*b]));
        let declared = key.map_or(&[][..], |key| declared[key].as_slice());
        let others = declared.iter().copied().filter(|rank| !here.contains(rank));
        let (without_operators, missing): (Vec<u32>, Vec<u32>) =
            others.partition(|rank| recorded.without_operators.contains(rank));
        let is_known = missing.is_empty() && without_operators.is_empty() && !shared.is_empty();
        let times_mean = |place: usize| {
            let times = if mean > 0.0 { tokens[place] / mean } else { 1.0 };
            is_known.then_some(times)
        };
        for (place, rank) in here.iter().enumerate() {
            let of_rank = &by_rank[rank];
            let mean_of = |part: fn(&OfStep) -> f64| {
                of_rank.values().map(part).sum::<f64>() / of_rank.len().max(1) as f64
            };
            found.ranks.push(ExpertsRow {
                rank: *rank,
                group: key.map(|_| number),
                products: mean_of(|it| it.products),
                tokens: mean_of(|it| it.tokens),
                time_ns: mean_of(|it| it.time_ns),
                times_mean: times_mean(place),
            });
        }
        let lost = of_places.values().map(|of| of.loses_ns).sum::<f64>();
        found.groups.push(ExpertsGroup {
            most: most.map_or(0, |place| here[place]),
            imbalance: most.and_then(times_mean).map(|times| times - 1.0),
            loses_ns: is_known.then(|| (lost / steps).round()),
            ranks: here,
            missing,
            without_operators,
        });
    }
    found.ranks.sort_by_key(|row| row.rank);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: u32, step: i32, place: i32, tokens: u64, duration_ns: i64) -> ExpertRow {
        ExpertRow { rank, step, place, tokens, duration_ns }
    }

    fn of_rows(rows: &[ExpertRow]) -> Experts {
        let recorded = ExpertRows { products: rows.to_vec(), without_operators: Vec::new() };
        experts(&Discovery::default(), &recorded)
    }

    #[test]
    fn a_group_loses_what_it_does_in_the_steps_that_all_its_ranks_have() {
        let rows = [
            row(0, 1, 0, 30, 3_000),
            row(1, 1, 0, 10, 1_000),
            // Another step, in which the first rank alone has a product, and two of them.
            row(0, 2, 0, 10, 1_000),
            row(0, 2, 1, 10, 1_000),
        ];
        let found = of_rows(&rows);
        let group = &found.groups[0];
        assert_eq!((group.most, group.imbalance, group.loses_ns), (0, Some(0.5), Some(1_000.0)));
        let [of_first, of_second] = &found.ranks[..] else { panic!("{found:?}") };
        assert_eq!((of_first.tokens, of_first.products, of_first.times_mean), (25.0, 1.5, Some(1.5)));
        assert_eq!((of_second.tokens, of_second.times_mean), (10.0, Some(0.5)));
        let [product] = &found.products[..] else { panic!("{found:?}") };
        assert_eq!((product.tokens, product.longest_ns, product.loses_ns), (20.0, 3_000.0, 1_000.0));
    }

    #[test]
    fn ranks_that_share_no_step_are_beside_no_mean() {
        let found = of_rows(&[row(0, 1, 0, 30, 3_000), row(1, 2, 0, 10, 1_000)]);
        let group = &found.groups[0];
        assert_eq!((group.most, group.imbalance, group.loses_ns), (0, None, None));
        assert_eq!((found.ranks[0].tokens, found.ranks[0].times_mean), (30.0, None));
        assert_eq!(found.products, []);
    }

    #[test]
    fn products_lose_together_what_their_group_loses_whoever_leads_in_each_step() {
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
        let found = of_rows(&rows);
        let lost: Vec<f64> = found.products.iter().map(|it| it.loses_ns).collect();
        assert_eq!(lost, [1_000.0, 100.0]);
        assert_eq!(found.groups[0].loses_ns, Some(1_100.0));
        let first = &found.products[0];
        assert_eq!((first.longest_ns, first.tokens, first.imbalance, first.ranks), (3_000.0, 20.0, 0.0, 2));
    }
}
