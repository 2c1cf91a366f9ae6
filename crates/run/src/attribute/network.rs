//! The nodes and values of a model as attribution compares them: nodes of subgraphs stand beside those
//! around them, and values that must be equal are known to be.

use std::collections::HashMap;

use opscope_model::proto::{AttributeProto, GraphProto, NodeProto, TensorProto};
use prost::Message;

/// A value of a [`Network`], by its position.
pub(super) type ValueIndex = usize;
/// A node of a [`Network`], by its position.
pub(super) type NodeIndex = usize;

/// Tensors of more elements are not compared with one another.
const COMPARED_ELEMENTS: i64 = 16;

/// Subgraphs nested deeper than this are passed over.
const MAX_DEPTH: usize = 64;

/// A node.
pub(super) struct NetworkNode<'p> {
    pub proto: &'p NodeProto,
    /// The position in the main graph's list of nodes; `None` within a subgraph.
    pub position: Option<usize>,
    /// The values that it reads: its inputs by position, then those that its subgraphs capture.
    pub reads: Vec<Option<ValueIndex>>,
    /// The values that it computes, by position.
    pub outputs: Vec<Option<ValueIndex>>,
}

impl NetworkNode<'_> {
    fn has_subgraphs(&self) -> bool {
        subgraphs(self.proto).next().is_some()
    }
}

/// A value.
#[derive(Default)]
pub(super) struct NetworkValue {
    /// The node that computes it.
    pub producer: Option<NodeIndex>,
    /// The nodes that read it.
    pub readers: Vec<NodeIndex>,
    /// Whether the graph returns it, or a subgraph does.
    pub is_output: bool,
    /// Whether the file stores it.
    pub is_constant: bool,
    /// Whether it depends on the values of the inputs, and not only on their shapes.
    pub dynamic: bool,
    /// The value that stands for all those that must be equal to it.
    pub canonical: ValueIndex,
    /// The stored value, where it is small.
    pub content: Option<Vec<u8>>,
}

/// All nodes and values of a model.
#[derive(Default)]
pub(super) struct Network<'p> {
    pub nodes: Vec<NetworkNode<'p>>,
    pub values: Vec<NetworkValue>,
    /// The values by name; `None` where subgraphs use a name for several.
    names: HashMap<&'p str, Option<ValueIndex>>,
}

type Scope<'p> = HashMap<&'p str, ValueIndex>;

impl<'p> Network<'p> {
    /// The network of a model's main graph.
    pub fn of(graph: &'p GraphProto) -> Self {
        let mut network = Self::default();
        network.add_graph(graph, &mut Vec::new(), true);
        for node in 0..network.nodes.len() {
            for value in network.nodes[node].reads.clone().into_iter().flatten() {
                network.values[value].readers.push(node);
            }
        }
        network.find_equals();
        network
    }

    /// The value of a name, if there is exactly one.
    pub fn value(&self, name: &str) -> Option<ValueIndex> {
        self.names.get(name).copied().flatten()
    }

    /// The value that stands for all those that must be equal to this one.
    pub fn canonical(&self, value: ValueIndex) -> ValueIndex {
        self.values[value].canonical
    }

