//! The inputs that a model is fed with: from the user's wishes to one tensor for each input.

mod error;
mod generate;
mod number;
mod plan;
mod spec;

use std::collections::BTreeMap;

use opscope_model::{Bindings, Declared, Dim, Graph, Model, Value};

pub use error::InputError;
pub use spec::{Fill, InputSpec, Source, SpecError};

use crate::host_tensor::{HostTensor, shape_text};
use crate::npy;
use plan::{Made, Plan};

/// The user's wishes; the rest is chosen from the model's declarations.
#[derive(Clone, Debug, Default)]
pub struct InputRequest {
    /// One wish for an input each, as given on the command line.
    pub specs: Vec<InputSpec>,
    /// Sizes of symbolic dimensions, by their name in the model.
    pub dimensions: BTreeMap<String, u64>,
    /// Seeds the random values.
    pub seed: u64,
}

/// An input of the model with the tensor that it is fed with.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The input's name in the model.
    pub name: String,
    /// Its value in every iteration.
    pub tensor: HostTensor,
}

impl InputRequest {
    /// Makes a tensor for each input of the model, in the model's order.
    ///
    /// # Errors
    /// When a wish fits no input or no declaration, when a dimension is left open (the error asks
    /// for it), or when a file can't be read.
    pub fn resolve(&self, model: &Model) -> Result<Vec<Input>, InputError> {
        let graph = model.graph();
        self.check_dimensions(graph)?;
        let mut wishes: BTreeMap<&str, &Source> = BTreeMap::new();
        for spec in &self.specs {
            let (input, source) = self.assign(spec, graph)?;
            if wishes.insert(input, source).is_some() {
                return Err(InputError::Twice { name: input.to_owned() });
            }
        }
        let plans = graph.inputs().iter().enumerate().map(|(position, &id)| {
            let value = graph.value(id);
            self.plan(graph, value, wishes.get(value.name).copied(), position as u64)
        });
        let plans: Vec<Plan> = plans.collect::<Result<_, _>>()?;
        plan::check_memory(model, &plans)?;
        plans.into_iter().map(Plan::carry_out).collect()
    }

    /// The shapes alone, as far as they are given: dimensions may stay open.
    ///
    /// # Errors
    /// When a wish fits no input, or a file can't be read.
    pub fn bindings(&self, model: &Model) -> Result<Bindings, InputError> {
        let graph = model.graph();
        self.check_dimensions(graph)?;
        let mut bindings = Bindings::new();
        for (name, size) in &self.dimensions {
            bindings = bindings.symbol(name, *size);
        }
        for spec in &self.specs {
            let (input, source) = self.assign(spec, graph)?;
            let shape = match source {
                Source::File(path) => Some(npy::read(path)?.shape),
                Source::Fill { shape, .. } => shape.clone(),
                Source::Number(text) => match self.number(graph, input, text)? {
                    Number::Value(tensor) => Some(tensor.shape),
                    Number::Size(size) => Some(vec![size]),
                },
            };
            let Some(shape) = shape else { continue };
            let declared = graph.value_by_name(input).and_then(|value| value.declared());
            if let Some(declared) = declared {
                self.check_shape(input, &declared, &shape)?;
            }
            let shape: Vec<u64> = shape.iter().map(|&size| size as u64).collect();
            bindings = bindings.shape(input, &shape);
        }
        Ok(bindings)
    }

    /// Every size must belong to a symbolic dimension of some input.
    fn check_dimensions(&self, graph: Graph<'_>) -> Result<(), InputError> {
        let mut known: Vec<String> = Vec::new();
        for &id in graph.inputs() {
            let dims = graph.value(id).declared().and_then(|declared| declared.dims).unwrap_or_default();
            for dim in dims {
                if let Dim::Symbol(name) = dim
                    && !known.contains(&name)
                {
                    known.push(name);
                }
            }
        }
        match self.dimensions.keys().find(|name| !known.contains(name)) {
            Some(name) => Err(InputError::UnknownDimension { name: name.clone(), known }),
            None => Ok(()),
        }
    }

    /// The input that a wish is for.
    fn assign<'m, 's>(
        &self,
        spec: &'s InputSpec,
        graph: Graph<'m>,
    ) -> Result<(&'m str, &'s Source), InputError> {
        let names: Vec<&'m str> = graph.inputs().iter().map(|&id| graph.value(id).name).collect();
        let Some(wanted) = &spec.name else {
            return match names[..] {
                [only] => Ok((only, &spec.source)),
                _ => Err(InputError::NameMissing { given: spec.text.clone(), inputs: describe(graph) }),
            };
        };
        let found = names.iter().find(|name| **name == wanted.as_str());
        let &name = found.ok_or_else(|| InputError::UnknownInput {
            name: wanted.clone(),
            nearest: nearest(wanted, &names),
            inputs: describe(graph),
        })?;
        Ok((name, &spec.source))
    }

