//! The words for element types.

use opscope_trace::DataType;

/// The element type of a word: those of ports (`FP32`, `BOOL`) and those of the data of layers (`f32`, `boolean`).
/// Unknown for types that have no place in a trace, such as `NF4` and `u1`.
pub fn data_type(word: &str) -> DataType {
    match word.to_ascii_lowercase().as_str() {
        "fp64" | "f64" => DataType::Float64,
        "fp32" | "f32" => DataType::Float32,
        "fp16" | "f16" => DataType::Float16,
        "bf16" => DataType::BFloat16,
        "f8e4m3" => DataType::Float8E4M3Fn,
        "f8e5m2" => DataType::Float8E5M2,
        "f8e8m0" => DataType::Float8E8M0,
        "f4e2m1" => DataType::Float4E2M1,
        "i64" => DataType::Int64,
        "i32" => DataType::Int32,
        "i16" => DataType::Int16,
        "i8" => DataType::Int8,
        "i4" => DataType::Int4,
        "u64" => DataType::Uint64,
        "u32" => DataType::Uint32,
        "u16" => DataType::Uint16,
        "u8" => DataType::Uint8,
        "u4" => DataType::Uint4,
        "u2" => DataType::Uint2,
        "boolean" | "bool" => DataType::Bool,
        "string" => DataType::String,
        _ => DataType::Unknown,
    }
}
