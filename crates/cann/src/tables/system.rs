//! The use of processors and memory by systems and their processes, as the collector copied it from `/proc`
//! of the host and of devices.

use std::collections::BTreeMap;

use crate::columns::columns;

columns! {
    /// Memory of a system, in the order of the files.
    SystemMemoryTable,
    /// Memory of a system at one time.
    SystemMemorySample {
        /// In the unit of [`SystemTables::memory_unit`]: total, free, buffers, cached, shared, limit of what
        /// may be committed, committed; then huge pages in total and free ones. `None` where it wasn't told.
        values: [Option<u64>; 9],
    }
}

columns! {
    /// Time of a system's processors since their start, in the order of the files.
    ProcessorTable,
    /// Time of one processor since its start.
    ProcessorSample {
        /// The processor; `None` for all together.
        processor: Option<u32>,
        /// Jiffies: user, nice, system, idle, waiting for input and output, interrupts, soft interrupts,
        /// stolen, guest, nice guest.
        jiffies: [u64; 10],
    }
}

columns! {
    /// Memory of processes, in the order of the files.
    ProcessMemoryTable,
    /// Memory of a process at one time.
    ProcessMemorySample {
        /// The process.
        process: u64,
        /// Pages: virtual, resident, shared.
        pages: [u64; 3],
    }
}

columns! {
    /// Time that processes used since their start, in the order of the files.
    ProcessTimeTable,
    /// Time that a process used since its start.
    ProcessTimeSample {
        /// The process.
        process: u64,
        /// Jiffies: its own in user and system mode, those of its children in both.
        jiffies: [u64; 4],
        /// Jiffies of all processors together since their start, whatever they did.
        all: u64,
    }
}

/// The samples of one system, the host or a device.
#[derive(Clone, Debug, Default)]
pub struct SystemTables {
    /// Memory of the system.
    pub memory: SystemMemoryTable,
    /// The unit of memory, such as `kB`.
    pub memory_unit: String,
    /// Time of its processors.
    pub processors: ProcessorTable,
    /// Memory of its processes.
    pub process_memory: ProcessMemoryTable,
    /// Time of its processes.
    pub process_time: ProcessTimeTable,
    /// The names of the processes.
    pub names: BTreeMap<u64, String>,
}
