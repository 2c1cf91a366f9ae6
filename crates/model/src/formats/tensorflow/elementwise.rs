//! Operators that go element by element, whatever the order of the sizes.

use opscope_trace::DataType;

use super::super::FormatError;
use super::super::assembly::{float, int};
use super::network::{Network, Order, Ordered};
use super::node::Node;
use crate::proto::{AttributeProto, data_type_to_onnx};

/// Operators of one input, each with its like in ONNX.
const UNARY: [(&str, &str); 29] = [
    ("Abs", "Abs"),
    ("Acos", "Acos"),
    ("Asin", "Asin"),
    ("Atan", "Atan"),
    ("Ceil", "Ceil"),
    ("Cos", "Cos"),
    ("Elu", "Elu"),
    ("Erf", "Erf"),
    ("Exp", "Exp"),
    ("Floor", "Floor"),
    ("Identity", "Identity"),
    ("Snapshot", "Identity"),
    ("StopGradient", "Identity"),
    ("PreventGradient", "Identity"),
    ("CheckNumerics", "Identity"),
    ("Inv", "Reciprocal"),
    ("Reciprocal", "Reciprocal"),
    ("Log", "Log"),
    ("LogicalNot", "Not"),
    ("Neg", "Neg"),
    ("Relu", "Relu"),
    ("Rint", "Round"),
    ("Round", "Round"),
    ("Sigmoid", "Sigmoid"),
    ("Sign", "Sign"),
    ("Sin", "Sin"),
    ("Softplus", "Softplus"),
    ("Sqrt", "Sqrt"),
    ("Tanh", "Tanh"),
];

/// Operators of several inputs that are brought to one shape.
const TOGETHER: [(&str, &str); 19] = [
    ("Add", "Add"),
    ("AddV2", "Add"),
    ("AddN", "Sum"),
    ("BiasAdd", "Add"),
    ("BiasAddV1", "Add"),
    ("Sub", "Sub"),
    ("Mul", "Mul"),
    ("Div", "Div"),
    ("RealDiv", "Div"),
    ("Maximum", "Max"),
    ("Minimum", "Min"),
    ("Pow", "Pow"),
    ("Equal", "Equal"),
    ("Greater", "Greater"),
    ("GreaterEqual", "GreaterOrEqual"),
    ("Less", "Less"),
    ("LessEqual", "LessOrEqual"),
    ("LogicalAnd", "And"),
    ("LogicalOr", "Or"),
];

/// Adds the node, if it is such an operator.
pub(super) fn made(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let Some(first) = node.input(0) else { return Ok(false) };
    if let Some((_, op_type)) = UNARY.iter().find(|(op, _)| *op == node.op) {
        return unary(net, node, first, op_type, &[], vec![]);
    }
    if let Some((_, op_type)) = TOGETHER.iter().find(|(op, _)| *op == node.op) {
        return together(net, node, op_type);
    }
    let name = &node.name;
    match &*node.op {
        "LeakyRelu" => {
            let alpha = float("alpha", node.float("alpha").unwrap_or(0.2));
            unary(net, node, first, "LeakyRelu", &[], vec![alpha])
        }
        "Relu6" => {
            let limits =
                [net.number(&format!("{name}:least"), 0.0), net.number(&format!("{name}:most"), 6.0)];
            unary(net, node, first, "Clip", &limits, vec![])
        }
        "Selu" | "Softsign" => unary(net, node, first, &node.op, &[], vec![]),
        "Cast" => {
            let data_type = node.data_type("DstT");
            if data_type == DataType::Unknown {
                return Ok(false);
            }
            let to = int("to", data_type_to_onnx(data_type).into());
            unary(net, node, first, "Cast", &[], vec![to])
        }
        "Rsqrt" => {
            let value = kept(net, first)?;
            let root = format!("{name}:root");
            net.emit(&root, "Sqrt", vec![value.name], vec![root.clone()], vec![])?;
            net.emit(name, "Reciprocal", vec![root], vec![name.to_string()], vec![])?;
            net.made(name, value.order, value.rank);
            Ok(true)
        }
        "Erfc" => {
            let value = kept(net, first)?;
            let (error, one) = (format!("{name}:erf"), net.number(&format!("{name}:one"), 1.0));
            net.emit(&error, "Erf", vec![value.name], vec![error.clone()], vec![])?;
            net.emit(name, "Sub", vec![one, error], vec![name.to_string()], vec![])?;
            net.made(name, value.order, value.rank);
            Ok(true)
        }
        "Square" => {
            let value = kept(net, first)?;
            let both = vec![value.name.clone(), value.name];
            net.emit(name, "Mul", both, vec![name.to_string()], vec![])?;
            net.made(name, value.order, value.rank);
            Ok(true)
        }
        "SquaredDifference" => {
            let (inputs, order, rank) = aligned(net, node)?;
            let difference = format!("{name}:difference");
            net.emit(&difference, "Sub", inputs, vec![difference.clone()], vec![])?;
            net.emit(name, "Mul", vec![difference.clone(), difference], vec![name.to_string()], vec![])?;
            net.made(name, order, rank);
            Ok(true)
        }
        "NotEqual" => {
            let (inputs, order, rank) = aligned(net, node)?;
            let equal = format!("{name}:equal");
            net.emit(&equal, "Equal", inputs, vec![equal.clone()], vec![])?;
            net.emit(name, "Not", vec![equal], vec![name.to_string()], vec![])?;
            net.made(name, order, rank);
            Ok(true)
        }
        "SelectV2" => together(net, node, "Where"),
        _ => Ok(false),
    }
}

