//! Convolutions and pooling: windows that slide over the spatial dimensions.

use opscope_trace::DataType;

use super::fact::{Dims, Fact};
use super::operator::{Gap, Inferred, Op, contradiction, same};

/// How a window slides, one entry for each spatial dimension.
struct Window {
    kernel: Dims,
    strides: Vec<u64>,
    dilations: Vec<u64>,
    /// At the beginning of each dimension, then at the end of each.
    pads: Vec<i64>,
    padding: Padding,
    ceil: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Explicit,
    /// As much as makes the output as large as the input, over the stride.
    Same,
    None,
}

impl Window {
    /// The window of a node whose kernel has the given sizes.
    fn of(op: &Op, kernel: Dims) -> Inferred<Self> {
        let rank = kernel.len();
        let attributes = op.attributes();
        let per_dimension = |name: &str| -> Inferred<Vec<u64>> {
            let Some(list) = attributes.ints(name).filter(|list| !list.is_empty()) else {
                return Ok(vec![1; rank]);
            };
            let sizes: Option<Vec<u64>> = list.iter().map(|&n| reach(u64::try_from(n).ok()?)).collect();
            sizes
                .filter(|sizes| sizes.len() == rank)
                .ok_or_else(|| contradiction!("{name} of {list:?} for {rank} spatial dimensions"))
        };
        let pads = attributes.ints("pads").filter(|pads| !pads.is_empty());
        let pads = pads.map_or_else(|| vec![0; 2 * rank], <[i64]>::to_vec);
        if pads.len() != 2 * rank {
            return Err(contradiction!("{} pads for {rank} spatial dimensions", pads.len()));
        }
        let padding = match attributes.string("auto_pad").unwrap_or("NOTSET") {
            "SAME_UPPER" | "SAME_LOWER" => Padding::Same,
            "VALID" => Padding::None,
            _ => Padding::Explicit,
        };
        if let Some(size) = kernel.iter().flatten().find(|size| reach(**size).is_none()) {
            return Err(contradiction!("a window of {size}"));
        }
        let (strides, dilations) = (per_dimension("strides")?, per_dimension("dilations")?);
        Ok(Self { kernel, strides, dilations, pads, padding, ceil: op.flag("ceil_mode") })
    }

    /// The output's size in one dimension.
    fn slide(&self, axis: usize, input: Option<u64>) -> Inferred<Option<u64>> {
        let stride = self.strides[axis];
        if self.padding == Padding::Same {
            return Ok(input.map(|input| input.div_ceil(stride)));
        }
        let (Some(input), Some(extent)) = (input, self.extent(axis)) else { return Ok(None) };
        let (before, after) = self.pads(axis);
        let room = i128::from(input) + before + after - extent;
        if room < 0 {
            return Err(contradiction!(
                "a window of {extent} does not fit into {input} padded by {before} and {after}"
            ));
        }
        let stride = i128::from(stride);
        let mut steps = room / stride;
        // Rounding up may not add a window that lies in the padding behind the end alone.
        if self.ceil && room % stride > 0 && (steps + 1) * stride < i128::from(input) + before {
            steps += 1;
        }
        Ok(u64::try_from(steps + 1).ok())
    }

    /// How far the kernel reaches, with its gaps.
    fn extent(&self, axis: usize) -> Option<i128> {
        let kernel = i128::from(self.kernel[axis]?);
        Some((kernel - 1) * i128::from(self.dilations[axis]) + 1)
    }

    fn pads(&self, axis: usize) -> (i128, i128) {
        if self.padding == Padding::Explicit {
            (self.pads[axis].into(), self.pads[axis + self.kernel.len()].into())
        } else {
            (0, 0)
        }
    }
}

/// A step or an extent of a window, if it is one that could be; beyond that sums might overflow.
fn reach(size: u64) -> Option<u64> {
    (1..=i32::MAX as u64).contains(&size).then_some(size)
}

/// The sizes of the kernel: the attribute, else those of the weights' last dimensions.
fn kernel(op: &Op, weights: Option<&[Option<u64>]>) -> Inferred<Dims> {
    let from_attribute = op.attributes().ints("kernel_shape").filter(|list| !list.is_empty());
    match (from_attribute, weights) {
        (Some(list), _) => Ok(list.iter().map(|&n| u64::try_from(n).ok()).collect()),
        (None, Some(weights)) => Ok(weights.get(2..).ok_or(Gap::Unknown)?.to_vec()),
        (None, None) => Err(Gap::Unknown),
    }
}

