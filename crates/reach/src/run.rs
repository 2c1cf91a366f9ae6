//! All ranks of a run side by side: the tables that matching, clocks, peers and replay share. Ranks, hosts and
//! groups are numbered densely here, in the order of their names, so that every order of folders gives the same.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::repeat_n;
use std::ops::Range;

use opscope_columns::Column;

use crate::discover::collected::Options;
use crate::discover::{Discovery, Role};
use crate::gathered::{Gathered, Rows};
use crate::rows::{CollectiveRow, CollectiveType, FinishRow, LinkRow, RankRows, StepRow, StepsOrigin};

/// A rank of the run.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its number in the run.
    pub number: u32,
    /// Its host, as an index of [`Run::hosts`].
    pub host: usize,
    /// The device's number on its host.
    pub device: Option<u32>,
    /// The options that it was recorded with.
    pub collected: Options,
    /// Its rows of [`Run::events`], in the order of starts.
    pub events: Range<usize>,
    /// Its steps.
    pub steps: Vec<StepRow>,
    /// Further ones that were left out, because it lost most of their collectives.
    pub cut_steps: Vec<i32>,
    /// Further ones that were left out, because hardly any other rank has them.
    pub steps_of_few: Vec<i32>,
    /// All that were left out, for whatever reason.
    pub left_out: Vec<StepRow>,
    /// The source of its steps.
    pub origin: StepsOrigin,
    /// By how much the run's numbers of its steps are greater than its own; `None` where its recording was divided into
    /// the steps of others, which it doesn't have itself.
    pub renumbered: Option<i32>,
    /// The ends of its steps; predecessors are indices of [`Run::events`].
    pub finishes: Vec<FinishRow>,
    /// Its time under computing, by step.
    pub compute_ns: BTreeMap<i32, i64>,
    /// The time in which nothing ran on the device, of each of its steps.
    pub idle_ns: Vec<i64>,
    /// How many computing tasks it has.
    pub operators: u64,
    /// The frequency of its AI Cores in MHz, as most of its samples have it (their median).
    pub frequency_mhz: Option<f64>,
}

impl Rank {
    /// How many steps were recorded of it, those that were left out among them; one at least.
    pub fn recorded_steps(&self) -> f64 {
        (self.steps.len() + self.left_out.len()).max(1) as f64
    }

    /// How many steps its operators are of once those [that were left out](Self::times_left_out) are gone; one at least.
    pub fn kept_steps(&self) -> f64 {
        self.steps.len().max(1) as f64
    }

    /// Its own number of a step of the run, which its tables in a set have; `None` where it doesn't have that by itself.
    pub fn own_step(&self, step: i32) -> Option<i32> {
        self.renumbered.map(|by| step.saturating_sub(by))
    }

    /// The times in which steps lie that were left out.
    pub fn times_left_out(&self) -> LeftOut {
        LeftOut::of(&self.steps, &self.left_out)
    }

    /// Whether nothing of it was recorded.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.steps.is_empty() && self.operators == 0
    }

    /// The time of its own in each of its steps: under computing tasks, or with nothing on the device, in nanoseconds.
    pub fn own_times(&self) -> impl Iterator<Item = (i32, f64)> + '_ {
        let idle = self.idle_ns.iter().copied().chain(std::iter::repeat(0));
        let of_step = |(step, idle): (&StepRow, i64)| {
            let compute = self.compute_ns.get(&step.step).copied().unwrap_or_default();
            (step.step, compute as f64 + idle as f64)
        };
        self.steps.iter().zip(idle).map(of_step)
    }
}

/// Times of steps that were left out: of one that was cut, operators are there in part, and count neither as a step nor in
/// those that are whole.
#[derive(Clone, Debug, Default)]
pub struct LeftOut {
    /// The begins of all steps by the rank's own clock, in order, each with whether it was left out.
    begins: Vec<(i64, bool)>,
}

