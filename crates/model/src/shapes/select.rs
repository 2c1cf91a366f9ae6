//! Operators that pick elements out, put them together, or put them elsewhere.

use opscope_trace::DataType;

use super::fact::{Dims, Fact, Number, element_at, position, rearranged};
use super::operator::{Gap, Inferred, Op, axes, axis, contradiction, same, shown};

/// `Gather`: slices of the data along one axis, one for each index.
pub(super) fn gather(op: &Op) -> Inferred {
    let (data, indices) = (op.dims(0)?, op.dims(1)?);
    let axis = axis(op.int("axis", 0), data.len())?;
    let dims = [&data[..axis], indices, &data[axis + 1..]].concat();
    let output = Fact::new(op.data_type(0), dims);
    let (Some(data), Some(places)) = (op.fact(0)?.known_dims(), op.fact(1)?.known_dims()) else {
        return Ok(vec![output]);
    };
    // Reading the indices is of no use unless the data is known.
    let Some(elements) = op.elements(0) else { return Ok(vec![output]) };
    let Some(chosen) = op.elements(1) else { return Ok(vec![output]) };
    Ok(vec![rearranged(output, Some(elements), |index| {
        let (before, rest) = index.split_at(axis);
        let (place, after) = rest.split_at(places.len());
        let chosen = element_at(&chosen, &places, place)?.int()?;
        let size = data[axis];
        let chosen = if chosen < 0 { size.checked_add_signed(chosen)? } else { chosen as u64 };
        (chosen < size).then(|| position(&[before, &[chosen], after].concat(), &data))
    })])
}

/// `GatherElements`: one element for each index.
pub(super) fn gather_elements(op: &Op) -> Inferred {
    op.one(0, op.dims(1)?)
}

/// `GatherND`: slices of the data, one for each tuple of indices in the last dimension.
pub(super) fn gather_nd(op: &Op) -> Inferred {
    let (data, indices) = (op.dims(0)?, op.dims(1)?);
    let (tuple, places) = indices.split_last().ok_or_else(|| contradiction!("indices of no dimensions"))?;
    let skipped = tuple.ok_or(Gap::Unknown)?.saturating_add(op.size("batch_dims").unwrap_or(0));
    let slice = usize::try_from(skipped).ok().and_then(|skipped| data.get(skipped..));
    let slice = slice.ok_or_else(|| contradiction!("{skipped} indices into {}", shown(data)))?;
    op.one(0, [places, slice].concat())
}

/// `Slice`: a range of some axes, given as attributes at first and as inputs from version 10 on.
pub(super) fn slice(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let starts = op.list(1, "starts");
    let chosen = match op.known_list(3, "axes")? {
        Some(list) => axes(&list, dims.len())?,
        None => {
            let count = match (&starts, op.dims(1)) {
                (Ok(Some(list)), _) => list.len(),
                (_, Ok(&[Some(count)])) => count as usize,
                _ => return op.one(0, vec![None; dims.len()]),
            };
            (0..count.min(dims.len())).collect()
        }
    };
    let unknown = || vec![None; chosen.len()];
    let starts = starts.ok().flatten().unwrap_or_else(unknown);
    let ends = op.list(2, "ends").ok().flatten().unwrap_or_else(unknown);
    let steps = match op.list(4, "steps") {
        Ok(None) => vec![Some(1); chosen.len()],
        Ok(Some(list)) => list,
        Err(_) => unknown(),
    };
    if [&starts, &ends, &steps].iter().any(|list| list.len() != chosen.len()) {
        return Err(contradiction!("lists of different lengths"));
    }
    let mut output = dims.to_vec();
    // Where each axis starts and how it goes on; `None` if that isn't known.
    let mut walks = vec![Some((0, 1)); dims.len()];
    for (place, &axis) in chosen.iter().enumerate() {
        let range = dims[axis].zip(starts[place]).zip(ends[place]).zip(steps[place]);
        (output[axis], walks[axis]) = match range {
            Some((_, 0)) => return Err(contradiction!("a step of 0")),
            Some((((size, start), end), step)) => {
                let (start, count) = range_of(size, start, end, step);
                (Some(count), Some((start, step)))
            }
            None => (None, None),
        };
    }
    let known = op.fact(0)?.known_dims().unwrap_or_default();
    Ok(vec![rearranged(Fact::new(op.data_type(0), output), op.elements(0), |index| {
        let walked = index.iter().zip(&walks).map(|(&i, walk)| {
            let (start, step) = (*walk)?;
            u64::try_from(i128::from(start) + i128::from(i) * i128::from(step)).ok()
        });
        Some(position(&walked.collect::<Option<Vec<_>>>()?, &known))
    })])
}

