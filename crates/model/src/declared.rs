//! Types of values as a file declares them.

use std::fmt;

use opscope_trace::DataType;

use crate::proto::{Dimension, DimensionValue, TypeProto, TypeValue, data_type_from_onnx};

/// A tensor type as a file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The element type.
    pub data_type: DataType,
    /// The dimensions; `None` when not even their number is declared.
    pub dims: Option<Vec<Dim>>,
}

impl Declared {
    /// The tensor type of a declaration; `None` for sequences, maps and optional values.
    pub fn from_type(declared: &TypeProto) -> Option<Self> {
        let (TypeValue::Tensor(tensor) | TypeValue::SparseTensor(tensor)) = declared.value.as_ref()? else {
            return None;
        };
        Some(Self {
            data_type: data_type_from_onnx(tensor.elem_type.unwrap_or(0)),
            dims: tensor.shape.as_ref().map(|shape| shape.dim.iter().map(Dim::from_proto).collect()),
        })
    }
}

/// A dimension as a file declares it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// Always of this size.
    Known(u64),
    /// Of a size that is the same wherever this name stands.
    Symbol(String),
    /// Of any size.
    Unknown,
}

impl Dim {
    /// A dimension of a file; negative sizes, and texts that stand for them, are of any size.
    pub(crate) fn from_proto(dimension: &Dimension) -> Self {
        match &dimension.value {
            // Exporters write −1 (and sometimes any negative number) for a dimension of any size.
            Some(DimensionValue::Value(size)) => u64::try_from(*size).map_or(Self::Unknown, Self::Known),
            Some(DimensionValue::Param(name)) if is_name(name) => Self::Symbol(name.clone()),
            Some(DimensionValue::Param(_)) | None => Self::Unknown,
        }
    }
}

/// Whether a text names a dimension. Exporters also write one for every dimension whose size they don't know: nothing,
/// a question mark (Paddle's old one), a negative number.
fn is_name(text: &str) -> bool {
    let text = text.trim();
    let is_negative = text.parse::<i64>().is_ok_and(|number| number < 0);
    !is_negative && text.chars().any(|letter| letter != '?' && letter != '*')
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(size) => size.fmt(f),
            Self::Symbol(name) => f.pad(name),
            Self::Unknown => f.pad("?"),
        }
    }
}
