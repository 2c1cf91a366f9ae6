//! Operators that work place by place. They take an image in the order in which it is at hand, and spread others over
//! it.

use opscope_trace::DataType;

use super::super::FormatError;
use super::super::network::{Network, Operator};
use super::super::order::{Order, axis};
use super::{Made, Mapped, activation};
use crate::formats::assembly::{float, int, string};
use crate::proto::data_type_to_onnx;

pub(super) fn mapped(net: &mut Network, op: &Operator) -> Mapped {
    match &*op.op_type {
        "RELU" => of_one(net, op, "Relu"),
        "RELU6" => clip(net, op, 0.0, 6.0),
        "RELU_N1_TO_1" => clip(net, op, -1.0, 1.0),
        "RELU_0_TO_1" => clip(net, op, 0.0, 1.0),
        "LOGISTIC" => of_one(net, op, "Sigmoid"),
        "TANH" => of_one(net, op, "Tanh"),
        "EXP" => of_one(net, op, "Exp"),
        "LOG" => of_one(net, op, "Log"),
        "SIN" => of_one(net, op, "Sin"),
        "COS" => of_one(net, op, "Cos"),
        "SQRT" => of_one(net, op, "Sqrt"),
        "NEG" => of_one(net, op, "Neg"),
        "ABS" => of_one(net, op, "Abs"),
        "SIGN" => of_one(net, op, "Sign"),
        "FLOOR" => of_one(net, op, "Floor"),
        "CEIL" => of_one(net, op, "Ceil"),
        "ROUND" => of_one(net, op, "Round"),
        "HARD_SWISH" => of_one(net, op, "HardSwish"),
        "ELU" => of_one(net, op, "Elu"),
        "LOGICAL_NOT" => of_one(net, op, "Not"),
        "LEAKY_RELU" => {
            Ok(of_one(net, op, "LeakyRelu")?.map(|made| made.with([float("alpha", op.options.float(0))])))
        }
        "GELU" => {
            let way = string("approximate", if op.options.flag(0) { "tanh" } else { "none" });
            Ok(of_one(net, op, "Gelu")?.map(|made| made.with([way])))
        }
        "SQUARE" => {
            let made = of_one(net, op, "Mul")?;
            Ok(made.map(|made| Made { inputs: [made.inputs.clone(), made.inputs].concat(), ..made }))
        }
        "CAST" => {
            let to = net.data_type(op.outputs.first().copied());
            let is_sound = to != DataType::Unknown && net.rank(op.input(0)).is_some();
            let made = if is_sound { of_one(net, op, "Cast")? } else { None };
            Ok(made.map(|made| made.with([int("to", data_type_to_onnx(to).into())])))
        }
        // A factor within the exponent is none of ONNX's.
        "SOFTMAX" if op.options.float(0) == 1.0 => along_channels(net, op, "Softmax"),
        "LOG_SOFTMAX" => along_channels(net, op, "LogSoftmax"),
        "L2_NORMALIZATION" => {
            let made = along_channels(net, op, "LpNormalization")?;
            Ok(made.map(|made| made.with([int("p", 2)]).activated(activation::within(op))))
        }

        "ADD" => of_several(net, op, "Add"),
        "SUB" => of_several(net, op, "Sub"),
        "MUL" => of_several(net, op, "Mul"),
        "DIV" => of_several(net, op, "Div"),
        "MAXIMUM" => of_several(net, op, "Max"),
        "MINIMUM" => of_several(net, op, "Min"),
        "POW" => of_several(net, op, "Pow"),
        "ADD_N" => of_several(net, op, "Sum"),
        "PRELU" => of_several(net, op, "PRelu"),
        "EQUAL" => of_several(net, op, "Equal"),
        "LESS" => of_several(net, op, "Less"),
        "LESS_EQUAL" => of_several(net, op, "LessOrEqual"),
        "GREATER" => of_several(net, op, "Greater"),
        "GREATER_EQUAL" => of_several(net, op, "GreaterOrEqual"),
        "LOGICAL_AND" => of_several(net, op, "And"),
        "LOGICAL_OR" => of_several(net, op, "Or"),
        "BITWISE_XOR" => of_several(net, op, "BitwiseXor"),
        // Of real numbers the sign differs.
        "FLOOR_MOD" if matches!(net.data_type(op.input(0)), DataType::Int32 | DataType::Int64) => {
            of_several(net, op, "Mod")
        }
        "SELECT_V2" => of_several(net, op, "Where"),
        // The first version spreads a list of conditions over the first axis.
        "SELECT"
            if net.rank(op.input(0)).is_some_and(|rank| rank == 0 || Some(rank) == net.rank(op.input(1))) =>
        {
            of_several(net, op, "Where")
        }
        "RANGE" => super::select::plain(net, op, "Range"),
        _ => Ok(None),
    }
}