    fn plan(
        &self,
        graph: Graph<'_>,
        value: Value<'_>,
        source: Option<&Source>,
        position: u64,
    ) -> Result<Plan, InputError> {
        let input = value.name.to_owned();
        let declared = value.declared().ok_or_else(|| InputError::Unsupported {
            input: input.clone(),
            kind: "not declared as a tensor".to_owned(),
        })?;
        let bits = declared.data_type.bits().filter(|bits| bits.is_multiple_of(8));
        if bits.is_none() {
            let kind = format!("a tensor of {}", declared.data_type);
            return Err(InputError::Unsupported { input, kind });
        }
        if let Some(Source::File(path)) = source {
            let tensor = npy::read(path)?;
            if tensor.data_type != declared.data_type {
                let (expected, found) = (declared.data_type, tensor.data_type);
                return Err(InputError::ElementType { input, expected, found, path: path.clone() });
            }
            self.check_shape(&input, &declared, &tensor.shape)?;
            return Ok(Plan::given(input, tensor));
        }
        let (fill, shape) = match source {
            Some(Source::Fill { fill, shape }) => (*fill, shape.clone()),
            Some(Source::Number(text)) => match self.number(graph, value.name, text)? {
                Number::Value(tensor) => return Ok(Plan::given(input, tensor)),
                Number::Size(size) => (Fill::Random, Some(vec![size])),
            },
            _ => (Fill::Random, None),
        };
        let shape = match shape {
            Some(shape) => {
                self.check_shape(&input, &declared, &shape)?;
                shape
            }
            None => self.declared_shape(&input, &declared)?,
        };
        let made = Made {
            fill,
            limits: generate::Limits::of(graph, value.id),
            seed: self.seed.wrapping_add(position),
        };
        Plan::made(input, declared.data_type, shape, made)
    }

    /// The meaning of a single number to an input: its value where it holds one element, else its size.
    fn number(&self, graph: Graph<'_>, input: &str, text: &str) -> Result<Number, InputError> {
        let declared = graph.value_by_name(input).and_then(|value| value.declared());
        let size = text.parse::<usize>().ok();
        let wrong = |reason: String| InputError::Number {
            input: input.to_owned(),
            declared: declared.as_ref().map_or("no tensor".to_owned(), declared_text),
            given: text.to_owned(),
            reason,
        };
        match &declared {
            Some(declared) if number::is_single(declared) => {
                let bytes = number::element(declared.data_type, text)
                    .ok_or_else(|| wrong(format!("{} can't hold that", declared.data_type)))?;
                let shape = declared.dims.iter().flatten().map(|_| 1).collect();
                Ok(Number::Value(HostTensor { data_type: declared.data_type, shape, bytes }))
            }
            // Where nothing is declared, a rank of 1 is as good as any.
            _ => size.map(Number::Size).ok_or_else(|| {
                let all = format!("{input}=zeros:SHAPE, {input}=ones:SHAPE or {input}=FILE.npy");
                wrong(format!("a number is the value of a scalar only; write {all}"))
            }),
        }
    }

    /// The declared shape with every symbol sized.
    fn declared_shape(&self, input: &str, declared: &Declared) -> Result<Vec<usize>, InputError> {
        let Some(dims) = &declared.dims else {
            return Err(InputError::OpenShape { input: input.to_owned() });
        };
        let sizes = dims.iter().enumerate().map(|(axis, dim)| match dim {
            Dim::Known(size) => Ok(*size as usize),
            Dim::Symbol(name) => self.dimensions.get(name).map(|&size| size as usize).ok_or_else(|| {
                InputError::OpenDimension {
                    dimension: name.clone(),
                    axis,
                    input: input.to_owned(),
                    declared: declared_text(declared),
                }
            }),
            Dim::Unknown => {
                Err(InputError::OpenAxis { axis, input: input.to_owned(), declared: declared_text(declared) })
            }
        });
        sizes.collect()
    }

    fn check_shape(&self, input: &str, declared: &Declared, given: &[usize]) -> Result<(), InputError> {
        let Some(dims) = &declared.dims else { return Ok(()) };
        let reason = if dims.len() != given.len() {
            Some(format!("it has {} dimensions instead of {}", given.len(), dims.len()))
        } else {
            let mut pairs = dims.iter().zip(given).enumerate();
            pairs.find_map(|(axis, (dim, &size))| {
                let expected = match dim {
                    Dim::Known(expected) => *expected as usize,
                    Dim::Symbol(name) => *self.dimensions.get(name)? as usize,
                    Dim::Unknown => return None,
                };
                (expected != size).then(|| format!("axis {axis} is {size} instead of {expected}"))
            })
        };
        match reason {
            None => Ok(()),
            Some(reason) => Err(InputError::Shape {
                input: input.to_owned(),
                declared: declared_text(declared),
                given: shape_text(given),
                reason,
            }),
        }
    }
}

/// The meaning of a single number to an input.
enum Number {
    /// Its only element.
    Value(HostTensor),
    /// The size of its only dimension.
    Size(usize),
}

/// A declaration as people write it: `float32 [batch,3,224,224]`.
pub fn declared_text(declared: &Declared) -> String {
    let dims = match &declared.dims {
        Some(dims) => dims.iter().map(Dim::to_string).collect::<Vec<_>>().join(","),
        None => "…".to_owned(),
    };
    format!("{} [{dims}]", declared.data_type)
}

fn describe(graph: Graph<'_>) -> String {
    let inputs = graph.inputs().iter().map(|&id| {
        let value = graph.value(id);
        match value.declared() {
            Some(declared) => format!("{} ({})", value.name, declared_text(&declared)),
            None => value.name.to_owned(),
        }
    });
    let inputs: Vec<String> = inputs.collect();
    if inputs.is_empty() { "none at all".to_owned() } else { inputs.join(", ") }
}

/// The most similar name, if any is similar at all.
fn nearest(wanted: &str, names: &[&str]) -> Option<String> {
    /// Comparing takes time with the product of both lengths, in bytes.
    const LONGEST: usize = 256;
    if wanted.len() > LONGEST {
        return None;
    }
    let scored = names
        .iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (strsim::normalized_damerau_levenshtein(wanted, name), *name));
    let (score, name) = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (score > 0.4).then(|| name.to_owned())
}
