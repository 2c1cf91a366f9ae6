//! Running rules, and what they find.

use std::collections::BTreeMap;

use opscope_trace::Nanoseconds;
use serde::Serialize;

use crate::ability::{self, Does};
use crate::checks;
use crate::rule::{Confidence, Rule, rules};
use crate::settings::Settings;
use crate::subject::Subject;

/// What the condition of a rule says.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It doesn't hold.
    Silent,
    /// It holds.
    Found(Found),
    /// It can't be asked: what is missing.
    Missing(String),
}

/// Where a condition holds.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub evidence: Vec<Evidence>,
    /// What could be saved at most in one iteration; `None` where that can't be said.
    pub saves: Option<Nanoseconds>,
    /// What is to be said about this case.
    pub note: Option<String>,
}

impl Found {
    /// All of the evidence's time could be saved.
    pub fn all_of(evidence: Vec<Evidence>) -> Outcome {
        let saves = evidence.iter().map(|item| item.time).sum::<Option<Nanoseconds>>();
        Self { evidence, saves, note: None }.or_silent()
    }

    /// What could be saved isn't known.
    pub fn only(evidence: Vec<Evidence>) -> Outcome {
        Self { evidence, saves: None, note: None }.or_silent()
    }

    /// A finding without operators.
    pub fn note(note: String) -> Outcome {
        Outcome::Found(Self { note: Some(note), ..Self::default() })
    }

    /// No finding where there is no evidence.
    pub fn or_silent(self) -> Outcome {
        if self.evidence.is_empty() { Outcome::Silent } else { Outcome::Found(self) }
    }
}

/// An operator, node or call that a finding is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Its name.
    pub name: String,
    /// Its type; empty for what has none.
    pub op_type: String,
    /// Its time in an average iteration, where the profile has it.
    #[serde(rename = "time_ns", serialize_with = "nanoseconds")]
    pub time: Option<Nanoseconds>,
    /// What makes it stand out.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

fn nanoseconds<S: serde::Serializer>(time: &Option<Nanoseconds>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.0).serialize(serializer)
}

/// What a rule found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule, with the thresholds that were used.
    pub rule: Rule,
    /// What it is about, the most costly first.
    pub evidence: Vec<Evidence>,
    /// What could be saved at most in one iteration; `None` where that can't be said.
    pub saves: Option<Nanoseconds>,
    /// The same as a part of the measured time.
    pub share: Option<f64>,
    /// What is to be said about this case.
    pub note: Option<String>,
    /// Whether opscope's rewrites do it, where the rule names any and they were asked.
    pub does: Option<Does>,
}

/// A rule that could not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// The rule's id.
    pub id: String,
    /// What is missing.
    pub missing: String,
}

/// What all rules say.
#[derive(Clone, Debug)]
pub struct Report {
    /// The findings, the one that could save most first.
    pub findings: Vec<Finding>,
    /// Rules that could not run.
    pub not_run: Vec<NotRun>,
    /// How many rules were asked, those that could not run not counted.
    pub asked: usize,
    /// The ids of rules that the settings silenced.
    pub silenced: Vec<String>,
}

/// Runs all rules that apply to the target.
pub fn advise(subject: &Subject<'_>, settings: &Settings) -> Report {
    let mut report = Report { findings: Vec::new(), not_run: Vec::new(), asked: 0, silenced: Vec::new() };
    for rule in settings.apply_to(rules()) {
        if !subject.target.has_rule(&rule.id) {
            continue;
        }
        if settings.silences(&rule.id) {
            report.silenced.push(rule.id);
            continue;
        }
        let outcome = match (&rule.when, &rule.option) {
            (Some(condition), _) => condition.check(subject, &rule),
            (_, Some(condition)) => condition.check(subject),
            _ => checks::check(subject, &rule),
        };
        let does = subject.rewrites.and_then(|abilities| Does::of(&rule, abilities));
        let outcome = ability::or_what_rewrites_find(subject, &rule, outcome, does.as_ref());
        match outcome {
            Outcome::Missing(missing) => {
                report.not_run.push(NotRun { id: rule.id, missing });
                continue;
            }
            Outcome::Silent => {}
            Outcome::Found(found) => report.findings.push(finding(subject, rule, found, does)),
        }
        report.asked += 1;
    }
    report.findings.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
    checks::bring_forward(subject, &mut report.findings);
    report
}

fn rank(finding: &Finding) -> (f64, Confidence) {
    (finding.share.unwrap_or(-1.0), finding.rule.confidence)
}

fn finding(subject: &Subject<'_>, rule: Rule, mut found: Found, does: Option<Does>) -> Finding {
    found.evidence = merged(found.evidence);
    let saves =
        found.saves.map(|saves| saves.max(Nanoseconds::ZERO).min(subject.total.max(Nanoseconds::ZERO)));
    let share = saves.filter(|_| subject.total.0 > 0).map(|saves| saves.0 as f64 / subject.total.0 as f64);
    Finding { rule, evidence: found.evidence, saves, share, note: found.note, does }
}

/// Evidence of the same name and type in one row, the most costly first.
fn merged(evidence: Vec<Evidence>) -> Vec<Evidence> {
    let mut order: Vec<Evidence> = Vec::new();
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    for item in evidence {
        let place = *places.entry((item.name.clone(), item.op_type.clone())).or_insert(order.len());
        match order.get_mut(place) {
            Some(known) => known.time = known.time.zip(item.time).map(|(a, b)| a + b),
            None => order.push(item),
        }
    }
    order.sort_by_key(|item| std::cmp::Reverse(item.time));
    order
}
