//! Goes through a graph node by node, and settles what is inferred with what the file declares.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use opscope_trace::DataType;

use super::Note;
use super::dispatch::infer;
use super::fact::{Dims, Fact};
use super::operator::{Gap, Inferred, Op, shown};
use crate::graph::{Dim, Graph, GraphCopy, Node, NodeId, Value, ValueKind, subgraphs};
use crate::load::Model;
use crate::proto::{GraphProto, NodeProto, data_type_from_onnx};

/// Nodes of subgraphs that are gone through at most, so that loops in loops come to an end.
const MAX_INNER_NODES: usize = 1 << 16;

/// Elements that are kept for all values together.
const MAX_KEPT_ELEMENTS: usize = 1 << 23;

/// The surroundings in which a model's shapes are inferred.
pub(super) struct Inference<'m> {
    pub(super) model: &'m Model,
    /// Sizes of named dimensions.
    symbols: &'m BTreeMap<String, u64>,
    /// Whether what the file declares may fill in what can't be inferred. It may not when the
    /// bindings changed a dimension that the file fixes.
    trusts_file: bool,
    notes: RefCell<Vec<Note>>,
    /// The node of the outermost graph that is being inferred.
    outermost: Cell<Option<NodeId>>,
    inner_nodes: Cell<usize>,
    kept_elements: Cell<usize>,
}

impl<'m> Inference<'m> {
    pub(super) fn new(
        model: &'m Model,
        symbols: &'m BTreeMap<String, u64>,
        trusts_file: bool,
        notes: Vec<Note>,
    ) -> Self {
        Self {
            model,
            symbols,
            trusts_file,
            notes: RefCell::new(notes),
            outermost: Cell::default(),
            inner_nodes: Cell::new(0),
            kept_elements: Cell::new(0),
        }
    }

    pub(super) fn into_notes(self) -> Vec<Note> {
        self.notes.into_inner()
    }

    /// Infers all values of the model's graph, of whose inputs something is known already.
    pub(super) fn run(&self, inputs: impl IntoIterator<Item = Fact>) -> Vec<Fact> {
        self.run_graph(self.model.graph(), inputs, true)
    }

    /// Infers the outputs of a graph that stands in an attribute of a node. `inputs` are those of that
    /// graph; what it reads from around itself is taken from the node's surroundings.
    pub(super) fn run_subgraph(&self, op: &Op, graph: &GraphProto, mut inputs: Vec<Fact>) -> Inferred {
        let count = self.inner_nodes.get() + node_count(graph);
        if count > MAX_INNER_NODES {
            return Err(Gap::Unknown);
        }
        self.inner_nodes.set(count);
        inputs.resize(graph.input.len(), Fact::default());
        let copy = GraphCopy::with_captured_as_inputs(graph).map_err(|_| Gap::Unknown)?;
        let captured = copy.captured.iter().map(|name| op.fact_of(name));
        let all: Vec<Fact> = inputs.into_iter().chain(captured).collect();
        // Initializers that are also listed as inputs are no inputs here.
        let named = copy.graph().proto().input.iter().zip(all);
        let by_name: BTreeMap<&str, Fact> = named.map(|(input, fact)| (input.name(), fact)).collect();
        let given = copy.graph().inputs().iter().map(|id| {
            let name = copy.graph().value(*id).name;
            by_name.get(name).cloned().unwrap_or_default()
        });
        let facts = self.run_graph(copy.graph(), given.collect::<Vec<_>>(), false);
        Ok(copy.graph().outputs().iter().map(|id| facts[id.index()].clone()).collect())
    }

