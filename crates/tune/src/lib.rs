//! The loops that both run models and change or judge them.
//!
//! - [`interleaved`] times two models in turn, so that a drifting machine speed cancels out,
//!   and [`Pairs`] says how much faster one is, with a confidence interval.
//! - [`compare`] says how well two models' outputs agree; [`InputSets`] runs one on several inputs.
//! - [`tune`] rewrites a model step by step, and keeps what wins.
//! - [`EngineAgreement`] says whether two engines compute the same of a model.
//!
//! ```
//! use opscope_trace::Nanoseconds;
//! use opscope_tune::{Pairs, Verdict};
//!
//! // The machine got slower and slower, and yet one model was always faster than the other.
//! let times = |micros: [i64; 8]| micros.map(|micros| Nanoseconds(micros * 1_000)).to_vec();
//! let pairs = Pairs {
//!     a: times([100, 103, 111, 120, 131, 140, 152, 160]),
//!     b: times([80, 83, 88, 97, 104, 112, 121, 129]),
//!     ..Pairs::default()
//! };
//! assert_eq!(pairs.verdict(0.99), Verdict::Faster);
//! assert!(pairs.speedup(0.99).is_some_and(|speed| speed.low > 1.2));
//! ```
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! tune ─► tuned                       rewrites step by step, and a report of that
//! engine_agreement ─► check           two engines' outputs; outputs on several inputs
//! agreement · interleaved             how well outputs agree; times of two models in turn
//! ```

mod agreement;
mod check;
mod engine_agreement;
mod interleaved;
mod tune;
mod tuned;

pub use agreement::{Agreement, Incomparable, compare, compare_tensors};
pub use check::{InputSets, Outputs, agreement};
pub use engine_agreement::EngineAgreement;
pub use interleaved::{Budget, Interval, Pairs, Preparing, Verdict, interleaved};
pub use tune::{Progress, TuneError, TuneOptions, tune};
pub use tuned::{Attempt, Comparison, Fate, Step, Tuned};
