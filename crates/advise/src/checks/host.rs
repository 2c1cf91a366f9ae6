//! Conditions that hold for any engine.

use std::collections::{BTreeMap, BTreeSet};

use opscope_analyze::{Latencies, Statistics};
use opscope_trace::{
    IterationId, ModelId, Nanoseconds, OperatorId, Optimization, ProfileFormat, Trace, units,
};

use crate::claim::Claims;
use crate::outcome::{Cause, Causes, Found, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("H01", warm_up),
    ("H02", noise),
    ("H05", gap),
    ("H06", small_operators),
    ("H09", level),
    ("H14", changed_shapes),
];

fn needs_iterations() -> Outcome {
    Outcome::Missing("several iterations in the profile".to_owned())
}

/// Whether inferences are batches of a server: prefills and decodes, of any number of requests and tokens.
fn is_of_server(trace: &Trace) -> bool {
    trace.run.format == Some(ProfileFormat::CannServer)
}

fn needs_equal_inferences() -> Outcome {
    let what = "inferences that should take the same time: batches of a server don't";
    Outcome::Missing(what.to_owned())
}

fn warm_up(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return needs_iterations() };
    if is_of_server(trace) {
        return needs_equal_inferences();
    }
    // The very first inference of all is one of those that weren't recorded, where there are any.
    let unrecorded =
        trace.unrecorded_iterations.iter().map(|(_, row)| (row.start, row.warm_up, row.duration));
    let recorded = trace.iterations.iter().map(|(_, row)| (row.start, row.warm_up, row.duration));
    let rows: Vec<_> = match trace.unrecorded_iterations.is_empty() {
        true => recorded.collect(),
        false => unrecorded.collect(),
    };
    let Some(&(begun, _, first)) = rows.iter().min_by_key(|(start, ..)| *start) else {
        return needs_iterations();
    };
    let later = rows.iter().filter(|(start, warm_up, _)| !warm_up && *start > begun);
    let later = Statistics::of(later.map(|(.., duration)| *duration));
    let Some(later) = later.filter(|later| later.count >= 2) else { return needs_iterations() };
    let ratio = first.0 as f64 / later.median.0.max(1) as f64;
    if ratio <= rule.limit("ratio") {
        return Outcome::Silent;
    }
    let (first, median) = (units::duration(first), units::duration(later.median));
    Found::note(format!("the first took {first}, {ratio:.1} times the median of {median}"))
}

fn noise(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return needs_iterations() };
    if is_of_server(trace) {
        return needs_equal_inferences();
    }
    let spreads: Vec<(f64, f64)> =
        judged_models(trace).into_iter().filter_map(|model| spread(&Latencies::of(trace, model))).collect();
    if spreads.is_empty() {
        return needs_iterations();
    }
    let is_noisy =
        |(deviation, tail): &(f64, f64)| *deviation > rule.limit("deviation") || *tail > rule.limit("tail");
    let noisy = spreads.into_iter().filter(is_noisy).max_by(|one, other| one.0.total_cmp(&other.0));
    let Some((deviation, tail)) = noisy else { return Outcome::Silent };
    Found::note(format!("median deviation {:.1} %, p99 is {tail:.2} times the median", deviation * 100.0))
}

/// The models whose inferences are judged by themselves, as those of one may take longer than those of another; all
/// at once where there is only one.
fn judged_models(trace: &Trace) -> Vec<Option<ModelId>> {
    let models = trace.iterations.model().iter().chain(trace.unrecorded_iterations.model());
    let models: BTreeSet<Option<ModelId>> = models.copied().collect();
    if models.len() > 1 { models.into_iter().filter(Option::is_some).collect() } else { vec![None] }
}

/// The median deviation of inferences from their median, and their 99th percentile, both as parts of the median;
/// nothing of too few.
fn spread(latencies: &Latencies) -> Option<(f64, f64)> {
    let durations = latencies.headline();
    let all = Statistics::of(durations.iter().copied()).filter(|all| all.count >= 5 && all.median.0 > 0)?;
    let deviations = durations.iter().map(|duration| Nanoseconds((duration.0 - all.median.0).abs()));
    let deviation = Statistics::of(deviations).map_or(0.0, |it| it.median.0 as f64 / all.median.0 as f64);
    Some((deviation, all.p99.0 as f64 / all.median.0 as f64))
}

