//! Writing a trace into a new database.

use std::fs::File;
use std::io::{self, BufWriter, Cursor, Seek, Write};
use std::path::Path;

use opscope_trace::Trace;
use rusqlite::{Connection, OpenFlags};

use super::schema::{TABLES, Values};
use super::views::{INDEXES, VIEWS};
use super::{APPLICATION_ID, META_DDL, SCHEMA_VERSION, WriteError, WriteProblem};
use crate::sqlite_file::SqliteWriter;

/// How many bytes are written at once.
const BUFFER: usize = 1 << 20;

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
    let file = File::options().write(true).open(path)?;
    write_pages(trace, BufWriter::with_capacity(BUFFER, file))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // Nobody else sees the file before it is whole, so neither journal nor locks protect anything. It
    // is locked as a draft, which SQLite's own locks would run into on some file systems.
    let database = match cfg!(unix) {
        true => Connection::open_with_flags_and_vfs(path, flags, "unix-none")?,
        false => Connection::open_with_flags(path, flags)?,
    };
    complete(trace, meta, &database)?;
    database.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Puts a trace into a database in memory.
pub(super) fn in_memory(trace: &Trace) -> Result<Connection, WriteProblem> {
    let mut pages = Cursor::new(Vec::new());
    write_pages(trace, &mut pages)?;
    let pages = pages.into_inner();
    let mut database = Connection::open_in_memory()?;
    database.deserialize_read_exact("main", &*pages, pages.len(), false)?;
    drop(pages);
    complete(trace, &[], &database)?;
    Ok(database)
}

/// Writes all tables and indexes of a trace. SQLite's own inserts of their rows take ten times as long.
fn write_pages(trace: &Trace, out: impl Write + Seek + Send) -> io::Result<()> {
    let mut writer = SqliteWriter::new(out)?;
    for table in TABLES {
        writer.table(table.name, table.ddl(), (table.len)(trace), |index, row| {
            // The column `id` counts from 0.
            row.key(index as i64);
            (table.put)(trace, index, &mut Values(row));
        })?;
    }
    for index in INDEXES {
        let values = (index.values)(trace).into_iter().zip(0i64..);
        let mut entries: Vec<[Option<i64>; 2]> =
            values.map(|(value, row)| [value.map(|value| value as i64), Some(row)]).collect();
        entries.sort_unstable();
        writer.index(index.name, index.table, index.ddl(), &entries)?;
    }
    writer.finish()
}

/// Adds to the tables of a trace whatever else belongs to a database: its marks, keys and values, views.
fn complete(trace: &Trace, meta: &[(&str, &str)], database: &Connection) -> rusqlite::Result<()> {
    database.execute_batch(&format!(
        "PRAGMA journal_mode = OFF;
         PRAGMA synchronous = OFF;
         PRAGMA locking_mode = EXCLUSIVE;
         PRAGMA foreign_keys = OFF;
         PRAGMA application_id = {};
         PRAGMA user_version = {SCHEMA_VERSION};
         BEGIN",
        APPLICATION_ID.cast_signed(),
    ))?;
    write_meta(trace, meta, database)?;
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
