//! The types and dimensions of a graph's values, worked out from those of its inputs.
//!
//! Small tensors of numbers are followed through the graph with their elements, so that dimensions
//! which a model computes (as exported detection and transformer models do) are known as well. Where
//! an operator isn't known, or depends on data, what the file declares holds instead. Values inside
//! of the graphs of `If`, `Loop` and `Scan` are inferred for the sake of those nodes' outputs, but not
//! told.

mod attention;
mod bindings;
mod classic;
mod control;
mod converted;
mod create;
mod dispatch;
mod elementwise;
mod fact;
mod fused;
mod infer;
mod layout;
mod matrix;
mod normalize;
mod operator;
mod quantize;
mod recurrent;
mod reduce;
mod resize;
mod select;
mod window;

use opscope_trace::DataType;

pub use bindings::{BindingError, Bindings};

use crate::graph::{NodeId, ValueId};
use crate::load::Model;
use crate::tensor::element_count;
use infer::Inference;
pub(crate) use matrix::einsum_space;

/// The type of a tensor, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorShape {
    /// The element type.
    pub data_type: DataType,
    /// The dimensions; `None` is one that can't be known before the model runs.
    pub dims: Vec<Option<u64>>,
}

impl TensorShape {
    /// The dimensions, if all are known.
    pub fn known_dims(&self) -> Option<Vec<u64>> {
        self.dims.iter().copied().collect()
    }

    /// How many elements the tensor has.
    pub fn elements(&self) -> Option<u64> {
        element_count(&self.known_dims()?)
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> Option<u64> {
        self.data_type.bytes(self.elements()?)
    }
}

/// Something that doesn't fit together; the inference went on with what it had inferred itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The node where it was seen; `None` for an input of the graph.
    pub node: Option<NodeId>,
    /// A sentence for a person to read.
    pub text: String,
}

/// The types and dimensions of a graph's values.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    values: Vec<Option<TensorShape>>,
    unresolved: Vec<NodeId>,
    notes: Vec<Note>,
}

impl Shapes {
    /// Works out the type and dimensions of every value of the graph.
    ///
    /// # Errors
    /// When the bindings name inputs or dimensions that the model doesn't have, or contradict
    /// its number of dimensions or one another.
    pub fn infer(model: &Model, bindings: &Bindings) -> Result<Self, BindingError> {
        let resolved = bindings.resolve(model.graph())?;
        let inference = Inference::new(model, &resolved.symbols, resolved.trusts_file, resolved.notes);
        let facts = inference.run(resolved.inputs);
        let unknown = |id: &ValueId| !facts[id.index()].is_complete();
        let nodes = model.graph().nodes();
        let unresolved = nodes.filter(|node| node.outputs.iter().flatten().any(unknown)).map(|node| node.id);
        let unresolved = unresolved.collect();
        let told = facts.into_iter().map(|fact| {
            let data_type = fact.data_type;
            fact.dims.map(|dims| TensorShape { data_type, dims })
        });
        Ok(Self { values: told.collect(), unresolved, notes: inference.into_notes() })
    }

    /// The type of a value; `None` when not even its number of dimensions is known, and for what is no
    /// tensor.
    pub fn get(&self, value: ValueId) -> Option<&TensorShape> {
        self.values.get(value.index())?.as_ref()
    }

    /// The nodes of whose outputs some aren't known completely, in the order in which they run.
    pub fn unresolved(&self) -> &[NodeId] {
        &self.unresolved
    }

    /// Contradictions: dimensions that a file declares wrongly, or inputs that an operator
    /// can't take.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}
