//! What to change so that inference gets faster: rules about profiles and graphs.
//!
//! - A [`Rule`] is data (`rules/*.toml`: what is wrong, why it costs time, what to do, thresholds,
//!   where it comes from) and a condition: one on single operators that stands with the data, or a
//!   function in `checks`.
//! - A [`Subject`] is what rules look at: a profile, a model, the target, how the profile was taken.
//! - [`advise`] runs all rules and gives a [`Report`]: findings, the one that could save most first,
//!   and the rules that could not run, with what they lack.
//! - [`Settings`] are what users add: thresholds, rules of their own, rules to be silent.
//! - [`fusion`] checks which chains of a graph an accelerator can fuse; [`converter`] reads what the
//!   model's converter was told, and what it says that it fused.

mod ability;
mod checks;
mod claim;
mod condition;
pub mod converter;
mod executed;
mod explain;
mod finding;
pub mod fusion;
mod graph;
mod rule;
#[cfg(test)]
mod rules_tests;
mod settings;
mod subject;
#[cfg(test)]
mod testing;

pub use ability::{Ability, Does};
pub use checks::{Why, why_on_ai_cpu};
pub use converter::ConverterOptions;
pub use explain::{Language, explain};
pub use finding::{Done, Evidence, Finding, NotRun, Report, Whole, advise};
pub use rule::{Confidence, Kind, Rule, Text, rules};
pub use settings::{Settings, SettingsError};
pub use subject::{Environment, Subject, Target};
