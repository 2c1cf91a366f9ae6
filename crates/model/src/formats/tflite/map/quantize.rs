//! Conversions between real numbers and the integers that stand for them.

use opscope_trace::DataType;

use super::super::constants::{Scales, Unpacking};
use super::super::network::{Network, Operator};
use super::{Made, Mapped};
use crate::formats::assembly::int;
use crate::proto::data_type_to_onnx;

/// Whether an operator unpacks a constant: it is done wherever the result is read, in the order that is wanted there,
/// so that no filter is turned in the graph.
pub(super) fn is_unpacked_later(net: &mut Network, op: &Operator) -> bool {
    let (Some(packed), [output]) = (op.input(0), &op.outputs[..]) else { return false };
    let unpacking = match (&*op.op_type, net.data_type(Some(packed))) {
        ("DENSIFY", _) => Unpacking::Densified,
        ("DEQUANTIZE", DataType::Float16) => Unpacking::Widened,
        ("DEQUANTIZE", _) if net.tensors[packed].quantization().is_some() => Unpacking::Dequantized,
        _ => return false,
    };
    let is_whole = net.tensors[packed].dims == net.tensors[*output].dims;
    let is_first = !net.is_made(*output) && !net.is_stored(*output);
    if !is_whole || !is_first || !net.is_constant(packed) {
        return false;
    }
    net.unpack_later(*output, packed, unpacking);
    true
}

pub(super) fn conversion(net: &mut Network, op: &Operator) -> Mapped {
    let (Some(input), [output]) = (op.input(0), &op.outputs[..]) else { return Ok(None) };
    let types = [net.data_type(Some(input)), net.data_type(Some(*output))];
    let order = net.order_of(Some(input));
    match (&*op.op_type, types) {
        ("DEQUANTIZE", [DataType::Float16 | DataType::BFloat16, to]) => {
            let inputs = vec![net.read(Some(input), order)?];
            Ok(Some(Made::new("Cast", inputs, order).with([int("to", data_type_to_onnx(to).into())])))
        }
        ("DEQUANTIZE", [_, DataType::Float32]) => linear(net, op, "DequantizeLinear", input, input),
        ("QUANTIZE", [DataType::Float32, _]) => linear(net, op, "QuantizeLinear", input, *output),
        // From integers to others.
        _ => Ok(None),
    }
}

/// A conversion with the scales of a tensor.
fn linear(net: &mut Network, op: &Operator, op_type: &str, input: usize, quantized: usize) -> Mapped {
    let order = net.order_of(Some(input));
    let Some(Scales { inputs: scales, axis }) = net.scales(&op.label, quantized)? else { return Ok(None) };
    let rank = net.rank(Some(quantized)).unwrap_or(0);
    let mut inputs = vec![net.read(Some(input), order)?];
    inputs.extend(scales);
    let axis = axis.map(|axis| int("axis", order.place_of(axis, rank) as i64));
    Ok(Some(Made::new(op_type, inputs, order).with(axis)))
}
