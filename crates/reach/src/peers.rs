//! Ranks that do the same, and what is typical of them.
//!
//! Peers are ranks whose groups of each use see the same types in the same order; that separates the stages of a
//! pipeline by themselves. A *slot* is a place in a step of theirs: the how-manieth collective of a use and type.
//! A rank's work before a slot is compared with that of its peers at the same slot of the same step.

use std::collections::{BTreeMap, HashMap};

use crate::clocks::median;
use crate::discover::Role;
use crate::rows::CollectiveType;
use crate::run::Run;

/// Peers, slots and what is typical of them.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// The class of each rank: ranks of one class are peers.
    pub class: Vec<u32>,
    /// How many ranks each class has.
    pub sizes: Vec<u32>,
    /// The slot of each event.
    pub slot: Vec<u32>,
    /// How manieth of its slot's kind in its step each event is: use and type are the event's.
    pub occurrence: Vec<u32>,
    /// The typical segment before each event, in nanoseconds.
    pub segment: Vec<f64>,
    /// The typical segment before the end of each rank's steps, in the order of its finishes.
    pub finish: Vec<Vec<f64>>,
    /// The typical transfer of each instance, in nanoseconds.
    pub tail: Vec<f64>,
    /// Other events that each event waits for on its peers, though not on this rank this time.
    pub also: Also,
}

/// Some other events of each event, in one piece: a list for each would take several times the memory.
#[derive(Clone, Debug, Default)]
pub struct Also {
    /// Where the others of each event end in `others`.
    ends: Vec<u32>,
    others: Vec<(u32, f64)>,
}

impl Also {
    /// The others of an event: each by its index, with the typical segment behind it in nanoseconds.
    pub fn of(&self, event: usize) -> &[(u32, f64)] {
        let begin = event.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.others[begin as usize..self.ends[event] as usize]
    }
}

/// The fewest peers whose median is taken; of fewer it is the least of all steps.
const FEWEST: usize = 3;

/// Finds peers and what is typical of them.
pub fn find(run: &Run) -> Peers {
    let (class, sizes) = classes(run);
    let mut peers = Peers { class, sizes, ..Peers::default() };
    assign_slots(run, &mut peers);
    typical_segments(run, &mut peers);
    typical_finishes(run, &mut peers);
    typical_tails(run, &mut peers);
    other_predecessors(run, &mut peers);
    peers
}

/// The class of each rank, and the classes' sizes.
fn classes(run: &Run) -> (Vec<u32>, Vec<u32>) {
    let mut known: BTreeMap<Vec<(Role, CollectiveType)>, u32> = BTreeMap::new();
    let mut class = Vec::new();
    for rank in &run.ranks {
        let mut of_steps: BTreeMap<i32, Vec<(Role, CollectiveType)>> = BTreeMap::new();
        for event in &run.events[rank.events.clone()] {
            let role = run.groups[event.group as usize].role;
            of_steps.entry(event.step).or_default().push((role, event.kind));
        }
        // The order within a use is the program's; between uses it is a matter of time.
        let mut sequences: BTreeMap<Vec<(Role, CollectiveType)>, usize> = BTreeMap::new();
        for mut sequence in of_steps.into_values() {
            sequence.sort_by_key(|(role, _)| *role);
            *sequences.entry(sequence).or_insert(0) += 1;
        }
        let usual = sequences.into_iter().max_by_key(|(_, count)| *count).map(|(it, _)| it);
        let next = known.len() as u32;
        class.push(*known.entry(usual.unwrap_or_default()).or_insert(next));
    }
    let mut sizes = vec![0; known.len()];
    class.iter().for_each(|it| sizes[*it as usize] += 1);
    (class, sizes)
}

fn assign_slots(run: &Run, peers: &mut Peers) {
    let mut slots: HashMap<(u32, Role, CollectiveType, u32), u32> = HashMap::new();
    for (index, rank) in run.ranks.iter().enumerate() {
        let mut counts: HashMap<(i32, Role, CollectiveType), u32> = HashMap::new();
        for event in &run.events[rank.events.clone()] {
            let role = run.groups[event.group as usize].role;
            let count = counts.entry((event.step, role, event.kind)).or_insert(0);
            let next = slots.len() as u32;
            let slot = slots.entry((peers.class[index], role, event.kind, *count)).or_insert(next);
            peers.slot.push(*slot);
            peers.occurrence.push(*count);
            *count += 1;
        }
    }
}

/// The typical value of what peers have at a place: their median, of few the least of all steps.
fn typical(at_step: &mut [f64], at_all: &[f64]) -> f64 {
    match at_step.len() >= FEWEST {
        true => median(at_step),
        false => at_all.iter().copied().fold(f64::MAX, f64::min),
    }
}

fn typical_segments(run: &Run, peers: &mut Peers) {
    let mut of_slots: HashMap<u32, Vec<f64>> = HashMap::new();
    let mut of_steps: HashMap<(u32, i32), Vec<f64>> = HashMap::new();
    for (event, slot) in run.events.iter().zip(&peers.slot) {
        of_slots.entry(*slot).or_default().push(event.segment_ns as f64);
        of_steps.entry((*slot, event.step)).or_default().push(event.segment_ns as f64);
    }
    let typical: HashMap<(u32, i32), f64> = of_steps
        .into_iter()
        .map(|(key, mut values)| (key, typical(&mut values, &of_slots[&key.0])))
        .collect();
    let of_event = |(event, slot): (&crate::run::Event, &u32)| typical[&(*slot, event.step)];
    peers.segment = run.events.iter().zip(&peers.slot).map(of_event).collect();
}

