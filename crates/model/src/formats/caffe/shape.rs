//! The sizes of blobs by Caffe's rules.

use super::super::text::Block;
use super::Blob;
use super::layer::Layer;

/// Kernel, stride, padding and dilation of a layer, each for height and width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub kernel: [i64; 2],
    pub stride: [i64; 2],
    pub pad: [i64; 2],
    pub dilation: [i64; 2],
}

impl Window {
    /// A window as the parameters state it: one size for both sides, one for each, or fields with `_h` and `_w`.
    /// `None` without a kernel, and for sizes that can't be.
    pub fn of(parameters: &Block<'_>) -> Option<Self> {
        let both = |field: &str, short: &str, default: i64| {
            let list = parameters.ints(field);
            let side = |place: usize, letter: char| {
                parameters
                    .int(&format!("{short}_{letter}"))
                    .or_else(|| list.get(place).or(list.last()).copied())
                    .unwrap_or(default)
            };
            [side(0, 'h'), side(1, 'w')]
        };
        let window = Self {
            kernel: both("kernel_size", "kernel", 0),
            stride: both("stride", "stride", 1),
            pad: both("pad", "pad", 0),
            dilation: both("dilation", "dilation", 1),
        };
        let in_range = |sizes: [i64; 2], least: i64| sizes.iter().all(|size| (least..1 << 31).contains(size));
        let is_sound = in_range(window.kernel, 1)
            && in_range(window.stride, 1)
            && in_range(window.pad, 0)
            && in_range(window.dilation, 1);
        is_sound.then_some(window)
    }

    fn extent(&self, side: usize) -> Option<i64> {
        self.dilation[side].checked_mul(self.kernel[side] - 1)?.checked_add(1)
    }

    /// The size of a side behind a convolution, which rounds down.
    pub fn convolved(&self, side: usize, size: i64) -> Option<i64> {
        let room = size.checked_add(2 * self.pad[side])?.checked_sub(self.extent(side)?)?;
        (room >= 0).then(|| room / self.stride[side] + 1)
    }

    /// The size of a side behind a transposed convolution.
    pub fn deconvolved(&self, side: usize, size: i64) -> Option<i64> {
        let steps = self.stride[side].checked_mul(size.checked_sub(1)?)?;
        steps.checked_add(self.extent(side)?)?.checked_sub(2 * self.pad[side]).filter(|size| *size > 0)
    }

    /// The size of a side behind pooling, which rounds up unless told otherwise. Where either side is padded, no
    /// window starts behind the end of the image, on both.
    pub fn pooled(&self, side: usize, size: i64, rounds_up: bool) -> Option<i64> {
        let (stride, pad) = (self.stride[side], self.pad[side]);
        let room = size.checked_add(2 * pad)?.checked_sub(self.kernel[side])?;
        if room < 0 {
            return None;
        }
        let up = if rounds_up { stride - 1 } else { 0 };
        let pooled = room.checked_add(up)? / stride + 1;
        let is_padded = self.pad.iter().any(|pad| *pad > 0);
        let is_behind = is_padded && (pooled - 1).checked_mul(stride)? >= size.checked_add(pad)?;
        Some(if is_behind { pooled - 1 } else { pooled })
    }

    /// The padding in ONNX's order: before all sides, then behind them.
    pub fn pads(&self) -> Vec<i64> {
        vec![self.pad[0], self.pad[1], self.pad[0], self.pad[1]]
    }
}

/// A side behind `Interp`, which maps corners to corners; `None` where parameters contradict one another.
pub(super) fn interpolated(parameters: &Block<'_>, field: &str, size: i64) -> Option<i64> {
    let (shrink, zoom) = (parameters.int("shrink_factor"), parameters.int("zoom_factor"));
    if [shrink, zoom].iter().flatten().any(|factor| !(1..1 << 20).contains(factor)) || size < 1 {
        return None;
    }
    match (shrink, zoom, parameters.int(field)) {
        (None, None, Some(size)) => Some(size).filter(|size| *size > 0),
        (shrink, zoom, None) if shrink.is_some() || zoom.is_some() => {
            let shrunk = shrink.map_or(size, |factor| (size - 1) / factor + 1);
            zoom.map_or(Some(shrunk), |factor| (shrunk - 1).checked_mul(factor - 1)?.checked_add(shrunk))
        }
        _ => None,
    }
}

