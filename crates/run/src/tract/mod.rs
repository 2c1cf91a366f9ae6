//! The embedded engine.
//!
//! [`Tract`] is the engine; the other files keep it from taking minutes on large graphs (`optimizer.rs`,
//! `typing.rs`, `narrow_concat.rs`), and put its errors into a line (`words.rs`).

mod declared_shapes;
mod narrow_concat;
mod optimizer;
mod typing;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use opscope_model::{Model, Node};
use opscope_trace::{DataType, Nanoseconds};
use prost::Message;
use tract_linalg::multithread::Executor;
use tract_onnx::pb;
use tract_onnx::prelude::*;
use tract_onnx::tract_core::internal::{OpState, TypedNode, TypedSimpleState};
use tract_onnx::tract_core::ops::source::TypedSource;
use tract_onnx::tract_core::plan::{self, EvalContext};
use tract_onnx::tract_hir::internal::InferenceFact;

use crate::engine::{
    Engine, EngineNode, EngineOptions, Execution, Interrupt, Phase, Recording, RunClock, Window,
};
use crate::engine_kind::EngineKind;
use crate::error::{HAS_IT, RunError};
use crate::host_tensor::{HostTensor, NonFinite};
use crate::inputs::Input;
use crate::node_names::NodeNames;
use crate::record::infer_shapes;

use declared_shapes::{Keep, drop_declared};
use narrow_concat::narrow_concats;
use optimizer::optimize;
use typing::into_typed;
use words::{at_node, failed, failed_text, refused, refused_text};

/// The release of tract that this program is built with; it doesn't tell itself.
const VERSION: &str = "0.23.9";

/// The most nodes that are put in the order that takes the least memory, which takes time with their square.
const MOST_ORDERED: usize = 8_192;

/// The most nodes of a model, which take about half a minute to be read.
const MOST_NODES: usize = 150_000;

/// The most weights and constants, which take as long.
const MOST_WEIGHTS: usize = 20_000;

/// A model made ready on tract.
pub struct Tract {
    clock: RunClock,
    phases: Vec<Phase>,
    state: TypedSimpleState,
    inputs: TVec<TValue>,
    outputs: Option<TVec<TValue>>,
    output_names: Vec<String>,
    recorder: Recorder,
    /// The model before any rewriting, for a closer look at its values.
    plain: TypedModel,
    model: Arc<Model>,
}

/// The times of all nodes, in one growing buffer.
#[derive(Default)]
struct Recorder {
    /// Node, start and end of every execution.
    executions: Vec<(u32, Nanoseconds, Nanoseconds)>,
    /// Where each iteration's executions end.
    iteration_ends: Vec<usize>,
}

impl Tract {
    /// Loads a model, prepares it, and hands it the inputs.
    ///
    /// # Errors
    /// When tract lacks an operator or refuses the model.
    pub fn prepare(
        model: Arc<Model>,
        inputs: &[Input],
        options: &EngineOptions,
        clock: RunClock,
    ) -> Result<Self, RunError> {
        let mut phases = Vec::new();
        let (plain, optimized) = guarded(
            || {
                let plain = Phase::measure("load model", clock, &mut phases, || load(&model, inputs))?;
                let optimized = Phase::measure("optimize model", clock, &mut phases, || {
                    optimize(plain.clone(), options.optimization).map_err(refused)
                })?;
                Ok((plain, optimized))
            },
            refused_text,
        )
        .map_err(|error| at_node(error, &model))?;
        let values = inputs.iter().map(|input| to_value(&input.tensor)).collect::<Result<_, _>>()?;
        let state = Phase::measure("plan execution", clock, &mut phases, || {
            guarded(|| plan(optimized, options.threads).map_err(refused), refused_text)
        })
        .map_err(|error| at_node(error, &model))?;
        let graph = model.graph();
        let output_names = graph.outputs().iter().map(|&id| graph.value(id).name.to_owned()).collect();
        let recorder = Recorder::default();
        let outputs = None;
        Ok(Self { clock, phases, state, inputs: values, outputs, output_names, recorder, plain, model })
    }

