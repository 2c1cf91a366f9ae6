//! The work before each part of a collective, as long as it would be if its rank had no more to do than its peers.
//!
//! Where peers come to a part after the same, their work is compared. A rank that comes to it after something else shows
//! nothing that theirs can be compared with: a transfer in the background begins when the one before it has ended and
//! its data are computed, on a slow rank by the one and on those that wait for it by the other. From such work is taken
//! off what exceeds that of peers in the part of it that can be compared, and its share of the rest of what the rank
//! has to do beyond them in that step.

use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::ops::Range;

use opscope_columns::Column;
use opscope_trace::{NumberMap, NumberSet};

use crate::peers::Peers;
use crate::replay::Raised;
use crate::run::Run;
use crate::slots::{Place, Slots};
use crate::step_stretch::{StepStretch, least};
use crate::typical::of_enough;

/// The typical work before each event.
#[derive(Clone, Debug, Default)]
pub struct TypicalWork {
    /// Its length in nanoseconds.
    pub segment: Column<f64>,
    /// Whether it is work after the same as on most peers, so that its length can be compared with theirs.
    pub is_alike: Column<bool>,
}

/// The typical work before each event. `own` is the typical time of each rank's own in each of its steps.
pub fn find(run: &Run, slots: Slots<'_>, own: &[Vec<f64>], stretch: &StepStretch) -> (TypicalWork, Beyond) {
    // Of work that isn't known nothing is typical.
    let is_known = |index: &u32| !run.events[*index as usize].is_after_gap;
    let mut order: Column<u32> = (0..run.events.len() as u32).filter(is_known).collect();
    order.sort_unstable_by_key(|&index| (slots.own[index as usize], run.events[index as usize].step, index));
    let count = run.events.len();
    let mut work = TypicalWork {
        segment: repeat_n(f64::NAN, count).collect(),
        is_alike: repeat_n(false, count).collect(),
    };
    for of_slot in order.chunk_by(|a, b| slots.own[*a as usize] == slots.own[*b as usize]) {
        compare(run, slots, of_slot, stretch, &mut work);
    }
    let mut beyond = Beyond::default();
    for (rank, own) in own.iter().enumerate() {
        beyond.add(run, rank, own, &work);
    }
    take_off(run, &beyond, &mut work);
    (work, beyond)
}

/// Finds what is typical in a slot, whose events come in the order of steps. Work after one predecessor isn't comparable
/// with work after another: where most events of a step come after the same, they are compared with one another.
fn compare(run: &Run, slots: Slots<'_>, events: &[u32], stretch: &StepStretch, work: &mut TypicalWork) {
    let event = |index: &u32| &run.events[*index as usize];
    let segment = |index: &u32| event(index).segment_ns as f64;
    let is_of_one_step = |a: &u32, b: &u32| event(a).step == event(b).step;
    let is_of_one_rank =
        |events: &[u32]| events.windows(2).all(|pair| event(&pair[0]).rank == event(&pair[1]).rank);
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    for of_step in events.chunk_by(is_of_one_step) {
        counts.insert(event(&of_step[0]).step, of_step.len());
    }
    let has_no_peers = is_of_one_rank(events);
    let mut alike: BTreeMap<Option<Place>, Vec<u32>> = BTreeMap::new();
    for index in events {
        let after = event(index).pred.map(|pred| slots.place(run, event(index), pred));
        alike.entry(after).or_default().push(*index);
    }
    for alike in alike.into_values().filter(|alike| has_no_peers || !is_of_one_rank(alike)) {
        let stretch = |index: &u32| stretch.before(run, event(index));
        let least = least(alike.iter().map(|index| (segment(index), stretch(index))));
        for of_step in alike.chunk_by(is_of_one_step) {
            let step = event(&of_step[0]).step;
            if 2 * of_step.len() < counts[&step] {
                continue;
            }
            let of_peers = of_enough(&mut of_step.iter().map(segment).collect::<Vec<f64>>());
            for index in of_step {
                work.segment[*index as usize] = of_peers.unwrap_or_else(|| least * stretch(index));
                work.is_alike[*index as usize] = true;
            }
        }
    }
}

/// By how much longer typical work would be, by slot and step, if the work before some events were by so many nanoseconds
/// longer.
pub fn raised(run: &Run, peers: &Peers, changes: &NumberMap<u32, f64>) -> Raised {
    let (slot, is_alike, stretch) = (&peers.slot, &peers.work.is_alike, &peers.stretch);
    let changed: NumberSet<u32> = changes.keys().map(|index| slot[*index as usize]).collect();
    let place = |index: &u32| (slot[*index as usize], run.events[*index as usize].step);
    let counts = |index: &u32| is_alike[*index as usize] && changed.contains(&slot[*index as usize]);
    let mut events: Column<u32> = (0..run.events.len() as u32).filter(counts).collect();
    events.sort_unstable_by_key(|index| (place(index), *index));
    let measured = |index: &u32| run.events[*index as usize].segment_ns as f64;
    let otherwise = |index: &u32| measured(index) + changes.get(index).copied().unwrap_or(0.0);
    let mut raised = Raised::default();
    for of_slot in events.chunk_by(|a, b| place(a).0 == place(b).0) {
        let lengths = |events: &[u32]| -> [Vec<f64>; 2] {
            [events.iter().map(measured).collect(), events.iter().map(otherwise).collect()]
        };
        let stretch = |index: &u32| stretch.before(run, &run.events[*index as usize]);
        let least =
            lengths(of_slot).map(|lengths| least(lengths.into_iter().zip(of_slot.iter().map(stretch))));
        for of_step in of_slot.chunk_by(|a, b| place(a) == place(b)) {
            let [mut before, mut after] = lengths(of_step);
            let of_few = |least: f64| least * stretch(&of_step[0]);
            let before = of_enough(&mut before).unwrap_or_else(|| of_few(least[0]));
            let raise = of_enough(&mut after).unwrap_or_else(|| of_few(least[1])) - before;
            raised.insert(place(&of_step[0]), raise);
        }
    }
    raised
}