    fn run_graph(
        &self,
        graph: Graph<'_>,
        inputs: impl IntoIterator<Item = Fact>,
        is_outermost: bool,
    ) -> Vec<Fact> {
        let mut facts: Vec<Fact> = graph.values().map(stored).collect();
        for sparse in &graph.proto().sparse_initializer {
            let Some(values) = &sparse.values else { continue };
            if let Some(value) = graph.value_by_name(values.name()) {
                let dims = super::create::dims_of(&sparse.dims);
                facts[value.id.index()] = Fact::new(data_type_from_onnx(values.data_type()), dims);
            }
        }
        for (&id, given) in graph.inputs().iter().zip(inputs) {
            facts[id.index()] = self.settle(None, graph.value(id), given);
        }
        for node in graph.nodes() {
            if is_outermost {
                self.outermost.set(Some(node.id));
            }
            let inferred = infer(&Op {
                node,
                graph,
                facts: &facts,
                version: self.model.opset_version(node.domain).unwrap_or(i64::MAX),
                inference: self,
            });
            let mut inferred = match inferred {
                Ok(facts) => facts.into_iter(),
                Err(Gap::Unknown) => Vec::new().into_iter(),
                Err(Gap::Contradiction(text)) => {
                    self.note(Some(node), &format!("the inputs do not fit: {text}"));
                    Vec::new().into_iter()
                }
            };
            for output in node.outputs {
                let fact = inferred.next().unwrap_or_default();
                if let Some(id) = output {
                    let settled = self.settle(Some(node), graph.value(*id), fact);
                    facts[id.index()] = self.kept(settled);
                }
            }
        }
        facts
    }

    /// Puts together what was inferred and what the file declares. Where they contradict one another,
    /// what was inferred holds, and a note says so.
    fn settle(&self, node: Option<Node>, value: Value, inferred: Fact) -> Fact {
        let Some(declared) = value.declared() else { return inferred };
        let Fact { mut data_type, dims, elements } = inferred;
        if data_type == DataType::Unknown {
            data_type = declared.data_type;
        } else if ![data_type, DataType::Unknown].contains(&declared.data_type) {
            let text = format!("`{}` is declared as {} but is {data_type}", value.name, declared.data_type);
            self.note(node, &text);
        }
        let sizes = |dims: Vec<Dim>| dims.iter().map(|dim| self.declared_size(dim)).collect::<Dims>();
        let Some(declared) = declared.dims.and_then(|dims| Fact::new(data_type, sizes(dims)).dims) else {
            return Fact { data_type, dims, elements };
        };
        let dims = match dims {
            None => declared.into_iter().map(|dim| dim.filter(|_| self.trusts_file)).collect(),
            Some(dims) if contradict(&dims, &declared) => {
                if self.trusts_file {
                    let (says, is) = (shown(&declared), shown(&dims));
                    self.note(node, &format!("`{}` is declared as {says} but is {is}", value.name));
                }
                dims
            }
            Some(dims) => {
                let filled = dims
                    .iter()
                    .zip(declared)
                    .map(|(dim, declared)| dim.or(declared.filter(|_| self.trusts_file)));
                filled.collect()
            }
        };
        Fact { data_type, dims: Some(dims), elements }
    }

    fn declared_size(&self, dim: &Dim) -> Option<u64> {
        match dim {
            Dim::Known(size) => Some(*size),
            Dim::Symbol(name) => self.symbols.get(name).copied(),
            Dim::Unknown => None,
        }
    }

    /// Drops the elements when those of other values already take much memory.
    fn kept(&self, fact: Fact) -> Fact {
        let count = self.kept_elements.get() + fact.elements.as_ref().map_or(0, |elements| elements.len());
        if count > MAX_KEPT_ELEMENTS {
            return fact.without_elements();
        }
        self.kept_elements.set(count);
        fact
    }

    fn note(&self, node: Option<Node>, text: &str) {
        let text = match node {
            Some(node) => format!("`{}` ({}): {text}", node.name, node.op_type),
            None => text.to_owned(),
        };
        let note = Note { node: self.outermost.get(), text };
        let mut notes = self.notes.borrow_mut();
        if notes.len() < MAX_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }
}

/// Nobody reads more notes than this.
const MAX_NOTES: usize = 1000;

fn contradict(dims: &[Option<u64>], declared: &[Option<u64>]) -> bool {
    let differ = |(left, right): (&Option<u64>, &Option<u64>)| left.zip(*right).is_some_and(|(l, r)| l != r);
    dims.len() != declared.len() || dims.iter().zip(declared).any(differ)
}

/// The facts about a value before anything runs: the type of an initializer.
fn stored(value: Value) -> Fact {
    match (value.kind, value.initializer) {
        (ValueKind::Initializer, Some(tensor)) => {
            Fact::new(data_type_from_onnx(tensor.data_type()), super::create::dims_of(&tensor.dims))
        }
        _ => Fact::default(),
    }
}

