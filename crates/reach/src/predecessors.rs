//! The collectives that an event waits for on its peers.
//!
//! A rank's own times show only which collective ended last before an event began. What else it needs, and whether
//! that one held it up at all or merely ended at the time, the same event on its peers shows: a transfer in the
//! background begins when the one before it has ended *and* its data are computed, on one rank later by the one and
//! on another by the other.

use std::collections::{BTreeMap, HashMap};

use crate::clocks::median;
use crate::run::{Event, Run};

/// Where a predecessor stands, seen from its event: its slot, and how many steps before.
pub type Place = (u32, i32);

/// The place of an event's predecessor.
pub fn place_of(run: &Run, slots: &[u32], event: &Event, pred: u32) -> Place {
    (slots[pred as usize], event.step - run.events[pred as usize].step)
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

/// The share of peers from which on a predecessor is taken to hold up all of them.
const SHARE: f64 = 0.25;

/// How far the time behind a predecessor may be from the typical segment if it explains a start: the steps of a clock and
/// the launch, in nanoseconds, and a share of the work.
const NEAR_NS: f64 = 2_000.0;
const NEAR: f64 = 0.1;

/// The predecessors that are usual among peers, by slot: each with the typical segment behind it in nanoseconds.
pub struct Usual(HashMap<u32, Vec<(Place, f64)>>);

impl Usual {
    /// Finds what is usual, from the slot of each event.
    pub fn of(run: &Run, slots: &[u32]) -> Self {
        let mut seen: HashMap<u32, (usize, BTreeMap<Place, Vec<f64>>)> = HashMap::new();
        for (event, slot) in run.events.iter().zip(slots) {
            let (count, preds) = seen.entry(*slot).or_default();
            *count += 1;
            if let Some(pred) = event.pred {
                let segments = preds.entry(place_of(run, slots, event, pred)).or_default();
                segments.push(event.segment_ns as f64);
            }
        }
        let usual = seen.into_iter().map(|(slot, (count, preds))| {
            let often =
                preds.into_iter().filter(|(_, segments)| segments.len() as f64 >= SHARE * count as f64);
            (slot, often.map(|(place, mut segments)| (place, median(&mut segments))).collect())
        });
        Self(usual.collect())
    }

    /// Puts predecessors right that ended last before an event by chance: where one that is usual explains the start
    /// and the one that was found doesn't, the usual one held it up.
    pub fn correct(&self, run: &mut Run, slots: &[u32]) {
        for rank in 0..run.ranks.len() {
            let mut places = Places::default();
            for index in run.ranks[rank].events.clone() {
                let event = &run.events[index];
                places.note(slots[index], event.step, index);
                if let Some(pred) = self.other_explanation(run, slots, index, &places) {
                    let segment_ns = event.start_ns - run.events[pred as usize].end_ns();
                    let event = &mut run.events[index];
                    (event.pred, event.segment_ns) = (Some(pred), segment_ns);
                }
            }
        }
    }

    /// The usual predecessor that explains an event's start best, unless the one that was found does.
    fn other_explanation(&self, run: &Run, slots: &[u32], index: usize, places: &Places) -> Option<u32> {
        let event = &run.events[index];
        let found = event.pred?;
        let found = (place_of(run, slots, event, found), found);
        let off = |pred: u32, segment: f64| {
            let measured = event.start_ns - run.events[pred as usize].end_ns();
            (measured >= 0).then_some((measured as f64 - segment).abs())
        };
        let explains =
            |pred: u32, segment: f64| off(pred, segment).filter(|off| *off <= NEAR_NS + NEAR * segment);
        let mut best: Option<(f64, u32)> = None;
        for &(place, segment) in self.at(slots[index]) {
            if place == found.0 && explains(found.1, segment).is_some() {
                return None;
            }
            let other = places.pred(event, place).filter(|other| *other != found.1);
            let explained = other.and_then(|other| Some((explains(other, segment)?, other)));
            best = best.into_iter().chain(explained).min_by(|a, b| a.0.total_cmp(&b.0));
        }
        best.map(|(_, pred)| pred)
    }

    /// What events wait for on their peers beside their own predecessors.
    pub fn others(&self, run: &Run, slots: &[u32]) -> Also {
        let mut also = Also::default();
        also.ends.reserve_exact(run.events.len());
        for rank in &run.ranks {
            let mut places = Places::default();
            for index in rank.events.clone() {
                let event = &run.events[index];
                places.note(slots[index], event.step, index);
                for &(place, segment) in self.at(slots[index]) {
                    let Some(pred) = places.pred(event, place) else { continue };
                    let room = (event.start_ns - run.events[pred as usize].end_ns()) as f64;
                    if Some(pred) != event.pred && room >= 0.0 {
                        also.others.push((pred, segment.min(room)));
                    }
                }
                also.ends.push(also.others.len() as u32);
            }
        }
        also
    }

    fn at(&self, slot: u32) -> &[(Place, f64)] {
        self.0.get(&slot).map_or(&[], Vec::as_slice)
    }
}

/// The events of a rank so far, by slot and step.
#[derive(Default)]
struct Places(HashMap<(u32, i32), u32>);

impl Places {
    fn note(&mut self, slot: u32, step: i32, index: usize) {
        self.0.insert((slot, step), index as u32);
    }

    /// The event at a place before another.
    fn pred(&self, event: &Event, (slot, back): Place) -> Option<u32> {
        self.0.get(&(slot, event.step - back)).copied()
    }
}
