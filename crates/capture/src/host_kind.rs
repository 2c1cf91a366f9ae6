//! The parts of the host that can be sampled.

/// A part of the host that can be sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostKind {
    /// Processor time of every thread.
    Cpu,
    /// Resident memory.
    Memory,
    /// Bytes that are read and written.
    Disk,
    /// Bytes that the network interfaces carry.
    Network,
}
