//! Rules as data.

use std::collections::BTreeMap;

use opscope_trace::words;
use serde::{Deserialize, Serialize};

use crate::condition::{MatchCondition, OperatorCondition, OptionCondition};
use crate::outcome::Outcome;
use crate::rewrites;
use crate::subject::Subject;
use crate::target::{Target, TargetGroup};

/// The condition of a rule that needs more than a look at its data.
pub(crate) type Check = fn(&Subject<'_>, &Rule) -> Outcome;

/// A rule: what it says, and what its thresholds are.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its id, such as `A01`; the letter is the family.
    pub id: String,
    /// A short name, such as `transdata-count`.
    #[serde(default)]
    pub name: String,
    /// The problem, in a few words.
    pub title: String,
    /// Why that costs time.
    #[serde(default)]
    pub why: String,
    /// The remedy.
    #[serde(default)]
    pub advice: String,
    /// Whether opscope can do it: `no`, `rewrite` with the rewrite's id, or `config` with the
    /// command or option.
    #[serde(default = "no")]
    pub auto: String,
    /// How sure it is.
    #[serde(default)]
    pub confidence: Confidence,
    /// Whether one can act on what it finds.
    #[serde(default)]
    pub kind: Kind,
    /// The rule that says the same of the same operators, and under whose id it is said.
    #[serde(default)]
    pub same_as: Option<String>,
    /// The rule that says less about the same operators, and is silent about those that this one names.
    #[serde(default)]
    pub refines: Option<String>,
    /// Names of the vendor's own rules that say the same, as its report has them.
    #[serde(default)]
    pub vendor: Vec<String>,
    /// Where the thresholds come from.
    #[serde(default)]
    pub source: String,
    /// The thresholds by their names.
    #[serde(default)]
    pub limits: BTreeMap<String, f64>,
    /// The targets that it is about; none is all of them.
    #[serde(default)]
    pub(crate) targets: Vec<TargetGroup>,
    /// The targets whose figures the thresholds are, where they are those of a chip.
    #[serde(default)]
    pub(crate) figures_of: Vec<TargetGroup>,
    /// The condition that the rewrites which [`Rule::auto`] names apply, if that is what it asks.
    #[serde(default)]
    pub(crate) matches: Option<MatchCondition>,
    /// The condition on single operators, if that is what it asks.
    #[serde(default)]
    pub(crate) when: Option<OperatorCondition>,
    /// The condition on an option of the converter, if that is what it asks.
    #[serde(default)]
    pub(crate) option: Option<OptionCondition>,
    /// The texts in Chinese.
    #[serde(default)]
    pub zh: Option<Text>,
}

fn no() -> String {
    "no".to_owned()
}

/// The texts of a rule in another language.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    /// The problem.
    pub title: String,
    /// Why that costs time.
    pub why: String,
    /// The remedy.
    pub advice: String,
}

words! {
    /// How sure a rule is that its advice saves time.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Confidence {
        /// Common sense only.
        #[default]
        Guessed = "guessed",
        /// The vendor or a tool documents it.
        Documented = "documented",
        /// Somebody measured it and published the figures.
        Measured = "measured",
    }
}

words! {
    /// Whether one can act on what a rule finds; later ones are shown first.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Kind {
        /// It is about how a profile was taken or is shipped, and not about the model's time.
        Note = "note",
        /// A ratio that tells where the time goes, and not what to do about it.
        Figure = "figure",
        /// Something to change.
        #[default]
        Change = "change",
    }
}

/// A file of rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The targets of all rules that name none themselves.
    #[serde(default)]
    targets: Vec<TargetGroup>,
    rule: Vec<Rule>,
}

/// The files of rules, one for each family.
const FILES: [&str; 6] = [
    include_str!("rules/ascend.toml"),
    include_str!("rules/svp.toml"),
    include_str!("rules/environment.toml"),
    include_str!("rules/graph.toml"),
    include_str!("rules/host.toml"),
    include_str!("rules/conversion.toml"),
];

/// All rules that come with opscope, family by family.
pub fn rules() -> Vec<Rule> {
    FILES.iter().flat_map(|text| read(text)).collect()
}

fn read(text: &str) -> Vec<Rule> {
    // The files are part of the program; a test reads each of them.
    let Ok(mut file) = toml::from_str::<File>(text) else { return Vec::new() };
    for rule in &mut file.rule {
        if rule.targets.is_empty() {
            rule.targets.clone_from(&file.targets);
        }
        // A size that a rewrite has stands there alone.
        let sizes = rule.matches.iter().filter_map(|_| rewrites::named(&rule.auto));
        let sizes = sizes.flat_map(rewrites::limits).map(|(name, value)| (name.to_owned(), value as f64));
        rule.limits.extend(sizes.collect::<Vec<_>>());
    }
    file.rule
}

impl Rule {
    /// Whether it is about a target.
    pub(crate) fn is_about(&self, target: Target) -> bool {
        self.targets.is_empty() || self.targets.iter().any(|group| group.has(target))
    }

    /// Whether its thresholds are figures of a target.
    pub(crate) fn has_figures_of(&self, target: Target) -> bool {
        self.figures_of.iter().any(|group| group.has(target))
    }

    /// A threshold; a rule's own file names every one that it uses.
    pub(crate) fn limit(&self, name: &str) -> f64 {
        self.limits.get(name).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_rules_can_be_read_and_every_rule_is_complete() {
        for text in FILES {
            let file: File = toml::from_str(text).unwrap();
            for rule in file.rule {
                let texts = [&rule.name, &rule.title, &rule.why, &rule.advice, &rule.source];
                assert!(texts.iter().all(|text| !text.is_empty()), "{}", rule.id);
                let zh = rule.zh.as_ref().unwrap_or_else(|| panic!("{} has no Chinese text", rule.id));
                assert!(!zh.title.is_empty() && !zh.why.is_empty() && !zh.advice.is_empty(), "{}", rule.id);
                let is_known = ["no", "rewrite", "config"].iter().any(|word| rule.auto.starts_with(word));
                assert!(is_known, "{}: {}", rule.id, rule.auto);
                let conditions = [
                    rule.when.is_some(),
                    rule.option.is_some(),
                    rule.matches.is_some(),
                    crate::checks::has(&rule.id),
                ];
                assert!(
                    rule.matches.is_none() || rewrites::named(&rule.auto).is_some(),
                    "{} names no rewrite",
                    rule.id
                );
                assert_eq!(
                    conditions.iter().filter(|there| **there).count(),
                    1,
                    "{} has one condition",
                    rule.id
                );
            }
        }
    }

    #[test]
    fn every_file_of_rules_and_every_condition_is_in_use() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/rules");
        let known: Vec<String> = rules().into_iter().map(|rule| rule.id).collect();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let ids = text.lines().filter_map(|line| line.strip_prefix("id = \""));
            for id in ids.map(|rest| rest.trim_end_matches('"')) {
                assert!(known.iter().any(|known| known == id), "{id} of {} isn't read", path.display());
            }
        }
        for id in crate::checks::ids() {
            assert!(known.iter().any(|known| known == id), "the condition of {id} belongs to no rule");
        }
        let all = rules();
        for other in all.iter().flat_map(|rule| rule.same_as.iter().chain(&rule.refines)) {
            assert!(known.contains(other), "there is no rule {other} to say the same as");
        }
    }

    #[test]
    fn no_two_rules_have_the_same_id() {
        let rules = rules();
        let ids: std::collections::BTreeSet<_> = rules.iter().map(|rule| &rule.id).collect();
        assert_eq!(ids.len(), rules.len());
        assert!(rules.len() > 100);
    }
}
