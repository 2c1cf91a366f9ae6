//! Questions in SQL to the set of many ranks, answered by DataFusion within this process, or with the feature
//! `ballista` by the executors of Apache Ballista.
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
//! ballista                     a scheduler as the place, and the jobs that it has
//! place                        where plans are carried out
//! tables   statement   values  the set's files as tables; what a statement may do; rows of Arrow's columns
//! error                        why there is no answer
//! ```
#![cfg(feature = "datafusion")]

#[cfg(feature = "ballista")]
mod ballista;
mod engine;
mod error;
mod place;
mod statement;
mod tables;
mod values;

#[cfg(feature = "ballista")]
pub use ballista::{ClusterError, cancel_jobs};
pub use engine::{Engine, Limits};
pub use error::EngineError;
