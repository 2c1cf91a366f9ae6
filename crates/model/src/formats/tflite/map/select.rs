//! Operators that pick elements out, put them together, or put others around them.

use super::super::network::{Network, Operator};
use super::super::order::{Order, axis};
use super::elementwise::common_order;
use super::layout::MOST_AXES;
use super::reduce::order_without;
use super::{Made, Mapped, activation};
use crate::formats::assembly::{int, string};

/// An operator that takes its inputs as they are.
pub(super) fn plain(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let mut inputs = Vec::with_capacity(op.inputs.len());
    for input in &op.inputs {
        inputs.push(net.read(*input, Order::File)?);
    }
    Ok(Some(Made::new(op_type, inputs, Order::File)))
}

/// Tensors end to end along an axis.
pub(super) fn concatenation(net: &mut Network, op: &Operator) -> Mapped {
    let Some(rank) = net.rank(op.input(0)) else { return Ok(None) };
    let Some(axis) = axis(op.options.int(0), rank) else { return Ok(None) };
    let is_even = op.inputs.iter().all(|input| net.rank(*input) == Some(rank));
    let order = if is_even { common_order(net, &op.inputs, rank) } else { Order::File };
    let mut inputs = Vec::with_capacity(op.inputs.len());
    for input in &op.inputs {
        inputs.push(net.read(*input, order)?);
    }
    let made = Made::new("Concat", inputs, order).with([int("axis", order.place_of(axis, rank) as i64)]);
    Ok(Some(made.activated(activation::within(op))))
}

/// Tensors one above the other along a new axis: each gets that axis, by a node with its place behind the name.
pub(super) fn pack(net: &mut Network, op: &Operator) -> Mapped {
    let Some(rank) = net.rank(op.input(0)) else { return Ok(None) };
    let Some(axis) = axis(op.options.int(1), rank + 1) else { return Ok(None) };
    let axes = net.list(&op.label, "axes", &[axis as i64]);
    if let [only] = op.inputs[..] {
        let inputs = vec![net.read(only, Order::File)?, axes];
        return Ok(Some(Made::new("Unsqueeze", inputs, Order::File)));
    }
    let mut inputs = Vec::with_capacity(op.inputs.len());
    for (place, input) in op.inputs.iter().enumerate() {
        let value = net.read(*input, Order::File)?;
        let raised = net.fresh(format!("{}:{place}", op.label));
        net.helper("Unsqueeze", raised.clone(), vec![value, axes.clone()], vec![raised.clone()], Vec::new())?;
        inputs.push(raised);
    }
    Ok(Some(Made::new("Concat", inputs, Order::File).with([int("axis", axis as i64)])))
}

/// Parts of a tensor along an axis, equal ones or of stated sizes.
pub(super) fn split(net: &mut Network, op: &Operator) -> Mapped {
    let is_even = op.op_type == "SPLIT";
    let (tensor, along) = if is_even { (op.input(1), op.input(0)) } else { (op.input(0), op.input(2)) };
    let Some(rank) = net.rank(tensor) else { return Ok(None) };
    let Some(&[stated]) = net.integers(along, 1).as_deref() else { return Ok(None) };
    let Some(axis) = axis(stated, rank) else { return Ok(None) };
    let order = net.order_of(tensor);
    let attribute = int("axis", order.place_of(axis, rank) as i64);
    if is_even {
        let inputs = vec![net.read(tensor, order)?];
        let count = int("num_outputs", op.outputs.len() as i64);
        return Ok(Some(Made::new("Split", inputs, order).with([attribute, count])));
    }
    let Some(mut sizes) = net.integers(op.input(1), op.outputs.len()) else { return Ok(None) };
    let known = sizes.iter().filter(|size| **size >= 0).try_fold(0i64, |sum, size| sum.checked_add(*size));
    // One of them may be what is left.
    if let Some(open) = sizes.iter_mut().find(|size| **size < 0) {
        let rest = net.size(tensor, axis).zip(known).and_then(|(all, known)| all.checked_sub(known));
        match rest {
            Some(rest) if rest >= 0 => *open = rest,
            _ => return Ok(None),
        }
    }
    if sizes.len() != op.outputs.len() || sizes.iter().any(|size| *size < 0) {
        return Ok(None);
    }
    let inputs = vec![net.read(tensor, order)?, net.list(&op.label, "sizes", &sizes)];
    Ok(Some(Made::new("Split", inputs, order).with([attribute])))
}

/// A part of a tensor.
struct Part {
    starts: Vec<i64>,
    ends: Vec<i64>,
    steps: Vec<i64>,
}

impl Part {
    /// The inputs of ONNX's operator, which names the axes.
    fn inputs(&self, net: &mut Network, label: &str, value: String, order: Order) -> Vec<String> {
        let rank = self.starts.len();
        let axes: Vec<i64> = (0..rank).map(|axis| order.place_of(axis, rank) as i64).collect();
        let lists = [("starts", &self.starts), ("ends", &self.ends), ("axes", &axes), ("steps", &self.steps)];
        std::iter::once(value).chain(lists.map(|(word, list)| net.list(label, word, list))).collect()
    }
}

