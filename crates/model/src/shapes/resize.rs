//! Operators that sample an image at other places.

use super::fact::Dims;
use super::operator::{Gap, Inferred, Op, axes, contradiction};

/// `Resize`: by scales, or to sizes. Version 10 takes the scales as its second input, later ones as
/// the third after the region of interest, and the sizes as the fourth.
pub(super) fn resize(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let (scales, sizes) = if op.version < 11 { (1, None) } else { (2, Some(3)) };
    let chosen = match op.attributes().ints("axes") {
        Some(list) => axes(list, dims.len())?,
        None => (0..dims.len()).collect(),
    };
    if let Some(sizes) = sizes.filter(|input| op.has(*input)) {
        return to_sizes(op, dims, &chosen, sizes);
    }
    // An empty list stands for one that is left out.
    let Ok(scales) = op.floats(scales) else { return op.one(0, unknown_at(dims, &chosen)) };
    let region = match op.attributes().string("coordinate_transformation_mode") {
        Some("tf_crop_and_resize") => op.floats(1).ok(),
        _ => Some(Vec::new()),
    };
    let Some(region) = region else { return op.one(0, unknown_at(dims, &chosen)) };
    op.one(0, scaled(dims, &chosen, &scales, &region)?)
}

/// `Upsample`: its first version has two scales, later ones a list as an attribute, then an input.
pub(super) fn upsample(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let chosen: Vec<usize> = (0..dims.len()).collect();
    let attributes = op.attributes();
    let scales = match (attributes.floats("scales"), attributes.float("height_scale")) {
        (Some(list), _) => list.iter().map(|&x| x.into()).collect(),
        (None, Some(height)) => {
            let width = attributes.float("width_scale").ok_or(Gap::Unknown)?;
            vec![1.0, 1.0, height.into(), width.into()]
        }
        (None, None) => match op.floats(1) {
            Ok(list) => list,
            Err(_) => return op.one(0, unknown_at(dims, &chosen)),
        },
    };
    op.one(0, scaled(dims, &chosen, &scales, &[])?)
}

fn unknown_at(dims: &[Option<u64>], chosen: &[usize]) -> Dims {
    let mut dims = dims.to_vec();
    chosen.iter().for_each(|&axis| dims[axis] = None);
    dims
}

/// Sizes round down, in single precision as ONNX's definition has it. A region lists where it starts
/// and then where it ends in each axis, as parts of the whole.
fn scaled(dims: &[Option<u64>], chosen: &[usize], scales: &[f64], region: &[f64]) -> Inferred<Dims> {
    if scales.len() != chosen.len() {
        return Err(contradiction!("{} scales for {} axes", scales.len(), chosen.len()));
    }
    let mut output = dims.to_vec();
    for (place, (&axis, &scale)) in chosen.iter().zip(scales).enumerate() {
        let part = match (region.get(place), region.get(place + chosen.len())) {
            (Some(start), Some(end)) => (end - start) as f32,
            _ => 1.0,
        };
        output[axis] = dims[axis].map(|size| (size as f32 * part * scale as f32).floor().max(0.0) as u64);
    }
    Ok(output)
}

fn to_sizes(op: &Op, dims: &[Option<u64>], chosen: &[usize], input: usize) -> Inferred {
    let Ok(sizes) = op.integers(input) else { return op.one(0, unknown_at(dims, chosen)) };
    if sizes.len() != chosen.len() {
        return Err(contradiction!("{} sizes for {} axes", sizes.len(), chosen.len()));
    }
    let sizes: Dims = sizes.into_iter().map(|n| n.and_then(|n| u64::try_from(n).ok())).collect();
    let mut output = dims.to_vec();
    // One scale for all axes: the smallest or the largest that the sizes ask for.
    let pick: fn(f32, f32) -> f32 = match op.attributes().string("keep_aspect_ratio_policy") {
        Some("not_larger") => f32::min,
        Some("not_smaller") => f32::max,
        _ => {
            chosen.iter().zip(sizes).for_each(|(&axis, size)| output[axis] = size);
            return op.one(0, output);
        }
    };
    let scales = chosen.iter().zip(&sizes).map(|(&axis, size)| Some((*size)? as f32 / dims[axis]? as f32));
    let scale = scales.collect::<Option<Vec<f32>>>().and_then(|scales| scales.into_iter().reduce(pick));
    for &axis in chosen {
        // Halves round up.
        output[axis] = dims[axis].zip(scale).map(|(size, scale)| (size as f32 * scale + 0.5).floor() as u64);
    }
    op.one(0, output)
}