/// An operator of the file's that works place by place.
///
/// # Errors
/// When the graph becomes too large.
pub(super) fn own(net: &mut Network, op: &Operator) -> Result<Option<Made>, FormatError> {
    let made = match &*op.op_type {
        "RSQRT" | "QUANTIZE" | "DEQUANTIZE" | "FAKE_QUANT" | "ZEROS_LIKE" | "LOGISTIC" | "TANH" | "CAST"
        | "RELU" | "RELU6" | "HARD_SWISH" | "LEAKY_RELU" => of_one(net, op, &op.op_type)?,
        "SQUARED_DIFFERENCE" | "FLOOR_DIV" | "FLOOR_MOD" | "NOT_EQUAL" | "ATAN2" | "RIGHT_SHIFT" | "ADD"
        | "SUB" | "MUL" | "DIV" => of_several(net, op, &op.op_type)?,
        _ => None,
    };
    Ok(made.map(|made| Made { is_own: true, ..made }))
}

fn of_one(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let order = net.order_of(op.input(0));
    let inputs = vec![net.read(op.input(0), order)?];
    Ok(Some(Made::new(op_type, inputs, order)))
}

fn clip(net: &mut Network, op: &Operator, low: f32, high: f32) -> Mapped {
    let (Some(input), Some(mut made)) = (op.input(0), of_one(net, op, "Clip")?) else { return Ok(None) };
    made.inputs.extend(activation::Kind::Clip(low, high).bounds(net, &op.label, input));
    Ok(Some(made))
}

/// Along the last axis of the file.
fn along_channels(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let Some(rank) = net.rank(op.input(0)).filter(|rank| *rank > 0) else { return Ok(None) };
    let order = net.order_of(op.input(0));
    let last = axis(-1, rank).unwrap_or(0);
    let inputs = vec![net.read(op.input(0), order)?];
    Ok(Some(Made::new(op_type, inputs, order).with([int("axis", order.place_of(last, rank) as i64)])))
}

/// The order in which several tensors are taken: that of images if one of them is at hand so and all others can be put
/// into it.
pub(super) fn common_order(net: &Network, inputs: &[Option<usize>], rank: usize) -> Order {
    let is_image =
        inputs.iter().any(|input| net.order_of(*input) == Order::Image && net.rank(*input) == Some(rank));
    let can_be = |input: &Option<usize>| {
        net.rank(*input)
            .is_some_and(|own| own == rank || own < rank && input.is_some_and(|it| net.is_stored(it)))
    };
    if is_image && inputs.iter().all(can_be) { Order::Image } else { Order::File }
}

/// Several tensors that are spread over one another.
fn of_several(net: &mut Network, op: &Operator, op_type: &str) -> Mapped {
    let rank = op.inputs.iter().filter_map(|input| net.rank(*input)).max().unwrap_or(0);
    let order = common_order(net, &op.inputs, rank);
    let mut inputs = Vec::with_capacity(op.inputs.len());
    for input in &op.inputs {
        inputs.push(net.read_spread(*input, order, rank)?);
    }
    Ok(Some(Made::new(op_type, inputs, order).activated(activation::within(op))))
}
