//! A node, with the sizes of what it reads and writes.

use opscope_trace::{DataType, reads_shapes_only};

use crate::graph::{Graph, Node, ValueId};
use crate::provenance::Provenance;
use crate::shapes::{Shapes, TensorShape};

/// A node whose cost is worked out.
pub(super) struct Costed<'a> {
    pub graph: Graph<'a>,
    pub shapes: &'a Shapes,
    pub node: Node<'a>,
    /// The version of the operator's domain.
    pub version: i64,
    /// The facts about values that are no weights of the file.
    pub provenance: &'a Provenance,
}

impl<'a> Costed<'a> {
    pub fn shape(&self, input: usize) -> Option<&'a TensorShape> {
        self.shapes.get(self.node.input(input)?)
    }

    /// The dimensions of an input.
    pub fn dims(&self, input: usize) -> Option<&'a [Option<u64>]> {
        Some(&self.shape(input)?.dims)
    }

    /// A dimension of an input.
    pub fn dim(&self, input: usize, position: usize) -> Option<u64> {
        self.dims(input)?.get(position).copied().flatten()
    }

    /// How many elements an input has.
    pub fn input(&self, input: usize) -> Option<u64> {
        self.shape(input)?.elements()
    }

    /// How many elements an output has.
    pub fn output(&self, output: usize) -> Option<u64> {
        self.shapes.get(self.node.output(output)?)?.elements()
    }

    pub fn has(&self, input: usize) -> bool {
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

    pub fn bytes_read(&self) -> Option<u64> {
        if self.runs_graphs() {
            return None;
        }
        let picked_from: &[usize] = match (self.node.domain, self.node.op_type) {
            ("", "Constant") => return Some(0),
            (_, op_type) if reads_shapes_only(op_type) => return Some(0),
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

    pub fn bytes_written(&self) -> Option<u64> {
        if self.runs_graphs() {
            return None;
        }
        if self.node.is("Constant") {
            return Some(0);
        }
        let outputs = self.node.outputs.iter().flatten();
        outputs.map(|id| self.bytes(*id)).try_fold(0u64, |total, bytes| total.checked_add(bytes?))
    }

    pub fn parameters(&self) -> u64 {
        let stored = |id: &ValueId| {
            let value = self.graph.value(*id);
            let Provenance { made_values, lists, .. } = self.provenance;
            if made_values.contains(value.name) || lists.contains(value.name) {
                return None;
            }
            let by_node = value.producer.is_some_and(|producer| self.graph.node(producer).is("Constant"));
            let shape = self.shapes.get(*id).filter(|_| value.is_stored() || by_node)?;
            shape.elements().filter(|_| shape.data_type != DataType::Int64)
        };
        let counts = self.distinct_reads();
        counts.iter().filter_map(stored).fold(0, u64::saturating_add)
    }
}
