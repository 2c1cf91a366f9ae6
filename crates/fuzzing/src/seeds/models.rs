//! Models: one with inputs of several kinds, one with an activation and a shape that is computed.

use opscope_model::proto::{
    Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto, encode,
};

pub(super) enum Size {
    Known(i64),
    Symbol(&'static str),
}

pub(super) fn node(op_type: &str, input: &[&str], output: &str) -> NodeProto {
    NodeProto {
        op_type: Some(op_type.into()),
        name: Some(output.to_uppercase()),
        input: input.iter().map(|name| (*name).into()).collect(),
        output: vec![output.into()],
        ..Default::default()
    }
}

pub(super) fn value(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), ..Default::default() }
}

pub(super) fn input(name: &str, elem_type: i32, sizes: &[Size]) -> ValueInfoProto {
    let dim = sizes.iter().map(|size| {
        let value = match size {
            Size::Known(size) => DimensionValue::Value(*size),
            Size::Symbol(name) => DimensionValue::Param((*name).to_owned()),
        };
        Dimension { value: Some(value), denotation: None }
    });
    let shape = Some(TensorShapeProto { dim: dim.collect() });
    let tensor = TypeValue::Tensor(TensorType { elem_type: Some(elem_type), shape });
    ValueInfoProto { r#type: Some(TypeProto { value: Some(tensor), denotation: None }), ..value(name) }
}

pub(super) fn encoded(graph: GraphProto) -> Vec<u8> {
    encode(&ModelProto {
        ir_version: Some(8),
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(graph),
        ..Default::default()
    })
}

/// A model with inputs of several kinds: a scalar, tokens of any number, an image.
pub fn scalars() -> Vec<u8> {
    let graph = GraphProto {
        node: vec![
            node("Mul", &["image", "scale"], "m"),
            node("Cast", &["tokens"], "t"),
            node("ReduceMean", &["t"], "y"),
        ],
        input: vec![
            input("scale", 1, &[]),
            input("tokens", 7, &[Size::Known(1), Size::Symbol("length")]),
            input("image", 1, &[Size::Known(1), Size::Known(3), Size::Symbol("n"), Size::Symbol("n")]),
        ],
        output: vec![value("m"), value("y")],
        ..Default::default()
    };
    encoded(graph)
}

/// A convolution, an activation and a shape that is computed.
pub fn chain() -> Vec<u8> {
    let weights = TensorProto {
        name: Some("w".into()),
        data_type: Some(1),
        dims: vec![2, 2, 1, 1],
        float_data: vec![0.5; 4],
        ..Default::default()
    };
    let graph = GraphProto {
        node: vec![
            node("Conv", &["x", "w"], "c"),
            node("Relu", &["c"], "r"),
            node("Shape", &["r"], "s"),
            node("Reshape", &["c", "s"], "y"),
        ],
        input: vec![input("x", 1, &[Size::Symbol("n"), Size::Known(2), Size::Known(4), Size::Known(4)])],
        output: vec![value("y")],
        initializer: vec![weights],
        ..Default::default()
    };
    encoded(graph)
}
