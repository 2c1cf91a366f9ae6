//! The view of an operator's inference: a node, facts about its inputs, and the answers it may give.

use opscope_trace::DataType;

use super::fact::{Dims, Elements, Fact};
use super::infer::Inference;
use crate::attributes::Attributes;
use crate::graph::{Graph, Node, ValueId};
use crate::proto::data_type_from_onnx;

/// Why nothing can be said about a node's outputs.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Gap {
    /// Something that it depends on isn't known.
    Unknown,
    /// The inputs don't fit the operator; how, for a person to read.
    Contradiction(String),
}

/// Inferred facts about a node: its outputs from the first on; those left out are unknown.
pub(super) type Inferred<T = Vec<Fact>> = Result<T, Gap>;

/// Says that inputs don't fit the operator.
macro_rules! contradiction {
    ($($text:tt)*) => {
        crate::shapes::operator::Gap::Contradiction(format!($($text)*))
    };
}
pub(super) use contradiction;

/// A node with what is known about its inputs.
pub(super) struct Op<'a> {
    pub(super) node: Node<'a>,
    pub(super) graph: Graph<'a>,
    /// The facts about the values of the graph, by id.
    pub(super) facts: &'a [Fact],
    /// The version of the operator's domain.
    pub(super) version: i64,
    pub(super) inference: &'a Inference<'a>,
}

impl<'a> Op<'a> {
    pub(super) fn attributes(&self) -> Attributes<'a> {
        self.node.attributes
    }

    /// Whether an input is there.
    pub(super) fn has(&self, input: usize) -> bool {
        self.node.input(input).is_some()
    }

    pub(super) fn input_count(&self) -> usize {
        self.node.inputs.len()
    }

    pub(super) fn output_count(&self) -> usize {
        self.node.outputs.len()
    }

    pub(super) fn fact(&self, input: usize) -> Inferred<&'a Fact> {
        let id = self.node.input(input).ok_or(Gap::Unknown)?;
        self.facts.get(id.index()).ok_or(Gap::Unknown)
    }

    /// The facts about a value of the graph, stored elements included.
    pub(super) fn fact_of(&self, name: &str) -> Fact {
        let Some(value) = self.graph.value_by_name(name) else { return Fact::default() };
        let fact = self.facts.get(value.id.index()).cloned().unwrap_or_default();
        self.with_stored_elements(value.id, fact)
    }

    /// Stored tensors are read when they are asked for: few are.
    fn with_stored_elements(&self, id: ValueId, fact: Fact) -> Fact {
        let Some(tensor) = self.graph.value(id).initializer else { return fact };
        if fact.followable().is_none() {
            return fact;
        }
        match self.inference.model.tensor_data(tensor) {
            Ok(data) => fact.with_data(&data),
            Err(_) => fact,
        }
    }

    pub(super) fn dims(&self, input: usize) -> Inferred<&'a [Option<u64>]> {
        self.fact(input)?.dims.as_deref().ok_or(Gap::Unknown)
    }

    /// A dimension of an input; `None` also when the input has fewer dimensions.
    pub(super) fn dim(&self, input: usize, position: usize) -> Option<u64> {
        self.dims(input).ok()?.get(position).copied().flatten()
    }

    pub(super) fn rank(&self, input: usize) -> Inferred<usize> {
        Ok(self.dims(input)?.len())
    }

    /// The dimensions of an input that must have a given number of them.
    pub(super) fn dims_of_rank<const N: usize>(&self, input: usize) -> Inferred<[Option<u64>; N]> {
        let dims = self.dims(input)?;
        dims.try_into().map_err(|_| contradiction!("input {input} has {} dimensions, not {N}", dims.len()))
    }

    /// The element type of an input, [`DataType::Unknown`] if it isn't known or there is no such
    /// input.
    pub(super) fn data_type(&self, input: usize) -> DataType {
        self.fact(input).map_or(DataType::Unknown, |fact| fact.data_type)
    }

    /// The elements of an input, if they are known and few.
    pub(super) fn elements(&self, input: usize) -> Option<Elements> {
        let fact = self.fact(input).ok()?;
        if let Some(elements) = &fact.elements {
            return Some(elements.clone());
        }
        self.with_stored_elements(self.node.input(input)?, fact.clone()).elements
    }

    /// The elements of an input of integers, of which some may be unknown.
    pub(super) fn integers(&self, input: usize) -> Inferred<Vec<Option<i64>>> {
        let elements = self.elements(input).ok_or(Gap::Unknown)?;
        Ok(elements.iter().map(|element| element.and_then(|number| number.int())).collect())
    }

    /// The only element of an input of one integer.
    pub(super) fn integer(&self, input: usize) -> Inferred<i64> {
        match self.integers(input)?.as_slice() {
            [element] => element.ok_or(Gap::Unknown),
            elements => Err(contradiction!("input {input} should be one number, not {}", elements.len())),
        }
    }

    /// The elements of an input of numbers; they must all be known.
    pub(super) fn floats(&self, input: usize) -> Inferred<Vec<f64>> {
        let elements = self.elements(input).ok_or(Gap::Unknown)?;
        elements.iter().map(|element| element.map(|number| number.float()).ok_or(Gap::Unknown)).collect()
    }

    /// A list that later versions of an operator take as an input and earlier ones as an attribute.
    /// `Ok(None)` when it is in neither place.
    pub(super) fn list(&self, input: usize, attribute: &str) -> Inferred<Option<Vec<Option<i64>>>> {
        if let Some(list) = self.attributes().ints(attribute) {
            return Ok(Some(list.iter().copied().map(Some).collect()));
        }
        if !self.has(input) {
            return Ok(None);
        }
        self.integers(input).map(Some)
    }

    /// As [`Op::list`], for lists of which nothing can be said unless all of it is known.
    pub(super) fn known_list(&self, input: usize, attribute: &str) -> Inferred<Option<Vec<i64>>> {
        match self.list(input, attribute)? {
            Some(list) => list.into_iter().collect::<Option<Vec<_>>>().ok_or(Gap::Unknown).map(Some),
            None => Ok(None),
        }
    }

    /// An integer attribute, or what it is when it is left out.
    pub(super) fn int(&self, attribute: &str, default: i64) -> i64 {
        self.attributes().int(attribute).unwrap_or(default)
    }

    /// An attribute that is a switch, off when it is left out.
    pub(super) fn flag(&self, attribute: &str) -> bool {
        self.int(attribute, 0) != 0
    }

    /// An attribute that is a size.
    pub(super) fn size(&self, attribute: &str) -> Option<u64> {
        u64::try_from(self.attributes().int(attribute)?).ok()
    }

    /// An attribute that names an element type.
    pub(super) fn type_attribute(&self, attribute: &str) -> Option<DataType> {
        let number = i32::try_from(self.attributes().int(attribute)?).ok()?;
        Some(data_type_from_onnx(number)).filter(|data_type| *data_type != DataType::Unknown)
    }

    /// One output, of the type of an input.
    pub(super) fn one(&self, typed_as: usize, dims: impl Into<Dims>) -> Inferred {
        Ok(vec![Fact::new(self.data_type(typed_as), dims)])
    }
}