type Image<'d> = (Option<u64>, Option<u64>, &'d [Option<u64>]);

/// Splits dimensions into batch, channels and spatial ones.
fn image(dims: &[Option<u64>]) -> Inferred<Image<'_>> {
    match dims {
        [batch, channels, spatial @ ..] => Ok((*batch, *channels, spatial)),
        _ => Err(contradiction!("{} dimensions have no batch and channels", dims.len())),
    }
}

fn slide_all(window: &Window, spatial: &[Option<u64>]) -> Inferred<Dims> {
    if spatial.len() != window.kernel.len() {
        return Err(contradiction!(
            "a window of {} dimensions over {} spatial ones",
            window.kernel.len(),
            spatial.len()
        ));
    }
    spatial.iter().enumerate().map(|(axis, size)| window.slide(axis, *size)).collect()
}

/// `Conv`, `ConvInteger`, `QLinearConv`, `DeformConv` and their like: the image is input 0.
fn convolution(op: &Op, weights: usize, data_type: DataType) -> Inferred {
    let weights = op.dims(weights)?;
    let window = Window::of(op, kernel(op, Some(weights))?)?;
    let out_channels = weights.first().copied().flatten();
    // ONNX Runtime's own convolutions may keep the channels last.
    let dims = if op.flag("channels_last") {
        let (batch, spatial) = match op.dims(0)? {
            [batch, spatial @ .., _] => (*batch, spatial),
            _ => return Err(Gap::Unknown),
        };
        let mut dims = vec![batch];
        dims.extend(slide_all(&window, spatial)?);
        dims.push(out_channels);
        dims
    } else {
        let (batch, channels, spatial) = image(op.dims(0)?)?;
        check_channels(op, channels, weights)?;
        let mut dims = vec![batch, out_channels];
        dims.extend(slide_all(&window, spatial)?);
        dims
    };
    Ok(vec![Fact::new(data_type, dims)])
}

fn check_channels(op: &Op, channels: Option<u64>, weights: &[Option<u64>]) -> Inferred<()> {
    let group = op.size("group").unwrap_or(1);
    let expected = weights.get(1).copied().flatten().and_then(|n| n.checked_mul(group));
    // In blocked layouts channels are padded to whole blocks.
    if op.node.domain == "com.microsoft.nchwc" {
        return Ok(());
    }
    same(channels, expected).map(drop).map_err(|_| {
        contradiction!("{} channels, but weights for {}", channels.unwrap_or(0), expected.unwrap_or(0))
    })
}

/// A convolution of the image's own type.
pub(super) fn conv(op: &Op) -> Inferred {
    convolution(op, 1, op.data_type(0))
}

/// A convolution of integers, which adds up in 32 bits.
pub(super) fn conv_integer(op: &Op) -> Inferred {
    convolution(op, 1, DataType::Int32)
}

/// `QLinearConv`: the weights are input 3, and the output is of the type of its zero point.
pub(super) fn qlinear_conv(op: &Op) -> Inferred {
    convolution(op, 3, op.data_type(7))
}

/// `ConvTranspose`.
pub(super) fn conv_transpose(op: &Op) -> Inferred {
    let weights = op.dims(1)?;
    let window = Window::of(op, kernel(op, Some(weights))?)?;
    let (batch, channels, spatial) = image(op.dims(0)?)?;
    same(channels, weights.first().copied().flatten())?;
    if spatial.len() != window.kernel.len() {
        return Err(Gap::Unknown);
    }
    let group = op.size("group").unwrap_or(1);
    let out_channels = weights.get(1).copied().flatten().and_then(|n| n.checked_mul(group));
    let mut dims = vec![batch, out_channels];
    let wanted = op.attributes().ints("output_shape").filter(|list| !list.is_empty());
    let extra = op.attributes().ints("output_padding").unwrap_or(&[]);
    for (axis, size) in spatial.iter().enumerate() {
        dims.push(match wanted {
            // Some exporters list batch and channels as well.
            Some(list) => list
                .len()
                .checked_sub(spatial.len())
                .and_then(|skipped| u64::try_from(list[axis + skipped]).ok()),
            None => unslide(&window, axis, *size, extra.get(axis).copied().unwrap_or(0)),
        });
    }
    op.one(0, dims)
}