/// Where a range of an axis starts and how many elements it has. Bounds count from the end when they
/// are negative, and are moved to the nearest that exist.
fn range_of(size: u64, start: i64, end: i64, step: i64) -> (u64, u64) {
    let (size, step) = (i128::from(size), i128::from(step));
    let from_start = |n: i64| if n < 0 { i128::from(n) + size } else { n.into() };
    let (low, high) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let start = from_start(start).clamp(low.max(0).min(high), high);
    let end = from_start(end).clamp(low, high);
    let distance = (end - start) * step.signum();
    let count = if distance <= 0 { 0 } else { (distance + step.abs() - 1) / step.abs() };
    (u64::try_from(start).unwrap_or(0), u64::try_from(count).unwrap_or(0))
}

/// `Split`: parts of given sizes along an axis, or equal ones.
pub(super) fn split(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let axis = axis(op.int("axis", 0), dims.len())?;
    let count = op.output_count();
    let sizes: Dims = match op.list(1, "split") {
        Ok(Some(list)) if list.len() == count => {
            list.into_iter().map(|n| n.and_then(|n| u64::try_from(n).ok())).collect()
        }
        Ok(Some(list)) => return Err(contradiction!("{} sizes for {count} outputs", list.len())),
        Ok(None) => (0..count as u64).map(|part| equal_part(op, dims[axis], part, count as u64)).collect(),
        Err(_) => vec![None; count],
    };
    if let (Some(total), Some(sum)) =
        (dims[axis], sizes.iter().try_fold(0u64, |sum, n| sum.checked_add((*n)?)))
        && total != sum
    {
        return Err(contradiction!("{total} is split into parts of {sum} in all"));
    }
    let known = op.fact(0)?.known_dims().unwrap_or_default();
    let mut start = Some(0u64);
    let mut outputs = Vec::with_capacity(count);
    for size in sizes {
        let mut part = dims.to_vec();
        part[axis] = size;
        outputs.push(rearranged(Fact::new(op.data_type(0), part), op.elements(0), |index| {
            let mut source = index.to_vec();
            source[axis] = source[axis].checked_add(start?)?;
            Some(position(&source, &known))
        }));
        start = start.zip(size).and_then(|(start, size)| start.checked_add(size));
    }
    Ok(outputs)
}

/// Parts are as large as the first, but for the last one.
fn equal_part(op: &Op, total: Option<u64>, part: u64, outputs: u64) -> Option<u64> {
    let count = op.size("num_outputs").unwrap_or(outputs).max(1);
    let size = total?.div_ceil(count);
    Some(size.min(total?.saturating_sub(size.saturating_mul(part))))
}