/// `GridSample`: one sample for each place of the grid, whose last dimension holds coordinates.
pub(super) fn grid_sample(op: &Op) -> Inferred {
    let grid = op.dims(1)?;
    let [batch, channels, ..] = op.dims(0)? else { return Err(Gap::Unknown) };
    let [grid_batch, places @ .., _] = grid else { return Err(Gap::Unknown) };
    let mut dims = vec![batch.or(*grid_batch), *channels];
    dims.extend(places);
    op.one(0, dims)
}

/// `AffineGrid`: coordinates for an image of the given dimensions, without its channels.
pub(super) fn affine_grid(op: &Op) -> Inferred {
    let sizes = op.integers(1)?;
    let [batch, _, spatial @ ..] = sizes.as_slice() else { return Err(Gap::Unknown) };
    let size = |n: &Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    let mut dims = vec![size(batch)];
    dims.extend(spatial.iter().map(size));
    dims.push(Some(spatial.len() as u64));
    op.one(0, dims)
}

/// `RoiAlign`: a small image for each region.
pub(super) fn roi_align(op: &Op) -> Inferred {
    let size = |attribute| u64::try_from(op.int(attribute, 1)).ok();
    let dims = [op.dim(1, 0), op.dim(0, 1), size("output_height"), size("output_width")];
    op.one(0, dims)
}

/// `MaxRoiPool`: a small image for each region, of the attribute's size.
pub(super) fn max_roi_pool(op: &Op) -> Inferred {
    let pooled = op.attributes().ints("pooled_shape").ok_or(Gap::Unknown)?;
    let mut dims = vec![op.dim(1, 0), op.dim(0, 1)];
    dims.extend(pooled.iter().map(|&n| u64::try_from(n).ok()));
    op.one(0, dims)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, dims};

    #[test]
    fn an_image_is_resized_by_scales_or_to_sizes() {
        let image = || Case::new("Resize").input(&[1, 3, 5, 4]);
        assert_eq!(image().skip().floats(&[1.0, 1.0, 1.5, 2.0]).first(), dims(&[1, 3, 7, 8]));
        assert_eq!(image().skip().skip().list(&[1, 3, 9, 9]).first(), dims(&[1, 3, 9, 9]));
        assert_eq!(image().skip().floats(&[0.5]).ints("axes", &[-2]).first(), dims(&[1, 3, 2, 4]));
        assert_eq!(image().version(10).floats(&[1.0, 1.0, 2.0, 2.0]).first(), dims(&[1, 3, 10, 8]));
        let keep = |policy| {
            let case = image().skip().skip().list(&[10, 10]).ints("axes", &[2, 3]);
            case.string("keep_aspect_ratio_policy", policy).first()
        };
        assert_eq!(keep("not_larger"), dims(&[1, 3, 10, 8]));
        assert_eq!(keep("not_smaller"), dims(&[1, 3, 13, 10]));
        let unknown = image().skip().typed(opscope_trace::DataType::Float32, &[4]);
        assert_eq!(unknown.first(), Some(vec![None; 4]));
    }

    #[test]
    fn upsampling_is_an_early_resize() {
        assert_eq!(
            Case::new("Upsample").version(9).input(&[1, 4]).floats(&[1.0, 2.0]).first(),
            dims(&[1, 8])
        );
    }

    #[test]
    fn a_grid_says_how_many_samples_there_are() {
        let sampled = Case::new("GridSample").input(&[2, 3, 8, 8]).input(&[2, 5, 6, 2]);
        assert_eq!(sampled.first(), dims(&[2, 3, 5, 6]));
        let grid = Case::new("AffineGrid").input(&[2, 2, 3]).list(&[2, 3, 5, 6]);
        assert_eq!(grid.first(), dims(&[2, 5, 6, 2]));
    }

    #[test]
    fn regions_become_small_images() {
        let align = Case::new("RoiAlign").input(&[1, 8, 32, 32]).input(&[100, 4]).int("output_height", 7);
        assert_eq!(align.int("output_width", 6).first(), dims(&[100, 8, 7, 6]));
        let pool = Case::new("MaxRoiPool").input(&[1, 8, 32, 32]).input(&[100, 5]);
        assert_eq!(pool.ints("pooled_shape", &[7, 7]).first(), dims(&[100, 8, 7, 7]));
    }
}
