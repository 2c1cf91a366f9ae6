//! Element types of tensors.

use std::fmt;

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the types")]
pub enum DataType {
    /// A type that the format didn't name, or that has no place here.
    #[default]
    Unknown,
    Float64,
    Float32,
    Float16,
    BFloat16,
    Float8E4M3Fn,
    Float8E4M3Fnuz,
    Float8E5M2,
    Float8E5M2Fnuz,
    Float8E8M0,
    Float4E2M1,
    Int64,
    Int32,
    Int16,
    Int8,
    Int4,
    Int2,
    Uint64,
    Uint32,
    Uint16,
    Uint8,
    Uint4,
    Uint2,
    Bool,
    String,
    Complex64,
    Complex128,
}

impl DataType {
    /// All types that have a name.
    pub const ALL: [Self; 26] = [
        Self::Float64,
        Self::Float32,
        Self::Float16,
        Self::BFloat16,
        Self::Float8E4M3Fn,
        Self::Float8E4M3Fnuz,
        Self::Float8E5M2,
        Self::Float8E5M2Fnuz,
        Self::Float8E8M0,
        Self::Float4E2M1,
        Self::Int64,
        Self::Int32,
        Self::Int16,
        Self::Int8,
        Self::Int4,
        Self::Int2,
        Self::Uint64,
        Self::Uint32,
        Self::Uint16,
        Self::Uint8,
        Self::Uint4,
        Self::Uint2,
        Self::Bool,
        Self::String,
        Self::Complex64,
        Self::Complex128,
    ];

    /// How many bits an element takes; `None` for text and unknown types.
    pub fn bits(self) -> Option<u64> {
        Some(match self {
            Self::Unknown | Self::String => return None,
            Self::Complex128 => 128,
            Self::Float64 | Self::Int64 | Self::Uint64 | Self::Complex64 => 64,
            Self::Float32 | Self::Int32 | Self::Uint32 => 32,
            Self::Float16 | Self::BFloat16 | Self::Int16 | Self::Uint16 => 16,
            Self::Float8E4M3Fn
            | Self::Float8E4M3Fnuz
            | Self::Float8E5M2
            | Self::Float8E5M2Fnuz
            | Self::Float8E8M0
            | Self::Int8
            | Self::Uint8
            | Self::Bool => 8,
            Self::Float4E2M1 | Self::Int4 | Self::Uint4 => 4,
            Self::Int2 | Self::Uint2 => 2,
        })
    }

    /// How many bytes `elements` of this type take, packed; `None` where a size isn't defined or
    /// doesn't fit.
    pub fn bytes(self, elements: u64) -> Option<u64> {
        elements.checked_mul(self.bits()?).map(|bits| bits.div_ceil(8))
    }

    /// The name in the spelling of NumPy and ONNX's documentation: `float32`, `int8`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Float64 => "float64",
            Self::Float32 => "float32",
            Self::Float16 => "float16",
            Self::BFloat16 => "bfloat16",
            Self::Float8E4M3Fn => "float8e4m3fn",
            Self::Float8E4M3Fnuz => "float8e4m3fnuz",
            Self::Float8E5M2 => "float8e5m2",
            Self::Float8E5M2Fnuz => "float8e5m2fnuz",
            Self::Float8E8M0 => "float8e8m0",
            Self::Float4E2M1 => "float4e2m1",
            Self::Int64 => "int64",
            Self::Int32 => "int32",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Int2 => "int2",
            Self::Uint64 => "uint64",
            Self::Uint32 => "uint32",
            Self::Uint16 => "uint16",
            Self::Uint8 => "uint8",
            Self::Uint4 => "uint4",
            Self::Uint2 => "uint2",
            Self::Bool => "bool",
            Self::String => "string",
            Self::Complex64 => "complex64",
            Self::Complex128 => "complex128",
        }
    }

    /// The type of a given [`DataType::name`]; letter case doesn't matter.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(name))
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_named_type_is_found_by_its_name() {
        for known in DataType::ALL {
            assert_eq!(DataType::from_name(&known.name().to_uppercase()), Some(known));
        }
        assert_eq!(DataType::from_name("unknown"), None);
    }

    #[test]
    fn packed_sizes_round_up_to_whole_bytes() {
        assert_eq!(DataType::Int4.bytes(3), Some(2));
        assert_eq!(DataType::Float32.bytes(3), Some(12));
        assert_eq!(DataType::Float32.bytes(u64::MAX), None);
        assert_eq!(DataType::String.bytes(1), None);
    }
}
