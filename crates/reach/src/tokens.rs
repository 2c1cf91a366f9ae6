//! Tokens that a rank's experts have too many of are missing on the other ranks of its group: without the one the others
//! have more to do. All costs count that, and so does the step in which nobody is slower than its peers: what is typical
//! of peers that lack tokens isn't then.

use std::collections::{BTreeMap, BTreeSet};

use opscope_formats::reading::Stop;
use opscope_trace::NumberMap;

use crate::causes::{Cause, OperatorsOf};
use crate::discover::Role;
use crate::peers::Peers;
use crate::read::{OperatorKey, Operators, is_of_experts};
use crate::replay::Moved;
use crate::run::Run;
use crate::suspects::{Suspect, Told, Trial, Who};
use crate::typical_work;

/// The least share by which a rank's tokens change that is worth reading its operators.
const LEAST: f64 = 0.02;

/// Judges suspects again where some have too many tokens: beside a run in which others have these.
pub fn spread(
    run: &Run,
    peers: &Peers,
    trial: &mut Trial<'_>,
    operators: &OperatorsOf<'_>,
    stop: &Stop,
    told: &mut Told,
) {
    let spread = spread_evenly(run, operators, stop, told);
    if spread.left.is_empty() || stop.is_wanted() {
        return;
    }
    let raised = typical_work::raised(run, peers, &spread.changes());
    trial.balance(spread.left, raised);
    let mut suspects: Vec<Suspect> = told.iter().map(|(suspect, _)| suspect.clone()).collect();
    trial.judge(&mut suspects);
    for ((suspect, _), judged) in told.iter_mut().zip(suspects) {
        *suspect = judged;
    }
    told.retain(|(suspect, _)| trial.is_told(suspect));
}

/// Work as it would be if no rank had too many tokens.
#[derive(Default)]
struct Spread {
    /// The work that others would have, by the rank that has it now.
    left: BTreeMap<usize, Vec<Moved>>,
    /// The work that those ranks wouldn't have; less is negative.
    relieved: Vec<Moved>,
}

impl Spread {
    /// By how much longer the work before each part would be, in nanoseconds.
    fn changes(&self) -> NumberMap<u32, f64> {
        let mut changes = NumberMap::default();
        for moved in self.left.values().flatten().chain(&self.relieved) {
            *changes.entry(moved.event).or_insert(0.0) += moved.more_ns;
        }
        changes
    }
}

/// A rank that has too many tokens.
struct Burdened<'e> {
    rank: usize,
    /// The operators that take as much longer.
    by_tokens: BTreeSet<&'e OperatorKey>,
}

/// Spreads the tokens that ranks have too many of over the others of their groups.
fn spread_evenly(run: &Run, operators: &OperatorsOf<'_>, stop: &Stop, told: &Told) -> Spread {
    let mut of_groups: BTreeMap<usize, Vec<Burdened<'_>>> = BTreeMap::new();
    for (suspect, evidence) in told {
        let mut causes = evidence.causes.iter().map(|it| &it.cause);
        if let Who::Rank(rank) = &suspect.who
            && let Some(Cause::Tokens { times, operators }) =
                causes.find(|it| matches!(it, Cause::Tokens { .. }))
            && let Some(group) = group_of(run, *rank, *times)
        {
            let by_tokens = operators.iter().collect();
            of_groups.entry(group).or_default().push(Burdened { rank: *rank, by_tokens });
        }
    }
    let mut spread = Spread::default();
    for (group, burdened) in of_groups {
        let members: Vec<usize> =
            run.groups[group].ranks.iter().filter_map(|number| run.rank_of(*number)).collect();
        // The ranks of a group are read once, however many of them have too much.
        let experts = opscope_parallel::map(&members, |member| {
            if stop.is_wanted() {
                Experts::default()
            } else {
                Experts::of(run, *member, &operators(*member), &burdened)
            }
        });
        let experts: Vec<(usize, Experts)> =
            members.into_iter().zip(experts).filter(|(_, it)| it.tokens > 0.0).collect();
        for (place, it) in burdened.iter().enumerate() {
            spread.left.insert(it.rank, left_by(&experts, it.rank, place));
            spread.relieved.extend(relieved(&experts, it.rank, place));
        }
    }
    spread
}

/// The group of experts that a rank with so many times its peers' tokens shares them in; `None` where that makes little
/// difference to each of the others.
fn group_of(run: &Run, rank: usize, times: f64) -> Option<usize> {
    let number = run.ranks[rank].number;
    let is_shared = |ranks: &[u32]| ranks.len() > 1 && ranks.contains(&number);
    let group = run.groups.iter().position(|group| group.role == Role::Ep && is_shared(&group.ranks))?;
    (times - 1.0 >= LEAST * (run.groups[group].ranks.len() - 1) as f64).then_some(group)
}

