//! Tokens that a rank's experts have too many of are missing on the other ranks of its group: without the one the others
//! have more to do. The costs of ranks that have too many, and of those that have too few, count that.

use std::collections::{BTreeMap, BTreeSet};

use opscope_formats::reading::Stop;

use crate::causes::{Cause, OperatorsOf};
use crate::discover::Role;
use crate::read::{OperatorKey, Operators, is_of_experts};
use crate::replay::Moved;
use crate::run::Run;
use crate::suspects::{Suspect, Told, Trial, Who};

/// The least share by which a rank's tokens change that is worth reading its operators.
const LEAST: f64 = 0.02;

/// Judges suspects again whose reason is that they have too many tokens, and those that lack them.
pub fn spread(run: &Run, trial: &Trial<'_>, operators: &OperatorsOf<'_>, stop: &Stop, told: &mut Told) {
    let left = left_by_all(run, operators, stop, told);
    let lacks: Vec<Moved> = left.values().flatten().copied().collect();
    for (suspect, _) in told.iter_mut() {
        if let Who::Rank(rank) = suspect.who {
            let is_own = |it: &&Moved| run.events[it.event as usize].rank as usize == rank;
            suspect.lacks = lacks.iter().filter(is_own).copied().collect();
            suspect.leaves = left.get(&rank).cloned().unwrap_or_default();
        }
    }
    let is_affected = |it: &Suspect| !it.leaves.is_empty() || !it.lacks.is_empty();
    let mut affected: Vec<Suspect> =
        told.iter().map(|(suspect, _)| suspect).filter(|it| is_affected(it)).cloned().collect();
    if !stop.is_wanted() {
        trial.judge(&mut affected);
    }
    let mut judged = affected.into_iter();
    for (suspect, _) in told.iter_mut().filter(|(it, _)| is_affected(it)) {
        *suspect = judged.next().unwrap_or_else(|| suspect.clone());
    }
    told.retain(|(suspect, _)| trial.is_told(suspect));
}

/// A rank that has too many tokens.
struct Burdened<'e> {
    rank: usize,
    /// The operators that take as much longer.
    by_tokens: BTreeSet<&'e OperatorKey>,
}

/// The work that others would have without each rank that has too many tokens, by that rank.
fn left_by_all(
    run: &Run,
    operators: &OperatorsOf<'_>,
    stop: &Stop,
    told: &Told,
) -> BTreeMap<usize, Vec<Moved>> {
    let mut of_groups: BTreeMap<usize, Vec<Burdened<'_>>> = BTreeMap::new();
    for (suspect, evidence) in told {
        if let (Who::Rank(rank), Some(Cause::Tokens { times, operators })) =
            (&suspect.who, evidence.causes.first().map(|it| &it.cause))
            && let Some(group) = group_of(run, *rank, *times)
        {
            let by_tokens = operators.iter().collect();
            of_groups.entry(group).or_default().push(Burdened { rank: *rank, by_tokens });
        }
    }
    let mut left = BTreeMap::new();
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
            left.insert(it.rank, left_by(&experts, it.rank, place));
        }
    }
    left
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

/// The work of the other ranks of a group if they had the tokens that one has too many of. Each gets its part of what
/// it lacks to the group's mean.
fn left_by(experts: &[(usize, Experts)], rank: usize, place: usize) -> Vec<Moved> {
    let mean = experts.iter().map(|(_, it)| it.tokens).sum::<f64>() / experts.len().max(1) as f64;
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
