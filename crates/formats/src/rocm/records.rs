//! The records of a run, as tables and JSON tell them.

use opscope_trace::RangeKind;

use super::agents::Agent;

/// A call, as its record tells it.
pub struct Called<'r> {
    pub domain: &'r str,
    pub name: &'r str,
    /// The system's number of the process.
    pub process: u64,
    pub thread: u64,
    pub correlation: Option<u64>,
    /// How a range of the marker interface was opened and closed.
    pub kind: RangeKind,
}

/// A kernel, as its record tells it.
pub struct Dispatched<'r> {
    pub name: &'r str,
    pub agent: Agent,
    /// The queue of the hardware, which older versions tell alone. One number of a stream may stand for several.
    pub queue: Option<u64>,
    /// The program's stream.
    pub stream: Option<u64>,
    pub correlation: Option<u64>,
    pub dispatch: Option<u64>,
}

/// The number under which a kernel was launched.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Launch {
    /// Its own.
    Dispatch(u64),
    /// That of the call, where the kernel's own isn't told.
    Correlation(u64),
}

/// A copy, as its record tells it.
pub struct Copied<'r> {
    pub direction: &'r str,
    pub source: Option<Agent>,
    pub destination: Option<Agent>,
    pub stream: u64,
    pub correlation: Option<u64>,
}
