//! Sessions of ONNX Runtime: one that is timed, and one that records, once it is needed.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use opscope_files::Unfinished;
use opscope_model::Model;
use opscope_model::proto::{GraphProto, ModelProto, TypeProto, ValueInfoProto};
use opscope_trace::{DataType, LossKind, Optimization};
use ort::environment::Environment;
use ort::session::builder::{GraphOptimizationLevel, SessionBuilder};
use ort::session::{RunOptions, Session, SessionInputValue, SessionOutputs};
use ort::value::{DynTensorValueType, DynValue, TensorElementType};
use prost::Message;
use tempfile::TempDir;

use super::failure::{failed, lost, refused, rejected};
use super::recorder::Recorder;
use super::{library, recording};
use crate::engine::{Engine, EngineOptions, Interrupt, Phase, Recording, RunClock, Window};
use crate::engine_kind::EngineKind;
use crate::error::RunError;
use crate::host_tensor::{HostTensor, NonFinite};
use crate::inputs::Input;

/// A model made ready on ONNX Runtime.
pub struct OrtEngine {
    clock: RunClock,
    phases: Vec<Phase>,
    environment: Environment,
    /// The session that is timed; nothing is recorded of it.
    session: Session,
    /// The session that records.
    recorder: Option<Recorder>,
    /// Holds the profile that the recording session writes.
    folder: TempDir,
    /// Keeps the folder known to whoever ends the program early.
    unfinished: Unfinished,
    inputs: Vec<(String, DynValue)>,
    /// The outputs of the last timed inference, as the engine handed them out: copying them each time
    /// would leave the next one colder caches.
    outputs: Vec<(String, DynValue)>,
    options: EngineOptions,
    version: String,
    model: Arc<Model>,
}

impl OrtEngine {
    /// Loads the library and the model, and hands over the inputs.
    ///
    /// # Errors
    /// When the library can't be used or refuses the model.
    pub fn prepare(
        model: Arc<Model>,
        inputs: &[Input],
        options: &EngineOptions,
        library: &Path,
        clock: RunClock,
    ) -> Result<Self, RunError> {
        let mut phases = Vec::new();
        let environment = Phase::measure("load engine", clock, &mut phases, || environment(library))?;
        let folder = tempfile::tempdir().map_err(|error| refused(format!("no temporary folder: {error}")))?;
        let unfinished = Unfinished::new(folder.path().to_owned());
        let session = Phase::measure("load model", clock, &mut phases, || {
            commit(builder(&environment, options)?, &model)
        })?;
        let inputs = to_values(&session, inputs)?;
        let (outputs, recorder, options) = (Vec::new(), None, options.clone());
        let version = library::version(library);
        Ok(Self {
            clock,
            phases,
            environment,
            session,
            recorder,
            folder,
            unfinished,
            inputs,
            outputs,
            options,
            version,
            model,
        })
    }

    /// A session of the same model whose profiler is on.
    fn recording_session(&self) -> Result<Session, RunError> {
        let builder = builder(&self.environment, &self.options)?;
        let builder = builder.with_profiling(self.folder.path().join("profile")).map_err(rejected)?;
        commit(builder, &self.model)
    }
}

