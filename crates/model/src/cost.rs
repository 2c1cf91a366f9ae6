//! What a node computes and moves: figures that follow from its shapes alone, whatever engine runs
//! it.
//!
//! **Operations.** A multiplication and an addition count one each, so a multiply-add counts two.
//! N(x) is the number of elements of x.
//!
//! | operators | operations |
//! |---|---|
//! | convolutions | 2 · N(output) · product of the weights' dimensions but the first (channels of a group times kernel), + N(output) for a bias |
//! | transposed convolution | 2 · N(input) · product of the weights' dimensions but the first, + N(output) for a bias |
//! | matrix products | 2 · N(output) · K, where K is the dimension that is summed over, + N(output) for a bias |
//! | `Einsum` | product of all dimensions that are named · number of inputs |
//! | element by element | 1 for each element of the output, whatever the function: a transcendental one counts 1 as well. With n inputs that are joined, n − 1 |
//! | `Softmax`, `LogSoftmax` | 5 for each element: maximum, difference, exponential, sum, quotient |
//! | batch normalisation | 2 for each element, as in inference, where it is one scale and one shift |
//! | layer, instance and group normalisation | 7 for each element: mean 1, deviation 1, variance 2, quotient 1, scale 1, shift 1 |
//! | RMS normalisation | 4 for each element: squares 2, quotient 1, scale 1 |
//! | local response normalisation | size + 4 for each element |
//! | pooling | N(output) · window; of all the image, N(input) |
//! | reductions, `ArgMax`, `TopK`, sums along an axis | N(input) |
//! | recurrent layers | for each step, direction and row of the batch, with I inputs, H hidden and G gates (1, 3 for `GRU`, 4 for `LSTM`): 2 · G · H · (I + H), + 2 · G · H for biases, + H, 8 · H or 9 · H for what happens element by element |
//! | attention | for each query and key of each head: 2 · head size for the score, 1 for its scale, 1 for a mask, 5 for the softmax, 2 · value size for the result; projections as matrix products. A causal mask saves nothing here |
//! | interpolation (`Resize`, `GridSample`) | 2 for each element and each point that it is made of: 2 points a dimension if linear, 4 if cubic; none if nearest |
//! | quantisation and back | 2 for each element; quantised operators otherwise count as plain ones |
//! | Fourier transforms | 5 · n · log2(n), rounded up, for each transform of length n |
//! | what only moves or converts data | 0 |
//!
//! Operators whose work depends on the data, that run graphs of their own (`If`, `Loop`, `Scan`) or
//! that aren't known here have no figure.
//!
//! **Bytes.** Each input counts as read once and each output as written once, as large as they are,
//! in the packed size of their type. Exceptions: of a tensor that is picked from (`Gather`, `Slice`
//! and their like) as much is read as comes out; `Shape` and `Size` read nothing, and `Constant`
//! moves nothing. An engine that keeps a tensor in place moves less, and one that reads it again
//! moves more.

mod flops;

use opscope_trace::DataType;

use crate::graph::{Graph, Node, NodeId, ValueId};
use crate::load::Model;
use crate::shapes::{Shapes, TensorShape};

/// What one execution of a node computes and moves; `None` is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Arithmetic operations; a multiply-add counts two. The formulas stand in the module's
    /// description.
    pub flops: Option<u64>,
    /// Bytes of the tensors that are read.
    pub bytes_read: Option<u64>,
    /// Bytes of the tensors that are written.
    pub bytes_written: Option<u64>,
    /// Elements of the weights that are read: tensors that the model stores, but for those of 64-bit
    /// integers, which hold sizes and positions. A weight that two nodes read counts for both.
    pub parameters: u64,
}