fn unslide(window: &Window, axis: usize, input: Option<u64>, extra: i64) -> Option<u64> {
    let (input, stride) = (i128::from(input?), i128::from(window.strides[axis]));
    if window.padding == Padding::Same {
        return u64::try_from(input * stride).ok();
    }
    let (before, after) = window.pads(axis);
    let size = (input - 1) * stride + i128::from(extra) + window.extent(axis)? - before - after;
    u64::try_from(size).ok()
}

/// `MaxPool`, `AveragePool` and `LpPool`; the second output of `MaxPool` holds indices.
pub(super) fn pool(op: &Op) -> Inferred {
    let window = Window::of(op, kernel(op, None)?)?;
    let dims = if op.flag("channels_last") || op.node.op_type.starts_with("Nhwc") {
        let [batch, spatial @ .., channels] = op.dims(0)? else { return Err(Gap::Unknown) };
        let mut dims = vec![*batch];
        dims.extend(slide_all(&window, spatial)?);
        dims.push(*channels);
        dims
    } else {
        let (batch, channels, spatial) = image(op.dims(0)?)?;
        let mut dims = vec![batch, channels];
        dims.extend(slide_all(&window, spatial)?);
        dims
    };
    Ok(vec![Fact::new(op.data_type(0), dims.clone()), Fact::new(DataType::Int64, dims)])
}

/// Pooling over all of the image.
pub(super) fn global_pool(op: &Op) -> Inferred {
    let dims = op.dims(0)?;
    let pooled = if op.flag("channels_last") {
        let [batch, spatial @ .., channels] = dims else { return Err(Gap::Unknown) };
        let mut pooled = vec![*batch];
        pooled.extend(vec![Some(1); spatial.len()]);
        pooled.push(*channels);
        pooled
    } else {
        let (batch, channels, spatial) = image(dims)?;
        let mut pooled = vec![batch, channels];
        pooled.extend(vec![Some(1); spatial.len()]);
        pooled
    };
    op.one(0, pooled)
}

/// `MaxUnpool`: the output's dimensions are given, or those that the pooling would have come from.
pub(super) fn max_unpool(op: &Op) -> Inferred {
    let (batch, channels, spatial) = image(op.dims(0)?)?;
    if op.has(2) {
        let given = op.integers(2)?;
        return op.one(0, given.into_iter().map(|n| n.and_then(|n| u64::try_from(n).ok())).collect::<Dims>());
    }
    let window = Window::of(op, kernel(op, None)?)?;
    if spatial.len() != window.kernel.len() {
        return Err(Gap::Unknown);
    }
    let mut dims = vec![batch, channels];
    dims.extend(spatial.iter().enumerate().map(|(axis, size)| unslide(&window, axis, *size, 0)));
    op.one(0, dims)
}

