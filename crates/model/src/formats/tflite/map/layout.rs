//! Operators that keep the elements and change the sizes around them.

use super::super::network::{Network, Operator};
use super::super::order::{Order, axis};
use super::reduce::order_without;
use super::{Made, Mapped};
use crate::formats::assembly::{int, ints};

/// The most dimensions of which constants are looked at.
pub(super) const MOST_AXES: usize = 32;

/// The order in which an operator takes a tensor whose elements it reads one after the other: that in which it is at
/// hand, if they lie in the file's order in it.
pub(super) fn flat_order(net: &Network, tensor: Option<usize>) -> Order {
    let order = net.order_of(tensor);
    let rank = net.rank(tensor).unwrap_or(0);
    let sizes: Vec<i64> = (0..rank).map(|axis| net.size(tensor, axis).unwrap_or(-1)).collect();
    if order.keeps_data(&sizes) { order } else { Order::File }
}

pub(super) fn reshape(net: &mut Network, op: &Operator) -> Mapped {
    let stated = net.integers(op.input(1), MOST_AXES).or_else(|| match op.input(1) {
        Some(_) => None,
        None => op.options.ints(0),
    });
    // A place with its channels is an image in either order: mostly it is a factor for each channel of one.
    let is_place = |sizes: &Vec<i64>| matches!(sizes[..], [_, 1, 1, _]);
    let made = if stated.as_ref().is_some_and(is_place) { Order::Image } else { Order::File };
    let sizes = match (&stated, op.input(1)) {
        (Some(sizes), _) => net.list(&op.label, "sizes", &made.sizes(sizes)),
        (None, Some(_)) => net.read(op.input(1), Order::File)?,
        // The only shape that options can't hold is that of a scalar.
        (None, None) if net.rank(op.outputs.first().copied()) == Some(0) => net.list(&op.label, "sizes", &[]),
        (None, None) => return Ok(None),
    };
    let order = flat_order(net, op.input(0));
    let inputs = vec![net.read(op.input(0), order)?, sizes];
    // A size of 0 is one, not that of the same place.
    let has_zero = stated.is_some_and(|sizes| sizes.contains(&0));
    Ok(Some(Made::new("Reshape", inputs, made).with(has_zero.then(|| int("allowzero", 1)))))
}

/// Drops axes of one element.
pub(super) fn squeeze(net: &mut Network, op: &Operator) -> Mapped {
    let Some(rank) = net.rank(op.input(0)) else { return Ok(None) };
    let dropped: Option<Vec<usize>> = match op.options.ints(0) {
        Some(stated) => stated.into_iter().map(|stated| axis(stated, rank)).collect(),
        None => Some((0..rank).filter(|axis| net.size(op.input(0), *axis) == Some(1)).collect()),
    };
    let Some(dropped) = dropped else { return Ok(None) };
    let order = order_without(net, op.input(0), &dropped, rank);
    let mut places: Vec<i64> = dropped.iter().map(|axis| order.place_of(*axis, rank) as i64).collect();
    places.sort_unstable();
    let inputs = vec![net.read(op.input(0), order)?, net.list(&op.label, "axes", &places)];
    Ok(Some(Made::new("Squeeze", inputs, Order::File)))
}

/// A new axis of one element.
pub(super) fn expand_dims(net: &mut Network, op: &Operator) -> Mapped {
    let Some(&[stated]) = net.integers(op.input(1), 1).as_deref() else { return Ok(None) };
    let inputs = vec![net.read(op.input(0), Order::File)?, net.list(&op.label, "axes", &[stated])];
    Ok(Some(Made::new("Unsqueeze", inputs, Order::File)))
}

/// Other places of the axes; of an image as it is at hand, both permutations in one.
pub(super) fn transpose(net: &mut Network, op: &Operator) -> Mapped {
    let Some(rank) = net.rank(op.input(0)) else { return Ok(None) };
    let order = net.order_of(op.input(0));
    let perm: Option<Vec<usize>> = net
        .integers(op.input(1), rank)
        .filter(|perm| perm.len() == rank)
        .and_then(|perm| perm.into_iter().map(|stated| axis(stated, rank)).collect());
    let Some(perm) = perm else { return Ok(None) };
    let places: Vec<i64> = perm.iter().map(|axis| order.place_of(*axis, rank) as i64).collect();
    let inputs = vec![net.read(op.input(0), order)?];
    Ok(Some(Made::new("Transpose", inputs, Order::File).with([ints("perm", places)])))
}

/// The sizes of a tensor; those of an image that is at hand in ONNX's order are put into the file's.
pub(super) fn shape(net: &mut Network, op: &Operator) -> Mapped {
    let order = net.order_of(op.input(0));
    let inputs = vec![net.read(op.input(0), order)?];
    let Some(rank) = net.rank(op.input(0)).filter(|_| order != Order::File) else {
        return Ok(Some(Made::new("Shape", inputs, Order::File).of_positions(0)));
    };
    let sizes = net.fresh(format!("{}:sizes", op.label));
    net.helper("Shape", sizes.clone(), inputs, vec![sizes.clone()], Vec::new())?;
    let places = net.places(&op.label, &Order::File.from(order, rank));
    Ok(Some(Made::new("Gather", vec![sizes, places], Order::File).of_positions(0)))
}

/// A tensor again and again along its axes, or spread to sizes.
pub(super) fn repeated(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let counts = match net.integers(op.input(1), MOST_AXES) {
        Some(counts) => net.list(&op.label, "counts", &counts),
        None => net.read(op.input(1), Order::File)?,
    };
    let inputs = vec![net.read(op.input(0), Order::File)?, counts];
    Ok(Some(Made::new(op_type, inputs, Order::File)))
}

/// A tensor of one value, of the sizes that are its first input.
pub(super) fn fill(net: &mut Network, op: &Operator) -> Mapped {
    let sizes = match net.integers(op.input(0), MOST_AXES) {
        Some(sizes) => net.list(&op.label, "sizes", &sizes),
        None => net.read(op.input(0), Order::File)?,
    };
    let inputs = vec![net.read(op.input(1), Order::File)?, sizes];
    Ok(Some(Made::new("Expand", inputs, Order::File)))
}