/// Sizes behind layers that change some axes of their only blob.
pub(super) fn along_axes(layer: &Layer<'_>, dims: Option<&[i64]>) -> Option<Vec<i64>> {
    if layer.op_type == "Parameter" {
        return Some(layer.parameters("parameter_param").block("shape")?.ints("dim"));
    }
    let dims = dims?;
    match &*layer.op_type {
        "ArgMax" => {
            let parameters = layer.parameters("argmax_param");
            let most = Some(parameters.int("top_k").unwrap_or(1)).filter(|most| *most > 0)?;
            match parameters.int("axis") {
                Some(at) => {
                    let place = axis(at, dims.len())?;
                    let mut dims = dims.to_vec();
                    dims[place] = most;
                    Some(dims)
                }
                // Places, and the values where they are asked for; of all axes but the first, which stay as ones.
                None => {
                    let pairs = 1 + i64::from(parameters.bool("out_max_val") == Some(true));
                    let ones = std::iter::repeat_n(1, dims.len().saturating_sub(3));
                    Some([*dims.first()?, pairs, most].into_iter().chain(ones).collect())
                }
            }
        }
        "Reduction" => {
            let from = axis(layer.parameters("reduction_param").int("axis").unwrap_or(0), dims.len())?;
            Some(dims[..from].to_vec())
        }
        "Tile" => {
            let parameters = layer.parameters("tile_param");
            let mut dims = dims.to_vec();
            let at = axis(parameters.int("axis").unwrap_or(1), dims.len())?;
            dims[at] = dims[at].checked_mul(parameters.int("tiles").filter(|tiles| *tiles > 0)?)?;
            Some(dims)
        }
        "Embed" => {
            let width = layer.parameters("embed_param").int("num_output").filter(|width| *width > 0)?;
            Some(dims.iter().copied().chain([width]).collect())
        }
        // Of sequences whose first axis is time and whose second are the sequences.
        "LSTM" | "RNN" => {
            let [steps, sequences, ..] = *dims else { return None };
            let width = layer.parameters("recurrent_param").int("num_output").filter(|width| *width > 0)?;
            Some(vec![steps, sequences, width])
        }
        "Im2col" => {
            let [batch, channels, height, width] = *dims else { return None };
            let window = Window::of(layer.parameters("convolution_param"))?;
            let rows = channels.checked_mul(window.kernel[0])?.checked_mul(window.kernel[1])?;
            Some(vec![batch, rows, window.convolved(0, height)?, window.convolved(1, width)?])
        }
        "SPP" => {
            let [batch, channels, ..] = *dims else { return None };
            let levels =
                layer.parameters("spp_param").int("pyramid_height").filter(|it| (1..16).contains(it))?;
            if levels == 1 {
                return Some(vec![batch, channels, 1, 1]);
            }
            // A level has a window for each part, of which the next has four times as many.
            let parts = ((1_i64 << (2 * levels)) - 1) / 3;
            Some(vec![batch, channels.checked_mul(parts)?])
        }
        "Flatten" => {
            let parameters = layer.parameters("flatten_param");
            let first = axis(parameters.int("axis").unwrap_or(1), dims.len())?;
            let last = axis(parameters.int("end_axis").unwrap_or(-1), dims.len())?;
            let flat = product(dims.get(first..=last)?)?;
            Some(
                dims[..first].iter().copied().chain([flat]).chain(dims[last + 1..].iter().copied()).collect(),
            )
        }
        "InnerProduct" => {
            let parameters = layer.parameters("inner_product_param");
            let from = axis(parameters.int("axis").unwrap_or(1), dims.len())?;
            let outputs = parameters.int("num_output").filter(|count| *count > 0)?;
            Some(dims[..from].iter().copied().chain([outputs]).collect())
        }
        "Reshape" => {
            let parameters = layer.parameters("reshape_param");
            let rank = dims.len();
            let at = parameters.int("axis").unwrap_or(0);
            // A negative axis counts from behind the last.
            let from = usize::try_from(if at < 0 { at + rank as i64 + 1 } else { at })
                .ok()
                .filter(|it| *it <= rank)?;
            let end = match parameters.int("num_axes").unwrap_or(-1) {
                -1 => rank,
                count => from.checked_add(usize::try_from(count).ok()?).filter(|end| *end <= rank)?,
            };
            let sizes = reshaped(&dims[from..end], &parameters.block("shape")?.ints("dim"))?;
            Some(dims[..from].iter().copied().chain(sizes).chain(dims[end..].iter().copied()).collect())
        }
        _ => None,
    }
}

/// Sizes in place of others: 0 keeps that of its place, and -1 has what is left.
pub(super) fn reshaped(dims: &[i64], wanted: &[i64]) -> Option<Vec<i64>> {
    let kept = wanted
        .iter()
        .enumerate()
        .map(|(at, &size)| if size == 0 { dims.get(at).copied() } else { Some(size) });
    let mut sizes: Vec<i64> = kept.collect::<Option<_>>()?;
    let known = product(&sizes.iter().copied().filter(|size| *size != -1).collect::<Vec<_>>())?;
    let all = product(dims)?;
    match sizes.iter_mut().find(|size| **size == -1) {
        Some(size) if known > 0 && all % known == 0 => *size = all / known,
        Some(_) => return None,
        None if known != all => return None,
        None => {}
    }
    Some(sizes)
}

/// Sizes behind `Crop`: those of the second blob from an axis on.
pub(super) fn cropped(layer: &Layer<'_>, inputs: &[Blob]) -> Option<Vec<i64>> {
    let [Some(dims), Some(wanted)] = [inputs.first()?.dims.as_ref(), inputs.get(1)?.dims.as_ref()] else {
        return None;
    };
    let from = axis(layer.parameters("crop_param").int("axis").unwrap_or(2), dims.len())?;
    (dims.len() == wanted.len()).then(|| dims[..from].iter().chain(&wanted[from..]).copied().collect())
}

/// An axis from the beginning, where a negative one counts from the end.
pub(super) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

/// The product of sizes.
pub(super) fn product(sizes: &[i64]) -> Option<i64> {
    sizes.iter().try_fold(1i64, |product, &size| product.checked_mul(size))
}
