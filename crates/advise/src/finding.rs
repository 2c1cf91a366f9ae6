//! Running rules, and what they find.

use std::collections::{BTreeMap, HashSet};

use opscope_trace::Nanoseconds;
use serde::Serialize;

use crate::ability::{self, Does};
use crate::checks;
use crate::claim::{Cause, Causes, Claim, Savings, savings, together};
use crate::rule::{Confidence, Kind, Rule, rules};
use crate::settings::Settings;
use crate::subject::Subject;

/// What the condition of a rule says.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It doesn't hold.
    Silent,
    /// It holds for the run as a whole, or for what isn't an operator.
    Found(Found),
    /// It holds for operators.
    Operators(Causes),
    /// It can't be asked: what is missing.
    Missing(String),
}

/// Where a condition holds that isn't about operators, such as one about calls, or about the time
/// between operators.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub evidence: Vec<Evidence>,
    /// What could be saved at most in one iteration, outside of operators; `None` where that can't be
    /// said.
    pub saves: Option<Nanoseconds>,
    /// What is to be said about this case.
    pub note: Option<String>,
}

impl Found {
    /// What could be saved isn't known.
    pub fn only(evidence: Vec<Evidence>) -> Outcome {
        Self { evidence, saves: None, note: None }.or_silent()
    }

    /// A finding without evidence.
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
    /// The rule, with the thresholds that were used, and with the texts of this case.
    pub rule: Rule,
    /// Rules that say the same of the same operators, by their ids.
    pub also: Vec<String>,
    /// What it is about, the most costly first.
    pub evidence: Vec<Evidence>,
    /// What could be saved at most in one iteration; `None` where that can't be said.
    pub saves: Option<Nanoseconds>,
    /// The same as a part of what it is a part of.
    pub share: Option<f64>,
    /// What the share is of.
    pub whole: Whole,
    /// What is to be said about this case.
    pub note: Option<String>,
    /// Whether opscope's rewrites do it, where the rule names any and they were asked.
    pub does: Option<Does>,
    /// What could be saved of which operators.
    savings: Savings,
}

/// What the share of a finding is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Whole {
    /// The time of the operators.
    Operators,
    /// The time from the inference's beginning to its end: what could be saved lies in no operator.
    Inference,
}

/// A rule that could not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// The rule's id.
    pub id: String,
    /// What is missing.
    pub missing: String,
}

/// A rule whose advice the engine follows already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// The rule's id.
    pub id: String,
    /// What it would have been about.
    pub title: String,
    /// In how many places of the model.
    pub places: usize,
}

/// What all rules say.
#[derive(Clone, Debug)]
pub struct Report {
    /// The findings: first what one can act on, then figures, then what isn't about time; each with the
    /// one that could save most first.
    pub findings: Vec<Finding>,
    /// What could be saved of the operators' time at most, if all findings were followed: what several
    /// of them name is counted once.
    pub together: Option<Nanoseconds>,
    /// Rules that could not run.
    pub not_run: Vec<NotRun>,
    /// What the engine has done already.
    pub done: Vec<Done>,
    /// How many rules were asked, those that could not run not counted.
    pub asked: usize,
    /// The ids of rules that the settings silenced.
    pub silenced: Vec<String>,
}

/// Runs all rules that apply to the target.
pub fn advise(subject: &Subject<'_>, settings: &Settings) -> Report {
    let mut report = Report {
        findings: Vec::new(),
        together: None,
        not_run: Vec::new(),
        done: Vec::new(),
        asked: 0,
        silenced: Vec::new(),
    };
    for rule in settings.apply_to(rules()) {
        if !subject.target.has_rule(&rule.id) {
            continue;
        }
        // What is said under another rule's id is silent with that.
        let said_under = rule.same_as.as_deref().filter(|other| subject.target.has_rule(other));
        if settings.silences(&rule) || said_under.is_some_and(|other| settings.silences_id(other)) {
            report.silenced.push(rule.id);
            continue;
        }
        let outcome = match (&rule.when, &rule.option) {
            (Some(condition), _) => condition.check(subject, &rule),
            (_, Some(condition)) => condition.check(subject),
            _ => checks::check(subject, &rule),
        };
        let does = subject.rewrites.and_then(|abilities| Does::of(&rule, abilities, subject.target));
        let outcome = ability::or_what_rewrites_find(subject, &rule, outcome, does.as_ref());
        match outcome {
            Outcome::Missing(missing) => {
                report.not_run.push(NotRun { id: rule.id, missing });
                continue;
            }
            Outcome::Silent => {}
            Outcome::Found(found) => report.findings.push(beside_operators(subject, rule, found, does)),
            Outcome::Operators(found) => {
                if found.done > 0 {
                    let (id, title) = (rule.id.clone(), rule.title.clone());
                    report.done.push(Done { id, title, places: found.done });
                }
                let each = found.causes.into_iter();
                report.findings.extend(each.map(|cause| of_cause(subject, &rule, cause)));
            }
        }
        report.asked += 1;
    }
    without_repetition(subject, &mut report.findings);
    report.together = together(report.findings.iter().map(|finding| &finding.savings));
    report.findings.sort_by(|a, b| rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal));
    checks::bring_forward(subject, &mut report.findings);
    report
}

