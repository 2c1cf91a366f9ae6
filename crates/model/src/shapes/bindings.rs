//! Decisions of whoever runs a model.

use std::collections::BTreeMap;

use super::Note;
use super::fact::{Fact, Number};
use super::operator::shown;
use crate::graph::{Declared, Dim, Graph, Value};
use crate::tensor::element_count;

/// Decisions of whoever runs a model: above all, the dimensions of its inputs.
///
/// Dimensions that the file fixes need not be given. Dimensions that it names are taken from `symbols`,
/// or from another input in whose `shapes` they stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// Dimensions of graph inputs, by the input's name.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// Sizes of the dimensions that the model names, such as `batch`.
    pub symbols: BTreeMap<String, u64>,
    /// Elements of graph inputs of integers on which shapes depend, by the input's name.
    pub values: BTreeMap<String, Vec<i64>>,
}

impl Bindings {
    /// Decides nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives an input its dimensions.
    #[must_use]
    pub fn shape(mut self, input: &str, dims: &[u64]) -> Self {
        self.shapes.insert(input.to_owned(), dims.to_vec());
        self
    }

    /// Gives a named dimension its size.
    #[must_use]
    pub fn symbol(mut self, name: &str, size: u64) -> Self {
        self.symbols.insert(name.to_owned(), size);
        self
    }

    /// Gives an input of integers its elements.
    #[must_use]
    pub fn value(mut self, input: &str, elements: &[i64]) -> Self {
        self.values.insert(input.to_owned(), elements.to_vec());
        self
    }

    /// Fits the bindings to a graph.
    pub(super) fn resolve(&self, graph: Graph<'_>) -> Result<Resolved, BindingError> {
        let mut resolved = Resolved {
            symbols: self.symbols.clone(),
            inputs: Vec::new(),
            trusts_file: true,
            notes: Vec::new(),
        };
        for name in self.shapes.keys().chain(self.values.keys()) {
            check_input(graph, name)?;
        }
        for &id in graph.inputs() {
            let value = graph.value(id);
            if let Some(dims) = self.shapes.get(value.name) {
                resolved.learn(value, dims)?;
            }
        }
        check_symbols(graph, &self.symbols)?;
        for &id in graph.inputs() {
            let fact = self.input(graph.value(id), &resolved.symbols)?;
            resolved.inputs.push(fact);
        }
        Ok(resolved)
    }

    /// The facts about an input.
    fn input(&self, value: Value, symbols: &BTreeMap<String, u64>) -> Result<Fact, BindingError> {
        let declared = value.declared();
        let data_type = declared.as_ref().map_or_else(Default::default, |declared| declared.data_type);
        let declared_dims = declared.and_then(|declared| declared.dims);
        let mut fact = match (self.shapes.get(value.name), declared_dims) {
            (Some(dims), _) => Fact::known(data_type, dims),
            (None, Some(dims)) => {
                let size = |dim: &Dim| match dim {
                    Dim::Known(size) => Some(*size),
                    Dim::Symbol(name) => symbols.get(name).copied(),
                    Dim::Unknown => None,
                };
                Fact::new(data_type, dims.iter().map(size).collect::<Vec<_>>())
            }
            (None, None) => Fact { data_type, ..Fact::default() },
        };
        let Some(elements) = self.values.get(value.name) else { return Ok(fact) };
        let given = elements.len() as u64;
        if let Some([dim @ None]) = fact.dims.as_deref_mut() {
            *dim = Some(given);
        }
        match fact.known_dims() {
            Some(dims) if element_count(&dims) == Some(given) => {
                let numbers: Vec<_> = elements.iter().map(|&n| Number::Int(n).in_type(data_type)).collect();
                Ok(fact.with_elements(numbers))
            }
            _ => Err(BindingError::Elements {
                input: value.name.to_owned(),
                dims: fact.dims.as_deref().map_or("?".to_owned(), shown),
                given,
            }),
        }
    }
}

/// Bindings that were fitted to a graph.
pub(super) struct Resolved {
    /// All named dimensions whose size is known.
    pub(super) symbols: BTreeMap<String, u64>,
    /// The facts about each input of the graph.
    pub(super) inputs: Vec<Fact>,
    /// Whether no dimension that the file fixes was changed.
    pub(super) trusts_file: bool,
    pub(super) notes: Vec<Note>,
}