impl Engine for OrtEngine {
    fn kind(&self) -> EngineKind {
        EngineKind::OnnxRuntime
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn phases(&self) -> &[Phase] {
        &self.phases
    }

    fn node_count(&self) -> usize {
        self.model.graph().node_count()
    }

    fn infer(&mut self, interrupt: &Interrupt) -> Result<Window, RunError> {
        if interrupt.is_requested() {
            return Err(RunError::Interrupted);
        }
        let inputs = by_name(&self.inputs);
        let options = stoppable()?;
        let start = self.clock.now();
        let outputs = run(&mut self.session, inputs, &options, interrupt)?;
        let window = Window { start, duration: self.clock.now() - start };
        self.outputs = outputs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(window)
    }

    fn infer_recorded(&mut self, interrupt: &Interrupt) -> Result<Window, RunError> {
        if interrupt.is_requested() {
            return Err(RunError::Interrupted);
        }
        if self.recorder.is_none() {
            self.recorder = Some(Recorder::new(self.recording_session()?));
        }
        match &mut self.recorder {
            Some(recorder) => recorder.infer(by_name(&self.inputs), self.clock, interrupt),
            None => Err(lost("no session records".to_owned())),
        }
    }

    fn records_apart(&self) -> bool {
        true
    }

    fn feed(&mut self, inputs: &[Input]) -> Result<(), RunError> {
        self.inputs = to_values(&self.session, inputs)?;
        Ok(())
    }

    fn outputs(&mut self) -> Result<Vec<(String, HostTensor)>, RunError> {
        let tensors =
            self.outputs.iter().filter_map(|(name, value)| Some((name.clone(), from_value(value)?)));
        Ok(tensors.collect())
    }

    fn first_non_finite(&mut self) -> Result<Option<(String, NonFinite)>, RunError> {
        let graph = self.model.graph();
        let values = graph
            .nodes()
            .flat_map(|node| node.outputs.iter().flatten().map(move |&id| (node.id, graph.value(id))));
        let values: Vec<_> = values.collect();
        // Every value becomes an output; ONNX Runtime infers the types itself.
        let mut proto = self.model.with_named_nodes();
        if let Some(graph) = &mut proto.graph {
            let open = values.iter().filter(|(_, value)| !value.is_output);
            graph.output.extend(open.map(|(_, value)| ValueInfoProto {
                name: Some(value.name.to_owned()),
                r#type: Some(TypeProto::default()),
                ..Default::default()
            }));
        }
        let options = EngineOptions { optimization: Optimization::Off, ..self.options.clone() };
        let folder = self.model.folder();
        let mut session = commit_proto(builder(&self.environment, &options)?, &proto, folder)?;
        let outputs = session.run(by_name(&self.inputs)).map_err(failed)?;
        Ok(values.iter().find_map(|(node, value)| {
            let kind = from_value(outputs.get(value.name)?)?.first_non_finite()?;
            Some((graph.node(*node).name.to_owned(), kind))
        }))
    }

    fn finish(mut self: Box<Self>) -> Result<Recording, RunError> {
        let Some(recorder) = self.recorder.take() else { return Ok(Recording::default()) };
        let recorded = recorder.finish()?;
        let mut recording = recording::read(&recorded)?;
        let Self { environment, session, inputs, outputs, folder, unfinished, options, model, .. } = *self;
        // Two sessions' weights at once may be more than the machine has.
        drop((session, inputs, outputs));
        // Without the rewritten model the times are as good as ever; only no node can be named.
        match rewritten(&environment, &options, &model, folder.path()) {
            Ok(graph) => recording.rewritten = Some(graph),
            Err(error) => recording.losses.count(LossKind::UnknownEngineGraph, &error.to_string(), 1),
        }
        // It is forgotten only after it is gone.
        drop(folder);
        drop(unfinished);
        Ok(recording)
    }
}

/// The model's graph as ONNX Runtime runs it, which it writes into a folder. Even where it may not
/// rewrite anything, it replaces operators that it has no kernel for by their definition.
///
/// A session of its own does that, so that loading for the measured one isn't burdened.
fn rewritten(
    environment: &Environment,
    options: &EngineOptions,
    model: &Model,
    folder: &Path,
) -> Result<GraphProto, RunError> {
    const WEIGHTS: &str = "weights.bin";
    // The weights aren't needed, and a message of more than 2 GiB couldn't be written: they go into a
    // file of their own, and where the system has one, into nothing.
    #[cfg(unix)]
    let _ = std::os::unix::fs::symlink("/dev/null", folder.join(WEIGHTS));
    let path = folder.join("rewritten.onnx");
    let builder = builder(environment, options)?
        .with_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS)
        .map_err(rejected)?;
    drop(commit(builder.with_optimized_model_path(&path).map_err(rejected)?, model)?);
    let unread = |error: String| lost(format!("the rewritten model: {error}"));
    let bytes = std::fs::read(&path).map_err(|error| unread(error.to_string()))?;
    let proto = ModelProto::decode(bytes.as_slice()).map_err(|error| unread(error.to_string()))?;
    proto.graph.ok_or_else(|| unread("it has no graph".to_owned()))
}

