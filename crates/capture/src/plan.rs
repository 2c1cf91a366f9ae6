//! What to run and what to record.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::output::OutputDirectory;
use crate::program::Program;

/// What is sampled of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostKind {
    /// Processor time of every thread.
    Cpu,
    /// Resident memory.
    Memory,
    /// What is read and written.
    Disk,
    /// What the network interfaces carry.
    Network,
}

/// What to run and what to record.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program; `None` samples a process that runs already.
    pub program: Option<Program>,
    /// Where the profile is made.
    pub output: OutputDirectory,
    /// Further variables for the program's environment.
    pub environment: Vec<(String, String)>,
    /// Whether the program's own marks are recorded.
    pub marks: bool,
    /// Whether ONNX Runtime is asked for its profiles.
    pub onnxruntime: bool,
    /// Whether a stand-in for `import acl` is offered to Python programs.
    pub acl_shim: bool,
    /// What is sampled of the host.
    pub host: BTreeSet<HostKind>,
    /// Samples per second of each kind.
    pub host_hertz: u32,
    /// The process that is sampled, when it isn't the program.
    pub host_pid: Option<u32>,
    /// How long to wait before recording begins.
    pub delay: Duration,
    /// How long to record; `None` for as long as the program runs.
    pub duration: Option<Duration>,
    /// How many bytes the slices may take before the oldest go.
    pub storage_limit: Option<u64>,
    /// Whether recording waits for a `start` on the control socket.
    pub dynamic: bool,
    /// What `sample.json` says besides: names and JSON values.
    pub settings: Vec<(String, String)>,
}
