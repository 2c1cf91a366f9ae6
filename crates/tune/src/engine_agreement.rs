//! Whether two engines agree about a model before anything is changed, and where they part if not.

use std::sync::Arc;

use opscope_model::Model;
use opscope_model::proto::{TypeProto, ValueInfoProto};
use opscope_run::{Engine, EngineKind, EngineOptions, Optimization, RunClock, RunError, prepare};
use opscope_run::{Input, Interrupt};

use crate::agreement::{Agreement, compare, compare_tensors};
use crate::check::Outputs;

/// Whether two engines compute the same of a model.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineAgreement {
    /// They compute the same.
    Agree {
        /// The engine that was asked besides.
        other: EngineKind,
        /// How well they agree.
        agreement: Agreement,
    },
    /// There is no second engine that runs the model.
    Alone {
        /// Why not.
        reason: String,
    },
    /// They compute something else.
    Differ {
        /// The engine that was asked besides.
        other: EngineKind,
        /// How far apart they are; `None` when the outputs can't be compared at all.
        agreement: Option<Agreement>,
        /// The first node whose result differs, where that can be told.
        node: Option<String>,
    },
}

/// Runs the model on the other engine as well, and compares with the `outputs` of the first, for the same
/// inputs.
///
/// # Errors
/// Only when the user asks to stop; a second engine that can't run the model is no error.
pub fn ask_other_engine(
    model: &Arc<Model>,
    inputs: &[Input],
    options: &EngineOptions,
    outputs: &Outputs,
    tolerance: f64,
    interrupt: &Interrupt,
) -> Result<EngineAgreement, RunError> {
    let other = match options.kind {
        EngineKind::Tract => EngineKind::OnnxRuntime,
        EngineKind::OnnxRuntime => EngineKind::Tract,
    };
    let theirs = match run(model, inputs, &EngineOptions { kind: other, ..options.clone() }, interrupt) {
        Ok(theirs) => theirs,
        Err(RunError::Interrupted) => return Err(RunError::Interrupted),
        Err(RunError::LibraryNotFound { .. }) => {
            return Ok(EngineAgreement::Alone { reason: "ONNX Runtime is not on this machine".to_owned() });
        }
        Err(error) => return Ok(EngineAgreement::Alone { reason: error.cause() }),
    };
    let agreement = compare(outputs, &theirs).ok();
    if let Some(agreement) = agreement.filter(|agreement| agreement.relative <= tolerance) {
        return Ok(EngineAgreement::Agree { other, agreement });
    }
    let node = first_difference(model, inputs, options, other, tolerance, interrupt);
    Ok(EngineAgreement::Differ { other, agreement, node })
}

fn run(
    model: &Arc<Model>,
    inputs: &[Input],
    options: &EngineOptions,
    interrupt: &Interrupt,
) -> Result<Outputs, RunError> {
    let mut engine: Box<dyn Engine> = prepare(Arc::clone(model), inputs, options, RunClock::start())?;
    engine.infer(interrupt)?;
    engine.outputs()
}

/// The first node, in the order in which they run, whose result differs between the engines when both
/// run the nodes one by one; `None` when they can't hand out what is between.
fn first_difference(
    model: &Model,
    inputs: &[Input],
    options: &EngineOptions,
    other: EngineKind,
    tolerance: f64,
    interrupt: &Interrupt,
) -> Option<String> {
    let graph = model.graph();
    let mut proto = model.with_named_nodes();
    let open = graph.values().filter(|value| value.producer.is_some() && !value.is_output);
    let open: Vec<ValueInfoProto> = open
        .map(|value| {
            // An engine infers the types itself where the file doesn't declare them.
            let declared = value.declared_type().cloned().unwrap_or_else(TypeProto::default);
            ValueInfoProto { name: Some(value.name.to_owned()), r#type: Some(declared), ..Default::default() }
        })
        .collect();
    proto.graph.as_mut()?.output.extend(open);
    let open = Arc::new(Model::from_proto(proto, model.folder()).ok()?);
    let plain = |kind| EngineOptions { kind, optimization: Optimization::Off, ..options.clone() };
    let ours = run(&open, inputs, &plain(options.kind), interrupt).ok()?;
    let theirs = run(&open, inputs, &plain(other), interrupt).ok()?;
    let value = |outputs: &Outputs, name: &str| {
        outputs.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor.clone())
    };
    graph.nodes().find_map(|node| {
        let differs = node.outputs.iter().flatten().any(|&id| {
            let name = graph.value(id).name;
            match (value(&ours, name), value(&theirs, name)) {
                (Some(a), Some(b)) => {
                    compare_tensors(name, &a, &b).map_or(true, |found| found.relative > tolerance)
                }
                _ => false,
            }
        });
        differs.then(|| format!("{} ({})", node.name, node.op_type))
    })
}
