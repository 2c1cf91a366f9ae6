//! Operators that keep the elements and change the dimensions around them.

use super::fact::{Dims, Fact, position, rearranged};
use super::operator::{Gap, Inferred, Op, axes, axis, broadcast, contradiction, shown, size_of};

/// The same tensor again, elements included.
pub(super) fn identity(op: &Op) -> Inferred {
    let output = op.fact(0)?.without_elements();
    Ok(vec![with_same_elements(op, output)])
}

fn with_same_elements(op: &Op, output: Fact) -> Fact {
    match op.elements(0) {
        Some(elements) => output.with_elements(elements),
        None => output,
    }
}

/// A size in a list of them.
fn size(n: i64) -> Inferred<u64> {
    u64::try_from(n).map_err(|_| contradiction!("a dimension of {n}"))
}

/// A tensor of as many dimensions as a list of them has elements, when that is all that is known.
pub(super) fn rank_only(op: &Op, list: usize) -> Inferred {
    // More than any tensor has; the number comes from a file.
    const MAX_LIST: u64 = 1 << 10;
    match op.dims(list)? {
        [Some(rank)] if *rank <= MAX_LIST => op.one(0, vec![None; *rank as usize]),
        _ => Err(Gap::Unknown),
    }
}

/// `Reshape`: −1 is what is left over, 0 the input's own dimension unless `allowzero` says otherwise.
pub(super) fn reshape(op: &Op) -> Inferred {
    let target = match op.list(1, "shape") {
        Ok(target) => target.ok_or(Gap::Unknown)?,
        Err(Gap::Unknown) => return rank_only(op, 1),
        Err(contradiction) => return Err(contradiction),
    };
    let Ok(dims) = op.dims(0) else {
        let size = |n: Option<i64>| n.filter(|n| *n > 0).and_then(|n| u64::try_from(n).ok());
        return op.one(0, target.into_iter().map(size).collect::<Dims>());
    };
    let output = Fact::new(op.data_type(0), reshaped(dims, &target, op.flag("allowzero"))?);
    Ok(vec![with_same_elements(op, output)])
}

fn reshaped(dims: &[Option<u64>], target: &[Option<i64>], zero_is_zero: bool) -> Inferred<Dims> {
    let mut output = Dims::with_capacity(target.len());
    // Dimensions that aren't copied from the same place must have as many elements on both sides.
    let mut rest = dims.to_vec();
    let mut others = Dims::new();
    let mut left_over = None;
    for (place, &wanted) in target.iter().enumerate() {
        let dim = match wanted {
            Some(0) if !zero_is_zero => {
                let copied = *dims
                    .get(place)
                    .ok_or_else(|| contradiction!("dimension {place} of {} is to be copied", shown(dims)))?;
                rest[place] = Some(1);
                output.push(copied);
                continue;
            }
            Some(-1) if left_over.is_some() => return Err(contradiction!("two dimensions are −1")),
            Some(-1) => {
                left_over = Some(place);
                None
            }
            Some(n) => Some(size(n)?),
            None => None,
        };
        if left_over != Some(place) {
            others.push(dim);
        }
        output.push(dim);
    }
    let unknown = others.iter().filter(|dim| dim.is_none()).count();
    let place = match (left_over, unknown) {
        (Some(place), 0) => Some(place),
        // The only dimension that isn't known is left over as well.
        (None, 1) => output.iter().zip(target).position(|(dim, wanted)| dim.is_none() && wanted.is_none()),
        _ => None,
    };
    let known: Dims = others.into_iter().filter(Option::is_some).collect();
    let (Some(total), Some(known)) = (size_of(&rest), size_of(&known)) else { return Ok(output) };
    let misfit = || contradiction!("{} cannot be reshaped to {}", shown(dims), shown(&output));
    match place {
        Some(_) if known == 0 => {}
        Some(_) if total % known != 0 => return Err(misfit()),
        Some(place) => output[place] = Some(total / known),
        None if left_over.is_none() && unknown == 0 && total != known => return Err(misfit()),
        None => {}
    }
    Ok(output)
}

