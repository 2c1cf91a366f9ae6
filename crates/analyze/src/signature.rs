//! The signature of an operator in words: its shapes, its type of elements, the bytes that it moves.

use opscope_trace::{DataType, Operator, TensorId, Trace};

/// Bytes read and written in one execution.
pub fn bytes_moved(operator: &Operator) -> Option<u64> {
    operator.bytes_read?.checked_add(operator.bytes_written?)
}

/// Shapes of inputs (without parameters) and outputs: `1x3x224x224 → 1x64x112x112`.
pub fn shapes(trace: &Trace, operator: &Operator) -> String {
    let list = |tensors: &mut dyn Iterator<Item = TensorId>| {
        let shapes: Vec<String> = tensors.map(|tensor| shape(trace, tensor)).collect();
        shapes.join(" ")
    };
    let inputs = list(&mut operator.inputs().filter(|tensor| !trace.tensors.parameter()[tensor.index()]));
    let outputs = list(&mut operator.outputs());
    match (inputs.is_empty(), outputs.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("→ {outputs}"),
        (false, true) => inputs,
        (false, false) => format!("{inputs} → {outputs}"),
    }
}

/// The shape of a tensor: `1x3x224x224`, `scalar`, or `?` for what isn't known.
pub fn shape(trace: &Trace, tensor: TensorId) -> String {
    match trace.shape(tensor) {
        None => "?".to_owned(),
        Some([]) => "scalar".to_owned(),
        Some(sizes) => {
            let sizes = sizes.iter().map(|&size| if size < 0 { "?".to_owned() } else { size.to_string() });
            sizes.collect::<Vec<_>>().join("x")
        }
    }
}

/// The element type of the first output, or else of the first input.
pub fn data_type(trace: &Trace, operator: &Operator) -> Option<DataType> {
    let tensor = operator.outputs().chain(operator.inputs()).next()?;
    Some(trace.tensors.data_type()[tensor.index()]).filter(|&data_type| data_type != DataType::Unknown)
}