    /// Runs the model once. Between its nodes it can be stopped; the start and end of each is noted if
    /// `records`.
    fn execute(&mut self, interrupt: &Interrupt, records: bool) -> Result<Window, RunError> {
        let Self { clock, state, recorder, .. } = self;
        let (clock, inputs) = (*clock, self.inputs.clone());
        let executions = &mut recorder.executions;
        if records {
            executions.reserve(state.plan().order_without_consts().len());
        }
        let complete = executions.len();
        let step = |context: &EvalContext<'_>,
                    op_state: Option<&mut (dyn OpState + 'static)>,
                    node: &TypedNode,
                    inputs| {
            if interrupt.is_requested() {
                return Err(TractError::msg("interrupted"));
            }
            if !records {
                return plan::eval(context, op_state, node, inputs);
            }
            let start = clock.now();
            let outputs = plan::eval(context, op_state, node, inputs)?;
            executions.push((node.id as u32, start, clock.now()));
            Ok(outputs)
        };
        let start = clock.now();
        let result = guarded(|| state.run_plan_with_eval(inputs, step).map_err(failed), failed_text);
        let duration = clock.now() - start;
        match result {
            Ok(outputs) => {
                self.outputs = Some(outputs);
                if records {
                    self.recorder.iteration_ends.push(self.recorder.executions.len());
                }
                Ok(Window { start, duration })
            }
            Err(error) => {
                self.recorder.executions.truncate(complete);
                Err(if interrupt.is_requested() {
                    RunError::Interrupted
                } else {
                    at_node(error, &self.model)
                })
            }
        }
    }
}

impl Engine for Tract {
    fn kind(&self) -> EngineKind {
        EngineKind::Tract
    }

    fn version(&self) -> String {
        VERSION.to_owned()
    }

    fn phases(&self) -> &[Phase] {
        &self.phases
    }

    fn node_count(&self) -> usize {
        self.state.plan().order_without_consts().len()
    }

    fn infer(&mut self, interrupt: &Interrupt) -> Result<Window, RunError> {
        self.execute(interrupt, false)
    }

    fn infer_recorded(&mut self, interrupt: &Interrupt) -> Result<Window, RunError> {
        self.execute(interrupt, true)
    }

    fn feed(&mut self, inputs: &[Input]) -> Result<(), RunError> {
        self.inputs = inputs.iter().map(|input| to_value(&input.tensor)).collect::<Result<_, _>>()?;
        Ok(())
    }

    fn outputs(&mut self) -> Result<Vec<(String, HostTensor)>, RunError> {
        let outputs = self.outputs.iter().flatten().zip(&self.output_names);
        let tensors = outputs.filter_map(|(value, name)| Some((name.clone(), from_value(value)?)));
        Ok(tensors.collect())
    }

