//! By how much a step is longer for everybody, as the first one of a program often is.
//!
//! Of few peers nothing tells what is typical in a step but their other steps. A step in which nearly all ranks have more
//! to do of their own than usual would then make each of them slow. Such steps are stretched alike.

use std::collections::BTreeMap;

use crate::run::{Event, Rank, Run};

/// The least stretch that is told from chance.
const CLEARLY: f64 = 1.05;

/// How many times as long the steps are that are longer for everybody.
#[derive(Clone, Debug, Default)]
pub struct StepStretch {
    of_steps: BTreeMap<i32, f64>,
}

impl StepStretch {
    /// The stretch of each step of a run: of its ranks' own time beside that of most of their steps, the lower quartile.
    pub fn of(run: &Run) -> Self {
        let mut ratios: BTreeMap<i32, Vec<f64>> = BTreeMap::new();
        for (step, ratio) in run.ranks.iter().flat_map(ratios_of) {
            ratios.entry(step).or_default().push(ratio);
        }
        let of_steps = ratios.into_iter().map(|(step, mut ratios)| (step, lower_quartile(&mut ratios)));
        Self { of_steps: of_steps.filter(|(_, stretch)| *stretch >= CLEARLY).collect() }
    }

    /// The stretch of a step: 1 of most.
    pub fn at(&self, step: i32) -> f64 {
        self.of_steps.get(&step).copied().unwrap_or(1.0)
    }

    /// The stretch of the work before an event. At a step's begin it is in part that of the step before.
    pub fn before(&self, run: &Run, event: &Event) -> f64 {
        if self.of_steps.is_empty() || event.segment_ns <= 0 {
            return 1.0;
        }
        let of_rank = &run.ranks[event.rank as usize].steps;
        let begin = of_rank.iter().find(|step| step.step == event.step).and_then(|step| step.start_ns);
        let work_begins = event.start_ns.saturating_sub(event.segment_ns);
        let earlier = begin.map_or(0, |begin| begin.saturating_sub(work_begins).clamp(0, event.segment_ns));
        let before = of_rank.iter().map(|step| step.step).filter(|step| *step < event.step).max();
        let all = event.segment_ns as f64;
        let (earlier, later) = (earlier as f64, all - earlier as f64);
        all / (earlier / before.map_or(1.0, |step| self.at(step)) + later / self.at(event.step))
    }
}

/// The least of values, as they would be without the stretch that each is given with.
pub fn least(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    values.map(|(value, stretch)| value / stretch).fold(f64::MAX, f64::min)
}

/// How many times as much a rank's own time is in each of its steps as in most of them. Of one step nothing is told.
fn ratios_of(rank: &Rank) -> Vec<(i32, f64)> {
    let own: Vec<(i32, f64)> = rank.own_times().collect();
    let usual = lower_quartile(&mut own.iter().map(|(_, own)| *own).collect::<Vec<f64>>());
    if own.len() < 2 || usual <= 0.0 {
        return Vec::new();
    }
    own.into_iter().map(|(step, own)| (step, own / usual)).collect()
}

/// The value below which a quarter of all lie; 0 of none.
pub fn lower_quartile(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 4).copied().unwrap_or(0.0)
}
