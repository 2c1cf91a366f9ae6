//! Operators that reduce, search or add up along axes.

use opscope_trace::DataType;

use super::fact::{Dims, Fact, Number};
use super::operator::{Inferred, Op, axes, axis, contradiction};

/// The `Reduce…` family. The axes are an attribute in early versions and an input in late ones; none
/// means all, unless `noop_with_empty_axes` says that nothing is reduced then.
pub(super) fn reduce(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let keep = op.int("keepdims", 1) != 0;
    let chosen = match op.known_list(1, "axes") {
        Ok(Some(list)) if !list.is_empty() => axes(&list, dims.len())?,
        Ok(_) if op.flag("noop_with_empty_axes") => return super::layout::identity(op),
        Ok(_) => (0..dims.len()).collect(),
        // Which axes are reduced isn't known, but how many there are stays the same.
        Err(_) if keep => return op.one(0, vec![None; dims.len()]),
        Err(gap) => return Err(gap),
    };
    let output = Fact::new(op.data_type(0), without(dims, &chosen, keep));
    Ok(vec![if chosen.len() == dims.len() { reduced_to_one(op, output) } else { output }])
}

/// The dimensions after some axes were reduced to one element or dropped.
fn without(dims: &[Option<u64>], reduced: &[usize], keep: bool) -> Dims {
    let axes = dims.iter().enumerate();
    axes.filter(|(axis, _)| keep || !reduced.contains(axis))
        .map(|(axis, dim)| if reduced.contains(&axis) { Some(1) } else { *dim })
        .collect()
}

/// Fills in the result where all elements are reduced, known, and integers.
fn reduced_to_one(op: &Op, output: Fact) -> Fact {
    let fold: fn(i64, i64) -> Option<i64> = match op.node.op_type {
        "ReduceProd" => i64::checked_mul,
        "ReduceSum" => i64::checked_add,
        "ReduceMax" => |x, y| Some(x.max(y)),
        "ReduceMin" => |x, y| Some(x.min(y)),
        _ => return output,
    };
    let Some(elements) = op.elements(0) else { return output };
    let integers: Option<Vec<i64>> = elements.iter().map(|number| number.as_ref()?.int()).collect();
    let Some((&first, rest)) = integers.as_deref().and_then(<[i64]>::split_first) else { return output };
    let result = rest.iter().try_fold(first, |folded, &n| fold(folded, n));
    let result = result.and_then(|n| Number::Int(n).in_type(output.data_type));
    output.with_elements(vec![result])
}

/// `ArgMax` and `ArgMin`.
pub(super) fn arg_extreme(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let reduced = axis(op.int("axis", 0), dims.len())?;
    let keep = op.int("keepdims", 1) != 0;
    Ok(vec![Fact::new(DataType::Int64, without(dims, &[reduced], keep))])
}

/// `TopK`: values and their indices. K is an attribute at first and an input from version 10 on.
pub(super) fn top_k(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    let axis = axis(op.int("axis", -1), dims.len())?;
    let count = match op.attributes().int("k") {
        Some(count) => Some(count),
        None => op.integer(1).ok(),
    };
    let count = count.map(|count| u64::try_from(count).map_err(|_| contradiction!("a K of {count}")));
    let count = count.transpose()?;
    if let Some((count, size)) = count.zip(dims[axis]).filter(|(count, size)| count > size) {
        return Err(contradiction!("the top {count} of {size} elements"));
    }
    dims[axis] = count;
    Ok(vec![Fact::new(op.data_type(0), dims.clone()), Fact::new(DataType::Int64, dims)])
}

/// `NegativeLogLikelihoodLoss` and `SoftmaxCrossEntropyLoss`: one number, or one for each label; the
/// latter also gives the logarithms of the probabilities.
pub(super) fn loss(op: &Op) -> Inferred {
    let dims = match op.attributes().string("reduction") {
        Some("none") => op.dims(1)?.to_vec(),
        _ => Dims::new(),
    };
    Ok(vec![Fact::new(op.data_type(0), dims), op.fact(0)?.without_elements()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn reduced_axes_are_kept_or_dropped() {
        let reduce = |op_type: &str| Case::new(op_type).input(&[2, 3, 4]);
        assert_eq!(reduce("ReduceMean").version(13).ints("axes", &[1, -1]).first(), dims(&[2, 1, 1]));
        assert_eq!(reduce("ReduceSum").list(&[1]).int("keepdims", 0).first(), dims(&[2, 4]));
        assert_eq!(reduce("ReduceMax").first(), dims(&[1, 1, 1]));
        assert_eq!(reduce("ReduceMax").int("noop_with_empty_axes", 1).first(), dims(&[2, 3, 4]));
        assert_eq!(reduce("ReduceSum").typed(DataType::Int64, &[1]).first(), Some(vec![None; 3]));
        assert_eq!(reduce("ArgMax").int("axis", 2).types(), [(DataType::Int64, dims(&[2, 3, 1]))]);
    }

    #[test]
    fn the_elements_of_a_shape_multiply() {
        let product = Case::new("ReduceProd").list(&[2, 3, 4]);
        assert_eq!(product.elements(), dims(&[24]));
    }

    #[test]
    fn the_top_k_are_values_and_indices() {
        let top = Case::new("TopK").input(&[3, 10]).list(&[4]).outputs(2);
        assert_eq!(top.types(), [(DataType::Float32, dims(&[3, 4])), (DataType::Int64, dims(&[3, 4]))]);
        let early = Case::new("TopK").version(1).input(&[3, 10]).int("k", 2).int("axis", 0);
        assert_eq!(early.first(), dims(&[2, 10]));
        assert!(Case::new("TopK").input(&[3]).list(&[4]).note().contains("the top 4 of 3"));
    }

    #[test]
    fn a_loss_is_one_number_or_one_for_each_label() {
        let loss = |reduction: &str| {
            let case = Case::new("SoftmaxCrossEntropyLoss").input(&[3, 5]).typed(DataType::Int64, &[3]);
            case.string("reduction", reduction).outputs(2).dims()
        };
        assert_eq!(loss("mean"), [dims(&[]), dims(&[3, 5])]);
        assert_eq!(loss("none"), [dims(&[3]), dims(&[3, 5])]);
    }
}
