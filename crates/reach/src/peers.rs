//! Ranks that do the same, and what is typical of them.
//!
//! Peers are ranks whose groups of each use see the same types in the same order; that separates the stages of a
//! pipeline by themselves. A *slot* is a place in a step of theirs: the how-manieth collective of a use and type.
//! A rank's work before a slot is compared with that of its peers at the same slot of the same step.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::iter::repeat_n;

use opscope_columns::Column;

use crate::absent::{Absent, Typical};
use crate::clocks::median;
use crate::discover::Role;
use crate::links::{SlowLink, compare, relief, slow_links};
use crate::predecessors::{Also, Place, Slots, Usual};
use crate::rows::CollectiveType;
use crate::run::{Instance, Rank, Run};
use crate::slow_groups;

/// Peers, slots and what is typical of them.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// The class of each rank: ranks of one class are peers.
    pub class: Vec<u32>,
    /// How many ranks each class has.
    pub sizes: Vec<u32>,
    /// The slot of each event.
    pub slot: Column<u32>,
    /// How manieth of its slot's kind in its step each event is: use and type are the event's.
    pub occurrence: Column<u32>,
    /// The typical segment before each event, in nanoseconds.
    pub segment: Column<f64>,
    /// Whether the segment before each event is work after the same as on most peers, so that its length can be compared
    /// with theirs.
    pub is_alike: Column<bool>,
    /// The typical time of each rank's own in each of its steps, in their order: under computing tasks, or with nothing
    /// on the device. In nanoseconds.
    pub own: Vec<Vec<f64>>,
    /// The typical segment before the end of each rank's steps, in the order of its finishes.
    pub finish: Vec<Vec<f64>>,
    /// The typical transfer of each instance, in nanoseconds.
    pub tail: Column<f64>,
    /// Links that are slower than their like, the slowest first.
    pub slow_links: Vec<SlowLink>,
    /// Groups that lack a rank and have slow transfers, by their indices, and how many times as long as those of their
    /// like these take.
    pub slow_groups: BTreeMap<u32, f64>,
    /// Members of collectives that weren't recorded.
    pub absent: Absent,
    /// Other events that each event waits for on its peers, though not on this rank this time.
    pub also: Also,
}

/// The fewest peers whose median is taken. Of fewer it is the least of all steps.
const FEWEST: usize = 3;

/// Finds peers and what is typical of them. Predecessors of events that those of their peers contradict are put right.
pub fn find(run: &mut Run) -> Peers {
    let (class, classes) = classes(run);
    let sizes = classes.iter().map(|class| class.size).collect();
    let mut peers = Peers { class, sizes, ..Peers::default() };
    let kin = assign_slots(run, &classes, &mut peers);
    let slots = Slots { own: &peers.slot, kin: &kin };
    Usual::of_peers(run, slots).correct(run, slots);
    let mut usual = Usual::of_peers(run, slots);
    usual.add_of_kin(run, slots);
    peers.also = usual.others(run, slots);
    (peers.segment, peers.is_alike) = typical_segments(run, slots);
    peers.own = typical_by_step(run, &peers.class, |rank| own_times(rank).collect());
    peers.finish = typical_by_step(run, &peers.class, |rank| {
        rank.finishes.iter().map(|finish| (finish.step, finish.segment_ns as f64)).collect()
    });
    let classes = tail_classes(run);
    peers.tail = typical_tails(run, &classes);
    let compared = compare(run);
    peers.slow_links = slow_links(run, &compared);
    let relief = relief(&compared);
    without_slow_links(run, &relief, &classes, &mut peers.tail);
    peers.slow_groups = slow_groups::find(run, &classes, &peers.tail);
    let times = |group: u32| {
        let by_link = relief.get(&group).map(|share| 1.0 / share);
        by_link.or_else(|| peers.slow_groups.get(&group).copied()).unwrap_or(1.0)
    };
    let tails: Column<f64> =
        run.instances.iter().zip(&peers.tail).map(|(it, tail)| tail * times(it.group)).collect();
    let typical = Typical { tails: &tails, segments: &peers.segment, slots: &peers.slot };
    peers.absent = Absent::find(run, typical);
    peers
}

/// Ranks that are peers.
struct Class {
    size: u32,
    /// The class that stands for all that do the same but for what they exchange with other stages.
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

/// Gives each event its slot; returns those among kin.
fn assign_slots(run: &Run, classes: &[Class], peers: &mut Peers) -> Column<u32> {
    let mut of_kin = Column::new();
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
            of_kin.push(*kin.entry((alike, role, event.kind, *count)).or_insert(next));
            peers.occurrence.push(*count);
            *count += 1;
        }
    }
    of_kin
}

