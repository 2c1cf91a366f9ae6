//! Ranks that do the same, and what is typical of them.
//!
//! Peers are ranks whose groups of each use see the same types in the same order; that separates the stages of a
//! pipeline by themselves. A *slot* is a place in a step of theirs: the first, second, … collective of a use and type.
//! A rank's work before a slot is compared with that of its peers at the same slot of the same step.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use opscope_columns::Column;

use crate::absent::{Absent, Typical};
use crate::clocks::median;
use crate::discover::Role;
use crate::links::{SlowLink, SlowUses, compare, slow_links, slow_uses};
use crate::lone_groups;
use crate::predecessors::{Also, Usual};
use crate::rows::CollectiveType;
use crate::run::{Instance, Rank, Run};
use crate::slots::Slots;
use crate::slow_groups;
use crate::step_stretch::{StepStretch, least};
use crate::typical::{FEWEST, of_enough};
use crate::typical_transfers::TypicalTransfers;
use crate::typical_work::{self, TypicalWork};

/// Peers, slots and what is typical of them.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// The class of each rank: ranks of one class are peers.
    pub class: Vec<u32>,
    /// How many ranks each class has.
    pub sizes: Vec<u32>,
    /// By how much each step is longer for everybody.
    pub stretch: StepStretch,
    /// The slot of each event.
    pub slot: Column<u32>,
    /// The ordinal of each event among those of its use and type in its step.
    pub occurrence: Column<u32>,
    /// The typical work before each event.
    pub work: TypicalWork,
    /// The typical time of each rank's own in each of its steps, in their order: under computing tasks, or with nothing
    /// on the device. In nanoseconds.
    pub own: Vec<Vec<f64>>,
    /// The typical segment before the end of each rank's steps, in the order of its finishes.
    pub finish: Vec<Vec<f64>>,
    /// The typical transfer of each instance, in nanoseconds.
    pub tail: Column<f64>,
    /// Of each group, by its index, whether its transfers are longer than typical by more than chance.
    pub beyond_chance: Vec<bool>,
    /// Links that are slower than their like, the slowest first.
    pub slow_links: Vec<SlowLink>,
    /// The uses of links by groups, as indices, some of whose links are slow.
    pub slow_uses: BTreeMap<(u32, CollectiveType), SlowUses>,
    /// The groups, as indices, of which links are compared with their like.
    pub compared: BTreeSet<u32>,
    /// Groups that lack a rank and have slow transfers, by their indices, and how many times as long as those of their
    /// like these take.
    pub slow_groups: BTreeMap<u32, f64>,
    /// Members of collectives that weren't recorded.
    pub absent: Absent,
    /// Other events that each event waits for on its peers, though not on this rank this time.
    pub also: Also,
}

