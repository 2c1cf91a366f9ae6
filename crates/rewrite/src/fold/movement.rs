//! Operators that only move elements, or make shapes.

use opscope_model::TensorData;
use opscope_trace::DataType;

use super::elements::{Call, MOST_ELEMENTS, axis, broadcast, count, element_size, pick, positions, walk};
use crate::constant::{integers, list};

pub(super) fn evaluate(call: &Call<'_>) -> Option<Vec<TensorData>> {
    if call.op_type == "Split" {
        return split(call);
    }
    let result = match call.op_type {
        "Identity" => call.input(0).cloned(),
        "Shape" => shape(call),
        "Size" => integers(DataType::Int64, &[], &[i64::try_from(call.input(0)?.elements()).ok()?]),
        "Reshape" => reshape(call),
        "Flatten" => flatten(call),
        "Squeeze" => squeeze(call),
        "Unsqueeze" => unsqueeze(call),
        "Transpose" => transpose(call),
        "Gather" => gather(call),
        "Slice" => slice(call),
        "Concat" => concat(call),
        "Expand" => expand(call),
        "Where" => choose(call),
        "ConstantOfShape" => constant_of_shape(call),
        "Range" => range(call),
        _ => None,
    };
    Some(vec![result?])
}

fn with_dims(data: &TensorData, dims: Vec<u64>) -> Option<TensorData> {
    let same = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n))? == data.elements();
    same.then(|| TensorData { dims, ..data.clone() })
}

fn shape(call: &Call<'_>) -> Option<TensorData> {
    let dims: Vec<i64> = call.input(0)?.dims.iter().map(|&n| n as i64).collect();
    let rank = dims.len() as i64;
    let clamp = |n: i64| (if n < 0 { n + rank } else { n }).clamp(0, rank) as usize;
    let start = clamp(call.attributes.int("start").unwrap_or(0));
    let end = clamp(call.attributes.int("end").unwrap_or(rank));
    Some(list(dims.get(start..end).unwrap_or_default()))
}

fn reshape(call: &Call<'_>) -> Option<TensorData> {
    let data = call.input(0)?;
    let target = call.input(1)?.to_i64s()?;
    let allows_zero = call.attributes.int("allowzero").unwrap_or(0) != 0;
    let mut dims = Vec::with_capacity(target.len());
    let mut open = None;
    for (place, &size) in target.iter().enumerate() {
        dims.push(match size {
            -1 if open.is_none() => {
                open = Some(place);
                1
            }
            0 if !allows_zero => *data.dims.get(place)?,
            size => u64::try_from(size).ok()?,
        });
    }
    if let Some(place) = open {
        let rest = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n))?;
        dims[place] = data.elements().checked_div(rest)?;
    }
    with_dims(data, dims)
}

fn flatten(call: &Call<'_>) -> Option<TensorData> {
    let data = call.input(0)?;
    let given = call.attributes.int("axis").unwrap_or(1);
    let rank = data.dims.len();
    let at = if given == rank as i64 { rank } else { axis(given, rank)? };
    let (before, behind) = data.dims.split_at(at);
    with_dims(data, vec![before.iter().product(), behind.iter().product()])
}

fn squeeze(call: &Call<'_>) -> Option<TensorData> {
    let data = call.input(0)?;
    let rank = data.dims.len();
    let axes = match call.list(1, "axes")? {
        Some(axes) => axes.into_iter().map(|n| axis(n, rank)).collect::<Option<Vec<_>>>()?,
        None => (0..rank).filter(|&place| data.dims[place] == 1).collect(),
    };
    let kept = data.dims.iter().enumerate().filter(|(place, _)| !axes.contains(place));
    with_dims(data, kept.map(|(_, &size)| size).collect())
}

fn unsqueeze(call: &Call<'_>) -> Option<TensorData> {
    let data = call.input(0)?;
    let axes = call.list(1, "axes")??;
    let rank = data.dims.len() + axes.len();
    let axes = axes.into_iter().map(|n| axis(n, rank)).collect::<Option<Vec<_>>>()?;
    let mut rest = data.dims.iter();
    let dims = (0..rank).map(|place| if axes.contains(&place) { Some(1) } else { rest.next().copied() });
    with_dims(data, dims.collect::<Option<_>>()?)
}

fn transpose(call: &Call<'_>) -> Option<TensorData> {
    let data = call.input(0)?;
    let rank = data.dims.len();
    let reversed: Vec<i64> = (0..rank as i64).rev().collect();
    let perm = call.attributes.ints("perm").unwrap_or(&reversed);
    let perm = perm.iter().map(|&n| axis(n, rank)).collect::<Option<Vec<_>>>()?;
    if perm.len() != rank {
        return None;
    }
    let mut strides = vec![1usize; rank];
    for place in (0..rank.saturating_sub(1)).rev() {
        strides[place] = strides[place + 1] * data.dims[place + 1] as usize;
    }
    let dims: Vec<u64> = perm.iter().map(|&from| data.dims[from]).collect();
    let strides: Vec<usize> = perm.iter().map(|&from| strides[from]).collect();
    let met = walk(&dims, &strides, count(&dims)?);
    pick(data, dims, &met)
}

