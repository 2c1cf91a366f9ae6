//! Operators that reduce, search or add up along axes.

use super::super::network::{Network, Operator};
use super::super::order::{Order, axis};
use super::{Made, Mapped};
use crate::formats::assembly::int;

/// The axes of a constant, each once; `None` where they aren't known or aren't axes.
fn axes(net: &Network, tensor: Option<usize>, rank: usize) -> Option<Vec<usize>> {
    let mut axes: Vec<usize> =
        net.integers(tensor, rank)?.into_iter().map(|stated| axis(stated, rank)).collect::<Option<_>>()?;
    axes.sort_unstable();
    axes.dedup();
    (!axes.is_empty()).then_some(axes)
}

/// The order in which an operator takes a tensor of which it drops axes: that in which it is at hand, if those that are
/// left are then in the file's.
pub(super) fn order_without(net: &Network, tensor: Option<usize>, dropped: &[usize], rank: usize) -> Order {
    let order = net.order_of(tensor);
    if order.is_sorted_without(dropped, rank) { order } else { Order::File }
}

/// A reduction along axes.
pub(super) fn along(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let Some(rank) = net.rank(op.input(0)) else { return Ok(None) };
    let Some(axes) = axes(net, op.input(1), rank) else { return Ok(None) };
    let keeps = op.options.flag(0);
    let order = if keeps { net.order_of(op.input(0)) } else { order_without(net, op.input(0), &axes, rank) };
    let mut places: Vec<i64> = axes.iter().map(|axis| order.place_of(*axis, rank) as i64).collect();
    places.sort_unstable();
    let inputs = vec![net.read(op.input(0), order)?, net.list(&op.label, "axes", &places)];
    let made = Made::new(op_type, inputs, if keeps { order } else { Order::File });
    Ok(Some(made.with([int("keepdims", keeps.into())])))
}

/// The place of the greatest or least element along an axis.
pub(super) fn position(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let Some(rank) = net.rank(op.input(0)) else { return Ok(None) };
    let Some(&[axis]) = axes(net, op.input(1), rank).as_deref() else { return Ok(None) };
    let order = order_without(net, op.input(0), &[axis], rank);
    let inputs = vec![net.read(op.input(0), order)?];
    let attributes = [int("axis", order.place_of(axis, rank) as i64), int("keepdims", 0)];
    Ok(Some(Made::new(op_type, inputs, Order::File).with(attributes).of_positions(0)))
}

/// The greatest elements along the last axis, and their places.
pub(super) fn greatest(net: &mut Network, op: &Operator) -> Mapped {
    let count = net.integers(op.input(1), 1);
    let count = match count.as_deref() {
        Some([count]) => net.list(&op.label, "count", &[*count]),
        _ => return Ok(None),
    };
    let inputs = vec![net.read(op.input(0), Order::File)?, count];
    Ok(Some(Made::new("TopK", inputs, Order::File).with([int("axis", -1)]).of_positions(1)))
}

/// Sums of all elements before along an axis.
pub(super) fn sums_so_far(net: &mut Network, op: &Operator) -> Mapped {
    let inputs = vec![net.read(op.input(0), Order::File)?, net.read(op.input(1), Order::File)?];
    let attributes = [int("exclusive", op.options.byte(0).into()), int("reverse", op.options.byte(1).into())];
    Ok(Some(Made::new("CumSum", inputs, Order::File).with(attributes)))
}