impl LeftOut {
    /// The times of some steps beside those that were kept.
    pub fn of(kept: &[StepRow], left_out: &[StepRow]) -> Self {
        let begin = |step: &StepRow| step.start_ns.unwrap_or(i64::MIN);
        let kept = kept.iter().map(|step| (begin(step), false));
        let left_out = left_out.iter().map(|step| (begin(step), true));
        let mut begins: Vec<(i64, bool)> = kept.chain(left_out).collect();
        begins.sort_unstable();
        Self { begins }
    }

    /// Whether a time lies in a step that was left out: a step lasts until the next one.
    pub fn has(&self, time: i64) -> bool {
        let begun = self.begins.partition_point(|(begin, _)| *begin <= time);
        self.begins.get(begun.saturating_sub(1)).is_some_and(|(_, is_left_out)| *is_left_out)
    }
}

/// A group of ranks that communicate.
#[derive(Clone, Debug)]
pub struct RunGroup {
    /// The vendor's number of its name.
    pub key: u64,
    /// Its use.
    pub role: Role,
    /// Its members' numbers, by their places.
    pub ranks: Vec<u32>,
    /// Whether a profile declares its members; otherwise they are the ranks that were seen in it.
    pub is_declared: bool,
    /// How many more members it has that weren't recorded, and of which nothing tells who they are.
    pub unnamed: u32,
    /// The members whose places are told, where there are such: then their order doesn't tell their places.
    pub places: BTreeMap<u32, u32>,
}

impl RunGroup {
    /// How many members it has.
    pub fn size(&self) -> u32 {
        (self.ranks.len() as u32).saturating_add(self.unnamed)
    }

    /// The number of the member at a place.
    pub fn member(&self, place: u32) -> Option<u32> {
        match self.unnamed {
            0 => self.ranks.get(place as usize).copied(),
            _ => self.places.get(&place).copied(),
        }
    }

    /// The place of a member.
    pub fn place_of(&self, number: u32) -> Option<u32> {
        match self.unnamed {
            0 => self.ranks.iter().position(|rank| *rank == number).map(|place| place as u32),
            _ => self.places.iter().find(|(_, rank)| **rank == number).map(|(place, _)| *place),
        }
    }
}

/// A rank's part in a collective.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The rank, as an index of [`Run::ranks`].
    pub rank: u32,
    /// Its place among the rank's collectives by their starts, from 0 on; steps that are left out count as well.
    pub place: u32,
    /// The group, as an index of [`Run::groups`].
    pub group: u32,
    /// The operation.
    pub kind: CollectiveType,
    /// The step.
    pub step: i32,
    /// The number within the group, aligned with the other members'.
    pub sequence: i32,
    /// The other side of a send or receive, by its place in the group.
    pub peer: Option<u32>,
    /// The bytes that the rank contributes; of the vendor's texts those that it passed over links.
    pub bytes: u64,
    /// The start by the rank's own clock.
    pub start_ns: i64,
    /// The length.
    pub duration_ns: i64,
    /// The event from whose end the rank was on its own.
    pub pred: Option<u32>,
    /// The work between.
    pub segment_ns: i64,
    /// Whether a step was left out before it, so that nothing is known of the work between.
    pub is_after_gap: bool,
    /// The rank's event before it in the same group: they follow one another.
    pub before_in_group: Option<u32>,
    /// Time that no computing hides.
    pub exposed_ns: i64,
    /// The begin of the longest such stretch, by the rank's own clock.
    pub exposed_start_ns: i64,
    /// The length of that stretch.
    pub exposed_longest_ns: i64,
    /// The start on the common clock, in nanoseconds.
    pub start: f64,
    /// The instance that it is part of, as an index of [`Run::instances`].
    pub instance: u32,
}

impl Event {
    /// The end by the rank's own clock.
    pub fn end_ns(&self) -> i64 {
        self.start_ns + self.duration_ns
    }

    /// The end on the common clock.
    pub fn end(&self) -> f64 {
        self.start + self.duration_ns as f64
    }
}

/// A collective of several ranks. [`Run::parts_of`] gives its parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Instance {
    /// The group.
    pub group: u32,
    /// Where its parts begin in [`Run::parts`].
    pub first: u32,
    /// How many of its parts were recorded; one at least.
    pub seen: u32,
    /// How many ranks take part.
    pub members: u32,
    /// When the last rank came, on the common clock: the transfer's begin.
    pub begin: f64,
    /// The transfer's mean length over the parts.
    pub tail: f64,
}

