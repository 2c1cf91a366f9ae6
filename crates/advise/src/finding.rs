//! Findings of rules.

use opscope_trace::Nanoseconds;
use serde::Serialize;

use crate::claim::{Evidence, Savings};
use crate::rewrites::Does;
use crate::rule::Rule;

/// A finding of a rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The rule, with the thresholds that were used, and with the texts of this case.
    pub rule: Rule,
    /// Rules that say the same of the same operators, by their ids.
    pub also: Vec<String>,
    /// The operators, nodes and calls that it is about, the most costly first.
    pub evidence: Vec<Evidence>,
    /// The most that could be saved in one iteration; `None` where that can't be said.
    pub saves: Option<Nanoseconds>,
    /// The same as a part of what it is a part of.
    pub share: Option<f64>,
    /// The whole that the share is of.
    pub whole: Whole,
    /// A remark about this case.
    pub note: Option<String>,
    /// Whether opscope's rewrites do it, where the rule names any and there is a model.
    pub does: Option<Does>,
    /// The model's nodes that those would change, each once, by name.
    pub changes: Vec<String>,
    /// The time that could be saved, by operator.
    pub(crate) savings: Savings,
}

/// The whole that the share of a finding is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Whole {
    /// The time of the operators.
    Operators,
    /// The time from the inference's beginning to its end: what could be saved lies in no operator.
    Inference,
    /// The time from the first task to the last, where no inferences are known; likewise.
    Profile,
}

/// A rule that could not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// The rule's id.
    pub id: String,
    /// The data that are missing.
    pub missing: String,
}

/// A rule whose advice the engine follows already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Done {
    /// The rule's id.
    pub id: String,
    /// The title that its finding would have had.
    pub title: String,
    /// In how many places of the model.
    pub places: usize,
}

/// The findings of all rules.
#[derive(Clone, Debug)]
pub struct Report {
    /// The findings: first what one can act on, then figures, then what isn't about time; each with the
    /// one that could save most first.
    pub findings: Vec<Finding>,
    /// The most that could be saved of the operators' time, if all findings were followed: what several
    /// of them name is counted once.
    pub together: Option<Nanoseconds>,
    /// Rules that could not run.
    pub not_run: Vec<NotRun>,
    /// Advice that the engine follows already.
    pub done: Vec<Done>,
    /// How many rules were asked, those that could not run not counted.
    pub asked: usize,
    /// The ids of rules that the settings silenced.
    pub silenced: Vec<String>,
}
