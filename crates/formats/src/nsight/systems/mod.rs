//! Exports of Nsight Systems: its SQLite databases (`nsys export --type sqlite`), and its lines of JSON
//! (`--type jsonlines`, see `lines`).
//!
//! Of a database every kind of record has a table (NVIDIA's "SQLite Export Schema Reference"), of which any may be missing, as
//! may columns. Text stands in `StringIds` and is named by id elsewhere; times are nanoseconds since the recording
//! began. A thread is a number of 64 bits: its lowest 24 bits are the system's number of the thread, the 24 above
//! them that of the process.
//!
//! | table | what it makes |
//! |---|---|
//! | `CUPTI_ACTIVITY_KIND_KERNEL` | tasks of a stream of a GPU, an operator for each name |
//! | `CUPTI_ACTIVITY_KIND_GRAPH_TRACE` | tasks that are whole graphs, whose kernels it doesn't tell |
//! | `CUPTI_ACTIVITY_KIND_MEMCPY`, `_MEMSET` | tasks that copy or fill memory |
//! | `CUPTI_ACTIVITY_KIND_SYNCHRONIZATION` | tasks that wait |
//! | `CUPTI_ACTIVITY_KIND_RUNTIME`, `_DRIVER`, `CUDNN_EVENTS`, `CUBLAS_EVENTS` | calls; `correlationId` ties tasks to them |
//! | `OSRT_API` | calls of the operating system |
//! | `MPI_COLLECTIVES_EVENTS`, `MPI_P2P_EVENTS`, `MPI_START_WAIT_EVENTS`, `MPI_OTHER_EVENTS` | calls of MPI |
//! | `NVTX_EVENTS` | ranges and marks; domains |
//! | `GPU_METRICS` | samples of the GPU's own counters |
//! | `TARGET_INFO_GPU`, `ThreadNames`, `PROCESSES`, `TARGET_INFO_SESSION_START_TIME`, … | names of devices and threads, the trace's zero, remarks |
//! | `DIAGNOSTIC_EVENT` | what the profiler itself noted |
//!
//! Tables that have no place in a trace are counted in its losses.

mod calls;
mod facts;
mod graphs;
mod lines;
mod ranges;
mod reader;
mod recording;
mod tasks;

#[cfg(test)]
mod tests;

use std::path::Path;

use opscope_trace::{LossKind, Trace};
use rusqlite::Connection;

use crate::other_database::{ReadError, Tables, columns};
use crate::reading::Stop;
pub use lines::{looks_like as lines_look_like, read as read_lines};
use reader::Reader;

/// The tables of which one at least must be there, beside that of texts.
const PRINCIPAL_TABLES: [&str; 9] = [
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "NVTX_EVENTS",
    "OSRT_API",
    "MPI_COLLECTIVES_EVENTS",
    "MPI_P2P_EVENTS",
];

/// Tables that every export has, also that of a recording without events.
const OWN_TABLES: [&str; 2] = ["TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_SYSTEM_ENV"];

const TABLES: Tables = Tables {
    names: "of Nsight Systems (CUPTI_ACTIVITY_KIND_*, NVTX_EVENTS)",
    are_in: has_principal_table,
    read: |database, stop| Reader::new(database, stop).read(),
    short: LossKind::CutProfile,
    journal: LossKind::ProfileJournal,
};

/// Whether a file is such a database, by its tables.
pub fn looks_like(path: &Path) -> bool {
    TABLES.are_in_file(path)
}

/// Whether bytes are such a database.
pub fn bytes_look_like(bytes: &[u8]) -> bool {
    TABLES.are_in_bytes(bytes)
}

/// Reads a database, which nothing may write to meanwhile and which is not written to.
///
/// Damage costs only the rows behind it; what was left out is counted in [`Trace::losses`].
///
/// # Errors
/// When it can't be opened, is no SQLite database, or has none of the tables; and where `stop` was wanted.
pub fn read_file(path: &Path, stop: &Stop) -> Result<Trace, ReadError> {
    TABLES.read_file(path, stop)
}

/// Reads a database from its bytes; `path` only names them in errors.
///
/// # Errors
/// The errors of [`read_file`].
pub fn read_bytes(bytes: &[u8], path: &Path, stop: &Stop) -> Result<Trace, ReadError> {
    TABLES.read_bytes(bytes, path, stop)
}

/// Texts alone could be anybody's, and so could one of the tables.
fn has_principal_table(database: &Connection) -> bool {
    let has_time = |table: &str| columns(database, table).iter().any(|column| column == "start");
    let has = |table: &str| !columns(database, table).is_empty();
    has("StringIds")
        && (PRINCIPAL_TABLES.iter().any(|table| has_time(table)) || OWN_TABLES.iter().all(|table| has(table)))
}