impl Instance {
    /// Whether all its ranks were recorded.
    pub fn is_complete(&self) -> bool {
        self.seen >= self.members
    }
}

/// All ranks of a run. There are as many parts and collectives as ranks and steps together, so that they lie in columns,
/// which move to files where they are large.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The hosts' names.
    pub hosts: Vec<String>,
    /// The ranks, by number.
    pub ranks: Vec<Rank>,
    /// The groups, by key.
    pub groups: Vec<RunGroup>,
    /// The parts in collectives, rank by rank.
    pub events: Column<Event>,
    /// The collectives, in the order of their transfers' begins.
    pub instances: Column<Instance>,
    /// The parts of each collective, one after the other, as indices of [`Run::events`].
    pub parts: Column<u32>,
    /// The traffic over links, with the rank's index; groups are given by key.
    pub links: Column<(u32, LinkRow)>,
}

/// An event whose place is known and nothing else.
const NOT_YET: Event = Event {
    rank: u32::MAX,
    place: 0,
    group: 0,
    kind: CollectiveType::Other,
    step: 0,
    sequence: 0,
    peer: None,
    bytes: 0,
    start_ns: 0,
    duration_ns: 0,
    pred: None,
    segment_ns: 0,
    is_after_gap: false,
    before_in_group: None,
    exposed_ns: 0,
    exposed_start_ns: 0,
    exposed_longest_ns: 0,
    start: 0.0,
    instance: 0,
};

/// Facts about all parts in collectives that are needed before the first takes its place: there are so many that they
/// are in memory but once.
#[derive(Debug)]
pub(crate) struct Outline {
    /// Of each group, by its key, the ranks that were seen in it, and whether nothing was but sends and receives.
    groups: BTreeMap<u64, (Vec<u32>, bool)>,
    /// How many parts each rank has, in the order of the ranks.
    counts: Vec<usize>,
}

impl Outline {
    /// That of so many ranks without any part.
    pub(crate) fn of_ranks(count: usize) -> Self {
        Self { groups: BTreeMap::new(), counts: vec![0; count] }
    }

    /// Adds a part of a rank, which is given by its index and by its number.
    pub(crate) fn note(&mut self, index: usize, rank: u32, group_key: u64, kind: CollectiveType) {
        self.counts[index] += 1;
        let (ranks, only_pairs) = self.groups.entry(group_key).or_insert((Vec::new(), true));
        if ranks.last() != Some(&rank) {
            ranks.push(rank);
        }
        *only_pairs &= kind.is_between_two();
    }
}

impl Run {
    /// Puts ranks side by side, in the order of `collections`.
    pub(crate) fn of_gathered(discovery: &Discovery, all: &Rows, ranks: Vec<Gathered>) -> Self {
        let mut outline = Outline::of_ranks(ranks.len());
        for (index, (collection, rank)) in discovery.collections.iter().zip(&ranks).enumerate() {
            for row in &all.parts[rank.parts.clone()] {
                outline.note(index, collection.rank, row.group_key, row.kind);
            }
        }
        let mut run = Self::with_room(discovery, outline);
        for (index, rank) in ranks.into_iter().enumerate() {
            for (place, row) in all.parts[rank.parts].iter().enumerate() {
                run.put(index, place, row);
            }
            run.links.extend(all.links[rank.links].iter().map(|row| (index as u32, *row)));
            run.complete(index, rank.rows);
        }
        run
    }

