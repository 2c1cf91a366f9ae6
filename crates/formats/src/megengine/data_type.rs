//! Element types by the names of MegEngine's classes, and how many elements there are.

use opscope_trace::DataType;

/// The type of a class such as `Float32`; quantised classes count as the integers that they store.
pub fn data_type(class: &str) -> DataType {
    match class {
        "Byte" | "Quantized8Asymm" => DataType::Uint8,
        "QuantizedS8" => DataType::Int8,
        "QuantizedS16" => DataType::Int16,
        "QuantizedS32" => DataType::Int32,
        "QuantizedS4" | "IntB4" => DataType::Int4,
        "Quantized4Asymm" | "UintB4" => DataType::Uint4,
        "IntB2" => DataType::Int2,
        other => DataType::from_name(other).unwrap_or_default(),
    }
}

/// The class of a type; types that MegEngine lacks are named in its manner.
pub fn class_name(data_type: DataType) -> String {
    if data_type == DataType::BFloat16 {
        return "BFloat16".to_owned();
    }
    let mut letters = data_type.name().chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// How many elements a tensor has, if all its dimensions are known.
pub fn elements(dimensions: &[i64]) -> Option<u64> {
    dimensions.iter().try_fold(1_u64, |product, size| product.checked_mul(u64::try_from(*size).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back_from_its_class() {
        for known in DataType::ALL {
            assert_eq!(data_type(&class_name(known)), known);
        }
        assert_eq!(class_name(DataType::Float32), "Float32");
        assert_eq!(class_name(DataType::Uint8), "Uint8");
        assert_eq!(data_type("QuantizedS8"), DataType::Int8);
        assert_eq!(data_type("Nothing"), DataType::Unknown);
    }
}
