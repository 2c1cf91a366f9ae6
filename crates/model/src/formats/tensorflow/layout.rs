//! Operators that give a value other sizes, or its elements another order.

use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::{ints, string};
use super::network::{Network, Order};
use super::node::Node;
use crate::proto::AttributeProto;

/// Adds the node, if it is such an operator.
pub(super) fn made(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let Some(first) = node.input(0) else { return Ok(false) };
    let second = node.input(1);
    match (&*node.op, second) {
        ("Reshape", Some(sizes)) => {
            let rank = net.ints(Some(sizes)).map(|sizes| sizes.len());
            // A size of 0 is one of nothing, which ONNX would take from the input.
            with_list(net, node, "Reshape", [first, sizes], vec![int_allow_zero()], rank)
        }
        ("Tile", Some(repeats)) => {
            let rank = net.rank(first);
            with_list(net, node, "Tile", [first, repeats], vec![], rank)
        }
        ("Fill", Some(value)) => {
            let rank = net.ints(Some(first)).map(|sizes| sizes.len());
            with_list(net, node, "Expand", [value, first], vec![], rank)
        }
        ("BroadcastTo", Some(sizes)) => {
            let rank = net.ints(Some(sizes)).map(|sizes| sizes.len());
            with_list(net, node, "Expand", [first, sizes], vec![], rank)
        }
        ("Transpose", Some(places)) => transpose(net, node, first, places),
        ("Squeeze", _) => squeeze(net, node, first),
        ("ExpandDims", Some(axis)) => expand(net, node, first, axis),
        ("Pad" | "PadV2" | "MirrorPad", Some(widths)) => pad(net, node, first, widths),
        ("Shape", _) => shape(net, node, first),
        ("Range", Some(second)) => {
            let Some(third) = node.input(2) else { return Ok(false) };
            let inputs = [net.plain(first)?, net.plain(second)?, net.plain(third)?];
            plain(net, node, "Range", inputs.into(), vec![], Some(1))
        }
        _ => Ok(false),
    }
}

fn int_allow_zero() -> AttributeProto {
    super::super::assembly::int("allowzero", 1)
}

/// Adds an operator whose output is in the order of the file.
pub(super) fn plain(
    net: &mut Network,
    node: &Node<'_>,
    op_type: &str,
    inputs: Vec<String>,
    attributes: Vec<AttributeProto>,
    rank: Option<usize>,
) -> Result<bool, FormatError> {
    net.emit(&node.name, op_type, inputs, vec![node.name.to_string()], attributes)?;
    net.made(&node.name, Order::Plain, rank);
    Ok(true)
}

/// An operator of a value and a list of sizes, which ONNX wants as 64-bit integers.
fn with_list(
    net: &mut Network,
    node: &Node<'_>,
    op_type: &str,
    [value, list]: [&str; 2],
    attributes: Vec<AttributeProto>,
    rank: Option<usize>,
) -> Result<bool, FormatError> {
    let inputs = vec![net.plain(value)?, net.wide_list(list)?];
    plain(net, node, op_type, inputs, attributes, rank)
}

fn transpose(net: &mut Network, node: &Node<'_>, first: &str, places: &str) -> Result<bool, FormatError> {
    let Some(places) = net.ints(Some(places)) else { return Ok(false) };
    let rank = Some(places.len());
    let inputs = vec![net.plain(first)?];
    plain(net, node, "Transpose", inputs, vec![ints("perm", places)], rank)
}

fn squeeze(net: &mut Network, node: &Node<'_>, first: &str) -> Result<bool, FormatError> {
    let mut axes = node.ints("squeeze_dims");
    axes.extend(node.ints("axis"));
    let mut value = net.ordered(first)?;
    // Height and width gone, batch and channels are in the same order in both.
    if value.order == Order::ChannelsFirst && !value.are_spatial(&axes) {
        value = net.ordered_plain(first)?;
    }
    let rank = value.rank.filter(|_| !axes.is_empty()).map(|rank| rank.saturating_sub(axes.len()));
    let mut inputs = vec![value.name.clone()];
    if !axes.is_empty() {
        let Some(axes) = value.axes(&axes) else { return Ok(false) };
        inputs.push(net.list(&format!("{}:axes", node.name), &axes));
    }
    plain(net, node, "Squeeze", inputs, vec![], rank)
}

fn expand(net: &mut Network, node: &Node<'_>, first: &str, axis: &str) -> Result<bool, FormatError> {
    let Some(axis) = net.ints(Some(axis)).filter(|axis| axis.len() == 1) else { return Ok(false) };
    let rank = net.rank(first).map(|rank| rank + 1);
    let inputs = vec![net.plain(first)?, net.list(&format!("{}:axes", node.name), &axis)];
    plain(net, node, "Unsqueeze", inputs, vec![], rank)
}

fn pad(net: &mut Network, node: &Node<'_>, first: &str, widths: &str) -> Result<bool, FormatError> {
    let Some(widths) = net.ints(Some(widths)) else { return Ok(false) };
    let mode = match (&*node.op, node.text("mode").as_deref()) {
        ("MirrorPad", Some("REFLECT")) => "reflect",
        // The edge itself is mirrored too, which ONNX can't say.
        ("MirrorPad", _) => return Ok(false),
        _ => "constant",
    };
    let value = net.ordered(first)?;
    // Before and behind each axis of the file.
    let mut sides: Vec<[i64; 2]> = widths.as_chunks::<2>().0.to_vec();
    if value.order == Order::ChannelsFirst {
        let [batch, height, width, channels] = sides[..] else { return Ok(false) };
        sides = vec![batch, channels, height, width];
    }
    let pads: Vec<i64> = [0, 1].into_iter().flat_map(|end| sides.iter().map(move |side| side[end])).collect();
    let mut inputs = vec![value.name.clone(), net.list(&format!("{}:pads", node.name), &pads)];
    if let ("PadV2", Some(filling)) = (&*node.op, node.input(2)) {
        inputs.push(net.plain(filling)?);
    }
    net.emit(&node.name, "Pad", inputs, vec![node.name.to_string()], vec![string("mode", mode)])?;
    net.made(&node.name, value.order, Some(sides.len()));
    if let (Some([0, 0]), Some(channels)) = (sides.get(1), net.channels.of(&value.name)) {
        net.channels.note(&node.name, channels);
    }
    Ok(true)
}

/// The sizes of a value in the order of the file.
fn shape(net: &mut Network, node: &Node<'_>, first: &str) -> Result<bool, FormatError> {
    let (op_type, inputs) = if net.is_channels_first(first) {
        let sizes = format!("{}:nchw", node.name);
        net.emit(&sizes, "Shape", vec![first.to_owned()], vec![sizes.clone()], vec![])?;
        let places = net.list(&format!("{}:places", node.name), &[0, 2, 3, 1]);
        ("Gather", vec![sizes, places])
    } else {
        ("Shape", vec![net.plain(first)?])
    };
    let data_type = node.integer_type("out_type", DataType::Int32);
    net.emit_integers(&node.name, op_type, inputs, vec![node.name.to_string()], vec![], data_type)?;
    net.made(&node.name, Order::Plain, Some(1));
    Ok(true)
}