/// How many nodes a graph has, those of graphs inside it included.
fn node_count(graph: &GraphProto) -> usize {
    let of_node = |node: &NodeProto| 1 + subgraphs(node).map(node_count).sum::<usize>();
    graph.node.iter().map(of_node).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::TensorProto;
    use crate::testing::{declared, model_of, node, untyped};
    use crate::{Bindings, Shapes};

    fn infer(graph: GraphProto) -> (Model, Shapes) {
        let model = Model::from_proto(model_of(graph, 18), None).unwrap();
        let shapes = Shapes::infer(&model, &Bindings::new()).unwrap();
        (model, shapes)
    }

    fn chain(value_info: Vec<crate::proto::ValueInfoProto>) -> GraphProto {
        GraphProto {
            node: vec![
                node("Relu", &["x"], &["a"]),
                node("Mystery", &["a"], &["b"]),
                node("Relu", &["b"], &["y"]),
            ],
            input: vec![declared("x", DataType::Float32, &[2, 3])],
            output: vec![untyped("y")],
            value_info,
            ..Default::default()
        }
    }

    #[test]
    fn what_the_file_declares_fills_in_for_operators_that_are_not_known() {
        let (model, shapes) = infer(chain(vec![declared("b", DataType::Int8, &[7])]));
        let output = shapes.get(model.graph().outputs()[0]).unwrap();
        assert_eq!((output.data_type, output.known_dims()), (DataType::Int8, Some(vec![7])));
        assert_eq!((shapes.unresolved(), shapes.notes()), (&[][..], &[][..]));
    }

    #[test]
    fn nodes_of_unknown_outputs_are_listed() {
        let (model, shapes) = infer(chain(Vec::new()));
        let names: Vec<_> = shapes.unresolved().iter().map(|id| model.graph().node(*id).name).collect();
        assert_eq!(names, ["Mystery_1", "Relu_2"]);
    }

    #[test]
    fn a_wrong_declaration_is_noted_and_not_believed() {
        let (model, shapes) = infer(chain(vec![declared("a", DataType::Float16, &[2, 4])]));
        let a = model.graph().value_by_name("a").unwrap();
        assert_eq!(shapes.get(a.id).unwrap().known_dims(), Some(vec![2, 3]));
        let notes: Vec<_> = shapes.notes().iter().map(|note| (note.node, note.text.as_str())).collect();
        assert_eq!(
            notes,
            [
                (a.producer, "`Relu_0` (Relu): `a` is declared as float16 but is float32"),
                (a.producer, "`Relu_0` (Relu): `a` is declared as 2x4 but is 2x3"),
            ]
        );
    }

    #[test]
    fn the_target_of_a_reshape_is_followed_from_the_shape_that_it_is_made_of() {
        // Exporters write x.view(x.size(0), -1) so: Shape, Gather, Unsqueeze, Concat, Reshape.
        let list = |name: &str, dims: Vec<i64>, n: i64| TensorProto {
            name: Some(name.into()),
            dims,
            data_type: Some(7),
            int64_data: vec![n],
            ..Default::default()
        };
        let graph = GraphProto {
            node: vec![
                node("Shape", &["x"], &["shape"]),
                node("Gather", &["shape", "zero"], &["size"]),
                node("Unsqueeze", &["size", "first"], &["list"]),
                node("Concat", &["list", "rest"], &["target"]),
                node("Reshape", &["x", "target"], &["y"]),
            ],
            input: vec![declared("x", DataType::Float32, &[4, 3, 5])],
            output: vec![untyped("y")],
            initializer: vec![list("zero", vec![], 0), list("first", vec![1], 0), list("rest", vec![1], -1)],
            ..Default::default()
        };
        let mut graph = graph;
        graph.node[3].attribute = vec![crate::proto::AttributeProto {
            name: Some("axis".into()),
            i: Some(0),
            ..Default::default()
        }];
        let (model, shapes) = infer(graph);
        let output = shapes.get(model.graph().outputs()[0]).unwrap();
        assert_eq!(output.known_dims(), Some(vec![4, 15]));
    }
}
