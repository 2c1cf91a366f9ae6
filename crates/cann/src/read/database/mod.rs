//! The databases of the Ascend tools: msprof's `msprof_*.db` and torch_npu's
//! `ascend_pytorch_profiler_*.db`.
//!
//! Both have the same tables, of which any may be missing, as may columns; torch_npu adds those of
//! PyTorch. Text stands in `STRING_IDS` and is named by id elsewhere; times are nanoseconds since
//! 1970.
//!
//! | table | what it makes |
//! |---|---|
//! | `TASK`, `COMPUTE_TASK_INFO`, `COMMUNICATION_SCHEDULE_TASK_INFO` | tasks, operators |
//! | `COMMUNICATION_OP` | collective operations, as tasks of a stream for each group |
//! | `DPU_TASK` | tasks of data processing units, as devices of their own |
//! | `CANN_API`, `PYTORCH_API` | calls; `connectionId` ties tasks to them |
//! | `CONNECTION_IDS`, `PYTORCH_CALLCHAINS` | the calls of PyTorch that asked for tasks, with the program's lines |
//! | `COMMUNICATION_TASK_INFO` | bytes and times by link, as figures; the devices of operations |
//! | `OP_MEMORY` | allocations by operator, as figures |
//! | `StepTraceTime`, `CommAnalyzerTime`, … of `analysis.db` | figures |
//! | `STEP_TIME` | inferences; without it, the runs of a model that was replayed as a whole |
//! | `MSTX_EVENTS` | ranges and marks |
//! | `TASK_PMU_INFO` | what hardware counted while the tasks ran |
//! | `HBM`, `NPU_MEM`, `AICORE_FREQ`, … | counters: every table with a time and values |
//! | `META_DATA`, `HOST_INFO`, `NPU_INFO`, … | facts and remarks about the run, names of devices, the trace's zero |
//!
//! Tables that have no place in a trace are counted in its losses.

mod calls;
mod counters;
mod dpu;
mod iterations;
mod launch_sites;
mod links;
mod metrics;
mod operation_devices;
mod reader;
mod run;
mod stated;
mod tasks;
mod texts;

#[cfg(test)]
mod tests;

use std::path::Path;

use opscope_trace::{LossKind, Nanoseconds, Trace};
use rusqlite::Connection;

use crate::database::schema;
use opscope_formats::other_database::{self as query, Tables, open};
pub use opscope_formats::other_database::{ReadError, ReadProblem};
use opscope_formats::reading::Stop;
use reader::Reader;

/// The table whose steps are summed up by link.
pub(super) const LINKS: &str = schema::COMMUNICATION_TASK_INFO.name;

/// The tables of which one at least must be there.
const PRINCIPAL_TABLES: [&str; 4] =
    [schema::TASK.name, schema::CANN_API.name, "PYTORCH_API", schema::MSTX_EVENTS.name];

const TABLES: Tables = Tables {
    names: "TASK, CANN_API, PYTORCH_API, MSTX_EVENTS, StepTraceTime and CommAnalyzer*",
    are_in: has_principal_table,
    read: |database, stop| Reader::new(database, stop).read(),
    short: LossKind::ShortDatabase,
    journal: LossKind::JournalBeside,
};

/// Whether a file is a database of the Ascend tools, by its tables.
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
/// When it can't be opened, is no SQLite database, or has none of the tables that make a trace; and where
/// `stop` was wanted.
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

/// The first time of a database's tasks or calls, since 1970, if it can be read.
pub(super) fn first_time(path: &Path) -> Option<Nanoseconds> {
    let database = open(path).ok()?;
    let first_of = |table: &&str| {
        query::columns(&database, table).iter().any(|column| column == "startNs").then_some(())?;
        let sql = format!("SELECT min(startNs) FROM (SELECT startNs FROM {table} LIMIT 1000000)");
        database.query_row(&sql, [], |row| row.get::<_, i64>(0)).ok()
    };
    [schema::TASK.name, "CANN_API", "PYTORCH_API"].iter().find_map(first_of).map(Nanoseconds)
}

fn has_principal_table(database: &Connection) -> bool {
    PRINCIPAL_TABLES
        .iter()
        .chain(&stated::STATED_TABLES)
        .any(|table| !query::columns(database, table).is_empty())
}