    fn first_non_finite(&mut self) -> Result<Option<(String, NonFinite)>, RunError> {
        let mut state = guarded(|| plan(self.plain.clone(), 1).map_err(refused), refused_text)?;
        let names = NodeNames::of(self.model.graph());
        let mut found: Option<(String, NonFinite)> = None;
        let look = |context: &EvalContext<'_>,
                    op_state: Option<&mut (dyn OpState + 'static)>,
                    node: &TypedNode,
                    inputs| {
            let outputs = plan::eval(context, op_state, node, inputs)?;
            if found.is_none() {
                let kind = outputs.iter().filter_map(from_value).find_map(|tensor| tensor.first_non_finite());
                found = kind.map(|kind| {
                    let name = names.by_prefix(&node.name).map(|id| self.model.graph().node(id).name);
                    (name.unwrap_or(&node.name).to_owned(), kind)
                });
            }
            Ok::<_, TractError>(outputs)
        };
        let inputs = self.inputs.clone();
        guarded(|| state.run_plan_with_eval(inputs, look).map_err(failed), failed_text)?;
        Ok(found)
    }

    fn finish(self: Box<Self>) -> Result<Recording, RunError> {
        let model = self.state.plan().model();
        let mut position_of = vec![None; model.nodes().len()];
        let mut nodes: Vec<EngineNode> = Vec::new();
        for &id in self.state.plan().order_without_consts() {
            let node = model.node(id);
            // Handing over an input is no work.
            if node.op_is::<TypedSource>() {
                continue;
            }
            position_of[id] = Some(nodes.len() as u32);
            nodes.push(EngineNode {
                name: node.name.clone(),
                op_type: node.op().name().into_owned(),
                provider: "tract".to_owned(),
            });
        }
        let mut executions = Vec::with_capacity(self.recorder.executions.len());
        let mut begin = 0;
        for (iteration, &end) in self.recorder.iteration_ends.iter().enumerate() {
            for &(node, start, end) in &self.recorder.executions[begin..end] {
                let Some(node) = position_of[node as usize] else { continue };
                let iteration = iteration as u32;
                executions.push(Execution { node, iteration, thread: 0, start, duration: end - start });
            }
            begin = end;
        }
        Ok(Recording { nodes, threads: vec!["main".to_owned()], executions, ..Recording::default() })
    }
}

/// The model as tract reads it, with the shapes of the inputs fixed and every node named as in
/// [`Model`]'s graph.
fn load(model: &Model, inputs: &[Input]) -> Result<TypedModel, RunError> {
    let onnx = tract_onnx::onnx();
    check_operators(model, &onnx)?;
    check_size(model)?;
    let mut proto = model.with_named_nodes();
    narrow_concats(&mut proto);
    let shapes = infer_shapes(model, inputs);
    drop_declared(&mut proto, model, &shapes, Keep::Fitting);
    typed(&onnx, &proto, model, inputs).or_else(|error| {
        // Declarations that seem to fit may be wrong all the same, where the shapes aren't known in advance.
        match drop_declared(&mut proto, model, &shapes, Keep::Nothing) {
            true => typed(&onnx, &proto, model, inputs).map_err(|_| error),
            false => Err(error),
        }
    })
}

fn typed(
    onnx: &tract_onnx::Onnx,
    proto: &opscope_model::proto::ModelProto,
    model: &Model,
    inputs: &[Input],
) -> Result<TypedModel, RunError> {
    let bytes = proto.encode_to_vec();
    let proto = pb::ModelProto::decode(bytes.as_slice()).map_err(|error| refused(error.into()))?;
    let folder = model.folder().map(Path::to_string_lossy);
    let mut inference = onnx.parse(&proto, folder.as_deref()).map_err(refused)?.model;
    for (position, outlet) in inference.input_outlets().map_err(refused)?.to_vec().iter().enumerate() {
        let name = inference.node(outlet.node).name.clone();
        let Some(input) = inputs.iter().find(|input| input.name == name) else {
            return Err(refused(TractError::msg(format!("nothing was given for the input '{name}'"))));
        };
        let tensor = &input.tensor;
        let fact = InferenceFact::dt_shape(datum_type(tensor.data_type)?, tensor.shape.as_slice());
        inference.set_input_fact(position, fact).map_err(refused)?;
    }
    into_typed(inference).map_err(refused)
}

/// Refuses a model that is so large that tract, which looks for each name and each constant among all before
/// it, would take minutes to read it.
fn check_size(model: &Model) -> Result<(), RunError> {
    let weights = model.proto().graph.as_ref().map_or(0, |graph| graph.initializer.len());
    let constants = model.graph().nodes().filter(|node| node.op_type == "Constant").count();
    let (nodes, weights) = (model.graph().node_count(), weights + constants);
    let (count, of, most) = match () {
        () if weights > MOST_WEIGHTS => (weights, "weights and constants", MOST_WEIGHTS),
        () if nodes > MOST_NODES => (nodes, "nodes", MOST_NODES),
        () => return Ok(()),
    };
    Err(refused(TractError::msg(format!(
        "it has {count} {of}, and {most} are taken at most: reading them takes time with the square of their number"
    ))))
}

/// All operators must be known before tract is asked: its own message names only one of them, and
/// late.
fn check_operators(model: &Model, onnx: &tract_onnx::Onnx) -> Result<(), RunError> {
    let mut unknown = model.graph().nodes().filter(|node| !onnx.op_register.0.contains_key(node.op_type));
    let Some(first) = unknown.next() else { return Ok(()) };
    Err(RunError::UnsupportedOperator {
        engine: EngineKind::Tract,
        node: first.name.to_owned(),
        op_type: if first.domain.is_empty() {
            first.op_type.to_owned()
        } else {
            format!("{}.{}", first.domain, first.op_type)
        },
        others: unknown.count(),
        remedy: match first.domain {
            "" | "com.microsoft" | "ai.onnx.ml" => HAS_IT.to_owned(),
            _ if is_own_function(model, first) => HAS_IT.to_owned(),
            domain => format!("; '{domain}' is a custom domain, which only a program of its own can run"),
        },
    })
}

/// Whether a node calls a function that the model itself brings along.
fn is_own_function(model: &Model, node: Node<'_>) -> bool {
    let mut functions = model.proto().functions.iter();
    functions.any(|function| {
        function.domain.as_deref().unwrap_or_default() == node.domain
            && function.name.as_deref() == Some(node.op_type)
    })
}

fn plan(model: TypedModel, threads: usize) -> TractResult<TypedSimpleState> {
    let executor = if threads > 1 { Executor::multithread(threads) } else { Executor::SingleThread };
    let skip_order_opt_ram = model.nodes().len() > MOST_ORDERED;
    let options = RunOptions { executor: Some(executor), skip_order_opt_ram, ..RunOptions::default() };
    TypedSimplePlan::new_with_options(model, &options)?.spawn()
}

/// Pairs of element types; tract's quantised types never come from an ONNX file's inputs.
const TYPES: [(DataType, DatumType); 12] = [
    (DataType::Bool, DatumType::Bool),
    (DataType::Uint8, DatumType::U8),
    (DataType::Uint16, DatumType::U16),
    (DataType::Uint32, DatumType::U32),
    (DataType::Uint64, DatumType::U64),
    (DataType::Int8, DatumType::I8),
    (DataType::Int16, DatumType::I16),
    (DataType::Int32, DatumType::I32),
    (DataType::Int64, DatumType::I64),
    (DataType::Float16, DatumType::F16),
    (DataType::Float32, DatumType::F32),
    (DataType::Float64, DatumType::F64),
];

fn datum_type(data_type: DataType) -> Result<DatumType, RunError> {
    let found = TYPES.iter().find(|(known, _)| *known == data_type);
    found.map(|(_, datum_type)| *datum_type).ok_or_else(|| {
        refused(TractError::msg(format!("it takes no inputs of type {data_type}; try --engine ort")))
    })
}

fn to_value(tensor: &HostTensor) -> Result<TValue, RunError> {
    let datum_type = datum_type(tensor.data_type)?;
    let length = tensor.elements() * datum_type.size_of();
    if length != tensor.bytes.len() {
        return Err(failed(TractError::msg("an input's data do not fit its shape")));
    }
    let bytes: Vec<u8> = match datum_type {
        // Any byte but 0 and 1 is no valid truth value in memory.
        DatumType::Bool => tensor.bytes.iter().map(|&byte| u8::from(byte != 0)).collect(),
        _ => tensor.bytes.clone(),
    };
    // SAFETY: the type is a plain number or a truth value of 0 or 1, and the bytes were checked to
    // be as many as the shape needs.
    let copied = unsafe { Tensor::from_raw_dt(datum_type, &tensor.shape, &bytes) };
    Ok(copied.map_err(failed)?.into_tvalue())
}

/// The value as plain numbers; `None` for what has no such form, such as packed weights.
fn from_value(value: &TValue) -> Option<HostTensor> {
    let symbolic = value.datum_type() == DatumType::TDim;
    let cast = symbolic.then(|| value.cast_to_dt(DatumType::I64).ok()).flatten();
    let tensor: &Tensor = cast.as_deref().unwrap_or(value);
    let datum_type = tensor.datum_type().unquantized();
    let &(data_type, _) = TYPES.iter().find(|(_, known)| *known == datum_type)?;
    let bytes = tensor.try_as_plain_ram().ok()?.as_bytes().to_vec();
    Some(HostTensor { data_type, shape: tensor.shape().to_vec(), bytes })
}

/// Runs something of tract's, which on some models panics instead of failing.
fn guarded<T>(
    work: impl FnOnce() -> Result<T, RunError>,
    wrap: fn(String) -> RunError,
) -> Result<T, RunError> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let result = catch_unwind(AssertUnwindSafe(work));
    std::panic::set_hook(hook);
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("an unknown fault");
        Err(wrap(format!("{text} (a fault in the engine)")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stated_version_is_the_one_that_is_built_in() {
        let manifest = include_str!("../../../../Cargo.toml");
        assert!(manifest.contains(&format!("tract-onnx = \"={VERSION}\"")));
    }
}
