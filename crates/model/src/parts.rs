//! The parts of an ONNX model beside its graph: constants in nodes, graphs within nodes, functions.

use std::collections::BTreeMap;

use opscope_trace::DataType;

use crate::graph::subgraphs;
use crate::proto::{GraphProto, ModelProto, NodeProto, TensorProto};

/// Numbers that a model stores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stored<'m> {
    /// As a tensor.
    Tensor(&'m TensorProto),
    /// As so many numbers of an attribute.
    List(DataType, u64),
}

/// The parts of a model that its graph doesn't show.
#[derive(Clone, Debug, Default)]
pub struct Parts<'m> {
    /// The content of the graph's own `Constant` nodes.
    pub constants: Vec<Stored<'m>>,
    /// How many graphs stand within nodes of others (`If`, `Loop`, `Scan`), however deep.
    pub graphs: usize,
    /// The types of the nodes that such graphs stand in, with the number of graphs of each.
    pub holders: BTreeMap<&'m str, usize>,
    /// The types of the nodes in such graphs, with their number.
    pub types: BTreeMap<&'m str, usize>,
    /// The model's own functions: each one's name and how many nodes it has.
    pub functions: Vec<(&'m str, usize)>,
    /// Initializers and constants in those graphs and functions.
    pub within: Vec<Stored<'m>>,
}

impl<'m> Parts<'m> {
    /// The parts of a model.
    pub fn of(model: &'m ModelProto) -> Self {
        let mut parts = Self::default();
        let mut graphs: Vec<&GraphProto> = Vec::new();
        for node in model.graph.iter().flat_map(|graph| &graph.node) {
            parts.constants.extend(constants(node));
            parts.enter(node, &mut graphs);
        }
        for function in &model.functions {
            parts.functions.push((function.name.as_deref().unwrap_or_default(), function.node.len()));
            for node in &function.node {
                parts.within.extend(constants(node));
                parts.enter(node, &mut graphs);
            }
        }
        while let Some(graph) = graphs.pop() {
            parts.graphs += 1;
            parts.within.extend(graph.initializer.iter().map(Stored::Tensor));
            let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
            parts.within.extend(sparse.map(Stored::Tensor));
            for node in &graph.node {
                *parts.types.entry(node.op_type()).or_default() += 1;
                parts.within.extend(constants(node));
                parts.enter(node, &mut graphs);
            }
        }
        parts
    }

    /// How many nodes stand in graphs within nodes, and in functions.
    pub fn nodes(&self) -> usize {
        self.types.values().sum::<usize>() + self.functions.iter().map(|(_, nodes)| nodes).sum::<usize>()
    }

    /// The sentence that whoever looks at the graph alone doesn't see these nodes; `None` without any.
    pub fn unseen(&self) -> Option<String> {
        let nodes = self.nodes();
        (nodes > 0).then(|| {
            format!("the nodes inside of others (If, Loop, Scan) and in functions weren't looked at: {nodes}")
        })
    }

    /// Takes in the graphs within a node.
    fn enter(&mut self, node: &'m NodeProto, graphs: &mut Vec<&'m GraphProto>) {
        for graph in subgraphs(node) {
            *self.holders.entry(node.op_type()).or_default() += 1;
            graphs.push(graph);
        }
    }
}

/// The content of a `Constant` node.
fn constants(node: &NodeProto) -> impl Iterator<Item = Stored<'_>> {
    let is_constant = node.op_type() == "Constant" && matches!(node.domain(), "" | "ai.onnx");
    node.attribute.iter().filter(move |_| is_constant).filter_map(|attribute| {
        let sparse = attribute.sparse_tensor.as_ref().and_then(|sparse| sparse.values.as_ref());
        if let Some(tensor) = attribute.t.as_deref().or(sparse) {
            return Some(Stored::Tensor(tensor));
        }
        Some(match attribute.name() {
            "value_float" => Stored::List(DataType::Float32, 1),
            "value_int" => Stored::List(DataType::Int64, 1),
            "value_floats" => Stored::List(DataType::Float32, attribute.floats.len() as u64),
            "value_ints" => Stored::List(DataType::Int64, attribute.ints.len() as u64),
            _ => return None,
        })
    })
}

/// Where a tensor's data lie: two tensors of the same place share them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PlaceOfData<'m> {
    /// In memory: the address and the number of bytes.
    Memory(usize, usize),
    /// In another file: the entries that tell where.
    Outside(Vec<(Option<&'m str>, Option<&'m str>)>),
}

/// Where the data of a tensor lie, unless it has them as numbers of its own.
pub fn place_of_data(tensor: &TensorProto) -> Option<PlaceOfData<'_>> {
    if tensor.data_location == Some(1) {
        let entries = tensor.external_data.iter();
        let texts = entries.map(|entry| (entry.key.as_deref(), entry.value.as_deref()));
        return Some(PlaceOfData::Outside(texts.collect()));
    }
    let data = tensor.raw_data.as_ref().filter(|data| !data.is_empty())?;
    Some(PlaceOfData::Memory(data.as_ptr() as usize, data.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::{AttributeProto, FunctionProto};

    fn node(op_type: &str, attribute: AttributeProto) -> NodeProto {
        NodeProto { op_type: Some(op_type.into()), attribute: vec![attribute], ..Default::default() }
    }

    fn constant(name: &str, attribute: AttributeProto) -> NodeProto {
        node("Constant", AttributeProto { name: Some(name.into()), ..attribute })
    }

    #[test]
    fn parts_are_found_however_deep_they_stand() {
        let weight = || TensorProto { dims: vec![2, 3], data_type: Some(1), ..Default::default() };
        let held = |graph: GraphProto| AttributeProto { g: Some(Box::new(graph)), ..Default::default() };
        let inner = GraphProto {
            node: vec![constant(
                "value",
                AttributeProto { t: Some(Box::new(weight())), ..Default::default() },
            )],
            initializer: vec![weight(), weight()],
            ..Default::default()
        };
        let outer = GraphProto { node: vec![node("Loop", held(inner.clone()))], ..Default::default() };
        let graph = GraphProto {
            node: vec![
                constant("value_floats", AttributeProto { floats: vec![1.0, 2.0], ..Default::default() }),
                node("If", held(outer)),
            ],
            ..Default::default()
        };
        let function = FunctionProto {
            name: Some("f".into()),
            node: vec![node("If", held(GraphProto::default())), node("Relu", AttributeProto::default())],
            ..Default::default()
        };
        let model = ModelProto { graph: Some(graph), functions: vec![function], ..Default::default() };
        let parts = Parts::of(&model);
        assert_eq!(parts.constants, [Stored::List(DataType::Float32, 2)]);
        assert_eq!((parts.graphs, parts.within.len()), (3, 3));
        assert_eq!(parts.nodes(), 4, "Loop, Constant, and two of the function");
        assert!(parts.unseen().unwrap().ends_with("weren't looked at: 4"));
        assert_eq!(Parts::default().unseen(), None);
        assert_eq!(parts.holders, BTreeMap::from([("If", 2), ("Loop", 1)]));
        assert_eq!(parts.types, BTreeMap::from([("Constant", 1), ("Loop", 1)]));
        assert_eq!(parts.functions, [("f", 2)]);
    }
}
