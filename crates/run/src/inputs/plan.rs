//! The contents of inputs before any of them is made: sizes are checked of all inputs together, and with what
//! the model's nodes compute of them.

use opscope_formats::memory;
use opscope_model::{Bindings, Model, Shapes, element_count};
use opscope_trace::DataType;

use super::generate::{self, Limits};
use super::{Fill, Input, InputError};
use crate::host_tensor::{HostTensor, shape_text};
use crate::room;

/// An input to be.
pub struct Plan {
    name: String,
    data_type: DataType,
    shape: Vec<usize>,
    /// How many elements the shape has.
    elements: usize,
    bytes: u64,
    content: Content,
}

/// The origin of an input's elements.
enum Content {
    Given(HostTensor),
    Made(Made),
}

/// How elements are made up.
pub struct Made {
    pub fill: Fill,
    pub limits: Limits,
    pub seed: u64,
}

impl Plan {
    /// An input whose elements are there.
    pub fn given(name: String, tensor: HostTensor) -> Self {
        let (data_type, shape) = (tensor.data_type, tensor.shape.clone());
        let bytes = tensor.bytes.len() as u64;
        Self { name, data_type, shape, elements: tensor.elements(), bytes, content: Content::Given(tensor) }
    }

    /// An input whose elements are to be made.
    ///
    /// # Errors
    /// When there would be more of them than can be counted.
    pub fn made(
        name: String,
        data_type: DataType,
        shape: Vec<usize>,
        made: Made,
    ) -> Result<Self, InputError> {
        let dims: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
        let count = element_count(&dims).and_then(|count| Some((count, data_type.bytes(count)?)));
        let counted = count.and_then(|(count, bytes)| Some((usize::try_from(count).ok()?, bytes)));
        match counted {
            Some((elements, bytes)) => {
                Ok(Self { name, data_type, shape, elements, bytes, content: Content::Made(made) })
            }
            None => Err(InputError::TooLarge { shape: shape_text(&shape), input: name }),
        }
    }

    /// Makes the input.
    ///
    /// # Errors
    /// When the system refuses the memory.
    pub fn carry_out(self) -> Result<Input, InputError> {
        let Self { name, data_type, shape, elements, content, .. } = self;
        let tensor = match content {
            Content::Given(tensor) => tensor,
            Content::Made(Made { fill, limits, seed }) => {
                match generate::elements(data_type, elements, fill, limits, seed) {
                    Some(bytes) => HostTensor { data_type, shape, bytes },
                    None => return Err(InputError::TooLarge { input: name, shape: shape_text(&shape) }),
                }
            }
        };
        Ok(Input { name, tensor })
    }
}

/// Makes sure that all inputs fit into memory, and what each node computes beside them.
///
/// # Errors
/// Names the largest input, or the node.
pub fn check_memory(model: &Model, plans: &[Plan]) -> Result<(), InputError> {
    let needed = room::of_inputs(plans.iter().map(|plan| plan.bytes));
    if let (Err(source), Some(largest)) = (memory::check(needed), plans.iter().max_by_key(|plan| plan.bytes))
    {
        return Err(InputError::Memory {
            input: largest.name.clone(),
            shape: shape_text(&largest.shape),
            others: plans.len() - 1,
            source,
        });
    }
    let mut bindings = Bindings::new();
    for plan in plans {
        let dims: Vec<u64> = plan.shape.iter().map(|&size| size as u64).collect();
        bindings = bindings.shape(&plan.name, &dims);
        if let Content::Given(tensor) = &plan.content
            && let Some(values) = tensor.small_integers()
        {
            bindings = bindings.value(&plan.name, &values);
        }
    }
    let shapes = Shapes::infer(model, &bindings).unwrap_or_default();
    Ok(room::check_nodes(model, &shapes, needed)?)
}
