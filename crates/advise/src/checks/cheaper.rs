//! Operators that a cheaper form could replace, and casts there and back, as far as a profile alone tells.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::LazyLock;

use opscope_trace::{DataType, ExecutionUnit, Trace};
use serde::Deserialize;

use super::ai_cpu::{is_of, types_of};
use crate::claim::Claims;
use crate::kernels::{Kernel, Kind};
use crate::outcome::{Cause, Causes, Outcome};
use crate::rule::{Check, Rule};
use crate::subject::Subject;

pub(super) const CHECKS: &[(&str, Check)] = &[("A43", casts_back), ("A44", cheaper_forms)];

/// The facts in `rules/cheaper.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    operator: Vec<Fact>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    types: Vec<String>,
    because: String,
    instead: String,
    #[serde(default)]
    rewrite: Option<String>,
    /// The type of the model's nodes of which a rule about graphs tells whether the form fits.
    #[serde(default)]
    told_of_nodes: Option<String>,
    /// Where the fact comes from.
    #[serde(rename = "source")]
    _source: String,
}

/// The file is part of the program; a test reads it.
static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    toml::from_str(include_str!("../rules/cheaper.toml")).unwrap_or(Facts { operator: Vec::new() })
});

/// The fact about a kind of operator on the cores; on the AI CPU others hold. None of an operator that is one of the
/// nodes of which a rule about graphs tells.
fn fact_of(subject: &Subject<'_>, told: &HashSet<(&str, &str)>, kind: &Kind<'_>) -> Option<usize> {
    let is_on_cores = kind.unit != ExecutionUnit::AiCpu;
    let place = FACTS.operator.iter().position(|fact| is_on_cores && is_of(kind.op_type, &fact.types))?;
    let Some(node_type) = FACTS.operator[place].told_of_nodes.as_deref() else { return Some(place) };
    let mut nodes = subject.executions.nodes_of(kind.name).into_iter();
    (!nodes.any(|node| told.contains(&(node, node_type)))).then_some(place)
}

/// The names and types of the model's nodes of which rules about graphs tell, if the profile is of that model.
fn told_nodes<'a>(subject: &Subject<'a>) -> HashSet<(&'a str, &'a str)> {
    let model = subject.model.filter(|_| subject.is_of_this_model());
    let nodes = model.into_iter().flat_map(|model| model.graph().nodes());
    let is_told =
        |op_type: &str| FACTS.operator.iter().any(|fact| fact.told_of_nodes.as_deref() == Some(op_type));
    nodes.map(|node| (node.name, node.op_type)).filter(|(_, op_type)| is_told(op_type)).collect()
}

fn missing() -> Outcome {
    Outcome::Missing("operators in a profile".to_owned())
}

/// A cause for each kind of operator that takes more of the time than the limit.
fn cheaper_forms(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return missing();
    }
    let told = told_nodes(subject);
    let facts = subject.kernels.by_kind(|kind| fact_of(subject, &told, kind));
    let mut of_facts: BTreeMap<usize, (f64, Claims)> = BTreeMap::new();
    if facts.any(Option::is_some) {
        for kernel in &subject.kernels {
            let Some(fact) = *facts.of(kernel) else { continue };
            let (time, claims) = of_facts.entry(fact).or_default();
            *time += kernel.time;
            claims.mention(subject, kernel, "");
        }
    }
    let all = subject.total.0 as f64 * subject.iterations as f64;
    let is_much = |time: f64| all > 0.0 && time / all > rule.limit("share_above");
    let causes = of_facts.into_iter().filter(|(_, (time, _))| is_much(*time)).map(|(fact, (_, claims))| {
        let fact = &FACTS.operator[fact];
        let rewrite = fact.rewrite.as_ref().map(|id| format!("rewrite {id}"));
        let cause = Cause { claims, ..Cause::default() };
        Cause {
            title: Some(format!("{}: costly in any place", types_of(&cause))),
            why: Some(format!("{}.", fact.because)),
            advice: Some(format!("{}.", fact.instead)),
            auto: Some(rewrite.unwrap_or_else(|| "no".to_owned())),
            ..cause
        }
    });
    Causes { causes: causes.collect(), done: 0 }.outcome()
}

