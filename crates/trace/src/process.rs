//! Processes and their threads.

use crate::StringId;
use crate::table::table;

table! {
    /// Operating system processes that were recorded.
    ProcessTable,
    /// Names a row of the [`ProcessTable`].
    ProcessId,
    /// An operating system process.
    Process {
        /// The system's number of the process.
        pid: u32,
        /// The program's name.
        name: StringId,
    }
}

table! {
    /// Threads of the recorded processes.
    ThreadTable,
    /// Names a row of the [`ThreadTable`].
    ThreadId,
    /// A thread of a process.
    Thread {
        /// The process that it belongs to.
        process: ProcessId,
        /// The system's number of the thread, or the one that the format gives it.
        tid: u64,
        /// The thread's name.
        name: StringId,
    }
}
