//! Conditions about several runs of one model that differ in threads or batch.

use opscope_analyze::{Latencies, Statistics};
use opscope_trace::{EngineName, Nanoseconds, RunInput, Trace, units};

use crate::outcome::{Found, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[("H03", threads), ("H04", batch)];

/// A run of a sweep.
#[derive(Clone, Debug, PartialEq)]
struct Run {
    threads: Option<u32>,
    /// The sizes of all inputs' first dimensions, if they agree.
    batch: Option<u64>,
    /// The settings that must be the same in runs that are compared.
    model: String,
    engine: Option<EngineName>,
    inputs: Vec<RunInput>,
    median: Nanoseconds,
}

impl Run {
    /// The settings and times of a trace's run; `None` where it has too few iterations.
    fn of(trace: &Trace) -> Option<Self> {
        let latencies = Latencies::of(trace, None);
        let statistics = Statistics::of(latencies.headline().iter().copied())
            .filter(|all| all.count >= 3 && all.median.0 > 0)?;
        let run = &trace.run;
        let mut batches = run.inputs.iter().map(|input| input.shape.first().copied());
        let batch = batches.next().flatten().filter(|size| batches.all(|other| other == Some(*size)));
        let models: Vec<&str> = trace.models.name().iter().map(|name| trace.strings.get(*name)).collect();
        Some(Self {
            threads: run.threads,
            batch,
            model: models.join(", "),
            engine: run.engine,
            inputs: run.inputs.clone(),
            median: statistics.median,
        })
    }

    fn items_per_second(&self) -> Option<f64> {
        Some(self.batch? as f64 / self.median.as_seconds())
    }
}

/// The profile's own run, and the others of the sweep on the same model and engine.
fn runs(subject: &Subject<'_>) -> Option<(Run, Vec<Run>)> {
    let own = Run::of(subject.trace?)?;
    let others = subject.sweep.iter().filter_map(|trace| Run::of(trace));
    let others = others.filter(|run| run.model == own.model && run.engine == own.engine).collect();
    Some((own, others))
}

fn threads(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let missing = || Outcome::Missing("runs with other numbers of threads (--sweep)".to_owned());
    let Some((own, others)) = runs(subject) else { return missing() };
    let mut others: Vec<&Run> = others.iter().filter(|run| run.inputs == own.inputs).collect();
    others.retain(|run| run.threads.is_some() && run.threads != own.threads);
    let (Some(best), Some(current)) = (others.iter().min_by_key(|run| run.median), own.threads) else {
        return missing();
    };
    let gain = 1.0 - best.median.0 as f64 / own.median.0 as f64;
    if gain <= rule.limit("gain") {
        return Outcome::Silent;
    }
    let note = format!(
        "with {} threads the median is {}, with {current} it is {}: {:.0} % less",
        best.threads.unwrap_or_default(),
        units::duration(best.median),
        units::duration(own.median),
        gain * 100.0
    );
    Outcome::Found(Found { saves: Some(own.median - best.median), note: Some(note), ..Found::default() })
}

fn batch(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let missing = || Outcome::Missing("runs with other batch sizes (--sweep)".to_owned());
    let Some((own, mut runs)) = runs(subject) else { return missing() };
    runs.retain(|run| run.threads == own.threads && run.batch.is_some() && run.batch != own.batch);
    let Some(rate) = own.items_per_second().filter(|_| !runs.is_empty()) else { return missing() };
    runs.sort_by_key(|run| run.batch);
    let best = runs.iter().filter_map(Run::items_per_second).fold(rate, f64::max);
    let at_knee = |run: &&Run| run.items_per_second().is_some_and(|rate| rate >= rule.limit("knee") * best);
    let Some(knee) = runs.iter().find(at_knee) else { return Outcome::Silent };
    let knee_rate = knee.items_per_second().unwrap_or(rate);
    if knee_rate <= rate * (1.0 + rule.limit("gain")) {
        return Outcome::Silent;
    }
    let batch = |run: &Run| run.batch.unwrap_or_default();
    Found::note(format!(
        "a batch of {} gives {knee_rate:.1} a second, one of {} {rate:.1}; an inference then takes {} instead of {}",
        batch(knee),
        batch(&own),
        units::duration(knee.median),
        units::duration(own.median)
    ))
}
