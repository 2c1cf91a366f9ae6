//! Advice on how inference gets faster: rules about profiles and graphs, and what they find.
//!
//! - A [`Rule`] is data (`rules/*.toml`: the problem, why it costs time, the remedy, thresholds, targets,
//!   sources) and a condition: one that stands with the data, or a function in `checks`.
//! - A [`Subject`] is a profile, a model, the target, and how the profile was taken. Rules about a pattern
//!   that a rewrite has ask the rewrites where they apply: each pattern is matched in one place.
//! - [`advise`] runs all rules and gives a [`Report`]: findings, the one that could save most first,
//!   and the rules that could not run, with the data that they lack.
//! - [`Settings`] are what users add: thresholds, rules of their own, rules to be silent.
//! - [`fusion`] checks which chains of a graph an accelerator can fuse; [`converter`] reads the command
//!   and the files of a model's conversion.
//!
//! ```
//! use opscope_advise::{Settings, Subject, Target, advise};
//! use opscope_model::Model;
//! use opscope_model::samples::Sample;
//!
//! let model = Model::from_proto(Sample::MaskSsd.build(0), None)?;
//! let subject = Subject::new(None, Some(&model), Some(Target::OnnxRuntime));
//! let report = advise(&subject, &Settings::default());
//! let fold = report.findings.iter().find(|finding| finding.rule.id == "G01").ok_or("no G01")?;
//! let options = fold.does.as_ref().and_then(|does| does.options());
//! assert_eq!(options.as_deref(), Some("--only G01"));
//! assert!(fold.changes.iter().any(|node| node.contains("conv")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The inner floors
//!
//! ```text
//! advise                        runs the rules, and puts findings in order
//!   checks/                     conditions: declared (in a rule's data), rewritten (where rewrites
//!                               apply), and a file for each family
//! finding · settings · explain  findings, what users set, pages about rules
//! rule                          rules, from rules/*.toml
//! places · claim · subject      places in a graph; time that could be saved; a profile and a model, with all
//!                               that rules ask
//! kernels · metrics             executions by kind, and what hardware reported of them
//! rewrites · converter · fusion where rewrites apply; files about the conversion; chains
//! target · condition · outcome  chips and engines; conditions as data; what a condition says
//! executed · graph              what ran; questions to a graph
//! ```

mod advise;
mod checks;
mod claim;
mod condition;
pub mod converter;
mod executed;
mod explain;
mod finding;
mod fused;
pub mod fusion;
mod graph;
mod idle;
mod kernels;
mod metrics;
mod outcome;
mod places;
mod rewrites;
mod rule;
#[cfg(test)]
mod rules_tests;
mod settings;
mod subject;
mod target;
#[cfg(test)]
mod testing;
mod unexplained;

pub use advise::advise;
pub use checks::{Why, why_on_ai_cpu};
pub use claim::Evidence;
pub use converter::ConverterOptions;
pub use explain::explain;
pub use finding::{Done, Finding, NotRun, Report, Whole};
pub use fused::{bias_of_sum, gelus, normalised_sums, tanh_gelus};
pub use graph::nodes_behind;
pub use rewrites::Does;
pub use rule::{Confidence, Kind, Rule, Text, rules};
pub use settings::{Settings, SettingsError};
pub use subject::{Environment, Subject};
pub use target::Target;
