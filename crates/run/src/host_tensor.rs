//! Tensors in host memory, as they pass between files, the user and the engines.

use opscope_model::element_count;
use opscope_trace::DataType;

/// A tensor of numbers in host memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HostTensor {
    /// The element type; text has no place here.
    pub data_type: DataType,
    /// The dimensions, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements in row-major order, little-endian, one after another.
    pub bytes: Vec<u8>,
}

/// The first element of a tensor that isn't a finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NonFinite {
    /// Not a number.
    Nan,
    /// Positive or negative infinity.
    Infinite,
}

impl NonFinite {
    /// How it is called in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nan => "NaN",
            Self::Infinite => "infinite",
        }
    }

    fn of(value: f64) -> Option<Self> {
        match value {
            v if v.is_nan() => Some(Self::Nan),
            v if v.is_infinite() => Some(Self::Infinite),
            _ => None,
        }
    }
}

impl HostTensor {
    /// How many elements the shape has; the greatest number where they can't be counted.
    pub fn elements(&self) -> usize {
        let dims: Vec<u64> = self.shape.iter().map(|&size| size as u64).collect();
        element_count(&dims).and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX)
    }

    /// The elements of an integer tensor that may well be a shape.
    pub(crate) fn small_integers(&self) -> Option<Vec<i64>> {
        const LONGEST: usize = 16;
        if self.elements() > LONGEST {
            return None;
        }
        match self.data_type {
            DataType::Int64 => {
                Some(self.bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect())
            }
            DataType::Int32 => {
                Some(self.bytes.as_chunks::<4>().0.iter().map(|b| i32::from_le_bytes(*b).into()).collect())
            }
            _ => None,
        }
    }

    /// The first element that isn't finite; integers always are.
    pub fn first_non_finite(&self) -> Option<NonFinite> {
        match self.data_type {
            DataType::Float32 => {
                let values = self.bytes.as_chunks::<4>().0.iter();
                values.map(|bytes| f32::from_le_bytes(*bytes).into()).find_map(NonFinite::of)
            }
            DataType::Float64 => {
                let values = self.bytes.as_chunks::<8>().0.iter();
                values.map(|bytes| f64::from_le_bytes(*bytes)).find_map(NonFinite::of)
            }
            DataType::Float16 => self.first_with_full_exponent(0x7c00, 0x03ff),
            DataType::BFloat16 => self.first_with_full_exponent(0x7f80, 0x007f),
            _ => None,
        }
    }

    /// In a 16-bit format, a number whose exponent bits are all set is infinite, or NaN if any bit
    /// of its fraction is set as well.
    fn first_with_full_exponent(&self, exponent: u16, fraction: u16) -> Option<NonFinite> {
        let mut values = self.bytes.as_chunks::<2>().0.iter().map(|bytes| u16::from_le_bytes(*bytes));
        let found = values.find(|bits| bits & exponent == exponent)?;
        Some(if found & fraction == 0 { NonFinite::Infinite } else { NonFinite::Nan })
    }
}

/// A shape as people write it: `1x3x224x224`, or `scalar`.
pub fn shape_text(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(data_type: DataType, bytes: Vec<u8>) -> HostTensor {
        HostTensor { data_type, shape: vec![2], bytes }
    }

    #[test]
    fn what_is_not_finite_is_found_in_every_floating_point_type() {
        let singles = |values: [f32; 2]| values.iter().flat_map(|v| v.to_le_bytes()).collect();
        assert_eq!(tensor(DataType::Float32, singles([1.0, -2.0])).first_non_finite(), None);
        assert_eq!(
            tensor(DataType::Float32, singles([f32::NEG_INFINITY, f32::NAN])).first_non_finite(),
            Some(NonFinite::Infinite)
        );
        let halves = |values: [u16; 2]| values.iter().flat_map(|v| v.to_le_bytes()).collect();
        // 0x7bff is the greatest finite half, 0x7c00 infinity, 0x7e00 a NaN.
        assert_eq!(tensor(DataType::Float16, halves([0x7bff, 0x3c00])).first_non_finite(), None);
        assert_eq!(
            tensor(DataType::Float16, halves([0x3c00, 0xfc00])).first_non_finite(),
            Some(NonFinite::Infinite)
        );
        assert_eq!(tensor(DataType::Float16, halves([0x7e00, 0])).first_non_finite(), Some(NonFinite::Nan));
        assert_eq!(tensor(DataType::BFloat16, halves([0x7fc0, 0])).first_non_finite(), Some(NonFinite::Nan));
    }

    #[test]
    fn integers_are_always_finite() {
        assert_eq!(tensor(DataType::Int64, vec![0xff; 16]).first_non_finite(), None);
    }
}
