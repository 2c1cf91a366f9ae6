//! A graph in the making: nodes can be taken out and put in, and every edit keeps it whole.
//!
//! A [`Draft`] is read by the rewrites; it is changed by committing an [`Edit`] only, which checks that
//! nothing that is still read, or is an output of the graph, goes away. Only the model's outermost
//! graph is rewritten. Values that the graphs inside its nodes (`If`, `Loop`, `Scan`) read from
//! around themselves keep their names.

mod alike;
mod edit;
mod finish;
mod readers;
mod subgraphs;

use std::collections::{BTreeMap, HashMap, HashSet};

use opscope_model::proto::{NodeProto, TensorProto};
use opscope_model::{Attributes, Model, TensorData, TensorShape};
use opscope_trace::DataType;

pub use edit::{Edit, Refusal};

use alike::Alike;
use readers::Readers;

use crate::constant;

/// Names a node of a draft; it stays valid, and unused, after the node was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIndex(usize);

/// A node with its place.
#[derive(Clone, Debug)]
struct Slot {
    proto: NodeProto,
    /// Where it stands among the others, as far as the flow of data leaves that open.
    place: (usize, usize),
    /// Values that its subgraphs read besides its inputs.
    captured: Vec<String>,
    /// The number that [`alike`] finds it by.
    signature: u64,
}

/// A model whose graph is being rewritten.
#[derive(Clone, Debug)]
pub struct Draft<'m> {
    model: &'m Model,
    opset: i64,
    nodes: Vec<Option<Slot>>,
    producers: HashMap<String, NodeIndex>,
    readers: Readers,
    alike: Alike,
    /// Initializers that nobody who runs the model can replace.
    constants: BTreeMap<String, TensorProto>,
    outputs: HashSet<String>,
    node_names: HashSet<String>,
    /// Names that mustn't be given to anything new, those inside of subgraphs included.
    taken: HashSet<String>,
    /// How far each beginning of new names was counted; see [`Edit::fresh`].
    counts: HashMap<String, usize>,
    shapes: HashMap<String, TensorShape>,
    /// Whether the shapes are those of the nodes as they are now.
    shapes_are_current: bool,
}

/// A node of a draft, to be looked at.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'d> {
    /// Its index.
    pub id: NodeIndex,
    /// The node as the file will have it.
    pub proto: &'d NodeProto,
    draft: &'d Draft<'d>,
}

