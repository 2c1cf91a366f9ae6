//! Facts about one value while shapes are inferred.

use std::sync::Arc;

use opscope_trace::DataType;

use crate::tensor::{TensorData, element_count};

/// Dimensions of which some may be unknown.
pub(super) type Dims = Vec<Option<u64>>;

/// Elements are followed through at most this many of them: enough for shapes, scales and index
/// lists, too few for weights.
pub(super) const MAX_ELEMENTS: u64 = 4096;

/// No real tensor has more dimensions than this; one that does counts as of unknown dimensions.
const MAX_DIMENSIONS: usize = 256;

/// Nor are elements followed in tensors of more dimensions than this.
const MAX_RANK: usize = 8;

/// An element whose value is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// Of an integer type; true is 1.
    Int(i64),
    /// Of a floating-point type.
    Float(f64),
}

impl Number {
    pub(super) fn int(self) -> Option<i64> {
        if let Self::Int(n) = self { Some(n) } else { None }
    }

    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::Float(x) => x,
        }
    }

    /// The number as an element of the given type; `None` where it doesn't fit or how it is rounded
    /// isn't known here.
    pub(super) fn in_type(self, data_type: DataType) -> Option<Self> {
        match data_type {
            DataType::Float64 => Some(Self::Float(self.float())),
            DataType::Float32 => Some(Self::Float((self.float() as f32).into())),
            DataType::Bool => Some(Self::Int((self.float() != 0.0).into())),
            _ => {
                let n = match self {
                    Self::Int(n) => n,
                    // 2^63 is the first number that an i64 can't hold.
                    Self::Float(x) if x.abs() < 9_223_372_036_854_775_808.0 => x.trunc() as i64,
                    Self::Float(_) => return None,
                };
                let (low, high) = match data_type {
                    DataType::Int64 => (i64::MIN, i64::MAX),
                    DataType::Int32 => (i32::MIN.into(), i32::MAX.into()),
                    DataType::Int16 => (i16::MIN.into(), i16::MAX.into()),
                    DataType::Int8 => (i8::MIN.into(), i8::MAX.into()),
                    DataType::Uint64 => (0, i64::MAX),
                    DataType::Uint32 => (0, u32::MAX.into()),
                    DataType::Uint16 => (0, u16::MAX.into()),
                    DataType::Uint8 => (0, u8::MAX.into()),
                    _ => return None,
                };
                (low..=high).contains(&n).then_some(Self::Int(n))
            }
        }
    }
}

/// The elements of a tensor in row-major order, as far as they are known.
pub(super) type Elements = Arc<[Option<Number>]>;

/// All that is known about a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fact {
    /// The element type; [`DataType::Unknown`] if it isn't known, or the value is no tensor.
    pub(super) data_type: DataType,
    /// The dimensions; `None` if not even their number is known.
    pub(super) dims: Option<Dims>,
    /// The elements, of small tensors whose dimensions are all known; as many as the dimensions say.
    pub(super) elements: Option<Elements>,
}

impl Fact {
    pub(super) fn new(data_type: DataType, dims: impl Into<Dims>) -> Self {
        let dims = Some(dims.into()).filter(|dims| dims.len() <= MAX_DIMENSIONS);
        Self { data_type, dims, elements: None }
    }

    /// A tensor whose dimensions are known.
    pub(super) fn known(data_type: DataType, dims: &[u64]) -> Self {
        Self::new(data_type, dims.iter().copied().map(Some).collect::<Dims>())
    }

    /// A tensor of no dimensions.
    pub(super) fn scalar(data_type: DataType) -> Self {
        Self::new(data_type, [])
    }

    /// A vector of integers.
    pub(super) fn integers(elements: impl IntoIterator<Item = Option<i64>>) -> Self {
        let elements: Vec<_> = elements.into_iter().map(|n| n.map(Number::Int)).collect();
        Self::known(DataType::Int64, &[elements.len() as u64]).with_elements(elements)
    }

    /// Adds the elements; they are left out again where they are too many or don't fit the
    /// dimensions, or when none of them is known.
    pub(super) fn with_elements(mut self, elements: impl Into<Elements>) -> Self {
        let elements = elements.into();
        let fits = self.followable().is_some_and(|count| count == elements.len());
        if fits && (elements.is_empty() || elements.iter().any(Option::is_some)) {
            self.elements = Some(elements);
        }
        self
    }

    /// Adds the elements of a stored tensor.
    pub(super) fn with_data(self, data: &TensorData) -> Self {
        match self.followable() {
            Some(_) => match numbers(data) {
                Some(elements) => self.with_elements(elements),
                None => self,
            },
            None => self,
        }
    }