/// `Concat`: tensors end to end along an axis.
pub(super) fn concat(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    // The axis may be left out in the first version only.
    let axis = axis(op.int("axis", 1), dims.len())?;
    for input in 1..op.input_count() {
        let other = op.dims(input)?;
        if other.len() != dims.len() {
            return Err(contradiction!("{} beside {}", shown(&dims), shown(other)));
        }
        for (place, (dim, &other)) in dims.iter_mut().zip(other).enumerate() {
            *dim = if place == axis {
                dim.zip(other).and_then(|(dim, other)| dim.checked_add(other))
            } else {
                same(*dim, other)?
            };
        }
    }
    let output = Fact::new(op.data_type(0), dims);
    if output.followable().is_none() || op.rank(0)? != 1 {
        return Ok(vec![output]);
    }
    let mut elements = Vec::new();
    for input in 0..op.input_count() {
        match op.elements(input) {
            Some(known) => elements.extend_from_slice(&known),
            None => elements.extend(vec![None; op.dim(input, 0).unwrap_or(0) as usize]),
        }
    }
    Ok(vec![output.with_elements(elements)])
}

/// `Pad`: each axis grows (or shrinks) at both ends.
pub(super) fn pad(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    // The first version calls them paddings.
    let attribute = if op.attributes().has("paddings") { "paddings" } else { "pads" };
    let chosen = match op.known_list(3, "axes")? {
        Some(list) if op.version >= 18 => axes(&list, dims.len())?,
        _ => (0..dims.len()).collect(),
    };
    let Ok(Some(pads)) = op.list(1, attribute) else { return op.one(0, vec![None; dims.len()]) };
    if pads.len() != 2 * chosen.len() {
        return Err(contradiction!("{} pads for {} axes", pads.len(), chosen.len()));
    }
    let mut output = dims.to_vec();
    for (place, &axis) in chosen.iter().enumerate() {
        let ends = pads[place].zip(pads[place + chosen.len()]);
        output[axis] = match dims[axis].zip(ends) {
            Some((size, (before, after))) => {
                let padded = i128::from(size) + i128::from(before) + i128::from(after);
                Some(u64::try_from(padded).map_err(|_| contradiction!("{size} is padded to {padded}"))?)
            }
            None => None,
        };
    }
    op.one(0, output)
}

/// `Compress`: the slices along an axis (or the elements) for which a condition holds.
pub(super) fn compress(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let holds = op.elements(1).and_then(|elements| elements.iter().copied().collect::<Option<Vec<_>>>());
    let held = |limit: u64| {
        let flags = holds.as_ref()?.iter().take(usize::try_from(limit).unwrap_or(usize::MAX));
        Some(flags.filter(|flag| flag.int() != Some(0)).count() as u64)
    };
    let Some(chosen) = op.attributes().int("axis") else {
        return op.one(0, [super::operator::size_of(dims).and_then(held)]);
    };
    let axis = axis(chosen, dims.len())?;
    let mut output = dims.to_vec();
    output[axis] = output[axis].and_then(held);
    op.one(0, output)
}

/// `NonZero`: indices of the elements that aren't zero, one column each.
pub(super) fn non_zero(op: &Op) -> Inferred {
    let rank = op.rank(0)? as u64;
    let unknown = Fact::new(DataType::Int64, [Some(rank), None]);
    let (Some(dims), Some(elements)) = (op.fact(0)?.known_dims(), op.elements(0)) else {
        return Ok(vec![unknown]);
    };
    let Some(numbers) = elements.iter().copied().collect::<Option<Vec<_>>>() else {
        return Ok(vec![unknown]);
    };
    let mut found = Vec::new();
    let mut place = 0;
    super::fact::for_each_index(&dims, |index| {
        if numbers[place].float() != 0.0 {
            found.push(index.to_vec());
        }
        place += 1;
    });
    let columns = found.len() as u64;
    let by_row = (0..rank as usize).flat_map(|row| found.iter().map(move |index| index[row]));
    let elements: Vec<_> = by_row.map(|n| Some(Number::Int(n as i64))).collect();
    Ok(vec![Fact::known(DataType::Int64, &[rank, columns]).with_elements(elements)])
}

/// `NonMaxSuppression`: as many rows of three indices as boxes are kept.
pub(super) fn non_max_suppression(_: &Op) -> Inferred {
    Ok(vec![Fact::new(DataType::Int64, [None, Some(3)])])
}

