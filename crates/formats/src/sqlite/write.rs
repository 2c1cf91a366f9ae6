//! Writing a trace into a new database.

use std::path::Path;

use opscope_trace::Trace;
use rusqlite::{Connection, OpenFlags};

use super::schema::{Binder, TABLES, Table};
use super::views::{INDEXES, VIEWS};
use super::{APPLICATION_ID, META_DDL, SCHEMA_VERSION, WriteError, WriteProblem};

/// How many rows one statement inserts: with more of them SQLite becomes slower again.
const ROWS_A_STATEMENT: usize = 16;

/// Writes a trace into a SQLite file, which appears only when it is whole and replaces what was
/// there.
///
/// # Errors
/// Any that the system or SQLite reports, with the path.
pub fn write_file(trace: &Trace, path: &Path) -> Result<(), WriteError> {
    write_file_with(trace, path, &[])
}

/// As [`write_file`], with keys and values of the writer's own in the table `meta`, for
/// [`read_meta`](super::read_meta).
///
/// # Errors
/// Any that the system or SQLite reports, with the path; SQLite refuses a key that is there already.
pub fn write_file_with(trace: &Trace, path: &Path, meta: &[(&str, &str)]) -> Result<(), WriteError> {
    opscope_files::replace_atomically(path, |temporary| write_database(trace, meta, temporary))
        .map_err(|problem| WriteError { path: path.to_owned(), problem })
}

fn write_database(trace: &Trace, meta: &[(&str, &str)], path: &Path) -> Result<(), WriteProblem> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Nobody else sees the file before it is whole, so neither journal nor locks protect anything. It
    // is locked as a draft, which SQLite's own locks would run into on some file systems.
    let database = match cfg!(unix) {
        true => Connection::open_with_flags_and_vfs(path, flags, "unix-none")?,
        false => Connection::open_with_flags(path, flags)?,
    };
    // Foreign keys hold by the trace's own types; checking each row would cost more than writing it.
    database.execute_batch(&format!(
        "PRAGMA page_size = 16384;
         PRAGMA journal_mode = OFF;
         PRAGMA synchronous = OFF;
         PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA foreign_keys = OFF;
         PRAGMA application_id = {};
         PRAGMA user_version = {SCHEMA_VERSION};",
        APPLICATION_ID.cast_signed(),
    ))?;
    fill(trace, meta, &database)?;
    database.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Creates all tables, indexes and views in an empty database and fills them.
pub(super) fn fill(trace: &Trace, meta: &[(&str, &str)], database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch("BEGIN")?;
    write_meta(trace, meta, database)?;
    for table in TABLES {
        write_table(trace, table, database)?;
    }
    for index in INDEXES {
        database.execute_batch(index)?;
    }
    for view in VIEWS {
        database.execute_batch(&view.ddl())?;
    }
    database.execute_batch("COMMIT")
}

fn write_meta(trace: &Trace, further: &[(&str, &str)], database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(META_DDL)?;
    let mut insert = database.prepare("INSERT INTO meta VALUES (?, ?)")?;
    insert.execute(["schema_version", &SCHEMA_VERSION.to_string()])?;
    insert.execute(["program_version", env!("CARGO_PKG_VERSION")])?;
    if let Some(zero) = trace.clock.unix_zero {
        insert.execute(["clock_unix_zero_ns", &zero.to_string()])?;
    }
    if let Some(domain) = trace.clock.domain {
        insert.execute(["clock_domain", trace.strings.get(domain)])?;
    }
    for (key, value) in further {
        insert.execute([key, value])?;
    }
    Ok(())
}

fn write_table(trace: &Trace, table: &Table, database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(&table.ddl())?;
    let len = (table.len)(trace);
    let whole = len - len % ROWS_A_STATEMENT;
    insert_rows(trace, table, database, 0..whole, ROWS_A_STATEMENT)?;
    insert_rows(trace, table, database, whole..len, 1)
}

fn insert_rows(
    trace: &Trace,
    table: &Table,
    database: &Connection,
    rows: std::ops::Range<usize>,
    rows_a_statement: usize,
) -> rusqlite::Result<()> {
    let mut insert = database.prepare(&table.insert(rows_a_statement))?;
    for first in rows.step_by(rows_a_statement) {
        let mut binder = Binder::new(&mut insert);
        for row in first..first + rows_a_statement {
            binder.put(row as i64)?;
            (table.put)(trace, row, &mut binder)?;
        }
        insert.raw_execute()?;
    }
    Ok(())
}