impl Resolved {
    /// Takes the sizes of named dimensions from the dimensions that an input was given.
    fn learn(&mut self, value: Value, dims: &[u64]) -> Result<(), BindingError> {
        let Some(Declared { dims: Some(declared), .. }) = value.declared() else { return Ok(()) };
        if declared.len() != dims.len() {
            return Err(BindingError::Rank {
                input: value.name.to_owned(),
                declared: declared.len(),
                dims: declared.iter().map(Dim::to_string).collect::<Vec<_>>().join("x"),
                given: dims.len(),
            });
        }
        for (dim, &size) in declared.iter().zip(dims) {
            match dim {
                Dim::Symbol(symbol) => {
                    let first = *self.symbols.entry(symbol.clone()).or_insert(size);
                    if first != size {
                        let symbol = symbol.clone();
                        return Err(BindingError::Conflict { symbol, first, second: size });
                    }
                }
                Dim::Known(fixed) if *fixed != size => {
                    self.trusts_file = false;
                    let text = format!(
                        "the input `{}` is given a dimension of {size} where the file fixes {fixed}; an \
                         engine may refuse that, and what the file declares of other dimensions is ignored",
                        value.name
                    );
                    self.notes.push(Note { node: None, text });
                }
                Dim::Known(_) | Dim::Unknown => {}
            }
        }
        Ok(())
    }
}

fn check_input(graph: Graph<'_>, name: &str) -> Result<(), BindingError> {
    let names = || graph.inputs().iter().map(|id| graph.value(*id).name);
    if names().any(|known| known == name) {
        return Ok(());
    }
    Err(BindingError::UnknownInput { input: name.to_owned(), inputs: quoted(names()) })
}

fn check_symbols(graph: Graph<'_>, symbols: &BTreeMap<String, u64>) -> Result<(), BindingError> {
    if symbols.is_empty() {
        return Ok(());
    }
    let dims = graph.values().filter_map(|value| value.declared()?.dims).flatten();
    let mut known: Vec<String> =
        dims.filter_map(|dim| if let Dim::Symbol(name) = dim { Some(name) } else { None }).collect();
    known.sort_unstable();
    known.dedup();
    match symbols.keys().find(|symbol| known.binary_search(symbol).is_err()) {
        Some(symbol) => {
            let symbols = quoted(known.iter().map(String::as_str));
            Err(BindingError::UnknownSymbol { symbol: symbol.clone(), symbols })
        }
        None => Ok(()),
    }
}

/// Names for a person to read; of very many, the first.
fn quoted<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const MAX_SHOWN: usize = 20;
    let mut texts: Vec<_> = names.take(MAX_SHOWN + 1).map(|name| format!("`{name}`")).collect();
    match texts.len() {
        0 => return "none".to_owned(),
        n if n > MAX_SHOWN => texts[MAX_SHOWN] = "…".to_owned(),
        _ => {}
    }
    texts.join(", ")
}

/// Why bindings don't fit a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum BindingError {
    #[error("the model has no input `{input}`; its inputs are {inputs}")]
    UnknownInput { input: String, inputs: String },
    #[error("the input `{input}` has {declared} dimensions ({dims}), but {given} are given")]
    Rank { input: String, declared: usize, dims: String, given: usize },
    #[error("no dimension of the model is named `{symbol}`; the named ones are {symbols}")]
    UnknownSymbol { symbol: String, symbols: String },
    #[error("the dimension `{symbol}` would be {first} and {second} at once")]
    Conflict { symbol: String, first: u64, second: u64 },
    #[error("the input `{input}` has the dimensions {dims}, so it cannot have {given} elements")]
    Elements { input: String, dims: String, given: u64 },
}

#[cfg(test)]
mod tests {
    use opscope_trace::DataType;

    use super::*;
    use crate::proto::{DimensionValue, GraphProto, TypeValue, ValueInfoProto};
    use crate::testing::{declared, model_of, node, untyped};
    use crate::{Model, Shapes};

