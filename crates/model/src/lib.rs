//! Graphs of models: reading them, the shapes of their values, what their nodes cost, and the sample
//! models.
//!
//! - [`Model::load`] maps a file and checks that it is a graph that can be run; weights stay in
//!   the file until [`Model::tensor_data`] asks for them. The graph is one of ONNX; files of other
//!   [kinds](ModelKind) are read into it.
//! - [`Model::graph`] is the graph as nodes and values with typed ids, in an order in which it can
//!   run.
//! - [`Shapes::infer`] works out the type and dimensions of every value from those of the inputs.
//! - [`Cost::of`] says what a node computes and moves.
//!
//! ```
//! use opscope_model::proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, ValueInfoProto};
//! use opscope_model::{Bindings, Cost, Model, Shapes};
//!
//! let relu = NodeProto {
//!     op_type: Some("Relu".into()),
//!     input: vec!["x".into()],
//!     output: vec!["y".into()],
//!     ..Default::default()
//! };
//! let value = |name: &str| ValueInfoProto { name: Some(name.into()), ..Default::default() };
//! let proto = ModelProto {
//!     opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
//!     graph: Some(GraphProto {
//!         node: vec![relu],
//!         input: vec![value("x")],
//!         output: vec![value("y")],
//!         ..Default::default()
//!     }),
//!     ..Default::default()
//! };
//!
//! let model = Model::from_proto(proto, None)?;
//! let shapes = Shapes::infer(&model, &Bindings::new().shape("x", &[1, 3, 8, 8]))?;
//! for node in model.graph().nodes() {
//!     assert_eq!(node.name, "Relu_0");
//!     assert_eq!(Cost::of(&model, &shapes, node.id).flops, Some(3 * 8 * 8));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The inner floors
//!
//! ```text
//! cost · samples           operations and bytes of a node; models to try things on
//! shapes/                  a file for each family of operators; If, Loop and Scan go down again
//! load                     files to models; kind_of_file names those that are none
//! formats/ · model_kind    models of other tools, a folder or file each, into ONNX's messages
//! provenance               facts of such files beside their graph
//! pairing                  which nodes of two models are the same
//! graph/ · stored · tensor nodes and values; the tensors that a model stores, and their data
//! parts                    constants, graphs within nodes, functions: content beside the graph
//! attributes · declared    attributes of nodes; types as files declare them
//! proto · wire             ONNX's messages, and their structure on disk
//! ```

pub mod attributes;
pub mod cost;
mod declared;
mod formats;
pub mod graph;
mod kind_of_file;
pub mod load;
mod model_kind;
mod pairing;
pub mod parts;
pub mod proto;
pub mod provenance;
pub mod samples;
pub mod shapes;
pub mod stored;
pub mod tensor;
#[cfg(test)]
mod testing;
mod wire;

pub use attributes::Attributes;
pub use cost::Cost;
pub use formats::FormatError;
pub use graph::{Declared, Dim, Graph, GraphError, Node, NodeId, Value, ValueId, ValueKind};
pub use load::{LoadError, Model};
pub use model_kind::ModelKind;
pub use pairing::Pairing;
pub use provenance::{Origin, Provenance, Stated, StatedValue};
pub use shapes::{BindingError, Bindings, Note, Shapes, TensorShape};
pub use tensor::{TensorData, TensorError, element_count};