    /// The name of each value that has one of its own.
    pub fn named_values(&self) -> impl Iterator<Item = (&'p str, ValueIndex)> + '_ {
        self.names.iter().filter_map(|(name, value)| Some((*name, (*value)?)))
    }

    fn define(&mut self, name: &'p str, scope: &mut Scope<'p>) -> Option<ValueIndex> {
        if name.is_empty() {
            return None;
        }
        if let Some(&known) = scope.get(name) {
            return Some(known);
        }
        let index = self.values.len();
        self.values.push(NetworkValue { canonical: index, ..NetworkValue::default() });
        scope.insert(name, index);
        self.names.entry(name).and_modify(|known| *known = None).or_insert(Some(index));
        Some(index)
    }

    /// Adds a graph's nodes; gives what it reads from the scopes around it.
    fn add_graph(
        &mut self,
        graph: &'p GraphProto,
        around: &mut Vec<Scope<'p>>,
        is_main: bool,
    ) -> Vec<ValueIndex> {
        let mut scope = Scope::new();
        let sparse = graph.sparse_initializer.iter().filter_map(|tensor| tensor.values.as_ref());
        for tensor in graph.initializer.iter().chain(sparse) {
            if let Some(value) = self.define(tensor.name(), &mut scope) {
                self.values[value].is_constant = true;
                self.values[value].content = content(tensor);
            }
        }
        for input in &graph.input {
            if let Some(value) = self.define(input.name(), &mut scope) {
                self.values[value].dynamic = !self.values[value].is_constant;
            }
        }
        for node in &graph.node {
            for name in &node.output {
                self.define(name, &mut scope);
            }
        }
        around.push(scope);
        let mut captured = Vec::new();
        for (position, node) in graph.node.iter().enumerate() {
            self.add_node(node, around, is_main.then_some(position), &mut captured);
        }
        for output in &graph.output {
            if let Some(value) = resolve(output.name(), around, &mut captured) {
                self.values[value].is_output = true;
            }
        }
        around.pop();
        captured
    }

    fn add_node(
        &mut self,
        node: &'p NodeProto,
        around: &mut Vec<Scope<'p>>,
        position: Option<usize>,
        captured: &mut Vec<ValueIndex>,
    ) {
        let mut reads: Vec<_> = node.input.iter().map(|name| resolve(name, around, captured)).collect();
        if around.len() < MAX_DEPTH {
            for inner in subgraphs(node) {
                for value in self.add_graph(inner, around, false) {
                    reads.push(Some(value));
                    let own = around.last().is_some_and(|scope| scope.values().any(|known| *known == value));
                    if !own {
                        captured.push(value);
                    }
                }
            }
        }
        let index = self.nodes.len();
        let scope = around.last();
        let outputs: Vec<_> = node
            .output
            .iter()
            .map(|name| scope.and_then(|scope| scope.get(name.as_str()).copied()))
            .collect();
        for &value in outputs.iter().flatten() {
            self.values[value].producer = Some(index);
        }
        if let ("Constant", [Some(value)]) = (node.op_type(), &outputs[..]) {
            self.values[*value].is_constant = true;
            self.values[*value].content =
                node.attribute.iter().find_map(|stored| content(stored.t.as_ref()?));
        }
        self.nodes.push(NetworkNode { proto: node, position, reads, outputs });
    }

    /// Finds what depends on the inputs, and which values must be equal: copies of one another, and
    /// what the same operator computes of the same.
    fn find_equals(&mut self) {
        let mut constants: HashMap<Vec<u8>, ValueIndex> = HashMap::new();
        for index in 0..self.values.len() {
            if let Some(content) = self.values[index].content.clone() {
                self.values[index].canonical = *constants.entry(content).or_insert(index);
            }
        }
        let mut computed: HashMap<Key<'p>, NodeIndex> = HashMap::new();
        for index in self.order() {
            let node = &self.nodes[index];
            let (op_type, outputs) = (node.proto.op_type(), node.outputs.clone());
            if op_type == "Constant" {
                continue;
            }
            let depends = node.reads.iter().flatten().any(|&read| self.values[read].dynamic)
                && !matches!(op_type, "Shape" | "Size" | "ConstantOfShape");
            let reads: Vec<_> = node.reads.iter().map(|read| read.map(|read| self.canonical(read))).collect();
            let same = match op_type {
                // A network in use copies whatever it doesn't drop.
                "Identity" | "Dropout" => reads.first().copied().flatten().map(|read| vec![Some(read)]),
                _ if node.has_subgraphs() || is_random(op_type) => None,
                _ => {
                    let key = Key::of(node.proto, reads);
                    match computed.get(&key) {
                        Some(&twin) => Some(self.nodes[twin].outputs.clone()),
                        None => {
                            computed.insert(key, index);
                            None
                        }
                    }
                }
            };
            for &output in outputs.iter().flatten() {
                self.values[output].dynamic = depends;
            }
            for (output, twin) in outputs.iter().zip(same.unwrap_or_default()) {
                if let (Some(output), Some(twin)) = (*output, twin) {
                    self.values[output].canonical = self.canonical(twin);
                }
            }
        }
    }

    /// The nodes, each behind those that it reads from.
    fn order(&self) -> Vec<NodeIndex> {
        let (mut order, mut met) = (Vec::with_capacity(self.nodes.len()), vec![false; self.nodes.len()]);
        for first in 0..self.nodes.len() {
            let mut open = vec![(first, false)];
            while let Some((node, done)) = open.pop() {
                if done {
                    order.push(node);
                } else if !std::mem::replace(&mut met[node], true) {
                    open.push((node, true));
                    let producers = self.nodes[node]
                        .reads
                        .iter()
                        .flatten()
                        .filter_map(|&read| self.values[read].producer);
                    open.extend(
                        producers.filter(|&producer| !met[producer]).map(|producer| (producer, false)),
                    );
                }
            }
        }
        order
    }
}

/// Finds a name in the scopes around; notes those that aren't the innermost's.
fn resolve(
    name: &str,
    around: &[HashMap<&str, ValueIndex>],
    captured: &mut Vec<ValueIndex>,
) -> Option<ValueIndex> {
    let (innermost, outer) = around.split_last()?;
    if let Some(&value) = innermost.get(name) {
        return Some(value);
    }
    let value = outer.iter().rev().find_map(|scope| scope.get(name).copied())?;
    captured.push(value);
    Some(value)
}

fn subgraphs(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.as_deref().into_iter().chain(&attribute.graphs))
}