/// `Flatten`: a matrix, split at an axis.
pub(super) fn flatten(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let at = match op.int("axis", 1) {
        // The axis may lie behind the last dimension.
        n if n == dims.len() as i64 => dims.len(),
        n => axis(n, dims.len())?,
    };
    let (rows, columns) = dims.split_at(at);
    Ok(vec![with_same_elements(op, Fact::new(op.data_type(0), [size_of(rows), size_of(columns)]))])
}

/// `Transpose`: reversed, unless a permutation is given.
pub(super) fn transpose(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let permutation = match op.attributes().ints("perm") {
        Some(list) => axes(list, dims.len())?,
        None => (0..dims.len()).rev().collect(),
    };
    let mut sorted = permutation.clone();
    sorted.sort_unstable();
    if sorted.into_iter().ne(0..dims.len()) {
        return Err(contradiction!("{permutation:?} is no order of {} dimensions", dims.len()));
    }
    let output = Fact::new(op.data_type(0), permutation.iter().map(|&from| dims[from]).collect::<Dims>());
    let known = op.fact(0)?.known_dims().unwrap_or_default();
    Ok(vec![rearranged(output, op.elements(0), |index| {
        let mut source = vec![0; index.len()];
        permutation.iter().zip(index).for_each(|(&from, &i)| source[from] = i);
        Some(position(&source, &known))
    })])
}

/// `Squeeze`: drops dimensions of 1, all of them unless axes are given.
pub(super) fn squeeze(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let kept: Dims = match op.known_list(1, "axes")? {
        Some(list) => {
            let dropped = axes(&list, dims.len())?;
            if let Some(&axis) = dropped.iter().find(|axis| dims[**axis].is_some_and(|dim| dim != 1)) {
                return Err(contradiction!("dimension {axis} of {} is not 1", shown(dims)));
            }
            (0..dims.len()).filter(|axis| !dropped.contains(axis)).map(|axis| dims[axis]).collect()
        }
        None if dims.contains(&None) => return Err(Gap::Unknown),
        None => dims.iter().copied().filter(|dim| *dim != Some(1)).collect(),
    };
    Ok(vec![with_same_elements(op, Fact::new(op.data_type(0), kept))])
}

/// `Unsqueeze`: adds dimensions of 1 at the given places of the output.
pub(super) fn unsqueeze(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let list = op.known_list(1, "axes")?.ok_or(Gap::Unknown)?;
    let rank = dims.len() + list.len();
    let added = axes(&list, rank)?;
    let mut rest = dims.iter().copied();
    let mut output = Dims::with_capacity(rank);
    for axis in 0..rank {
        output.push(if added.contains(&axis) {
            Some(1)
        } else {
            rest.next().ok_or_else(|| contradiction!("axes {list:?} name a place twice"))?
        });
    }
    Ok(vec![with_same_elements(op, Fact::new(op.data_type(0), output))])
}

/// `Expand`: broadcast to given dimensions.
pub(super) fn expand(op: &Op) -> Inferred {
    let target = match op.integers(1) {
        Ok(target) => target,
        // Even an unknown list has a length.
        Err(_) => match op.dims(1)? {
            [Some(rank)] if *rank <= 64 => vec![None; *rank as usize],
            _ => return Err(Gap::Unknown),
        },
    };
    let target = target.into_iter().map(|n| n.map(size).transpose()).collect::<Inferred<Dims>>()?;
    let output = Fact::new(op.data_type(0), broadcast(op.dims(0)?, &target)?);
    let known = op.fact(0)?.known_dims().unwrap_or_default();
    Ok(vec![rearranged(output, op.elements(0), |index| Some(position(index, &known)))])
}

