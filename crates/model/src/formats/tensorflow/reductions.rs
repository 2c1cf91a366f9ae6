//! Operators that go along axes: sums and the like, softmax, places of the largest.

use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::int;
use super::layout::plain;
use super::network::{Network, Order};
use super::node::Node;

/// Reductions, each with its like in ONNX.
const REDUCTIONS: [(&str, &str); 6] = [
    ("Mean", "ReduceMean"),
    ("Sum", "ReduceSum"),
    ("Max", "ReduceMax"),
    ("Min", "ReduceMin"),
    ("Prod", "ReduceProd"),
    ("EuclideanNorm", "ReduceL2"),
];

/// Adds the node, if it is such an operator.
pub(super) fn made(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let Some(first) = node.input(0) else { return Ok(false) };
    if let Some((_, op_type)) = REDUCTIONS.iter().find(|(op, _)| *op == node.op) {
        return node.input(1).map_or(Ok(false), |axes| reduction(net, node, first, axes, op_type));
    }
    match &*node.op {
        "Softmax" | "LogSoftmax" => {
            let value = net.ordered(first)?;
            let Some(axis) = value.axis(-1) else { return Ok(false) };
            let output = vec![node.name.to_string()];
            net.emit(&node.name, &node.op, vec![value.name.clone()], output, vec![int("axis", axis)])?;
            net.made(&node.name, value.order, value.rank);
            Ok(true)
        }
        "ArgMax" | "ArgMin" => {
            let Some(axis) = node.input(1).and_then(|axis| net.int(axis)) else { return Ok(false) };
            let rank = net.rank(first).map(|rank| rank.saturating_sub(1));
            let inputs = vec![net.plain(first)?];
            let attributes = vec![int("axis", axis), int("keepdims", 0)];
            let output = vec![node.name.to_string()];
            let places = node.integer_type("output_type", DataType::Int64);
            net.emit_integers(&node.name, &node.op, inputs, output, attributes, places)?;
            net.made(&node.name, Order::Plain, rank);
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn reduction(
    net: &mut Network,
    node: &Node<'_>,
    first: &str,
    axes: &str,
    op_type: &str,
) -> Result<bool, FormatError> {
    let keeps_axes = node.is("keep_dims");
    let mut attributes = vec![int("keepdims", i64::from(keeps_axes))];
    let Some(axes) = net.ints(Some(axes)) else {
        let rank = net.rank(first).filter(|_| keeps_axes);
        let inputs = vec![net.plain(first)?, net.plain(axes)?];
        return plain(net, node, op_type, inputs, attributes, rank);
    };
    let mut value = net.ordered(first)?;
    if value.order == Order::ChannelsFirst && !keeps_axes && !value.are_spatial(&axes) {
        value = net.ordered_plain(first)?;
    }
    if axes.is_empty() {
        attributes.push(int("noop_with_empty_axes", 1));
    }
    let Some(moved) = value.axes(&axes) else { return Ok(false) };
    let inputs = vec![value.name.clone(), net.list(&format!("{}:axes", node.name), &moved)];
    net.emit(&node.name, op_type, inputs, vec![node.name.to_string()], attributes)?;
    let (order, rank) = match keeps_axes || axes.is_empty() {
        true => (value.order, value.rank),
        false => (Order::Plain, value.rank.map(|rank| rank.saturating_sub(axes.len()))),
    };
    net.made(&node.name, order, rank);
    Ok(true)
}
