//! Ranks that do the same, and what is typical of them.
//!
//! Peers are ranks whose groups of each use see the same types in the same order; that separates the stages of a
//! pipeline by themselves. A *slot* is a place in a step of theirs: the how-manieth collective of a use and type.
//! A rank's work before a slot is compared with that of its peers at the same slot of the same step.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::clocks::median;
use crate::discover::Role;
use crate::predecessors::{Also, Place, Slots, Usual};
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
    /// The same with the stages of a pipeline for one another's peers, where they do the same.
    pub kin: Vec<u32>,
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

/// The fewest peers whose median is taken; of fewer it is the least of all steps.
const FEWEST: usize = 3;

/// Finds peers and what is typical of them. Predecessors of events that those of their peers contradict are put right.
pub fn find(run: &mut Run) -> Peers {
    let (class, classes) = classes(run);
    let sizes = classes.iter().map(|class| class.size).collect();
    let mut peers = Peers { class, sizes, ..Peers::default() };
    assign_slots(run, &classes, &mut peers);
    let slots = Slots { own: &peers.slot, kin: &peers.kin };
    let mut usual = Usual::of_peers(run, slots);
    usual.correct(run, slots);
    usual.add_of_kin(run, slots);
    peers.also = usual.others(run, slots);
    typical_segments(run, &mut peers);
    typical_finishes(run, &mut peers);
    typical_tails(run, &mut peers);
    peers
}

/// Ranks that are peers.
struct Class {
    size: u32,
    /// The first class that does the same but for what it exchanges with other stages.
    kin: u32,
}

/// The class of each rank, and the classes.
fn classes(run: &Run) -> (Vec<u32>, Vec<Class>) {
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
    let mut kin: BTreeMap<Vec<(Role, CollectiveType)>, u32> = BTreeMap::new();
    let mut classes: Vec<Class> = (0..known.len()).map(|_| Class { size: 0, kin: 0 }).collect();
    for (sequence, number) in known {
        let within_stage = sequence.into_iter().filter(|(role, _)| *role != Role::Pp).collect();
        classes[number as usize].kin = *kin.entry(within_stage).or_insert(number);
    }
    class.iter().for_each(|it| classes[*it as usize].size += 1);
    (class, classes)
}

fn assign_slots(run: &Run, classes: &[Class], peers: &mut Peers) {
    let mut slots: HashMap<(u32, Role, CollectiveType, u32), u32> = HashMap::new();
    let mut kin: HashMap<(u32, Role, CollectiveType, u32), u32> = HashMap::new();
    for (index, rank) in run.ranks.iter().enumerate() {
        let mut counts: HashMap<(i32, Role, CollectiveType), u32> = HashMap::new();
        for event in &run.events[rank.events.clone()] {
            let role = run.groups[event.group as usize].role;
            let count = counts.entry((event.step, role, event.kind)).or_insert(0);
            let class = peers.class[index];
            let next = slots.len() as u32;
            peers.slot.push(*slots.entry((class, role, event.kind, *count)).or_insert(next));
            let alike = if role == Role::Pp { class } else { classes[class as usize].kin };
            let next = kin.len() as u32;
            peers.kin.push(*kin.entry((alike, role, event.kind, *count)).or_insert(next));
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

/// Work is compared slot by slot: a list of all segments of a kind for each slot at once would take too much memory.
fn typical_segments(run: &Run, peers: &mut Peers) {
    let mut order: Vec<u32> = (0..run.events.len() as u32).collect();
    order.sort_unstable_by_key(|&index| (peers.slot[index as usize], run.events[index as usize].step, index));
    peers.segment = vec![f64::NAN; run.events.len()];
    let slots = Slots { own: &peers.slot, kin: &peers.kin };
    for of_slot in order.chunk_by(|a, b| slots.own[*a as usize] == slots.own[*b as usize]) {
        typical_of_slot(run, slots, of_slot, &mut peers.segment);
    }
}

/// Work after one predecessor isn't comparable with work after another: it is compared with that of peers after the
/// same, in the same step or else in all steps, where there are enough of them. The events come in the order of steps.
fn typical_of_slot(run: &Run, slots: Slots<'_>, events: &[u32], found: &mut [f64]) {
    let event = |index: &u32| &run.events[*index as usize];
    let segments =
        |events: &[u32]| -> Vec<f64> { events.iter().map(|it| event(it).segment_ns as f64).collect() };
    let is_of_one_step = |a: &u32, b: &u32| event(a).step == event(b).step;
    let of_all = segments(events);
    for of_step in events.chunk_by(is_of_one_step) {
        let typical = typical(&mut segments(of_step), &of_all);
        of_step.iter().for_each(|it| found[*it as usize] = typical);
    }
    let mut alike: BTreeMap<Option<Place>, Vec<u32>> = BTreeMap::new();
    for index in events {
        let after = event(index).pred.map(|pred| slots.place(run, event(index), pred));
        alike.entry(after).or_default().push(*index);
    }
    for events in alike.values().filter(|_| alike.len() > 1) {
        let ranks: BTreeSet<u32> = events.iter().map(|it| event(it).rank).collect();
        let of_all = (ranks.len() >= FEWEST).then(|| median(&mut segments(events)));
        for of_step in events.chunk_by(is_of_one_step) {
            let of_step_alone = (of_step.len() >= FEWEST).then(|| median(&mut segments(of_step)));
            if let Some(typical) = of_step_alone.or(of_all) {
                of_step.iter().for_each(|it| found[*it as usize] = typical);
            }
        }
    }
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
