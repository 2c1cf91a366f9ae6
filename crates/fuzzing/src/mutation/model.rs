//! Changes to ONNX models by their nodes, values, attributes and weights.

use bytes::Bytes;
use fastrand::Rng;
use opscope_model::Model;
use opscope_model::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto, TensorProto,
    TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto, encode,
};

/// Operators that rewrites, shapes and costs know, and one that nobody does.
const OPERATORS: [&str; 48] = [
    "Add",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "ConvTranspose",
    "Div",
    "Dropout",
    "Einsum",
    "Erf",
    "Expand",
    "Flatten",
    "Gather",
    "Gemm",
    "HardSigmoid",
    "Identity",
    "If",
    "LayerNormalization",
    "LeakyRelu",
    "Loop",
    "LSTM",
    "MatMul",
    "Mul",
    "Neg",
    "Nobody",
    "Pad",
    "Pow",
    "QuantizeLinear",
    "Range",
    "ReduceMean",
    "Relu",
    "Reshape",
    "Resize",
    "Shape",
    "Sigmoid",
    "Slice",
    "Softmax",
    "Softplus",
    "Split",
    "Sqrt",
    "Squeeze",
    "Tile",
    "Transpose",
    "Unsqueeze",
];

/// Names of attributes that several operators have.
const ATTRIBUTES: [&str; 16] = [
    "axis",
    "axes",
    "perm",
    "pads",
    "strides",
    "dilations",
    "kernel_shape",
    "group",
    "to",
    "epsilon",
    "alpha",
    "keepdims",
    "allowzero",
    "auto_pad",
    "mode",
    "value",
];

/// Numbers at which something often ends.
const INTEGERS: [i64; 16] =
    [0, 1, -1, 2, 3, -2, 7, 64, 255, 65_536, 1 << 20, 1 << 31, -(1 << 31), 1 << 40, i64::MAX, i64::MIN];

const FLOATS: [f32; 8] = [0.0, -0.0, 1.0, -1.0, 1e-40, f32::MAX, f32::INFINITY, f32::NAN];

/// Changes one place; `None` for what is no model.
pub fn change(random: &mut Rng, input: &[u8], other: &[u8]) -> Option<Vec<u8>> {
    let mut model = Model::from_bytes(input.to_vec().into(), None).ok()?.proto().clone();
    let graph = model.graph.as_mut()?;
    match random.u8(..16) {
        0..=2 => redirect(random, graph),
        3 => insert(random, graph),
        4 => remove(random, graph),
        5 => another_operator(random, graph),
        6 | 7 => attribute(random, graph),
        8 | 9 => weights(random, graph),
        10 => declaration(random, graph),
        11 => outputs(random, graph),
        12 => rename(random, graph),
        13 => within(random, graph),
        14 => graft(random, graph, other),
        _ => version(random, &mut model),
    }
    Some(encode(&model))
}

fn pick<'a, T>(random: &mut Rng, items: &'a [T]) -> Option<&'a T> {
    (!items.is_empty()).then(|| &items[random.usize(..items.len())])
}

fn pick_mut<'a, T>(random: &mut Rng, items: &'a mut [T]) -> Option<&'a mut T> {
    if items.is_empty() { None } else { Some(&mut items[random.usize(..items.len())]) }
}

fn integer(random: &mut Rng) -> i64 {
    INTEGERS[random.usize(..INTEGERS.len())]
}

/// The names of all values.
fn values(graph: &GraphProto) -> Vec<String> {
    let inputs = graph.input.iter().filter_map(|input| input.name.clone());
    let stored = graph.initializer.iter().filter_map(|tensor| tensor.name.clone());
    inputs.chain(stored).chain(graph.node.iter().flat_map(|node| node.output.iter().cloned())).collect()
}

/// A node reads another value, none, or one more.
fn redirect(random: &mut Rng, graph: &mut GraphProto) {
    let mut names = values(graph);
    names.extend(["".to_owned(), "nothing".to_owned()]);
    let name = pick(random, &names).cloned().unwrap_or_default();
    let Some(node) = pick_mut(random, &mut graph.node) else { return };
    match random.u8(..6) {
        0 => node.input.push(name),
        1 => drop(node.input.pop()),
        _ => {
            if let Some(input) = pick_mut(random, &mut node.input) {
                *input = name;
            }
        }
    }
}

