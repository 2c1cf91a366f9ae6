//! Operators whose windows slide over images, and those that resize them. ONNX wants channels in front of places.

use opscope_trace::DataType;

use super::super::network::{Network, Operator};
use super::super::order::Order;
use super::{Made, Mapped, activation};
use crate::formats::assembly::{float, int, ints, string};
use crate::proto::AttributeProto;

/// How a window moves along each axis, by the places of its fields among the options.
struct Window {
    strides: Vec<i64>,
    dilations: Vec<i64>,
}

impl Window {
    /// A window; `None` where a step isn't one.
    fn of(op: &Operator, strides: &[usize], dilations: &[usize]) -> Option<Self> {
        let strides: Vec<i64> = strides.iter().map(|field| op.options.int(*field)).collect();
        let dilations: Vec<i64> =
            dilations.iter().map(|field| op.options.stated(*field).unwrap_or(1)).collect();
        let is_sound = strides.iter().chain(&dilations).all(|step| *step > 0);
        is_sound.then_some(Self { strides, dilations })
    }

    fn attributes(&self, op: &Operator, kernel: &[i64]) -> Vec<AttributeProto> {
        let mut attributes = vec![
            ints("kernel_shape", kernel),
            ints("strides", self.strides.clone()),
            padding(op.options.byte(0)),
        ];
        if !self.dilations.is_empty() {
            attributes.push(ints("dilations", self.dilations.clone()));
        }
        attributes
    }
}

/// Padding: TensorFlow's `SAME` puts the odd one behind, as `SAME_UPPER` does.
fn padding(number: u8) -> AttributeProto {
    string("auto_pad", if number == 0 { "SAME_UPPER" } else { "VALID" })
}

/// The sizes of a filter, none of which may be open or 0.
fn filter_sizes<const N: usize>(net: &Network, op: &Operator) -> Option<[i64; N]> {
    let filter = op.input(1)?;
    let dims: [i64; N] = net.tensors.get(filter)?.dims.clone()?.try_into().ok()?;
    dims.iter().all(|size| *size > 0).then_some(dims)
}

/// A convolution, of whose image and filter the order is given.
fn convolved(
    net: &mut Network,
    op: &Operator,
    filter: Order,
    attributes: Vec<AttributeProto>,
    group: i64,
) -> Mapped {
    let mut inputs = vec![net.read(op.input(0), Order::Image)?, net.read(op.input(1), filter)?];
    if let Some(bias) = op.input(2) {
        inputs.push(net.read(Some(bias), Order::File)?);
    }
    let made = Made::new("Conv", inputs, Order::Image).with(attributes).with([int("group", group)]);
    Ok(Some(made.activated(activation::within(op))))
}

pub(super) fn convolution(net: &mut Network, op: &Operator) -> Mapped {
    let Some([outputs, height, width, channels]) = filter_sizes(net, op) else { return Ok(None) };
    let Some(window) = Window::of(op, &[2, 1], &[5, 4]) else { return Ok(None) };
    if net.rank(op.input(0)) != Some(4) {
        return Ok(None);
    }
    // A filter of fewer channels is for groups of them.
    let group = net.size(op.input(0), 3).map_or(1, |all| all / channels);
    let is_even = net.size(op.input(0), 3).is_none_or(|all| all == group * channels);
    if !is_even || group < 1 || outputs % group != 0 {
        return Ok(None);
    }
    convolved(net, op, Order::Image, window.attributes(op, &[height, width]), group)
}

pub(super) fn depthwise(net: &mut Network, op: &Operator) -> Mapped {
    let Some([1, height, width, outputs]) = filter_sizes(net, op) else { return Ok(None) };
    let Some(window) = Window::of(op, &[2, 1], &[6, 5]) else { return Ok(None) };
    let multiplier = op.options.int(3).max(1);
    let channels = net.size(op.input(0), 3).unwrap_or(outputs / multiplier);
    if net.rank(op.input(0)) != Some(4) || channels < 1 || outputs % channels != 0 {
        return Ok(None);
    }
    convolved(net, op, Order::Kernel, window.attributes(op, &[height, width]), channels)
}

pub(super) fn volumes(net: &mut Network, op: &Operator) -> Mapped {
    let Some([depth, height, width, channels, _]) = filter_sizes(net, op) else { return Ok(None) };
    let Some(window) = Window::of(op, &[1, 3, 2], &[5, 7, 6]) else { return Ok(None) };
    let is_whole = net.size(op.input(0), 4).is_none_or(|all| all == channels);
    if net.rank(op.input(0)) != Some(5) || !is_whole {
        return Ok(None);
    }
    convolved(net, op, Order::Volume, window.attributes(op, &[depth, height, width]), 1)
}