/// The product of the dimensions before an axis, the axis' own, and the product of those behind it.
fn parts(dims: &[u64], axis: usize) -> (usize, usize, usize) {
    let product = |dims: &[u64]| dims.iter().product::<u64>() as usize;
    (product(&dims[..axis]), dims[axis] as usize, product(&dims[axis + 1..]))
}

fn gather(call: &Call<'_>) -> Option<TensorData> {
    let (data, indices) = (call.input(0)?, call.input(1)?);
    let at = axis(call.attributes.int("axis").unwrap_or(0), data.dims.len())?;
    let (before, size, behind) = parts(&data.dims, at);
    let numbers = indices.to_i64s()?.into_iter().map(|n| axis(n, size)).collect::<Option<Vec<_>>>()?;
    let dims: Vec<u64> = [&data.dims[..at], &indices.dims, &data.dims[at + 1..]].concat();
    let mut met = Vec::with_capacity(count(&dims)?);
    for outer in 0..before {
        for &number in &numbers {
            let start = (outer * size + number) * behind;
            met.extend(start..start + behind);
        }
    }
    pick(data, dims, &met)
}

fn slice(call: &Call<'_>) -> Option<TensorData> {
    let data = call.input(0)?;
    let rank = data.dims.len();
    let (starts, ends) = (call.list(1, "starts")??, call.list(2, "ends")??);
    let axes = call.list(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = match call.input(4) {
        Some(steps) => steps.to_i64s()?,
        None => vec![1; starts.len()],
    };
    if [ends.len(), axes.len(), steps.len()].iter().any(|&n| n != starts.len()) {
        return None;
    }
    let mut strides = vec![1usize; rank];
    for place in (0..rank.saturating_sub(1)).rev() {
        strides[place] = strides[place + 1] * data.dims[place + 1] as usize;
    }
    let (mut dims, mut first) = (data.dims.clone(), 0usize);
    for (index, &given) in axes.iter().enumerate() {
        let place = axis(given, rank)?;
        let size = i64::try_from(data.dims[place]).ok()?;
        let step = steps[index];
        // Backwards is rare among constants; the engine can do it.
        if step < 1 {
            return None;
        }
        let clamp = |n: i64| (if n < 0 { n.saturating_add(size) } else { n }).clamp(0, size);
        let (start, end) = (clamp(starts[index]), clamp(ends[index]));
        first += start as usize * strides[place];
        dims[place] = ((end - start).max(0) as u64).div_ceil(step as u64);
        strides[place] *= usize::try_from(step).ok()?;
    }
    let met: Vec<usize> = walk(&dims, &strides, count(&dims)?).into_iter().map(|n| n + first).collect();
    pick(data, dims, &met)
}

fn concat(call: &Call<'_>) -> Option<TensorData> {
    let inputs: Option<Vec<&TensorData>> = call.inputs.iter().map(Option::as_ref).collect();
    let inputs = inputs?;
    let first = inputs.first()?;
    let at = axis(call.attributes.int("axis")?, first.dims.len())?;
    let mut dims = first.dims.clone();
    dims[at] = 0;
    for input in &inputs {
        if input.data_type != first.data_type || input.dims.len() != dims.len() {
            return None;
        }
        dims[at] = dims[at].checked_add(input.dims[at])?;
    }
    count(&dims)?;
    let element = element_size(first.data_type)?;
    let (before, _, _) = parts(&first.dims, at);
    let mut bytes = Vec::new();
    for outer in 0..before {
        for input in &inputs {
            let (_, size, behind) = parts(&input.dims, at);
            let length = size * behind * element;
            bytes.extend_from_slice(input.bytes.get(outer * length..(outer + 1) * length)?);
        }
    }
    Some(TensorData { data_type: first.data_type, dims, bytes: bytes.into() })
}

fn split(call: &Call<'_>) -> Option<Vec<TensorData>> {
    let data = call.input(0)?;
    let at = axis(call.attributes.int("axis").unwrap_or(0), data.dims.len())?;
    let (before, size, behind) = parts(&data.dims, at);
    let sizes = match call.list(1, "split")? {
        Some(sizes) => sizes,
        None => {
            let each = size.div_ceil(call.outputs.max(1));
            (0..call.outputs).map(|n| size.saturating_sub(n * each).min(each) as i64).collect()
        }
    };
    if sizes.iter().try_fold(0i64, |sum, &n| sum.checked_add(n))? != size as i64
        || sizes.len() != call.outputs
    {
        return None;
    }
    let mut start = 0;
    let mut results = Vec::with_capacity(sizes.len());
    for length in sizes {
        let length = usize::try_from(length).ok()?;
        let mut dims = data.dims.clone();
        dims[at] = length as u64;
        let rows = (0..before).flat_map(|outer| {
            let first = (outer * size + start) * behind;
            first..first + length * behind
        });
        results.push(pick(data, dims, &rows.collect::<Vec<_>>())?);
        start += length;
    }
    Some(results)
}

fn expand(call: &Call<'_>) -> Option<TensorData> {
    let data = call.input(0)?;
    let target = call.input(1)?.to_i64s()?;
    let target = target.into_iter().map(|n| u64::try_from(n).ok()).collect::<Option<Vec<_>>>()?;
    let dims = broadcast(&data.dims, &target)?;
    let met = positions(&data.dims, &dims)?;
    pick(data, dims, &met)
}

fn choose(call: &Call<'_>) -> Option<TensorData> {
    let (condition, x, y) = (call.input(0)?, call.input(1)?, call.input(2)?);
    if x.data_type != y.data_type {
        return None;
    }
    let dims = broadcast(&broadcast(&condition.dims, &x.dims)?, &y.dims)?;
    let (from_x, from_y) = (positions(&x.dims, &dims)?, positions(&y.dims, &dims)?);
    let from_condition = positions(&condition.dims, &dims)?;
    let size = element_size(x.data_type)?;
    let mut bytes = Vec::with_capacity(from_x.len() * size);
    for ((i, j), k) in from_x.into_iter().zip(from_y).zip(from_condition) {
        let (source, at) = if *condition.bytes.get(k)? != 0 { (x, i) } else { (y, j) };
        bytes.extend_from_slice(source.bytes.get(at * size..(at + 1) * size)?);
    }
    Some(TensorData { data_type: x.data_type, dims, bytes: bytes.into() })
}

fn constant_of_shape(call: &Call<'_>) -> Option<TensorData> {
    let dims = call.input(0)?.to_i64s()?;
    let dims = dims.into_iter().map(|n| u64::try_from(n).ok()).collect::<Option<Vec<_>>>()?;
    let total = count(&dims)?;
    let (data_type, element) = match call.attributes.tensor("value") {
        None => (DataType::Float32, 0f32.to_le_bytes().to_vec()),
        Some(tensor) => {
            let raw = tensor.raw_data.as_ref().filter(|raw| !raw.is_empty());
            let data_type = opscope_model::proto::data_type_from_onnx(tensor.data_type());
            let float = tensor.float_data.first().map(|x| x.to_le_bytes().to_vec());
            let integer = tensor.int64_data.first().map(|n| n.to_le_bytes().to_vec());
            (data_type, raw.map(|raw| raw.to_vec()).or(float).or(integer)?)
        }
    };
    if element.len() != element_size(data_type)? {
        return None;
    }
    Some(TensorData { data_type, dims, bytes: element.repeat(total).into() })
}

fn range(call: &Call<'_>) -> Option<TensorData> {
    let number = |place| {
        let data = call.input(place)?;
        if data.elements() == 1 { data.to_i64s()?.first().copied() } else { None }
    };
    let (start, limit, step) = (number(0)?, number(1)?, number(2)?);
    let data_type = call.input(0)?.data_type;
    if step == 0 {
        return None;
    }
    let inside = |n: &i64| if step > 0 { *n < limit } else { *n > limit };
    let numbers = std::iter::successors(Some(start), |n| n.checked_add(step)).take_while(inside);
    let numbers: Vec<i64> = numbers.take(MOST_ELEMENTS as usize + 1).collect();
    if numbers.len() as u64 > MOST_ELEMENTS {
        return None;
    }
    integers(data_type, &[numbers.len() as u64], &numbers)
}

#[cfg(test)]
mod tests {
    use opscope_trace::DataType;

    use crate::constant::list;
    use crate::fold::evaluate;
    use crate::node::node;

    #[test]
    fn a_tensor_made_of_its_dimensions_is_of_zeros_in_single_precision() {
        let made = evaluate(&node("ConstantOfShape", &["s"], &["y"]), 17, &[Some(list(&[2, 3]))]).unwrap();
        assert_eq!((made[0].data_type, &*made[0].dims), (DataType::Float32, &[2, 3][..]));
        assert_eq!(made[0].to_f64s().unwrap(), [0.0; 6]);
    }

    #[test]
    fn the_number_of_elements_is_a_scalar() {
        let size = evaluate(&node("Size", &["s"], &["y"]), 17, &[Some(list(&[2, 3, 4]))]).unwrap();
        assert_eq!((size[0].dims.len(), size[0].to_i64s().unwrap()), (0, vec![3]));
    }

    #[test]
    fn what_does_not_fit_is_left_alone() {
        let none = |op: &str, inputs: &[&[i64]]| {
            let given: Vec<_> = inputs.iter().map(|numbers| Some(list(numbers))).collect();
            evaluate(&node(op, &["a", "b"], &["y"]), 17, &given).is_none()
        };
        assert!(none("Reshape", &[&[1, 2, 3], &[2, 2]]) && none("Reshape", &[&[1, 2], &[-1, -1]]));
        assert!(none("Gather", &[&[1, 2], &[2]]) && none("Gather", &[&[1, 2], &[-3]]));
        assert!(none("Expand", &[&[1, 2], &[3]]) && none("ConstantOfShape", &[&[i64::MAX, i64::MAX]]));
    }
}