    /// How many elements there are, if they are few enough to be followed.
    pub(super) fn followable(&self) -> Option<usize> {
        let dims = self.known_dims()?;
        let count = element_count(&dims)?;
        (count <= MAX_ELEMENTS && dims.len() <= MAX_RANK).then_some(count as usize)
    }

    /// The dimensions, if all are known.
    pub(super) fn known_dims(&self) -> Option<Vec<u64>> {
        self.dims.as_ref()?.iter().copied().collect()
    }

    /// The same tensor without its elements.
    pub(super) fn without_elements(&self) -> Self {
        Self { elements: None, ..self.clone() }
    }

    /// Whether type and dimensions are known completely.
    pub(super) fn is_complete(&self) -> bool {
        self.data_type != DataType::Unknown && self.known_dims().is_some()
    }
}

fn numbers(data: &TensorData) -> Option<Vec<Option<Number>>> {
    match data.to_i64s() {
        Some(integers) => Some(integers.into_iter().map(|n| Some(Number::Int(n))).collect()),
        None => Some(data.to_f64s()?.into_iter().map(|x| Some(Number::Float(x))).collect()),
    }
}

/// Fills in the elements of a tensor that holds those of another in another order: `source` gives the
/// position there of the element at an index.
pub(super) fn rearranged(
    output: Fact,
    elements: Option<Elements>,
    source: impl Fn(&[u64]) -> Option<usize>,
) -> Fact {
    let (Some(elements), Some(_), Some(dims)) = (elements, output.followable(), output.known_dims()) else {
        return output;
    };
    let mut moved = Vec::new();
    for_each_index(&dims, |index| {
        moved.push(source(index).and_then(|position| elements.get(position).copied().flatten()));
    });
    output.with_elements(moved)
}

/// The element at an index, broadcast as [`position`] does.
pub(super) fn element_at(elements: &Elements, dims: &[u64], index: &[u64]) -> Option<Number> {
    elements.get(position(index, dims)).copied().flatten()
}

/// Calls `visit` with every index of a tensor of the given dimensions, in row-major order.
pub(super) fn for_each_index(dims: &[u64], mut visit: impl FnMut(&[u64])) {
    let mut index = vec![0; dims.len()];
    for _ in 0..element_count(dims).unwrap_or(0) {
        visit(&index);
        for (position, size) in index.iter_mut().zip(dims).rev() {
            *position += 1;
            if *position < *size {
                break;
            }
            *position = 0;
        }
    }
}

/// The row-major position of an index; dimensions of size 1 are repeated, as broadcasting does, and
/// leading ones that the tensor lacks are ignored.
pub(super) fn position(index: &[u64], dims: &[u64]) -> usize {
    let index = &index[index.len().saturating_sub(dims.len())..];
    let position = index
        .iter()
        .zip(dims)
        .fold(0, |position, (&i, &size)| position * size + i.min(size.saturating_sub(1)));
    position as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_do_not_fit_the_dimensions_are_left_out() {
        let two = vec![Some(Number::Int(1)), None];
        assert!(Fact::known(DataType::Int64, &[2]).with_elements(two.clone()).elements.is_some());
        assert!(Fact::known(DataType::Int64, &[3]).with_elements(two.clone()).elements.is_none());
        assert!(Fact::new(DataType::Int64, [None]).with_elements(two).elements.is_none());
        let many = vec![Some(Number::Int(0)); MAX_ELEMENTS as usize + 1];
        assert!(Fact::known(DataType::Int64, &[MAX_ELEMENTS + 1]).with_elements(many).elements.is_none());
    }

    #[test]
    fn numbers_take_the_range_and_precision_of_their_type() {
        assert_eq!(Number::Float(-2.7).in_type(DataType::Int32), Some(Number::Int(-2)));
        assert_eq!(Number::Int(300).in_type(DataType::Uint8), None);
        assert_eq!(Number::Float(1e30).in_type(DataType::Int64), None);
        assert_eq!(Number::Float(0.1).in_type(DataType::Float32), Some(Number::Float(0.1f32.into())));
        assert_eq!(Number::Int(7).in_type(DataType::Bool), Some(Number::Int(1)));
        assert_eq!(Number::Float(f64::NAN).in_type(DataType::Int64), None);
    }

    #[test]
    fn indices_come_in_row_major_order_and_broadcast_to_positions() {
        let mut seen = Vec::new();
        for_each_index(&[2, 3], |index| seen.push((position(index, &[2, 3]), position(index, &[1, 3]))));
        assert_eq!(seen, [(0, 0), (1, 1), (2, 2), (3, 0), (4, 1), (5, 2)]);
        let mut scalars = 0;
        for_each_index(&[], |_| scalars += 1);
        for_each_index(&[3, 0], |_| scalars += 1);
        assert_eq!(scalars, 1);
    }
}
