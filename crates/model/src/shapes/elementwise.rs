//! Operators that work element by element, with broadcasting, and their values where those are
//! known.

use opscope_trace::DataType;

use super::fact::{Dims, Elements, Fact, Number, element_at, for_each_index};
use super::operator::{Gap, Inferred, Op, broadcast};
use crate::tensor::element_count;

/// One input, one output of the same type and dimensions; further inputs are parameters.
pub(super) fn unary(op: &Op) -> Inferred {
    let input = op.fact(0)?;
    let output = Fact { elements: None, ..input.clone() };
    Ok(vec![fold_unary(op, output)])
}

/// As [`unary`], but the output says yes or no.
pub(super) fn predicate(op: &Op) -> Inferred {
    let output = Fact { data_type: DataType::Bool, elements: None, ..op.fact(0)?.clone() };
    Ok(vec![fold_unary(op, output)])
}

/// Two inputs of the same type, broadcast.
pub(super) fn binary(op: &Op) -> Inferred {
    let dims = two_broadcast(op)?;
    let data_type = match op.data_type(0) {
        DataType::Unknown => op.data_type(1),
        known => known,
    };
    Ok(vec![fold_binary(op, Fact::new(data_type, dims))])
}

/// As [`binary`], but the output says yes or no.
pub(super) fn comparison(op: &Op) -> Inferred {
    Ok(vec![fold_binary(op, Fact::new(DataType::Bool, two_broadcast(op)?))])
}

/// As [`binary`], with a second input that may be of another type.
pub(super) fn power(op: &Op) -> Inferred {
    Ok(vec![fold_binary(op, Fact::new(op.data_type(0), two_broadcast(op)?))])
}

/// The second input is broadcast to the first.
pub(super) fn slope(op: &Op) -> Inferred {
    Ok(vec![op.fact(0)?.without_elements()])
}

fn two_broadcast(op: &Op) -> Inferred<Dims> {
    let (left, right) = (op.dims(0)?, op.dims(1)?);
    if fits_to_first(op) { Ok(left.to_vec()) } else { broadcast(left, right) }
}

/// Until version 7 the second input was fitted to the first, from an axis on if need be.
fn fits_to_first(op: &Op) -> bool {
    op.node.domain.is_empty() && op.version < 7
}

const MAX_FOLDED: usize = 64;

/// Any number of inputs, broadcast.
pub(super) fn variadic(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    for input in 1..op.input_count() {
        dims = broadcast(&dims, op.dims(input)?)?;
    }
    let output = Fact::new(op.data_type(0), dims);
    let fold: Option<fn(f64, f64) -> f64> = match op.node.op_type {
        "Max" => Some(f64::max),
        "Min" => Some(f64::min),
        "Sum" => Some(|x, y| x + y),
        _ => None,
    };
    // Following very many inputs would take long, and no shape depends on as many.
    let followed = (0..op.input_count().min(MAX_FOLDED + 1)).map(|input| operand(op, input));
    let inputs = followed.collect::<Option<Vec<_>>>().filter(|inputs| inputs.len() <= MAX_FOLDED);
    let (Some(fold), Some(inputs)) = (fold, inputs) else { return Ok(vec![output]) };
    let data_type = output.data_type;
    Ok(vec![computed(output, |index| {
        let mut numbers = inputs.iter().map(|(dims, elements)| element_at(elements, dims, index));
        let first = numbers.next()??;
        let folded = numbers.try_fold(first, |left, right| merge(fold, left, right?));
        folded?.in_type(data_type)
    })])
}

/// Integers beyond 2^53 can't be told apart as floating-point numbers, so nothing is said of them.
fn merge(fold: fn(f64, f64) -> f64, left: Number, right: Number) -> Option<Number> {
    let result = fold(left.float(), right.float());
    match (left, right) {
        (Number::Int(_), Number::Int(_)) => (result.abs() <= MAX_EXACT).then_some(Number::Int(result as i64)),
        _ => Some(Number::Float(result)),
    }
}

