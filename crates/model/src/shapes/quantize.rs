//! Conversions to and from quantised types.

use opscope_trace::DataType;

use super::fact::Fact;
use super::operator::{Inferred, Op};

/// `QuantizeLinear`: the type is that of the zero point, or else the one that is asked for.
pub(super) fn quantize(op: &Op) -> Inferred {
    let data_type = match op.data_type(2) {
        DataType::Unknown if op.has(2) => DataType::Unknown,
        DataType::Unknown => op.type_attribute("output_dtype").unwrap_or(DataType::Uint8),
        known => known,
    };
    Ok(vec![Fact { data_type, ..op.fact(0)?.without_elements() }])
}

/// `DequantizeLinear`: the type is that of the scale, unless another is asked for.
pub(super) fn dequantize(op: &Op) -> Inferred {
    let data_type = op.type_attribute("output_dtype").unwrap_or(op.data_type(1));
    Ok(vec![Fact { data_type, ..op.fact(0)?.without_elements() }])
}

/// `DynamicQuantizeLinear`: values, scale and zero point.
pub(super) fn dynamic_quantize(op: &Op) -> Inferred {
    let values = Fact { data_type: DataType::Uint8, ..op.fact(0)?.without_elements() };
    Ok(vec![values, Fact::scalar(DataType::Float32), Fact::scalar(DataType::Uint8)])
}
