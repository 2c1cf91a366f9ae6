//! The lengths of steps on the common clock.
//!
//! A step takes from the end of the one before to its own. The first that was recorded begins when the last rank begins
//! it: within a run the stages of a pipeline begin at different times, each when its own step before has ended, and that
//! step ended with the last of them. Time that ranks' profiles leave between two steps is of neither.

use crate::clocks::median;
use crate::replay::StepEnds;
use crate::rows::StepsOrigin;
use crate::run::{Rank, Run};

/// The begins of steps, apart from the ends of those before.
pub struct StepLengths {
    /// The first step's begin.
    begin: f64,
    /// The time before each step that is of none, in nanoseconds.
    between: Vec<f64>,
}

impl StepLengths {
    /// The lengths of a run's steps.
    pub fn of(run: &Run) -> Self {
        let steps = run.steps();
        let ends = measured_ends(run, &steps);
        let (Some(first), Some(end)) = (steps.first(), ends.first()) else {
            return Self { begin: 0.0, between: Vec::new() };
        };
        let mut between = vec![0.0; steps.len()];
        for (place, pair) in steps.windows(2).enumerate() {
            let apart = (ends[place + 1] - ends[place]).max(0.0);
            between[place + 1] = time_between(run, [pair[0], pair[1]]).clamp(0.0, apart);
        }
        Self { begin: begin(run, *first, *end), between }
    }

    /// The lengths of steps that end at these times, in nanoseconds.
    pub fn of_ends(&self, ends: &StepEnds) -> Vec<f64> {
        let mut before = self.begin;
        let length = |(end, between): (&f64, &f64)| {
            // Where no rank communicates in a step, nothing tells its end.
            let end = if *end == f64::MIN { before } else { *end };
            end - std::mem::replace(&mut before, end) - between
        };
        ends.iter().zip(&self.between).map(length).collect()
    }

    /// The first step's begin on the common clock.
    pub fn begin(&self) -> f64 {
        self.begin
    }

    /// The time before a step, by its place, that is of none, in nanoseconds.
    pub fn before(&self, place: usize) -> f64 {
        self.between.get(place).copied().unwrap_or(0.0)
    }

    /// How many steps have time before them that is of none, and how much that is in all, in nanoseconds.
    pub fn gaps(&self) -> (usize, f64) {
        let gaps = || self.between.iter().filter(|it| **it > 0.0);
        (gaps().count(), gaps().sum())
    }
}

/// The measured ends of steps; those of which nothing tells an end have the least of all times.
pub fn measured_ends(run: &Run, steps: &[i32]) -> StepEnds {
    let mut ends = vec![f64::MIN; steps.len()];
    for rank in &run.ranks {
        for finish in rank.finishes.iter() {
            let (Some(end), Ok(step)) = (run.end_of(finish), steps.binary_search(&finish.step)) else {
                continue;
            };
            ends[step] = f64::max(ends[step], end);
        }
    }
    ends
}

/// The begin of the first step, which ends at a time. Where ranks were launched one after the other, most of them had begun
/// before the last did, and waited for it.
fn begin(run: &Run, first: i32, end: f64) -> f64 {
    let has_it = |rank: &&Rank| rank.steps.first().is_some_and(|step| step.step == first);
    let begins = run.ranks.iter().filter(has_it).filter_map(|rank| begin_of(run, rank));
    let latest = begins.fold(f64::MIN, f64::max);
    let mut durations: Vec<f64> =
        run.ranks.iter().filter(has_it).map(|rank| rank.steps[0].duration_ns as f64).collect();
    let by_length = end - median(&mut durations);
    if latest == f64::MIN { by_length } else { latest.min(by_length) }
}

/// When a rank began its first step, on the common clock.
fn begin_of(run: &Run, rank: &Rank) -> Option<f64> {
    let first = run.events[rank.events.clone()].iter().find(|event| event.pred.is_none())?;
    let step = rank.steps.first()?.start_ns?;
    Some(first.start - (first.start_ns - step) as f64)
}

/// The time from the end of a step to the begin of the next, as most ranks' profiles have it, in nanoseconds.
fn time_between(run: &Run, [one, next]: [i32; 2]) -> f64 {
    let of_rank = |rank: &Rank| {
        let pair = rank.steps.windows(2).find(|pair| pair[0].step == one && pair[1].step == next)?;
        let end = pair[0].start_ns?.saturating_add(pair[0].duration_ns);
        Some(pair[1].start_ns?.saturating_sub(end) as f64)
    };
    let told = run.ranks.iter().filter(|rank| rank.origin == StepsOrigin::Profile);
    median(&mut told.filter_map(of_rank).collect::<Vec<f64>>())
}