/// The process' only environment, with the library that it is of. ONNX Runtime can't be set up twice,
/// not even one after the other, so it stays for good.
static ENVIRONMENT: Mutex<Option<(PathBuf, Environment)>> = Mutex::new(None);

fn environment(library: &Path) -> Result<Environment, RunError> {
    let unusable = |message: String| RunError::Library { path: library.to_owned(), message };
    let mut known = ENVIRONMENT.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    match &*known {
        Some((path, environment)) if path == library => return Ok(environment.clone()),
        Some((path, _)) => {
            return Err(unusable(format!("{} is already in use by this process", path.display())));
        }
        None => {}
    }
    let builder = ort::init_from(library).map_err(|error| unusable(error.to_string()))?;
    // Failures come back as errors; the rest of the log would only disturb the terminal.
    let quiet = Arc::new(|_: ort::logging::LogLevel, _: &str, _: &str, _: &str, _: &str| {});
    let builder = builder.with_name("opscope").with_telemetry(false).with_logger(quiet);
    let environment = builder.build().map_err(|error| unusable(error.to_string()))?;
    *known = Some((library.to_owned(), environment.clone()));
    Ok(environment)
}

fn builder(environment: &Environment, options: &EngineOptions) -> Result<SessionBuilder, RunError> {
    let level = match options.optimization {
        Optimization::Off => GraphOptimizationLevel::Disable,
        Optimization::Basic => GraphOptimizationLevel::Level1,
        Optimization::Full => GraphOptimizationLevel::All,
    };
    let builder = Session::builder(environment).map_err(rejected)?;
    let builder = builder.with_optimization_level(level).map_err(rejected)?;
    builder.with_intra_threads(options.threads).map_err(rejected)
}

/// Inputs as a session takes them.
fn by_name(inputs: &[(String, DynValue)]) -> Vec<(&str, SessionInputValue<'_>)> {
    inputs.iter().map(|(name, value)| (name.as_str(), value.into())).collect()
}

/// Options of an inference that can be stopped by them.
pub(super) fn stoppable() -> Result<Arc<RunOptions>, RunError> {
    Ok(Arc::new(RunOptions::new().map_err(failed)?))
}

/// An inference that ends between two nodes once it is to stop.
pub(super) fn run<'s>(
    session: &'s mut Session,
    inputs: Vec<(&str, SessionInputValue<'_>)>,
    options: &'s Arc<RunOptions>,
    interrupt: &Interrupt,
) -> Result<SessionOutputs<'s>, RunError> {
    let stopping = Arc::clone(options);
    let stop = move || {
        // A run that can't be stopped ends by itself.
        let _ = stopping.terminate();
    };
    interrupt
        .stopping_by(stop, || session.run_with_options(inputs, options))
        .map_err(|error| if interrupt.is_requested() { RunError::Interrupted } else { failed(error) })
}

/// Loads the model with every node named as in [`Model`]'s graph.
fn commit(mut builder: SessionBuilder, model: &Model) -> Result<Session, RunError> {
    let all_named = model.graph().nodes().all(|node| node.named);
    match model.path() {
        Some(path) if all_named => {
            builder.commit_from_file(path).map_err(|error| explain(&error.to_string(), model))
        }
        _ => commit_proto(builder, &model.with_named_nodes(), model.folder()),
    }
}

fn commit_proto(
    builder: SessionBuilder,
    proto: &ModelProto,
    folder: Option<&Path>,
) -> Result<Session, RunError> {
    let mut builder = match folder.and_then(Path::to_str) {
        Some(folder) => builder
            .with_config_entry("session.model_external_initializers_file_folder_path", folder)
            .map_err(rejected)?,
        None => builder,
    };
    builder.commit_from_memory(&proto.encode_to_vec()).map_err(rejected)
}

/// The other engine as a remedy, where there is one.
const OTHER: &str =
    if EngineKind::IS_ONE_EMBEDDED { ". The other engine may have it: --engine tract" } else { "" };