/// Finds peers and what is typical of them. Predecessors of events that those of their peers contradict are put right.
pub fn find(run: &mut Run) -> Peers {
    let (class, classes) = classes(run);
    let sizes = classes.iter().map(|class| class.size).collect();
    let stretch = StepStretch::of(run);
    let mut peers = Peers { class, sizes, stretch, ..Peers::default() };
    let kin = assign_slots(run, &classes, &mut peers);
    let slots = Slots { own: &peers.slot, kin: &kin };
    Usual::of_peers(run, slots).correct(run, slots);
    peers.own = typical_by_step(run, &peers, |rank| rank.own_times().collect());
    let beyond;
    (peers.work, beyond) = typical_work::find(run, slots, &peers.own, &peers.stretch);
    peers.also = Also::find(run, slots, &peers.work.segment, &beyond);
    peers.finish = typical_by_step(run, &peers, |rank| {
        rank.finishes.iter().map(|finish| (finish.step, finish.segment_ns as f64)).collect()
    });
    let classes = tail_classes(run, &peers.occurrence);
    peers.tail = typical_tails(run, &classes, &peers.stretch);
    let compared = compare(run);
    peers.compared = compared.iter().filter(|it| it.typical.is_some()).map(|it| it.group).collect();
    peers.slow_links = slow_links(run, &compared);
    peers.slow_uses = slow_uses(&compared);
    without_slow_links(run, &peers.slow_uses, &classes, &mut peers.tail);
    peers.beyond_chance = lone_groups::beyond_chance(run, &classes, &peers.tail);
    peers.slow_groups = slow_groups::find(run, &classes, &peers.tail);
    let times = |instance: &Instance| {
        let by_link = left_without_slow_links(run, &peers.slow_uses, instance).map(|share| 1.0 / share);
        by_link.or_else(|| peers.slow_groups.get(&instance.group).copied()).unwrap_or(1.0)
    };
    let as_usual = peers.tail.iter().zip(&run.instances).map(|(tail, it)| tail * times(it)).collect();
    let tails = tails_of_group(run, &classes, as_usual);
    let typical = Typical { tails: &tails, segments: &peers.work.segment, slots: &peers.slot };
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

/// The typical values of each rank's steps, in the order in which `values` gives them with their steps.
fn typical_by_step(run: &Run, peers: &Peers, values: impl Fn(&Rank) -> Vec<(i32, f64)>) -> Vec<Vec<f64>> {
    let Peers { class, stretch, .. } = peers;
    let mut of_steps: BTreeMap<(u32, i32), Vec<f64>> = BTreeMap::new();
    let mut of_classes: BTreeMap<u32, f64> = BTreeMap::new();
    for (rank, class) in run.ranks.iter().zip(class) {
        let values = values(rank);
        let of_class = of_classes.entry(*class).or_insert(f64::MAX);
        *of_class = of_class.min(least(values.iter().map(|(step, value)| (*value, stretch.at(*step)))));
        for (step, value) in values {
            of_steps.entry((*class, step)).or_default().push(value);
        }
    }
    let of_step = |(key, mut values): ((u32, i32), Vec<f64>)| {
        let of_few = || of_classes[&key.0] * stretch.at(key.1);
        (key, of_enough(&mut values).unwrap_or_else(of_few))
    };
    let typical: BTreeMap<(u32, i32), f64> = of_steps.into_iter().map(of_step).collect();
    let of_rank = |(rank, class): (&Rank, &u32)| {
        values(rank).into_iter().map(|(step, _)| typical[&(*class, step)]).collect()
    };
    run.ranks.iter().zip(class).map(of_rank).collect()
}

/// Transfers that can be compared: use, type, size, members, hosts spanned.
pub type TailClass = (Role, CollectiveType, Size, u32, usize);

/// The amount that a transfer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Size {
    /// Its bytes, in eighths of a power of two.
    Known(u32),
    /// Where the profiles don't tell: its ordinal among those of its use and type in its step. The one of that ordinal carries
    /// as much in each step.
    Unknown(u32),
}