const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// A condition and two values, broadcast.
pub(super) fn select(op: &Op) -> Inferred {
    let dims = broadcast(&broadcast(op.dims(0)?, op.dims(1)?)?, op.dims(2)?)?;
    let output = Fact::new(op.data_type(1), dims);
    let (Some(condition), Some(yes), Some(no)) = (operand(op, 0), operand(op, 1), operand(op, 2)) else {
        return Ok(vec![output]);
    };
    Ok(vec![computed(output, |index| {
        let at = |(dims, elements): &(Vec<u64>, Elements)| element_at(elements, dims, index);
        let chosen = if at(&condition)?.int()? != 0 { &yes } else { &no };
        at(chosen)
    })])
}

/// The same dimensions in another type.
pub(super) fn cast(op: &Op) -> Inferred {
    let to = match op.node.op_type {
        "CastLike" => op.data_type(1),
        // The first version of Cast names the type in words.
        _ => match op.attributes().string("to") {
            Some(name) => type_named(name),
            None => op.type_attribute("to").ok_or(Gap::Unknown)?,
        },
    };
    let input = op.fact(0)?;
    let output = Fact { data_type: to, elements: None, ..input.clone() };
    match op.elements(0) {
        Some(elements) if op.node.op_type != "BitCast" => {
            let cast = |number: &Option<Number>| number.and_then(|number| number.in_type(to));
            Ok(vec![output.with_elements(elements.iter().map(cast).collect::<Vec<_>>())])
        }
        _ => Ok(vec![output]),
    }
}

fn type_named(name: &str) -> DataType {
    match name.to_ascii_uppercase().as_str() {
        "FLOAT" => DataType::Float32,
        "DOUBLE" => DataType::Float64,
        other => DataType::from_name(other).unwrap_or_default(),
    }
}

/// An input's dimensions and elements, if both are known.
fn operand(op: &Op, input: usize) -> Option<(Vec<u64>, Elements)> {
    Some((op.fact(input).ok()?.known_dims()?, op.elements(input)?))
}

/// Fills in elements, of which `element` gives one by its index.
fn computed(output: Fact, element: impl Fn(&[u64]) -> Option<Number>) -> Fact {
    let Some(dims) = output.followable().and_then(|_| output.known_dims()) else { return output };
    let mut elements = Vec::with_capacity(element_count(&dims).unwrap_or(0) as usize);
    for_each_index(&dims, |index| elements.push(element(index)));
    output.with_elements(elements)
}

fn fold_unary(op: &Op, output: Fact) -> Fact {
    let function: fn(Number) -> Option<Number> = match op.node.op_type {
        "Abs" => |x| on_either(x, i64::checked_abs, f64::abs),
        "Neg" => |x| on_either(x, i64::checked_neg, |x| -x),
        "Floor" => |x| on_either(x, Some, f64::floor),
        "Ceil" => |x| on_either(x, Some, f64::ceil),
        "Round" => |x| on_either(x, Some, f64::round_ties_even),
        "Sqrt" => |x| Some(Number::Float(x.float().sqrt())),
        "Reciprocal" => |x| Some(Number::Float(x.float().recip())),
        "Not" => |x| Some(Number::Int((x.int()? == 0).into())),
        "Relu" => |x| on_either(x, |n| Some(n.max(0)), |x| x.max(0.0)),
        "Sign" => {
            |x| on_either(x, |n| Some(n.signum()), |x| if x == 0.0 || x.is_nan() { x } else { x.signum() })
        }
        _ => return output,
    };
    let Some(elements) = op.elements(0) else { return output };
    let data_type = output.data_type;
    let apply = |number: &Option<Number>| function((*number)?)?.in_type(data_type);
    output.with_elements(elements.iter().map(apply).collect::<Vec<_>>())
}

fn on_either(number: Number, int: impl Fn(i64) -> Option<i64>, float: impl Fn(f64) -> f64) -> Option<Number> {
    match number {
        Number::Int(n) => int(n).map(Number::Int),
        Number::Float(x) => Some(Number::Float(float(x))),
    }
}