    /// As [`declared`], with names for some dimensions.
    fn named(name: &str, data_type: DataType, names: &[&str]) -> ValueInfoProto {
        let mut info = declared(name, data_type, &vec![-1; names.len()]);
        if let Some(TypeValue::Tensor(tensor)) = &mut info.r#type.as_mut().unwrap().value {
            for (dim, name) in tensor.shape.as_mut().unwrap().dim.iter_mut().zip(names) {
                dim.value = Some(match name.parse() {
                    Ok(size) => DimensionValue::Value(size),
                    Err(_) => DimensionValue::Param((*name).to_owned()),
                });
            }
        }
        info
    }

    fn two_inputs() -> Model {
        let graph = GraphProto {
            node: vec![
                node("Add", &["x", "y"], &["sum"]),
                node("Expand", &["x", "sizes"], &["wide"]),
                node("Mystery", &["x"], &["far"]),
            ],
            input: vec![
                named("x", DataType::Float32, &["batch", "3"]),
                named("y", DataType::Float32, &["batch", "1"]),
                named("sizes", DataType::Int64, &["n"]),
            ],
            output: vec![untyped("sum"), untyped("wide"), named("far", DataType::Float32, &["batch", "7"])],
            ..Default::default()
        };
        Model::from_proto(model_of(graph, 18), None).unwrap()
    }

    fn infer(bindings: Bindings) -> Result<Vec<String>, BindingError> {
        let model = two_inputs();
        let shapes = Shapes::infer(&model, &bindings)?;
        let outputs = model.graph().outputs().iter();
        Ok(outputs.map(|id| shapes.get(*id).map_or("-".to_owned(), |shape| shown(&shape.dims))).collect())
    }

    #[test]
    fn a_named_dimension_has_one_size_everywhere() {
        assert_eq!(infer(Bindings::new()).unwrap(), ["?x3", "-", "?x7"]);
        assert_eq!(infer(Bindings::new().symbol("batch", 8)).unwrap(), ["8x3", "-", "8x7"]);
        assert_eq!(infer(Bindings::new().shape("x", &[4, 3])).unwrap(), ["4x3", "-", "4x7"]);
    }

    #[test]
    fn a_text_that_stands_for_any_size_names_no_dimension() {
        let graph = GraphProto {
            node: vec![node("Relu", &["x"], &["y"])],
            input: vec![named("x", DataType::Float32, &["?", "?", "*", "unk__7"])],
            output: vec![untyped("y")],
            ..Default::default()
        };
        let model = Model::from_proto(model_of(graph, 18), None).unwrap();
        let shapes = Shapes::infer(&model, &Bindings::new().shape("x", &[1, 3, 48, 192])).unwrap();
        assert_eq!(
            shapes.get(model.graph().outputs()[0]).map(|shape| shown(&shape.dims)).unwrap(),
            "1x3x48x192"
        );
        let refused = Shapes::infer(&model, &Bindings::new().symbol("?", 1)).unwrap_err();
        assert!(refused.to_string().contains("the named ones are `unk__7`"), "{refused}");
    }

    #[test]
    fn elements_of_an_input_decide_about_dimensions() {
        let bindings = Bindings::new().symbol("batch", 1).value("sizes", &[5, 3]);
        assert_eq!(infer(bindings).unwrap(), ["1x3", "5x3", "1x7"]);
    }

    #[test]
    fn bindings_that_do_not_fit_are_refused_with_what_would() {
        let error = |bindings| infer(bindings).unwrap_err().to_string();
        let unknown = error(Bindings::new().shape("z", &[1]));
        assert!(unknown.contains("no input `z`") && unknown.contains("`x`, `y`, `sizes`"), "{unknown}");
        let rank = error(Bindings::new().shape("x", &[1, 3, 1]));
        assert!(rank.contains("2 dimensions (batchx3), but 3"), "{rank}");
        let symbol = error(Bindings::new().symbol("width", 1));
        assert!(symbol.contains("`width`") && symbol.contains("`batch`, `n`"), "{symbol}");
        let conflict = error(Bindings::new().shape("x", &[2, 3]).shape("y", &[4, 1]));
        assert!(conflict.contains("`batch` would be 2 and 4"), "{conflict}");
        let elements = error(Bindings::new().value("sizes", &[1, 2]).shape("sizes", &[3]));
        assert!(elements.contains("cannot have 2 elements"), "{elements}");
    }

    #[test]
    fn a_changed_fixed_dimension_is_noted_and_the_file_is_not_believed_any_more() {
        let model = two_inputs();
        let bindings = Bindings::new().shape("x", &[2, 5]).shape("y", &[2, 1]);
        let shapes = Shapes::infer(&model, &bindings).unwrap();
        assert!(shapes.notes()[0].text.contains("`x` is given a dimension of 5 where the file fixes 3"));
        let dims: Vec<_> = model
            .graph()
            .outputs()
            .iter()
            .map(|id| shapes.get(*id).map(|shape| shown(&shape.dims)))
            .collect();
        assert_eq!(dims, [Some("2x5".to_owned()), None, Some("?x?".to_owned())]);
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        assert_eq!(quoted(["a", "b"].into_iter()), "`a`, `b`");
        assert_eq!(quoted([].into_iter()), "none");
        assert!(quoted(std::iter::repeat_n("x", 100)).ends_with("`x`, …"));
    }
}
