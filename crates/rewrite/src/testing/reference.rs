//! A plain evaluator in double precision, for operators that the embedded engine lacks, so that their
//! rewrites are proven where ONNX Runtime isn't at hand.

use std::collections::HashMap;

use opscope_model::{Model, Node, TensorData};
use opscope_run::{HostTensor, Input};

use crate::constant::floats;
use crate::fold;

/// The model's outputs; `None` if it has an operator that isn't known here.
pub fn outputs(model: &Model, inputs: &[Input]) -> Option<Vec<(String, HostTensor)>> {
    let graph = model.graph();
    let mut values: HashMap<String, TensorData> = HashMap::new();
    for tensor in &graph.proto().initializer {
        values.insert(tensor.name().to_owned(), model.tensor_data(tensor).ok()?);
    }
    for input in inputs {
        let dims = input.tensor.shape.iter().map(|&n| n as u64).collect();
        let bytes = input.tensor.bytes.clone().into();
        values.insert(input.name.clone(), TensorData { data_type: input.tensor.data_type, dims, bytes });
    }
    for node in graph.nodes() {
        let name = |id: &Option<opscope_model::ValueId>| id.map(|id| graph.value(id).name);
        let given: Vec<Option<TensorData>> =
            node.inputs.iter().map(|id| values.get(name(id)?).cloned()).collect();
        let version = model.opset_version("")?;
        let results =
            fold::evaluate(node.proto, version, &given).or_else(|| Some(vec![other(node, &given)?]))?;
        for (id, data) in node.outputs.iter().zip(results) {
            if let Some(name) = name(id) {
                values.insert(name.to_owned(), data);
            }
        }
    }
    let outputs = graph.outputs().iter().map(|&id| {
        let name = graph.value(id).name;
        let data = values.get(name)?;
        let shape = data.dims.iter().map(|&n| n as usize).collect();
        Some((name.to_owned(), HostTensor { data_type: data.data_type, shape, bytes: data.bytes.to_vec() }))
    });
    outputs.collect()
}

fn other(node: Node<'_>, inputs: &[Option<TensorData>]) -> Option<TensorData> {
    let x = inputs.first()?.as_ref()?;
    let number = |name: &str, default: f64| node.attributes.float(name).map_or(default, f64::from);
    let softplus = |x: f64| x.max(0.0) + (-x.abs()).exp().ln_1p();
    let each = |function: &dyn Fn(f64) -> f64| {
        let numbers: Vec<f64> = x.to_f64s()?.into_iter().map(function).collect();
        floats(x.data_type, &x.dims, &numbers)
    };
    let normal = |x: f64| x / 2.0 * (1.0 + erf(x / 2f64.sqrt()));
    match node.op_type {
        "Softplus" => each(&softplus),
        "Mish" => each(&|x| x * softplus(x).tanh()),
        "LeakyRelu" => each(&|x| if x < 0.0 { x * number("alpha", 0.01) } else { x }),
        "HardSigmoid" => each(&|x| (x * number("alpha", 0.2) + number("beta", 0.5)).clamp(0.0, 1.0)),
        "HardSwish" => each(&|x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0)),
        "Erf" => each(&erf),
        "Clip" => {
            let bound = |place: usize, default| {
                let data = inputs.get(place).and_then(Option::as_ref);
                data.map_or(Some(default), |data| data.to_f64s()?.first().copied())
            };
            let (low, high) = (bound(1, f64::MIN)?, bound(2, f64::MAX)?);
            each(&|x| x.clamp(low, high))
        }
        "Gelu" if node.attributes.string("approximate") == Some("tanh") => each(&|x| {
            x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }),
        "Gelu" => each(&normal),
        "ReduceMean" => {
            let (rows, dims) = rows(node, x, inputs.get(1)?.as_ref().and_then(TensorData::to_i64s))?;
            let means: Vec<f64> = rows.iter().map(|row| row.iter().sum::<f64>() / row.len() as f64).collect();
            floats(x.data_type, &dims, &means)
        }
        "LayerNormalization" => {
            let axis = fold::axis(node.attributes.int("axis").unwrap_or(-1), x.dims.len())?;
            let width = x.dims[axis..].iter().product::<u64>() as usize;
            let scale = inputs.get(1)?.as_ref()?.to_f64s()?;
            let bias = inputs.get(2).and_then(Option::as_ref).map(TensorData::to_f64s);
            let bias = bias.unwrap_or_else(|| Some(vec![0.0; width]))?;
            let mut normalised = Vec::new();
            for row in x.to_f64s()?.chunks(width) {
                let mean = row.iter().sum::<f64>() / width as f64;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
                let deviation = (variance + number("epsilon", 1e-5)).sqrt();
                normalised
                    .extend((0..width).map(|n| {
                        (row[n] - mean) / deviation * scale[n % scale.len()] + bias[n % bias.len()]
                    }));
            }
            floats(x.data_type, &x.dims, &normalised)
        }
        _ => None,
    }
}

/// Rows along the last axis, which must be the one that is reduced, and the dimensions of the result.
fn rows(node: Node<'_>, x: &TensorData, axes: Option<Vec<i64>>) -> Option<(Vec<Vec<f64>>, Vec<u64>)> {
    let rank = x.dims.len();
    let axes = axes.or_else(|| Some(node.attributes.ints("axes")?.to_vec()))?;
    if axes.len() != 1 || fold::axis(axes[0], rank)? != rank - 1 {
        return None;
    }
    let width = *x.dims.last()? as usize;
    let rows = x.to_f64s()?.chunks(width).map(<[f64]>::to_vec).collect();
    let mut dims = x.dims[..rank - 1].to_vec();
    if node.attributes.int("keepdims").unwrap_or(1) != 0 {
        dims.push(1);
    }
    Some((rows, dims))
}

/// The error function, by Abramowitz and Stegun's formula 7.1.26; off by 1.5e-7 at most.
fn erf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let series = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let polynomial = series.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    (1.0 - polynomial * (-x * x).exp()).copysign(x)
}
