//! Runs a model on an engine and records every operator of every iteration.
//!
//! - [`InputRequest`] turns the user's wishes into a tensor for each of the model's inputs.
//! - [`prepare`] makes a model ready on one of the engines; [`measure`] runs it often enough.
//! - [`to_trace`] joins what the engine recorded to the model's graph.
//! - [`run`] does all of it.
//! - [`peak`] measures how fast this machine could be at best.

pub mod attribute;
mod declared_shapes;
mod engine;
mod error;
mod fallback;
mod host_tensor;
mod inputs;
mod measure;
mod memory;
mod node_names;
pub mod npy;
mod ort;
pub mod peak;
mod record;
mod run;
mod tract;
mod tract_words;
mod turn;

pub use engine::{
    Engine, EngineKind, EngineNode, EngineOptions, Execution, Interrupt, Phase, Recording, RunClock, Window,
};
pub use error::RunError;
pub use fallback::{Settled, with_fallback};
pub use host_tensor::{HostTensor, NonFinite, shape_text};
pub use inputs::{Fill, Input, InputError, InputRequest, InputSpec, Source, SpecError, declared_text};
pub use measure::{Measurement, Progress, Repetition, measure};
pub use memory::MemoryLog;
pub use opscope_trace::Optimization;
pub use record::{RunRecord, to_trace};
pub use run::{Outcome, RunOptions, prepare, run};
pub use tract::Tract;
pub use turn::Turn;
