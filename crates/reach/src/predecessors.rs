//! The collectives that an event waits for on its peers.
//!
//! A rank's own times show only which collective ended last before an event began. What else it needs, and whether
//! that one held it up at all or merely ended at the time, the same event on its peers shows: a transfer in the
//! background begins when the one before it has ended *and* its data are computed, on one rank later by the one and
//! on another by the other.

use std::collections::{BTreeMap, HashMap};

use opscope_columns::Column;

use crate::clocks::median;
use crate::hidden_work;
use crate::run::{Event, Run};
use crate::slots::{Place, Slots};
use crate::typical_work::Beyond;

/// Some other events of each event, in one piece: a list for each would take several times the memory.
#[derive(Clone, Debug, Default)]
pub struct Also {
    /// Where the others of each event end in `others`.
    ends: Column<u32>,
    others: Column<Other>,
}

/// An event that another may have waited for.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// The event; [`Self::BEGIN`] is the rank's begin.
    pub event: u32,
    /// The rank's work behind it beyond that of its peers, in nanoseconds.
    pub beyond_ns: f32,
    /// The typical work behind it, in nanoseconds.
    pub typical_ns: f64,
}

impl Other {
    /// The rank's begin in the place of an event.
    pub const BEGIN: u32 = u32::MAX;
}

impl Also {
    /// Predecessors that events have on their peers, beside their own, with the work behind them that is typical and what
    /// the rank had to do beyond it.
    pub fn find(run: &Run, slots: Slots<'_>, typical: &[f64], beyond: &Beyond) -> Self {
        let mut usual = Usual::among(run, slots, slots.own, typical);
        usual.add_rare(run, slots);
        usual.add_of_kin(run, slots, typical);
        let hidden = hidden_work::find(run);
        let mut also = Self::default();
        each_with_places(run, slots, |index, event, places| {
            let usual = usual.at(slots.own[index]).iter();
            let usual = usual.filter_map(|(place, segment)| Some((places.pred(event, *place)?, *segment)));
            for (pred, segment) in usual.filter(|(pred, _)| Some(*pred) != event.pred) {
                let room = room(run, event, pred) as f64;
                if room >= 0.0 {
                    let typical_ns = segment.min(room);
                    let begin = run.events[pred as usize].end_ns();
                    let end = begin.saturating_add(typical_ns as i64);
                    let more = beyond.within(event.rank, event.step, begin, end);
                    let beyond_ns = more.min(room - typical_ns) as f32;
                    also.others.push(Other { event: pred, beyond_ns, typical_ns });
                }
            }
            if let Some(hidden) = hidden.get(&(index as u32)) {
                let more = beyond.within(event.rank, event.step, hidden.begin_ns, event.start_ns);
                let more = more.min(hidden.work_ns);
                also.others.push(Other {
                    event: hidden.since.unwrap_or(Other::BEGIN),
                    beyond_ns: more as f32,
                    typical_ns: hidden.work_ns - more,
                });
            }
            also.ends.push(also.others.len() as u32);
        });
        also
    }

    /// The others of an event.
    pub fn of(&self, event: usize) -> &[Other] {
        let begin = event.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.others[begin as usize..self.ends[event] as usize]
    }
}

/// The share of peers from which on a predecessor is taken to hold up all of them. Of fewer, it is if none of the others
/// begins before it could: the slowest of many peers may be the only one that shows what they all need.
const SHARE: f64 = 0.25;

/// How many predecessors of fewer peers are looked at.
const MOST_RARE: usize = 2;

/// How far the time behind a predecessor may be from the typical segment if it explains a start: the steps of a clock and
/// the launch, in nanoseconds, and a share of the work.
const NEAR_NS: f64 = 2_000.0;
const NEAR: f64 = 0.1;

/// Predecessors by slot, each with the typical segment behind it in nanoseconds.
type BySlot = HashMap<u32, Vec<(Place, f64)>>;

/// The predecessors that are usual among peers.
pub struct Usual {
    by_slot: BySlot,
    /// Predecessors of few peers, the most frequent of each slot first.
    rare: BySlot,
}

impl Usual {
    /// Finds what is usual among peers, with the work as it was measured.
    pub fn of_peers(run: &Run, slots: Slots<'_>) -> Self {
        Self::among(run, slots, slots.own, &[])
    }

    /// Finds what is usual in slots, with the work as it was measured, or as it is typical where that is less.
    fn among(run: &Run, slots: Slots<'_>, alike: &[u32], typical: &[f64]) -> Self {
        let mut counts: HashMap<u32, usize> = HashMap::new();
        let mut preds: Column<((u32, Place), i64)> = Column::new();
        for (index, (event, slot)) in run.events.iter().zip(alike).enumerate() {
            *counts.entry(*slot).or_default() += 1;
            if let Some(pred) = event.pred {
                // Nothing is typical of work that isn't known.
                let typical = typical.get(index).filter(|it| !it.is_nan()).map_or(i64::MAX, |it| *it as i64);
                preds.push(((*slot, slots.place(run, event, pred)), event.segment_ns.min(typical)));
            }
        }
        preds.sort_unstable();
        let mut found = Self { by_slot: BySlot::new(), rare: BySlot::new() };
        let mut rare: HashMap<u32, Vec<(usize, Place, f64)>> = HashMap::new();
        for alike in preds.chunk_by(|a, b| a.0 == b.0) {
            let (slot, place) = alike[0].0;
            let mut segments: Vec<f64> = alike.iter().map(|(_, segment)| *segment as f64).collect();
            let segment = median(&mut segments);
            match alike.len() as f64 >= SHARE * counts[&slot] as f64 {
                true => found.by_slot.entry(slot).or_default().push((place, segment)),
                false => rare.entry(slot).or_default().push((alike.len(), place, segment)),
            }
        }
        for (slot, mut places) in rare {
            places.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
            let most = places.into_iter().take(MOST_RARE);
            found.rare.insert(slot, most.map(|(_, place, segment)| (place, segment)).collect());
        }
        found
    }

