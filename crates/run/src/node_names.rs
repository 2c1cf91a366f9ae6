//! Finding the model's node that an engine's node was named after.

use std::collections::HashMap;

use opscope_model::{Graph, NodeId};

/// The model's nodes by their names.
#[derive(Clone, Debug, Default)]
pub struct NodeNames<'m> {
    by_name: HashMap<&'m str, NodeId>,
}

impl<'m> NodeNames<'m> {
    /// The nodes of a graph.
    pub fn of(graph: Graph<'m>) -> Self {
        Self { by_name: graph.nodes().map(|node| (node.name, node.id)).collect() }
    }

    /// The node of exactly this name.
    pub fn exact(&self, name: &str) -> Option<NodeId> {
        self.by_name.get(name).copied()
    }

    /// The node whose name is the longest prefix of `name` up to a dot: `block1/conv` for
    /// `block1/conv.pack_a`.
    pub fn by_prefix(&self, name: &str) -> Option<NodeId> {
        let mut prefix = name;
        loop {
            if let Some(found) = self.exact(prefix) {
                return Some(found);
            }
            prefix = prefix.rsplit_once('.')?.0;
        }
    }
}