    /// The ranks and groups, with room for the parts.
    pub(crate) fn with_room(discovery: &Discovery, outline: Outline) -> Self {
        let mut run = Self::default();
        let names: BTreeMap<&str, usize> =
            discovery.collections.iter().map(|collection| (collection.host.as_str(), 0)).collect();
        run.hosts = names.keys().map(|name| (*name).to_owned()).collect();
        for (key, (mut ranks, only_pairs)) in outline.groups {
            ranks.sort_unstable();
            ranks.dedup();
            let declared = discovery.groups.get(&key);
            let ranks = declared.map_or(ranks, |group| group.ranks.clone());
            // The shape is a guess, which a name that tells another use would contradict.
            let named = declared.filter(|group| group.role != Role::Other || !group.is_nameless());
            let role = named.map_or_else(|| Role::of_shape(&ranks, only_pairs), |group| group.role);
            let is_declared = declared.is_some();
            run.groups.push(RunGroup { key, role, ranks, is_declared, unnamed: 0, places: BTreeMap::new() });
        }
        run.events = repeat_n(NOT_YET, outline.counts.iter().sum()).collect();
        let mut first = 0;
        for (collection, count) in discovery.collections.iter().zip(outline.counts) {
            run.ranks.push(Rank {
                number: collection.rank,
                host: run.hosts.iter().position(|host| *host == collection.host).unwrap_or(0),
                device: collection.device,
                collected: Options::clone(&collection.collected),
                events: first..first + count,
                steps: Vec::new(),
                origin: StepsOrigin::default(),
                renumbered: Some(0),
                finishes: Vec::new(),
                compute_ns: BTreeMap::new(),
                idle_ns: Vec::new(),
                cut_steps: Vec::new(),
                steps_of_few: Vec::new(),
                left_out: Vec::new(),
                operators: 0,
                frequency_mhz: None,
            });
            first += count;
        }
        run
    }

    /// Puts a rank's part at its place in the order of starts; false where that is taken, or there are fewer places.
    pub(crate) fn put(&mut self, rank: usize, place: usize, row: &CollectiveRow) -> bool {
        let events = self.ranks[rank].events.clone();
        let Some(event) = self.events[events.clone()].get_mut(place) else { return false };
        let group = self.groups.binary_search_by_key(&row.group_key, |group| group.key).unwrap_or(0);
        let is_free = event.rank == NOT_YET.rank;
        *event = Event {
            rank: rank as u32,
            place: place as u32,
            group: group as u32,
            kind: row.kind,
            step: row.step,
            sequence: row.sequence,
            peer: row.peer,
            bytes: row.bytes,
            start_ns: row.start_ns,
            duration_ns: row.duration_ns,
            pred: row.pred.map(|pred| events.start as u32 + pred),
            segment_ns: row.segment_ns,
            is_after_gap: false,
            before_in_group: None,
            exposed_ns: row.exposed_ns,
            exposed_start_ns: row.exposed_start_ns,
            exposed_longest_ns: row.exposed_longest_ns,
            start: 0.0,
            instance: 0,
        };
        is_free
    }

    /// Whether all parts of a rank are at their places.
    pub(crate) fn is_placed(&self, rank: usize) -> bool {
        self.events[self.ranks[rank].events.clone()].iter().all(|event| event.rank != NOT_YET.rank)
    }

    /// Adds the rest of a rank whose parts are at their places, and whose traffic is there.
    pub(crate) fn complete(&mut self, rank: usize, rows: RankRows) {
        self.chain_groups(rank);
        let events = self.ranks[rank].events.clone();
        let global = |pred: Option<u32>| pred.map(|pred| events.start as u32 + pred);
        let finishes = rows.finishes.into_iter().map(|row| FinishRow { pred: global(row.pred), ..row });
        let of_rank = &mut self.ranks[rank];
        of_rank.finishes = finishes.collect();
        (of_rank.steps, of_rank.origin) = (rows.steps, rows.origin);
        of_rank.compute_ns = rows.compute_ns.into_iter().collect();
        of_rank.idle_ns = rows.idle_ns;
        of_rank.operators = rows.operators;
        of_rank.frequency_mhz = rows.frequency_mhz;
    }

    /// Puts the traffic in the order of ranks, where it isn't.
    pub(crate) fn sort_links(&mut self) {
        if !self.links.is_sorted_by_key(|(rank, _)| *rank) {
            self.links.sort_by_key(|(rank, _)| *rank);
        }
    }