/// The position of an axis that may count from the end.
pub(super) fn axis(axis: i64, rank: usize) -> Inferred<usize> {
    let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    let position = from_start.and_then(|axis| usize::try_from(axis).ok());
    position
        .filter(|axis| *axis < rank)
        .ok_or_else(|| contradiction!("axis {axis} of a tensor of {rank} dimensions"))
}

/// The positions of several axes.
pub(super) fn axes(list: &[i64], rank: usize) -> Inferred<Vec<usize>> {
    list.iter().map(|&n| axis(n, rank)).collect()
}

/// The product of dimensions; `None` if one of them isn't known (and none is zero).
pub(super) fn size_of(dims: &[Option<u64>]) -> Option<u64> {
    if dims.contains(&Some(0)) {
        return Some(0);
    }
    dims.iter().try_fold(1u64, |product, dim| product.checked_mul((*dim)?))
}

/// Joins two statements about the same dimension.
pub(super) fn same(left: Option<u64>, right: Option<u64>) -> Inferred<Option<u64>> {
    match (left, right) {
        (Some(left), Some(right)) if left != right => {
            Err(contradiction!("dimensions of {left} and {right} should be equal"))
        }
        _ => Ok(left.or(right)),
    }
}

/// The dimensions that two tensors have when they are broadcast against one another.
pub(super) fn broadcast(left: &[Option<u64>], right: &[Option<u64>]) -> Inferred<Dims> {
    let rank = left.len().max(right.len());
    let at = |dims: &[Option<u64>], position: usize| match (position + dims.len()).checked_sub(rank) {
        Some(position) => dims[position],
        None => Some(1),
    };
    let dims = (0..rank).map(|position| match (at(left, position), at(right, position)) {
        (Some(1), other) | (other, Some(1)) => Ok(other),
        (None, None) => Ok(None),
        (left, right) => same(left, right)
            .map_err(|_| contradiction!("{} cannot be broadcast to {}", shown(&[left]), shown(&[right]))),
    });
    dims.collect()
}

/// Dimensions for a person to read: `1x3x?`.
pub(super) fn shown(dims: &[Option<u64>]) -> String {
    let texts: Vec<_> = dims.iter().map(|dim| dim.map_or("?".to_owned(), |n| n.to_string())).collect();
    if texts.is_empty() { "scalar".to_owned() } else { texts.join("x") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_count_from_either_end() {
        assert_eq!(axis(-1, 4), Ok(3));
        assert_eq!(axis(3, 4), Ok(3));
        assert!(axis(4, 4).is_err() && axis(-5, 4).is_err());
        assert!(axis(i64::MIN, 4).is_err() && axis(0, 0).is_err());
    }

    #[test]
    fn broadcasting_keeps_what_is_certain() {
        assert_eq!(
            broadcast(&[Some(3), None, None], &[None, Some(5), Some(1)]),
            Ok(vec![Some(3), Some(5), None])
        );
        assert!(broadcast(&[Some(2)], &[Some(3)]).is_err());
        assert_eq!(broadcast(&[], &[Some(0)]), Ok(vec![Some(0)]));
    }
}
