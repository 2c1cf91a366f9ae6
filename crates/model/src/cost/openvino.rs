//! How many operations OpenVINO's own layers take, by the formulas of their like in ONNX.

use super::costed::Costed;
use super::flops::{interpolated, product, sum};

/// Layers that have no operator of ONNX, or parameters that ONNX's doesn't have.
pub(super) fn of(node: &Costed) -> Option<u64> {
    let each = |count| product(&[Some(count), node.output(0)]);
    let attributes = node.node.attributes;
    match node.node.op_type {
        "Clamp" | "Divide" | "FloorMod" | "HardSigmoid" | "NotEqual" | "PReLU" | "Round" | "Selu"
        | "Swish" => each(1),
        "SquaredDifference" => each(2),
        // To a number of levels, and back.
        "FakeQuantize" | "FakeConvert" => each(4),
        // Mean, deviation, variance and quotient, or the first two.
        "MVN" => match attributes.string("normalize_variance") {
            Some("true" | "True") => each(5),
            Some(_) => each(2),
            None => each(if attributes.int("normalize_variance") == Some(0) { 2 } else { 5 }),
        },
        "RMS" => each(4),
        "NormalizeL2" => each(3),
        "MaxPool" | "AvgPool" => {
            // One size of a window is a number, and no list.
            let window = match (attributes.ints("kernel"), attributes.int("kernel")) {
                (Some(sizes), _) => sizes.to_vec(),
                (None, size) => vec![size?],
            };
            let window: Vec<_> = window.iter().map(|&size| u64::try_from(size).ok()).collect();
            product(&[product(&window), node.output(0)])
        }
        "AdaptiveAvgPool" | "AdaptiveMaxPool" | "ReduceLogicalAnd" | "ReduceLogicalOr" | "ReduceMax"
        | "ReduceMean" | "ReduceMin" | "ReduceProd" | "ReduceSum" | "TopK" => node.input(0),
        "Interpolate" => {
            let output = &node.shapes.get(node.node.output(0)?)?.dims;
            let changed = node.dims(0)?.iter().zip(output).filter(|(before, after)| before != after);
            let mode = attributes.string("mode")?;
            interpolated(node, changed.count(), mode.strip_suffix("_pillow").unwrap_or(mode))
        }
        "LSTMSequence" | "LSTMCell" => recurrent(node, 4, 9),
        "GRUSequence" | "GRUCell" => recurrent(node, 3, 8),
        "RNNSequence" | "RNNCell" => recurrent(node, 1, 1),
        "BatchToSpace"
        | "Broadcast"
        | "Convert"
        | "DepthToSpace"
        | "ExtractImagePatches"
        | "Gather"
        | "GatherElements"
        | "GatherND"
        | "OneHot"
        | "Pad"
        | "Parameter"
        | "ReadValue"
        | "Assign"
        | "ReorgYolo"
        | "Reverse"
        | "ReverseSequence"
        | "Roll"
        | "ScatterElementsUpdate"
        | "ScatterNDUpdate"
        | "ScatterUpdate"
        | "ShuffleChannels"
        | "Slice"
        | "SpaceToBatch"
        | "SpaceToDepth"
        | "Split"
        | "StridedSlice"
        | "Tile"
        | "Transpose"
        | "VariadicSplit" => Some(0),
        _ => None,
    }
}

/// Recurrent layers, of one step or of as many as the second size of their input, with one bias for each gate.
fn recurrent(node: &Costed, gates: u64, elementwise: u64) -> Option<u64> {
    let hidden = u64::try_from(node.node.attributes.int("hidden_size")?).ok();
    let (runs, inputs) = match *node.dims(0)? {
        [batch, inputs] => (batch, inputs),
        [batch, steps, inputs] => {
            let is_both = node.node.attributes.string("direction") == Some("bidirectional");
            (product(&[batch, steps, Some(if is_both { 2 } else { 1 })]), inputs)
        }
        _ => return None,
    };
    let matrices = product(&[Some(2), Some(gates), hidden, sum(&[inputs, hidden])]);
    product(&[runs, sum(&[matrices, product(&[Some(gates + elementwise), hidden])])])
}

#[cfg(test)]
mod tests {
    use crate::testing::Case;

    fn case(op_type: &str, output: &[i64], input: &[i64]) -> Case {
        Case::new(&format!("openvino:{op_type}")).output(output).input(input)
    }

    #[test]
    fn layers_of_openvino_count_as_their_like() {
        let plain = |op_type: &str| case(op_type, &[4, 6], &[4, 6]);
        assert_eq!(plain("FakeQuantize").flops(), Some(4 * 24));
        assert_eq!(plain("MVN").string("normalize_variance", "true").flops(), Some(5 * 24));
        assert_eq!(plain("MVN").int("normalize_variance", 0).flops(), Some(2 * 24));
        assert_eq!(
            case("AvgPool", &[1, 2, 3, 3], &[1, 2, 6, 6]).ints("kernel", &[2, 2]).flops(),
            Some(4 * 18)
        );
        let resized = case("Interpolate", &[1, 3, 8, 8], &[1, 3, 4, 4]).string("mode", "linear");
        assert_eq!(resized.flops(), Some(2 * 4 * 192));
        assert_eq!(plain("DetectionOutput").flops(), None);
    }

    #[test]
    fn recurrent_layers_of_openvino_have_one_bias_for_each_gate() {
        let cell = case("LSTMCell", &[3, 20], &[3, 10]).int("hidden_size", 20);
        assert_eq!(cell.flops(), Some(3 * (2 * 80 * 30 + 80 + 9 * 20)));
        let sequence = case("GRUSequence", &[3, 2, 7, 20], &[3, 7, 10]).int("hidden_size", 20);
        let both = sequence.string("direction", "bidirectional");
        assert_eq!(both.flops(), Some(3 * 7 * 2 * (2 * 60 * 30 + 60 + 8 * 20)));
    }
}