/// A transposed convolution, whose first input is its output's sizes.
pub(super) fn transposed(net: &mut Network, op: &Operator) -> Mapped {
    let Some([_, height, width, channels]) = filter_sizes(net, op) else { return Ok(None) };
    let Some(window) = Window::of(op, &[2, 1], &[]) else { return Ok(None) };
    let image = op.input(2);
    if net.rank(image) != Some(4) || net.size(image, 3).is_some_and(|all| all != channels) {
        return Ok(None);
    }
    let stated = net.integers(op.input(0), 4).filter(|sizes| sizes.len() == 4);
    let output = op.outputs.first().copied();
    let sizes = match stated {
        Some(sizes) => Some([sizes[1], sizes[2]]),
        None => net.size(output, 1).zip(net.size(output, 2)).map(|(height, width)| [height, width]),
    };
    let mut inputs = vec![net.read(image, Order::Image)?, net.read(op.input(1), Order::Kernel)?];
    if let Some(bias) = op.input(3) {
        inputs.push(net.read(Some(bias), Order::File)?);
    }
    let sizes = sizes.map(|sizes| ints("output_shape", sizes));
    let made = Made::new("ConvTranspose", inputs, Order::Image);
    let made = made.with(window.attributes(op, &[height, width])).with(sizes);
    Ok(Some(made.activated(activation::within(op))))
}

/// Pooling; a mean leaves padding out.
pub(super) fn pool(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let kernel = [op.options.int(4), op.options.int(3)];
    let Some(window) = Window::of(op, &[2, 1], &[]) else { return Ok(None) };
    if kernel.iter().any(|size| *size < 1) || net.rank(op.input(0)) != Some(4) {
        return Ok(None);
    }
    let inputs = vec![net.read(op.input(0), Order::Image)?];
    let made = Made::new(op_type, inputs, Order::Image).with(window.attributes(op, &kernel));
    Ok(Some(made.activated(activation::within(op))))
}

pub(super) fn resize(net: &mut Network, op: &Operator) -> Mapped {
    if net.rank(op.input(0)) != Some(4) {
        return Ok(None);
    }
    let is_linear = op.op_type == "RESIZE_BILINEAR";
    // The bilinear one once had its sizes as two options.
    let first = if is_linear { 2 } else { 0 };
    let (is_to_corners, is_of_halves) = (op.options.flag(first), op.options.flag(first + 1));
    let transformation = match (is_to_corners, is_of_halves) {
        (true, _) => "align_corners",
        (false, true) => "half_pixel",
        (false, false) => "asymmetric",
    };
    let mut attributes = vec![
        string("mode", if is_linear { "linear" } else { "nearest" }),
        string("coordinate_transformation_mode", transformation),
        ints("axes", [2, 3]),
    ];
    if !is_linear {
        let is_rounded = is_to_corners || is_of_halves;
        attributes.push(string("nearest_mode", if is_rounded { "round_prefer_ceil" } else { "floor" }));
    }
    let sizes = match net.integers(op.input(1), 2).filter(|sizes| sizes.len() == 2) {
        Some(sizes) => net.list(&op.label, "sizes", &sizes),
        None => net.read(op.input(1), Order::File)?,
    };
    let inputs = vec![net.read(op.input(0), Order::Image)?, String::new(), String::new(), sizes];
    Ok(Some(Made::new("Resize", inputs, Order::Image).with(attributes)))
}

/// Places that become channels, and back.
pub(super) fn blocks(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let size = op.options.int(0);
    if size < 1 || net.rank(op.input(0)) != Some(4) {
        return Ok(None);
    }
    let inputs = vec![net.read(op.input(0), Order::Image)?];
    Ok(Some(Made::new(op_type, inputs, Order::Image).with([int("blocksize", size)])))
}

/// ONNX divides the factor by the number of channels that are summed up; TensorFlow doesn't.
pub(super) fn local_normalization(net: &mut Network, op: &Operator) -> Mapped {
    let radius = op.options.int(0);
    let is_sound = (0..1 << 20).contains(&radius) && net.data_type(op.input(0)) == DataType::Float32;
    if !is_sound || net.rank(op.input(0)) != Some(4) {
        return Ok(None);
    }
    let size = 2 * radius + 1;
    let attributes = [
        int("size", size),
        float("bias", op.options.float(1)),
        float("alpha", op.options.float(2) * size as f32),
        float("beta", op.options.float(3)),
    ];
    let inputs = vec![net.read(op.input(0), Order::Image)?];
    Ok(Some(Made::new("LRN", inputs, Order::Image).with(attributes)))
}
