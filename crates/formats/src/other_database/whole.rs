//! Whole databases of another program as traces: known by their tables, read as far as they can be.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use opscope_files::MappedFile;
use opscope_trace::{LossKind, Trace};
use rusqlite::Connection;

use super::{Database, from_bytes, has_journal, make_readable, open};
use crate::reading::Stop;
use crate::sqlite::{HEADER_BYTES, missing_bytes, stoppable};

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
    #[error("this SQLite database has none of the tables {0}")]
    NoTables(&'static str),
}

/// The tables of a program's databases.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    /// Their names, as the error tells them that finds none.
    pub names: &'static str,
    /// Whether those of which one at least must be there are in a database.
    pub are_in: fn(&Connection) -> bool,
    /// Their reader. Damage costs only the rows behind it.
    pub read: fn(&Database<'_>, &Stop) -> Trace,
    /// The loss that a database is which lacks some of its bytes.
    pub short: LossKind,
    /// The loss that a journal beside a database is, which isn't read.
    pub journal: LossKind,
}

impl Tables {
    /// Whether a file is such a database.
    pub fn are_in_file(&self, path: &Path) -> bool {
        open(path).is_ok_and(|database| self.are_readable(&database))
    }

    /// Whether bytes are such a database.
    pub fn are_in_bytes(&self, bytes: &[u8]) -> bool {
        from_bytes(bytes).is_ok_and(|database| self.are_readable(&database))
    }

    /// Reads a database, which nothing may write to meanwhile and which is not written to.
    ///
    /// Rows that were left out are counted in [`Trace::losses`].
    ///
    /// # Errors
    /// When it can't be opened, is no SQLite database, or has none of the tables; and where `stop` was wanted.
    pub fn read_file(&self, path: &Path, stop: &Stop) -> Result<Trace, ReadError> {
        let read = || {
            // SQLite's own message doesn't tell a missing file from one that can't be read.
            let file = std::fs::File::open(path)?;
            let length = file.metadata()?.len();
            // SQLite alone reads a file that can't be mapped.
            let mapped = MappedFile::new(&file, path).ok();
            let mut header = Vec::with_capacity(HEADER_BYTES);
            file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
            let missing = missing_bytes(&header, length);
            let mut trace = self.read_database(open(path)?, mapped.as_deref(), missing, stop)?;
            if has_journal(path) {
                trace.count_loss(self.journal, 1, "-wal");
            }
            Ok(trace)
        };
        read().map_err(|problem| ReadError { path: path.to_owned(), problem })
    }

    /// Reads a database from its bytes; `path` only names them in errors.
    ///
    /// # Errors
    /// The errors of [`read_file`](Self::read_file).
    pub fn read_bytes(&self, bytes: &[u8], path: &Path, stop: &Stop) -> Result<Trace, ReadError> {
        let missing = missing_bytes(bytes, bytes.len() as u64);
        let read = || self.read_database(from_bytes(bytes)?, Some(bytes), missing, stop);
        read().map_err(|problem| ReadError { path: path.to_owned(), problem })
    }

    fn are_readable(&self, database: &Connection) -> bool {
        make_readable(database).is_ok() && (self.are_in)(database)
    }

    /// Reads the tables of a database that lacks so many bytes of those that its header tells.
    fn read_database(
        &self,
        connection: Connection,
        bytes: Option<&[u8]>,
        missing: u64,
        stop: &Stop,
    ) -> Result<Trace, ReadProblem> {
        let connection = stoppable(connection, stop)?;
        let is_damaged = make_readable(&connection)?;
        if !(self.are_in)(&connection) {
            return Err(ReadProblem::NoTables(self.names));
        }
        let bytes = bytes.filter(|_| !is_damaged && missing == 0);
        let database = Database::new(connection, bytes, stop);
        let mut trace = (self.read)(&database, stop);
        if stop.is_wanted() {
            return Err(ReadProblem::Stopped);
        }
        if is_damaged || missing > 0 {
            let detail = if missing > 0 { format!("{missing} bytes are missing") } else { String::new() };
            trace.count_loss(self.short, 1, &detail);
        }
        Ok(trace)
    }
}
