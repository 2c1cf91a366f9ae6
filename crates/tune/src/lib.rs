//! The loops that both run models and change or judge them.
//!
//! - [`interleaved`] times two prepared models in turn, so that a drifting machine speed cancels out,
//!   and [`Pairs`] says how much faster one is, with a confidence interval.
//! - [`compare`] says how well two models' outputs agree; [`InputSets`] runs one on several inputs.
//! - [`tune`] rewrites a model step by step, and keeps what wins; [`report`] writes down what it did.

mod agreement;
mod check;
mod interleaved;
mod parting;
pub mod report;
mod tune;

pub use agreement::{Agreement, Incomparable, compare, compare_tensors};
pub use check::{InputSets, Outputs, agreement};
pub use interleaved::{Budget, Interval, Pairs, Verdict, interleaved};
pub use parting::Parting;
pub use tune::{Attempt, Comparison, Fate, Progress, Step, TuneError, TuneOptions, Tuned, tune};
