//! Databases of results, `cluster_analysis.db` and those of ranks: tables that a mode adds or writes anew, whole or
//! not at all.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Statement};

use crate::error::PeerError;

/// The type that a column is declared with.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    Integer,
    Real,
}

impl Kind {
    /// SQL's word.
    fn word(self) -> &'static str {
        match self {
            Self::Text => "TEXT",
            Self::Integer => "INTEGER",
            Self::Real => "REAL",
        }
    }
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, in order.
    pub columns: &'static [(&'static str, Kind)],
    /// The columns of its index; none where it has no index.
    pub index: &'static [&'static str],
}

/// Columns before and after those of a [`Description`](crate::numbers::Description), in its order.
macro_rules! described {
    ([$($before:tt),*], [$($after:tt),*]) => {
        &[
            $($before,)*
            ("Count", Kind::Integer),
            ("MeanNs", Kind::Real),
            ("StdNs", Kind::Real),
            ("MinNs", Kind::Real),
            ("Q1Ns", Kind::Real),
            ("MedianNs", Kind::Real),
            ("Q3Ns", Kind::Real),
            ("MaxNs", Kind::Real),
            ("SumNs", Kind::Real),
            $($after,)*
        ]
    };
}
pub(crate) use described;

/// A database of results that is being written.
pub struct Output {
    database: Connection,
}

/// Keeps the folder of a database to oneself as long as the value lives: two modes that read and replace the same one at
/// a time would lose one's tables. Where the system locks no folders, nobody is kept out.
fn hold(path: &Path) -> Option<File> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = File::open(folder).ok()?;
    folder.lock().is_ok().then_some(folder)
}

impl Output {
    /// Writes tables into a database. Tables of other names that it has already stay.
    ///
    /// # Errors
    /// When the file can't be written; it is as it was before, then.
    pub fn write(path: &Path, fill: impl FnOnce(&Self) -> rusqlite::Result<()>) -> Result<(), PeerError> {
        Self::rewrite(path, path, fill)
    }

    /// Writes another database as it becomes by changes; that one, if it is there, is read only. Both may be one.
    ///
    /// # Errors
    /// When the file can't be written; it is as it was before, then.
    pub fn rewrite(
        source: &Path,
        path: &Path,
        fill: impl FnOnce(&Self) -> rusqlite::Result<()>,
    ) -> Result<(), PeerError> {
        let failed = |source| PeerError::Database { path: path.to_owned(), source };
        let _held = hold(path);
        opscope_files::replace_atomically(path, |draft| {
            if source.is_file() {
                // Its content alone: the mode is that of every result.
                let mut draft = OpenOptions::new().write(true).open(draft)?;
                io::copy(&mut opscope_files::open_plain(source)?, &mut draft)?;
            }
            fill_draft(draft, fill).map_err(Failure::Sqlite)
        })
        .map_err(|failure| match failure {
            Failure::System(source) => PeerError::Write { path: path.to_owned(), source },
            Failure::Sqlite(source) => failed(source),
        })
    }

    /// The database, for changes of tables that were there before.
    pub fn database(&self) -> &Connection {
        &self.database
    }

    /// Begins a table, in place of one of the same name.
    ///
    /// # Errors
    /// SQLite's.
    pub fn table(&self, table: &Table) -> rusqlite::Result<Insert<'_>> {
        let columns: Vec<(String, Kind)> =
            table.columns.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect();
        let (name, insert) = (table.name, self.wide_table(table.name, &columns)?);
        if !table.index.is_empty() {
            let quoted: Vec<String> = table.index.iter().map(|column| format!("\"{column}\"")).collect();
            let (joined, quoted) = (table.index.join("_"), quoted.join(", "));
            self.database
                .execute_batch(&format!("CREATE INDEX \"ix_{name}_{joined}\" ON \"{name}\" ({quoted})"))?;
        }
        Ok(insert)
    }

    /// As [`Self::table`], with columns that are put together.
    ///
    /// # Errors
    /// SQLite's.
    pub fn wide_table(&self, name: &str, columns: &[(String, Kind)]) -> rusqlite::Result<Insert<'_>> {
        let declared: Vec<String> =
            columns.iter().map(|(name, kind)| format!("\"{name}\" {}", kind.word())).collect();
        let declared = declared.join(", ");
        let sql = format!("DROP TABLE IF EXISTS \"{name}\"; CREATE TABLE \"{name}\" ({declared})");
        self.database.execute_batch(&sql)?;
        let places = vec!["?"; columns.len()].join(", ");
        Ok(Insert(self.database.prepare(&format!("INSERT INTO \"{name}\" VALUES ({places})"))?))
    }
}

/// A table whose rows are being written.
pub struct Insert<'d>(Statement<'d>);

impl Insert<'_> {
    /// Adds a row.
    ///
    /// # Errors
    /// SQLite's.
    pub fn row(&mut self, values: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.0.execute(values).map(drop)
    }
}

enum Failure {
    System(std::io::Error),
    Sqlite(rusqlite::Error),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::System(error)
    }
}

fn fill_draft(draft: &Path, fill: impl FnOnce(&Output) -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Nobody else sees the draft, which is locked already: SQLite's locks and journal protect nothing here.
    let database = match cfg!(unix) {
        true => Connection::open_with_flags_and_vfs(draft, flags, "unix-none")?,
        false => Connection::open_with_flags(draft, flags)?,
    };
    // A stranger's triggers and views would have a say in what is written.
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    // Exclusive, because one that keeps a write-ahead log can't be opened without locks otherwise.
    database.execute_batch(
        "PRAGMA locking_mode = EXCLUSIVE; PRAGMA trusted_schema = OFF; PRAGMA journal_mode = OFF; \
         PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY; BEGIN;",
    )?;
    let output = Output { database };
    fill(&output)?;
    output.database.execute_batch("COMMIT")?;
    output.database.close().map_err(|(_, error)| error)
}
