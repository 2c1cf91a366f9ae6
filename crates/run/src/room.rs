//! Whether what a model is fed with and what its nodes compute fit into memory, before any of it is made.

use opscope_formats::memory::{self, TooMuchMemory};
use opscope_model::{Model, Shapes, TensorShape};

/// A node whose values take more memory than may be taken.
#[derive(Debug, thiserror::Error)]
#[error("the node '{node}' ({op_type}) computes {value}: with the inputs, {source}")]
pub struct NodeTooLarge {
    /// The node.
    pub node: String,
    /// Its operator.
    pub op_type: String,
    /// Its largest value, with type and shape.
    pub value: String,
    /// How much its values and the inputs take.
    pub source: TooMuchMemory,
}

/// The bytes that inputs of so many bytes take: the engine holds a copy of its own.
pub fn of_inputs(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0u64, |all, bytes| all.saturating_add(bytes)).saturating_mul(2)
}

/// Makes sure that what each node computes fits beside the inputs, which take so many bytes, as far as shapes
/// are known in advance.
///
/// # Errors
/// When the values of a node don't fit.
pub fn check_nodes(model: &Model, shapes: &Shapes, of_inputs: u64) -> Result<(), NodeTooLarge> {
    // Where even the product can't be counted, it's more than there is.
    let bytes = |shape: &TensorShape| {
        shape.data_type.bits().and(shape.known_dims())?;
        Some(shape.bytes().unwrap_or(u64::MAX))
    };
    let graph = model.graph();
    for node in graph.nodes() {
        let known = node.outputs.iter().flatten().filter_map(|&id| Some((graph.value(id), shapes.get(id)?)));
        let sized = known.filter_map(|(value, shape)| Some((bytes(shape)?, value, shape)));
        let sized: Vec<_> = sized.collect();
        let total = sized.iter().fold(of_inputs, |all, (bytes, ..)| all.saturating_add(*bytes));
        let Err(source) = memory::check(total) else { continue };
        let Some((_, value, shape)) = sized.iter().max_by_key(|(bytes, ..)| *bytes) else { continue };
        let dims: Vec<String> = shape.known_dims().iter().flatten().map(u64::to_string).collect();
        return Err(NodeTooLarge {
            node: node.name.to_owned(),
            op_type: node.op_type.to_owned(),
            value: format!("'{}' ({} {})", value.name, shape.data_type, dims.join("x")),
            source,
        });
    }
    Ok(())
}
