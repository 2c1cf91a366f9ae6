//! Graphs and profiles for the tests, each in a few words.

use opscope_model::Model;
use opscope_model::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
};

/// A node such as `Conv x,W:16x3x3x3 group=2 -> a`. An input with a colon is a stored one of the
/// dimensions behind it (none for a number); attributes are integers, lists `perm=0.2.1`, or text.
pub(crate) fn node(text: &str) -> NodeProto {
    let (call, outputs) = text.split_once("->").expect("an arrow");
    let mut words = call.split_whitespace();
    let op_type = words.next().expect("a type");
    let inputs = words.next().expect("inputs");
    let name = |input: &str| input.split(':').next().unwrap_or_default().to_owned();
    NodeProto {
        op_type: Some(op_type.into()),
        name: Some(format!("{op_type}_{}", outputs.trim())),
        input: inputs.split(',').map(name).collect(),
        output: outputs.split(',').map(|output| output.trim().into()).collect(),
        attribute: words.map(attribute).collect(),
        ..Default::default()
    }
}

fn attribute(text: &str) -> AttributeProto {
    let (name, value) = text.split_once('=').expect("an attribute with a value");
    let empty = AttributeProto { name: Some(name.into()), ..Default::default() };
    if let Ok(number) = value.parse::<i64>() {
        return AttributeProto { i: Some(number), r#type: Some(AttributeType::Int as i32), ..empty };
    }
    if let Some(number) = value.strip_suffix('f').and_then(|number| number.parse::<f32>().ok()) {
        return AttributeProto { f: Some(number), r#type: Some(AttributeType::Float as i32), ..empty };
    }
    if let Ok(numbers) =
        value.trim_end_matches('.').split('.').map(str::parse::<i64>).collect::<Result<Vec<_>, _>>()
    {
        return AttributeProto { ints: numbers, r#type: Some(AttributeType::Ints as i32), ..empty };
    }
    let text = value.as_bytes().to_vec();
    AttributeProto { s: Some(text.into()), r#type: Some(AttributeType::String as i32), ..empty }
}

/// A graph of such nodes. `x` is its input; what nothing reads is its output.
pub(crate) fn graph(nodes: &[&str]) -> Model {
    graph_with(nodes, &[])
}

/// The same with the elements of some stored inputs.
pub(crate) fn graph_with(nodes: &[&str], data: &[(&str, &[f32])]) -> Model {
    graph_of(nodes, data, &[])
}

/// A graph whose input is a batch of images: `[batch, channels, height, width]` of float32.
pub(crate) fn graph_of_images(dims: [u64; 4], nodes: &[&str]) -> Model {
    declared(&graph(nodes), &dims)
}

/// The same graph whose input `x` is of float32 and of these dimensions.
pub(crate) fn declared(model: &Model, dims: &[u64]) -> Model {
    let mut proto = model.proto().clone();
    let size =
        |size: &u64| Dimension { value: Some(DimensionValue::Value(*size as i64)), ..Default::default() };
    let shape = Some(TensorShapeProto { dim: dims.iter().map(size).collect() });
    let tensor = TensorType { elem_type: Some(1), shape };
    let inputs = proto.graph.as_mut().into_iter().flat_map(|graph| &mut graph.input);
    for input in inputs.filter(|input| input.name() == "x") {
        let value = Some(TypeValue::Tensor(tensor.clone()));
        input.r#type = Some(TypeProto { value, ..Default::default() });
    }
    Model::from_proto(proto, None).expect("a graph")
}

/// The same with stored integers as well.
pub(crate) fn graph_of(nodes: &[&str], data: &[(&str, &[f32])], integers: &[(&str, &[i64])]) -> Model {
    let protos: Vec<NodeProto> = nodes.iter().map(|text| node(text)).collect();
    let mut initializer: Vec<TensorProto> = Vec::new();
    for text in nodes {
        let inputs = text.split_whitespace().nth(1).unwrap_or_default();
        for (name, dims) in inputs.split(',').filter_map(|input| input.split_once(':')) {
            if initializer.iter().any(|known| known.name() == name) {
                continue;
            }
            let dims: Vec<i64> = dims.split('x').filter_map(|size| size.parse().ok()).collect();
            let count = dims.iter().product::<i64>() as usize;
            let mut tensor = TensorProto { name: Some(name.into()), dims, ..Default::default() };
            if let Some((_, values)) = integers.iter().find(|(known, _)| *known == name) {
                (tensor.data_type, tensor.int64_data) = (Some(7), values.to_vec());
            } else {
                let given = data.iter().find(|(known, _)| *known == name).map(|(_, values)| values.to_vec());
                (tensor.data_type, tensor.float_data) = (Some(1), given.unwrap_or_else(|| vec![0.5; count]));
            }
            initializer.push(tensor);
        }
    }
    let read: Vec<String> =
        protos.iter().flat_map(|node| node.input.iter().map(|name| name.to_string())).collect();
    let made: Vec<String> =
        protos.iter().flat_map(|node| node.output.iter().map(|name| name.to_string())).collect();
    let value = |name: &str| ValueInfoProto { name: Some(name.into()), ..Default::default() };
    let is_stored = |name: &str| initializer.iter().any(|tensor| tensor.name() == name);
    let mut inputs: Vec<&String> =
        read.iter().filter(|name| !made.contains(name) && !is_stored(name)).collect();
    inputs.sort();
    inputs.dedup();
    let proto = ModelProto {
        opset_import: vec![OperatorSetIdProto { domain: None, version: Some(17) }],
        graph: Some(GraphProto {
            input: inputs.into_iter().map(|name| value(name)).collect(),
            output: made.iter().filter(|name| !read.contains(name)).map(|name| value(name)).collect(),
            node: protos,
            initializer,
            ..Default::default()
        }),
        ..Default::default()
    };
    Model::from_proto(proto, None).expect("a graph")
}