    /// Notes the event before each of a rank's in its group.
    fn chain_groups(&mut self, rank: usize) {
        let mut last_of_group: BTreeMap<u32, u32> = BTreeMap::new();
        for index in self.ranks[rank].events.clone() {
            let event = &mut self.events[index];
            event.before_in_group = last_of_group.insert(event.group, index as u32);
        }
    }

    /// Leaves steps of ranks, which are given by their indices, out: parts, ends and times.
    pub(crate) fn leave_out(&mut self, left: &BTreeSet<(u32, i32)>) {
        let is_kept = |rank: usize, step: i32| !left.contains(&(rank as u32, step));
        let mut kept = 0;
        let place = |event: &Event| {
            is_kept(event.rank as usize, event.step).then(|| {
                kept += 1;
                kept - 1
            })
        };
        let places: Column<Option<u32>> = self.events.iter().map(place).collect();
        let placed = |index: Option<u32>| index.and_then(|index| places[index as usize]);
        let steps: Column<i32> = self.events.iter().map(|event| event.step).collect();
        for event in self.events.iter_mut() {
            // A step that was lost whole has no part that could be the one before.
            let since = event.pred.map_or(i32::MIN, |pred| steps[pred as usize]);
            let is_step_between = since < event.step
                && left.range((event.rank, since)..(event.rank, event.step)).next().is_some();
            let pred = placed(event.pred);
            if is_step_between || event.pred.is_some() && pred.is_none() {
                (event.pred, event.segment_ns, event.is_after_gap) = (None, 0, true);
            } else {
                event.pred = pred;
            }
        }
        self.events.retain(|event| is_kept(event.rank as usize, event.step));
        let mut first = 0;
        for (index, rank) in self.ranks.iter_mut().enumerate() {
            let count = places[rank.events.clone()].iter().flatten().count();
            rank.events = first..first + count;
            first += count;
            rank.finishes.retain_mut(|finish| {
                finish.pred = placed(finish.pred);
                is_kept(index, finish.step)
            });
            let mut steps = rank.steps.iter();
            rank.idle_ns.retain(|_| steps.next().is_none_or(|step| is_kept(index, step.step)));
            rank.left_out.extend(rank.steps.iter().filter(|step| !is_kept(index, step.step)));
            rank.steps.retain(|step| is_kept(index, step.step));
            rank.compute_ns.retain(|step, _| is_kept(index, *step));
        }
        self.links.retain(|(rank, link)| is_kept(*rank as usize, link.step));
        (0..self.ranks.len()).for_each(|rank| self.chain_groups(rank));
    }

    /// Takes the whole recording of a rank, which is given by its index, as one step.
    pub(crate) fn join_steps(&mut self, rank: usize) {
        let events = self.ranks[rank].events.clone();
        self.events[events].iter_mut().for_each(|event| event.step = 0);
        let rank = &mut self.ranks[rank];
        let last = rank.finishes.iter().copied().max_by_key(|finish| finish.end_ns);
        rank.finishes = last.map(|finish| FinishRow { step: 0, ..finish }).into_iter().collect();
        let duration_ns = rank.steps.iter().fold(0, |sum: i64, step| sum.saturating_add(step.duration_ns));
        let start_ns = rank.steps.first().and_then(|step| step.start_ns);
        rank.steps = vec![StepRow { step: 0, start_ns, duration_ns, preparing_ns: None }];
        let sum = |times: &mut dyn Iterator<Item = i64>| times.fold(0, i64::saturating_add);
        rank.compute_ns = BTreeMap::from([(0, sum(&mut rank.compute_ns.values().copied()))]);
        rank.idle_ns = vec![sum(&mut rank.idle_ns.iter().copied())];
        rank.origin = StepsOrigin::Whole;
        rank.renumbered = None;
    }

    /// The parts of a collective, as indices of [`Run::events`].
    pub fn parts_of(&self, instance: &Instance) -> &[u32] {
        &self.parts[instance.first as usize..][..instance.seen as usize]
    }

    /// The parts of a collective.
    pub fn events_of(&self, instance: &Instance) -> impl Iterator<Item = &Event> + Clone {
        self.parts_of(instance).iter().map(|part| &self.events[*part as usize])
    }

