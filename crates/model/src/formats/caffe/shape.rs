//! The sizes of blobs by Caffe's rules.

use super::super::text::Block;

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

    /// The size of a side behind pooling, which rounds up unless told otherwise, and starts no window behind the
    /// end of the image.
    pub fn pooled(&self, side: usize, size: i64, rounds_up: bool) -> Option<i64> {
        let (stride, pad) = (self.stride[side], self.pad[side]);
        let room = size.checked_add(2 * pad)?.checked_sub(self.kernel[side])?;
        if room < 0 {
            return None;
        }
        let up = if rounds_up { stride - 1 } else { 0 };
        let pooled = room.checked_add(up)? / stride + 1;
        let is_behind = pad > 0 && (pooled - 1).checked_mul(stride)? >= size.checked_add(pad)?;
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

/// An axis from the beginning, where a negative one counts from the end.
pub(super) fn axis(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}

/// The product of sizes.
pub(super) fn product(sizes: &[i64]) -> Option<i64> {
    sizes.iter().try_fold(1i64, |product, &size| product.checked_mul(size))
}