/// The typical value of what peers have at a place: their median, of few the least of all steps.
fn typical(at_step: &mut [f64], least: f64) -> f64 {
    if at_step.len() >= FEWEST { median(at_step) } else { least }
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::MAX, f64::min)
}

/// The typical segment before each event, and whether most peers have it after the same.
fn typical_segments(run: &Run, slots: Slots<'_>) -> (Column<f64>, Column<bool>) {
    // Of work that isn't known nothing is typical.
    let is_known = |index: &u32| !run.events[*index as usize].is_after_gap;
    let mut order: Column<u32> = (0..run.events.len() as u32).filter(is_known).collect();
    order.sort_unstable_by_key(|&index| (slots.own[index as usize], run.events[index as usize].step, index));
    let count = run.events.len();
    let mut found = (repeat_n(f64::NAN, count).collect(), repeat_n(false, count).collect());
    for of_slot in order.chunk_by(|a, b| slots.own[*a as usize] == slots.own[*b as usize]) {
        typical_of_slot(run, slots, of_slot, &mut found);
    }
    found
}

/// Finds what is typical in a slot, whose events come in the order of steps. Work after one predecessor isn't comparable
/// with work after another: where most events come after the same, they are compared with one another alone. Of the
/// others that can't be said: where few ranks are slow, that is why they come after something else.
fn typical_of_slot(
    run: &Run,
    slots: Slots<'_>,
    events: &[u32],
    (found, is_alike): &mut (Column<f64>, Column<bool>),
) {
    let event = |index: &u32| &run.events[*index as usize];
    let segments =
        |events: &[u32]| -> Vec<f64> { events.iter().map(|it| event(it).segment_ns as f64).collect() };
    let is_of_one_step = |a: &u32, b: &u32| event(a).step == event(b).step;
    let least = least(&segments(events));
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    for of_step in events.chunk_by(is_of_one_step) {
        counts.insert(event(&of_step[0]).step, of_step.len());
        let typical = typical(&mut segments(of_step), least);
        of_step.iter().for_each(|it| found[*it as usize] = typical);
    }
    let mut alike: BTreeMap<Option<Place>, Vec<u32>> = BTreeMap::new();
    for index in events {
        let after = event(index).pred.map(|pred| slots.place(run, event(index), pred));
        alike.entry(after).or_default().push(*index);
    }
    for alike in alike.into_values() {
        for of_step in alike.chunk_by(is_of_one_step) {
            if 2 * of_step.len() < counts[&event(&of_step[0]).step] {
                continue;
            }
            of_step.iter().for_each(|it| is_alike[*it as usize] = true);
            if of_step.len() >= FEWEST {
                let typical = median(&mut segments(of_step));
                of_step.iter().for_each(|it| found[*it as usize] = typical);
            }
        }
    }
}

/// The time of a rank's own in each of its steps: under computing tasks, or with nothing on the device, in nanoseconds.
pub fn own_times(rank: &Rank) -> impl Iterator<Item = (i32, f64)> + '_ {
    let idle = rank.idle_ns.iter().copied().chain(std::iter::repeat(0));
    let of_step = |(step, idle): (&crate::rows::StepRow, i64)| {
        let compute = rank.compute_ns.get(&step.step).copied().unwrap_or_default();
        (step.step, compute as f64 + idle as f64)
    };
    rank.steps.iter().zip(idle).map(of_step)
}

/// The typical values of each rank's steps, in the order in which `values` gives them with their steps.
fn typical_by_step(run: &Run, class: &[u32], values: impl Fn(&Rank) -> Vec<(i32, f64)>) -> Vec<Vec<f64>> {
    let mut of_steps: BTreeMap<(u32, i32), Vec<f64>> = BTreeMap::new();
    let mut least: BTreeMap<u32, f64> = BTreeMap::new();
    for (rank, class) in run.ranks.iter().zip(class) {
        for (step, value) in values(rank) {
            of_steps.entry((*class, step)).or_default().push(value);
            let least = least.entry(*class).or_insert(f64::MAX);
            *least = least.min(value);
        }
    }
    let typical: BTreeMap<(u32, i32), f64> =
        of_steps.into_iter().map(|(key, mut values)| (key, typical(&mut values, least[&key.0]))).collect();
    let of_rank = |(rank, class): (&Rank, &u32)| {
        values(rank).into_iter().map(|(step, _)| typical[&(*class, step)]).collect()
    };
    run.ranks.iter().zip(class).map(of_rank).collect()
}

