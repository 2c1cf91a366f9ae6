//! The operator that each node becomes: one of ONNX's where the meaning is the same, its own type elsewhere.

use std::borrow::Cow;

use bytes::Bytes;

use super::super::FormatError;
use super::super::assembly::{int, string};
use super::network::{Network, Order};
use super::node::Node;
use super::{elementwise, images, layout, parts, reductions};
use crate::proto::NodeProto;

/// The domain of ONNX Runtime's operators, one of which multiplies transposed matrices.
pub(super) const MICROSOFT: &str = "com.microsoft";

/// Adds a node, of which the given number of outputs is read.
pub(super) fn node(
    net: &mut Network,
    node: &Node<'_>,
    outputs: usize,
    file: &Bytes,
) -> Result<(), FormatError> {
    match &*node.op {
        "Const" => return net.constant(node, file),
        "Placeholder" | "PlaceholderV2" | "PlaceholderWithDefault" => {
            net.input(node);
            return Ok(());
        }
        "NoOp" => return Ok(()),
        "Reshape" if outputs > 0 && reshaped_constant(net, node) => return Ok(()),
        "IdentityN" => return identities(net, node),
        "Identity" | "StopGradient" | "Snapshot" | "PreventGradient"
            if node.input(0).is_some_and(|input| net.known(input).is_some()) =>
        {
            return renamed_constant(net, node, outputs);
        }
        _ => {}
    }
    // Operators of ONNX have one output each here, but for those that say otherwise.
    let made = elementwise::made(net, node)?
        || images::made(net, node)?
        || layout::made(net, node)?
        || parts::made(net, node)?
        || reductions::made(net, node)?
        || matrix(net, node)?
        || einsum(net, node)?;
    if !made { own(net, node, outputs) } else { Ok(()) }
}

impl Node<'_> {
    pub fn input(&self, place: usize) -> Option<&str> {
        self.inputs.get(place).map(|input| &**input)
    }
}

/// A constant under another name is a constant; one that nothing reads is an output of the model, and an operator.
fn renamed_constant(net: &mut Network, node: &Node<'_>, outputs: usize) -> Result<(), FormatError> {
    if outputs == 0 {
        return identities(net, node);
    }
    if let Some(of) = node.input(0) {
        net.rename_constant(&node.name, of);
    }
    Ok(())
}

/// A constant in other sizes is a constant.
fn reshaped_constant(net: &mut Network, node: &Node<'_>) -> bool {
    let (Some(of), Some(sizes)) = (node.input(0), net.ints(node.input(1))) else { return false };
    net.reshape_constant(&node.name, of, &sizes)
}

/// Each input as an output.
fn identities(net: &mut Network, node: &Node<'_>) -> Result<(), FormatError> {
    for (place, input) in node.inputs.iter().enumerate() {
        let output = value(&node.name, place);
        let input = net.ordered(input)?;
        net.emit(&output, "Identity", vec![input.name], vec![output.clone()], vec![])?;
        net.made(&output, input.order, input.rank);
    }
    Ok(())
}

/// Products of matrices, either of which may be transposed.
fn matrix(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let [Some(left), Some(right)] = [node.input(0), node.input(1)] else { return Ok(false) };
    let is_plain = node.op == "MatMul";
    let names = match &*node.op {
        "MatMul" => ["transpose_a", "transpose_b"],
        "BatchMatMul" | "BatchMatMulV2" | "BatchMatMulV3" => ["adj_x", "adj_y"],
        _ => return Ok(false),
    };
    let is_turned = names.map(|name| node.is(name));
    let rank = if is_plain { Some(2) } else { net.rank(left).max(net.rank(right)) };
    let inputs = vec![net.plain(left)?, net.plain(right)?];
    let output = vec![node.name.to_string()];
    if is_turned == [false; 2] {
        net.emit(&node.name, "MatMul", inputs, output, vec![])?;
    } else {
        let attributes = ["transA", "transB"].iter().zip(is_turned);
        let attribute = attributes.map(|(name, is)| int(name, i64::from(is))).collect();
        net.emit_in(
            MICROSOFT,
            NodeProto {
                name: Some(node.name.to_string()),
                op_type: Some("FusedMatMul".to_owned()),
                input: inputs,
                output,
                attribute,
                ..Default::default()
            },
        )?;
    }
    net.made(&node.name, Order::Plain, rank);
    Ok(true)
}

/// Sums of products as an equation says.
fn einsum(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let Some(equation) = node.text("equation").filter(|_| node.op == "Einsum") else { return Ok(false) };
    let inputs: Result<Vec<String>, _> = node.inputs.iter().map(|input| net.plain(input)).collect();
    // An ellipsis stands for axes that aren't written.
    let output = equation.rsplit_once("->").map(|(_, output)| output.trim());
    let rank = output.filter(|output| !output.contains('.')).map(|output| output.chars().count());
    layout::plain(net, node, "Einsum", inputs?, vec![string("equation", &equation)], rank)
}

/// An operator that ONNX has no like of.
fn own(net: &mut Network, node: &Node<'_>, outputs: usize) -> Result<(), FormatError> {
    let inputs: Result<Vec<String>, _> = node.inputs.iter().map(|input| net.plain(input)).collect();
    net.kept.add(|| format!("{} ({})", node.name, node.op));
    // A file of another kind may state no type; then the node has that name.
    let op_type = if node.op.is_empty() { Cow::Borrowed("?") } else { node.op.clone() };
    net.emit_in(
        super::DOMAIN,
        NodeProto {
            name: Some(node.name.to_string()),
            op_type: Some(op_type.into_owned()),
            input: inputs?,
            output: (0..outputs.max(1)).map(|output| value(&node.name, output)).collect(),
            attribute: node.shown(),
            ..Default::default()
        },
    )
}

/// The name of a node's output.
pub(super) fn value(node: &str, output: usize) -> String {
    if output == 0 { node.to_owned() } else { format!("{node}:{output}") }
}
