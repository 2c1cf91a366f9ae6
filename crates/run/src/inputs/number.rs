//! A single number that an input is fed with, such as a sampling rate.

use opscope_model::{Declared, Dim};
use opscope_trace::DataType;

/// Whether what is declared holds a single element: a scalar, or a tensor whose dimensions are all 1.
pub fn is_single(declared: &Declared) -> bool {
    declared.dims.as_ref().is_some_and(|dims| dims.iter().all(|dim| *dim == Dim::Known(1)))
}

/// Whether a text is a number or a truth value.
pub fn is_number(text: &str) -> bool {
    matches!(text, "true" | "false")
        || (text.parse::<f64>().is_ok_and(f64::is_finite) && text.contains(|c: char| c.is_ascii_digit()))
}

/// The number as little-endian bytes of an element; `None` where the type can't hold it.
pub fn element(data_type: DataType, text: &str) -> Option<Vec<u8>> {
    if data_type == DataType::Bool {
        return match text {
            "true" | "1" => Some(vec![1]),
            "false" | "0" => Some(vec![0]),
            _ => None,
        };
    }
    let float = || text.parse::<f64>().ok();
    match data_type {
        DataType::Float64 => Some(float()?.to_le_bytes().to_vec()),
        DataType::Float32 => Some((float()? as f32).to_le_bytes().to_vec()),
        DataType::Float16 => Some(half_bits(float()? as f32).to_le_bytes().to_vec()),
        DataType::BFloat16 => Some(((float()? as f32).to_bits() >> 16).to_le_bytes()[..2].to_vec()),
        _ => {
            // 16000.0 is a whole number, too.
            let whole = float()?;
            let integer = text.parse::<i128>().ok().or((whole.fract() == 0.0).then_some(whole as i128))?;
            Some(match data_type {
                DataType::Uint8 => u8::try_from(integer).ok()?.to_le_bytes().to_vec(),
                DataType::Uint16 => u16::try_from(integer).ok()?.to_le_bytes().to_vec(),
                DataType::Uint32 => u32::try_from(integer).ok()?.to_le_bytes().to_vec(),
                DataType::Uint64 => u64::try_from(integer).ok()?.to_le_bytes().to_vec(),
                DataType::Int8 => i8::try_from(integer).ok()?.to_le_bytes().to_vec(),
                DataType::Int16 => i16::try_from(integer).ok()?.to_le_bytes().to_vec(),
                DataType::Int32 => i32::try_from(integer).ok()?.to_le_bytes().to_vec(),
                DataType::Int64 => i64::try_from(integer).ok()?.to_le_bytes().to_vec(),
                _ => return None,
            })
        }
    }
}

/// The IEEE half nearest to a value; what is too large becomes infinite, what is smaller than the smallest
/// normal half becomes zero.
fn half_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    // Half of the last digit that stays is added; the carry may well reach the exponent.
    let rounded = (bits & 0x7fff_ffff) + 0xfff + (bits >> 13 & 1);
    let exponent = (rounded >> 23) as i32 - 127 + 15;
    match exponent {
        ..=0 => sign,
        31.. => sign | 0x7c00,
        _ => sign | (exponent as u16) << 10 | (rounded >> 13 & 0x3ff) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_becomes_an_element_of_any_type_that_holds_it() {
        assert_eq!(element(DataType::Int64, "16000"), Some(16_000i64.to_le_bytes().to_vec()));
        assert_eq!(element(DataType::Int32, "-1"), Some((-1i32).to_le_bytes().to_vec()));
        assert_eq!(element(DataType::Int32, "16000.0"), Some(16_000i32.to_le_bytes().to_vec()));
        assert_eq!(element(DataType::Float32, "0.5"), Some(0.5f32.to_le_bytes().to_vec()));
        assert_eq!(element(DataType::Float16, "1"), Some(vec![0x00, 0x3c]));
        assert_eq!(element(DataType::Float16, "-2.5"), Some(vec![0x00, 0xc1]));
        assert_eq!(element(DataType::Bool, "true"), Some(vec![1]));
        for (data_type, text) in [
            (DataType::Int8, "200"),
            (DataType::Uint8, "-1"),
            (DataType::Int64, "0.5"),
            (DataType::Bool, "2"),
        ] {
            assert_eq!(element(data_type, text), None, "{data_type} {text}");
        }
    }

    #[test]
    fn words_are_no_numbers() {
        assert!(["1", "-3", "0.5", "1e-3", "true"].iter().all(|text| is_number(text)));
        assert!(["", "x", "1x3", "nan", "inf", "scalar", "random"].iter().all(|text| !is_number(text)));
    }
}
