//! Element types of tensors.

use std::fmt;

/// Declares the types, each with its name and how many bits an element takes.
macro_rules! data_types {
    ($($data_type:ident = $name:literal, $bits:expr;)+) => {
        /// The element type of a tensor.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[expect(missing_docs, reason = "the names are the types")]
        pub enum DataType {
            /// A type that the format didn't name, or that has no place here.
            #[default]
            Unknown,
            $($data_type,)+
        }

        impl DataType {
            /// All types that have a name.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$data_type),+];

            /// The name in the spelling of NumPy and ONNX's documentation: `float32`, `int8`.
            pub fn name(self) -> &'static str {
                match self {
                    Self::Unknown => "unknown",
                    $(Self::$data_type => $name,)+
                }
            }

            /// How many bits an element takes; `None` for text and unknown types.
            pub fn bits(self) -> Option<u64> {
                match self {
                    Self::Unknown => None,
                    $(Self::$data_type => $bits,)+
                }
            }
        }
    };
}

data_types! {
    Float64 = "float64", Some(64);
    Float32 = "float32", Some(32);
    Float16 = "float16", Some(16);
    BFloat16 = "bfloat16", Some(16);
    Float8E4M3Fn = "float8e4m3fn", Some(8);
    Float8E4M3Fnuz = "float8e4m3fnuz", Some(8);
    Float8E5M2 = "float8e5m2", Some(8);
    Float8E5M2Fnuz = "float8e5m2fnuz", Some(8);
    Float8E8M0 = "float8e8m0", Some(8);
    Float4E2M1 = "float4e2m1", Some(4);
    Int64 = "int64", Some(64);
    Int32 = "int32", Some(32);
    Int16 = "int16", Some(16);
    Int8 = "int8", Some(8);
    Int4 = "int4", Some(4);
    Int2 = "int2", Some(2);
    Uint64 = "uint64", Some(64);
    Uint32 = "uint32", Some(32);
    Uint16 = "uint16", Some(16);
    Uint8 = "uint8", Some(8);
    Uint4 = "uint4", Some(4);
    Uint2 = "uint2", Some(2);
    Bool = "bool", Some(8);
    String = "string", None;
    Complex64 = "complex64", Some(64);
    Complex128 = "complex128", Some(128);
}

impl DataType {
    /// How many bytes `elements` of this type take, packed; `None` where a size isn't defined or
    /// doesn't fit.
    pub fn bytes(self, elements: u64) -> Option<u64> {
        elements.checked_mul(self.bits()?).map(|bits| bits.div_ceil(8))
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
