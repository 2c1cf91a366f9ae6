//! The types and dimensions of a graph's values.

use std::collections::BTreeMap;

use opscope_trace::DataType;

use crate::graph::{Dim, NodeId, ValueId};
use crate::load::Model;
use crate::tensor::product;

/// What whoever runs a model decides about it: the dimensions of its inputs.
///
/// A dimension is looked for in `shapes` first, then, if the model gives it a name, in `symbols`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// Dimensions of graph inputs, by the input's name.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// Sizes of the dimensions that the model names, such as `batch`.
    pub symbols: BTreeMap<String, u64>,
    /// Elements of graph inputs of integers on which other shapes depend, by the input's name.
    pub values: BTreeMap<String, Vec<i64>>,
}

impl Bindings {
    /// Decides nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives an input its dimensions.
    #[must_use]
    pub fn shape(mut self, input: &str, dims: &[u64]) -> Self {
        self.shapes.insert(input.to_owned(), dims.to_vec());
        self
    }

    /// Gives a named dimension its size.
    #[must_use]
    pub fn symbol(mut self, name: &str, size: u64) -> Self {
        self.symbols.insert(name.to_owned(), size);
        self
    }

    /// Gives an input of integers its elements.
    #[must_use]
    pub fn value(mut self, input: &str, elements: &[i64]) -> Self {
        self.values.insert(input.to_owned(), elements.to_vec());
        self
    }
}

/// Why bindings don't fit a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum BindingError {
    #[error("the model has no input `{input}`; its inputs are {inputs}")]
    UnknownInput { input: String, inputs: String },
    #[error("the input `{input}` has {declared} dimensions ({dims}), not {given}")]
    Rank { input: String, declared: usize, dims: String, given: usize },
    #[error("no input has a dimension named `{symbol}`; the named ones are {symbols}")]
    UnknownSymbol { symbol: String, symbols: String },
    #[error("the dimension `{symbol}` would be {first} and {second} at once")]
    Conflict { symbol: String, first: u64, second: u64 },
}

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
        product(&self.known_dims()?)
    }

    /// How many bytes it takes.
    pub fn bytes(&self) -> Option<u64> {
        self.data_type.bytes(self.elements()?)
    }
}

/// Something that doesn't fit together in a model; the inference went on as `text` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The node where it was seen; `None` for an input of the graph.
    pub node: Option<NodeId>,
    /// What was found, for a person to read.
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
        let known = |dim: Dim| match dim {
            Dim::Known(size) => Some(size),
            Dim::Symbol(name) => bindings.symbols.get(&name).copied(),
            Dim::Unknown => None,
        };
        let values = model.graph().values().map(|value| {
            let declared = value.declared()?;
            let dims = match bindings.shapes.get(value.name) {
                Some(dims) => dims.iter().copied().map(Some).collect(),
                None => declared.dims?.into_iter().map(known).collect(),
            };
            Some(TensorShape { data_type: declared.data_type, dims })
        });
        Ok(Self { values: values.collect(), ..Self::default() })
    }

    /// The type of a value; `None` when not even its number of dimensions is known.
    pub fn get(&self, value: ValueId) -> Option<&TensorShape> {
        self.values.get(value.index())?.as_ref()
    }

    /// The nodes of whose outputs some can't be known, in the order in which they run.
    pub fn unresolved(&self) -> &[NodeId] {
        &self.unresolved
    }

    /// What didn't fit together.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }
}
