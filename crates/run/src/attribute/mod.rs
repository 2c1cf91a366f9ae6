//! Which of the model's nodes an engine's nodes came from.
//!
//! An engine renames, splits, fuses and adds nodes. Where it hands out the model as it rewrote it, its
//! values tie the two together (`rewritten.rs`, for ONNX Runtime); where it doesn't, the names that it
//! gives its nodes do (`by_name.rs`, for tract).

mod by_name;
mod meaning;
mod network;
mod region;
mod rewritten;
#[cfg(test)]
mod testing;
mod tract_operators;

use opscope_model::NodeId;
use opscope_trace::Attribution;

pub use by_name::attribute;
pub use rewritten::attribute_rewritten;

/// The model's nodes and the engine's nodes that make up one operator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// The model's nodes, in the order of execution; empty for nodes that the engine added, and for
    /// those of subgraphs.
    pub nodes: Vec<NodeId>,
    /// Names of nodes within subgraphs of the model's nodes that it stands for.
    pub inner_nodes: Vec<String>,
    /// The engine's nodes, in the order of execution; never empty.
    pub engine_nodes: Vec<u32>,
    /// How the two were matched.
    pub attribution: Attribution,
}

/// The outcome: every engine node is in exactly one group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// The operators, in the order of the engine's execution. A node of the model is in several where
    /// several do its work for themselves.
    pub groups: Vec<Group>,
    /// The model's nodes that no engine node does the work of.
    pub removed: Vec<NodeId>,
    /// How many of the model's nodes may be part of engine nodes that no node could be named for.
    pub unknown: usize,
}