/// Recognises what ONNX Runtime says of an operator that it lacks, and names the node.
fn explain(message: &str, model: &Model) -> RunError {
    let lacking =
        ["Could not find an implementation for", "is not a registered function/op", "No Op registered for"];
    if lacking.iter().any(|text| message.contains(text)) {
        let mut nodes = model
            .graph()
            .nodes()
            .filter(|node| message.contains(node.op_type) && message.contains(node.name));
        let by_type = || model.graph().nodes().find(|node| message.contains(&format!("{}(", node.op_type)));
        if let Some(node) = nodes.next().or_else(by_type) {
            return RunError::UnsupportedOperator {
                engine: EngineKind::OnnxRuntime,
                node: node.name.to_owned(),
                op_type: match node.domain {
                    "" => node.op_type.to_owned(),
                    domain => format!("{domain}.{}", node.op_type),
                },
                others: 0,
                remedy: format!("; its own words: {message}{OTHER}"),
            };
        }
    }
    refused(message.to_owned())
}

/// Pairs of element types.
const TYPES: [(DataType, TensorElementType); 13] = [
    (DataType::Bool, TensorElementType::Bool),
    (DataType::Uint8, TensorElementType::Uint8),
    (DataType::Uint16, TensorElementType::Uint16),
    (DataType::Uint32, TensorElementType::Uint32),
    (DataType::Uint64, TensorElementType::Uint64),
    (DataType::Int8, TensorElementType::Int8),
    (DataType::Int16, TensorElementType::Int16),
    (DataType::Int32, TensorElementType::Int32),
    (DataType::Int64, TensorElementType::Int64),
    (DataType::Float16, TensorElementType::Float16),
    (DataType::BFloat16, TensorElementType::Bfloat16),
    (DataType::Float32, TensorElementType::Float32),
    (DataType::Float64, TensorElementType::Float64),
];

fn to_values(session: &Session, inputs: &[Input]) -> Result<Vec<(String, DynValue)>, RunError> {
    let value = |input: &Input| Ok((input.name.clone(), to_value(session, &input.tensor).map_err(failed)?));
    inputs.iter().map(value).collect()
}

fn to_value(session: &Session, tensor: &HostTensor) -> ort::Result<DynValue> {
    let found = TYPES.iter().find(|(known, _)| *known == tensor.data_type);
    let Some(&(_, element_type)) = found else {
        return Err(ort::Error::new(format!("inputs of type {} are not supported", tensor.data_type)));
    };
    let mut value = ort::value::DynTensor::new(session.allocator(), element_type, tensor.shape.clone())?;
    let size = element_type.byte_size(tensor.elements()).unwrap_or(0);
    if size != tensor.bytes.len() {
        return Err(ort::Error::new("an input's data do not fit its shape"));
    }
    if size > 0 {
        // SAFETY: the tensor was just made in host memory with this type and shape, which take
        // `size` bytes; any bytes are valid numbers.
        unsafe { std::ptr::copy_nonoverlapping(tensor.bytes.as_ptr(), value.data_ptr_mut().cast(), size) };
    }
    Ok(value.into_dyn())
}

/// The value as plain numbers; `None` for what has no such form, such as sequences and text.
fn from_value(value: &DynValue) -> Option<HostTensor> {
    let tensor = value.view().downcast::<DynTensorValueType>().ok()?;
    let &(data_type, _) = TYPES.iter().find(|(_, known)| known == tensor.data_type())?;
    let shape: Vec<usize> = tensor.shape().iter().map(|&n| n as usize).collect();
    let size = tensor.data_type().byte_size(shape.iter().product())?;
    if size == 0 {
        return Some(HostTensor { data_type, shape, bytes: Vec::new() });
    }
    if !tensor.memory_info().is_cpu_accessible() {
        return None;
    }
    // SAFETY: the data lie in host memory and take `size` bytes by their own type and shape.
    let bytes = unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast::<u8>(), size) }.to_vec();
    Some(HostTensor { data_type, shape, bytes })
}