/// The value in the order that it has, or that of images if it can go with them.
fn kept(net: &mut Network, name: &str) -> Result<Ordered, FormatError> {
    match net.is_of_channels(name) {
        true => {
            let other = net.beside_image(name)?.unwrap_or_default();
            Ok(Ordered { name: other, order: Order::ChannelsFirst, rank: Some(4) })
        }
        false => net.ordered(name),
    }
}

fn unary(
    net: &mut Network,
    node: &Node<'_>,
    input: &str,
    op_type: &str,
    more: &[String],
    attributes: Vec<AttributeProto>,
) -> Result<bool, FormatError> {
    let input = kept(net, input)?;
    let mut inputs = vec![input.name];
    inputs.extend_from_slice(more);
    net.emit(&node.name, op_type, inputs, vec![node.name.to_string()], attributes)?;
    net.made(&node.name, input.order, input.rank);
    Ok(true)
}

fn together(net: &mut Network, node: &Node<'_>, op_type: &str) -> Result<bool, FormatError> {
    let is_first = node.text("data_format").is_some_and(|format| format == "NCHW");
    let (inputs, order, rank) = match (node.input(0), node.input(1)) {
        // The file itself has the channels behind the batch, and the bias is for them.
        (Some(image), Some(bias)) if is_first && net.rank(bias) == Some(1) => {
            let image = net.plain(image)?;
            let Some(bias) = net.beside_image(bias)? else { return Ok(false) };
            (vec![image, bias], Order::Plain, Some(4))
        }
        _ => aligned(net, node)?,
    };
    net.emit(&node.name, op_type, inputs, vec![node.name.to_string()], vec![])?;
    net.made(&node.name, order, rank);
    Ok(true)
}

/// The inputs of a node in one order, that order, and the number of sizes of what comes of them.
fn aligned(net: &mut Network, node: &Node<'_>) -> Result<(Vec<String>, Order, Option<usize>), FormatError> {
    let is_image = |input: &str| net.is_channels_first(input) || net.is_of_channels(input);
    let has_image = node.inputs.iter().any(|input| is_image(input));
    let fits = |input: &str| net.is_channels_first(input) || matches!(net.rank(input), Some(0 | 1 | 4));
    if has_image && node.inputs.iter().all(|input| fits(input)) {
        let mut inputs = Vec::new();
        for input in &node.inputs {
            inputs.push(net.beside_image(input)?.unwrap_or_default());
        }
        return Ok((inputs, Order::ChannelsFirst, Some(4)));
    }
    let ranks: Option<Vec<usize>> = node.inputs.iter().map(|input| net.rank(input)).collect();
    let rank = ranks.and_then(|ranks| ranks.into_iter().max());
    let inputs: Result<Vec<String>, _> = node.inputs.iter().map(|input| net.plain(input)).collect();
    Ok((inputs?, Order::Plain, rank))
}
