//! Conditions that need more than a look at single operators, one file for each family.

mod activations;
mod ai_cpu;
mod ascend;
mod ascend_types;
mod conversion;
mod converter;
mod environment;
mod fusible;
mod graph_cleanup;
mod graph_fold;
mod graph_target;
mod host;
mod host_limits;
mod host_sweep;
mod resizing;
mod sequences;
mod span;
mod svp;

pub use ai_cpu::{Why, why_on_ai_cpu};
pub(crate) use span::bring_forward;

use crate::finding::Outcome;
use crate::rule::Rule;
use crate::subject::Subject;

/// The condition of a rule.
type Check = fn(&Subject<'_>, &Rule) -> Outcome;

/// All conditions by the ids of their rules.
const FAMILIES: [&[(&str, Check)]; 17] = [
    activations::CHECKS,
    ai_cpu::CHECKS,
    resizing::CHECKS,
    ascend::CHECKS,
    ascend_types::CHECKS,
    sequences::CHECKS,
    span::CHECKS,
    svp::CHECKS,
    environment::CHECKS,
    graph_fold::CHECKS,
    graph_cleanup::CHECKS,
    graph_target::CHECKS,
    host::CHECKS,
    host_sweep::CHECKS,
    host_limits::CHECKS,
    conversion::CHECKS,
    converter::CHECKS,
];

fn find(id: &str) -> Option<Check> {
    FAMILIES.iter().copied().flatten().find(|(known, _)| *known == id).map(|(_, check)| *check)
}

/// Whether a rule has its condition here.
#[cfg(test)]
pub(crate) fn has(id: &str) -> bool {
    find(id).is_some()
}

/// The ids of all rules that have their conditions here.
#[cfg(test)]
pub(crate) fn ids() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().copied().flatten().map(|(id, _)| *id)
}

/// Asks the condition of a rule.
pub(crate) fn check(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    match find(&rule.id) {
        Some(check) => check(subject, rule),
        None => Outcome::Missing("a condition".to_owned()),
    }
}
