//! A run as device and host record it.

use std::io;

use crate::synthetic::host::STREAM;
use crate::synthetic::network::Network;

/// A stream of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub(super) device: u16,
    pub(super) stream: u16,
}

impl Lane {
    /// The one that executes what is launched operator by operator, on the first device.
    pub(super) const FIRST: Self = Self { device: 0, stream: STREAM };
}

/// One operator being executed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Execution {
    /// Where it is executed.
    pub(super) lane: Lane,
    /// Its place in the network.
    pub(super) op: usize,
    /// The task's number on its stream; of 16 bits on most chips, where it starts again.
    pub(super) task: u32,
    /// When the device starts it, in nanoseconds since the begin of the collection.
    pub(super) start: u64,
    /// How long it takes, in nanoseconds.
    pub(super) duration: u64,
}

impl Execution {
    /// The task's number where records have 16 bits for it.
    pub(super) fn low(self) -> u16 {
        self.task as u16
    }

    /// The bits of the number beyond these.
    pub(super) fn high(self) -> u16 {
        (self.task >> 16) as u16
    }
}

/// The host's side of a run.
pub(super) trait HostSide {
    /// Writes what launching an operator leaves behind: calls, and notes on what it is.
    fn launch(&mut self, network: &Network, execution: Execution, dynamic: bool) -> io::Result<()>;

    /// Notes that the task numbers start again with this execution.
    fn flip(&mut self, execution: Execution, number: u16) -> io::Result<()>;

    /// Loads the model from `time` on; returns when it is loaded.
    fn load(&mut self, network: &Network, time: u64) -> io::Result<u64>;

    /// Writes the calls of one inference, which the device executes from `begin` to `end`.
    fn execute(&mut self, begin: u64, end: u64, request: u32) -> io::Result<()>;

    /// Completes the files and writes the dictionaries.
    fn finish(self: Box<Self>, network: &Network) -> io::Result<()>;
}