/// A new node between a value and one of those that read it.
fn insert(random: &mut Rng, graph: &mut GraphProto) {
    let fresh = format!("fresh_{}", random.u16(..));
    let place = random.usize(..=graph.node.len());
    let Some(reader) = graph.node.get_mut(place) else { return };
    let Some(input) = pick_mut(random, &mut reader.input) else { return };
    let read = std::mem::replace(input, fresh.clone());
    let operator = OPERATORS[random.usize(..OPERATORS.len())];
    let node = NodeProto {
        op_type: Some(operator.to_owned()),
        input: vec![read],
        output: vec![fresh],
        ..NodeProto::default()
    };
    graph.node.insert(place, node);
}

/// A node goes; whoever read its result may read what it read.
fn remove(random: &mut Rng, graph: &mut GraphProto) {
    if graph.node.is_empty() {
        return;
    }
    let node = graph.node.remove(random.usize(..graph.node.len()));
    if let (true, Some(from), Some(to)) = (random.bool(), node.output.first(), node.input.first()) {
        for input in graph.node.iter_mut().flat_map(|node| &mut node.input).filter(|input| *input == from) {
            input.clone_from(to);
        }
    }
}

fn another_operator(random: &mut Rng, graph: &mut GraphProto) {
    if let Some(node) = pick_mut(random, &mut graph.node) {
        node.op_type = Some(OPERATORS[random.usize(..OPERATORS.len())].to_owned());
        if random.u8(..6) == 0 {
            node.domain = Some(["com.microsoft", "ai.onnx", "a.b"][random.usize(..3)].to_owned());
        }
    }
}

/// An attribute is changed, doubled, dropped, taken from another node, or a new one comes.
fn attribute(random: &mut Rng, graph: &mut GraphProto) {
    let all: Vec<AttributeProto> =
        graph.node.iter().flat_map(|node| node.attribute.iter().cloned()).collect();
    let Some(node) = pick_mut(random, &mut graph.node) else { return };
    match random.u8(..8) {
        0 => node.attribute.extend(pick(random, &all).cloned()),
        1 => drop(node.attribute.pop()),
        2 => node.attribute.push(fresh_attribute(random)),
        _ => {
            if let Some(attribute) = pick_mut(random, &mut node.attribute) {
                change_attribute(random, attribute);
            }
        }
    }
}

fn fresh_attribute(random: &mut Rng) -> AttributeProto {
    let name = Some(ATTRIBUTES[random.usize(..ATTRIBUTES.len())].to_owned());
    let mut attribute = AttributeProto { name, ..AttributeProto::default() };
    match random.u8(..3) {
        0 => {
            attribute.i = Some(integer(random));
            attribute.r#type = Some(AttributeType::Int as i32);
        }
        1 => {
            attribute.ints = (0..random.usize(..6)).map(|_| integer(random)).collect();
            attribute.r#type = Some(AttributeType::Ints as i32);
        }
        _ => {
            attribute.f = Some(FLOATS[random.usize(..FLOATS.len())]);
            attribute.r#type = Some(AttributeType::Float as i32);
        }
    }
    attribute
}

fn change_attribute(random: &mut Rng, attribute: &mut AttributeProto) {
    match random.u8(..6) {
        0 => attribute.r#type = Some(random.i32(0..16)),
        1 => attribute.name = Some(ATTRIBUTES[random.usize(..ATTRIBUTES.len())].to_owned()),
        2 => attribute.ints.push(integer(random)),
        3 => drop(attribute.ints.pop()),
        _ => {
            let (whole, float) = (integer(random), FLOATS[random.usize(..FLOATS.len())]);
            attribute.i = attribute.i.map(|_| whole);
            attribute.f = attribute.f.map(|_| float);
            attribute.s = attribute.s.take().map(|_| Bytes::from_static(b"SAME_UPPER"));
            if let Some(changed) = pick_mut(random, &mut attribute.ints) {
                *changed = whole;
            }
            if let Some(changed) = pick_mut(random, &mut attribute.floats) {
                *changed = float;
            }
            if let Some(tensor) = &mut attribute.t {
                change_tensor(random, tensor);
            }
        }
    }
}