/// `Tile`: repeats each dimension a number of times.
pub(super) fn tile(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    if op.version < 6 {
        return tile_one_axis(op, dims);
    }
    let Ok(repeats) = op.integers(1) else { return op.one(0, vec![None; dims.len()]) };
    if repeats.len() != dims.len() {
        return Err(contradiction!("{} repeats for {} dimensions", repeats.len(), dims.len()));
    }
    let repeat = |(dim, times): (&Option<u64>, Option<i64>)| match (dim, times) {
        (Some(0), _) | (_, Some(0)) => Ok(Some(0)),
        (Some(dim), Some(times)) => Ok(dim.checked_mul(size(times)?)),
        _ => Ok(None),
    };
    let output = dims.iter().zip(repeats).map(repeat).collect::<Inferred<Dims>>()?;
    let known = op.fact(0)?.known_dims().unwrap_or_default();
    Ok(vec![rearranged(Fact::new(op.data_type(0), output), op.elements(0), |index| {
        let source: Vec<u64> =
            index.iter().zip(&known).map(|(i, size)| i.checked_rem(*size).unwrap_or(0)).collect();
        Some(position(&source, &known))
    })])
}

/// The first version of `Tile` takes a number of tiles and an axis.
fn tile_one_axis(op: &Op, dims: &[Option<u64>]) -> Inferred {
    let tiles = size(op.integer(1)?)?;
    let axis = axis(op.integer(2)?, dims.len())?;
    let mut output = dims.to_vec();
    output[axis] = output[axis].and_then(|dim| dim.checked_mul(tiles));
    op.one(0, output)
}

/// `DepthToSpace`: blocks of channels become blocks of the image.
pub(super) fn depth_to_space(op: &Op) -> Inferred {
    let [batch, channels, height, width] = op.dims_of_rank(0)?;
    let block = op.size("blocksize").filter(|n| *n > 0).ok_or(Gap::Unknown)?;
    let area = block.checked_mul(block).ok_or(Gap::Unknown)?;
    if let Some(channels) = channels.filter(|channels| channels % area != 0) {
        return Err(contradiction!("{channels} channels are no multiple of {area}"));
    }
    let wider = |dim: Option<u64>| dim.and_then(|dim| dim.checked_mul(block));
    op.one(0, [batch, channels.map(|channels| channels / area), wider(height), wider(width)])
}

/// `SpaceToDepth`: blocks of the image become blocks of channels.
pub(super) fn space_to_depth(op: &Op) -> Inferred {
    let [batch, channels, height, width] = op.dims_of_rank(0)?;
    let block = op.size("blocksize").filter(|n| *n > 0).ok_or(Gap::Unknown)?;
    let area = block.checked_mul(block);
    let deeper = channels.and_then(|channels| channels.checked_mul(area?));
    let narrower = |dim: Option<u64>| dim.map(|dim| dim / block);
    op.one(0, [batch, deeper, narrower(height), narrower(width)])
}

#[cfg(test)]
mod tests {
    use opscope_trace::DataType;

    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn layouts_change_as_told() {
        assert_eq!(Case::new("Reshape").input(&[2, 3, 4]).list(&[0, -1]).first(), dims(&[2, 12]));
        assert_eq!(
            Case::new("Reshape").version(1).input(&[6]).ints("shape", &[3, -1]).first(),
            dims(&[3, 2])
        );
        assert_eq!(Case::new("Flatten").input(&[2, 3, 4]).int("axis", -1).first(), dims(&[6, 4]));
        assert_eq!(Case::new("Flatten").input(&[2, 3]).int("axis", 2).first(), dims(&[6, 1]));
        assert_eq!(
            Case::new("Transpose").input(&[2, 3, 4]).ints("perm", &[2, 0, 1]).first(),
            dims(&[4, 2, 3])
        );
        assert_eq!(Case::new("Transpose").input(&[2, 3, 4]).first(), dims(&[4, 3, 2]));
        assert_eq!(Case::new("Squeeze").input(&[1, 3, 1]).list(&[-1]).first(), dims(&[1, 3]));
        assert_eq!(Case::new("Squeeze").input(&[1, 3, 1]).first(), dims(&[3]));
        assert_eq!(Case::new("Unsqueeze").input(&[3]).list(&[0, -1]).first(), dims(&[1, 3, 1]));
        assert_eq!(Case::new("Unsqueeze").version(11).input(&[3]).ints("axes", &[0]).first(), dims(&[1, 3]));
        assert_eq!(Case::new("Expand").input(&[3, 1]).list(&[2, 1, 6]).first(), dims(&[2, 3, 6]));
        assert_eq!(Case::new("Tile").input(&[2, 3]).list(&[2, 4]).first(), dims(&[4, 12]));
        let blocks = |op_type: &str, dims: &[i64]| Case::new(op_type).input(dims).int("blocksize", 2).first();
        assert_eq!(blocks("DepthToSpace", &[1, 8, 2, 3]), dims(&[1, 2, 4, 6]));
        assert_eq!(blocks("SpaceToDepth", &[1, 2, 4, 6]), dims(&[1, 8, 2, 3]));
    }