fn fold_binary(op: &Op, output: Fact) -> Fact {
    let (Some((left_dims, left)), Some((right_dims, right))) = (operand(op, 0), operand(op, 1)) else {
        return output;
    };
    if fits_to_first(op) && left_dims != right_dims {
        return output;
    }
    let data_type = output.data_type;
    let (op_type, c_remainder) = (op.node.op_type, op.flag("fmod"));
    computed(output, |index| {
        let (left, right) = (element_at(&left, &left_dims, index)?, element_at(&right, &right_dims, index)?);
        let result = match (left, right) {
            (Number::Int(left), Number::Int(right)) => integers(op_type, left, right, c_remainder)?,
            _ => floats(op_type, left.float(), right.float(), c_remainder)?,
        };
        result.in_type(data_type)
    })
}

/// Integer division is towards zero. A result that doesn't fit is not known: engines differ.
fn integers(op_type: &str, left: i64, right: i64, c_remainder: bool) -> Option<Number> {
    let truth = |yes: bool| Some(i64::from(yes));
    let result = match op_type {
        "Add" => left.checked_add(right),
        "Sub" => left.checked_sub(right),
        "Mul" => left.checked_mul(right),
        "Div" => left.checked_div(right),
        "Mod" if c_remainder => left.checked_rem(right),
        // The result takes the sign of the divisor, unlike Rust's.
        "Mod" => left
            .checked_rem(right)
            .map(|rest| if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest }),
        "Pow" => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
        "And" => truth(left != 0 && right != 0),
        "Or" => truth(left != 0 || right != 0),
        "Xor" => truth((left != 0) != (right != 0)),
        "Equal" => truth(left == right),
        "Less" => truth(left < right),
        "LessOrEqual" => truth(left <= right),
        "Greater" => truth(left > right),
        "GreaterOrEqual" => truth(left >= right),
        _ => None,
    };
    result.map(Number::Int)
}

