//! Graphs written as text.

use opscope_model::proto::{
    AttributeProto, AttributeType, Dimension, DimensionValue, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, TensorProto, TensorShapeProto, TensorType, TypeProto, TypeValue, ValueInfoProto,
    data_type_to_onnx,
};
use opscope_trace::DataType;

use crate::constant;
use crate::node::{NodeExt, node};

pub fn model(text: &str) -> ModelProto {
    let (mut opset, mut ir) = (17, 8);
    let mut graph = GraphProto { name: Some("test".into()), ..GraphProto::default() };
    let statements = text.split([';', '\n']).map(str::trim).filter(|statement| !statement.is_empty());
    for statement in statements {
        let (word, rest) = statement.split_once(' ').unwrap_or((statement, ""));
        match word {
            "opset" => opset = rest.parse().expect("a version"),
            "ir" => ir = rest.parse().expect("a version"),
            "input" => graph.input.push(declaration(rest)),
            "output" => graph.output.push(declaration(rest)),
            "declare" => graph.value_info.push(declaration(rest)),
            "const" => graph.initializer.push(stored(rest, graph.initializer.len() as u64)),
            _ => graph.node.push(operator(statement)),
        }
    }
    let opset_import = vec![OperatorSetIdProto { domain: None, version: Some(opset) }];
    ModelProto { ir_version: Some(ir), opset_import, graph: Some(graph), ..ModelProto::default() }
}

fn data_type(word: &str) -> DataType {
    match word {
        "f32" => DataType::Float32,
        "f64" => DataType::Float64,
        "f16" => DataType::Float16,
        "i64" => DataType::Int64,
        "i32" => DataType::Int32,
        "u8" => DataType::Uint8,
        "bool" => DataType::Bool,
        other => panic!("no type {other}"),
    }
}

/// The word before a bracket, and the list in it.
fn bracketed(text: &str) -> (&str, Vec<&str>) {
    let (word, list) = text.split_once('[').unwrap_or_else(|| panic!("no bracket in {text}"));
    let list = list.trim().strip_suffix(']').unwrap_or_else(|| panic!("no end of {text}"));
    (word.trim(), list.split(',').map(str::trim).filter(|item| !item.is_empty()).collect())
}

fn declaration(text: &str) -> ValueInfoProto {
    let Some((name, declared)) = text.split_once(' ') else {
        return ValueInfoProto {
            name: Some(text.into()),
            r#type: Some(TypeProto::default()),
            ..Default::default()
        };
    };
    let (word, dims) = bracketed(declared);
    let dim = dims.iter().map(|dim| {
        let value = dim.parse().map(DimensionValue::Value);
        Dimension {
            value: Some(value.unwrap_or_else(|_| DimensionValue::Param((*dim).into()))),
            ..Default::default()
        }
    });
    let tensor = TensorType {
        elem_type: Some(data_type_to_onnx(data_type(word))),
        shape: Some(TensorShapeProto { dim: dim.collect() }),
    };
    let declared = TypeProto { value: Some(TypeValue::Tensor(tensor)), ..TypeProto::default() };
    ValueInfoProto { name: Some(name.into()), r#type: Some(declared), ..Default::default() }
}

fn stored(text: &str, seed: u64) -> TensorProto {
    let (name, rest) = text.split_once(' ').expect("a name");
    let (shape, numbers) = match rest.find(']') {
        Some(end) => (&rest[..=end], rest[end + 1..].trim()),
        None => {
            let (word, number) = rest.split_once(' ').expect("a number");
            let x: f64 = number.trim().parse().expect("a number");
            let scalar = constant::floats(data_type(word), &[], &[x]);
            let scalar = scalar.or_else(|| constant::integers(data_type(word), &[], &[x as i64]));
            return constant::to_proto(name, &scalar.expect("a number of this type"));
        }
    };
    let (word, dims) = bracketed(shape);
    let dims: Vec<u64> = dims.iter().map(|dim| dim.parse().expect("a size")).collect();
    let count = dims.iter().product::<u64>();
    let mut random = fastrand::Rng::with_seed(seed);
    let tensor = match word {
        "random" => {
            let numbers: Vec<f64> = (0..count).map(|_| random.f64() * 2.0 - 1.0).collect();
            constant::floats(DataType::Float32, &dims, &numbers)
        }
        "positive" => {
            let numbers: Vec<f64> = (0..count).map(|_| random.f64() + 0.25).collect();
            constant::floats(DataType::Float32, &dims, &numbers)
        }
        word => {
            let numbers: Vec<f64> =
                numbers.split_whitespace().map(|n| n.parse().expect("a number")).collect();
            let integers: Vec<i64> = numbers.iter().map(|&x| x as i64).collect();
            constant::floats(data_type(word), &dims, &numbers)
                .or_else(|| constant::integers(data_type(word), &dims, &integers))
        }
    };
    constant::to_proto(name, &tensor.unwrap_or_else(|| panic!("the numbers do not fit: {text}")))
}

fn operator(text: &str) -> NodeProto {
    let (outputs, rest) = text.split_once(" = ").unwrap_or_else(|| panic!("what is {text}?"));
    let (op_type, rest) = rest.split_once('(').expect("inputs");
    let (inputs, attributes) = rest.split_once(')').expect("the end of the inputs");
    let named = |name: &'_ str| if name.trim() == "_" { String::new() } else { name.trim().to_owned() };
    let list = |names: &str| names.split(',').filter(|name| !name.trim().is_empty()).map(named).collect();
    let (domain, op_type) = op_type.rsplit_once('.').unwrap_or(("", op_type));
    let mut made = NodeProto { input: list(inputs), output: list(outputs), ..node(op_type.trim(), &[], &[]) };
    if !domain.is_empty() {
        made.domain = Some(domain.to_owned());
    }
    for attribute in split_attributes(attributes) {
        let (name, value) = attribute.split_once('=').expect("a value");
        made = match value {
            text if text.starts_with('"') => {
                let s = Some(text.trim_matches('"').to_owned().into());
                let r#type = Some(AttributeType::String as i32);
                made.with(AttributeProto { name: Some(name.into()), s, r#type, ..Default::default() })
            }
            list if list.starts_with('[') => {
                let (_, items) = bracketed(list);
                made.ints(name, &items.iter().map(|n| n.parse().expect("a number")).collect::<Vec<_>>())
            }
            number => match number.parse::<i64>() {
                Ok(n) => made.int(name, n),
                Err(_) => made.float(name, number.parse().expect("a number")),
            },
        };
    }
    made
}

/// Attributes are parted by blanks; lists have none.
fn split_attributes(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}