/// Gives events that can't be compared the segment that is left without what their ranks have to do beyond their peers.
fn take_off(run: &Run, beyond: &Beyond, work: &mut TypicalWork) {
    for (index, event) in run.events.iter().enumerate() {
        if !work.is_alike[index] && !event.is_after_gap {
            let begin = event.start_ns.saturating_sub(event.segment_ns);
            let beyond = beyond.within(event.rank, event.step, begin, event.start_ns);
            work.segment[index] = (event.segment_ns as f64 - beyond).max(0.0);
        }
    }
}

/// The work of ranks beyond that of their peers, along their time.
#[derive(Clone, Debug, Default)]
pub struct Beyond {
    /// Work that can be compared, rank by rank, one stretch behind the other.
    stretches: Column<Stretch>,
    /// Each rank's part of it.
    ranks: Vec<BeyondOfRank>,
}

/// A rank's work beyond that of its peers.
#[derive(Clone, Debug)]
struct BeyondOfRank {
    /// Its rows of [`Beyond::stretches`].
    stretches: Range<usize>,
    /// By step, the share of all other work that is beyond that of peers.
    elsewhere: BTreeMap<i32, f64>,
}

/// Work of a rank, by its own clock.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    begin: i64,
    end: i64,
    /// By how much it exceeds that of its peers, in nanoseconds.
    excess: f64,
}

impl Stretch {
    /// How much of it, as a length and as a share, lies within a time.
    fn part(&self, begin: i64, end: i64) -> (f64, f64) {
        let length = self.end.min(end).saturating_sub(self.begin.max(begin)).max(0) as f64;
        (length, length / (self.end - self.begin).max(1) as f64)
    }
}

impl Beyond {
    /// Adds the next rank.
    fn add(&mut self, run: &Run, rank: usize, typical_own: &[f64], work: &TypicalWork) {
        let first = self.stretches.len();
        // The length and the excess of the stretches of each step.
        let mut by_step: BTreeMap<i32, (f64, f64)> = BTreeMap::new();
        let mut events: Vec<usize> = run.ranks[rank].events.clone().filter(|it| work.is_alike[*it]).collect();
        events.sort_by_key(|index| run.events[*index].start_ns);
        for index in events {
            let event = &run.events[index];
            let begin = event.start_ns.saturating_sub(event.segment_ns);
            let until = self.stretches[first..].last().map_or(begin, |last| last.end.max(begin));
            if until >= event.start_ns {
                continue;
            }
            // Transfers in the background lie behind the same work: each of it counts once.
            let (_, known) = compared(&self.stretches[first..], begin, until);
            let excess = (event.segment_ns as f64 - work.segment[index]).max(0.0);
            let stretch = Stretch { begin: until, end: event.start_ns, excess: (excess - known).max(0.0) };
            let of_step = by_step.entry(event.step).or_default();
            *of_step = (of_step.0 + (stretch.end - stretch.begin) as f64, of_step.1 + stretch.excess);
            self.stretches.push(stretch);
        }
        let mut elsewhere = BTreeMap::new();
        for ((step, own), typical) in run.ranks[rank].own_times().zip(typical_own) {
            let (length, excess) = by_step.get(&step).copied().unwrap_or_default();
            let rest = own - typical - excess;
            if rest > 0.0 {
                elsewhere.insert(step, rest / (own - length).max(rest));
            }
        }
        self.ranks.push(BeyondOfRank { stretches: first..self.stretches.len(), elsewhere });
    }

    /// The excess within work of a rank, by its index, in a step from one time to another, in nanoseconds.
    pub fn within(&self, rank: u32, step: i32, begin: i64, end: i64) -> f64 {
        let of_rank = &self.ranks[rank as usize];
        let (length, excess) = compared(&self.stretches[of_rank.stretches.clone()], begin, end);
        let others = end.saturating_sub(begin) as f64 - length;
        excess + others.max(0.0) * of_rank.elsewhere.get(&step).copied().unwrap_or(0.0)
    }
}

/// The length of a rank's stretches within a time, and their excess.
fn compared(stretches: &[Stretch], begin: i64, end: i64) -> (f64, f64) {
    let first = stretches.partition_point(|it| it.end <= begin);
    let within = stretches[first..].iter().take_while(|it| it.begin < end);
    within.fold((0.0, 0.0), |(length, excess), it| {
        let (part, share) = it.part(begin, end);
        (length + part, excess + share * it.excess)
    })
}