fn typical_finishes(run: &Run, peers: &mut Peers) {
    let mut of_steps: BTreeMap<(u32, i32), Vec<f64>> = BTreeMap::new();
    let mut of_classes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (rank, class) in run.ranks.iter().zip(&peers.class) {
        for finish in &rank.finishes {
            of_steps.entry((*class, finish.step)).or_default().push(finish.segment_ns as f64);
            of_classes.entry(*class).or_default().push(finish.segment_ns as f64);
        }
    }
    let typical: BTreeMap<(u32, i32), f64> = of_steps
        .into_iter()
        .map(|(key, mut values)| (key, typical(&mut values, &of_classes[&key.0])))
        .collect();
    let of_rank = |(rank, class): (&crate::run::Rank, &u32)| {
        rank.finishes.iter().map(|finish| typical[&(*class, finish.step)]).collect()
    };
    peers.finish = run.ranks.iter().zip(&peers.class).map(of_rank).collect();
}

/// Transfers that can be compared: use, type, size in eighths of a power of two, members, hosts spanned.
type TailClass = (Role, CollectiveType, u32, u32, usize);

/// The class of each instance's transfer.
pub fn tail_classes(run: &Run) -> Vec<TailClass> {
    let class = |instance: &crate::run::Instance| {
        let first = &run.events[instance.events[0] as usize];
        let parts = instance.events.iter().map(|event| &run.events[*event as usize]);
        let mut hosts: Vec<usize> = parts.clone().map(|event| run.ranks[event.rank as usize].host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let count = instance.events.len() as u64;
        let bytes = parts.map(|event| event.bytes / count.max(1)).sum::<u64>();
        let size = if bytes == 0 { 0 } else { ((bytes as f64).log2() * 8.0).round() as u32 };
        let kind = if first.kind == CollectiveType::Send { CollectiveType::Receive } else { first.kind };
        let role = run.groups[instance.group as usize].role;
        (role, kind, size, instance.members, hosts.len())
    };
    run.instances.iter().map(class).collect()
}

fn typical_tails(run: &Run, peers: &mut Peers) {
    let classes = tail_classes(run);
    let mut values: HashMap<TailClass, (Vec<f64>, Vec<u32>)> = HashMap::new();
    for (instance, class) in run.instances.iter().zip(&classes) {
        let (tails, groups) = values.entry(*class).or_default();
        tails.push(instance.tail);
        groups.push(instance.group);
    }
    let typical: HashMap<TailClass, f64> = values
        .into_iter()
        .map(|(class, (mut tails, mut groups))| {
            groups.sort_unstable();
            groups.dedup();
            let middle = median(&mut tails);
            // Of one or two groups half may be slow: the quicker quarter is what the link can do.
            (class, if groups.len() < FEWEST { tails[tails.len() / 4] } else { middle })
        })
        .collect();
    peers.tail = classes.iter().map(|class| typical[class]).collect();
}

/// The share of peers from which on a predecessor is taken to hold up all of them.
const SHARE: f64 = 0.25;

/// Finds what events wait for on their peers. Where a slow transfer holds one up, its own times don't show what else
/// it needs; those of its peers do.
fn other_predecessors(run: &Run, peers: &mut Peers) {
    // For each slot: predecessors by slot and how many steps before, with their segments.
    type Seen = BTreeMap<(u32, i32), Vec<f64>>;
    let mut seen: HashMap<u32, (usize, Seen)> = HashMap::new();
    for (event, slot) in run.events.iter().zip(&peers.slot) {
        let (count, preds) = seen.entry(*slot).or_default();
        *count += 1;
        if let Some(pred) = event.pred {
            let key = (peers.slot[pred as usize], event.step - run.events[pred as usize].step);
            preds.entry(key).or_default().push(event.segment_ns as f64);
        }
    }
    let mut usual: HashMap<u32, Vec<(u32, i32, f64)>> = HashMap::new();
    for (slot, (count, preds)) in seen {
        let often = preds.into_iter().filter(|(_, segments)| segments.len() as f64 >= SHARE * count as f64);
        let often: Vec<_> =
            often.map(|((pred, back), mut segments)| (pred, back, median(&mut segments))).collect();
        if !often.is_empty() {
            usual.insert(slot, often);
        }
    }
    let also = &mut peers.also;
    also.ends.reserve_exact(run.events.len());
    for rank in &run.ranks {
        let mut places: HashMap<(u32, i32), u32> = HashMap::new();
        for index in rank.events.clone() {
            let (event, slot) = (&run.events[index], peers.slot[index]);
            places.insert((slot, event.step), index as u32);
            for &(pred_slot, back, segment) in usual.get(&slot).into_iter().flatten() {
                let Some(&pred) = places.get(&(pred_slot, event.step - back)) else { continue };
                let room = (event.start_ns - run.events[pred as usize].end_ns()) as f64;
                if Some(pred) != event.pred && room >= 0.0 {
                    also.others.push((pred, segment.min(room)));
                }
            }
            also.ends.push(also.others.len() as u32);
        }
    }
}
