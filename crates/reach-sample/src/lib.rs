//! Collections of many ranks with known faults: what a cluster that trains a mixture of experts leaves,
//! simulated, and written as the vendor's profiler writes it.
//!
//! Beside each collection stands its truth: which faults it has, and what each costs a step, found by
//! simulating the run without it. Tests and users can compare with it whatever a tool makes of the collection.
//! The same options give the same bytes on every machine.
//!
//! ```
//! use opscope_reach_sample::{Fault, Layout, Options, Truth};
//!
//! let faults = vec![Fault::LateInput { rank: 2, microseconds: 9_000.0 }];
//! let options = Options { faults, steps: 1, ..Options::new(Layout::of(8)?) };
//! let truth = Truth::of(&options)?;
//! // Nothing hides it, so what it costs is how late the input comes, or a little less.
//! assert!((8.5..=9.0).contains(&truth.costs[0].saves_ms));
//! assert!(truth.step_ms > truth.step_without_faults_ms);
//! # Ok::<(), opscope_reach_sample::Error>(())
//! ```
//!
//! # Floors
//! A module uses only those below it.
//!
//! ```text
//! collection                                      folders, damages, blocks of ranks
//! database, analysis ─► sqlite   text   timeline   kineto  a rank's files in each form
//! recorder                                        what a rank's profiler records of what happened
//! truth                                           costs by simulating without a fault
//! simulation ─► operations                        who computes when, who waits for whom
//! identity   clocks                               what metadata say; what each host's clock shows
//! links ─► tables                                 a rank's profile; the matrix of links
//! options ─► fault ─► layout                      what is asked for
//! kernels   random
//! error
//! ```

mod analysis;
mod clocks;
mod collection;
mod database;
mod error;
mod fault;
mod identity;
mod kernels;
mod kineto;
mod layout;
mod links;
mod operations;
mod options;
mod random;
mod recorder;
mod simulation;
mod sqlite;
mod tables;
mod text;
mod timeline;
mod truth;

pub use collection::{Collection, write};
pub use error::Error;
pub use fault::{Fault, default_faults};
pub use layout::{Group, Layout, MOST_RANKS};
pub use options::{ClockErrors, Damage, Options};
pub use tables::RowCounts;
pub use truth::{Cost, Truth};
