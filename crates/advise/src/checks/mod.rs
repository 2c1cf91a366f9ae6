//! Conditions that need more than a look at single operators, one file for each family.

mod activations;
mod ai_cpu;
mod ascend;
mod ascend_types;
mod cheaper;
mod communication;
mod conversion;
mod converter;
mod declared;
mod environment;
mod fusible;
mod graph;
mod host;
mod host_limits;
mod host_sweep;
mod layouts;
mod nodes;
mod resizing;
mod rewritten;
mod sequences;
mod single_operators;
mod span;
mod svp;

pub use ai_cpu::{Why, why_on_ai_cpu};

use crate::outcome::Outcome;
use crate::rule::{Check, Rule};
use crate::subject::Subject;

/// All conditions by the ids of their rules.
const FAMILIES: [&[(&str, Check)]; 18] = [
    activations::CHECKS,
    ai_cpu::CHECKS,
    resizing::CHECKS,
    ascend::CHECKS,
    cheaper::CHECKS,
    communication::CHECKS,
    layouts::CHECKS,
    sequences::CHECKS,
    single_operators::CHECKS,
    span::CHECKS,
    svp::CHECKS,
    environment::CHECKS,
    graph::CHECKS,
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

/// Asks the condition of a rule: the one that stands with its data, or the one that is here.
pub(crate) fn check(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if let Some(condition) = &rule.when {
        condition.check(subject, rule)
    } else if let Some(condition) = &rule.option {
        condition.check(subject)
    } else if let Some(condition) = &rule.matches {
        rewritten::check(subject, rule, condition)
    } else if let Some(check) = find(&rule.id) {
        check(subject, rule)
    } else {
        Outcome::Missing("a condition".to_owned())
    }
}
