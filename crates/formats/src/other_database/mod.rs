//! Databases of other programs, which nobody writes to meanwhile: opened without a trace, and read by tables
//! that may have more or fewer columns than this program knows.
//!
//! A file from anywhere may be damaged, or made to be read for ever; nothing of it is computed but what is asked.

mod cells;
mod pages;
mod rows;
#[cfg(test)]
mod tests;
mod whole;

use std::path::Path;

use rusqlite::{Connection, MAIN_DB, OpenFlags};

pub use cells::{Cells, NoSpan};
pub use rows::{Broken, Database, each_row};
pub use whole::{ReadError, ReadProblem, Tables};

/// Opens a database as a file that nobody changes: no lock is taken and nothing written beside it,
/// so that it may lie in a folder that can only be read.
///
/// # Errors
/// SQLite's own.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    restrict(Connection::open_with_flags(immutable_uri(path), flags)?)
}

/// Opens a database that is in memory.
///
/// # Errors
/// SQLite's own.
pub fn from_bytes(bytes: &[u8]) -> rusqlite::Result<Connection> {
    let mut database = Connection::open_in_memory()?;
    database.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
    restrict(database)
}

/// Views and triggers of a file from anywhere get no say.
fn restrict(database: Connection) -> rusqlite::Result<Connection> {
    let settings = "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;";
    database.execute_batch(settings)?;
    Ok(database)
}

/// The path as a URI with the word that nothing changes the file (SQLite's documentation, "URI
/// Filenames").
fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let bytes = path.as_os_str().as_encoded_bytes();
    if !bytes.starts_with(b"/") {
        uri.push('/');
    }
    for &byte in bytes {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'/' | b'.' | b'-' | b'_' | b':' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

/// Whether a journal with contents lies beside a database: a program was killed while writing it.
pub fn has_journal(path: &Path) -> bool {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    std::fs::metadata(journal).is_ok_and(|found| found.len() > 0)
}

/// Makes the tables of a damaged database readable as far as that goes; says whether it is one.
///
/// # Errors
/// When nothing of it can be read.
pub fn make_readable(database: &Connection) -> rusqlite::Result<bool> {
    let is_damaged = list_tables(database).is_err();
    if is_damaged {
        // SQLite refuses a file that is shorter than it says; with leave to repair its schema (which
        // nothing here does) it reads what is there.
        database.execute_batch("PRAGMA writable_schema = ON")?;
        list_tables(database)?;
    }
    Ok(is_damaged)
}

fn list_tables(database: &Connection) -> rusqlite::Result<()> {
    database.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
}

/// The names of all tables. Views and virtual tables are none: what they hold is computed, and may
/// have no end.
pub fn tables(database: &Connection) -> Vec<String> {
    let sql =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY rowid LIMIT 10000";
    names(database, sql, [])
}

/// The columns of a table; none if there is no such table.
pub fn columns(database: &Connection, table: &str) -> Vec<String> {
    let sql = "SELECT info.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS info \
               WHERE tables.name = ?1 AND tables.type = 'table' AND tables.rootpage > 0";
    names(database, sql, [table])
}

/// How many rows a table has.
pub fn count(database: &Connection, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM (SELECT 1 FROM {} LIMIT {})", quoted(table), most_rows(database));
    let count = database.query_row(&sql, [], |row| row.get::<_, i64>(0));
    count.map_or(0, |count| count.unsigned_abs())
}

/// No table can have more rows than the file has bytes. One that seems to is damaged, or was made to
/// be read for ever: its pages name one another over and over.
fn most_rows(database: &Connection) -> i64 {
    let pragma = |name: &str| database.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let bytes = || Some(pragma("page_count").ok()?.saturating_mul(pragma("page_size").ok()?));
    bytes().unwrap_or(0)
}

fn names<P: rusqlite::Params>(database: &Connection, sql: &str, parameters: P) -> Vec<String> {
    let read = || {
        let mut statement = database.prepare(sql)?;
        statement.query_map(parameters, |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()
    };
    read().unwrap_or_default()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
