//! Conditions that hold for any engine.

use opscope_analyze::{Measured, Statistics};
use opscope_trace::{Nanoseconds, units};

use super::Check;
use crate::finding::{Found, Outcome};
use crate::rule::Rule;
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] =
    &[("H01", warm_up), ("H02", noise), ("H05", gap), ("H06", small_operators), ("H09", level)];

fn needs_iterations() -> Outcome {
    Outcome::Missing("several iterations in the profile".to_owned())
}

fn warm_up(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return needs_iterations() };
    let rows: Vec<_> = trace.iterations.iter().map(|(_, row)| row).collect();
    let Some(first) = rows.iter().min_by_key(|row| row.start) else { return needs_iterations() };
    let later = rows.iter().filter(|row| !row.warm_up && row.start > first.start);
    let Some(later) = Statistics::of(later.map(|row| row.duration)).filter(|later| later.count >= 2) else {
        return needs_iterations();
    };
    let ratio = first.duration.0 as f64 / later.median.0.max(1) as f64;
    if ratio <= rule.limit("ratio") {
        return Outcome::Silent;
    }
    let (first, median) = (units::duration(first.duration), units::duration(later.median));
    Found::note(format!("the first took {first}, {ratio:.1} times the median of {median}"))
}

fn noise(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace else { return needs_iterations() };
    let measured = Measured::of(trace).iterations;
    let durations: Vec<Nanoseconds> =
        measured.iter().map(|id| trace.iterations.duration()[id.index()]).collect();
    let Some(all) =
        Statistics::of(durations.iter().copied()).filter(|all| all.count >= 5 && all.median.0 > 0)
    else {
        return needs_iterations();
    };
    let deviations = durations.iter().map(|duration| Nanoseconds((duration.0 - all.median.0).abs()));
    let deviation = Statistics::of(deviations).map_or(0.0, |it| it.median.0 as f64 / all.median.0 as f64);
    let tail = all.p99.0 as f64 / all.median.0 as f64;
    if deviation <= rule.limit("deviation") && tail <= rule.limit("tail") {
        return Outcome::Silent;
    }
    Found::note(format!("median deviation {:.1} %, p99 is {tail:.2} times the median", deviation * 100.0))
}

fn gap(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let Some(trace) = subject.trace.filter(|trace| !trace.iterations.is_empty() && !trace.tasks.is_empty())
    else {
        return Outcome::Missing("iterations and operators in the profile".to_owned());
    };
    let summary = opscope_analyze::Summary::of(trace);
    let whole = summary.inside + summary.between;
    if whole.0 <= 0 || summary.between.0 as f64 <= rule.limit("share_above") * whole.0 as f64 {
        return Outcome::Silent;
    }
    let share = summary.between.0 as f64 / whole.0 as f64 * 100.0;
    let note = Some(format!(
        "{} of each inference ({share:.0} %) lie in no operator",
        units::duration(summary.between)
    ));
    Outcome::Found(Found { evidence: Vec::new(), saves: Some(summary.between), note })
}

fn small_operators(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return Outcome::Missing("operators in a profile".to_owned());
    }
    let limit = rule.limit("below_us") * 1e3;
    let small: Vec<_> = subject.kernels.iter().filter(|kernel| kernel.time < limit).collect();
    let share = small.len() as f64 / subject.kernels.len() as f64;
    if share <= rule.limit("share_above") {
        return Outcome::Silent;
    }
    let time: f64 = small.iter().map(|kernel| kernel.time).sum();
    let saves = Some(Nanoseconds((time / subject.iterations as f64) as i64));
    let evidence = small.iter().map(|kernel| subject.evidence(kernel, String::new())).collect();
    let note = Some(format!("{:.0} % of the executions", share * 100.0));
    Found { evidence, saves, note }.or_silent()
}

fn level(subject: &Subject<'_>, _: &Rule) -> Outcome {
    let Some(level) = subject.trace.and_then(|trace| trace.property("optimization")) else {
        return Outcome::Missing("the engine's level of optimisation".to_owned());
    };
    if matches!(level, "all" | "full" | "3") {
        return Outcome::Silent;
    }
    Found::note(format!("the level is {level}"))
}
