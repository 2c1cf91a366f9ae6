//! A model's graph as nodes and values, in an order in which it can run.

mod build;
mod subgraph;

use opscope_trace::{Pool, Span, StringId, StringTable};

use crate::attributes::Attributes;
use crate::proto::{GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, data_type_from_onnx};

pub use crate::declared::{Declared, Dim};
pub(crate) use subgraph::{GraphCopy, name_nodes, subgraphs};

/// Declares an id that is a position in one of the graph's tables.
macro_rules! graph_id {
    ($(#[$doc:meta])* $Id:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $Id(u32);

        impl $Id {
            /// The position, from 0 and without gaps, so that a vector can be indexed by it.
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id at a position, which [`Graph`]'s builder has checked to fit.
            pub(crate) fn from_index(index: usize) -> Self {
                Self(index as u32)
            }
        }
    };
}

graph_id!(
    /// Names a node of a graph; ids rise in an order in which the nodes can run.
    NodeId
);
graph_id!(
    /// Names a value of a graph: an input, an initializer, or what a node computes.
    ValueId
);

/// Why a graph can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum GraphError {
    #[error(
        "the value `{value}` is defined twice, by {first} and by {second}; every value needs one \
         definition, so rename one of them"
    )]
    Duplicate { value: String, first: String, second: String },
    #[error(
        "the node `{node}` reads the value `{value}`, which nothing defines: no input, no \
         initializer and no other node"
    )]
    DanglingInput { node: String, value: String },
    #[error("the graph's output `{value}` is not defined by any input, initializer or node")]
    DanglingOutput { value: String },
    #[error("the nodes {} wait for one another in a circle, so none of them can run", quoted(.nodes))]
    Cycle { nodes: Vec<String> },
    #[error("graphs are nested more than {limit} deep (in the node `{node}`), which no real model does")]
    TooDeep { node: String, limit: usize },
    #[error("the graph has more than {limit} nodes and connections, which is more than can be handled")]
    TooLarge { limit: usize },
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// The tables behind a [`Graph`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    /// Names of the values; the position of a name is the value's id.
    value_names: StringTable,
    values: Vec<ValueRow>,
    /// Names of the nodes; the position of a name is the node's position in the file.
    node_names: StringTable,
    nodes: Vec<NodeRow>,
    /// The node at each position of the file.
    by_position: Vec<NodeId>,
    slots: Pool<Option<ValueId>>,
    captured: Pool<ValueId>,
    consumers: Pool<NodeId>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
}

#[derive(Clone, Debug)]
struct ValueRow {
    kind: ValueKind,
    producer: Option<NodeId>,
    consumers: Span<NodeId>,
    /// Where the graph declares the value's type.
    declaration: Option<Declaration>,
    /// The position in `GraphProto::initializer`, if it is a dense one.
    initializer: Option<u32>,
    is_output: bool,
}

/// Where a value's type is declared: a position in one of the graph's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Declaration {
    Input(u32),
    Output(u32),
    ValueInfo(u32),
}

#[derive(Clone, Debug)]
struct NodeRow {
    position: u32,
    named: bool,
    inputs: Span<Option<ValueId>>,
    outputs: Span<Option<ValueId>>,
    captured: Span<ValueId>,
}

/// A model's graph; a small view that can be copied.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'m> {
    proto: &'m GraphProto,
    tables: &'m Tables,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// Given by whoever runs the model.
    Input,
    /// Stored in the file, even if it is also listed as an input (then it is a default).
    Initializer,
    /// Computed by a node.
    Intermediate,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Node<'m> {
    /// The node's id.
    pub id: NodeId,
    /// The name, unique in the graph: the file's own, or else one made of operator and position,
    /// such as `Conv_12`.
    pub name: &'m str,
    /// Whether the name is the file's own.
    pub named: bool,
    /// The operator, such as `Conv`.
    pub op_type: &'m str,
    /// The operator's domain; ONNX's own is the empty string, also where a file spells it
    /// `ai.onnx`.
    pub domain: &'m str,
    /// The inputs by position; `None` is an optional one that was left out.
    pub inputs: &'m [Option<ValueId>],
    /// The outputs by position; `None` is an optional one that was left out.
    pub outputs: &'m [Option<ValueId>],
    /// Values of this graph that the node's subgraphs read besides its inputs.
    pub captured: &'m [ValueId],
    /// The attributes.
    pub attributes: Attributes<'m>,
    /// The position in the file's list of nodes.
    pub position: usize,
    /// The node as the file has it.
    pub proto: &'m NodeProto,
}

impl<'m> Node<'m> {
    /// The input at a position, if it is there.
    pub fn input(&self, position: usize) -> Option<ValueId> {
        self.inputs.get(position).copied().flatten()
    }

    /// The output at a position, if it is there.
    pub fn output(&self, position: usize) -> Option<ValueId> {
        self.outputs.get(position).copied().flatten()
    }

    /// Everything that the node reads: inputs that are there, then what its subgraphs capture.
    pub fn reads(&self) -> impl Iterator<Item = ValueId> + use<'m> {
        self.inputs.iter().flatten().copied().chain(self.captured.iter().copied())
    }

    /// Whether the operator is the given one of ONNX's own domain.
    pub fn is(&self, op_type: &str) -> bool {
        self.domain.is_empty() && self.op_type == op_type
    }
}

