//! Ranks whose collectives don't end with the others' of the same group and number.
//!
//! Ranks of two runs may name groups and number collectives alike, and a rank may count from a begin that is too far off
//! to be put right. Nobody leaves a collective that all leave together before the last has come, so that all parts of one
//! end at one moment; between clocks that are apart, the differences of their ends are at least always the same. Which
//! of two ranks is the strange one, only others tell: it disagrees with most of those that it meets.

use std::collections::{BTreeMap, BTreeSet};

use crate::clocks::{median, theil_sen};
use crate::discover::jobs::numbers;
use crate::error::{Loss, LossReason};
use crate::rows::CollectiveType;
use crate::run::{Event, Run};

/// The fewest collectives by which a rank is judged, and the fewest of them with one other.
const FEWEST: usize = 16;
const FEWEST_OF_PAIR: usize = 2;

/// Of fewer nothing is usual.
const FEW: usize = 8;

/// How many collectives of a pair are looked at, and how many of its messages in either direction.
const MOST: usize = 32;

/// By how much the clock of a host may be faster than another's.
const DRIFT: f64 = 1e-4;

/// How many others a rank is compared with in a group, on either side in the order of ranks.
const NEIGHBOURS: usize = 2;

/// The deviation from the usual difference, in nanoseconds, that jitter doesn't reach.
const JITTER: f64 = 1e6;

/// The share of a part's length that the deviation must have besides.
const SHARE: f64 = 0.25;

/// By how much messages must contradict any difference of clocks, in nanoseconds: more than the jitter of leaving.
const CONTRADICTION: f64 = 3e5;

/// By how much messages between ranks of one clock must be received too early, in nanoseconds: devices of a host have
/// nearly the same, and those that haven't are known by then.
const TOO_EARLY: f64 = 1e6;

/// The fewest messages in one direction that tell anything.
const FEWEST_MESSAGES: usize = 4;

/// Leaves the collectives of strangers out, unless half of the ranks are: then nobody is a stranger to the others. Changes
/// the losses that tell of them; returns whether any were.
pub fn leave_out(run: &mut Run, strangers: &mut [Loss]) -> bool {
    let ranks: BTreeSet<u32> =
        strangers.iter().filter_map(|loss| Some(run.rank_of(loss.rank?)? as u32)).collect();
    let recorded = run.ranks.iter().filter(|rank| !rank.events.is_empty()).count();
    if ranks.is_empty() || 2 * ranks.len() >= recorded {
        return false;
    }
    let of_events = run.events.iter().filter(|event| ranks.contains(&event.rank));
    let mut left: BTreeSet<(u32, i32)> = of_events.map(|event| (event.rank, event.step)).collect();
    for rank in ranks {
        left.extend(run.ranks[rank as usize].steps.iter().map(|step| (rank, step.step)));
    }
    run.leave_out(&left);
    strangers.iter_mut().for_each(|loss| loss.reason = LossReason::StrangerLeftOut);
    true
}

/// A loss for each rank whose ends have nothing to do with those of most others.
pub fn find(run: &Run) -> Vec<Loss> {
    // By rank, with how many others it disagrees, and of how many; and the deviations from them.
    let mut votes: BTreeMap<usize, (usize, usize, Vec<f64>)> = BTreeMap::new();
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for ((a, b), differences) in
        differences(run, false).into_iter().filter(|(_, it)| it.len() >= FEWEST_OF_PAIR)
    {
        let count = differences.len();
        let deviation = deviation(&differences);
        for rank in [a, b] {
            let (against, all, deviations) = votes.entry(rank).or_default();
            *all += 1;
            *counts.entry(rank).or_default() += count;
            if deviation > JITTER.max(SHARE * length(run, rank)) {
                *against += 1;
                deviations.push(deviation);
            }
        }
    }
    let mut losses = Vec::new();
    for (rank, (against, all, mut deviations)) in votes {
        if counts[&rank] >= FEWEST && 2 * against > all {
            let of_rank = &run.ranks[rank];
            let (source, parts) = ("collectives", of_rank.events.len() as u64);
            let loss = Loss::new(Some(of_rank.number), source, LossReason::Stranger, parts);
            losses.push(loss.because(format!("± {:.1} ms", median(&mut deviations) / 1e6)));
        }
    }
    if losses.is_empty() { two_runs(run).into_iter().collect() } else { losses }
}