/// Transfers that can be compared: use, type, size in eighths of a power of two, members, hosts spanned.
pub type TailClass = (Role, CollectiveType, u32, u32, usize);

/// The class of each instance's transfer.
pub fn tail_classes(run: &Run) -> Column<TailClass> {
    let class = |instance: &Instance| {
        let first = run.first_of(instance);
        let parts = run.events_of(instance);
        let mut hosts: Vec<usize> = parts.clone().map(|event| run.ranks[event.rank as usize].host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        // The profile of a member may lack them.
        let count = parts.clone().filter(|event| event.bytes > 0).count() as u64;
        let bytes = parts.map(|event| event.bytes / count.max(1)).sum::<u64>();
        let size = if bytes == 0 { 0 } else { ((bytes as f64).log2() * 8.0).round() as u32 };
        let kind = if first.kind == CollectiveType::Send { CollectiveType::Receive } else { first.kind };
        let role = run.groups[instance.group as usize].role;
        (role, kind, size, instance.members, hosts.len())
    };
    run.instances.iter().map(class).collect()
}

/// The lengths of transfers of one class, and the groups that they are of.
#[derive(Default)]
struct Transfers {
    tails: Vec<f64>,
    groups: Vec<u32>,
}

impl Transfers {
    fn add(&mut self, instance: &Instance) {
        self.tails.push(instance.tail);
        self.groups.push(instance.group);
    }

    fn typical(mut self) -> f64 {
        self.groups.sort_unstable();
        self.groups.dedup();
        let middle = median(&mut self.tails);
        // Of one or two groups half may be slow: the quicker quarter is what the link can do.
        if self.groups.len() < FEWEST { self.tails[self.tails.len() / 4] } else { middle }
    }
}

/// The typical transfer of each instance. Where a rank wasn't recorded, waiting for it looks like a longer transfer, so
/// that only those count of which all were, if there are any of the same kind: on as many hosts as it may be, else on more, or
/// on fewer.
fn typical_tails(run: &Run, classes: &[TailClass]) -> Column<f64> {
    let (mut whole, mut all) = (BTreeMap::new(), BTreeMap::new());
    for (instance, class) in run.instances.iter().zip(classes) {
        if instance.is_complete() {
            whole.entry(*class).or_insert_with(Transfers::default).add(instance);
        } else {
            all.entry(*class).or_insert_with(Transfers::default).add(instance);
        }
    }
    let typical = |classes: BTreeMap<TailClass, Transfers>| -> BTreeMap<TailClass, f64> {
        classes.into_iter().map(|(class, transfers)| (class, transfers.typical())).collect()
    };
    let (whole, all) = (typical(whole), typical(all));
    let on = |(role, kind, size, members, _): TailClass, hosts: usize| (role, kind, size, members, hosts);
    let of_class = |(class, instance): (&TailClass, &Instance)| {
        if let Some(typical) = whole.get(class).filter(|_| instance.is_complete()) {
            return *typical;
        }
        // Who wasn't recorded may be on another host, to which transfers take longer.
        let most = class.4.saturating_add((instance.members - instance.seen.min(instance.members)) as usize);
        let possible = whole.range(on(*class, class.4)..=on(*class, most)).map(|(_, typical)| *typical);
        let others = || {
            let more = whole.range(on(*class, most)..=on(*class, usize::MAX)).next();
            more.or_else(|| whole.range(on(*class, 0)..on(*class, class.4)).next_back())
        };
        possible
            .max_by(f64::total_cmp)
            .or_else(|| others().map(|(_, typical)| *typical))
            .unwrap_or_else(|| all[class])
    };
    classes.iter().zip(&run.instances).map(of_class).collect()
}

/// Lowers what is typical of transfers where nearly all groups of a kind use a slow link, so that none shows how long
/// they take without it: as much shorter as the link is slower than the slowest of the group's others.
fn without_slow_links(run: &Run, ratios: &BTreeMap<u32, f64>, classes: &[TailClass], tails: &mut [f64]) {
    let mut others: HashMap<TailClass, BTreeSet<u32>> = HashMap::new();
    for (instance, class) in run.instances.iter().zip(classes) {
        let of_class = others.entry(*class).or_default();
        if !ratios.contains_key(&instance.group) && of_class.len() < FEWEST {
            of_class.insert(instance.group);
        }
    }
    for ((instance, class), tail) in run.instances.iter().zip(classes).zip(tails) {
        if let Some(ratio) = ratios.get(&instance.group).filter(|_| others[class].len() < FEWEST) {
            *tail = tail.min(instance.tail * ratio);
        }
    }
}