fn floats(op_type: &str, left: f64, right: f64, c_remainder: bool) -> Option<Number> {
    let truth = |yes: bool| Some(Number::Int(yes.into()));
    let number = |x: f64| Some(Number::Float(x));
    match op_type {
        "Add" => number(left + right),
        "Sub" => number(left - right),
        "Mul" => number(left * right),
        "Div" => number(left / right),
        "Mod" if c_remainder => number(left % right),
        "Pow" => number(left.powf(right)),
        "Equal" => truth(left == right),
        "Less" => truth(left < right),
        "LessOrEqual" => truth(left <= right),
        "Greater" => truth(left > right),
        "GreaterOrEqual" => truth(left >= right),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn one_input_keeps_its_type_and_dimensions() {
        let output = Case::new("Relu").typed(DataType::Float16, &[2, -1, 4]).types();
        assert_eq!(output, [(DataType::Float16, Some(vec![Some(2), None, Some(4)]))]);
        assert_eq!(Case::new("IsNaN").input(&[3]).types(), [(DataType::Bool, dims(&[3]))]);
    }

    #[test]
    fn several_inputs_are_broadcast() {
        assert_eq!(Case::new("Add").input(&[8, 1, 6, 1]).input(&[7, 1, 5]).first(), dims(&[8, 7, 6, 5]));
        assert_eq!(Case::new("Less").input(&[2, 3]).input(&[3]).types(), [(DataType::Bool, dims(&[2, 3]))]);
        assert_eq!(Case::new("Max").input(&[1, 3]).input(&[2, 1]).input(&[]).first(), dims(&[2, 3]));
        let choice = Case::new("Where").typed(DataType::Bool, &[4, 1]).input(&[1]).input(&[5]);
        assert_eq!(choice.types(), [(DataType::Float32, dims(&[4, 5]))]);
        assert_eq!(Case::new("PRelu").input(&[1, 8, 4, 4]).input(&[8, 1, 1]).first(), dims(&[1, 8, 4, 4]));
    }

    #[test]
    fn inputs_that_cannot_be_broadcast_are_noted() {
        let note = Case::new("Add").input(&[2, 3]).input(&[4]).note();
        assert!(note.contains("`Add_0` (Add)") && note.contains("3 cannot be broadcast to 4"), "{note}");
    }

    #[test]
    fn early_versions_fit_the_second_input_to_the_first() {
        let early =
            Case::new("Add").version(6).input(&[2, 3, 4]).input(&[3]).int("axis", 1).int("broadcast", 1);
        assert_eq!(early.first(), dims(&[2, 3, 4]));
    }

    #[test]
    fn a_cast_takes_the_type_it_is_told() {
        let cast = |case: Case| case.input(&[2]).types();
        assert_eq!(cast(Case::new("Cast").int("to", 6)), [(DataType::Int32, dims(&[2]))]);
        assert_eq!(cast(Case::new("Cast").version(1).string("to", "INT64")), [(DataType::Int64, dims(&[2]))]);
        let like = Case::new("CastLike").input(&[2]).typed(DataType::BFloat16, &[]);
        assert_eq!(like.types(), [(DataType::BFloat16, dims(&[2]))]);
    }

    #[test]
    fn integers_are_computed_as_the_operators_define_them() {
        let compute =
            |op_type: &str, left: &[i64], right: &[i64]| Case::new(op_type).list(left).list(right).elements();
        assert_eq!(compute("Add", &[1, 2], &[3]), dims(&[4, 5]));
        assert_eq!(compute("Sub", &[9, 8], &[3, 1]), dims(&[6, 7]));
        assert_eq!(compute("Mul", &[2, 3], &[5]), dims(&[10, 15]));
        assert_eq!(compute("Div", &[7, 9], &[2]), dims(&[3, 4]));
        assert_eq!(compute("Mod", &[-7, 7], &[4]), dims(&[1, 3]));
        assert_eq!(compute("Pow", &[3], &[2]), dims(&[9]));
        assert_eq!(compute("Max", &[3, 8], &[5]), dims(&[5, 8]));
        assert_eq!(compute("Min", &[3, 8], &[5]), dims(&[3, 5]));
        // Elements that can't be computed stay unknown, and only those.
        assert_eq!(compute("Div", &[7, 9], &[0, 3]), Some(vec![None, Some(3)]));
        assert_eq!(compute("Mul", &[i64::MAX, 2], &[2]), Some(vec![None, Some(4)]));
    }

    #[test]
    fn floating_point_rounds_as_its_type_does() {
        // In single precision 0.1 is a little more than a tenth. 50 times that is still 5 when it is
        // rounded again, but would be 6 if it were rounded up without that.
        let grown = Case::new("Mul").floats(&[0.1, 0.5]).floats(&[50.0]);
        let ceiled = grown.then(crate::testing::node("Ceil", &["out0"], &["up"]));
        let mut whole = crate::testing::node("Cast", &["up"], &["whole"]);
        whole.attribute =
            vec![crate::proto::AttributeProto { name: Some("to".into()), i: Some(7), ..Default::default() }];
        let made = crate::testing::node("ConstantOfShape", &["whole"], &["made"]);
        let (model, shapes) = ceiled.then(whole).then(made).shapes();
        let made = model.graph().value_by_name("made").unwrap().id;
        assert_eq!(shapes.get(made).unwrap().dims, [Some(5), Some(25)]);
    }

    #[test]
    fn a_known_condition_chooses_elements() {
        let equal = Case::new("Equal").list(&[1, 2, 3]).list(&[2]).list(&[7, 8, 9]);
        let chosen = crate::testing::node("Where", &["out0", "in2", "in0"], &["chosen"]);
        let made = crate::testing::node("ConstantOfShape", &["chosen"], &["made"]);
        // `Equal` ignores its third input.
        let (model, shapes) = equal.then(chosen).then(made).shapes();
        let made = model.graph().value_by_name("made").unwrap().id;
        assert_eq!(shapes.get(made).unwrap().dims, [Some(1), Some(8), Some(3)]);
    }
}