/// `Unique`: how many there are depends on the data.
pub(super) fn unique(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let (values, inverse) = match op.attributes().int("axis") {
        Some(chosen) => {
            let axis = axis(chosen, dims.len())?;
            let mut values = dims.to_vec();
            values[axis] = None;
            (values, dims[axis])
        }
        None => (vec![None], super::operator::size_of(dims)),
    };
    let list = |dim| Fact::new(DataType::Int64, [dim]);
    Ok(vec![Fact::new(op.data_type(0), values), list(None), list(inverse), list(None)])
}

/// `OneHot`: a new axis, as long as there are classes.
pub(super) fn one_hot(op: &Op) -> Inferred {
    let mut dims = op.dims(0)?.to_vec();
    let axis = axis(op.int("axis", -1), dims.len() + 1)?;
    let depth = op.floats(1).ok().and_then(|depth| depth.first().copied());
    dims.insert(axis, depth.filter(|depth| *depth >= 0.0).map(|depth| depth as u64));
    op.one(2, dims)
}

/// `CenterCropPad`: some axes get given sizes.
pub(super) fn center_crop_pad(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let chosen = match op.attributes().ints("axes") {
        Some(list) => axes(list, dims.len())?,
        None => (0..dims.len()).collect(),
    };
    let sizes = op.integers(1).unwrap_or_else(|_| vec![None; chosen.len()]);
    if sizes.len() != chosen.len() {
        return Err(contradiction!("{} sizes for {} axes", sizes.len(), chosen.len()));
    }
    let mut output = dims.to_vec();
    for (axis, size) in chosen.into_iter().zip(sizes) {
        output[axis] = size.and_then(|size| u64::try_from(size).ok());
    }
    op.one(0, output)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn gathering_takes_the_place_of_an_axis() {
        let gather = Case::new("Gather").input(&[5, 6, 7]).typed(DataType::Int64, &[2, 3]).int("axis", 1);
        assert_eq!(gather.first(), dims(&[5, 2, 3, 7]));
        assert_eq!(Case::new("Gather").list(&[10, 20, 30]).list(&[-1, 0]).elements(), dims(&[30, 10]));
        assert_eq!(Case::new("Gather").list(&[10, 20]).list(&[5, 0]).elements(), Some(vec![None, Some(10)]));
        let case = Case::new("GatherND").input(&[2, 3, 4, 5]).typed(DataType::Int64, &[2, 7, 1]);
        assert_eq!(case.int("batch_dims", 1).first(), dims(&[2, 7, 4, 5]));
        let case = Case::new("GatherElements").input(&[9, 9]).typed(DataType::Int64, &[2, 3]);
        assert_eq!(case.first(), dims(&[2, 3]));
        assert_eq!(Case::new("ScatterND").input(&[8, 4]).list(&[1]).input(&[4]).first(), dims(&[8, 4]));
    }

    #[test]
    fn slices_cut_axes_and_elements() {
        let case = || Case::new("Slice").input(&[20, 10, 5]);
        assert_eq!(case().list(&[0, 0]).list(&[3, 10]).list(&[0, 1]).first(), dims(&[3, 10, 5]));
        assert_eq!(case().list(&[-3]).list(&[i64::MAX]).list(&[-1]).first(), dims(&[20, 10, 3]));
        let early = case().version(9).ints("starts", &[1]).ints("ends", &[-1]);
        assert_eq!(early.first(), dims(&[18, 10, 5]));
        let reversed =
            Case::new("Slice").list(&[1, 2, 3, 4]).list(&[-1]).list(&[i64::MIN]).list(&[0]).list(&[-2]);
        assert_eq!(reversed.elements(), dims(&[4, 2]));
        let unknown = case().typed(DataType::Int64, &[1]).list(&[3]).list(&[1]);
        assert_eq!(unknown.first(), Some(vec![Some(20), None, Some(5)]));
    }

    #[test]
    fn splitting_and_joining_are_inverse() {
        let equal = Case::new("Split").input(&[2, 6]).int("axis", 1).outputs(2);
        assert_eq!(equal.int("num_outputs", 2).dims(), [dims(&[2, 3]), dims(&[2, 3])]);
        let uneven = Case::new("Split").input(&[7]).int("num_outputs", 3).outputs(3);
        assert_eq!(uneven.dims(), [dims(&[3]), dims(&[3]), dims(&[1])]);
        let given = Case::new("Split").input(&[7, 2]).list(&[4, 3]).outputs(2);
        assert_eq!(given.dims(), [dims(&[4, 2]), dims(&[3, 2])]);
        let joined = Case::new("Concat").input(&[2, 3]).input(&[2, 5]).int("axis", -1);
        assert_eq!(joined.first(), dims(&[2, 8]));
        assert_eq!(Case::new("Concat").list(&[1, 2]).list(&[3]).int("axis", 0).elements(), dims(&[1, 2, 3]));
        let misfit = Case::new("Concat").input(&[2, 3]).input(&[4, 5]).int("axis", 1).note();
        assert!(misfit.contains("2 and 4 should be equal"), "{misfit}");
    }

    #[test]
    fn padding_grows_and_shrinks_axes() {
        assert_eq!(Case::new("Pad").input(&[3, 4]).list(&[0, 2, 1, -1]).first(), dims(&[4, 5]));
        let some = Case::new("Pad").input(&[3, 4]).list(&[1, 2]).skip().list(&[1]);
        assert_eq!(some.first(), dims(&[3, 7]));
        assert_eq!(Case::new("Pad").version(2).input(&[3]).ints("pads", &[1, 1]).first(), dims(&[5]));
        assert!(Case::new("Pad").input(&[3]).list(&[-2, -2]).note().contains("-1"));
    }

    #[test]
    fn what_depends_on_data_is_known_in_part() {
        assert_eq!(Case::new("NonZero").input(&[2, 3]).first(), Some(vec![Some(2), None]));
        assert_eq!(Case::new("NonZero").list(&[0, 5, 7]).first(), dims(&[1, 2]));
        assert_eq!(Case::new("NonMaxSuppression").first(), Some(vec![None, Some(3)]));
        let unique = Case::new("Unique").input(&[4, 5]).outputs(4);
        assert_eq!(unique.dims(), [Some(vec![None]), Some(vec![None]), dims(&[20]), Some(vec![None])]);
        let compress = Case::new("Compress").input(&[4, 5]).int("axis", 1);
        assert_eq!(compress.typed(DataType::Bool, &[5]).first(), Some(vec![Some(4), None]));
    }

    #[test]
    fn new_axes_and_sizes_are_as_given() {
        let one_hot = Case::new("OneHot").typed(DataType::Int64, &[2, 3]).scalar(10).floats(&[0.0, 1.0]);
        assert_eq!(one_hot.int("axis", 1).types(), [(DataType::Float32, dims(&[2, 10, 3]))]);
        let cropped = Case::new("CenterCropPad").input(&[20, 10, 3]).list(&[10, 9]).ints("axes", &[0, 1]);
        assert_eq!(cropped.first(), dims(&[10, 9, 3]));
    }

    #[test]
    fn ranges_count_as_python_does() {
        assert_eq!(range_of(10, 2, 8, 3), (2, 2));
        assert_eq!(range_of(10, -3, i64::MAX, 1), (7, 3));
        assert_eq!(range_of(10, 9, i64::MIN, -1), (9, 10));
        assert_eq!(range_of(10, -1, 0, -4), (9, 3));
        assert_eq!(range_of(10, 20, 30, 1), (10, 0));
        assert_eq!(range_of(0, 0, 5, 1), (0, 0));
        assert_eq!(range_of(0, -1, i64::MIN, -1), (0, 0));
        assert_eq!(range_of(u64::MAX, i64::MIN, i64::MAX, i64::MAX).1, 0);
    }
}
