//! Puts an ONNX graph together: nodes, weights, and the names that exporters give them.

use std::collections::HashMap;

use bytes::Bytes;
use opscope_trace::DataType;

use super::random::Generator;
use crate::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
    data_type_to_onnx,
};

/// The version of the operator set that the samples use; its files have [`IR_VERSION`].
const OPERATOR_SET: i64 = 17;
/// The version of the file format that came with [`OPERATOR_SET`].
const IR_VERSION: i64 = 8;

/// A tensor of the graph: an input, a weight, or what a node computes.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
}

/// A graph in the making.
///
/// Where a method takes a `path`, it is the module that a node belongs to, like
/// `backbone/conv1`: its nodes are called `/backbone/conv1/Conv` after their operator (with `_1`,
/// `_2` for further ones of a kind), their results `/backbone/conv1/Conv_output_0`, and weights
/// `backbone.conv1.weight`.
pub(super) struct Builder {
    seed: u64,
    graph: GraphProto,
    /// How many nodes have each name, their numbers left out.
    name_counts: HashMap<String, usize>,
}

impl Builder {
    /// A graph without nodes.
    pub(super) fn new(name: &str, seed: u64) -> Self {
        let graph = GraphProto { name: Some(name.to_owned()), ..GraphProto::default() };
        Self { seed, graph, name_counts: HashMap::new() }
    }

    /// Adds an input of the graph.
    pub(super) fn input(&mut self, name: &str, data_type: DataType, shape: &[usize]) -> Value {
        self.graph.input.push(value_info(name, data_type, shape));
        Value { name: name.to_owned(), shape: shape.to_vec() }
    }

    /// Makes a node's result an output of the graph, of 32-bit floats and under this name.
    pub(super) fn output(&mut self, name: &str, value: &Value) {
        self.graph.output.push(value_info(name, DataType::Float32, &value.shape));
        let uses = self.graph.node.iter_mut().flat_map(|node| node.input.iter_mut().chain(&mut node.output));
        for used in uses.filter(|used| **used == value.name) {
            name.clone_into(used);
        }
    }

    /// Adds a node with one result, of this shape.
    pub(super) fn node(
        &mut self,
        path: &str,
        operator: &str,
        inputs: &[&Value],
        attributes: Vec<AttributeProto>,
        shape: Vec<usize>,
    ) -> Value {
        let name = self.node_name(path, operator);
        let output = format!("{name}_output_0");
        self.graph.node.push(NodeProto {
            name: Some(name),
            op_type: Some(operator.to_owned()),
            input: inputs.iter().map(|input| input.name.clone()).collect(),
            output: vec![output.clone()],
            attribute: attributes,
            ..NodeProto::default()
        });
        Value { name: output, shape }
    }

    /// An input that a node leaves out.
    pub(super) fn no_value() -> Value {
        Value { name: String::new(), shape: Vec::new() }
    }

    /// The random numbers for the weight `kind` of the module at `path`.
    pub(super) fn generator(&self, path: &str, kind: &str) -> Generator {
        Generator::new(self.seed, &weight_name(path, kind))
    }

    /// Adds the weight `kind` of the module at `path`, in row-major order.
    pub(super) fn weight(&mut self, path: &str, kind: &str, shape: &[usize], values: &[f32]) -> Value {
        debug_assert_eq!(shape.iter().product::<usize>(), values.len(), "{path} {kind}");
        let mut bytes = vec![0; size_of_val(values)];
        for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
            *bytes = value.to_le_bytes();
        }
        self.initializer(weight_name(path, kind), DataType::Float32, shape, bytes)
    }

    /// A number that nodes take as an input; equal ones are one initializer.
    pub(super) fn scalar(&mut self, value: f32) -> Value {
        let name = format!("constant.{value}");
        if self.graph.initializer.iter().any(|tensor| tensor.name.as_ref() == Some(&name)) {
            return Value { name, shape: Vec::new() };
        }
        self.initializer(name, DataType::Float32, &[], value.to_le_bytes().to_vec())
    }

    /// Adds a list of integers that nodes of `path` take as an input, such as a shape.
    pub(super) fn integers(&mut self, path: &str, kind: &str, values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.initializer(weight_name(path, kind), DataType::Int64, &[values.len()], bytes)
    }

    /// The finished model.
    pub(super) fn finish(self) -> ModelProto {
        ModelProto {
            ir_version: Some(IR_VERSION),
            producer_name: Some("opscope".to_owned()),
            producer_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            graph: Some(self.graph),
            opset_import: vec![OperatorSetIdProto {
                domain: Some(String::new()),
                version: Some(OPERATOR_SET),
            }],
            ..ModelProto::default()
        }
    }

    fn initializer(&mut self, name: String, data_type: DataType, shape: &[usize], bytes: Vec<u8>) -> Value {
        self.graph.initializer.push(TensorProto {
            name: Some(name.clone()),
            data_type: Some(data_type_to_onnx(data_type)),
            dims: shape.iter().map(|&extent| extent as i64).collect(),
            raw_data: Some(Bytes::from(bytes)),
            ..TensorProto::default()
        });
        Value { name, shape: shape.to_vec() }
    }

    fn node_name(&mut self, path: &str, operator: &str) -> String {
        let name = if path.is_empty() { format!("/{operator}") } else { format!("/{path}/{operator}") };
        let count = self.name_counts.entry(name.clone()).or_default();
        *count += 1;
        if *count == 1 { name } else { format!("{name}_{}", *count - 1) }
    }
}

fn weight_name(path: &str, kind: &str) -> String {
    format!("{}.{kind}", path.replace('/', "."))
}

fn value_info(name: &str, data_type: DataType, shape: &[usize]) -> ValueInfoProto {
    let dimension = |&extent: &usize| Dimension {
        value: Some(DimensionValue::Value(extent as i64)),
        ..Dimension::default()
    };
    let tensor = TensorType {
        elem_type: Some(data_type_to_onnx(data_type)),
        shape: Some(TensorShapeProto { dim: shape.iter().map(dimension).collect() }),
    };
    ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(TypeProto { value: Some(TypeValue::Tensor(tensor)), ..TypeProto::default() }),
        ..ValueInfoProto::default()
    }
}

/// An attribute that is an integer.
pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, AttributeType::Int) }
}

/// An attribute that is a list of integers.
pub(super) fn ints<const N: usize>(name: &str, values: [i64; N]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..attribute(name, AttributeType::Ints) }
}

/// An attribute that is a number.
pub(super) fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..attribute(name, AttributeType::Float) }
}

/// An attribute that is a text.
pub(super) fn text(name: &str, value: &'static str) -> AttributeProto {
    AttributeProto { s: Some(Bytes::from_static(value.as_bytes())), ..attribute(name, AttributeType::String) }
}

fn attribute(name: &str, attribute_type: AttributeType) -> AttributeProto {
    AttributeProto {
        name: Some(name.to_owned()),
        r#type: Some(attribute_type as i32),
        ..AttributeProto::default()
    }
}
