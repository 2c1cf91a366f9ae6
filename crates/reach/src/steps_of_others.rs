//! Steps of ranks that tell none, or number them otherwise than the others: those of the ranks with which they share
//! collectives.

use std::collections::BTreeMap;

use crate::error::{Loss, LossReason};
use crate::rows::{FinishRow, StepRow, StepsOrigin};
use crate::run::Run;

/// The share of a step's collectives that must lie in one step of others.
const SHARE: f64 = 0.8;

/// The steps of others in which the collectives of a rank's steps lie, with how many do.
type Shared = BTreeMap<i32, BTreeMap<i32, usize>>;

/// Numbers steps as most ranks do; returns the ranks whose numbers changed as losses.
pub fn take(run: &mut Run) -> Vec<Loss> {
    let shared = shared(run);
    let mut losses = Vec::new();
    for (rank, shared) in shared.into_iter().enumerate() {
        let was_changed = match run.ranks[rank].origin {
            StepsOrigin::Whole => divide(run, rank, &shared),
            _ => renumber(run, rank, &shared),
        };
        if was_changed {
            let rank = &run.ranks[rank];
            losses.push(Loss::new(
                Some(rank.number),
                "steps",
                LossReason::StepsOfOthers,
                rank.steps.len() as u64,
            ));
        }
    }
    losses
}

/// By rank, the steps of others in which its collectives lie, as most of those others have them.
fn shared(run: &Run) -> Vec<Shared> {
    let mut ranks_of_step: BTreeMap<i32, usize> = BTreeMap::new();
    for step in run.ranks.iter().filter(|rank| rank.origin != StepsOrigin::Whole).flat_map(|rank| &rank.steps)
    {
        *ranks_of_step.entry(step.step).or_default() += 1;
    }
    let mut shared: Vec<Shared> = vec![Shared::new(); run.ranks.len()];
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    for instance in run.instances.iter().filter(|it| it.seen > 1) {
        counts.clear();
        let told =
            run.events_of(instance).filter(|it| run.ranks[it.rank as usize].origin != StepsOrigin::Whole);
        told.for_each(|event| *counts.entry(event.step).or_default() += 1);
        let most = counts.iter().max_by_key(|(step, count)| (**count, ranks_of_step.get(step).copied()));
        let Some((&step, _)) = most else { continue };
        for event in run.events_of(instance) {
            let of_step = shared[event.rank as usize].entry(event.step).or_default();
            *of_step.entry(step).or_default() += 1;
        }
    }
    shared
}

/// Gives a rank the numbers that others have for its steps, if each of its steps is one of theirs.
fn renumber(run: &mut Run, rank: usize, shared: &Shared) -> bool {
    let mut numbers: BTreeMap<i32, i32> = BTreeMap::new();
    for (step, of_others) in shared {
        let all: usize = of_others.values().sum();
        let Some((&other, &count)) = of_others.iter().max_by_key(|(_, count)| **count) else { continue };
        if (count as f64) < SHARE * all as f64 {
            return false;
        }
        numbers.insert(*step, other);
    }
    let all_known = run.ranks[rank].steps.iter().all(|step| numbers.contains_key(&step.step));
    let grows = numbers.values().zip(numbers.values().skip(1)).all(|(a, b)| a < b);
    if !all_known || !grows || numbers.iter().all(|(step, other)| step == other) {
        return false;
    }
    let number = |step: i32| numbers.get(&step).copied().unwrap_or(step);
    let events = run.ranks[rank].events.clone();
    run.events[events].iter_mut().for_each(|event| event.step = number(event.step));
    let rank = &mut run.ranks[rank];
    rank.steps.iter_mut().for_each(|step| step.step = number(step.step));
    rank.finishes.iter_mut().for_each(|finish| finish.step = number(finish.step));
    rank.compute_ns =
        std::mem::take(&mut rank.compute_ns).into_iter().map(|(step, ns)| (number(step), ns)).collect();
    true
}

/// Divides the whole recording of a rank into the steps of others. A step ends with its last collective; computing and
/// idle time, of which only the sums are known, are spread evenly.
fn divide(run: &mut Run, rank: usize, shared: &Shared) -> bool {
    let [whole] = run.ranks[rank].steps[..] else { return false };
    if shared.get(&whole.step).is_none_or(|of_others| of_others.len() < 2) {
        return false;
    }
    let events = run.ranks[rank].events.clone();
    let mut lasts: BTreeMap<i32, usize> = BTreeMap::new();
    let mut step = None;
    let told: Vec<Option<i32>> = events.clone().map(|event| step_of_others(run, rank, event)).collect();
    let first = told.iter().copied().flatten().next();
    for (event, told) in events.clone().zip(told) {
        // Nothing goes back to a step of before, and a part that nobody else tells of is in the step that goes on.
        step = step.max(told);
        run.events[event].step = step.or(first).unwrap_or(whole.step);
        lasts.insert(run.events[event].step, event);
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
        let finish =
            FinishRow { step, pred: Some(last as u32), segment_ns: 0, end_ns: run.events[last].end_ns() };
        let whole = end_of_whole.filter(|_| is_last).map(|finish| FinishRow { step, ..finish });
        of_rank.finishes.push(whole.unwrap_or(finish));
        start = end;
    }
    of_rank.compute_ns = lasts.keys().map(|step| (*step, compute / count)).collect();
    of_rank.idle_ns = vec![idle / count; lasts.len()];
    of_rank.origin = StepsOrigin::Inferred;
    true
}

/// The step that the other ranks of a part's collective tell.
fn step_of_others(run: &Run, rank: usize, event: usize) -> Option<i32> {
    let instance = run.instances.get(run.events[event].instance as usize)?;
    let others = run.events_of(instance).filter(|it| it.rank as usize != rank);
    let told = others.filter(|it| run.ranks[it.rank as usize].origin != StepsOrigin::Whole);
    told.map(|it| it.step).max()
}
