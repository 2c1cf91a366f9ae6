//! Helpers of the rewrites' tests: small graphs written as text, and the proof that a rewritten
//! model computes what it did before.

mod parse;
mod reference;

use std::sync::{Arc, Mutex};

use opscope_model::Model;
use opscope_model::proto::{AttributeProto, AttributeType, GraphProto, ModelProto, NodeProto, encode};
use opscope_run::{
    EngineKind, EngineOptions, HostTensor, Input, InputRequest, Interrupt, Optimization, RunClock, prepare,
};
use opscope_trace::DataType;

use crate::{Rewritten, Selection, rewrite};

/// A model written as statements that end with a line or a semicolon:
///
/// - `opset 17`, `ir 3` (before anything else),
/// - `input x f32[1,3,n]`, with a letter for a dimension that is open; `declare x f32[..]` likewise,
/// - `const w random[4,3]` (also `positive`, `ints`), `const p f32 2` (a scalar), `const s i64[2] 1 -1`,
/// - `y, z = Split(x, s) axis=1 names=[1,2] mode="linear"`; an input is left out by a `_`,
/// - `output y`, with a type or without.
pub fn net(text: &str) -> Model {
    let proto = parse::model(text);
    keep(&proto);
    Model::from_proto(proto, None).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Keeps a small model in the folder that `OPSCOPE_KEEP_MODELS` names, one of each order of operators: they are
/// what fuzzing begins with (`fuzz/seeds/models`).
fn keep(proto: &ModelProto) {
    let Some(folder) = std::env::var_os("OPSCOPE_KEEP_MODELS") else { return };
    let bytes = encode(proto);
    let nodes = proto.graph.iter().flat_map(|graph| &graph.node);
    let operators: Vec<&str> = nodes.map(|node| node.op_type()).collect();
    let name: String = operators.join("_").chars().take(60).collect();
    if bytes.len() < 1_024 {
        std::fs::write(std::path::Path::new(&folder).join(name), bytes).expect("a folder for models");
    }
}

/// The node with an attribute that is a graph.
pub fn with_graph(mut node: NodeProto, name: &str, graph: GraphProto) -> NodeProto {
    let (g, r#type) = (Some(Box::new(graph)), Some(AttributeType::Graph as i32));
    node.attribute.push(AttributeProto { name: Some(name.into()), g, r#type, ..AttributeProto::default() });
    node
}

/// A model that applied rewrites have changed.
pub struct Applied {
    pub model: Model,
}

impl Applied {
    /// The operators in the order in which they stand, with blanks between them.
    pub fn operators(&self) -> String {
        operators(&self.model)
    }
}

pub fn operators(model: &Model) -> String {
    model.graph().nodes().map(|node| node.op_type).collect::<Vec<_>>().join(" ")
}

fn run_rewrites(ids: &str, model: &Model) -> Rewritten {
    let only = ids.split(' ').map(str::to_owned).collect();
    let selection = Selection { only, allow_lossy: true, ..Selection::default() };
    rewrite(model, &selection.resolve().expect("known rewrites"), None, true).expect("a sound rewrite")
}

/// Applies rewrites (ids with blanks between them), which must change the model, and shows on random
/// inputs that its outputs stay the same.
pub fn applies(ids: &str, text: &str) -> Applied {
    let applied = applies_unproven(ids, text);
    prove(&net(text), &applied.model, 1e-5);
    applied
}

/// The same without comparing outputs, for what changes them.
pub fn applies_unproven(ids: &str, text: &str) -> Applied {
    let before = net(text);
    let rewritten = run_rewrites(ids, &before);
    assert!(!rewritten.applications.is_empty(), "{ids} did not apply to: {text}\n{:?}", rewritten.declined);
    let model = Model::from_proto(rewritten.proto.clone(), None).expect("a sound model");
    let again = run_rewrites(ids, &model);
    assert!(again.applications.is_empty(), "{ids} did not come to rest: {:?}", again.applications);
    Applied { model }
}

/// The rewrites must leave the model as it is.
pub fn refuses(ids: &str, text: &str) {
    let before = net(text);
    let rewritten = run_rewrites(ids, &before);
    let done: Vec<_> = rewritten.applications.iter().map(|done| (&done.before, &done.after)).collect();
    assert!(done.is_empty(), "{ids} applied to: {text}\n{done:?}");
}

/// Runs both models on three random inputs each, and compares all outputs.
///
/// # Panics
/// When an output differs by more than `tolerance`, in relation to itself or to the mean magnitude of
/// all its elements, whichever is greater; or when no engine here can run them.
pub fn prove(before: &Model, after: &Model, tolerance: f64) {
    for seed in 0..3 {
        let inputs = InputRequest { seed, ..InputRequest::default() };
        let dimensions = [("n", 3), ("m", 5)].map(|(name, size)| (name.to_owned(), size));
        let known = |name: &str| {
            let dims =
                before.graph().inputs().iter().filter_map(|&id| before.graph().value(id).declared()?.dims);
            dims.flatten().any(|dim| dim == opscope_model::Dim::Symbol(name.to_owned()))
        };
        let dimensions = dimensions.into_iter().filter(|(name, _)| known(name)).collect();
        let inputs = InputRequest { dimensions, ..inputs }.resolve(before).expect("inputs");
        for (expected, found) in run_both(before, after, &inputs) {
            assert_eq!(expected.len(), found.len());
            assert!(!expected.is_empty(), "there are outputs to be compared");
            for ((name, expected), (other, found)) in expected.iter().zip(&found) {
                assert_eq!(name, other);
                compare(name, expected, found, tolerance);
            }
        }
    }
}

/// On every engine that is here and has all operators of both; there must be one.
fn run_both(before: &Model, after: &Model, inputs: &[Input]) -> Vec<(Outputs, Outputs)> {
    let (mut answers, mut refused) = (Vec::new(), Vec::new());
    for kind in [EngineKind::Tract, EngineKind::OnnxRuntime] {
        match (outputs(before, inputs, kind), outputs(after, inputs, kind)) {
            (Ok(before), Ok(after)) => answers.push((before, after)),
            (Err(error), _) | (_, Err(error)) => refused.push(error),
        }
    }
    if answers.is_empty() {
        let both = (reference::outputs(before, inputs), reference::outputs(after, inputs));
        match both {
            (Some(before), Some(after)) => answers.push((before, after)),
            _ => panic!("nothing here runs the models: {refused:?}"),
        }
    }
    answers
}

type Outputs = Vec<(String, HostTensor)>;

/// Tests run side by side, but ONNX Runtime's library mustn't be set up by several threads at once.
static ENGINES: Mutex<()> = Mutex::new(());

fn outputs(model: &Model, inputs: &[Input], kind: EngineKind) -> Result<Outputs, String> {
    let _one_at_a_time = ENGINES.lock();
    let model = Model::from_proto(model.proto().clone(), None).expect("a sound model");
    let options = EngineOptions { kind, optimization: Optimization::Off, threads: 1, ort_library: None };
    let engine = prepare(Arc::new(model), inputs, &options, RunClock::start());
    let mut engine = engine.map_err(|error| error.to_string())?;
    engine.infer(&Interrupt::new()).map_err(|error| error.to_string())?;
    engine.outputs().map_err(|error| error.to_string())
}

fn compare(name: &str, expected: &HostTensor, found: &HostTensor, tolerance: f64) {
    assert_eq!((expected.data_type, &expected.shape), (found.data_type, &found.shape), "{name}");
    let (expected, found) = (numbers(expected), numbers(found));
    let finite: Vec<f64> = expected.iter().map(|x| x.abs()).filter(|x| x.is_finite()).collect();
    let mean = finite.iter().sum::<f64>() / finite.len().max(1) as f64;
    for (place, (x, y)) in expected.iter().zip(&found).enumerate() {
        let same = x == y || (x.is_nan() && y.is_nan());
        let error = (x - y).abs() / x.abs().max(mean).max(1e-12);
        assert!(same || error <= tolerance, "{name}[{place}]: {y} instead of {x}");
    }
}

fn numbers(tensor: &HostTensor) -> Vec<f64> {
    let dims = tensor.shape.iter().map(|&n| n as u64).collect();
    let data =
        opscope_model::TensorData { data_type: tensor.data_type, dims, bytes: tensor.bytes.clone().into() };
    if tensor.data_type == DataType::Bool {
        return tensor.bytes.iter().map(|&byte| byte.into()).collect();
    }
    data.to_f64s().expect("numbers")
}
