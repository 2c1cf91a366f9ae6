//! Kinds of operators, of tract and of ONNX, by their names.

use opscope_model::{Graph, NodeId};

use crate::engine::EngineNode;

/// Whether an engine node computes more than the model's nodes that it was named after.
pub(super) fn does_the_work_of_several(
    engine_node: &EngineNode,
    anchors: &[NodeId],
    graph: Graph<'_>,
) -> bool {
    const COMPOSITE: [&str; 3] = ["LayerNorm", "RmsNorm", "Sdpa"];
    let op_type = engine_node.op_type.as_str();
    let contraction_elsewhere = is_engine_contraction(op_type)
        && !anchors.iter().any(|&node| is_contraction(graph.node(node).op_type));
    contraction_elsewhere || COMPOSITE.iter().any(|composite| op_type.starts_with(composite))
}

/// The operations that tract runs as one, such as `Add` and `Max`; `None` for any other operator.
pub(super) fn chain_parts(op_type: &str) -> Option<Vec<&str>> {
    Some(op_type.strip_prefix("OptBinChain(")?.strip_suffix(')')?.split('+').map(str::trim).collect())
}

/// Takes what a model's operator becomes out of a chain's operations, if that is there.
pub(super) fn take_parts(op_type: &str, left: &mut Vec<&str>) -> bool {
    let forms: &[&[&str]] = match op_type {
        "Relu" => &[&["Max"]],
        "Clip" => &[&["Max", "Min"], &["Max"], &["Min"]],
        "Sub" => &[&["Sub"], &["Add"]],
        "Div" => &[&["Div"], &["Mul"]],
        "BatchNormalization" => &[&["Mul", "Add"]],
        "Add" => &[&["Add"]],
        "Mul" => &[&["Mul"]],
        "Max" => &[&["Max"]],
        "Min" => &[&["Min"]],
        _ => &[],
    };
    for form in forms {
        let places: Option<Vec<usize>> =
            form.iter().map(|part| left.iter().position(|known| known == part)).collect();
        if let Some(mut places) = places {
            places.sort_unstable();
            places.into_iter().rev().for_each(|place| {
                left.remove(place);
            });
            return true;
        }
    }
    false
}

/// Whether an operator, ONNX's or tract's, is an activation that models also spell out.
pub(super) fn is_activation(op_type: &str) -> bool {
    ["Gelu", "Silu", "Swish", "HardSwish"].iter().any(|activation| op_type.starts_with(activation))
}

/// Whether an ONNX operator multiplies matrices, or does what amounts to it.
pub(super) fn is_contraction(op_type: &str) -> bool {
    const CONTRACTIONS: [&str; 9] = [
        "Conv",
        "ConvTranspose",
        "Gemm",
        "MatMul",
        "Einsum",
        "ConvInteger",
        "MatMulInteger",
        "QLinearConv",
        "QLinearMatMul",
    ];
    CONTRACTIONS.contains(&op_type)
}

/// The same for an operator of tract.
pub(super) fn is_engine_contraction(op_type: &str) -> bool {
    const CONTRACTIONS: [&str; 8] =
        ["OptMatMul", "MatMul", "Conv", "DepthWiseConv", "EinSum", "Deconv", "OptMatVec", "QSumB"];
    CONTRACTIONS.contains(&op_type)
}

/// Whether an ONNX operator only moves data, or makes constants, so that an engine may drop it.
pub(super) fn moves_data(op_type: &str) -> bool {
    const MOVES: [&str; 18] = [
        "Reshape",
        "Transpose",
        "Flatten",
        "Squeeze",
        "Unsqueeze",
        "Identity",
        "Dropout",
        "Cast",
        "Constant",
        "ConstantOfShape",
        "Shape",
        "Gather",
        "Slice",
        "Concat",
        "Expand",
        "Range",
        "Size",
        "Pad",
    ];
    MOVES.contains(&op_type)
}