fn gap(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace.filter(|trace| !trace.iterations.is_empty() && !trace.tasks.is_empty())
    else {
        return Outcome::Missing("iterations and operators in the profile".to_owned());
    };
    let summary = opscope_analyze::Summary::of(trace);
    // Operators are those of the inferences that were recorded, and so is the time between them. The recorder's
    // own work lies there, too, and isn't the model's: an inference that wasn't recorded may have less left.
    let recorded = subject.overview().filter(|overview| overview.iterations > 0);
    let recorded = recorded.map(|overview| (overview.wall, overview.idle()));
    let unrecorded = summary.latency.filter(|_| summary.recorded.is_some());
    let unrecorded = unrecorded.map(|latency| (latency.median, latency.median - summary.inside));
    let least = recorded.into_iter().chain(unrecorded).min_by_key(|(_, between)| *between);
    let Some((whole, between)) = least else { return Outcome::Silent };
    if whole.0 <= 0 || between.0 as f64 <= rule.limit("share_above") * whole.0 as f64 {
        return Outcome::Silent;
    }
    let (time, share) = (units::duration(between), units::percent(between.0 as f64 / whole.0 as f64));
    let note =
        Some(format!("{time} of an inference of {} ({share}) lie in no operator", units::duration(whole)));
    Outcome::Found(Found { saves: Some(between), whole: Some(whole), note, ..Found::default() })
}

fn small_operators(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    let limit = rule.limit("below_us") * 1e3;
    // Steps that engines list and don't run, such as TensorRT's `NoOp`, take exactly no time.
    let executed = subject.kernels.iter().filter(|kernel| kernel.time > 0.0);
    let small = executed.clone().filter(|kernel| kernel.time < limit);
    let share = small.clone().count() as f64 / executed.count().max(1) as f64;
    if share <= rule.limit("share_above") {
        return Outcome::Silent;
    }
    let mut claims = Claims::default();
    small.for_each(|kernel| claims.claim(subject, kernel, "", 1.0));
    let note = Some(format!("{:.0} % of the executions", share * 100.0));
    Causes::of(Cause { claims, note, ..Cause::default() })
}

fn level(subject: &Subject<'_>, _: &Rule) -> Outcome {
    match subject.trace.and_then(|trace| trace.run.optimization) {
        None => Outcome::Missing("the engine's level of optimisation".to_owned()),
        Some(Optimization::Full) => Outcome::Silent,
        Some(level) => Found::note(format!("the level is {}", level.name())),
    }
}

/// First inferences of new shapes against those of the same shapes that followed.
fn changed_shapes(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace.filter(|trace| trace.iterations.len() > 1) else {
        return needs_iterations();
    };
    let executed = executed(trace);
    if executed.is_empty() {
        return Outcome::Missing("operators of single iterations in the profile".to_owned());
    }
    let duration = |id: &IterationId| trace.iterations.duration()[id.index()];
    // The inferences behind a change of shapes, and those behind them.
    let mut settled: BTreeMap<&BTreeSet<OperatorId>, Vec<Nanoseconds>> = BTreeMap::new();
    let mut first: Vec<(&BTreeSet<OperatorId>, Nanoseconds)> = Vec::new();
    let mut before: Option<&BTreeSet<OperatorId>> = None;
    for (id, operators) in &executed {
        match before.replace(operators) {
            Some(before) if before != operators && is_reshaped(trace, before, operators) => {
                first.push((operators, duration(id)));
            }
            _ => settled.entry(operators).or_default().push(duration(id)),
        }
    }
    let (mut slow, mut excess, mut worst) = (0u32, Nanoseconds::ZERO, 0.0f64);
    for (operators, duration) in &first {
        let usual = settled.get(operators).and_then(|all| Statistics::of(all.iter().copied()));
        let Some(usual) = usual.filter(|usual| usual.median.0 > 0) else { continue };
        let ratio = duration.0 as f64 / usual.median.0 as f64;
        if ratio > rule.limit("ratio") {
            slow += 1;
            excess += *duration - usual.median;
            worst = worst.max(ratio);
        }
    }
    if slow == 0 {
        return Outcome::Silent;
    }
    let note = Some(format!(
        "after {slow} of {} changes the inference took up to {worst:.1} times as long as later ones of the same shapes",
        first.len()
    ));
    Outcome::Found(Found {
        saves: Some(Nanoseconds(excess.0 / executed.len() as i64)),
        note,
        ..Found::default()
    })
}

/// The operators that each iteration executed. As each combination of shapes is an operator of its
/// own, they tell the shapes.
fn executed(trace: &Trace) -> BTreeMap<IterationId, BTreeSet<OperatorId>> {
    let mut executed: BTreeMap<IterationId, BTreeSet<OperatorId>> = BTreeMap::new();
    for (_, task) in trace.tasks.iter() {
        if let (Some(iteration), Some(operator)) = (task.iteration, task.operator) {
            executed.entry(iteration).or_default().insert(operator);
        }
    }
    executed
}

/// Whether an operator of the same name is another one now, and not only another branch was taken.
fn is_reshaped(trace: &Trace, before: &BTreeSet<OperatorId>, now: &BTreeSet<OperatorId>) -> bool {
    let name = |id: &OperatorId| trace.operators.name()[id.index()];
    let gone: BTreeSet<_> = before.difference(now).map(name).collect();
    now.difference(before).any(|id| gone.contains(&name(id)))
}
