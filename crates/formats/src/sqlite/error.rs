//! Why a database could not be written or read.

use std::io;
use std::path::PathBuf;

use super::SCHEMA_VERSION;

/// A trace that could not be written into a database.
#[derive(Debug, thiserror::Error)]
#[error("{}: the trace could not be written: {problem}", path.display())]
pub struct WriteError {
    /// The database that was to be written.
    pub path: PathBuf,
    /// The cause.
    pub problem: WriteProblem,
}

/// The cause of a failed writing.
#[derive(Debug, thiserror::Error)]
pub enum WriteProblem {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// SQLite refused; on a full disk it says so.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// A database that could not be read as a trace.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct ReadError {
    /// The database.
    pub path: PathBuf,
    /// Its fault.
    pub problem: ReadProblem,
}

/// The fault of a database.
#[derive(Debug, thiserror::Error)]
pub enum ReadProblem {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It doesn't begin as SQLite's files do.
    #[error("this is no SQLite database: it does not begin with 'SQLite format 3'")]
    NotSqlite,
    /// The file is shorter than it says.
    #[error("the database is cut off: it lacks {missing} bytes of what it says it has")]
    CutOff {
        /// How many bytes there should be more.
        missing: u64,
    },
    /// Another program's database.
    #[error(
        "this SQLite database was not written by opscope (its application id is {application_id:#010x}, \
         opscope's is {:#010x})",
        super::APPLICATION_ID
    )]
    Foreign {
        /// The number at byte 68 of the file.
        application_id: u32,
    },
    /// Written by a version of opscope with other tables.
    #[error(
        "its tables have version {found}, and this opscope reads version {SCHEMA_VERSION}: \
         convert the original profile again"
    )]
    OtherVersion {
        /// The version of its tables.
        found: i64,
    },
    /// A table isn't as opscope makes it.
    #[error("the table {table} is missing or was altered; convert the original profile again")]
    Altered {
        /// The table.
        table: &'static str,
    },
    /// A value can't be what its column is for.
    #[error("table {table}, row {row}, column {column}: expected {expected}, found {found}")]
    Value {
        /// The table.
        table: &'static str,
        /// The row's number from 0.
        row: usize,
        /// The column.
        column: &'static str,
        /// The value that belongs there, in words.
        expected: String,
        /// The value that is there, in words.
        found: String,
    },
    /// SQLite found damage.
    #[error("the database is damaged: {0}")]
    Sqlite(#[from] rusqlite::Error),
}
