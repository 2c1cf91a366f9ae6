//! Steps of ranks that tell none, number them otherwise than the others, or take several for one: those of the ranks with
//! which they share collectives.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::{Loss, LossReason};
use crate::relative::{Differences, offsets};
use crate::rows::{FinishRow, StepRow, StepsOrigin};
use crate::run::Run;

/// The share of the collectives that two ranks have in common whose steps must differ alike.
const SHARE: f64 = 0.8;

/// The share of a step's collectives that must be of a step of others, and the fewest, for it to hold that one.
const HELD: f64 = 0.1;
const FEWEST: usize = 4;

/// Numbers steps as most ranks do, and divides recordings that tell none; changes the losses that tell of it, and returns
/// the ranks that have others' steps as losses.
pub fn take(run: &mut Run, losses: &mut Vec<Loss>) -> Vec<Loss> {
    let mut changed = renumber(run);
    let told = run.steps().into_iter().collect();
    let joined: Vec<usize> = (0..run.ranks.len()).filter(|rank| joins_steps(run, &told, *rank)).collect();
    joined.into_iter().for_each(|rank| run.join_steps(rank));
    for rank in 0..run.ranks.len() {
        if run.ranks[rank].origin == StepsOrigin::Whole && divide(run, rank) {
            let number = run.ranks[rank].number;
            losses.retain(|loss| loss.rank != Some(number) || loss.reason != LossReason::NoSteps);
            changed.push(rank);
        }
    }
    let loss = |rank: usize| {
        let rank = &run.ranks[rank];
        Loss::new(Some(rank.number), "steps", LossReason::StepsOfOthers, rank.steps.len() as u64)
    };
    changed.into_iter().map(loss).collect()
}

/// Gives ranks whose steps have other numbers, all by the same difference, those that most have; returns them.
fn renumber(run: &mut Run) -> Vec<usize> {
    let offsets = offsets(&differences(run));
    let mut counts: BTreeMap<i64, usize> = BTreeMap::new();
    offsets.values().for_each(|offset| *counts.entry(*offset).or_default() += 1);
    let usual =
        counts.into_iter().max_by_key(|(offset, count)| (*count, *offset == 0)).map_or(0, |(it, _)| it);
    let (mut changed, mut added) = (Vec::new(), BTreeMap::new());
    for (rank, offset) in offsets {
        let more = i32::try_from(usual - offset).unwrap_or(0);
        if more == 0 {
            continue;
        }
        let number = |step: i32| step.saturating_add(more);
        let events = run.ranks[rank].events.clone();
        run.events[events].iter_mut().for_each(|event| event.step = number(event.step));
        let of_rank = &mut run.ranks[rank];
        of_rank.steps.iter_mut().for_each(|step| step.step = number(step.step));
        of_rank.finishes.iter_mut().for_each(|finish| finish.step = number(finish.step));
        let compute = std::mem::take(&mut of_rank.compute_ns);
        of_rank.compute_ns = compute.into_iter().map(|(step, ns)| (number(step), ns)).collect();
        of_rank.cut_steps.iter_mut().for_each(|step| *step = number(*step));
        of_rank.renumbered = of_rank.renumbered.map(|by| by.saturating_add(more));
        added.insert(rank as u32, more);
        changed.push(rank);
    }
    for (rank, link) in run.links.iter_mut() {
        let more = added.get(rank).copied().unwrap_or(0);
        link.step = link.step.saturating_add(more);
    }
    changed
}

/// By two ranks, how much greater the steps' numbers of the second are, if they nearly always are by as much.
fn differences(run: &Run) -> Differences<i64> {
    let mut counts: BTreeMap<(usize, usize), BTreeMap<i64, usize>> = BTreeMap::new();
    let mut told: Vec<(usize, i32)> = Vec::new();
    for instance in run.instances.iter().filter(|it| it.seen > 1) {
        told.clear();
        let of_ranks = run.events_of(instance).map(|event| (event.rank as usize, event.step));
        told.extend(of_ranks.filter(|(rank, _)| run.ranks[*rank].origin != StepsOrigin::Whole));
        told.sort_unstable();
        for pair in told.windows(2).filter(|pair| pair[0].0 != pair[1].0) {
            let difference = i64::from(pair[1].1) - i64::from(pair[0].1);
            *counts.entry((pair[0].0, pair[1].0)).or_default().entry(difference).or_default() += 1;
        }
    }
    let usual = |(pair, of_pair): ((usize, usize), BTreeMap<i64, usize>)| {
        let all: usize = of_pair.values().sum();
        let (difference, count) = of_pair.into_iter().max_by_key(|(_, count)| *count)?;
        (count as f64 >= SHARE * all as f64).then_some((pair, difference))
    };
    counts.into_iter().filter_map(usual).collect()
}