/// A stored tensor is changed, dropped or doubled; or an input becomes one.
fn weights(random: &mut Rng, graph: &mut GraphProto) {
    match random.u8(..8) {
        0 => drop(graph.initializer.pop()),
        1 => {
            let doubled = pick(random, &graph.initializer).cloned();
            graph.initializer.extend(doubled);
        }
        2 => {
            let data: Vec<i64> = (0..random.usize(..5)).map(|_| integer(random)).collect();
            let dims = if random.bool() { vec![data.len() as i64] } else { Vec::new() };
            let name = pick(random, &values(graph)).cloned();
            let tensor =
                TensorProto { name, data_type: Some(7), dims, int64_data: data, ..TensorProto::default() };
            graph.initializer.push(tensor);
        }
        _ => {
            if let Some(tensor) = pick_mut(random, &mut graph.initializer) {
                change_tensor(random, tensor);
            }
        }
    }
}

fn change_tensor(random: &mut Rng, tensor: &mut TensorProto) {
    let float = FLOATS[random.usize(..FLOATS.len())];
    match random.u8(..9) {
        0 => tensor.dims.push(integer(random)),
        1 => drop(tensor.dims.pop()),
        2 => tensor.dims = tensor.dims.iter().map(|_| integer(random)).collect(),
        3 => {
            if let Some(dim) = pick_mut(random, &mut tensor.dims) {
                *dim = integer(random);
            }
        }
        4 => tensor.data_type = Some(random.i32(0..30)),
        5 => tensor.raw_data = tensor.raw_data.take().map(|data| data.slice(..random.usize(..=data.len()))),
        6 => tensor.float_data.iter_mut().for_each(|element| *element = float),
        7 => {
            let whole = integer(random);
            tensor.int64_data.iter_mut().for_each(|element| *element = whole);
            let mut raw = tensor.raw_data.take().map(|data| data.to_vec());
            let bytes: [u8; 8] = if random.bool() {
                whole.to_le_bytes()
            } else {
                (u64::from(float.to_bits()) << 32 | u64::from(float.to_bits())).to_le_bytes()
            };
            for piece in raw.iter_mut().flat_map(|data| data.chunks_mut(8)) {
                piece.copy_from_slice(&bytes[..piece.len()]);
            }
            tensor.raw_data = raw.map(Bytes::from);
        }
        // Data that would lie in another file.
        _ => tensor.data_location = Some(1),
    }
}

/// The type or shape that an input, an output or a value is declared with.
fn declaration(random: &mut Rng, graph: &mut GraphProto) {
    let chosen = match random.u8(..4) {
        0 => &mut graph.output,
        1 => &mut graph.value_info,
        _ => &mut graph.input,
    };
    let Some(value) = pick_mut(random, chosen) else { return };
    let dim = |random: &mut Rng| Dimension {
        value: match random.u8(..4) {
            0 => None,
            1 => Some(DimensionValue::Param(["n", "batch", ""][random.usize(..3)].to_owned())),
            _ => Some(DimensionValue::Value(integer(random))),
        },
        denotation: None,
    };
    let tensor = value.r#type.as_mut().and_then(|declared| match &mut declared.value {
        Some(TypeValue::Tensor(tensor)) => Some(tensor),
        _ => None,
    });
    match (random.u8(..6), tensor) {
        (0, _) => value.r#type = None,
        (1, Some(tensor)) => tensor.elem_type = Some(random.i32(0..30)),
        (2, Some(tensor)) => tensor.shape = None,
        (3.., Some(TensorType { shape: Some(shape), .. })) => match random.u8(..4) {
            0 => shape.dim.push(dim(random)),
            1 => drop(shape.dim.pop()),
            _ => {
                let fresh = dim(random);
                if let Some(dim) = pick_mut(random, &mut shape.dim) {
                    *dim = fresh;
                }
            }
        },
        _ => {
            let shape = TensorShapeProto { dim: (0..random.usize(..5)).map(|_| dim(random)).collect() };
            let tensor = TensorType { elem_type: Some(random.i32(0..12)), shape: Some(shape) };
            value.r#type = Some(TypeProto { value: Some(TypeValue::Tensor(tensor)), denotation: None });
        }
    }
}

/// One more output, or one less.
fn outputs(random: &mut Rng, graph: &mut GraphProto) {
    if random.u8(..3) == 0 {
        graph.output.pop();
    } else {
        let name = pick(random, &values(graph)).cloned();
        graph.output.push(ValueInfoProto { name, ..ValueInfoProto::default() });
    }
}

