//! Small graphs for the tests of attribution.

use opscope_model::Model;
use opscope_model::proto::{
    GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto,
};

use crate::engine::EngineNode;

/// A model of nodes, each given as `type name(inputs) output`; values that nothing computes are
/// inputs when they begin with `x`, else weights.
pub(super) fn model(nodes: &[(&str, &str, &[&str], &str)], output: &str) -> Model {
    let opset = OperatorSetIdProto { domain: None, version: Some(17) };
    let graph = Some(graph(nodes, output));
    let proto = ModelProto { graph, opset_import: vec![opset], ..Default::default() };
    Model::from_proto(proto, None).expect("a model")
}

/// The same as a graph alone; a type with a dot in it begins with its domain.
pub(super) fn graph(nodes: &[(&str, &str, &[&str], &str)], output: &str) -> GraphProto {
    let computed: Vec<&str> = nodes.iter().map(|node| node.3).collect();
    let mut free: Vec<&str> = nodes.iter().flat_map(|node| node.2).copied().collect();
    free.sort_unstable();
    free.dedup();
    free.retain(|value| !computed.contains(value));
    let (inputs, weights): (Vec<&str>, Vec<&str>) =
        free.into_iter().partition(|value| value.starts_with('x'));
    let value = |name: &str| ValueInfoProto { name: Some(name.to_owned()), ..Default::default() };
    let weight = |name: &str| TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(1),
        dims: vec![1],
        float_data: vec![1.0],
        ..Default::default()
    };
    GraphProto {
        node: nodes
            .iter()
            .map(|(op_type, name, inputs, output)| NodeProto {
                op_type: Some(op_type.rsplit('.').next().unwrap_or_default().to_owned()),
                domain: op_type.rsplit_once('.').map(|(domain, _)| domain.to_owned()),
                name: Some((*name).to_owned()),
                input: inputs.iter().map(|&input| input.to_owned()).collect(),
                output: vec![(*output).to_owned()],
                ..Default::default()
            })
            .collect(),
        input: inputs.into_iter().map(value).collect(),
        initializer: weights.into_iter().map(weight).collect(),
        output: vec![value(output)],
        ..Default::default()
    }
}

pub(super) fn block() -> Model {
    model(
        &[
            ("Conv", "conv", &["x", "w"], "conv_out"),
            ("BatchNormalization", "bn", &["conv_out", "scale"], "bn_out"),
            ("Relu", "relu", &["bn_out"], "relu_out"),
        ],
        "relu_out",
    )
}

/// A node as an engine's recording has it.
pub(super) fn engine_node(op_type: &str, name: &str) -> EngineNode {
    EngineNode { name: name.to_owned(), op_type: op_type.to_owned(), provider: String::new() }
}