#[cfg(test)]
thread_local! {
    /// How many nodes were looked at and names tried: the steps of a rewrite, as tests count them.
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Notes that a node is looked at or a name is tried, where tests count that.
fn count_step() {
    #[cfg(test)]
    STEPS.with(|count| count.set(count.get() + 1));
}

impl<'m> Draft<'m> {
    /// A draft of the model's graph.
    pub fn new(model: &'m Model) -> Self {
        let graph = model.graph();
        let mut draft = Self {
            model,
            opset: model.opset_version("").unwrap_or(1),
            nodes: Vec::with_capacity(graph.node_count()),
            producers: HashMap::new(),
            readers: Readers::default(),
            alike: Alike::default(),
            constants: fixed_initializers(model),
            outputs: graph.outputs().iter().map(|&id| graph.value(id).name.to_owned()).collect(),
            node_names: graph.nodes().map(|node| node.name.to_owned()).collect(),
            taken: HashSet::new(),
            counts: HashMap::new(),
            shapes: HashMap::new(),
            shapes_are_current: false,
        };
        subgraphs::note_names(graph.proto(), &mut draft.taken);
        for node in graph.nodes() {
            let captured = node.captured.iter().map(|&id| graph.value(id).name.to_owned()).collect();
            let mut proto = node.proto.clone();
            // Without a name, the log of what was done couldn't say where.
            proto.name = Some(node.name.to_owned());
            let place = (node.position, 0);
            draft.insert(proto, place, captured);
        }
        draft
    }

    /// The version of ONNX's own operators.
    pub fn opset(&self) -> i64 {
        self.opset
    }

    /// Takes on a newer version, which [`crate::check_opset`] has found to change nothing.
    pub(crate) fn set_opset(&mut self, version: i64) {
        self.opset = version;
    }

    /// How many nodes there are.
    pub fn node_count(&self) -> usize {
        self.nodes().count()
    }

    /// All nodes, in no particular order.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = NodeView<'_>> {
        (0..self.nodes.len()).filter_map(|index| self.node(NodeIndex(index)))
    }

    /// A node, if it wasn't taken out.
    pub fn node(&self, id: NodeIndex) -> Option<NodeView<'_>> {
        count_step();
        let slot = self.nodes.get(id.0)?.as_ref()?;
        Some(NodeView { id, proto: &slot.proto, draft: self })
    }

    /// The node that computes a value.
    pub fn producer(&self, name: &str) -> Option<NodeView<'_>> {
        self.node(*self.producers.get(name)?)
    }

    /// The nodes that read a value, each once for every time that it does, in the order of their indices.
    pub fn consumers(&self, name: &str) -> impl ExactSizeIterator<Item = NodeView<'_>> {
        let readings = self.readers.of(name).iter();
        readings.map(|reading| self.node(reading.node).expect("nodes that are taken out read nothing"))
    }

    /// The only node that reads a value, if nothing else does: no second node, no subgraph, and not
    /// whoever runs the model.
    pub fn only_consumer(&self, name: &str) -> Option<NodeView<'_>> {
        let mut consumers = self.consumers(name);
        let (first, second) = (consumers.next()?, consumers.next());
        (second.is_none() && !self.is_output(name) && !self.is_captured(name)).then_some(first)
    }

    /// Whether the value is one that the model returns.
    pub fn is_output(&self, name: &str) -> bool {
        self.outputs.contains(name)
    }

    /// Whether a subgraph of a node reads the value.
    pub fn is_captured(&self, name: &str) -> bool {
        self.readers.are_subgraphs(name)
    }

    /// The nodes before one, by index, that may well compute the same from the same inputs.
    pub(crate) fn alike(&self, node: NodeView<'_>) -> impl Iterator<Item = NodeView<'_>> {
        let signature = self.slot(node.id).map_or(0, |slot| slot.signature);
        self.alike.before(signature, node.id).filter_map(|id| self.node(id))
    }

    /// The value's data, if it is always the same: an initializer that isn't a mere default for an
    /// input, or what a `Constant` holds. Data that can't be read counts as unknown.
    pub fn constant(&self, name: &str) -> Option<TensorData> {
        self.stored(name).filter(constant::is_countable)
    }

    fn stored(&self, name: &str) -> Option<TensorData> {
        if let Some(tensor) = self.constants.get(name) {
            return self.model.tensor_data(tensor).ok();
        }
        let node = self.producer(name).filter(|node| node.is("Constant"))?;
        let attributes = node.attributes();
        if let Some(tensor) = attributes.tensor("value") {
            return self.model.tensor_data(tensor).ok();
        }
        if let Some(x) = attributes.float("value_float") {
            return constant::floats(DataType::Float32, &[], &[x.into()]);
        }
        if let Some(n) = attributes.int("value_int") {
            return constant::integers(DataType::Int64, &[], &[n]);
        }
        if let Some(numbers) = attributes.floats("value_floats") {
            let numbers: Vec<f64> = numbers.iter().map(|&x| x.into()).collect();
            return constant::floats(DataType::Float32, &[numbers.len() as u64], &numbers);
        }
        attributes.ints("value_ints").map(constant::list)
    }

    /// Whether the value is always the same; cheaper than to read it.
    pub fn is_constant(&self, name: &str) -> bool {
        self.constants.contains_key(name) || self.producer(name).is_some_and(|node| node.is("Constant"))
    }

    /// The elements of a constant list of integers.
    pub fn constant_list(&self, name: &str) -> Option<Vec<i64>> {
        self.constant(name).filter(|tensor| tensor.dims.len() <= 1)?.to_i64s()
    }

    /// The type and dimensions of a value, as far as they are known whatever the model is fed with.
    pub fn shape(&self, name: &str) -> Option<&TensorShape> {
        self.shapes.get(name)
    }

    /// The dimensions of a value, if all are known.
    pub fn dims(&self, name: &str) -> Option<Vec<u64>> {
        self.shape(name)?.known_dims()
    }

    /// How many dimensions a value has.
    pub fn rank(&self, name: &str) -> Option<usize> {
        Some(self.shape(name)?.dims.len())
    }

    /// The element type of a value.
    pub fn data_type(&self, name: &str) -> Option<DataType> {
        let known = self.shape(name).map(|shape| shape.data_type);
        known.filter(|data_type| *data_type != DataType::Unknown)
    }

    fn slot(&self, id: NodeIndex) -> Option<&Slot> {
        self.nodes.get(id.0)?.as_ref()
    }

    fn insert(&mut self, proto: NodeProto, place: (usize, usize), captured: Vec<String>) -> NodeIndex {
        let id = NodeIndex(self.nodes.len());
        let slot = Slot { signature: alike::signature(&proto), proto, place, captured };
        self.readers.enter(id, &slot);
        self.alike.enter(slot.signature, id);
        for name in slot.proto.output.iter().filter(|name| !name.is_empty()) {
            self.producers.insert(name.clone(), id);
            self.taken.insert(name.clone());
        }
        self.nodes.push(Some(slot));
        id
    }

    fn take_out(&mut self, id: NodeIndex) -> Option<Slot> {
        let slot = self.nodes.get_mut(id.0)?.take()?;
        self.readers.leave(id, &slot);
        self.alike.leave(slot.signature, id);
        for name in &slot.proto.output {
            if self.producers.get(name) == Some(&id) {
                self.producers.remove(name);
            }
        }
        Some(slot)
    }
}