/// `Col2Im`: columns of blocks back into an image.
pub(super) fn col2im(op: &Op) -> Inferred {
    let [batch, columns, _] = op.dims_of_rank(0)?;
    let size = |n: Option<i64>| n.and_then(|n| u64::try_from(n).ok());
    let spatial: Dims = op.integers(1)?.into_iter().map(size).collect();
    let block: Dims = op.integers(2).unwrap_or_else(|_| vec![None]).into_iter().map(size).collect();
    let channels = match (columns, super::operator::size_of(&block)) {
        (Some(columns), Some(block)) if block > 0 => Some(columns / block),
        _ => None,
    };
    let mut dims = vec![batch, channels];
    dims.extend(spatial);
    op.one(0, dims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, dims};

    #[test]
    fn convolutions_know_pads_strides_groups_and_dilations() {
        let conv = Case::new("Conv").input(&[1, 3, 224, 224]).weight(&[64, 3, 7, 7]);
        assert_eq!(
            conv.ints("pads", &[3, 3, 3, 3]).ints("strides", &[2, 2]).first(),
            dims(&[1, 64, 112, 112])
        );
        let grouped = Case::new("Conv").input(&[2, 8, 20]).weight(&[16, 2, 3]).int("group", 4);
        assert_eq!(grouped.ints("dilations", &[2]).first(), dims(&[2, 16, 16]));
        let same = Case::new("Conv").input(&[1, 3, 15, 16]).weight(&[4, 3, 3, 3]).ints("strides", &[2, 2]);
        assert_eq!(same.string("auto_pad", "SAME_UPPER").first(), dims(&[1, 4, 8, 8]));
        let misfit = Case::new("Conv").input(&[1, 4, 8, 8]).weight(&[4, 3, 3, 3]).note();
        assert!(misfit.contains("4 channels, but weights for 3"), "{misfit}");
    }

    #[test]
    fn transposed_convolutions_undo_plain_ones() {
        let case = || Case::new("ConvTranspose").input(&[1, 8, 7, 7]).weight(&[8, 3, 3, 3]).int("group", 2);
        assert_eq!(case().ints("strides", &[2, 2]).first(), dims(&[1, 6, 15, 15]));
        let padded = case().ints("strides", &[2, 2]).ints("pads", &[1, 1, 1, 1]);
        assert_eq!(padded.ints("output_padding", &[1, 1]).first(), dims(&[1, 6, 14, 14]));
        assert_eq!(case().ints("output_shape", &[20, 21]).first(), dims(&[1, 6, 20, 21]));
    }

    #[test]
    fn pooling_gives_values_and_indices() {
        let pool = Case::new("MaxPool").input(&[1, 8, 5, 5]).ints("kernel_shape", &[2, 2]).outputs(2);
        let expected = dims(&[1, 8, 3, 3]);
        assert_eq!(
            pool.ints("strides", &[2, 2]).int("ceil_mode", 1).types(),
            [(DataType::Float32, expected.clone()), (DataType::Int64, expected)]
        );
        assert_eq!(Case::new("GlobalAveragePool").input(&[2, 8, 5, 6]).first(), dims(&[2, 8, 1, 1]));
        let unpool = Case::new("MaxUnpool").input(&[1, 1, 2, 2]).typed(DataType::Int64, &[1, 1, 2, 2]);
        let unpool = unpool.ints("kernel_shape", &[2, 2]).ints("strides", &[2, 2]);
        assert_eq!(unpool.first(), dims(&[1, 1, 4, 4]));
    }

    #[test]
    fn quantised_convolutions_have_the_type_of_their_result() {
        let bytes = |case: Case, dims: &[i64]| case.typed(DataType::Uint8, dims);
        let integer = bytes(bytes(Case::new("ConvInteger"), &[1, 1, 3, 3]), &[1, 1, 2, 2]);
        assert_eq!(integer.types(), [(DataType::Int32, dims(&[1, 1, 2, 2]))]);
        let image = bytes(bytes(Case::new("QLinearConv"), &[1, 3, 8, 8]).input(&[]), &[]);
        let weights = bytes(bytes(image, &[4, 3, 1, 1]).input(&[]), &[]);
        let linear = weights.input(&[]).typed(DataType::Int8, &[]);
        assert_eq!(linear.types(), [(DataType::Int8, dims(&[1, 4, 8, 8]))]);
    }

    #[test]
    fn columns_fold_back_into_an_image() {
        let case = Case::new("Col2Im").input(&[1, 12, 20]).list(&[5, 6]).list(&[2, 2]);
        assert_eq!(case.first(), dims(&[1, 3, 5, 6]));
    }

    fn window(kernel: u64, stride: u64, dilation: u64, pads: [i64; 2], ceil: bool) -> Window {
        Window {
            kernel: vec![Some(kernel)],
            strides: vec![stride],
            dilations: vec![dilation],
            pads: pads.to_vec(),
            padding: Padding::Explicit,
            ceil,
        }
    }

    #[test]
    fn a_window_slides_over_what_the_padding_leaves() {
        let slide = |window: Window, size| window.slide(0, Some(size));
        assert_eq!(slide(window(7, 2, 1, [3, 3], false), 224), Ok(Some(112)));
        assert_eq!(slide(window(3, 1, 2, [0, 0], false), 10), Ok(Some(6)));
        assert!(slide(window(5, 1, 1, [0, 0], false), 4).is_err());
        assert_eq!(slide(window(5, 1, 1, [0, 0], false), 5), Ok(Some(1)));
    }

    #[test]
    fn rounding_up_never_starts_a_window_in_the_padding_behind_the_end() {
        let slide = |window: Window, size| window.slide(0, Some(size));
        assert_eq!(slide(window(3, 2, 1, [0, 0], true), 112), Ok(Some(56)));
        assert_eq!(slide(window(2, 2, 1, [0, 0], true), 5), Ok(Some(3)));
        // The third window would start at 4, where the input has ended and only padding is left.
        assert_eq!(slide(window(1, 2, 1, [1, 1], true), 2), Ok(Some(2)));
        assert_eq!(slide(window(3, 3, 1, [1, 1], true), 2), Ok(Some(1)));
    }
}