    #[test]
    fn elements_move_with_their_layout() {
        assert_eq!(Case::new("Tile").list(&[4, 5]).list(&[2]).elements(), dims(&[4, 5, 4, 5]));
        assert_eq!(Case::new("Expand").list(&[7]).list(&[3]).elements(), dims(&[7, 7, 7]));
        assert_eq!(Case::new("Unsqueeze").scalar(9).list(&[0]).elements(), dims(&[9]));
        let matrix = crate::proto::TensorProto {
            dims: vec![2, 2],
            data_type: Some(7),
            int64_data: vec![1, 2, 3, 4],
            ..Default::default()
        };
        let flat = crate::testing::node("Reshape", &["out0", "in1"], &["flat"]);
        let made = crate::testing::node("ConstantOfShape", &["flat"], &["made"]);
        let case = Case::new("Transpose").stored(matrix).list(&[-1]);
        let (model, shapes) = case.then(flat).then(made).shapes();
        let made = model.graph().value_by_name("made").unwrap().id;
        assert_eq!(Some(shapes.get(made).unwrap().dims.clone()), dims(&[1, 3, 2, 4]));
    }

    #[test]
    fn an_unknown_target_still_tells_the_number_of_dimensions() {
        let case = Case::new("Reshape").input(&[2, 3]).typed(DataType::Int64, &[4]);
        assert_eq!(case.first(), Some(vec![None; 4]));
        let case = Case::new("Expand").input(&[3, 1]).typed(DataType::Int64, &[2]);
        assert_eq!(case.first(), Some(vec![Some(3), None]));
    }

    #[test]
    fn reshape_copies_fills_in_and_refuses() {
        let shape = |dims: &[Option<u64>], target: &[i64], zero_is_zero| {
            let target: Vec<_> = target.iter().copied().map(Some).collect();
            reshaped(dims, &target, zero_is_zero)
        };
        let image = [Some(2), Some(512), Some(7), Some(7)];
        assert_eq!(shape(&image, &[0, -1], false), Ok(vec![Some(2), Some(25088)]));
        assert_eq!(shape(&[None, Some(512), Some(7), Some(7)], &[0, -1], false), Ok(vec![None, Some(25088)]));
        assert_eq!(shape(&[None, Some(512)], &[-1, 256], false), Ok(vec![None, Some(256)]));
        assert_eq!(shape(&[Some(0), Some(3)], &[3, 0], true), Ok(vec![Some(3), Some(0)]));
        assert!(shape(&image, &[3, -1], false).is_err());
        assert!(shape(&image, &[2, 512], false).is_err());
        assert!(shape(&image, &[-1, -1], false).is_err());
        assert!(shape(&image, &[0, 0, 0, 0, 0], false).is_err());
        assert!(shape(&image, &[-2, 1], false).is_err());
    }

    #[test]
    fn the_only_unknown_dimension_of_a_target_is_what_is_left_over() {
        let image = [Some(2), Some(512), Some(7), Some(7)];
        assert_eq!(
            reshaped(&image, &[None, Some(512), Some(49)], false),
            Ok(vec![Some(2), Some(512), Some(49)])
        );
        assert_eq!(reshaped(&image, &[None, Some(-1)], false), Ok(vec![None, None]));
    }
}
