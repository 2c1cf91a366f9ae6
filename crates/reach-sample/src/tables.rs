//! The native tables of a rank's profile: times are those of its host's clock, in nanoseconds since 1970,
//! durations are nanoseconds.

use std::ops::AddAssign;

use crate::kernels::Kernel;
use crate::layout::Group;
use crate::operations::Transfer;

/// A rank's recording.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) tasks: Vec<Task>,
    pub(crate) kernels: Vec<KernelRow>,
    pub(crate) collectives: Vec<Collective>,
    pub(crate) launches: Vec<Launch>,
    pub(crate) copies: Vec<Copy>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) steps: Vec<Step>,
    /// Begin and MHz of each stretch of time.
    pub(crate) frequencies: Vec<(i64, i64)>,
    pub(crate) tokens: f64,
}

/// A task of the device.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) connection: i64,
    pub(crate) kind: &'static str,
    pub(crate) stream: i64,
    /// The number on its stream.
    pub(crate) number: i64,
}

/// An operator that was computed.
#[derive(Debug)]
pub(crate) struct KernelRow {
    pub(crate) step: u32,
    /// The place among the tasks.
    pub(crate) task: usize,
    pub(crate) kernel: &'static Kernel,
    pub(crate) backward: bool,
}

/// A communication operator.
#[derive(Debug)]
pub(crate) struct Collective {
    pub(crate) step: u32,
    pub(crate) name: String,
    pub(crate) group: Group,
    pub(crate) transfer: Transfer,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) connection: i64,
    /// Bytes that the rank contributes.
    pub(crate) size: i64,
    /// True durations: until data moved, and from then on.
    pub(crate) wait: f64,
    pub(crate) transit: f64,
    pub(crate) links: Vec<LinkUse>,
    pub(crate) link_tasks: Vec<LinkTask>,
}

impl Collective {
    /// The milliseconds that are neither waiting nor moving data: as in real profiles, what rounding leaves.
    pub(crate) fn idle_ms(&self) -> f64 {
        ((self.wait + self.transit) / 1e6 - self.transit / 1e6 - self.wait / 1e6).max(0.0)
    }
}

/// The bytes of a collective between the rank and one other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkUse {
    /// Places in the group.
    pub(crate) source: usize,
    pub(crate) target: usize,
    pub(crate) transport: Transport,
    pub(crate) bytes: f64,
    pub(crate) duration: f64,
}

/// A task on the way between the rank and one other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkTask {
    pub(crate) task: usize,
    pub(crate) plane: usize,
    /// The other's place in the group.
    pub(crate) peer: usize,
    pub(crate) transport: Transport,
    /// Bytes, or 0 for waiting until the other is ready.
    pub(crate) bytes: i64,
}

/// How data go from rank to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Within a host.
    Hccs,
    /// Between hosts.
    Rdma,
    /// Within a device.
    Local,
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hccs => "HCCS",
            Self::Rdma => "RDMA",
            Self::Local => "LOCAL",
        }
    }
}

/// A call of the framework and, within it, of the launch of a task.
#[derive(Debug)]
pub(crate) struct Launch {
    /// How long the host was held up before it, in a call of its own.
    pub(crate) held_up_ns: i64,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) connection: i64,
    /// The framework's name of what is launched.
    pub(crate) name: String,
}

impl Launch {
    /// The framework's call within which the launch is.
    pub(crate) fn call(&self) -> (i64, i64) {
        (self.start_ns - 14_000, self.start_ns - 4_000)
    }

    /// The call that holds the host up before it, if any does.
    pub(crate) fn holds_up(&self) -> Option<(i64, i64)> {
        let end = self.call().0;
        (self.held_up_ns > 0).then_some((end - self.held_up_ns, end))
    }
}

/// The copy of a step's input to the device.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) task: usize,
    pub(crate) call_start_ns: i64,
    pub(crate) call_end_ns: i64,
    pub(crate) connection: i64,
}

/// The call that waits for a step's input.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
}

/// A step, and where its time went.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) number: u32,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Durations in nanoseconds, in the order of the vendor's columns: computing, communication that isn't
    /// overlapped, overlapped, communication, free, stage, bubble, exposed communication without receives,
    /// preparing.
    pub(crate) parts: [f64; 9],
}

/// How many rows a collection has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Tasks of devices.
    pub tasks: u64,
    /// The ones that move data between two ranks, or wait for it.
    pub communication_tasks: u64,
    /// Operators that compute.
    pub operators: u64,
    /// Communication operators.
    pub collectives: u64,
}

impl AddAssign for RowCounts {
    fn add_assign(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.communication_tasks += other.communication_tasks;
        self.operators += other.operators;
        self.collectives += other.collectives;
    }
}
