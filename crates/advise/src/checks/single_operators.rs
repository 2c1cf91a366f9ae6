//! Conditions about single operators that `msprof op` ran: what limits a kernel. They are for whoever writes
//! kernels; in profiles of whole models, rules about operators (A11 to A20) take their place.

use opscope_trace::ProfileFormat;

use crate::claim::Claims;
use crate::kernels::Kernel;
use crate::metrics::Metric;
use crate::outcome::{Causes, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("A35", transfer),
    ("A36", computing),
    ("A37", scalar),
    ("A38", cache),
    ("A39", fixpipe),
    ("A40", single_block),
    ("A41", frequency),
];

/// Whether a profile is one of `msprof op`.
pub(super) fn is_of_single_operators(subject: &Subject<'_>) -> bool {
    subject.trace.is_some_and(|trace| trace.run.format == Some(ProfileFormat::CannOperators))
}

/// Judges each launch, in words where there is something to say; silent about profiles of whole models. The
/// metrics are those without which nothing can be said.
fn by_kernel(
    subject: &Subject<'_>,
    metrics: &[&str],
    judge: impl Fn(&Kernel<'_>) -> Option<String>,
) -> Outcome {
    if !is_of_single_operators(subject) {
        return Outcome::Silent;
    }
    if !metrics.iter().any(|metric| subject.has_metric(metric)) {
        let names = metrics.join(" or ");
        return Outcome::Missing(format!("the metric {names} (msprof op without --aic-metrics records all)"));
    }
    let mut claims = Claims::default();
    for kernel in &subject.kernels {
        if let Some(words) = judge(kernel) {
            claims.mention(subject, kernel, words);
        }
    }
    Causes::one(claims)
}

/// Judges each launch by the largest of the ratios that lie above their limits.
fn by_largest(subject: &Subject<'_>, limits: &[(&str, f64)]) -> Outcome {
    let names: Vec<&str> = limits.iter().map(|(name, _)| *name).collect();
    let ratios: Vec<(&str, Metric<'_>, f64)> =
        limits.iter().map(|(name, limit)| (*name, subject.metric(name), *limit)).collect();
    by_kernel(subject, &names, |kernel| {
        let above = ratios.iter().filter_map(|(name, metric, limit)| {
            let ratio = metric.of(kernel)?;
            (ratio > *limit).then_some((*name, ratio))
        });
        let (name, ratio) = above.max_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!("{name} {ratio:.3}"))
    })
}

fn transfer(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    by_largest(subject, &["mte1_ratio", "mte2_ratio", "mte3_ratio"].map(|pipe| (pipe, rule.limit("busy"))))
}

fn computing(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    by_largest(subject, &[("vec_ratio", rule.limit("vector")), ("mac_ratio", rule.limit("cube"))])
}

fn scalar(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    by_largest(subject, &[("scalar_ratio", rule.limit("busy"))])
}

fn cache(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    /// Of all accesses, or else of those that read.
    const RATES: [&str; 3] = ["total_hit_rate", "l2_cache_hit_rate", "read_hit_rate"];
    let rates = RATES.map(|rate| ["aic", "aiv"].map(|kind| subject.metric(&format!("{kind}_{rate}"))));
    let read = subject.metric("read_main_memory_datas");
    by_kernel(subject, &RATES, |kernel| {
        let of_kinds =
            |kinds: &[Metric<'_>; 2]| kinds.iter().filter_map(|rate| rate.of(kernel)).reduce(f64::min);
        let least = rates.iter().find_map(of_kinds).filter(|rate| *rate < rule.limit("hits"))?;
        let read = read.of(kernel);
        // Of little data everything is read for the first time.
        if read.is_some_and(|kilobytes| kilobytes < rule.limit("kilobytes")) {
            return None;
        }
        let read = read.map_or(String::new(), |kilobytes| format!(" of accesses, {kilobytes:.0} KB read"));
        Some(format!("L2 hits {:.1} %{read}", least * 100.0))
    })
}

fn fixpipe(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    by_largest(subject, &[("fixpipe_ratio", rule.limit("busy"))])
}

fn single_block(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let block_num = subject.metric("block_num");
    by_kernel(subject, &["block_num"], |kernel| {
        let blocks = block_num.of(kernel)?;
        (blocks <= rule.limit("blocks")).then(|| format!("{blocks} block"))
    })
}

fn frequency(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    let [current, rated] = ["current_frequency", "rated_frequency"].map(|name| subject.metric(name));
    by_kernel(subject, &["current_frequency"], |kernel| {
        let (current, rated) = (current.of(kernel)?, rated.of(kernel).filter(|rated| *rated > 0.0)?);
        let is_below = current < rated * (1.0 - rule.limit("drop"));
        is_below.then(|| format!("{current} of {rated} MHz"))
    })
}
