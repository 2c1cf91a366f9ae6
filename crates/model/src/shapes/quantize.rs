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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn the_zero_point_and_the_scale_decide_about_types() {
        let case = || Case::new("QuantizeLinear").input(&[2, 3]).input(&[]);
        assert_eq!(case().typed(DataType::Int8, &[]).types(), [(DataType::Int8, dims(&[2, 3]))]);
        assert_eq!(case().types(), [(DataType::Uint8, dims(&[2, 3]))]);
        assert_eq!(case().int("output_dtype", 5).types(), [(DataType::Int16, dims(&[2, 3]))]);
        let back = Case::new("DequantizeLinear").typed(DataType::Int8, &[4]).typed(DataType::Float16, &[]);
        assert_eq!(back.types(), [(DataType::Float16, dims(&[4]))]);
        assert_eq!(
            Case::new("DynamicQuantizeLinear").input(&[4]).outputs(3).types(),
            [(DataType::Uint8, dims(&[4])), (DataType::Float32, dims(&[])), (DataType::Uint8, dims(&[]))]
        );
    }
}
