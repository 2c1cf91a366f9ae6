//! Tokens that a rank's experts have too many of are missing on the other ranks of its group: without the one the others
//! have more to do. The costs of ranks that have too many, and of those that have too few, count that.

use std::collections::BTreeSet;

use crate::causes::{Cause, Evidence, OperatorsOf};
use crate::discover::Role;
use crate::read::{OperatorKey, Operators, is_of_experts};
use crate::replay::Moved;
use crate::run::Run;
use crate::suspects::{Costs, Suspect, Trial, Who, sort};

/// The least share by which a rank's tokens change that is worth reading its operators.
const LEAST: f64 = 0.02;

/// Judges suspects again whose reason is that they have too many tokens, and those that lack them.
pub fn spread(
    run: &Run,
    trial: &Trial<'_>,
    operators: &OperatorsOf<'_>,
    costs: &mut Costs,
    evidence: &mut Vec<Evidence>,
) {
    let suspects = std::mem::take(&mut costs.suspects);
    let mut told: Vec<(Suspect, Evidence)> = suspects.into_iter().zip(std::mem::take(evidence)).collect();
    let mut lacks: Vec<Moved> = Vec::new();
    for (suspect, evidence) in &mut told {
        if let (Who::Rank(rank), Some(Cause::Tokens { times, operators: by_tokens })) =
            (&suspect.who, evidence.causes.first().map(|it| &it.cause))
        {
            suspect.leaves = left_by(run, operators, *rank, *times, by_tokens);
            lacks.extend(&suspect.leaves);
        }
    }
    for (suspect, _) in &mut told {
        if let Who::Rank(rank) = suspect.who {
            let is_own = |it: &&Moved| run.events[it.event as usize].rank as usize == rank;
            suspect.lacks = lacks.iter().filter(is_own).copied().collect();
        }
    }
    let is_affected = |it: &Suspect| !it.leaves.is_empty() || !it.lacks.is_empty();
    let mut affected: Vec<Suspect> =
        told.iter().map(|(suspect, _)| suspect).filter(|it| is_affected(it)).cloned().collect();
    trial.judge(&mut affected);
    let mut judged = affected.into_iter();
    for (suspect, _) in told.iter_mut().filter(|(it, _)| is_affected(it)) {
        *suspect = judged.next().unwrap_or_else(|| suspect.clone());
    }
    told.retain(|(suspect, _)| trial.is_told(suspect));
    sort(&mut told, |(suspect, _)| suspect);
    (costs.suspects, *evidence) = told.into_iter().unzip();
}

/// The work of the other ranks of a group of experts if they had the tokens of which one has too many. Each gets its
/// part of what it lacks to the group's mean.
fn left_by(
    run: &Run,
    operators: &OperatorsOf<'_>,
    rank: usize,
    times: f64,
    by_tokens: &[OperatorKey],
) -> Vec<Moved> {
    let number = run.ranks[rank].number;
    let is_shared = |ranks: &[u32]| ranks.len() > 1 && ranks.contains(&number);
    let Some(group) = run.groups.iter().find(|group| group.role == Role::Ep && is_shared(&group.ranks))
    else {
        return Vec::new();
    };
    if times - 1.0 < LEAST * (group.ranks.len() - 1) as f64 {
        return Vec::new();
    }
    let members: Vec<usize> = group.ranks.iter().filter_map(|number| run.rank_of(*number)).collect();
    let by_tokens: BTreeSet<&OperatorKey> = by_tokens.iter().collect();
    let experts = opscope_parallel::map(&members, |member| {
        let operators = operators(*member);
        (tokens_of(&operators), by_tokens_of(&operators, &by_tokens))
    });
    let mean = experts.iter().map(|(tokens, _)| tokens).sum::<f64>() / members.len().max(1) as f64;
    let lack = |tokens: f64| (mean - tokens).max(0.0);
    let lacking: f64 = experts.iter().map(|(tokens, _)| lack(*tokens)).sum();
    let of_rank = members.iter().zip(&experts).find(|(member, _)| **member == rank);
    let surplus = of_rank.map_or(0.0, |(_, (tokens, _))| (tokens - mean).max(0.0));
    let share = if lacking > 0.0 { (surplus / lacking).min(1.0) } else { 0.0 };
    let mut moved = Vec::new();
    for (member, (tokens, spans)) in members.iter().zip(&experts) {
        let more = share * lack(*tokens) / tokens;
        if more.is_finite() && more > 0.0 {
            moved.extend(with_more(run, *member, spans, more));
        }
    }
    moved
}

/// The mean tokens of a product of a rank's experts; 0 if it has none.
fn tokens_of(operators: &Operators) -> f64 {
    let products = operators.by_key.iter().filter(|(key, _)| is_of_experts(&key.op_type));
    let (tokens, count) = products.fold((0, 0), |sum: (u64, u64), (_, it)| {
        (sum.0.saturating_add(it.rows), sum.1.saturating_add(it.count))
    });
    tokens as f64 / count.max(1) as f64
}

/// The starts and ends of the tasks whose times follow the tokens.
fn by_tokens_of(operators: &Operators, by_tokens: &BTreeSet<&OperatorKey>) -> Vec<(i64, i64)> {
    let is_by_tokens: Vec<bool> = operators.keys.iter().map(|key| by_tokens.contains(key)).collect();
    let spans = operators.spans.iter().filter(|span| is_by_tokens[span.key as usize]);
    spans.map(|span| (span.start, span.end)).collect()
}

/// The work before a rank's parts if some of its tasks took longer by a share.
fn with_more(run: &Run, rank: usize, spans: &[(i64, i64)], more: f64) -> Vec<Moved> {
    let of_event = |index: usize| {
        let event = &run.events[index];
        let begin = event.start_ns - event.segment_ns;
        let first = spans.partition_point(|span| span.0 < begin);
        let within = spans[first..].iter().take_while(|span| span.0 < event.start_ns);
        let time: i64 = within.map(|(start, end)| end.min(&event.start_ns) - start).sum();
        let segment_ns = event.segment_ns as f64 + time as f64 * more;
        (time > 0).then_some(Moved { event: index as u32, segment_ns })
    };
    run.ranks[rank].events.clone().filter_map(of_event).collect()
}
