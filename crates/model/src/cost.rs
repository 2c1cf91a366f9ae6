//! What a node computes and moves.

use crate::graph::NodeId;
use crate::load::Model;
use crate::shapes::Shapes;

/// What one execution of a node computes and moves; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Floating-point (or integer) operations; a multiplication and an addition count as two.
    pub flops: Option<u64>,
    /// Bytes of the tensors that are read.
    pub bytes_read: Option<u64>,
    /// Bytes of the tensors that are written.
    pub bytes_written: Option<u64>,
    /// Elements of the initializers that are read.
    pub parameters: u64,
}

impl Cost {
    /// The cost of a node.
    pub fn of(model: &Model, shapes: &Shapes, node: NodeId) -> Self {
        let graph = model.graph();
        let node = graph.node(node);
        let bytes = |id| shapes.get(id)?.bytes();
        let written = node.outputs.iter().flatten().map(|id| bytes(*id));
        let initializers = node.reads().filter_map(|id| graph.value(id).initializer);
        Self {
            flops: None,
            bytes_read: node.reads().map(bytes).try_fold(0u64, |sum, n| sum.checked_add(n?)),
            bytes_written: { written }.try_fold(0u64, |sum, n| sum.checked_add(n?)),
            parameters: initializers.fold(0, |sum, tensor| {
                let dims = tensor.dims.iter().map(|&n| u64::try_from(n).unwrap_or(0));
                dims.fold(1u64, u64::saturating_mul).saturating_add(sum)
            }),
        }
    }
}