/// Nodes with equal keys compute the same.
#[derive(PartialEq, Eq, Hash)]
struct Key<'p> {
    domain: &'p str,
    op_type: &'p str,
    attributes: Vec<Vec<u8>>,
    reads: Vec<Option<ValueIndex>>,
    outputs: usize,
}

impl<'p> Key<'p> {
    fn of(node: &'p NodeProto, reads: Vec<Option<ValueIndex>>) -> Self {
        let mut attributes: Vec<Vec<u8>> = node.attribute.iter().map(Message::encode_to_vec).collect();
        attributes.sort_unstable();
        let outputs = node.output.len();
        Self { domain: node.domain(), op_type: node.op_type(), attributes, reads, outputs }
    }
}

fn is_random(op_type: &str) -> bool {
    op_type.starts_with("Random") || matches!(op_type, "Multinomial" | "Bernoulli")
}

/// The content of a small tensor, so that equal ones can be told.
fn content(tensor: &TensorProto) -> Option<Vec<u8>> {
    let elements: i64 = tensor.dims.iter().try_fold(1i64, |product, &size| product.checked_mul(size))?;
    if !(0..=COMPARED_ELEMENTS).contains(&elements) || !tensor.external_data.is_empty() {
        return None;
    }
    let nameless = TensorProto {
        dims: tensor.dims.clone(),
        data_type: tensor.data_type,
        raw_data: Some(raw_data(tensor)),
        string_data: tensor.string_data.clone(),
        ..TensorProto::default()
    };
    Some(nameless.encode_to_vec())
}

/// The elements in the one form of several that files choose from.
fn raw_data(tensor: &TensorProto) -> prost::bytes::Bytes {
    if let Some(raw) = tensor.raw_data.as_ref().filter(|raw| !raw.is_empty()) {
        return raw.clone();
    }
    let mut bytes: Vec<u8> = Vec::new();
    bytes.extend(tensor.float_data.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(tensor.double_data.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(tensor.int64_data.iter().flat_map(|number| number.to_le_bytes()));
    bytes.extend(tensor.uint64_data.iter().flat_map(|number| number.to_le_bytes()));
    let width = match tensor.data_type {
        Some(2 | 3 | 9) => 1,
        Some(4 | 5 | 10 | 16) => 2,
        _ => 4,
    };
    bytes.extend(tensor.int32_data.iter().flat_map(|number| number.to_le_bytes().into_iter().take(width)));
    bytes.into()
}

/// Whether `other` has all attributes of `node` with the same values, and none besides by which it would
/// do the work of operators before it.
pub(super) fn keeps_attributes(other: &NetworkNode<'_>, node: &NetworkNode<'_>) -> bool {
    let of = |node: &NetworkNode<'_>, name: &str| -> Option<AttributeProto> {
        let found = node.proto.attribute.iter().find(|attribute| attribute.name() == name)?;
        Some(AttributeProto { doc_string: None, ..found.clone() })
    };
    let kept = node.proto.attribute.iter().all(|attribute| {
        attribute.g.is_some()
            || !attribute.graphs.is_empty()
            || of(other, attribute.name()) == of(node, attribute.name())
    });
    let mut further = other.proto.attribute.iter().filter(|attribute| of(node, attribute.name()).is_none());
    kept && further.all(|added| is_neutral(added) || !ABSORBS.contains(&added.name()))
}

/// Attributes by which an operator takes in one before it; others that a file left out are spelled out
/// defaults, or what was fused behind.
const ABSORBS: [&str; 5] = ["pads", "transA", "transB", "alpha", "beta"];

/// Whether an attribute is all zeros, as most defaults are.
fn is_neutral(attribute: &AttributeProto) -> bool {
    attribute.i.unwrap_or_default() == 0
        && attribute.f.unwrap_or_default() == 0.0
        && attribute.s.as_ref().is_none_or(|text| text.is_empty())
        && attribute.ints.iter().all(|&number| number == 0)
        && attribute.floats.iter().all(|&number| number == 0.0)
        && attribute.t.is_none()
}