    /// Adds predecessors of few peers that no other contradicts by beginning before it could.
    fn add_rare(&mut self, run: &Run, slots: Slots<'_>) {
        let rare = std::mem::take(&mut self.rare);
        let of = |index: usize| rare.get(&slots.own[index]).map_or(&[][..], Vec::as_slice);
        self.add_held(run, slots, of);
    }

    /// Adds what is usual among kin. Where a path is slow that all peers use, none of them shows what else it waits
    /// for; another stage of the pipeline does. It counts where no peer contradicts it by starting before.
    fn add_of_kin(&mut self, run: &Run, slots: Slots<'_>, typical: &[f64]) {
        let of_kin = Self::among(run, slots, slots.kin, typical);
        self.add_held(run, slots, |index| of_kin.at(slots.kin[index]));
    }

    /// Adds those of some predecessors, which are given for each event, that none begins before it could after them.
    fn add_held<'p>(&mut self, run: &Run, slots: Slots<'_>, of: impl Fn(usize) -> &'p [(Place, f64)]) {
        let mut held: BTreeMap<(u32, Place), (bool, f64)> = BTreeMap::new();
        each_with_places(run, slots, |index, event, places| {
            let own = self.at(slots.own[index]);
            for &(place, segment) in of(index) {
                if own.iter().any(|(known, _)| *known == place) {
                    continue;
                }
                if let Some(room) = places.pred(event, place).map(|pred| room(run, event, pred)) {
                    let could = room as f64 >= segment - NEAR_NS - NEAR * segment;
                    held.entry((slots.own[index], place)).or_insert((true, segment)).0 &= could;
                }
            }
        });
        for ((slot, place), (_, segment)) in held.into_iter().filter(|(_, (always, _))| *always) {
            self.by_slot.entry(slot).or_default().push((place, segment));
        }
    }

    /// Puts predecessors right that ended last before an event by chance: where one that is usual explains the start
    /// and the one that was found doesn't, the usual one held it up.
    pub fn correct(&self, run: &mut Run, slots: Slots<'_>) {
        for rank in 0..run.ranks.len() {
            let mut places = Places::default();
            for index in run.ranks[rank].events.clone() {
                let event = &run.events[index];
                places.note(slots.kin[index], event.step, index);
                if let Some(pred) = self.other_explanation(run, slots, index, &places) {
                    let segment_ns = room(run, event, pred);
                    let event = &mut run.events[index];
                    (event.pred, event.segment_ns) = (Some(pred), segment_ns);
                }
            }
        }
    }

    /// The usual predecessor that explains an event's start best, unless the one that was found does.
    fn other_explanation(&self, run: &Run, slots: Slots<'_>, index: usize, places: &Places) -> Option<u32> {
        let event = &run.events[index];
        let found = event.pred?;
        let found = (slots.place(run, event, found), found);
        // A predecessor may end after the start, by the steps of a clock.
        let off = |pred: u32, segment: f64| {
            let measured = room(run, event, pred) as f64;
            (measured >= -NEAR_NS).then_some((measured - segment).abs())
        };
        let explains =
            |pred: u32, segment: f64| off(pred, segment).filter(|off| *off <= NEAR_NS + NEAR * segment);
        let mut best: Option<(f64, u32)> = None;
        for &(place, segment) in self.at(slots.own[index]) {
            if place == found.0 && explains(found.1, segment).is_some() {
                return None;
            }
            let other = places.pred(event, place);
            let other = other.filter(|other| *other != found.1 && room(run, event, *other) >= 0);
            let explained = other.and_then(|other| Some((explains(other, segment)?, other)));
            best = best.into_iter().chain(explained).min_by(|a, b| a.0.total_cmp(&b.0));
        }
        best.map(|(_, pred)| pred)
    }

    fn at(&self, slot: u32) -> &[(Place, f64)] {
        self.by_slot.get(&slot).map_or(&[], Vec::as_slice)
    }
}

/// The time between an event's start and the end of another of the same rank, in nanoseconds.
fn room(run: &Run, event: &Event, pred: u32) -> i64 {
    event.start_ns.saturating_sub(run.events[pred as usize].end_ns())
}

/// Visits all events with those of the same rank so far.
fn each_with_places(run: &Run, slots: Slots<'_>, mut visit: impl FnMut(usize, &Event, &Places)) {
    for rank in &run.ranks {
        let mut places = Places::default();
        for index in rank.events.clone() {
            let event = &run.events[index];
            places.note(slots.kin[index], event.step, index);
            visit(index, event, &places);
        }
    }
}

/// The events of a rank so far, by slot among kin and step.
#[derive(Default)]
struct Places(HashMap<(u32, i32), u32>);

impl Places {
    fn note(&mut self, slot: u32, step: i32, index: usize) {
        self.0.insert((slot, step), index as u32);
    }

    /// The event at a place before another.
    fn pred(&self, event: &Event, (slot, back): Place) -> Option<u32> {
        self.0.get(&(slot, event.step.wrapping_sub(back))).copied()
    }
}
