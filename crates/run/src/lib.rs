//! Runs a model on an engine and records every operator of every iteration.
//!
//! - [`InputRequest`] turns the user's wishes into a tensor for each of the model's inputs.
//! - [`prepare`] makes a model ready on one of the engines; [`measure`] runs it often enough.
//! - [`to_trace`] joins what the engine recorded to the model's graph.
//! - [`run`] does all of it.
//! - [`peak`] measures how fast this machine could be at best.
//!
//! ```
//! use std::sync::Arc;
//!
//! use opscope_model::Model;
//! use opscope_model::proto::{
//!     GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
//! };
//! use opscope_run::{EngineKind, EngineOptions, InputRequest, Interrupt, Optimization, Repetition, RunOptions};
//!
//! // Of 32-bit floats, in a shape that the input tells.
//! let floats = TypeValue::Tensor(TensorType { elem_type: Some(1), ..Default::default() });
//! let r#type = Some(TypeProto { value: Some(floats), ..Default::default() });
//! let value = |name: &str| ValueInfoProto {
//!     name: Some(name.into()),
//!     r#type: r#type.clone(),
//!     ..Default::default()
//! };
//! let relu = NodeProto {
//!     op_type: Some("Relu".into()),
//!     input: vec!["x".into()],
//!     output: vec!["y".into()],
//!     ..Default::default()
//! };
//! let graph =
//!     GraphProto { node: vec![relu], input: vec![value("x")], output: vec![value("y")], ..Default::default() };
//! let opset = OperatorSetIdProto { domain: None, version: Some(17) };
//! let proto = ModelProto { opset_import: vec![opset], graph: Some(graph), ..Default::default() };
//! let model = Arc::new(Model::from_proto(proto, None)?);
//!
//! let engine = EngineOptions {
//!     kind: EngineKind::Tract,
//!     optimization: Optimization::Full,
//!     threads: 1,
//!     ort_library: None,
//! };
//! let options = RunOptions {
//!     inputs: InputRequest { specs: vec!["x=zeros:1x3x8x8".parse()?], ..Default::default() },
//!     engine,
//!     auto: false,
//!     repetition: Repetition { iterations: Some(5), ..Default::default() },
//! };
//! let outcome = opscope_run::run(model, "relu", &options, &Interrupt::new(), &mut |_| {})?;
//! assert_eq!(outcome.outputs[0].1.shape, [1, 3, 8, 8]);
//! assert_eq!(outcome.trace.iterations.warm_up().iter().filter(|warm_up| !**warm_up).count(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Without the embedded engine
//! The feature `tract`, on by default, is the embedded engine. Without it [`EngineKind::Tract`] still has its
//! name, which recordings bear, and is answered with [`RunError::NotBuiltIn`].
//!
//! # Floors
//! Each row uses those below it.
//!
//! ```text
//! run                                     the whole way from a model to its trace
//! fallback ─► ort · tract                 the engines, and the way out where one can't run a model
//! record ─► attribute · measure           the trace; which of the model's nodes an engine's node is; the loop
//! turn · memory                           which of two engines is timed now; memory of the process
//! engine ─► error ─► inputs ─► npy        the interface of engines, and the tensors for them
//! room · engine_kind · host_tensor · node_names   whether values fit into memory; names and values
//! peak                                    stands alone
//! ```

pub mod attribute;
mod engine;
mod engine_kind;
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
mod room;
mod run;
#[cfg(feature = "tract")]
mod tract;
mod turn;

pub use engine::{
    Engine, EngineNode, EngineOptions, Execution, Interrupt, Phase, Recording, RunClock, Window,
};
pub use engine_kind::EngineKind;
pub use error::RunError;
pub use fallback::{Settled, with_fallback};
pub use host_tensor::{HostTensor, NonFinite, shape_text};
pub use inputs::{Fill, Input, InputError, InputRequest, InputSpec, Source, SpecError, declared_text};
pub use measure::{Measurement, Progress, Repetition, measure};
pub use memory::MemoryLog;
pub use opscope_trace::Optimization;
pub use record::{RunRecord, to_trace};
pub use room::NodeTooLarge;
pub use run::{Outcome, RunOptions, prepare, run};
#[cfg(feature = "tract")]
pub use tract::Tract;
pub use turn::Turn;