/// Whether a step of a rank holds collectives of several steps of others, some of which it doesn't know. `all` has the
/// steps that any rank knows.
fn joins_steps(run: &Run, all: &BTreeSet<i32>, rank: usize) -> bool {
    let of_rank = &run.ranks[rank];
    let known: BTreeSet<i32> =
        of_rank.steps.iter().map(|it| it.step).chain(of_rank.cut_steps.iter().copied()).collect();
    if of_rank.origin == StepsOrigin::Whole || known.is_superset(all) {
        return false;
    }
    let mut held: BTreeMap<i32, BTreeMap<i32, usize>> = BTreeMap::new();
    for event in of_rank.events.clone() {
        if let Some(told) = step_of_others(run, rank, event) {
            *held.entry(run.events[event].step).or_default().entry(told).or_default() += 1;
        }
    }
    held.into_values().any(|of_step| {
        let all: usize = of_step.values().sum();
        let is_held = |count: usize| count >= FEWEST && count as f64 >= HELD * all as f64;
        let of_others: Vec<i32> =
            of_step.into_iter().filter(|(_, count)| is_held(*count)).map(|(step, _)| step).collect();
        of_others.len() > 1 && of_others.iter().any(|step| !known.contains(step))
    })
}

/// Divides the whole recording of a rank into the steps of others. A step ends with its last collective; computing and
/// idle time, of which only the sums are known, are spread evenly.
fn divide(run: &mut Run, rank: usize) -> bool {
    let [whole] = run.ranks[rank].steps[..] else { return false };
    let events = run.ranks[rank].events.clone();
    let told: Vec<Option<i32>> = events.clone().map(|event| step_of_others(run, rank, event)).collect();
    let Some(first) = told.iter().copied().flatten().next() else { return false };
    if told.iter().flatten().all(|step| *step == first) {
        number_whole(run, rank, first);
        return true;
    }
    let mut lasts: BTreeMap<i32, usize> = BTreeMap::new();
    let mut step = first;
    for (event, told) in events.clone().zip(told) {
        // Nothing goes back to a step of before, and a part that nobody else tells of is in the step that goes on.
        step = step.max(told.unwrap_or(step));
        run.events[event].step = step;
        lasts.insert(step, event);
    }
    let count = lasts.len() as i64;
    let of_rank = &mut run.ranks[rank];
    let end_of_whole = of_rank.finishes.first().copied();
    let compute: i64 = of_rank.compute_ns.values().fold(0, |sum, ns| sum.saturating_add(*ns));
    let idle: i64 = of_rank.idle_ns.iter().fold(0, |sum, ns| sum.saturating_add(*ns));
    let begin = whole.start_ns.unwrap_or(run.events[events.start].start_ns);
    let until = begin.saturating_add(whole.duration_ns);
    (of_rank.steps, of_rank.finishes) = (Vec::new(), Vec::new());
    let mut start = begin;
    for (place, (&step, &last)) in lasts.iter().enumerate() {
        let is_last = place + 1 == lasts.len();
        let end = if is_last { until.max(start) } else { run.events[last].end_ns().max(start) };
        let duration_ns = end.saturating_sub(start);
        of_rank.steps.push(StepRow { step, start_ns: Some(start), duration_ns, preparing_ns: None });
        let end_ns = run.events[last].end_ns();
        let finish = FinishRow { step, pred: Some(last as u32), segment_ns: 0, end_ns };
        let whole = end_of_whole.filter(|_| is_last).map(|finish| FinishRow { step, ..finish });
        of_rank.finishes.push(whole.unwrap_or(finish));
        start = end;
    }
    of_rank.compute_ns = lasts.keys().map(|step| (*step, compute / count)).collect();
    of_rank.idle_ns = vec![idle / count; lasts.len()];
    of_rank.origin = StepsOrigin::Inferred;
    of_rank.renumbered = None;
    true
}

/// Gives the one step that a whole recording is the number that others have for it.
fn number_whole(run: &mut Run, rank: usize, number: i32) {
    let events = run.ranks[rank].events.clone();
    run.events[events].iter_mut().for_each(|event| event.step = number);
    let of_rank = &mut run.ranks[rank];
    let own = of_rank.steps.first().map_or(number, |step| step.step);
    of_rank.renumbered = of_rank.renumbered.map(|by| by.saturating_add(number.saturating_sub(own)));
    of_rank.steps.iter_mut().for_each(|step| step.step = number);
    of_rank.finishes.iter_mut().for_each(|finish| finish.step = number);
    let compute = of_rank.compute_ns.values().fold(0, |sum: i64, ns| sum.saturating_add(*ns));
    of_rank.compute_ns = [(number, compute)].into();
    of_rank.origin = StepsOrigin::Inferred;
}

/// The step that most of the other ranks of a part's collective tell.
fn step_of_others(run: &Run, rank: usize, event: usize) -> Option<i32> {
    let instance = run.instances.get(run.events[event].instance as usize)?;
    let others = run.events_of(instance).filter(|it| it.rank as usize != rank);
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    for other in others.filter(|it| run.ranks[it.rank as usize].origin == StepsOrigin::Profile) {
        *counts.entry(other.step).or_default() += 1;
    }
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(step, _)| step)
}
