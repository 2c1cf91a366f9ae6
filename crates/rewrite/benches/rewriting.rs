//! How long all rewrites take on a model of a thousand nodes: a second at most, so that trying them costs
//! nothing beside a measurement.

use std::time::Instant;

use opscope_model::Model;
use opscope_model::proto::{
    Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
};
use opscope_rewrite::{Selection, rewrite};

/// Nodes of a block: see [`block`].
const BLOCK: usize = 10;

/// The longest that it may take, in seconds.
const LIMIT: f64 = 1.0;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let quick = !std::env::args().any(|argument| argument == "--bench");
    let blocks = if quick { 3 } else { 100 };
    let model = Model::from_proto(network(blocks), None).expect("a sound model");
    let rewrites = Selection { all_uses: true, ..Selection::default() }.resolve().expect("known rewrites");
    let mut best = f64::INFINITY;
    for _ in 0..if quick { 1 } else { 10 } {
        let begun = Instant::now();
        let rewritten = rewrite(&model, &rewrites, None, false).expect("a sound rewrite");
        best = best.min(begun.elapsed().as_secs_f64());
        assert!(rewritten.nodes_after < rewritten.nodes_before);
    }
    println!("{} nodes: {:.1} ms (at most {LIMIT} s)", blocks * BLOCK, best * 1e3);
    assert!(quick || best <= LIMIT, "too slow");
}

/// A network of blocks that many rewrites find something in.
fn network(blocks: usize) -> ModelProto {
    let mut graph = GraphProto {
        name: Some("blocks".into()),
        input: vec![declared("x0", &[1, 16, 8, 8])],
        output: vec![declared(&format!("x{blocks}"), &[1, 16, 8, 8])],
        ..GraphProto::default()
    };
    for number in 0..blocks {
        block(&mut graph, number);
    }
    let opset_import = vec![OperatorSetIdProto { domain: None, version: Some(17) }];
    ModelProto { ir_version: Some(8), opset_import, graph: Some(graph), ..ModelProto::default() }
}

/// A convolution with normalisation and scale, Mish written out, a power, shapes that are asked for, and a
/// value that is handed on.
fn block(graph: &mut GraphProto, number: usize) {
    let name = |text: &str| format!("{text}{number}");
    let x = name("x");
    graph.initializer.push(stored(&name("w"), &[16, 16, 1, 1], 0.06));
    for statistic in ["gain", "shift", "mean", "variance"] {
        graph.initializer.push(stored(&name(statistic), &[16], 0.5));
    }
    graph.initializer.push(stored(&name("scale"), &[16, 1, 1], 0.9));
    graph.initializer.push(stored(&name("two"), &[], 2.0));
    let statistics = ["gain", "shift", "mean", "variance"].map(name);
    let mut node = |op_type: &str, inputs: &[&str], output: &str| {
        graph.node.push(NodeProto {
            op_type: Some(op_type.into()),
            name: Some(format!("{op_type}_{output}")),
            input: inputs.iter().map(|&input| input.to_owned()).collect(),
            output: vec![output.to_owned()],
            ..NodeProto::default()
        });
    };
    node("Conv", &[&x, &name("w")], &name("conv"));
    let [gain, shift, mean, variance] = &statistics;
    node("BatchNormalization", &[&name("conv"), gain, shift, mean, variance], &name("norm"));
    node("Mul", &[&name("norm"), &name("scale")], &name("scaled"));
    node("Softplus", &[&name("scaled")], &name("soft"));
    node("Tanh", &[&name("soft")], &name("tanh"));
    node("Mul", &[&name("scaled"), &name("tanh")], &name("mish"));
    node("Pow", &[&name("mish"), &name("two")], &name("square"));
    node("Identity", &[&name("square")], &name("same"));
    node("Shape", &[&name("same")], &name("shape"));
    node("Reshape", &[&name("same"), &name("shape")], &format!("x{}", number + 1));
}

fn stored(name: &str, dims: &[i64], value: f32) -> TensorProto {
    let count = dims.iter().product::<i64>() as usize;
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(1),
        dims: dims.to_vec(),
        float_data: vec![value; count],
        ..TensorProto::default()
    }
}

fn declared(name: &str, dims: &[i64]) -> ValueInfoProto {
    let dimension =
        |&size: &i64| Dimension { value: Some(DimensionValue::Value(size)), ..Dimension::default() };
    let shape = TensorShapeProto { dim: dims.iter().map(dimension).collect() };
    let tensor = TypeValue::Tensor(TensorType { elem_type: Some(1), shape: Some(shape) });
    let r#type = Some(TypeProto { value: Some(tensor), ..TypeProto::default() });
    ValueInfoProto { name: Some(name.to_owned()), r#type, ..ValueInfoProto::default() }
}
