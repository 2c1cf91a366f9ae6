//! The interface of engines, and the recording that each leaves.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use opscope_model::proto::GraphProto;
use opscope_trace::{Losses, Nanoseconds, Optimization};

use crate::engine_kind::EngineKind;
use crate::error::RunError;
use crate::host_tensor::{HostTensor, NonFinite};
use crate::inputs::Input;

/// How an engine is set up.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Which engine.
    pub kind: EngineKind,
    /// How far it may rewrite the model.
    pub optimization: Optimization,
    /// How many threads an operator may use; at least 1.
    pub threads: usize,
    /// The shared library of ONNX Runtime; `None` searches for it.
    pub ort_library: Option<PathBuf>,
}

/// Times of one run, all taken from one monotonic clock.
#[derive(Clone, Copy, Debug)]
pub struct RunClock {
    zero: Instant,
}

impl RunClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { zero: Instant::now() }
    }

    /// The time since the start.
    #[inline]
    pub fn now(&self) -> Nanoseconds {
        self.zero.elapsed().into()
    }
}

/// Something that took a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The work by name.
    pub name: &'static str,
    /// When it began.
    pub start: Nanoseconds,
    /// How long it took.
    pub duration: Nanoseconds,
}

impl Phase {
    /// Does something and notes the time that it took.
    pub fn measure<T>(
        name: &'static str,
        clock: RunClock,
        phases: &mut Vec<Self>,
        work: impl FnOnce() -> T,
    ) -> T {
        let start = clock.now();
        let done = work();
        phases.push(Self { name, start, duration: clock.now() - start });
        done
    }
}

/// Asks a running inference to stop.
#[derive(Default)]
pub struct Interrupt {
    is_requested: AtomicBool,
    is_heeded: AtomicBool,
    /// Stops the engine's own call that is under way.
    stop_call: Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Interrupt {
    /// A request that hasn't been made.
    pub const fn new() -> Self {
        let (is_requested, is_heeded) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { is_requested, is_heeded, stop_call: Mutex::new(None) }
    }

    /// Makes the request.
    pub fn request(&self) {
        let stop_call = self.stop_call.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_requested.store(true, Ordering::Relaxed);
        if let Some(stop) = stop_call.as_deref() {
            stop();
        }
    }

    /// Whether the request was made. Whoever asks stops where it was.
    #[inline]
    pub fn is_requested(&self) -> bool {
        let is_requested = self.is_made();
        if is_requested {
            self.is_heeded.store(true, Ordering::Relaxed);
        }
        is_requested
    }

    /// Whether the request was made, for whoever makes it.
    pub fn is_made(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }

    /// Whether anybody has asked since the request was made: engines that load a model don't.
    pub fn is_heeded(&self) -> bool {
        self.is_heeded.load(Ordering::Relaxed)
    }

    /// Makes a call that can't ask; a request calls `stop` meanwhile, on its own thread.
    pub(crate) fn stopping_by<T>(&self, stop: impl Fn() + Send + 'static, call: impl FnOnce() -> T) -> T {
        let stop_call = || self.stop_call.lock().unwrap_or_else(PoisonError::into_inner);
        *stop_call() = Some(Box::new(stop));
        let done = call();
        *stop_call() = None;
        done
    }
}

impl fmt::Debug for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupt").field("is_requested", &self.is_requested).finish_non_exhaustive()
    }
}

/// A node as the engine runs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EngineNode {
    /// The engine's name for it.
    pub name: String,
    /// The engine's operator.
    pub op_type: String,
    /// Who executes it, such as `CPUExecutionProvider`.
    pub provider: String,
}

/// One execution of an engine node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The node's position in the list of nodes.
    pub node: u32,
    /// The number of the iteration, from 0.
    pub iteration: u32,
    /// The thread that executed it, as a position in the list of threads.
    pub thread: u32,
    /// When it began.
    pub start: Nanoseconds,
    /// How long it took.
    pub duration: Nanoseconds,
}

/// One inference as seen from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// When it began.
    pub start: Nanoseconds,
    /// How long it took, from handing over the inputs to having the outputs.
    pub duration: Nanoseconds,
}

/// Everything that an engine recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// The nodes that the engine runs.
    pub nodes: Vec<EngineNode>,
    /// Names of the threads that executed them.
    pub threads: Vec<String>,
    /// Every execution, in the order of its end.
    pub executions: Vec<Execution>,
    /// The model's graph as the engine rewrote it, where the engine hands it out.
    pub rewritten: Option<GraphProto>,
    /// Losses of the recording: the reason and how often.
    pub losses: Losses,
}

/// A model made ready on an engine.
pub trait Engine {
    /// Which engine it is.
    fn kind(&self) -> EngineKind;

    /// The engine's version.
    fn version(&self) -> String;

    /// How long loading and preparing took.
    fn phases(&self) -> &[Phase];

    /// How many engine nodes an iteration executes, as far as that is known in advance.
    fn node_count(&self) -> usize;

    /// Runs the model once and notes nothing but how long that takes: what the model costs where nobody
    /// watches it, and the only source of the latency that is shown, compared or judged.
    ///
    /// # Errors
    /// When a node fails, or [`RunError::Interrupted`].
    fn infer(&mut self, interrupt: &Interrupt) -> Result<Window, RunError>;

    /// Runs the model once and records every node, which takes longer.
    ///
    /// # Errors
    /// When a node fails, or [`RunError::Interrupted`].
    fn infer_recorded(&mut self, interrupt: &Interrupt) -> Result<Window, RunError>;

    /// Whether recording takes a second copy of the model, whose memory isn't the model's own need.
    fn records_apart(&self) -> bool {
        false
    }

    /// Hands over other inputs, of the same types and shapes as those before, for the next inferences.
    ///
    /// # Errors
    /// When the engine can't take them.
    fn feed(&mut self, inputs: &[Input]) -> Result<(), RunError>;

    /// The outputs of the last inference with their names; what isn't a tensor of numbers is left
    /// out.
    ///
    /// # Errors
    /// When there was no inference, or the engine can't hand them out.
    fn outputs(&mut self) -> Result<Vec<(String, HostTensor)>, RunError>;

    /// The first of the model's nodes, in the order of execution, that computes something that
    /// isn't a finite number. This runs the model once more.
    ///
    /// # Errors
    /// When that run fails.
    fn first_non_finite(&mut self) -> Result<Option<(String, NonFinite)>, RunError>;

    /// Ends the recording.
    ///
    /// # Errors
    /// When the engine lost it.
    fn finish(self: Box<Self>) -> Result<Recording, RunError>;
}

/// A time budget for as many inferences as fit.
pub const DEFAULT_BUDGET: Duration = Duration::from_secs(3);