/// The types that a Cast converts between, if the profile tells both.
fn converts(trace: &Trace, subject: &Subject<'_>, kernel: &Kernel<'_>) -> Option<(DataType, DataType)> {
    let row = subject.operator_row(kernel)?;
    let of = |tensor: opscope_trace::TensorId| trace.tensors.data_type()[tensor.index()];
    let (from, to) = (of(row.inputs().next()?), of(row.outputs().next()?));
    (from != DataType::Unknown && to != DataType::Unknown && from != to).then_some((from, to))
}

/// Whether what one Cast makes may be what another reads: sizes that are known are the same. Between them may lie
/// operators that lay the elements out otherwise, so that only their number counts.
fn may_be_of_one(trace: &Trace, subject: &Subject<'_>, there: &Kernel<'_>, back: &Kernel<'_>) -> bool {
    let elements = |tensor: opscope_trace::TensorId| {
        let sizes = trace.shape(tensor)?.iter().map(|&size| u64::try_from(size).ok());
        sizes.into_iter().try_fold(1_u64, |product, size| product.checked_mul(size?))
    };
    let made = subject.operator_row(there).and_then(|row| elements(row.outputs().next()?));
    let read = subject.operator_row(back).and_then(|row| elements(row.inputs().next()?));
    made.zip(read).is_none_or(|(made, read)| made == read)
}

/// Two types as a detail: `float16 to float32 and back`.
struct ThereAndBack(DataType, DataType);

impl fmt::Display for ThereAndBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {} and back", self.0.name(), self.1.name())
    }
}

/// Casts to a type and back to the one before, with at most so many other operators between.
fn casts_back(subject: &Subject<'_>, rule: &Rule) -> Outcome {
    if subject.kernels.is_empty() {
        return missing();
    }
    let Some(trace) = subject.trace else { return missing() };
    let is_cast = subject.kernels.by_kind(|kind| kind.op_type.eq_ignore_ascii_case("Cast"));
    let mut claims = Claims::default();
    if !is_cast.any(|cast| *cast) {
        return Outcome::Silent;
    }
    let most_between = rule.limit("between").max(0.0) as usize;
    let mut first = 0;
    while first < subject.kernels.len() {
        let rest = &subject.kernels[first..];
        first += 1;
        let there = Some(&rest[0]).filter(|kernel| *is_cast.of(kernel));
        let Some((from, to)) = there.and_then(|kernel| converts(trace, subject, kernel)) else { continue };
        let behind = rest[1..].iter().take(most_between + 1).enumerate();
        let mut casts = behind.filter(|(_, kernel)| *is_cast.of(kernel) && kernel.is_beside(&rest[0]));
        let Some((place, back)) = casts.next() else { continue };
        if converts(trace, subject, back) == Some((to, from)) && may_be_of_one(trace, subject, &rest[0], back)
        {
            claims.claim(subject, &rest[0], ThereAndBack(from, to), 1.0);
            claims.claim(subject, back, ThereAndBack(from, to), 1.0);
            for between in &rest[1..=place] {
                claims.mention(subject, between, "stands between the casts");
            }
            // The one back may be the one there of another pair.
            first += place;
        }
    }
    Causes::one(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    #[test]
    fn the_facts_can_be_read_and_name_rewrites_that_exist() {
        let facts: Facts = toml::from_str(include_str!("../rules/cheaper.toml")).unwrap();
        assert!(facts.operator.len() > 3);
        for fact in &facts.operator {
            assert!(!fact.because.ends_with('.') && !fact.instead.ends_with('.'), "{}", fact.because);
            assert!(fact.rewrite.iter().all(|id| rules().iter().any(|rule| rule.id == *id)), "{fact:?}");
        }
    }
}
