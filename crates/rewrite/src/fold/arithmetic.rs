//! Operators that compute element by element.

use opscope_model::TensorData;
use opscope_trace::DataType;

use super::elements::{Call, broadcast, positions};
use crate::constant::{floats, integers, is_float};

pub(super) fn evaluate(call: &Call<'_>) -> Option<TensorData> {
    match call.op_type {
        "Cast" => cast(call),
        "Not" => integer_unary(call, |n| i64::from(n == 0)),
        "Neg" => unary(call, |x| -x, |n| n.checked_neg()),
        "Abs" => unary(call, f64::abs, |n| n.checked_abs()),
        "Relu" => unary(call, |x| if x < 0.0 { 0.0 } else { x }, |n| Some(n.max(0))),
        "Sqrt" => unary(call, f64::sqrt, |_| None),
        "Exp" => unary(call, f64::exp, |_| None),
        "Log" => unary(call, f64::ln, |_| None),
        "Floor" => unary(call, f64::floor, |_| None),
        "Ceil" => unary(call, f64::ceil, |_| None),
        "Reciprocal" => unary(call, f64::recip, |_| None),
        "Sigmoid" => unary(call, |x| 1.0 / (1.0 + (-x).exp()), |_| None),
        "Tanh" => unary(call, f64::tanh, |_| None),
        "Add" => binary(call, |x, y| x + y, i64::checked_add),
        "Sub" => binary(call, |x, y| x - y, i64::checked_sub),
        "Mul" => binary(call, |x, y| x * y, i64::checked_mul),
        // Integers are divided towards zero; division by zero stays for the engine to answer.
        "Div" => binary(call, |x, y| x / y, i64::checked_div),
        "Pow" => binary(call, f64::powf, |x, y| x.checked_pow(u32::try_from(y).ok()?)),
        "Min" if call.inputs.len() == 2 => binary(call, least, |x, y| Some(x.min(y))),
        "Max" if call.inputs.len() == 2 => binary(call, greatest, |x, y| Some(x.max(y))),
        "Equal" => compare(call, |x, y| x == y, |x, y| x == y),
        "Less" => compare(call, |x, y| x < y, |x, y| x < y),
        "Greater" => compare(call, |x, y| x > y, |x, y| x > y),
        "LessOrEqual" => compare(call, |x, y| x <= y, |x, y| x <= y),
        "GreaterOrEqual" => compare(call, |x, y| x >= y, |x, y| x >= y),
        "And" => compare(call, |_, _| false, |x, y| x != 0 && y != 0),
        "Or" => compare(call, |_, _| false, |x, y| x != 0 || y != 0),
        _ => None,
    }
}

/// NaN wins, as ONNX Runtime has it.
fn least(x: f64, y: f64) -> f64 {
    if x.is_nan() || x < y { x } else { y }
}

fn greatest(x: f64, y: f64) -> f64 {
    if x.is_nan() || x > y { x } else { y }
}

fn unary(
    call: &Call<'_>,
    float: impl Fn(f64) -> f64,
    integer: impl Fn(i64) -> Option<i64>,
) -> Option<TensorData> {
    let x = call.input(0)?;
    if is_float(x.data_type) {
        let numbers: Vec<f64> = x.to_f64s()?.into_iter().map(float).collect();
        return floats(x.data_type, &x.dims, &numbers);
    }
    let numbers: Option<Vec<i64>> = x.to_i64s()?.into_iter().map(integer).collect();
    integers(x.data_type, &x.dims, &numbers?)
}

fn integer_unary(call: &Call<'_>, function: impl Fn(i64) -> i64) -> Option<TensorData> {
    let x = call.input(0)?;
    integers(x.data_type, &x.dims, &x.to_i64s()?.into_iter().map(function).collect::<Vec<_>>())
}

/// The dimensions of a result, and the operands' elements that belong together.
type Paired<T> = (Vec<u64>, Vec<(T, T)>);

/// Both operands as elements that belong together, with the dimensions of the result. Before the
/// seventh version of the operators, broadcasting had other rules.
fn paired<T: Copy>(call: &Call<'_>, numbers: impl Fn(&TensorData) -> Option<Vec<T>>) -> Option<Paired<T>> {
    let (x, y) = (call.input(0)?, call.input(1)?);
    if call.opset < 7 && x.dims != y.dims {
        return None;
    }
    let dims = broadcast(&x.dims, &y.dims)?;
    let (from_x, from_y) = (positions(&x.dims, &dims)?, positions(&y.dims, &dims)?);
    let (x, y) = (numbers(x)?, numbers(y)?);
    let pairs = from_x.into_iter().zip(from_y).map(|(i, j)| Some((*x.get(i)?, *y.get(j)?)));
    Some((dims, pairs.collect::<Option<_>>()?))
}

fn binary(
    call: &Call<'_>,
    float: impl Fn(f64, f64) -> f64,
    integer: impl Fn(i64, i64) -> Option<i64>,
) -> Option<TensorData> {
    let data_type = call.input(0)?.data_type;
    if is_float(data_type) && call.input(1)?.data_type == data_type {
        let (dims, pairs) = paired(call, TensorData::to_f64s)?;
        return floats(data_type, &dims, &pairs.into_iter().map(|(x, y)| float(x, y)).collect::<Vec<_>>());
    }
    if call.input(1)?.data_type != data_type {
        return None;
    }
    let (dims, pairs) = paired(call, TensorData::to_i64s)?;
    let numbers: Option<Vec<i64>> = pairs.into_iter().map(|(x, y)| integer(x, y)).collect();
    integers(data_type, &dims, &numbers?)
}

fn compare(
    call: &Call<'_>,
    float: impl Fn(f64, f64) -> bool,
    integer: impl Fn(i64, i64) -> bool,
) -> Option<TensorData> {
    let holds: (Vec<u64>, Vec<i64>) = if is_float(call.input(0)?.data_type) {
        let (dims, pairs) = paired(call, TensorData::to_f64s)?;
        (dims, pairs.into_iter().map(|(x, y)| float(x, y).into()).collect())
    } else {
        let (dims, pairs) = paired(call, TensorData::to_i64s)?;
        (dims, pairs.into_iter().map(|(x, y)| integer(x, y).into()).collect())
    };
    integers(DataType::Bool, &holds.0, &holds.1)
}

/// Integers that don't fit, and floating-point numbers that aren't finite, convert differently from
/// engine to engine: they are left to it.
fn cast(call: &Call<'_>) -> Option<TensorData> {
    let x = call.input(0)?;
    let number = i32::try_from(call.attributes.int("to")?).ok()?;
    let to = opscope_model::proto::data_type_from_onnx(number);
    if is_float(to) {
        return floats(to, &x.dims, &x.to_f64s()?);
    }
    if !is_float(x.data_type) {
        return integers(to, &x.dims, &x.to_i64s()?);
    }
    let numbers = x.to_f64s()?;
    if to == DataType::Bool {
        return integers(to, &x.dims, &numbers.iter().map(|&x| i64::from(x != 0.0)).collect::<Vec<_>>());
    }
    let whole = |x: f64| (x.abs() < 9.0e15).then_some(x.trunc() as i64);
    integers(to, &x.dims, &numbers.into_iter().map(whole).collect::<Option<Vec<_>>>()?)
}