/// A loss where the ranks fall into parts, within each of which collectives end together, and none of the sends and
/// collectives from one part to another do. Nobody can say then which of them are the strangers.
fn two_runs(run: &Run) -> Option<Loss> {
    let contrary = contrary(run);
    let mut parts: Vec<usize> = (0..run.ranks.len()).collect();
    let mut apart: Vec<((usize, usize), usize)> = Vec::new();
    for ((a, b), differences) in
        differences(run, true).into_iter().filter(|(_, it)| it.len() >= FEWEST_OF_PAIR)
    {
        let length = length(run, a).max(length(run, b));
        if contrary.contains(&(a, b)) || deviation(&differences) > JITTER.max(SHARE * length) {
            apart.push(((a, b), differences.len()));
        } else {
            let (kept, gone) = (parts[a], parts[b]);
            parts.iter_mut().filter(|it| **it == gone).for_each(|it| *it = kept);
        }
    }
    apart.retain(|((a, b), _)| parts[*a] != parts[*b]);
    let count: usize = apart.iter().map(|(_, count)| count).sum();
    let of_part = |part: usize| -> Vec<u32> {
        let members = run.ranks.iter().zip(&parts).filter(|(_, of)| **of == part);
        members.map(|(rank, _)| rank.number).collect()
    };
    apart.retain(|((a, b), _)| [a, b].iter().all(|rank| of_part(parts[**rank]).len() > 1));
    let &((a, b), _) = apart.first().filter(|_| apart.len() > 1 && count >= FEWEST)?;
    let [a, b] = [a, b].map(|rank| numbers(of_part(parts[rank]).into_iter()));
    let loss = Loss::new(None, "collectives", LossReason::Stranger, count as u64);
    Some(loss.because(format!("{a} / {b}")))
}

/// A message between two ranks.
#[derive(Clone, Copy, Debug)]
struct Message {
    /// Whether the second of the two receives it.
    is_forth: bool,
    /// When the first one's part ended, by its own clock.
    time: f64,
    /// By how much the second one's part ended later, by theirs.
    difference: f64,
}

/// The pairs of ranks whose messages were received before they were sent, whatever their clocks show. A receive ends with
/// its send or behind it: by their clocks, the second rank's parts end behind the first one's by as much at least as its
/// clock is ahead where it receives, and by as much at most where it sends. Two runs whose steps are equally long deviate
/// too little to be told apart by that, and may still contradict this.
fn contrary(run: &Run) -> BTreeSet<(usize, usize)> {
    let is_contrary = |((a, b), messages): &((usize, usize), Vec<Message>)| {
        let differences: Vec<(f64, f64)> = messages.iter().map(|it| (it.time, it.difference)).collect();
        let left = without_drift(&differences);
        let of = |is_forth: bool| -> Vec<f64> {
            let all = messages.iter().zip(&left).filter(|(message, _)| message.is_forth == is_forth);
            all.map(|(_, difference)| *difference).collect()
        };
        let (mut forth, mut back) = (of(true), of(false));
        let (is_told_forth, is_told_back) = (forth.len() >= FEWEST_MESSAGES, back.len() >= FEWEST_MESSAGES);
        let has_one_clock = run.ranks[*a].host == run.ranks[*b].host;
        let is_too_early = (is_told_forth && median(&mut forth) < -TOO_EARLY)
            || (is_told_back && median(&mut back) > TOO_EARLY);
        let contradict =
            is_told_forth && is_told_back && quarter(&mut back, 3) - quarter(&mut forth, 1) > CONTRADICTION;
        contradict || has_one_clock && is_too_early
    };
    messages(run).into_iter().filter(is_contrary).map(|(pair, _)| pair).collect()
}

/// The messages between two ranks, of all that have such.
fn messages(run: &Run) -> BTreeMap<(usize, usize), Vec<Message>> {
    let mut messages: BTreeMap<(usize, usize), Vec<Message>> = BTreeMap::new();
    let zero = run.events.iter().map(|event| event.start_ns).min().unwrap_or(0);
    for instance in run.instances.iter().filter(|it| it.seen == 2) {
        let of = |kind: CollectiveType| run.events_of(instance).find(|event| event.kind == kind);
        let (Some(send), Some(receive)) = (of(CollectiveType::Send), of(CollectiveType::Receive)) else {
            continue;
        };
        let is_forth = send.rank < receive.rank;
        let (first, second): (&Event, &Event) = if is_forth { (send, receive) } else { (receive, send) };
        let of_pair = messages.entry((first.rank as usize, second.rank as usize)).or_default();
        // A pair's messages in one direction stand before all in the other.
        let known = of_pair.iter().filter(|it| it.is_forth == is_forth).count();
        if first.rank != second.rank && known < MOST {
            let time = first.end_ns().saturating_sub(zero) as f64;
            let difference = second.end_ns().saturating_sub(first.end_ns()) as f64;
            of_pair.push(Message { is_forth, time, difference });
        }
    }
    messages
}