    /// The first part of a collective.
    pub fn first_of(&self, instance: &Instance) -> &Event {
        &self.events[self.parts[instance.first as usize] as usize]
    }

    /// The operation by which uses of links are known: that of the sender, of sends and receives.
    pub fn kind_of_use(&self, instance: &Instance) -> CollectiveType {
        match self.first_of(instance).kind {
            CollectiveType::Receive => CollectiveType::Send,
            kind => kind,
        }
    }

    /// The sender and the receiver of a collective between two, as indices of ranks; the one that wasn't recorded by the place
    /// that the other tells. `None` of other collectives, and where that isn't told.
    pub fn direction(&self, instance: &Instance) -> Option<(usize, usize)> {
        let side = |own: CollectiveType| {
            let of_kind = self.events_of(instance).find(|event| event.kind == own);
            let told = || {
                let other = self.events_of(instance).find(|event| event.kind.is_between_two())?;
                self.rank_of(self.groups[other.group as usize].member(other.peer?)?)
            };
            of_kind.map(|event| event.rank as usize).or_else(told)
        };
        if !self.first_of(instance).kind.is_between_two() {
            return None;
        }
        side(CollectiveType::Send).zip(side(CollectiveType::Receive))
    }

    /// The index of a rank by its number.
    pub fn rank_of(&self, number: u32) -> Option<usize> {
        self.ranks.binary_search_by_key(&number, |rank| rank.number).ok()
    }

    /// Whether any collective of a rank was recorded, which is given by its number.
    pub fn is_recorded(&self, number: u32) -> bool {
        self.rank_of(number).is_some_and(|rank| !self.ranks[rank].events.is_empty())
    }

    /// Whether a rank, which is given by its index, has steps and collectives: one without waits at unknown times, or in
    /// none, so that nothing of it can stand in means over ranks.
    pub fn counts(&self, rank: usize) -> bool {
        !self.ranks[rank].events.is_empty() && !self.ranks[rank].steps.is_empty()
    }

    /// When a rank, which is given by its index, began to work before its first collective: by its own clock and by the common
    /// one. `None` where a step was left out before that.
    pub fn begin_of(&self, rank: u32) -> Option<(i64, f64)> {
        let events = &self.events[self.ranks[rank as usize].events.clone()];
        let first = events.first().filter(|first| first.pred.is_none() && !first.is_after_gap)?;
        let begin_ns = first.start_ns.saturating_sub(first.segment_ns);
        Some((begin_ns, first.start - first.segment_ns as f64))
    }

    /// How many steps of a run of so many a rank has, which is given by its index; one that tells none has all.
    pub fn steps_of(&self, rank: usize, of_run: usize) -> usize {
        match &self.ranks[rank] {
            Rank { origin: StepsOrigin::Whole, .. } => of_run,
            rank => rank.finishes.len(),
        }
    }

    /// The name of a rank's place, such as `host6:1`.
    pub fn place(&self, rank: usize) -> String {
        let rank = &self.ranks[rank];
        match rank.device {
            Some(device) => format!("{}:{device}", self.hosts[rank.host]),
            None => self.hosts[rank.host].clone(),
        }
    }

    /// The end of a rank's step on the common clock; `None` where no collective ties it to the other ranks.
    pub fn end_of(&self, finish: &FinishRow) -> Option<f64> {
        let event = &self.events[finish.pred? as usize];
        Some(event.end() + (finish.end_ns - event.end_ns()) as f64)
    }

    /// The numbers of all steps in order. A rank that tells none, and has no collectives to find them by, has no part in
    /// them.
    pub fn steps(&self) -> Vec<i32> {
        let has_part = |rank: &&Rank| rank.origin != StepsOrigin::Whole || !rank.events.is_empty();
        let ranks = self.ranks.iter().filter(has_part);
        let mut steps: Vec<i32> =
            ranks.flat_map(|rank| rank.finishes.iter().map(|finish| finish.step)).collect();
        steps.sort_unstable();
        steps.dedup();
        steps
    }
}