/// A rank's experts.
#[derive(Default)]
struct Experts {
    /// The mean tokens of a product; 0 if there is none.
    tokens: f64,
    /// For each burdened rank the time before parts, in nanoseconds, that would follow the tokens.
    by_tokens: Vec<Vec<(u32, f64)>>,
}

impl Experts {
    fn of(run: &Run, rank: usize, operators: &Operators, burdened: &[Burdened<'_>]) -> Self {
        let products = operators.by_key.iter().filter(|(key, _)| is_of_experts(&key.op_type));
        let (tokens, count) = products.fold((0, 0), |sum: (u64, u64), (_, it)| {
            (sum.0.saturating_add(it.rows), sum.1.saturating_add(it.count))
        });
        let by_tokens = burdened.iter().map(|it| times_before(run, rank, operators, &it.by_tokens));
        Self { tokens: tokens as f64 / count.max(1) as f64, by_tokens: by_tokens.collect() }
    }
}

/// The time of some operators before each of a rank's parts that they come before.
fn times_before(
    run: &Run,
    rank: usize,
    operators: &Operators,
    chosen: &BTreeSet<&OperatorKey>,
) -> Vec<(u32, f64)> {
    let is_chosen: Vec<bool> = operators.keys.iter().map(|key| chosen.contains(key)).collect();
    let spans: Vec<(i64, i64)> =
        operators.spans.iter().filter(|it| is_chosen[it.key as usize]).map(|it| (it.start, it.end)).collect();
    let before = |index: usize| {
        let event = &run.events[index];
        let begin = event.start_ns.saturating_sub(event.segment_ns);
        let first = spans.partition_point(|span| span.0 < begin);
        let within = spans[first..].iter().take_while(|span| span.0 < event.start_ns);
        let time: f64 = within.map(|(start, end)| (end.min(&event.start_ns) - start) as f64).sum();
        (time > 0.0).then_some((index as u32, time))
    };
    run.ranks[rank].events.clone().filter_map(before).collect()
}

fn mean(experts: &[(usize, Experts)]) -> f64 {
    experts.iter().map(|(_, it)| it.tokens).sum::<f64>() / experts.len().max(1) as f64
}

/// The work that a rank of a group wouldn't have if it had no more tokens than the group's mean.
fn relieved(experts: &[(usize, Experts)], rank: usize, place: usize) -> Vec<Moved> {
    let mean = mean(experts);
    let own = experts.iter().find(|(member, it)| *member == rank && it.tokens > mean);
    let times = own.into_iter().flat_map(|(_, it)| {
        let less = 1.0 - mean / it.tokens;
        it.by_tokens[place].iter().map(move |(event, time)| Moved { event: *event, more_ns: -time * less })
    });
    times.collect()
}

/// The work of the other ranks of a group if they had the tokens that one has too many of. Each gets its part of what
/// it lacks to the group's mean.
fn left_by(experts: &[(usize, Experts)], rank: usize, place: usize) -> Vec<Moved> {
    let mean = mean(experts);
    let lack = |it: &Experts| (mean - it.tokens).max(0.0);
    let lacking: f64 = experts.iter().map(|(_, it)| lack(it)).sum();
    let own = experts.iter().find(|(member, _)| *member == rank);
    let surplus = own.map_or(0.0, |(_, it)| (it.tokens - mean).max(0.0));
    let share = if lacking > 0.0 { (surplus / lacking).min(1.0) } else { 0.0 };
    let of_member = |(_, it): &(usize, Experts)| {
        let more = share * lack(it) / it.tokens;
        let times = it.by_tokens[place].iter().filter(move |_| more > 0.0);
        times.map(move |(event, time)| Moved { event: *event, more_ns: time * more }).collect::<Vec<_>>()
    };
    experts.iter().flat_map(of_member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_a_rank_would_not_have_is_that_which_others_would() {
        let rank = |rank: usize, tokens: f64| {
            let by_tokens = vec![vec![(rank as u32, tokens / 10.0)]];
            (rank, Experts { tokens, by_tokens })
        };
        let experts = [rank(0, 220.0), rank(1, 50.0), rank(2, 70.0), rank(3, 60.0)];
        let left = left_by(&experts, 0, 0);
        let more: Vec<(u32, i64)> = left.iter().map(|it| (it.event, it.more_ns.round() as i64)).collect();
        assert_eq!(more, [(1, 5), (2, 3), (3, 4)]);
        let spread = Spread { left: [(0, left)].into(), relieved: relieved(&experts, 0, 0) };
        let changes = spread.changes();
        assert!(
            (changes[&0] + 12.0).abs() < 1e-9 && changes.values().sum::<f64>().abs() < 1e-9,
            "{changes:?}"
        );
    }
}
