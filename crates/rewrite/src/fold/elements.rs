//! A node to be computed, and which elements of its inputs those of its result are.

use opscope_model::{Attributes, TensorData};
use opscope_trace::DataType;

/// Results of more elements than this aren't stored: the file would grow more than the node costs.
pub const MOST_ELEMENTS: u64 = 1 << 20;

/// A node with the data of its inputs; `None` is an input that is left out.
pub struct Call<'a> {
    pub op_type: &'a str,
    pub opset: i64,
    pub attributes: Attributes<'a>,
    pub inputs: &'a [Option<TensorData>],
    pub outputs: usize,
}

impl Call<'_> {
    pub fn input(&self, position: usize) -> Option<&TensorData> {
        self.inputs.get(position)?.as_ref()
    }

    /// A list of integers that newer versions take as an input, and older ones as an attribute. The
    /// outer `None` is a list that can't be read.
    pub fn list(&self, position: usize, attribute: &str) -> Option<Option<Vec<i64>>> {
        match self.input(position) {
            Some(data) => Some(Some(data.to_i64s()?)),
            None => Some(self.attributes.ints(attribute).map(<[i64]>::to_vec)),
        }
    }
}

/// The number of elements, if there aren't too many.
pub fn count(dims: &[u64]) -> Option<usize> {
    let count = dims.iter().try_fold(1u64, |product, &n| product.checked_mul(n))?;
    (count <= MOST_ELEMENTS).then_some(count as usize)
}

/// An axis counted from the front.
pub fn axis(axis: i64, rank: usize) -> Option<usize> {
    let from_front = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(from_front).ok().filter(|axis| *axis < rank)
}

/// The dimensions that two shapes broadcast to.
pub fn broadcast(a: &[u64], b: &[u64]) -> Option<Vec<u64>> {
    let rank = a.len().max(b.len());
    let at = |dims: &[u64], place: usize| (place + dims.len()).checked_sub(rank).map_or(1, |i| dims[i]);
    let merged = (0..rank).map(|place| match (at(a, place), at(b, place)) {
        (x, y) if x == y => Some(x),
        (1, y) => Some(y),
        (x, 1) => Some(x),
        _ => None,
    });
    merged.collect()
}

/// For each element of `target`, the position of the element of `source` that is broadcast to it.
pub fn positions(source: &[u64], target: &[u64]) -> Option<Vec<usize>> {
    let total = count(target)?;
    let shift = target.len().checked_sub(source.len())?;
    let mut strides = vec![0usize; target.len()];
    let mut stride = 1usize;
    for (place, &size) in source.iter().enumerate().rev() {
        strides[place + shift] = if size == 1 { 0 } else { stride };
        stride = stride.checked_mul(size as usize)?;
    }
    Some(walk(target, &strides, total))
}

/// The positions that a walk over `dims` in row-major order meets, with the given steps.
pub fn walk(dims: &[u64], strides: &[usize], total: usize) -> Vec<usize> {
    let mut index = vec![0u64; dims.len()];
    let mut position = 0;
    let mut met = Vec::with_capacity(total);
    for _ in 0..total {
        met.push(position);
        for place in (0..dims.len()).rev() {
            index[place] += 1;
            position += strides[place];
            if index[place] < dims[place] {
                break;
            }
            position -= strides[place] * dims[place] as usize;
            index[place] = 0;
        }
    }
    met
}

/// The elements at some positions.
pub fn pick(source: &TensorData, dims: Vec<u64>, positions: &[usize]) -> Option<TensorData> {
    let size = element_size(source.data_type)?;
    let mut bytes = Vec::with_capacity(positions.len() * size);
    for position in positions {
        bytes.extend_from_slice(source.bytes.get(position * size..(position + 1) * size)?);
    }
    Some(TensorData { data_type: source.data_type, dims, bytes: bytes.into() })
}

pub fn element_size(data_type: DataType) -> Option<usize> {
    let bits = data_type.bits()?;
    bits.is_multiple_of(8).then_some(bits as usize / 8)
}
