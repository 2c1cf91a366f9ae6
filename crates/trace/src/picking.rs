//! Operators that read a part of their inputs only, by their types in any engine's spelling.

use crate::{Operator, TensorId, Trace};

/// How much an operator reads of its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// All of each.
    All,
    /// Nothing: only their shapes matter.
    Nothing,
    /// Of the inputs in these places, which are picked from, as much as comes out; all of the others.
    Picks(&'static [usize]),
}

impl Reads {
    /// By the operator's type: ONNX's, or that of TensorFlow, TensorFlow Lite, OpenVINO or an Ascend device for the same.
    pub fn of_type(op_type: &str) -> Self {
        /// No type that is known here is longer.
        const LONGEST: usize = 32;
        if op_type.len() > LONGEST {
            return Self::All;
        }
        // PyTorch puts a name space before it (`aten::zeros_like`).
        let own = op_type.rsplit("::").next().unwrap_or(op_type);
        let plain: String = own.chars().filter(|letter| *letter != '_').collect();
        match &*plain.to_ascii_lowercase() {
            "shape" | "shapen" | "shapeof" | "size" | "rank" | "constant" | "zeroslike" | "oneslike"
            | "fulllike" | "emptylike" | "eyelike" | "randlike" | "randnlike" | "randomnormallike"
            | "randomuniformlike" => Self::Nothing,
            "gather" | "gatherv2" | "gatherv2d" | "gatherd" | "gatherelements" | "gathernd"
            | "resourcegather" | "slice" | "sliced" | "stridedslice" | "stridedsliced" | "compress" => {
                Self::Picks(&[0])
            }
            "embeddinglookup" => Self::Picks(&[1]),
            "embedlayernormalization" => Self::Picks(&[2, 3, 4]),
            _ => Self::All,
        }
    }

    /// The bytes that are read of an input.
    pub fn of_input(self, place: usize, bytes: u64, output: Option<u64>) -> Option<u64> {
        match self {
            Self::All => Some(bytes),
            Self::Nothing => Some(0),
            Self::Picks(places) if places.contains(&place) => Some(bytes.min(output?)),
            Self::Picks(_) => Some(bytes),
        }
    }
}

impl Trace {
    /// Bytes that an operator reads in one execution, by the sizes of its tensors; `None` if one that matters isn't
    /// known.
    pub fn bytes_read(&self, operator: &Operator) -> Option<u64> {
        let reads = Reads::of_type(self.strings.get(operator.op_type));
        if reads == Reads::Nothing {
            return Some(0);
        }
        let bytes = |tensor: TensorId| self.tensor_bytes(std::iter::once(tensor));
        let output = operator.outputs().next().and_then(bytes);
        operator.inputs().enumerate().try_fold(0_u64, |sum, (place, tensor)| {
            sum.checked_add(reads.of_input(place, bytes(tensor)?, output)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DataType, Tensor};

    #[test]
    fn of_a_table_that_is_picked_from_only_the_picked_is_read() {
        let read = |op_type: &str, inputs: &[&[i64]]| {
            let mut trace = Trace::new();
            let mut tensor = |shape: &[i64]| {
                let dimensions = Some(trace.dimensions.push(shape.iter().copied()));
                let data_type = DataType::Float32;
                trace.tensors.push(Tensor {
                    name: None,
                    data_type,
                    dimensions,
                    layout: None,
                    parameter: false,
                })
            };
            let inputs: Vec<_> = inputs.iter().map(|shape| tensor(shape)).collect();
            let output = tensor(&[2, 8]);
            let name = trace.strings.intern(op_type);
            let operator = Operator {
                first_input: inputs.first().copied(),
                input_count: inputs.len() as u32,
                first_output: Some(output),
                output_count: 1,
                ..Operator::new(name, name)
            };
            trace.bytes_read(&operator)
        };
        let table: &[&[i64]] = &[&[1_000, 8], &[2]];
        for op_type in ["Gather", "GATHER", "GatherV2", "GatherV2D", "STRIDED_SLICE", "GatherND"] {
            assert_eq!(read(op_type, table), Some(4 * (16 + 2)), "{op_type}");
        }
        assert_eq!(read("EMBEDDING_LOOKUP", &[&[2], &[1_000, 8]]), Some(4 * (16 + 2)));
        for op_type in ["Shape", "ShapeN", "ZerosLike", "ZEROS_LIKE", "aten::zeros_like", "RandomNormalLike"]
        {
            assert_eq!(read(op_type, table), Some(0), "{op_type}");
        }
        assert_eq!(read("Split", &[&[4, 8]]), Some(4 * 32), "all of it comes out");
        assert_eq!(read("Add", table), Some(4 * 8_002));
        // A cut may be as large as the whole.
        assert_eq!(read("Slice", &[&[1, 8]]), Some(4 * 8));
    }
}
