//! Products of matrices.

use super::super::network::{Network, Operator};
use super::super::order::Order;
use super::{Made, Mapped, activation};
use crate::formats::assembly::{int, ints};

/// A product with weights of outputs × inputs. An input of other than two dimensions is taken as rows, by a node with
/// `:rows` behind its name; where its dimensions are kept, the weights are turned instead.
pub(super) fn fully_connected(net: &mut Network, op: &Operator) -> Mapped {
    let (image, weights, bias) = (op.input(0), op.input(1), op.input(2));
    let sizes = net.size(weights, 0).zip(net.size(weights, 1)).filter(|_| net.rank(weights) == Some(2));
    // Weights in the order of one kind of processor are no matrix.
    let (Some((_, summed)), 0, Some(rank), [output]) =
        (sizes, op.options.byte(1), net.rank(image), &op.outputs[..])
    else {
        return Ok(None);
    };
    let keeps_rank = op.options.flag(2);
    let fits = match keeps_rank {
        true => rank > 0 && net.size(image, rank - 1).is_none_or(|size| size == summed),
        false => net.rank(Some(*output)).is_none_or(|rank| rank == 2),
    };
    if summed < 1 || !fits {
        return Ok(None);
    }
    let activation = activation::within(op);
    if keeps_rank && rank != 2 {
        let inputs = vec![net.read(image, Order::File)?, net.read(weights, Order::Kernel)?];
        let Some(bias) = bias else {
            return Ok(Some(Made::new("MatMul", inputs, Order::File).activated(activation)));
        };
        let product = net.between(*output, Order::File, "product", net.data_type(Some(*output)));
        net.node("MatMul", format!("{}:MatMul", op.label), inputs, vec![product.clone()], Vec::new())?;
        let inputs = vec![product, net.read(Some(bias), Order::File)?];
        return Ok(Some(Made::new("Add", inputs, Order::File).activated(activation)));
    }
    let is_matrix = rank == 2 && net.size(image, 1).is_none_or(|size| size == summed);
    let rows = match is_matrix {
        true => net.read(image, Order::File)?,
        false => {
            let order = super::layout::flat_order(net, image);
            let inputs = vec![net.read(image, order)?, net.list(&op.label, "row_sizes", &[-1, summed])];
            let rows = net.fresh(format!("{}:rows", op.label));
            net.helper("Reshape", rows.clone(), inputs, vec![rows.clone()], Vec::new())?;
            rows
        }
    };
    let mut inputs = vec![rows, net.read(weights, Order::File)?];
    if let Some(bias) = bias {
        inputs.push(net.read(Some(bias), Order::File)?);
    }
    Ok(Some(Made::new("Gemm", inputs, Order::File).with([int("transB", 1)]).activated(activation)))
}

/// A product of matrices, either of which may be turned.
pub(super) fn product(net: &mut Network, op: &Operator) -> Mapped {
    let ranks = [net.rank(op.input(0)), net.rank(op.input(1))];
    let [Some(left), Some(right)] = ranks else { return Ok(None) };
    if left < 2 || right < 2 {
        return Ok(None);
    }
    let mut inputs = Vec::new();
    for (place, rank) in [left, right].into_iter().enumerate() {
        let mut value = net.read(op.input(place), Order::File)?;
        if op.options.flag(place) && !value.is_empty() {
            let mut perm: Vec<i64> = (0..rank as i64).collect();
            perm.swap(rank - 1, rank - 2);
            let turned = net.fresh(format!("{}:turned{place}", op.label));
            net.transposes += 1;
            net.helper(
                "Transpose",
                turned.clone(),
                vec![value],
                vec![turned.clone()],
                vec![ints("perm", perm)],
            )?;
            value = turned;
        }
        inputs.push(value);
    }
    Ok(Some(Made::new("MatMul", inputs, Order::File)))
}