impl<'d> NodeView<'d> {
    /// Whether the operator is the given one of ONNX's own domain.
    pub fn is(&self, op_type: &str) -> bool {
        self.proto.op_type() == op_type && self.is_standard()
    }

    /// The operator if it is of ONNX's own domain, else an empty text.
    pub fn op_type(&self) -> &'d str {
        if self.is_standard() { self.proto.op_type() } else { "" }
    }

    fn is_standard(&self) -> bool {
        matches!(self.proto.domain(), "" | "ai.onnx")
    }

    /// The node's name.
    pub fn name(&self) -> &'d str {
        self.proto.name()
    }

    /// The name of the input at a position; empty where it is left out.
    pub fn input(&self, position: usize) -> &'d str {
        self.proto.input.get(position).map_or("", String::as_str)
    }

    /// The inputs' names, with those left out as empty ones.
    pub fn inputs(&self) -> impl Iterator<Item = &'d str> {
        self.proto.input.iter().map(String::as_str)
    }

    /// The name of the output at a position; empty where it is left out.
    pub fn output(&self, position: usize) -> &'d str {
        self.proto.output.get(position).map_or("", String::as_str)
    }

    /// The name of the node's output, if it has but one.
    pub fn only_output(&self) -> Option<&'d str> {
        let mut named = self.proto.output.iter().filter(|name| !name.is_empty());
        let (first, second) = (named.next()?, named.next());
        second.is_none().then_some(first.as_str())
    }

    /// The node that computes the input at a position.
    pub fn producer(&self, position: usize) -> Option<NodeView<'d>> {
        self.draft.producer(self.input(position))
    }

    /// The data of the input at a position, if it is always the same.
    pub fn constant(&self, position: usize) -> Option<TensorData> {
        self.draft.constant(self.input(position))
    }

    /// The number of the input at a position, if it is always one and the same, and gives the result no
    /// dimension beside those of the `other` input.
    pub fn number_beside(&self, position: usize, other: usize) -> Option<f64> {
        let data = self.constant(position)?;
        let rank = self.draft.rank(self.input(other)).unwrap_or(0);
        if data.dims.len() <= rank { constant::scalar(&data) } else { None }
    }

    /// Whether the first input is of floating-point numbers, as far as its type is known.
    pub fn is_of_floats(&self) -> bool {
        self.draft.data_type(self.input(0)).is_none_or(constant::is_float)
    }

    /// The attributes.
    pub fn attributes(&self) -> Attributes<'d> {
        Attributes::new(&self.proto.attribute)
    }

    /// The inputs' positions with the first two exchanged as well, for operators that commute: the
    /// pairs of (this, other).
    pub fn either_way(&self) -> [(usize, usize); 2] {
        [(0, 1), (1, 0)]
    }
}

/// The initializers whose data are always the same. From the fourth version of the file format on, one
/// that is listed as an input as well is a default, which whoever runs the model can replace.
fn fixed_initializers(model: &Model) -> BTreeMap<String, TensorProto> {
    let graph = model.graph().proto();
    let inputs: HashSet<&str> = match model.proto().ir_version() {
        ..4 => HashSet::new(),
        _ => graph.input.iter().map(|input| input.name()).collect(),
    };
    let fixed = graph.initializer.iter().filter(|tensor| !inputs.contains(tensor.name()));
    fixed.map(|tensor| (tensor.name().to_owned(), shareable(model, tensor))).collect()
}

/// The tensor with its data as shared bytes, so that drafts can be copied at no cost.
fn shareable(model: &Model, tensor: &TensorProto) -> TensorProto {
    if tensor.raw_data.is_some() || tensor.data_location == Some(1) {
        return tensor.clone();
    }
    match model.tensor_data(tensor) {
        Ok(data) => constant::to_proto(tensor.name(), &data),
        Err(_) => tensor.clone(),
    }
}