/// The value below which so many quarters of some lie, of which there is one at least.
fn quarter(values: &mut [f64], quarters: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[quarters * values.len() / 4]
}

/// Some differences, each given with its time, less the drift of clocks.
fn without_drift(differences: &[(f64, f64)]) -> Vec<f64> {
    let first = differences.first().map_or(0.0, |(time, _)| *time);
    let last = differences.last().map_or(0.0, |(time, _)| *time);
    let slope = match differences.len() < FEW {
        true => 0.0,
        false => theil_sen(differences, (last - first).abs() / 4.0).clamp(-DRIFT, DRIFT),
    };
    differences.iter().map(|(time, it)| it - slope * (time - first)).collect()
}

/// How far apart some differences lie, each given with its time: the usual distance from the usual one, less the drift of
/// clocks; of few half of the greatest.
fn deviation(differences: &[(f64, f64)]) -> f64 {
    let mut left = without_drift(differences);
    let usual = median(&mut left);
    if left.len() < FEW {
        return left.last().zip(left.first()).map_or(0.0, |(greatest, least)| (greatest - least) / 2.0);
    }
    median(&mut left.iter().map(|it| (it - usual).abs()).collect::<Vec<f64>>())
}

/// The usual length of a rank's parts in collectives, in nanoseconds.
fn length(run: &Run, rank: usize) -> f64 {
    let lengths = run.events[run.ranks[rank].events.clone()].iter().map(|event| event.duration_ns as f64);
    median(&mut lengths.collect::<Vec<f64>>())
}

/// By how much the ends of one rank's parts lie behind another's, of ranks that are near one another in a group; with the
/// times of these ends, by the ranks' own clocks. Sends and receives are among them only `with_pairs`: their order alone
/// tells which belong together, which proves nothing of a single rank.
fn differences(run: &Run, with_pairs: bool) -> BTreeMap<(usize, usize), Vec<(f64, f64)>> {
    let mut differences: BTreeMap<(usize, usize), Vec<(f64, f64)>> = BTreeMap::new();
    let zero = run.events.iter().map(|event| event.start_ns).min().unwrap_or(0);
    let mut parts: Vec<(usize, i64)> = Vec::new();
    for instance in run.instances.iter().filter(|it| it.seen > 1) {
        let is_taken = |kind: CollectiveType| kind.ends_together() && (with_pairs || !kind.is_between_two());
        if !run.events_of(instance).all(|it| is_taken(it.kind)) {
            continue;
        }
        parts.clear();
        parts.extend(run.events_of(instance).map(|event| (event.rank as usize, event.end_ns())));
        parts.sort_unstable_by_key(|(rank, _)| *rank);
        for (place, (rank, end)) in parts.iter().enumerate() {
            for step in 1..=NEIGHBOURS.min(parts.len() - 1) {
                let (other, of_other) = parts[(place + step) % parts.len()];
                let (pair, (first, second)) = match *rank < other {
                    true => ((*rank, other), (*end, of_other)),
                    false => ((other, *rank), (of_other, *end)),
                };
                let of_pair = differences.entry(pair).or_default();
                if *rank != other && of_pair.len() < MOST {
                    of_pair.push((first.saturating_sub(zero) as f64, second.saturating_sub(first) as f64));
                }
            }
        }
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::stages::{Message, run};

    /// Two stages, of which first all messages go forth and then as many back, received so much later than they were sent.
    fn exchange(count: i64, later_ns: i64) -> Run {
        let message = |number: i64| {
            let (from, to) = if number < count { (0, 1) } else { (1, 0) };
            let sent_ns = 1_000_000 + number * 20_000;
            Message { step: 0, from, to, sent_ns, received_ns: sent_ns + later_ns }
        };
        run(2, 2, &(0..2 * count).map(message).collect::<Vec<_>>(), false)
    }

    #[test]
    fn messages_that_are_received_before_they_are_sent_are_seen_however_many_go_one_way_first() {
        for count in [4, 31, 32, 63, 64, 300] {
            let expected = BTreeSet::from([(0, 1)]);
            assert_eq!(contrary(&exchange(count, -800_000)), expected, "{count} messages");
            assert_eq!(contrary(&exchange(count, 5_000)), BTreeSet::new(), "{count} messages");
        }
        assert_eq!(contrary(&exchange(3, -800_000)), BTreeSet::new());
    }
}
