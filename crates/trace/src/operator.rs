//! Nodes of a model.

use crate::pool::Span;
use crate::table::table;
use crate::words;
use crate::{ModelId, StringId, TensorId};

words! {
    /// How an operator was matched with the nodes of the model's graph.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub enum Attribution {
        /// There was no graph to match with.
        #[default]
        NoGraph = "no-graph",
        /// It is one node of the graph.
        Exact = "exact",
        /// The engine made it out of several nodes of the graph.
        Fused = "fused",
        /// The engine added it, for instance to change a memory layout.
        Engine = "engine",
        /// A graph was there, but no node of it could be named.
        Unattributed = "unattributed",
        /// A node of the graph that the engine computed beforehand or had no need of: no task belongs
        /// to it.
        Removed = "removed",
    }
}

table! {
    /// Nodes of the models, as they were executed. Where shapes change from one execution to the
    /// next, each combination is a row of its own.
    OperatorTable,
    /// Names a row of the [`OperatorTable`].
    OperatorId,
    /// A node of a model.
    Operator {
        /// The model that it belongs to.
        model: Option<ModelId>,
        /// Its name in the model.
        name: StringId,
        /// Its type, such as `Conv`; one that stands for several nodes of the graph joins their types
        /// with `+`.
        op_type: StringId,
        /// The type that the engine ran it as, such as `QuickGelu` for `Sigmoid+Mul`; where the engine made
        /// several of it, their types joined with `+`. `None` where there was no graph to match with:
        /// the type is the engine's own.
        engine_type: Option<StringId>,
        /// Its position in the model's order of execution.
        position: Option<u32>,
        /// How it was matched with the model's graph.
        attribution: Attribution,
        /// The graph's nodes that it stands for, in the graph's order.
        origins: Span<StringId>,
        /// Its first input in the tensor table, if it has any.
        first_input: Option<TensorId>,
        /// How many inputs follow from there.
        input_count: u32,
        /// Its first output in the tensor table, if it has any.
        first_output: Option<TensorId>,
        /// How many outputs follow from there.
        output_count: u32,
        /// Its attributes as JSON text.
        attributes: Option<StringId>,
        /// Whether its shapes became known only when it ran, where the format tells.
        dynamic: Option<bool>,
        /// Floating-point (or integer) operations of one execution; a multiplication and an
        /// addition are two.
        flops: Option<u64>,
        /// Bytes of all inputs, parameters included.
        bytes_read: Option<u64>,
        /// Bytes of all outputs.
        bytes_written: Option<u64>,
        /// How many elements its parameters have.
        parameters: Option<u64>,
    }
}

impl Operator {
    /// An operator of which only the name and type are known.
    pub fn new(name: StringId, op_type: StringId) -> Self {
        Self {
            model: None,
            name,
            op_type,
            engine_type: None,
            position: None,
            attribution: Attribution::NoGraph,
            origins: Span::default(),
            first_input: None,
            input_count: 0,
            first_output: None,
            output_count: 0,
            attributes: None,
            dynamic: None,
            flops: None,
            bytes_read: None,
            bytes_written: None,
            parameters: None,
        }
    }

    /// The ids of its inputs, in order.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = TensorId> + use<> {
        run(self.first_input, self.input_count)
    }

    /// The ids of its outputs, in order.
    pub fn outputs(&self) -> impl ExactSizeIterator<Item = TensorId> + use<> {
        run(self.first_output, self.output_count)
    }
}

/// Whether operators of a type take nothing of their inputs but shapes, so that they read no data: those that fill a
/// tensor as large as their input, and those that tell its sizes. Vendors differ in cases and underscores
/// (`ZerosLike`, `ZEROS_LIKE`), and frameworks have a name space before it (`aten::zeros_like`).
pub fn reads_shapes_only(op_type: &str) -> bool {
    const TYPES: [&str; 14] = [
        "zeroslike",
        "oneslike",
        "fulllike",
        "emptylike",
        "eyelike",
        "randomnormallike",
        "randomuniformlike",
        "randlike",
        "randnlike",
        "shape",
        "shapen",
        "shapeof",
        "size",
        "rank",
    ];
    let own = op_type.rsplit("::").next().unwrap_or(op_type);
    let letters = || own.bytes().filter(|letter| *letter != b'_').map(|letter| letter.to_ascii_lowercase());
    TYPES.iter().any(|known| letters().eq(known.bytes()))
}

fn run(first: Option<TensorId>, count: u32) -> impl ExactSizeIterator<Item = TensorId> {
    let (start, count) = first.map_or((0, 0), |first| (first.index(), count as usize));
    (start..start + count).map(TensorId::from_index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_that_only_write_or_tell_sizes_are_known_in_all_spellings() {
        for op_type in
            ["ZerosLike", "OnesLike", "ZEROS_LIKE", "aten::zeros_like", "Shape", "ShapeN", "ShapeOf"]
        {
            assert!(reads_shapes_only(op_type), "{op_type}");
        }
        for op_type in ["Fill", "Range", "Reshape", "Resize", "Like", "", "Tril", "Size2"] {
            assert!(!reads_shapes_only(op_type), "{op_type}");
        }
    }
}