/// The class of each instance's transfer. `occurrence` has each event's ordinal in its step.
fn tail_classes(run: &Run, occurrence: &[u32]) -> Column<TailClass> {
    let class = |instance: &Instance| {
        let first = run.first_of(instance);
        let parts = run.events_of(instance);
        let mut hosts: Vec<usize> = parts.clone().map(|event| run.ranks[event.rank as usize].host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        // The profile of a member may lack them.
        let count = parts.clone().filter(|event| event.bytes > 0).count() as u64;
        let bytes = parts.map(|event| event.bytes / count.max(1)).sum::<u64>();
        let size = match (bytes, run.parts_of(instance).first()) {
            (0, first) => Size::Unknown(first.map_or(0, |first| occurrence[*first as usize])),
            (bytes, _) => Size::Known(((bytes as f64).log2() * 8.0).round() as u32),
        };
        let kind = if first.kind == CollectiveType::Send { CollectiveType::Receive } else { first.kind };
        let role = run.groups[instance.group as usize].role;
        (role, kind, size, instance.members, hosts.len())
    };
    let mut classes: Column<TailClass> = run.instances.iter().map(class).collect();
    take_sizes_of_alike(run, occurrence, &mut classes);
    classes
}

/// Gives transfers whose amount the profiles don't tell that of others of the same place in a step, where all of those
/// carry as much: by themselves they would have no like.
fn take_sizes_of_alike(run: &Run, occurrence: &[u32], classes: &mut Column<TailClass>) {
    if classes.iter().all(|class| matches!(class.2, Size::Known(_))) {
        return;
    }
    let ordinal = |instance: &Instance| run.parts_of(instance).first().map(|part| occurrence[*part as usize]);
    let mut known: BTreeMap<(Role, CollectiveType, u32, Option<u32>), Option<Size>> = BTreeMap::new();
    for (instance, (role, kind, size, members, _)) in run.instances.iter().zip(classes.iter()) {
        if let Size::Known(_) = size {
            let of_place = known.entry((*role, *kind, *members, ordinal(instance))).or_insert(Some(*size));
            *of_place = of_place.filter(|known| known == size);
        }
    }
    for (instance, (role, kind, size, members, _)) in run.instances.iter().zip(classes.iter_mut()) {
        if let (Size::Unknown(_), Some(Some(known))) =
            (*size, known.get(&(*role, *kind, *members, ordinal(instance))))
        {
            *size = *known;
        }
    }
}

/// The typical transfer of each instance. Where a rank wasn't recorded, waiting for it looks like a longer transfer, so
/// that only those count of which all were, if there are any of the same kind: on as many hosts as it may be, else on more, or
/// on fewer.
fn typical_tails(run: &Run, classes: &[TailClass], stretch: &StepStretch) -> Column<f64> {
    let typical =
        |is_whole: bool| TypicalTransfers::of(run, classes, stretch, |it| it.is_complete() == is_whole);
    let (whole, all) = (typical(true), typical(false));
    let on = |(role, kind, size, members, _): TailClass, hosts: usize| (role, kind, size, members, hosts);
    let of_class = |(class, instance): (&TailClass, &Instance)| {
        let step = run.first_of(instance).step;
        if instance.is_complete() {
            return whole.at(class, step).unwrap_or(instance.tail);
        }
        // Who wasn't recorded may be on another host, to which transfers take longer.
        let most = class.4.saturating_add((instance.members - instance.seen.min(instance.members)) as usize);
        let possible = whole.range(on(*class, class.4)..=on(*class, most), step);
        let others = || {
            let more = whole.range(on(*class, most)..=on(*class, usize::MAX), step).next();
            more.or_else(|| whole.range(on(*class, 0)..on(*class, class.4), step).next_back())
        };
        possible
            .max_by(f64::total_cmp)
            .or_else(others)
            .or_else(|| all.at(class, step))
            .unwrap_or(instance.tail)
    };
    classes.iter().zip(&run.instances).map(of_class).collect()
}

/// Gives transfers that lack a rank the length of the same group's of which all were recorded, where there are such: whatever
/// slows its links does so in all of them.
fn tails_of_group(run: &Run, classes: &[TailClass], mut tails: Column<f64>) -> Column<f64> {
    let mut lacking = vec![false; run.groups.len()];
    run.instances.iter().filter(|it| !it.is_complete()).for_each(|it| lacking[it.group as usize] = true);
    let key = |instance: &Instance, (role, kind, size, members, _): &TailClass| {
        (instance.group, (*role, *kind, *size, *members))
    };
    let instances = || run.instances.iter().zip(classes).filter(|(it, _)| lacking[it.group as usize]);
    let mut whole: HashMap<_, Vec<f64>> = HashMap::new();
    for (instance, class) in instances().filter(|(it, _)| it.is_complete()) {
        whole.entry(key(instance, class)).or_default().push(instance.tail);
    }
    let whole: HashMap<_, f64> =
        whole.into_iter().map(|(key, mut tails)| (key, median(&mut tails))).collect();
    for ((instance, class), tail) in run.instances.iter().zip(classes).zip(tails.iter_mut()) {
        if !instance.is_complete()
            && let Some(of_group) = whole.get(&key(instance, class))
        {
            *tail = *of_group;
        }
    }
    tails
}

/// The share of a transfer that is left without slow links, where it uses some.
fn left_without_slow_links(
    run: &Run,
    uses: &BTreeMap<(u32, CollectiveType), SlowUses>,
    instance: &Instance,
) -> Option<f64> {
    uses.get(&(instance.group, run.kind_of_use(instance)))?.left(run.direction(instance))
}

/// Lowers what is typical of transfers where nearly all groups of a kind use a slow link, so that none shows how long
/// they take without it: to the share that is left of them.
fn without_slow_links(
    run: &Run,
    uses: &BTreeMap<(u32, CollectiveType), SlowUses>,
    classes: &[TailClass],
    tails: &mut [f64],
) {
    let share = |instance: &Instance| left_without_slow_links(run, uses, instance);
    let mut others: HashMap<TailClass, BTreeSet<u32>> = HashMap::new();
    for (instance, class) in run.instances.iter().zip(classes) {
        let of_class = others.entry(*class).or_default();
        if share(instance).is_none() && of_class.len() < FEWEST {
            of_class.insert(instance.group);
        }
    }
    for ((instance, class), tail) in run.instances.iter().zip(classes).zip(tails) {
        if let Some(share) = share(instance).filter(|_| others[class].len() < FEWEST) {
            *tail = tail.min(instance.tail * share);
        }
    }
}
