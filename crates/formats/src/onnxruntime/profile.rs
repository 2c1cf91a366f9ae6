//! The native tables: what a profile holds, in the runtime's own terms.

use std::path::PathBuf;

use opscope_trace::{Nanoseconds, Pool, Span, StringId, StringTable};

/// A profile of ONNX Runtime.
///
/// Times count from when the session began to record; the file doesn't say when that was.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// Where it was read from.
    pub path: PathBuf,
    /// All text.
    pub strings: StringTable,
    /// The steps of sessions: loading, initialising, running. In the order of the file.
    pub sessions: Vec<SessionEvent>,
    /// Executions of nodes, in the order of the file.
    pub nodes: Vec<NodeEvent>,
    /// The events that execution providers recorded on their devices, in the order of the file.
    pub devices: Vec<DeviceEvent>,
    /// Lists of block sizes, which [`Scheduling`] names.
    pub block_sizes: Pool<i64>,
    /// Lists of workers, which [`Scheduling`] names.
    pub workers: Pool<Worker>,
    /// How many events of fences there are. Versions before 2022 record them before and after
    /// every node, and they hold nothing but waiting for other devices.
    pub fences: u64,
    /// How many events were left out because the file had them already.
    pub repeated: u64,
    /// Events that are none of the above: their category and how many there are.
    pub others: Vec<(StringId, u64)>,
    /// The file's damage.
    pub damage: Damage,
}

/// Something that a session did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionEvent {
    /// The step.
    pub kind: SessionEventKind,
    /// The runtime's own word for it.
    pub name: StringId,
    /// The system's number of the process.
    pub process: i64,
    /// The system's number of the thread.
    pub thread: i64,
    /// When it began.
    pub start: Nanoseconds,
    /// How long it took.
    pub duration: Nanoseconds,
}

/// The steps of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEventKind {
    /// Loading a model: `model_loading_uri`, `model_loading_array` and their like.
    ModelLoading,
    /// Optimising the graph and preparing it for execution: `session_initialization`.
    Initialization,
    /// One inference: `model_run`.
    Run,
    /// Executing a graph, the main one or one inside a node: `SequentialExecutor::Execute`.
    Execution,
    /// Something else.
    Other,
}

impl SessionEventKind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "session_initialization" => Self::Initialization,
            "model_run" => Self::Run,
            name if name.starts_with("model_loading") => Self::ModelLoading,
            name if name.ends_with("Executor::Execute") => Self::Execution,
            _ => Self::Other,
        }
    }
}

/// One execution of a node of the graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeEvent {
    /// The node's name; the runtime makes one up for a node without.
    pub name: StringId,
    /// Its type, such as `Conv`; empty where the file doesn't tell.
    pub op_name: StringId,
    /// The execution provider, such as `CPUExecutionProvider`; empty where the file doesn't tell.
    pub provider: StringId,
    /// Its number in the graph.
    pub node_index: Option<u32>,
    /// The system's number of the process.
    pub process: i64,
    /// The system's number of the thread.
    pub thread: i64,
    /// When it began.
    pub start: Nanoseconds,
    /// How long it took.
    pub duration: Nanoseconds,
    /// Types and shapes of the inputs as JSON: `[{"float":[1,3,224,224]},{"int64":[]}]`.
    pub inputs: Option<StringId>,
    /// Types and shapes of the outputs, in the same form.
    pub outputs: Option<StringId>,
    /// Bytes of the inputs that aren't parameters.
    pub activation_size: Option<u64>,
    /// Bytes of the inputs that are constants of the model.
    pub parameter_size: Option<u64>,
    /// Bytes of the outputs.
    pub output_size: Option<u64>,
    /// The state of the allocator when the node had finished.
    pub memory: Memory,
    /// The work of the pool's threads for it, where there is a pool.
    pub scheduling: Option<Scheduling>,
}

/// The state of a session's allocator, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// In use, as allocated.
    pub bytes_in_use: Option<i64>,
    /// In use, as requested: without what rounding adds.
    pub requested_in_use: Option<i64>,
    /// The most that was in use so far.
    pub in_use_peak: Option<i64>,
    /// Held by the arena, whether in use or not.
    pub arena_held: Option<i64>,
    /// By how much the node changed `bytes_in_use`.
    pub in_use_delta: Option<i64>,
    /// By how much the node changed `requested_in_use`.
    pub requested_in_use_delta: Option<i64>,
    /// By how much the node changed `arena_held`.
    pub arena_held_delta: Option<i64>,
}

/// The work of a pool's threads for a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduling {
    /// The pool, such as `session-1-intra-op`.
    pub pool: StringId,
    /// The processor that the executing thread was on last; -1 where the system doesn't tell.
    pub core: i64,
    /// Into blocks of how many iterations each parallel loop was cut, in [`Profile::block_sizes`].
    pub block_sizes: Span<i64>,
    /// How long the executing thread took to distribute the work.
    pub distribution: Nanoseconds,
    /// How long of that it took to queue it.
    pub enqueue: Nanoseconds,
    /// How long it worked itself.
    pub run: Nanoseconds,
    /// How long it waited for the other threads.
    pub wait: Nanoseconds,
    /// How long it took to take back work that no other thread had begun.
    pub revoke: Nanoseconds,
    /// The work of the other threads, in [`Profile::workers`].
    pub workers: Span<Worker>,
}

/// The work of another thread of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The thread's number in the runtime, which is not the system's.
    pub thread: u64,
    /// How many pieces of work it has done since the pool was made.
    pub runs: i64,
    /// The processor that it was on last; -1 where the system doesn't tell.
    pub core: i64,
}

/// An event that an execution provider recorded on its device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceEvent {
    /// The kind of event.
    pub kind: DeviceEventKind,
    /// The kernel or call.
    pub name: StringId,
    /// The node in [`Profile::nodes`] that launched it, where the file tells.
    pub node: Option<u32>,
    /// The device's stream.
    pub stream: Option<u64>,
    /// The system's number of the process, or -1.
    pub process: i64,
    /// The system's number of the thread, or -1.
    pub thread: i64,
    /// When it began.
    pub start: Nanoseconds,
    /// How long it took.
    pub duration: Nanoseconds,
    /// All arguments as JSON.
    pub arguments: StringId,
}

/// The kinds of events that execution providers record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceEventKind {
    /// A kernel or copy that the device executed: category `Kernel`.
    Kernel,
    /// A call of the device's runtime: category `Api`.
    Call,
}

/// A file's damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// How many events could not be read.
    pub events: u64,
    /// Where the first of them are, and why they could not be read.
    pub places: Vec<(Position, String)>,
    /// Where the file ends too early, if it does: the runtime was killed, or the disk full.
    pub cut_off: Option<Position>,
    /// Whether there were bytes that are no UTF-8; they were replaced.
    pub not_utf8: bool,
}

/// A place in a text file, both counted from 1; columns count bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The place of a byte, of which there are `offset` before it.
    pub(super) fn of(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        Self { line, column: before.len() - line_start + 1 }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
