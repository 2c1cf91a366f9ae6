//! The loops that both run models and change or judge them.
//!
//! - [`interleaved`] times two prepared models in turn, so that a drifting machine speed cancels out,
//!   and [`Pairs`] says how much faster one is, with a confidence interval.
//! - [`compare`] says how well two models' outputs agree; [`InputSets`] runs one on several inputs.
//! - [`tune`] rewrites a model step by step, and keeps what wins.
//! - [`EngineAgreement`] says whether two engines compute the same of a model.

mod agreement;
mod check;
mod engine_agreement;
mod interleaved;
mod tune;
mod tuned;

pub use agreement::{Agreement, Incomparable, compare, compare_tensors};
pub use check::{InputSets, Outputs, agreement};
pub use engine_agreement::EngineAgreement;
pub use interleaved::{Budget, Interval, Pairs, Verdict, interleaved};
pub use tune::{Progress, TuneError, TuneOptions, tune};
pub use tuned::{Attempt, Comparison, Fate, Step, Tuned};
