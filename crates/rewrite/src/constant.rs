//! Numbers of stored tensors, and tensors made of numbers.

use bytes::Bytes;
use opscope_model::TensorData;
use opscope_model::proto::{TensorProto, data_type_to_onnx};
use opscope_trace::DataType;

/// A tensor of the given type whose elements are these numbers, rounded to the nearest that the type
/// has. `None` for types that aren't floating-point, when the count doesn't fit the dimensions, and
/// when a finite number is beyond what the type can hold.
pub fn floats(data_type: DataType, dims: &[u64], numbers: &[f64]) -> Option<TensorData> {
    let count = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n))?;
    if count != numbers.len() as u64 {
        return None;
    }
    let overflows = |x: f64, rounded: f64| x.is_finite() && !rounded.is_finite();
    let mut bytes = Vec::with_capacity(numbers.len() * data_type.bits()? as usize / 8);
    for &x in numbers {
        match data_type {
            DataType::Float64 => bytes.extend(x.to_le_bytes()),
            DataType::Float32 => {
                let rounded = x as f32;
                if overflows(x, rounded.into()) {
                    return None;
                }
                bytes.extend(rounded.to_le_bytes());
            }
            DataType::Float16 => {
                let rounded = half(x);
                if x.is_finite() && rounded & 0x7fff == 0x7c00 {
                    return None;
                }
                bytes.extend(rounded.to_le_bytes());
            }
            _ => return None,
        }
    }
    Some(TensorData { data_type, dims: dims.to_vec(), bytes: bytes.into() })
}

/// A tensor of integers. `None` when the type is none of integers or can't hold one of them, or the
/// count doesn't fit the dimensions.
pub fn integers(data_type: DataType, dims: &[u64], numbers: &[i64]) -> Option<TensorData> {
    let count = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n))?;
    if count != numbers.len() as u64 {
        return None;
    }
    let mut bytes = Vec::with_capacity(numbers.len() * 8);
    for &n in numbers {
        match data_type {
            DataType::Int64 => bytes.extend(n.to_le_bytes()),
            DataType::Int32 => bytes.extend(i32::try_from(n).ok()?.to_le_bytes()),
            DataType::Int16 => bytes.extend(i16::try_from(n).ok()?.to_le_bytes()),
            DataType::Int8 => bytes.extend(i8::try_from(n).ok()?.to_le_bytes()),
            DataType::Uint64 => bytes.extend(u64::try_from(n).ok()?.to_le_bytes()),
            DataType::Uint32 => bytes.extend(u32::try_from(n).ok()?.to_le_bytes()),
            DataType::Uint16 => bytes.extend(u16::try_from(n).ok()?.to_le_bytes()),
            DataType::Uint8 => bytes.extend(u8::try_from(n).ok()?.to_le_bytes()),
            DataType::Bool => bytes.push(u8::from(n != 0)),
            _ => return None,
        }
    }
    Some(TensorData { data_type, dims: dims.to_vec(), bytes: bytes.into() })
}

/// A list of 64-bit integers, as shapes and axes are given.
pub fn list(numbers: &[i64]) -> TensorData {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    TensorData { data_type: DataType::Int64, dims: vec![numbers.len() as u64], bytes: bytes.into() }
}

/// Whether the dimensions can be counted through, and multiplied with one another: beside a 0, a file may give
/// sizes beyond all bounds. Of a tensor that has elements, each size is one of something that is there.
pub fn is_countable(tensor: &TensorData) -> bool {
    const MOST_OF_NOTHING: u64 = 1 << 20;
    let most = if tensor.dims.contains(&0) { MOST_OF_NOTHING } else { i64::MAX as u64 };
    let product = tensor.dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n.max(1)));
    product.is_some_and(|product| product <= most)
}

/// So many of one number; `None` if that is more than any real model's channels.
pub fn repeated(data_type: DataType, dims: &[u64], number: f64) -> Option<TensorData> {
    const MOST: u64 = 1 << 20;
    let count = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n)).filter(|n| *n <= MOST)?;
    floats(data_type, dims, &vec![number; count as usize])
}

/// The tensor's only element as a floating-point number; `None` when there are several.
pub fn scalar(tensor: &TensorData) -> Option<f64> {
    if tensor.elements() != 1 {
        return None;
    }
    tensor.to_f64s()?.first().copied()
}

/// Whether the type is one of the floating-point types that weights are folded in.
pub fn is_float(data_type: DataType) -> bool {
    matches!(data_type, DataType::Float64 | DataType::Float32 | DataType::Float16)
}

/// The message of a tensor with this name.
pub fn to_proto(name: &str, tensor: &TensorData) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(data_type_to_onnx(tensor.data_type)),
        dims: tensor.dims.iter().map(|&n| n as i64).collect(),
        raw_data: Some(Bytes::clone(&tensor.bytes)),
        ..TensorProto::default()
    }
}

/// The bits of the nearest half-precision number, ties to even: 1 bit of sign, 5 of exponent, 10 of
/// fraction (IEEE 754).
fn half(x: f64) -> u16 {
    let sign = if x.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = x.abs();
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    // 65520 is half way between the greatest half and what would come next.
    if magnitude >= 65_520.0 {
        return sign | 0x7c00;
    }
    // The spacing of halves around this number; that of the smallest normal ones below them.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (magnitude * 2f64.powi(10 - exponent)).round_ties_even() as u16;
    // The steps count the implicit bit, which the exponent field's 1 stands for; a carry into the
    // exponent comes out right by itself.
    sign | (((exponent + 14) as u16) << 10).wrapping_add(steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_to_the_nearest_and_ties_to_even() {
        for (x, bits) in [
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (0.0, 0),
            (65_504.0, 0x7bff),
            (1.0 + 1.0 / 2048.0, 0x3c00),
            (1.0 + 3.0 / 2048.0, 0x3c02),
            (2f64.powi(-24), 1),
            (2f64.powi(-14), 0x0400),
            (0.1, 0x2e66),
            (f64::INFINITY, 0x7c00),
        ] {
            assert_eq!(half(x), bits, "{x}");
        }
    }

    #[test]
    fn every_half_survives_the_way_through_double_precision() {
        for bits in (0u16..0x7c00).chain(0x8000..0xfc00) {
            let bytes = Bytes::copy_from_slice(&bits.to_le_bytes());
            let tensor = TensorData { data_type: DataType::Float16, dims: vec![], bytes };
            assert_eq!(half(scalar(&tensor).unwrap()), bits);
        }
    }

    #[test]
    fn sizes_beyond_all_bounds_beside_a_zero_are_noticed() {
        let tensor =
            |dims: &[u64]| TensorData { data_type: DataType::Int8, dims: dims.to_vec(), bytes: Bytes::new() };
        assert!(is_countable(&tensor(&[0, 3])) && !is_countable(&tensor(&[0, 1 << 40, 1 << 40])));
        assert_eq!(repeated(DataType::Float32, &[1 << 40], 1.0), None);
    }

    #[test]
    fn numbers_beyond_the_type_are_refused() {
        assert_eq!(floats(DataType::Float16, &[1], &[1e6]), None);
        assert_eq!(floats(DataType::Float32, &[1], &[1e60]), None);
        assert!(floats(DataType::Float32, &[1], &[f64::INFINITY]).is_some());
        assert_eq!(integers(DataType::Int32, &[1], &[1 << 40]), None);
        assert_eq!(floats(DataType::Float32, &[2], &[1.0]), None);
    }
}
