//! Nodes that may well compute the same: those of one signature, which is kept up to date with the names of
//! their inputs.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use opscope_model::proto::{AttributeProto, NodeProto};

use super::NodeIndex;

/// The nodes that read anything, by signature.
#[derive(Clone, Debug, Default)]
pub struct Alike(HashMap<u64, BTreeSet<NodeIndex>>);

impl Alike {
    pub fn enter(&mut self, signature: u64, node: NodeIndex) {
        self.0.entry(signature).or_default().insert(node);
    }

    pub fn leave(&mut self, signature: u64, node: NodeIndex) {
        if let Some(nodes) = self.0.get_mut(&signature) {
            nodes.remove(&node);
            if nodes.is_empty() {
                self.0.remove(&signature);
            }
        }
    }

    /// The nodes of a signature that came before a node.
    pub fn before(&self, signature: u64, node: NodeIndex) -> impl Iterator<Item = NodeIndex> {
        self.0.get(&signature).into_iter().flat_map(move |nodes| nodes.range(..node).copied())
    }
}

/// A number that nodes of the same operator, inputs and attributes share. It is a sum, so that the order of
/// attributes means nothing and an input that gets another name changes its own part only.
pub fn signature(node: &NodeProto) -> u64 {
    let own = hash(&(node.op_type(), node.domain(), node.output.len(), node.attribute.len()));
    let inputs = node.input.iter().enumerate().map(|(place, name)| of_input(place, name));
    inputs.chain(node.attribute.iter().map(of_attribute)).fold(own, u64::wrapping_add)
}

/// The part of a signature that an input makes.
pub fn of_input(place: usize, name: &str) -> u64 {
    hash(&(place, name))
}

/// Tensors are told apart by their type, dimensions and beginning.
fn of_attribute(attribute: &AttributeProto) -> u64 {
    let bits = |number: &f32| number.to_bits();
    let tensor = attribute.t.as_ref().map(|tensor| {
        let raw = tensor.raw_data.as_deref().unwrap_or_default();
        let numbers: Vec<u32> = tensor.float_data.iter().take(16).map(bits).collect();
        let integers = (tensor.int32_data.first(), tensor.int64_data.first());
        (tensor.data_type, &tensor.dims, raw.get(..64).unwrap_or(raw), numbers, integers)
    });
    let numbers: Vec<u32> = attribute.f.iter().chain(&attribute.floats).map(bits).collect();
    hash(&(attribute.name(), numbers, attribute.i, &attribute.ints, &attribute.s, &attribute.strings, tensor))
}

fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}
