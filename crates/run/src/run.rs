//! The whole way from a model to the trace of its runs.

use std::sync::Arc;
use std::time::SystemTime;

use opscope_model::Model;
use opscope_trace::{Bytes, RunFacts, RunInput, Trace};

use crate::engine::{Engine, EngineOptions, Interrupt, RunClock};
use crate::engine_kind::EngineKind;
use crate::error::RunError;
use crate::fallback::with_fallback;
use crate::host_tensor::{HostTensor, NonFinite};
use crate::inputs::{Input, InputRequest};
use crate::measure::{Progress, Repetition, measure};
use crate::record::{RunRecord, infer_shapes, to_trace};
use crate::room;
#[cfg(feature = "tract")]
use crate::tract::Tract;

/// How to run a model.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The inputs to feed it with.
    pub inputs: InputRequest,
    /// On which engine.
    pub engine: EngineOptions,
    /// Whether ONNX Runtime may take the place of an engine that can't run the model.
    pub auto: bool,
    /// How often.
    pub repetition: Repetition,
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Everything that was recorded, with facts that say how.
    pub trace: Trace,
    /// The outputs of the last iteration by name.
    pub outputs: Vec<(String, HostTensor)>,
    /// The outputs that hold something that isn't finite.
    pub non_finite: Vec<(String, NonFinite)>,
    /// Where that began: the model's node, or an input.
    pub non_finite_from: Option<String>,
    /// Whether the user stopped the run early.
    pub interrupted: bool,
    /// How the run differs from the one that was asked for, and why.
    pub remarks: Vec<String>,
}

/// Makes a model ready on the engine that the options name.
///
/// # Errors
/// When the engine isn't there or refuses the model, or when the values of one of its nodes would take more
/// memory than may be taken.
pub fn prepare(
    model: Arc<Model>,
    inputs: &[Input],
    options: &EngineOptions,
    clock: RunClock,
) -> Result<Box<dyn Engine>, RunError> {
    let of_inputs = room::of_inputs(inputs.iter().map(|input| input.tensor.bytes.len() as u64));
    room::check_nodes(&model, &infer_shapes(&model, inputs), of_inputs)?;
    match options.kind {
        #[cfg(feature = "tract")]
        EngineKind::Tract => Ok(Box::new(Tract::prepare(model, inputs, options, clock)?)),
        #[cfg(not(feature = "tract"))]
        EngineKind::Tract => Err(RunError::NotBuiltIn),
        EngineKind::OnnxRuntime => crate::ort::prepare(model, inputs, options, clock),
    }
}

/// Runs a model and records it.
///
/// # Errors
/// When it can't be fed, prepared or run, or when it was stopped before one iteration was complete.
pub fn run(
    model: Arc<Model>,
    model_name: &str,
    options: &RunOptions,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let inputs = options.inputs.resolve(&model)?;
    let settled = with_fallback(&options.engine, options.auto, |engine| {
        let options = RunOptions { engine: engine.clone(), ..options.clone() };
        run_on(Arc::clone(&model), model_name, &inputs, &options, interrupt, progress)
    })?;
    Ok(Outcome { remarks: settled.remarks, ..settled.done })
}

/// Runs a model on the engine that the options name, and on no other.
fn run_on(
    model: Arc<Model>,
    model_name: &str,
    inputs: &[Input],
    options: &RunOptions,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let zero = SystemTime::now();
    let clock = RunClock::start();
    let mut engine = prepare(Arc::clone(&model), inputs, &options.engine, clock)?;
    let measurement = measure(engine.as_mut(), options.repetition, clock, interrupt, progress)?;

    let outputs = engine.outputs()?;
    let found = |(name, tensor): &(String, HostTensor)| Some((name.clone(), tensor.first_non_finite()?));
    let non_finite: Vec<_> = outputs.iter().filter_map(found).collect();
    let non_finite_from = if non_finite.is_empty() { None } else { origin(engine.as_mut(), inputs)? };

    let (phases, version) = (engine.phases().to_vec(), engine.version());
    let recording = engine.finish()?;
    let engine = options.engine.kind;
    let mut trace = to_trace(&RunRecord {
        model: &model,
        model_name,
        inputs,
        engine,
        phases: &phases,
        measurement: &measurement,
        recording: &recording,
        zero,
    });
    let shape = |input: &Input| input.tensor.shape.iter().map(|size| *size as u64).collect();
    trace.run = RunFacts {
        engine: Some(engine.recorded_name()),
        engine_version: Some(version),
        optimization: Some(options.engine.optimization),
        threads: u32::try_from(options.engine.threads).ok(),
        seed: Some(options.inputs.seed),
        inputs: (inputs.iter())
            .map(|input| RunInput {
                name: input.name.clone(),
                data_type: input.tensor.data_type,
                shape: shape(input),
            })
            .collect(),
        peak_memory: measurement.memory.peak().map(Bytes),
        memory_at_start: measurement.memory.at_start().map(Bytes),
        interrupted: measurement.interrupted,
        ..RunFacts::default()
    };
    let (interrupted, remarks) = (measurement.interrupted, Vec::new());
    Ok(Outcome { trace, outputs, non_finite, non_finite_from, interrupted, remarks })
}

/// Where what isn't finite comes from: an input that holds it already, or the first node that
/// computes it.
fn origin(engine: &mut dyn Engine, inputs: &[Input]) -> Result<Option<String>, RunError> {
    if let Some(input) = inputs.iter().find(|input| input.tensor.first_non_finite().is_some()) {
        return Ok(Some(format!("the input '{}'", input.name)));
    }
    let node = engine.first_non_finite()?;
    Ok(node.map(|(name, kind)| format!("the node '{name}', which computes {} values", kind.name())))
}