pub(super) fn slice(net: &mut Network, op: &Operator) -> Mapped {
    let Some(rank) = net.rank(op.input(0)) else { return Ok(None) };
    let lists = [net.integers(op.input(1), rank), net.integers(op.input(2), rank)];
    let [Some(starts), Some(sizes)] = lists else { return Ok(None) };
    if starts.len() != rank || sizes.len() != rank {
        return Ok(None);
    }
    let end = |(start, size): (&i64, &i64)| if *size < 0 { i64::MAX } else { start.saturating_add(*size) };
    let ends = starts.iter().zip(&sizes).map(end).collect();
    let part = Part { starts, ends, steps: vec![1; rank] };
    let order = net.order_of(op.input(0));
    let value = net.read(op.input(0), order)?;
    let inputs = part.inputs(net, &op.label, value, order);
    Ok(Some(Made::new("Slice", inputs, order)))
}

/// A range of each axis. Axes that are dropped are so by a node of their own.
pub(super) fn strided_slice(net: &mut Network, op: &Operator) -> Mapped {
    let Some(rank) = net.rank(op.input(0)).filter(|rank| *rank <= MOST_AXES) else { return Ok(None) };
    let lists = [1, 2, 3].map(|place| net.integers(op.input(place), rank));
    let [Some(mut starts), Some(mut ends), Some(mut steps)] = lists else { return Ok(None) };
    let [from_first, to_last, ellipsis, new_axes, dropping] =
        [0, 1, 2, 3, 4].map(|field| op.options.int(field));
    let is_plain = ellipsis == 0 && new_axes == 0 && !op.options.flag(5);
    if !is_plain || ends.len() != starts.len() || steps.len() != starts.len() || steps.contains(&0) {
        return Ok(None);
    }
    let mut dropped = Vec::new();
    for axis in 0..starts.len() {
        let is_in = |mask: i64| mask >> axis & 1 == 1;
        if is_in(dropping) {
            dropped.push(axis);
            steps[axis] = 1;
            ends[axis] = if starts[axis] == -1 { i64::MAX } else { starts[axis].saturating_add(1) };
            continue;
        }
        let is_forward = steps[axis] > 0;
        if is_in(from_first) {
            starts[axis] = if is_forward { 0 } else { i64::MAX };
        }
        if is_in(to_last) {
            ends[axis] = if is_forward { i64::MAX } else { i64::MIN };
        }
    }
    // Axes that aren't named are whole.
    starts.resize(rank, 0);
    ends.resize(rank, i64::MAX);
    steps.resize(rank, 1);
    let part = Part { starts, ends, steps };
    let order = match dropped.is_empty() {
        true => net.order_of(op.input(0)),
        false => order_without(net, op.input(0), &dropped, rank),
    };
    let value = net.read(op.input(0), order)?;
    let inputs = part.inputs(net, &op.label, value, order);
    if dropped.is_empty() {
        return Ok(Some(Made::new("Slice", inputs, order)));
    }
    let range = net.fresh(format!("{}:range", op.label));
    net.helper("Slice", range.clone(), inputs, vec![range.clone()], Vec::new())?;
    let mut places: Vec<i64> = dropped.iter().map(|axis| order.place_of(*axis, rank) as i64).collect();
    places.sort_unstable();
    let inputs = vec![range, net.list(&op.label, "dropped", &places)];
    Ok(Some(Made::new("Squeeze", inputs, Order::File)))
}

/// More elements at both ends of axes; the list has two numbers for each.
pub(super) fn pad(net: &mut Network, op: &Operator) -> Mapped {
    let Some(rank) = net.rank(op.input(0)) else { return Ok(None) };
    let is_mirrored = op.op_type == "MIRROR_PAD";
    // A mirror that repeats the last element is none of ONNX's.
    let Some(pads) = net.integers(op.input(1), 2 * rank).filter(|_| !is_mirrored || op.options.byte(0) == 0)
    else {
        return Ok(None);
    };
    if pads.len() != 2 * rank {
        return Ok(None);
    }
    let order = net.order_of(op.input(0));
    let axes = order.axes(rank);
    let pads: Vec<i64> = [0, 1]
        .into_iter()
        .flat_map(|end| axes.iter().map(move |axis| (axis, end)))
        .map(|(axis, end)| pads[2 * axis + end])
        .collect();
    let mut inputs = vec![net.read(op.input(0), order)?, net.list(&op.label, "pads", &pads)];
    if let Some(value) = op.input(2) {
        inputs.push(net.read(Some(value), Order::File)?);
    }
    let mode = is_mirrored.then(|| string("mode", "reflect"));
    Ok(Some(Made::new("Pad", inputs, order).with(mode)))
}

/// Parts of a tensor at places of one axis.
pub(super) fn gather(net: &mut Network, op: &Operator) -> Mapped {
    let is_table = op.op_type == "EMBEDDING_LOOKUP";
    let (data, places) = if is_table { (1, 0) } else { (0, 1) };
    if !is_table && op.options.int(1) != 0 {
        return Ok(None);
    }
    let along = if is_table { 0 } else { op.options.int(0) };
    let inputs = vec![net.read(op.input(data), Order::File)?, net.read(op.input(places), Order::File)?];
    Ok(Some(Made::new("Gather", inputs, Order::File).with([int("axis", along)])))
}

/// Rows of sequences, each turned around as far as its length.
pub(super) fn reverse_sequence(net: &mut Network, op: &Operator) -> Mapped {
    let attributes = [int("time_axis", op.options.int(0)), int("batch_axis", op.options.int(1))];
    Ok(plain(net, op, "ReverseSequence")?.map(|made| made.with(attributes)))
}
