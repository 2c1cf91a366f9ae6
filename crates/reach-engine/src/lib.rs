//! Questions in SQL to the set of many ranks, answered by DataFusion within this process.
//!
//! Without the feature `datafusion` the crate is empty, because DataFusion takes half an hour of processor time
//! to build.
//!
#![cfg_attr(feature = "datafusion", doc = "```no_run")]
#![cfg_attr(not(feature = "datafusion"), doc = "```ignore")]
//! use opscope_reach_engine::{Engine, EngineError, Limits};
//!
//! let set = opscope_reach::Set::open("set".as_ref(), None)?;
//! let engine = Engine::new(&set, &Limits::default())?;
//! engine.ask::<EngineError>("SELECT count(*) FROM operators", |_| Ok(()), |row| {
//!     println!("{row:?}");
//!     Ok(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! engine                       a session over a set, and how a statement is carried out
//! tables   statement   values  the set's files as tables; what a statement may do; rows of Arrow's columns
//! error                        why there is no answer
//! ```
#![cfg(feature = "datafusion")]

mod engine;
mod error;
mod statement;
mod tables;
mod values;

pub use engine::{Engine, Limits};
pub use error::EngineError;
