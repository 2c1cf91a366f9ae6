//! A program to run, and the things to record of it.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::host_kind::HostKind;
use crate::output::OutputDirectory;
use crate::program::Program;

/// How the operators that AscendCL's devices execute are got. None of it was tried on hardware.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceData {
    /// AscendCL tells the operators of every model through a pipe.
    Subscription,
    /// AscendCL writes a profile of its own beside ours, with what the mask asks for.
    Files {
        /// The bits of `acl_prof.h`.
        mask: u64,
        /// The number of a group of counters there.
        metrics: u32,
    },
    /// Not at all.
    None,
}

/// A choice among the domains of mstx, by names between commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domains {
    /// Only these.
    Include(String),
    /// All but these.
    Exclude(String),
}

/// A program to run, and the things to record of it.
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
    /// Domains of mstx that alone are recorded, or that are not.
    pub domains: Option<Domains>,
    /// Whether ONNX Runtime is asked for its profiles.
    pub onnxruntime: bool,
    /// Whether the times of AscendCL's calls are recorded, in programs that use it.
    pub ascendcl: bool,
    /// The recording of AscendCL's devices.
    pub device_data: DeviceData,
    /// Whether a stand-in for `import acl` is offered to Python programs.
    pub acl_shim: bool,
    /// The parts of the host that are sampled.
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
    /// Whether profiles are started and stopped by commands, see [`collect_on_demand`].
    ///
    /// [`collect_on_demand`]: crate::collect_on_demand
    pub dynamic: bool,
    /// Further entries of `sample.json`: names and JSON values.
    pub settings: Vec<(String, String)>,
}

impl Plan {
    /// Whether calls of AscendCL, or what they execute, are recorded.
    pub(crate) fn records_calls(&self) -> bool {
        self.ascendcl || self.device_data != DeviceData::None
    }
}
