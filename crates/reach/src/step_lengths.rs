//! The lengths of steps on the common clock.
//!
//! A step takes from the end of the one before to its own. The first that was recorded begins when the last rank begins
//! it: within a run the stages of a pipeline begin at different times, each when its own step before has ended, and that
//! step ended with the last of them. It is as long as most ranks have it at least. Time that ranks' profiles leave between
//! two steps is of neither.

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
        let mut between = times_between(run, &steps);
        for (place, between) in between.iter_mut().enumerate().skip(1) {
            *between = between.clamp(0.0, (ends[place] - ends[place - 1]).max(0.0));
        }
        Self { begin: begin(run, &steps, &ends), between }
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

    /// The places of steps that have time before them that is of none, each with that time in nanoseconds.
    pub fn gaps(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.between.iter().copied().enumerate().filter(|(_, between)| *between > 0.0)
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

/// The begin of the first step. Where ranks were launched one after the other, most of them had begun before the last
/// did, and waited for it.
fn begin(run: &Run, steps: &[i32], ends: &StepEnds) -> f64 {
    let Some(first) = steps.first() else { return 0.0 };
    let have_it =
        || run.ranks.iter().filter(|rank| rank.steps.first().is_some_and(|step| step.step == *first));
    let latest = have_it().filter_map(|rank| begin_of(run, rank)).max_by(f64::total_cmp);
    // Nothing tells the end of a step in which no rank communicates; those before one that is told last as long, too.
    let Some(known) = ends.iter().position(|end| *end != f64::MIN) else { return latest.unwrap_or(0.0) };
    let length = |rank: &Rank| -> f64 {
        let until = rank.steps.iter().take_while(|step| step.step <= steps[known]);
        until.map(|step| step.duration_ns as f64).sum()
    };
    let by_length = ends[known] - median(&mut have_it().map(length).collect::<Vec<f64>>());
    latest.map_or(by_length, |latest| latest.min(by_length))
}

/// When a rank began its first step, on the common clock.
fn begin_of(run: &Run, rank: &Rank) -> Option<f64> {
    let first = run.events[rank.events.clone()].iter().find(|event| event.pred.is_none())?;
    let step = rank.steps.first()?.start_ns?;
    Some(first.start - (first.start_ns - step) as f64)
}

/// The time before each step since the end of the one before, as most ranks' profiles have it, in nanoseconds.
fn times_between(run: &Run, steps: &[i32]) -> Vec<f64> {
    let mut told: Vec<Vec<f64>> = vec![Vec::new(); steps.len()];
    for rank in run.ranks.iter().filter(|rank| rank.origin == StepsOrigin::Profile) {
        for pair in rank.steps.windows(2) {
            let (Ok(one), Ok(next)) =
                (steps.binary_search(&pair[0].step), steps.binary_search(&pair[1].step))
            else {
                continue;
            };
            if let (Some(begin), Some(end)) = (pair[0].start_ns, pair[1].start_ns)
                && next == one + 1
            {
                let until = begin.saturating_add(pair[0].duration_ns);
                told[next].push(end.saturating_sub(until) as f64);
            }
        }
    }
    told.iter_mut().map(|times| median(times)).collect()
}
