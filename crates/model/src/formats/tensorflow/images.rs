//! Operators of images: convolutions, pooling, normalisation, resizing.

use super::super::FormatError;
use super::super::assembly::{float, int, ints, string};
use super::network::{Network, Order};
use super::node::Node;
use crate::proto::AttributeProto;

/// An image as ONNX's operators take it, and the order of what they make of it.
struct Image {
    value: String,
    /// Whether the file has the channels behind the batch.
    is_first: bool,
}

impl Image {
    fn of(net: &mut Network, node: &Node<'_>, name: &str) -> Result<Option<Self>, FormatError> {
        Ok(match node.text("data_format").as_deref().unwrap_or("NHWC") {
            "NHWC" => Some(Self { value: net.image(name)?, is_first: false }),
            "NCHW" => Some(Self { value: net.image_of_file(name)?, is_first: true }),
            _ => None,
        })
    }

    fn order(&self) -> Order {
        if self.is_first { Order::Plain } else { Order::ChannelsFirst }
    }

    /// Height and width of a list for all four sizes.
    fn spatial(&self, list: &[i64]) -> Option<[i64; 2]> {
        match *list {
            [_, _, height, width] if self.is_first => Some([height, width]),
            [_, height, width, _] => Some([height, width]),
            _ => None,
        }
    }
}

/// Adds the node, if it is such an operator.
pub(super) fn made(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let Some(first) = node.input(0) else { return Ok(false) };
    match &*node.op {
        "Conv2D" => convolution(net, node, first, false),
        "DepthwiseConv2dNative" => convolution(net, node, first, true),
        "Conv2DBackpropInput" => transposed_convolution(net, node),
        "MaxPool" | "AvgPool" => pooling(net, node, first),
        "FusedBatchNorm" | "FusedBatchNormV2" | "FusedBatchNormV3" => normalization(net, node, first),
        "LRN" => local_response(net, node, first),
        "ResizeBilinear" | "ResizeNearestNeighbor" | "ResizeBicubic" => resize(net, node, first),
        "DepthToSpace" | "SpaceToDepth" => {
            let Some(image) = Image::of(net, node, first)? else { return Ok(false) };
            let attributes = vec![int("blocksize", node.int("block_size").unwrap_or(0))];
            add(net, node, &node.op.clone(), &image, vec![image.value.clone()], attributes)
        }
        _ => Ok(false),
    }
}

fn add(
    net: &mut Network,
    node: &Node<'_>,
    op_type: &str,
    image: &Image,
    inputs: Vec<String>,
    attributes: Vec<AttributeProto>,
) -> Result<bool, FormatError> {
    net.emit(&node.name, op_type, inputs, vec![node.name.to_string()], attributes)?;
    net.made(&node.name, image.order(), Some(4));
    Ok(true)
}

/// Steps and padding of a window.
fn window(node: &Node<'_>, image: &Image) -> Option<Vec<AttributeProto>> {
    let strides = image.spatial(&node.ints("strides"))?;
    let mut attributes = vec![ints("strides", strides)];
    match node.text("padding").as_deref()? {
        "SAME" => attributes.push(string("auto_pad", "SAME_UPPER")),
        "VALID" => attributes.push(string("auto_pad", "VALID")),
        "EXPLICIT" => {
            // Before and behind each of the four sizes.
            let pads = node.ints("explicit_paddings");
            let at =
                |side: usize| image.spatial(&pads.iter().skip(side).step_by(2).copied().collect::<Vec<_>>());
            let [before, behind] = [at(0)?, at(1)?];
            attributes.push(ints("pads", [before, behind].concat()));
        }
        _ => return None,
    }
    Some(attributes)
}

fn convolution(
    net: &mut Network,
    node: &Node<'_>,
    first: &str,
    is_depthwise: bool,
) -> Result<bool, FormatError> {
    let Some(filter) = node.input(1) else { return Ok(false) };
    // The groups of a depthwise convolution are the filter's channels.
    if is_depthwise && net.known(filter).is_none() {
        return Ok(false);
    }
    let Some(image) = Image::of(net, node, first)? else { return Ok(false) };
    let Some(mut attributes) = window(node, &image) else { return Ok(false) };
    if let Some(dilations) = image.spatial(&node.ints("dilations")) {
        attributes.push(ints("dilations", dilations));
    }
    let depthwise = net.known(filter).and_then(|constant| constant.dims.get(2).copied());
    // Height, width, channels in, channels out.
    let (filter, dims) = net.filter(filter, [3, 2, 0, 1], is_depthwise)?;
    let groups = match is_depthwise {
        true => Some(depthwise.unwrap_or(1)),
        false => dims.and_then(|dims| groups(net, &image, dims)),
    };
    attributes.extend(groups.map(|groups| int("group", groups)));
    if let Some([_, _, height, width]) = dims {
        attributes.push(ints("kernel_shape", [height, width]));
    }
    add(net, node, "Conv", &image, vec![image.value.clone(), filter], attributes)
}

