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
//! | `CUPTI_ACTIVITY_KIND_MEMCPY`, `_MEMSET` | tasks that copy or fill memory |
//! | `CUPTI_ACTIVITY_KIND_SYNCHRONIZATION` | tasks that wait |
//! | `CUPTI_ACTIVITY_KIND_RUNTIME`, `_DRIVER`, `CUDNN_EVENTS`, `CUBLAS_EVENTS` | calls; `correlationId` ties tasks to them |
//! | `OSRT_API` | calls of the operating system |
//! | `NVTX_EVENTS` | ranges and marks; domains |
//! | `GPU_METRICS` | samples of the GPU's own counters |
//! | `TARGET_INFO_GPU`, `ThreadNames`, `PROCESSES`, `TARGET_INFO_SESSION_START_TIME`, … | names of devices and threads, the trace's zero, remarks |
//! | `DIAGNOSTIC_EVENT` | what the profiler itself noted |
//!
//! Tables that have no place in a trace are counted in its losses.

mod calls;
mod facts;
mod lines;
mod ranges;
mod reader;
mod recording;
mod tasks;

#[cfg(test)]
mod tests;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use opscope_trace::{LossKind, Trace};
use rusqlite::Connection;

use crate::other_database::{columns, from_bytes, has_journal, make_readable, open};
use crate::reading::Stop;
use crate::sqlite::{HEADER_BYTES, missing_bytes, stoppable};
pub use lines::{looks_like as lines_look_like, read as read_lines};
use reader::Reader;

/// A database that could not be read as a trace.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct ReadError {
    /// The database.
    pub path: PathBuf,
    /// The problem.
    pub problem: ReadProblem,
}

/// A problem of a database.
#[derive(Debug, thiserror::Error)]
pub enum ReadProblem {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// SQLite can't read it at all.
    #[error("this is no SQLite database, or a damaged one: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// Whoever asked for it wants it no more.
    #[error("the reading was stopped")]
    Stopped,
    /// None of the tables that make a trace is there.
    #[error(
        "this SQLite database has none of the tables of Nsight Systems (CUPTI_ACTIVITY_KIND_*, NVTX_EVENTS)"
    )]
    NoTables,
}

/// The tables of which one at least must be there, beside that of texts.
const PRINCIPAL_TABLES: [&str; 6] = [
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "NVTX_EVENTS",
    "OSRT_API",
];

/// Whether a file is such a database, by its tables.
pub fn looks_like(path: &Path) -> bool {
    open(path).is_ok_and(|database| has_tables(&database))
}

/// Whether bytes are such a database.
pub fn bytes_look_like(bytes: &[u8]) -> bool {
    from_bytes(bytes).is_ok_and(|database| has_tables(&database))
}

/// Reads a database, which nothing may write to meanwhile and which is not written to.
///
/// Damage costs only the rows behind it; what was left out is counted in [`Trace::losses`].
///
/// # Errors
/// When it can't be opened, is no SQLite database, or has none of the tables; and where `stop` was wanted.
pub fn read_file(path: &Path, stop: &Stop) -> Result<Trace, ReadError> {
    let read = || {
        let file = std::fs::File::open(path)?;
        let length = file.metadata()?.len();
        let mut header = Vec::with_capacity(HEADER_BYTES);
        file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        let mut trace = read_database(&stoppable(open(path)?, stop)?, missing_bytes(&header, length), stop)?;
        if has_journal(path) {
            trace.count_loss(LossKind::ProfileJournal, 1, "-wal");
        }
        Ok(trace)
    };
    read().map_err(|problem| ReadError { path: path.to_owned(), problem })
}

/// Reads a database from its bytes; `path` only names them in errors.
///
/// # Errors
/// The errors of [`read_file`].
pub fn read_bytes(bytes: &[u8], path: &Path, stop: &Stop) -> Result<Trace, ReadError> {
    let missing = missing_bytes(bytes, bytes.len() as u64);
    let read = || read_database(&stoppable(from_bytes(bytes)?, stop)?, missing, stop);
    read().map_err(|problem| ReadError { path: path.to_owned(), problem })
}

fn read_database(database: &Connection, missing: u64, stop: &Stop) -> Result<Trace, ReadProblem> {
    let is_damaged = make_readable(database)?;
    if !has_principal_table(database) {
        return Err(ReadProblem::NoTables);
    }
    let mut trace = Reader::new(database, stop).read();
    if stop.is_wanted() {
        return Err(ReadProblem::Stopped);
    }
    if is_damaged || missing > 0 {
        let detail = if missing > 0 { format!("{missing} bytes are missing") } else { String::new() };
        trace.count_loss(LossKind::CutProfile, 1, &detail);
    }
    Ok(trace)
}

fn has_tables(database: &Connection) -> bool {
    make_readable(database).is_ok() && has_principal_table(database)
}

/// Texts alone could be anybody's, and so could one of the tables.
fn has_principal_table(database: &Connection) -> bool {
    let has_time = |table: &str| columns(database, table).iter().any(|column| column == "start");
    !columns(database, "StringIds").is_empty() && PRINCIPAL_TABLES.iter().any(|table| has_time(table))
}
