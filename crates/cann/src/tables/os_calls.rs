//! Calls of the operating system and of threads.

use crate::columns::columns;

columns! {
    /// Calls of the operating system and of threads, in the order of the files.
    OsCallTable,
    /// A call of the operating system, or of threads.
    OsCall {
        /// The calling thread.
        thread: u32,
        /// The function, by its place in [`OsCalls::names`].
        name: u32,
        /// When; nanoseconds of the host's monotonic clock.
        start: i64,
        /// Nanoseconds.
        duration: u64,
    }
}

/// The calls that other tools traced.
#[derive(Clone, Debug, Default)]
pub struct OsCalls {
    /// The calls.
    pub table: OsCallTable,
    /// The names of functions.
    pub names: Vec<String>,
}

impl OsCalls {
    /// The name of a call's function.
    pub fn name(&self, call: &OsCall) -> &str {
        self.names.get(call.name as usize).map_or("", String::as_str)
    }
}