/// What one can act on stands above figures, whatever their shares.
fn rank(finding: &Finding) -> (Kind, f64, Confidence) {
    (finding.rule.kind, finding.share.unwrap_or(-1.0), finding.rule.confidence)
}

/// Takes away what is said already: a rule that another one stands for, and operators of which a more
/// special rule says why they are as they are.
fn without_repetition(subject: &Subject<'_>, findings: &mut Vec<Finding>) {
    let mut kept: Vec<Finding> = Vec::new();
    for finding in std::mem::take(findings) {
        let id = finding.rule.same_as.as_deref();
        let known = kept.iter_mut().find(|known| {
            let names: HashSet<&str> = known.evidence.iter().map(|item| &*item.name).collect();
            id == Some(&known.rule.id) && finding.evidence.iter().all(|item| names.contains(&*item.name))
        });
        match known {
            Some(known) => known.also.push(finding.rule.id),
            None => kept.push(finding),
        }
    }
    for place in 0..kept.len() {
        let Some(general) = kept[place].rule.refines.clone() else { continue };
        let special = kept[place].clone();
        let mut says_all_of_it = false;
        for finding in kept.iter_mut().filter(|finding| finding.rule.id == general) {
            let said_something = !finding.evidence.is_empty();
            finding.leave_out(subject, &special);
            says_all_of_it |= said_something && finding.evidence.is_empty();
        }
        if says_all_of_it {
            kept[place].also.push(general);
        }
    }
    kept.retain(|finding| !finding.evidence.is_empty() || finding.note.is_some());
    *findings = kept;
}

impl Finding {
    /// Leaves out operators that another finding names, and their time.
    fn leave_out(&mut self, subject: &Subject<'_>, other: &Self) {
        let named: HashSet<(&str, &str)> =
            other.evidence.iter().map(|item| (&*item.name, &*item.op_type)).collect();
        self.evidence.retain(|item| !named.contains(&(&*item.name, &*item.op_type)));
        if self.evidence.is_empty() {
            self.note = None;
        }
        let before = self.savings.len();
        self.savings.retain(|executed, _| !other.savings.contains_key(executed));
        if self.savings.len() < before {
            self.saves = Some(Nanoseconds(self.savings.values().sum::<f64>() as i64));
            self.share = share(self.saves, Some(subject.total));
        }
    }
}

fn share(saves: Option<Nanoseconds>, whole: Option<Nanoseconds>) -> Option<f64> {
    let (saves, whole) = (saves?, whole.filter(|whole| whole.0 > 0)?);
    Some((saves.0 as f64 / whole.0 as f64).clamp(0.0, 1.0))
}

/// A finding about what lies in no operator.
fn beside_operators(subject: &Subject<'_>, rule: Rule, found: Found, does: Option<Does>) -> Finding {
    let whole = subject.inference.unwrap_or_default().max(subject.total);
    let saves = found.saves.map(|saves| saves.max(Nanoseconds::ZERO).min(whole));
    let claims = found.evidence.into_iter().map(|evidence| Claim { evidence, saves: Vec::new() });
    Finding {
        rule,
        also: Vec::new(),
        evidence: merged(claims),
        saves,
        share: share(saves, Some(whole)),
        whole: Whole::Inference,
        note: found.note,
        does,
        savings: Savings::new(),
    }
}

/// A finding about operators that have one cause.
fn of_cause(subject: &Subject<'_>, rule: &Rule, cause: Cause) -> Finding {
    let savings = savings(&subject.executions, &cause.claims);
    let sum: f64 = savings.values().sum();
    let saves = (!savings.is_empty()).then_some(Nanoseconds(sum as i64));
    let mut rule = rule.clone();
    let texts = [
        (&mut rule.title, cause.title),
        (&mut rule.why, cause.why),
        (&mut rule.advice, cause.advice),
        (&mut rule.auto, cause.auto),
    ];
    for (text, nearer) in texts {
        if let Some(nearer) = nearer {
            *text = nearer;
        }
    }
    let does = subject.rewrites.and_then(|abilities| Does::of(&rule, abilities, subject.target));
    Finding {
        rule,
        also: Vec::new(),
        evidence: merged(cause.claims.into_iter()),
        saves,
        share: share(saves, Some(subject.total)),
        whole: Whole::Operators,
        note: cause.note,
        does,
        savings,
    }
}

/// Evidence of the same name and type in one row, the most costly first.
fn merged(claims: impl Iterator<Item = Claim>) -> Vec<Evidence> {
    let mut order: Vec<Evidence> = Vec::new();
    let mut places: BTreeMap<(String, String), usize> = BTreeMap::new();
    for item in claims.map(|claim| claim.evidence) {
        let place = *places.entry((item.name.clone(), item.op_type.clone())).or_insert(order.len());
        match order.get_mut(place) {
            Some(known) => known.time = known.time.zip(item.time).map(|(a, b)| a + b),
            None => order.push(item),
        }
    }
    order.sort_by_key(|item| std::cmp::Reverse(item.time));
    order
}
