//! Conditions that stand with a rule's data: on single operators, on where rewrites apply, and on options
//! of a converter.

use std::collections::BTreeMap;
use std::fmt;

use opscope_trace::{DataType, ExecutionUnit};
use serde::Deserialize;

/// A condition on single operators: whatever is given must hold.
///
/// Of the rule's thresholds these have a meaning here: `min_us` and `min_wait_us` are the least
/// duration and wait, `more_than` is how many operators there must be more than, and `share_above`
/// which part of the measured time they must take. Others are named by `metrics`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperatorCondition {
    /// Types, of which a star at the end leaves the rest open.
    #[serde(default)]
    pub types: Vec<String>,
    /// Parts of names or types.
    #[serde(default)]
    pub names: Vec<String>,
    /// Units that execute them, by the words of the trace: `ai-cpu`.
    #[serde(default)]
    pub units: Vec<String>,
    /// Element types of which an input must have one.
    #[serde(default)]
    pub input_types: Vec<String>,
    /// Whether it must be sure that it only moves data from one layout to another.
    #[serde(default)]
    pub rearranges: bool,
    /// Whether it must compute: it is no copy, and no unit that moves data is as busy as the threshold `busy`.
    #[serde(default)]
    pub computes: bool,
    /// Whether shapes became known only while it ran.
    #[serde(default)]
    pub dynamic: Option<bool>,
    /// Comparisons such as `mac_ratio > 0.8` or `a|b > limit`: any of the metrics, with a number or
    /// a threshold of the rule.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// The part of the time that could be saved.
    #[serde(default)]
    pub saves: Saves,
}

/// The part of an operator's time that could be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Saves {
    /// All of it.
    #[default]
    All,
    /// Half of it.
    Half,
    /// The rest to one of its busiest unit's ratio: by more it can't become faster as it is.
    Headroom,
    /// As much as the ratio of the first metric.
    Ratio,
    /// It can't be said.
    Unknown,
    /// No time, but memory.
    Nothing,
}

/// A comparison that could be read.
pub(crate) struct Comparison<'c> {
    pub metrics: Vec<&'c str>,
    operator: &'c str,
    value: f64,
}

impl Comparison<'_> {
    /// Whether it holds for a value.
    pub fn holds(&self, found: f64) -> bool {
        match self.operator {
            ">" => found > self.value,
            "<" => found < self.value,
            ">=" => found >= self.value,
            _ => found <= self.value,
        }
    }
}

/// Reads a comparison with a number, or with a threshold of the rule.
pub(crate) fn comparison<'c>(
    text: &'c str,
    limits: &BTreeMap<String, f64>,
) -> Result<Comparison<'c>, String> {
    let operator = [">=", "<=", ">", "<"].into_iter().find(|operator| text.contains(operator));
    let operator = operator.ok_or_else(|| format!("`{text}` compares nothing; write `metric > 0.8`"))?;
    let (metrics, value) = text.split_once(operator).unwrap_or((text, ""));
    let value = value.trim();
    let number = value.parse().ok().or_else(|| limits.get(value).copied());
    let value = number.ok_or_else(|| format!("`{value}` is no number and no threshold of the rule"))?;
    Ok(Comparison { metrics: metrics.split('|').map(str::trim).collect(), operator, value })
}

/// The thresholds that have a meaning for every condition on operators.
const COMMON_LIMITS: [&str; 4] = ["min_us", "min_wait_us", "more_than", "share_above"];

impl OperatorCondition {
    /// Says what is wrong with it, if something is.
    pub fn validate(&self, limits: &BTreeMap<String, f64>) -> Result<(), String> {
        for text in &self.metrics {
            comparison(text, limits)?;
        }
        if let Some(unit) = self.units.iter().find(|unit| ExecutionUnit::from_name(unit).is_none()) {
            let known: Vec<&str> = ExecutionUnit::ALL.iter().map(|unit| unit.name()).collect();
            return Err(format!("there is no unit `{unit}`; there are {}", known.join(", ")));
        }
        if let Some(name) = self.input_types.iter().find(|name| DataType::from_name(name).is_none()) {
            return Err(format!("there is no type `{name}`; write one such as float32 or int64"));
        }
        let asks = |limit: &String| COMMON_LIMITS.contains(&limit.as_str());
        let is_empty = self.types.is_empty()
            && self.names.is_empty()
            && self.units.is_empty()
            && self.input_types.is_empty()
            && self.dynamic.is_none()
            && self.metrics.is_empty();
        if is_empty && !limits.keys().any(asks) {
            return Err("its condition is empty and would hold for every operator".to_owned());
        }
        Ok(())
    }
}

impl fmt::Display for OperatorCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        let mut add = |what: &str, list: &[String]| {
            if !list.is_empty() {
                parts.push(format!("{what} {}", list.join(" or ")));
            }
        };
        add("type is", &self.types);
        add("name contains", &self.names);
        add("runs on", &self.units);
        add("has an input of", &self.input_types);
        parts.extend(self.rearranges.then(|| "changes a layout".to_owned()));
        parts.extend(self.computes.then(|| "isn't bound by moving data".to_owned()));
        parts.extend(self.dynamic.map(|dynamic| format!("dynamic is {dynamic}")));
        parts.extend(self.metrics.iter().cloned());
        f.write_str(&parts.join("; "))
    }
}

/// The sense in which a rule about the graph names a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Means {
    /// That it is there as a step of its own: what was made into another operator is no matter any more.
    #[default]
    Step,
    /// That several are there instead of one.
    Pieces,
    /// How it is formed, such as a convolution's channels: that stays so in whatever it was made into.
    Form,
}

/// A condition that the rewrites which a rule names apply.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MatchCondition {
    /// The sense in which the nodes of a place are named.
    #[serde(default)]
    pub means: Means,
    /// Whose time could be saved.
    #[serde(default)]
    pub saves: MatchSaves,
    /// These of the rule's rewrites only, by ids and groups with commas between them.
    #[serde(default)]
    pub only: Option<String>,
}

/// The nodes of a place whose time could be saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum MatchSaves {
    /// The nodes that go without one of their kind in their place; where none does, it can't be said.
    #[default]
    Gone,
    /// The node at which the pattern was found.
    Root,
    /// None: how much could be saved of them isn't known.
    Nothing,
}

/// A condition on an option of the converter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OptionCondition {
    pub name: String,
    /// Values for which it holds.
    #[serde(default)]
    pub is: Vec<String>,
    /// Text that the value must contain.
    #[serde(default)]
    pub contains: Option<String>,
    /// The value that the converter takes without the option.
    #[serde(default)]
    pub default: Option<String>,
    /// Whether it holds when the option isn't given.
    #[serde(default)]
    pub missing: bool,
}
