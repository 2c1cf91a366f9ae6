//! Settings of users: thresholds, rules of their own, rules to be silent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::rule::{Rule, rules};

/// The contents of a TOML file such as
///
/// ```toml
/// silence = ["A01", "V*"]
///
/// [thresholds]
/// A05.min_us = 50
///
/// [[rule]]
/// id = "U01"
/// title = "our own kernel is slow"
/// advice = "call the team of the kernels"
/// limits = { min_us = 100 }
/// when = { types = ["MyKernel"], metrics = ["mac_ratio < 0.5"] }
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(default)]
    silence: Vec<String>,
    #[serde(default)]
    thresholds: BTreeMap<String, BTreeMap<String, f64>>,
    #[serde(default, rename = "rule")]
    rules: Vec<Rule>,
}

/// Why settings can't be used.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum SettingsError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}: {message}", path.display())]
    Syntax { path: PathBuf, message: String },
    #[error("{}: there is no rule {id}; `opscope advise --list` names them", path.display())]
    UnknownRule { path: PathBuf, id: String },
    #[error("{}: the rule {id} has no threshold `{name}`; it has {known}", path.display())]
    UnknownThreshold { path: PathBuf, id: String, name: String, known: String },
    #[error("{}: the rule {id} stands in opscope already; choose an id such as U01", path.display())]
    TakenId { path: PathBuf, id: String },
    #[error("{}: the rule {id} has no condition: give it `when` with what it is to hold for", path.display())]
    NoCondition { path: PathBuf, id: String },
    #[error("{}: the rule {id}: {message}", path.display())]
    Condition { path: PathBuf, id: String, message: String },
}

impl Settings {
    /// Reads a file.
    ///
    /// # Errors
    /// When it can't be read, isn't what it should be, or names rules and thresholds that don't exist.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| SettingsError::Read { path: path.to_owned(), source })?;
        let settings: Self = toml::from_str(&text).map_err(|error| SettingsError::Syntax {
            path: path.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        settings.check(path)?;
        Ok(settings)
    }

    fn check(&self, path: &Path) -> Result<(), SettingsError> {
        let path = || path.to_owned();
        let known = rules();
        for rule in &self.rules {
            let id = rule.id.clone();
            if known.iter().any(|known| known.id == id) {
                return Err(SettingsError::TakenId { path: path(), id });
            }
            let Some(condition) = &rule.when else {
                return Err(SettingsError::NoCondition { path: path(), id });
            };
            condition.validate(&rule.limits).map_err(|message| SettingsError::Condition {
                path: path(),
                id,
                message,
            })?;
        }
        for (id, values) in &self.thresholds {
            let Some(rule) = known.iter().chain(&self.rules).find(|rule| rule.id == *id) else {
                return Err(SettingsError::UnknownRule { path: path(), id: id.clone() });
            };
            for name in values.keys() {
                if !rule.limits.contains_key(name) {
                    let known: Vec<&str> = rule.limits.keys().map(String::as_str).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    let (id, name) = (id.clone(), name.clone());
                    return Err(SettingsError::UnknownThreshold { path: path(), id, name, known });
                }
            }
        }
        for pattern in &self.silence {
            if !known.iter().chain(&self.rules).any(|rule| is_meant(pattern, rule)) {
                return Err(SettingsError::UnknownRule { path: path(), id: pattern.clone() });
            }
        }
        Ok(())
    }

    /// Silences one more rule, or all whose ids begin as `A*` does.
    pub fn add_silence(&mut self, pattern: &str) {
        self.silence.push(pattern.to_owned());
    }

    /// Whether a rule is to be silent, by its id, or by the name of a rule of the vendor's that says the
    /// same.
    pub fn silences(&self, rule: &Rule) -> bool {
        self.silence.iter().any(|pattern| is_meant(pattern, rule))
    }

    /// Whether the rule of an id is to be silent.
    pub fn silences_id(&self, id: &str) -> bool {
        self.silence.iter().any(|pattern| matches(pattern, id))
    }

    /// Whether a rule of the vendor's own report is to be silent, because it is named, or because all
    /// rules that say the same are silent.
    pub fn silences_vendor(&self, name: &str) -> bool {
        let rules = rules();
        let mut same = rules.iter().filter(|rule| rule.vendor.iter().any(|known| known == name)).peekable();
        self.silence.iter().any(|pattern| matches(pattern, name))
            || (same.peek().is_some() && same.all(|rule| self.silences(rule)))
    }

    /// The same with another threshold.
    #[cfg(test)]
    pub(crate) fn with_threshold(mut self, id: &str, name: &str, value: f64) -> Self {
        self.thresholds.entry(id.to_owned()).or_default().insert(name.to_owned(), value);
        self
    }

    /// The rules with these thresholds, and the user's own behind them.
    pub fn apply_to(&self, rules: Vec<Rule>) -> Vec<Rule> {
        let mut all = rules;
        all.extend(self.rules.iter().cloned());
        for rule in &mut all {
            for (name, value) in self.thresholds.get(&rule.id).into_iter().flatten() {
                rule.limits.insert(name.clone(), *value);
            }
        }
        all
    }
}

/// Whether a pattern is the id of a rule, or the name of a rule of the vendor's that says the same.
fn is_meant(pattern: &str, rule: &Rule) -> bool {
    matches(pattern, &rule.id) || rule.vendor.iter().any(|name| matches(pattern, name))
}

/// Whether an id is the pattern, or begins with it up to its star; letter case means nothing.
fn matches(pattern: &str, id: &str) -> bool {
    let (pattern, id) = (pattern.to_ascii_uppercase(), id.to_ascii_uppercase());
    match pattern.strip_suffix('*') {
        Some(start) => id.starts_with(start),
        None => id == pattern,
    }
}