/// The groups of a convolution with a filter of these sizes (channels out, those of a group in, height, width), where
/// it is known that there are several.
fn groups(net: &Network, image: &Image, [out, of_group, ..]: [i64; 4]) -> Option<i64> {
    let channels = net.channels.of(&image.value)?;
    let groups = channels.checked_div(of_group).filter(|groups| *groups > 1)?;
    (channels % of_group == 0 && out % groups == 0).then_some(groups)
}

/// The gradient of a convolution, by which networks make images larger: sizes of the output, filter, image.
fn transposed_convolution(net: &mut Network, node: &Node<'_>) -> Result<bool, FormatError> {
    let [Some(sizes), Some(filter), Some(first)] = [node.input(0), node.input(1), node.input(2)] else {
        return Ok(false);
    };
    let Some(image) = Image::of(net, node, first)? else { return Ok(false) };
    let Some(mut attributes) = window(node, &image) else { return Ok(false) };
    if let Some(dilations) = image.spatial(&node.ints("dilations")) {
        attributes.push(ints("dilations", dilations));
    }
    let sizes = net.ints(Some(sizes)).and_then(|sizes| image.spatial(&sizes));
    attributes.extend(sizes.map(|sizes| ints("output_shape", sizes)));
    // Height, width, channels of the output, channels of the input.
    let (filter, dims) = net.filter(filter, [3, 2, 0, 1], false)?;
    if let Some([_, _, height, width]) = dims {
        attributes.push(ints("kernel_shape", [height, width]));
    }
    add(net, node, "ConvTranspose", &image, vec![image.value.clone(), filter], attributes)
}

fn pooling(net: &mut Network, node: &Node<'_>, first: &str) -> Result<bool, FormatError> {
    let Some(image) = Image::of(net, node, first)? else { return Ok(false) };
    let Some(kernel) = image.spatial(&node.ints("ksize")) else { return Ok(false) };
    let Some(mut attributes) = window(node, &image) else { return Ok(false) };
    attributes.push(ints("kernel_shape", kernel));
    let op_type = if node.op == "MaxPool" { "MaxPool" } else { "AveragePool" };
    add(net, node, op_type, &image, vec![image.value.clone()], attributes)
}

fn normalization(net: &mut Network, node: &Node<'_>, first: &str) -> Result<bool, FormatError> {
    // Statistics of the batch itself are those of training, and the default.
    if node.truth("is_training") != Some(false) || node.inputs.len() < 5 {
        return Ok(false);
    }
    let Some(image) = Image::of(net, node, first)? else { return Ok(false) };
    let mut inputs = vec![image.value.clone()];
    for input in &node.inputs[1..5] {
        inputs.push(net.plain(input)?);
    }
    let attributes = vec![float("epsilon", node.float("epsilon").unwrap_or(1e-4))];
    add(net, node, "BatchNormalization", &image, inputs, attributes)
}

fn local_response(net: &mut Network, node: &Node<'_>, first: &str) -> Result<bool, FormatError> {
    let Some(image) = Image::of(net, node, first)? else { return Ok(false) };
    // TensorFlow sums over a radius with alpha itself, ONNX over a size with alpha divided by it.
    let size = node.int("depth_radius").unwrap_or(5).saturating_mul(2).saturating_add(1);
    let attributes = vec![
        int("size", size),
        float("alpha", node.float("alpha").unwrap_or(1.0) * size as f32),
        float("beta", node.float("beta").unwrap_or(0.5)),
        float("bias", node.float("bias").unwrap_or(1.0)),
    ];
    add(net, node, "LRN", &image, vec![image.value.clone()], attributes)
}

fn resize(net: &mut Network, node: &Node<'_>, first: &str) -> Result<bool, FormatError> {
    let Some(size) = node.input(1) else { return Ok(false) };
    let Some(image) = Image::of(net, node, first)? else { return Ok(false) };
    let sizes = match net.ints(Some(size)) {
        Some(sizes) => net.list(&format!("{}:sizes", node.name), &sizes),
        None => net.plain(size)?,
    };
    let mode = match &*node.op {
        "ResizeBilinear" => "linear",
        "ResizeNearestNeighbor" => "nearest",
        _ => "cubic",
    };
    let grid = match (node.is("align_corners"), node.is("half_pixel_centers")) {
        (true, _) => "align_corners",
        (_, true) => "half_pixel",
        _ => "asymmetric",
    };
    let mut attributes =
        vec![string("mode", mode), string("coordinate_transformation_mode", grid), ints("axes", [2, 3])];
    if mode == "nearest" {
        let is_rounded = node.is("align_corners") || node.is("half_pixel_centers");
        attributes.push(string("nearest_mode", if is_rounded { "round_prefer_ceil" } else { "floor" }));
    }
    let inputs = vec![image.value.clone(), String::new(), String::new(), sizes];
    add(net, node, "Resize", &image, inputs, attributes)
}
