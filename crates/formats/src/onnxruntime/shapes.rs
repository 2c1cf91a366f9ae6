//! Types and shapes of a node's inputs and outputs.

use opscope_trace::{DataType, Tensor, TensorId, Trace};
use serde_json::{Map, Value};

/// Adds the tensors of a list such as `[{"float":[1,3,224,224]},{"int64":[]}]` to the trace;
/// returns the first and how many there are.
///
/// `None` when the text is no such list.
pub(super) fn add_tensors(trace: &mut Trace, json: &str) -> Option<(Option<TensorId>, u32)> {
    // The runtime leaves the list out, or writes an empty string, for a node without tensors.
    if json == "\"\"" {
        return Some((None, 0));
    }
    let list: Vec<Map<String, Value>> = serde_json::from_str(json).ok()?;
    let mut shapes = Vec::with_capacity(list.len());
    for entry in &list {
        for (type_name, dimensions) in entry {
            let dimensions: Option<Vec<i64>> = dimensions.as_array()?.iter().map(Value::as_i64).collect();
            shapes.push((data_type(type_name), dimensions?));
        }
    }
    Some(trace.tensors.push_all(shapes.into_iter().map(|(data_type, dimensions)| {
        let dimensions = Some(trace.dimensions.push(dimensions));
        Tensor { name: None, data_type, dimensions, layout: None, parameter: false }
    })))
}

/// The type of the runtime's own name for it, which follows C++.
fn data_type(name: &str) -> DataType {
    match name {
        "float" => DataType::Float32,
        "double" => DataType::Float64,
        "int4x2" => DataType::Int4,
        "uint4x2" => DataType::Uint4,
        other => DataType::from_name(other).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_dimensions_are_read() {
        let mut trace = Trace::new();
        let json = r#"[{"float":[1,3,260,260]},{"int64":[]},{"bfloat16":[0]},{"Opaque":[7]}]"#;
        let (first, count) = add_tensors(&mut trace, json).unwrap();
        assert_eq!((first, count), (Some(TensorId::from_index(0)), 4));
        let types = [DataType::Float32, DataType::Int64, DataType::BFloat16, DataType::Unknown];
        assert_eq!(trace.tensors.data_type(), types);
        let shapes: Vec<_> = trace.tensors.ids().map(|id| trace.shape(id).unwrap().to_vec()).collect();
        assert_eq!(shapes, [vec![1, 3, 260, 260], vec![], vec![0], vec![7]]);
    }

    #[test]
    fn what_is_no_list_of_shapes_adds_nothing() {
        let mut trace = Trace::new();
        assert_eq!(add_tensors(&mut trace, "\"\""), Some((None, 0)));
        for json in ["[1]", "{}", "[{\"float\":[1.5]}]", "[{\"float\":[1]},{\"float\":7}]", ""] {
            assert_eq!(add_tensors(&mut trace, json), None, "{json}");
        }
        assert!(trace.tensors.is_empty());
    }
}