impl Cost {
    /// The cost of a node.
    ///
    /// # Panics
    /// If the id comes from another, longer graph.
    pub fn of(model: &Model, shapes: &Shapes, node: NodeId) -> Self {
        let (graph, node) = (model.graph(), model.graph().node(node));
        let version = model.opset_version(node.domain).unwrap_or(i64::MAX);
        let node = Costed { graph, shapes, node, version };
        Self {
            flops: flops::of(&node),
            bytes_read: node.bytes_read(),
            bytes_written: node.bytes_written(),
            parameters: node.parameters(),
        }
    }

    /// Operations for each byte that is moved: the horizontal axis of a roofline.
    pub fn intensity(&self) -> Option<f64> {
        let bytes = self.bytes_read?.checked_add(self.bytes_written?)?;
        (bytes > 0).then_some(self.flops? as f64 / bytes as f64)
    }
}

/// A node whose cost is worked out.
struct Costed<'a> {
    graph: Graph<'a>,
    shapes: &'a Shapes,
    node: Node<'a>,
    /// The version of the operator's domain.
    version: i64,
}

impl<'a> Costed<'a> {
    fn shape(&self, input: usize) -> Option<&'a TensorShape> {
        self.shapes.get(self.node.input(input)?)
    }

    /// The dimensions of an input.
    fn dims(&self, input: usize) -> Option<&'a [Option<u64>]> {
        Some(&self.shape(input)?.dims)
    }

    /// A dimension of an input.
    fn dim(&self, input: usize, position: usize) -> Option<u64> {
        self.dims(input)?.get(position).copied().flatten()
    }

    /// How many elements an input has.
    fn input(&self, input: usize) -> Option<u64> {
        self.shape(input)?.elements()
    }

    /// How many elements an output has.
    fn output(&self, output: usize) -> Option<u64> {
        self.shapes.get(self.node.output(output)?)?.elements()
    }

    fn has(&self, input: usize) -> bool {
        self.node.input(input).is_some()
    }

    fn bytes(&self, value: ValueId) -> Option<u64> {
        self.shapes.get(value)?.bytes()
    }

    fn runs_graphs(&self) -> bool {
        crate::graph::subgraphs(self.node.proto).next().is_some()
    }

    /// Each value that is read, once.
    fn distinct_reads(&self) -> Vec<ValueId> {
        let mut reads: Vec<ValueId> = self.node.reads().collect();
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    fn bytes_read(&self) -> Option<u64> {
        if self.runs_graphs() {
            return None;
        }
        let picked_from: &[usize] = match (self.node.domain, self.node.op_type) {
            ("", "Shape" | "Size" | "Constant") => return Some(0),
            ("", "Gather" | "GatherElements" | "GatherND" | "Slice" | "Compress") => &[0],
            ("com.microsoft", "EmbedLayerNormalization") => &[2, 3, 4],
            _ => &[],
        };
        let picked_from: Vec<ValueId> =
            picked_from.iter().filter_map(|input| self.node.input(*input)).collect();
        let output = self.node.output(0).and_then(|id| self.bytes(id));
        let mut total = 0u64;
        for value in self.distinct_reads() {
            let bytes = self.bytes(value);
            let read = if picked_from.contains(&value) { bytes?.min(output?) } else { bytes? };
            total = total.checked_add(read)?;
        }
        Some(total)
    }

    fn bytes_written(&self) -> Option<u64> {
        if self.runs_graphs() {
            return None;
        }
        if self.node.is("Constant") {
            return Some(0);
        }
        let outputs = self.node.outputs.iter().flatten();
        outputs.map(|id| self.bytes(*id)).try_fold(0u64, |total, bytes| total.checked_add(bytes?))
    }

    fn parameters(&self) -> u64 {
        let stored = |id: &ValueId| {
            let value = self.graph.value(*id);
            let by_node = value.producer.is_some_and(|producer| self.graph.node(producer).is("Constant"));
            let shape = self.shapes.get(*id).filter(|_| value.is_stored() || by_node)?;
            shape.elements().filter(|_| shape.data_type != DataType::Int64)
        };
        let counts = self.distinct_reads();
        counts.iter().filter_map(stored).fold(0, u64::saturating_add)
    }
}