/// A value gets another name wherever it stands, or only where it is made; or a node does.
fn rename(random: &mut Rng, graph: &mut GraphProto) {
    let names = values(graph);
    let fresh =
        ["a\u{1b}[31m", "x y", "=1+1", "", "very_long_".repeat(200).as_str()][random.usize(..5)].to_owned();
    let Some(old) = pick(random, &names) else { return };
    if random.bool() {
        if let Some(node) = pick_mut(random, &mut graph.node) {
            node.name = Some(if random.bool() { fresh } else { old.clone() });
        }
        return;
    }
    let outputs = graph.node.iter_mut().flat_map(|node| &mut node.output);
    outputs.filter(|name| *name == old).for_each(|name| name.clone_from(&fresh));
    if random.u8(..4) > 0 {
        let inputs = graph.node.iter_mut().flat_map(|node| &mut node.input);
        inputs.filter(|name| *name == old).for_each(|name| name.clone_from(&fresh));
        let declared = graph.output.iter_mut().filter_map(|value| value.name.as_mut());
        declared.filter(|name| *name == old).for_each(|name| name.clone_from(&fresh));
    }
}

/// A node that has a copy of some of the graph within it.
fn within(random: &mut Rng, graph: &mut GraphProto) {
    let end = random.usize(..=graph.node.len());
    let Some(last) = graph.node[..end].last().cloned() else { return };
    let mut inner = GraphProto { node: graph.node[..end].to_vec(), ..GraphProto::default() };
    let output = last.output.first().cloned();
    inner.output = vec![ValueInfoProto { name: output.clone(), ..ValueInfoProto::default() }];
    let branch = |name: &str| AttributeProto {
        name: Some(name.to_owned()),
        g: Some(Box::new(inner.clone())),
        r#type: Some(AttributeType::Graph as i32),
        ..AttributeProto::default()
    };
    let node = NodeProto {
        op_type: Some(["If", "Loop", "Scan"][random.usize(..3)].to_owned()),
        input: output.into_iter().collect(),
        output: vec![format!("within_{}", random.u16(..))],
        attribute: vec![branch("then_branch"), branch("else_branch"), branch("body")],
        ..NodeProto::default()
    };
    // Graphs within graphs within graphs would grow without end.
    if graph.node.len() < 64 {
        graph.node.push(node);
    }
}

/// Nodes of another model come behind those of this one, and may read its values.
fn graft(random: &mut Rng, graph: &mut GraphProto, other: &[u8]) {
    let Ok(other) = Model::from_bytes(other.to_vec().into(), None) else { return };
    let Some(theirs) = &other.proto().graph else { return };
    if graph.node.len() + theirs.node.len() > 200 {
        return;
    }
    let suffix = random.u16(..);
    let renamed = |name: &String| if name.is_empty() { String::new() } else { format!("{name}_{suffix}") };
    let ours = values(graph);
    for tensor in &theirs.initializer {
        let mut tensor = tensor.clone();
        tensor.name = tensor.name.as_ref().map(renamed);
        graph.initializer.push(tensor);
    }
    let entrances: Vec<(String, String)> = theirs
        .input
        .iter()
        .filter_map(|input| {
            let name = renamed(input.name.as_ref()?);
            Some((name, pick(random, &ours)?.clone()))
        })
        .collect();
    for node in &theirs.node {
        let mut node = node.clone();
        for name in node.input.iter_mut().chain(&mut node.output) {
            *name = renamed(name);
            if let Some((_, own)) = entrances.iter().find(|(entrance, _)| entrance == name) {
                name.clone_from(own);
            }
        }
        node.name = node.name.as_ref().map(renamed);
        graph.node.push(node);
    }
    for output in &theirs.output {
        graph
            .output
            .push(ValueInfoProto { name: output.name.as_ref().map(renamed), ..ValueInfoProto::default() });
    }
}

fn version(random: &mut Rng, model: &mut ModelProto) {
    let chosen = if random.bool() { random.i64(1..27) } else { integer(random) };
    match pick_mut(random, &mut model.opset_import) {
        Some(opset) if random.u8(..4) > 0 => opset.version = Some(chosen),
        Some(opset) => opset.domain = Some("a.b".to_owned()),
        None => model.ir_version = Some(chosen),
    }
}
