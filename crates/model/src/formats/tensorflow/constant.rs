//! Tensors that a graph holds (`TensorProto`).
//!
//! | number | field |
//! |---|---|
//! | 1, 2 | number of the element type, shape |
//! | 4 | elements as bytes, in the order of the sizes |
//! | 5, 6, 7, 10, 11 | or as numbers: single and double precision, integers of up to 32 bits, of 64 bits, truths |
//!
//! Fewer numbers than elements mean that the last one is repeated.

use bytes::Bytes;
use opscope_trace::DataType;

use super::super::assembly;
use super::super::protobuf::Message;
use super::node::{data_type, shape};
use crate::proto::TensorProto;

/// Elements of a constant whose values are looked at: sizes, axes and the like.
const MOST_LOOKED_AT: u64 = 64;

/// A constant of the graph.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    pub data_type: DataType,
    pub dims: Vec<i64>,
    /// The elements where they lie, in the order of the sizes.
    data: Option<Bytes>,
    /// The elements of a small list of integers.
    pub ints: Option<Vec<i64>>,
}

impl Constant {
    pub fn of(message: Message<'_>, file: &Bytes) -> Option<Self> {
        let data_type = data_type(message.field(1).map_or(0, |value| value.int()));
        let dims = message.field(2).map_or(Some(Vec::new()), |value| shape(value.message()))?;
        let sizes: Vec<u64> = dims.iter().map(|&size| u64::try_from(size).ok()).collect::<Option<_>>()?;
        let elements = crate::element_count(&sizes)?;
        let content = message.sub(4).bytes;
        let expected = data_type.bytes(elements);
        let mut data =
            (!content.is_empty() && Some(content.len() as u64) == expected).then(|| file.slice_ref(content));
        if data.is_none() && elements <= MOST_LOOKED_AT {
            data =
                few(message, data_type, elements as usize).filter(|data| Some(data.len() as u64) == expected);
        }
        let ints =
            data.as_ref().filter(|_| elements <= MOST_LOOKED_AT).and_then(|data| integers(data, data_type));
        Some(Self { data_type, dims, data, ints })
    }

    /// The same elements in other sizes, one of which may be −1; nothing if they don't fit.
    pub fn with_sizes(&self, sizes: &[i64]) -> Option<Self> {
        let count = |sizes: &[i64]| sizes.iter().try_fold(1i64, |count, size| count.checked_mul(*size));
        let mut dims = sizes.to_vec();
        let elements = count(&self.dims)?;
        if let Some(open) = sizes.iter().position(|size| *size == -1) {
            dims[open] = 1;
            dims[open] = elements.checked_div(count(&dims)?)?;
        }
        let fits = dims.iter().all(|size| *size >= 0) && count(&dims)? == elements;
        fits.then(|| Self { dims, ..self.clone() })
    }

    /// The tensor under a name.
    pub fn tensor(&self, name: &str) -> TensorProto {
        TensorProto { raw_data: self.data.clone(), ..assembly::weight(name, self.data_type, &self.dims) }
    }

    /// The tensor with its elements in the same order, but of other sizes.
    pub fn reshaped(&self, name: &str, dims: &[i64]) -> TensorProto {
        TensorProto { raw_data: self.data.clone(), ..assembly::weight(name, self.data_type, dims) }
    }
}

/// A few elements that are stored as numbers, as bytes.
fn few(message: Message<'_>, data_type: DataType, elements: usize) -> Option<Bytes> {
    let mut bytes: Vec<Vec<u8>> = Vec::new();
    let field = match data_type {
        DataType::Float32 => 5,
        DataType::Int32 => 7,
        DataType::Int64 => 10,
        DataType::Bool => 11,
        _ => return None,
    };
    for (_, value) in message.each().filter(|(number, _)| *number == field) {
        let (mut ints, mut floats) = (Vec::new(), Vec::new());
        match data_type {
            DataType::Float32 => value.push_floats(&mut floats),
            _ => value.push_ints(&mut ints),
        }
        bytes.extend(floats.iter().map(|number| number.to_le_bytes().to_vec()));
        bytes.extend(ints.iter().map(|&number| match data_type {
            DataType::Int32 => (number as i32).to_le_bytes().to_vec(),
            DataType::Bool => vec![u8::from(number != 0)],
            _ => number.to_le_bytes().to_vec(),
        }));
        if bytes.len() > elements {
            return None;
        }
    }
    // A tensor of zeros may have no numbers at all.
    let last = bytes.last().cloned().unwrap_or_else(|| vec![0; data_type.bytes(1).unwrap_or(0) as usize]);
    bytes.resize(elements, last);
    Some(bytes.concat().into())
}

fn integers(data: &[u8], data_type: DataType) -> Option<Vec<i64>> {
    match data_type {
        DataType::Int32 => {
            Some(data.as_chunks::<4>().0.iter().map(|four| i32::from_le_bytes(*four).into()).collect())
        }
        DataType::Int64 => {
            Some(data.as_chunks::<8>().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect())
        }
        _ => None,
    }
}
