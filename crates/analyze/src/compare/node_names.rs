//! Names of the nodes that operators stand for, as the models tell that ran.

use std::collections::HashMap;

/// The nodes behind the operators of one profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeNames {
    /// By an operator's name, the nodes of the model before its conversion that it was made of, or where there was none,
    /// those of which the engine made it under a name of its own, the last one first.
    pub made_of: HashMap<String, Vec<String>>,
    /// By a node's name, the name of the same node in the other profile's model.
    pub same_as: HashMap<String, String>,
    /// The nodes of the model that ran, by name.
    pub nodes: HashMap<String, ModelNode>,
    /// Whether the model and that of the other profile have all nodes in common.
    pub is_of_one_model: bool,
}

/// A node of the model that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelNode {
    /// Its type.
    pub op_type: String,
    /// The names of the nodes of that model from which its inputs come.
    pub sources: Vec<String>,
    /// The sizes of its first output in rising order, which is the same in all layouts; empty where some are unknown.
    pub sizes: Vec<u64>,
    /// The elements of the largest stored value that it reads.
    pub weights: u64,
    /// Whether it computes nothing but what stored values tell.
    pub is_of_constants: bool,
}

impl NodeNames {
    /// Whether no operator has other names than its own.
    pub(super) fn is_empty(&self) -> bool {
        self.made_of.is_empty() && self.same_as.is_empty()
    }

    /// The name of a node by which both profiles know it, if the models tell another than its own.
    pub(super) fn common(&self, node: &str) -> Option<&str> {
        self.same_as.get(node).map(String::as_str)
    }

    /// The nodes that an operator was made of, if the model tells them.
    pub(super) fn made_of(&self, operator: &str) -> Option<&[String]> {
        self.made_of.get(operator).map(Vec::as_slice)
    }

    /// The nodes of the model that ran which an operator is known by: that of its own name, or those that it was made
    /// of.
    pub(super) fn of_operator(&self, name: &str) -> impl Iterator<Item = &ModelNode> {
        let own = self.nodes.get(name);
        let made_of = own.is_none().then(|| self.made_of(name)).flatten();
        own.into_iter().chain(made_of.into_iter().flatten().filter_map(|node| self.nodes.get(node)))
    }
}