/// A value of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Value<'m> {
    /// The value's id.
    pub id: ValueId,
    /// The name, unique in the graph.
    pub name: &'m str,
    /// Where the value comes from.
    pub kind: ValueKind,
    /// The node that computes it.
    pub producer: Option<NodeId>,
    /// The nodes that read it, each once, in the order in which they run.
    pub consumers: &'m [NodeId],
    /// Whether it is an output of the graph.
    pub is_output: bool,
    /// Its data, for a dense initializer.
    pub initializer: Option<&'m TensorProto>,
    declaration: Option<&'m ValueInfoProto>,
}

impl<'m> Value<'m> {
    /// The tensor type that the file declares, if it does (for an initializer, the one of its data).
    pub fn declared(&self) -> Option<Declared> {
        if let Some(tensor) = self.initializer {
            let dims = tensor.dims.iter().map(|&n| u64::try_from(n).map_or(Dim::Unknown, Dim::Known));
            return Some(Declared {
                data_type: data_type_from_onnx(tensor.data_type.unwrap_or(0)),
                dims: Some(dims.collect()),
            });
        }
        Declared::from_type(self.declaration?.r#type.as_ref()?)
    }

    /// Whether the file stores the value's data, as it does weights.
    pub fn is_stored(&self) -> bool {
        self.kind == ValueKind::Initializer
    }

    /// The declaration as the file has it, which may be of a sequence or a map.
    pub fn declared_type(&self) -> Option<&'m TypeProto> {
        self.declaration?.r#type.as_ref()
    }
}

impl<'m> Graph<'m> {
    pub(crate) fn new(proto: &'m GraphProto, tables: &'m Tables) -> Self {
        Self { proto, tables }
    }

    /// The graph as the file has it.
    pub fn proto(self) -> &'m GraphProto {
        self.proto
    }

    /// The graph's name, empty if it has none.
    pub fn name(self) -> &'m str {
        self.proto.name()
    }

    /// How many nodes there are.
    pub fn node_count(self) -> usize {
        self.tables.nodes.len()
    }

    /// How many values there are.
    pub fn value_count(self) -> usize {
        self.tables.values.len()
    }

    /// All nodes in an order in which they can run: the file's own, where that is one.
    pub fn nodes(self) -> impl ExactSizeIterator<Item = Node<'m>> + DoubleEndedIterator {
        (0..self.node_count()).map(move |index| self.node(NodeId::from_index(index)))
    }

    /// A node by its id.
    ///
    /// # Panics
    /// If the id comes from another, longer graph.
    pub fn node(self, id: NodeId) -> Node<'m> {
        let row = &self.tables.nodes[id.index()];
        let position = row.position as usize;
        let proto = &self.proto.node[position];
        Node {
            id,
            name: nth(&self.tables.node_names, position),
            named: row.named,
            op_type: proto.op_type(),
            domain: normal_domain(proto.domain()),
            inputs: self.tables.slots.get(row.inputs),
            outputs: self.tables.slots.get(row.outputs),
            captured: self.tables.captured.get(row.captured),
            attributes: Attributes::new(&proto.attribute),
            position,
            proto,
        }
    }

    /// A node by its name.
    pub fn node_by_name(self, name: &str) -> Option<Node<'m>> {
        let position = self.tables.node_names.lookup(name)?.index();
        Some(self.node(self.tables.by_position[position]))
    }

    /// All values: inputs, initializers, then what the nodes compute.
    pub fn values(self) -> impl ExactSizeIterator<Item = Value<'m>> {
        (0..self.value_count()).map(move |index| self.value(ValueId::from_index(index)))
    }

    /// A value by its id.
    ///
    /// # Panics
    /// If the id comes from another, longer graph.
    pub fn value(self, id: ValueId) -> Value<'m> {
        let row = &self.tables.values[id.index()];
        let declaration = row.declaration.map(|place| match place {
            Declaration::Input(index) => &self.proto.input[index as usize],
            Declaration::Output(index) => &self.proto.output[index as usize],
            Declaration::ValueInfo(index) => &self.proto.value_info[index as usize],
        });
        Value {
            id,
            name: nth(&self.tables.value_names, id.index()),
            kind: row.kind,
            producer: row.producer,
            consumers: self.tables.consumers.get(row.consumers),
            is_output: row.is_output,
            initializer: row.initializer.map(|index| &self.proto.initializer[index as usize]),
            declaration,
        }
    }

    /// A value by its name.
    pub fn value_by_name(self, name: &str) -> Option<Value<'m>> {
        self.tables.value_names.lookup(name).map(|id| self.value(ValueId::from_index(id.index())))
    }

    /// The values that whoever runs the model must give, in the file's order. Inputs that an
    /// initializer gives a default for are not among them.
    pub fn inputs(self) -> &'m [ValueId] {
        &self.tables.inputs
    }

    /// The values that the model returns, in the file's order.
    pub fn outputs(self) -> &'m [ValueId] {
        &self.tables.outputs
    }
}

/// The text at a position of a table.
fn nth(strings: &StringTable, index: usize) -> &str {
    strings.get(StringId::from_index(index))
}

/// A domain in the one spelling that is used here: ONNX's own has two.
pub(crate) fn normal_domain(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}
