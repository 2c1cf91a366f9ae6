//! Databases of other programs, which nobody writes to meanwhile: opened without a trace, and read by tables
//! that may have more or fewer columns than this program knows.
//!
//! A file from anywhere may be damaged, or made to be read for ever; nothing of it is computed but what is asked.

mod pages;
#[cfg(test)]
mod tests;
mod whole;

use std::borrow::Cow;
use std::ops::Deref;
use std::path::Path;

use opscope_trace::Nanoseconds;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB, OpenFlags, Row};

use crate::reading::{Stop, decimal};
use pages::{Layout, Pages, Place};
pub use whole::{ReadError, ReadProblem, Tables};

/// A database with its bytes where those can be had, in which plain tables are found without SQLite. All else is asked
/// of the connection.
#[derive(Debug)]
pub struct Database<'b> {
    connection: Connection,
    pages: Option<Pages<'b>>,
    stop: Stop,
}

impl<'b> Database<'b> {
    /// A database to be read until `stop` is wanted; `bytes` are those of its file, if nothing is wrong with it.
    pub fn new(connection: Connection, bytes: Option<&'b [u8]>, stop: &Stop) -> Self {
        Self { connection, pages: bytes.and_then(Pages::of), stop: stop.clone() }
    }

    /// The number of the uppermost page of a table, and its columns, if it is plain: one of SQLite's ordinary tables,
    /// without an index by which it might be read as well, and with no value that isn't in its rows.
    fn plain_table(&self, table: &str, wanted: &[&str]) -> Option<(u32, Layout)> {
        let schema = "SELECT rootpage, (SELECT count(*) FROM sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE) \
                      FROM sqlite_schema WHERE name = ?1 AND type = 'table'";
        let found: (u32, u32) =
            self.connection.query_row(schema, [table], |row| Ok((row.get(0)?, row.get(1)?))).ok()?;
        // The table itself is the only entry that belongs to it.
        let root = Some(found).filter(|(root, entries)| *root > 0 && *entries == 1)?.0;
        let columns = "SELECT name, upper(type) = 'INTEGER' AND pk = 1, hidden != 0 OR dflt_value IS NOT NULL, pk \
                       FROM pragma_table_xinfo(?1) ORDER BY cid";
        let mut statement = self.connection.prepare(columns).ok()?;
        let columns = statement.query_map([table], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, bool>(1)?,
                row.get::<_, bool>(2)?,
                row.get::<_, u32>(3)?,
            ))
        });
        let columns: Vec<(String, bool, bool, u32)> = columns.ok()?.collect::<rusqlite::Result<_>>().ok()?;
        if columns.iter().any(|(.., is_computed, _)| *is_computed) {
            return None;
        }
        // A key of several columns has an index, or the table has no numbers of rows.
        let key = columns.iter().find(|(.., key)| *key > 0);
        if key.is_some_and(|(_, is_number, ..)| !is_number) {
            return None;
        }
        let place = |column: &str| wanted.iter().position(|wanted| *wanted == column);
        let key = key.and_then(|(name, ..)| place(name));
        let mut layout = Layout {
            wanted: columns.iter().map(|(name, ..)| place(name)).collect(),
            count: wanted.len(),
            key,
        };
        let used = layout.wanted.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        layout.wanted.truncate(used);
        Some((root, layout))
    }
}

impl Deref for Database<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

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

/// Hands every row of a table to `row`, with the columns in the order asked for; those that the
/// table lacks are empty. Without the table, nothing is done.
///
/// # Errors
/// When SQLite can't go on, with the number of rows that came before.
pub fn each_row(
    database: &Database<'_>,
    table: &str,
    wanted: &[&str],
    mut row: impl FnMut(&Cells<'_>),
) -> Result<(), Broken> {
    let known = columns(database, table);
    if known.is_empty() {
        return Ok(());
    }
    let selected: Vec<String> = (wanted.iter())
        .map(|name| match known.iter().any(|column| column == name) {
            true => quoted(name),
            false => "NULL".to_owned(),
        })
        .collect();
    let mut before = 0;
    if let Some(pages) = database.pages
        && let Some((root, layout)) = database.plain_table(table, wanted)
    {
        let scanned = pages.each_row(root, &layout, || !database.stop.is_wanted(), &mut row);
        if scanned.is_whole || database.stop.is_wanted() {
            return Ok(());
        }
        before = scanned.rows;
    }
    let mut read = || {
        let (selected, most) = (selected.join(", "), most_rows(database));
        let sql = format!("SELECT {selected} FROM {} LIMIT {most} OFFSET {before}", quoted(table));
        let mut statement = database.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(found) = rows.next()? {
            row(&Cells(Source::Sqlite(found)));
            before += 1;
        }
        Ok(())
    };
    read().map_err(|error| Broken { before, error })
}

/// No table can have more rows than the file has bytes. One that seems to is damaged, or was made to
/// be read for ever: its pages name one another over and over.
fn most_rows(database: &Connection) -> i64 {
    let pragma = |name: &str| database.query_row(&format!("PRAGMA {name}"), [], |row| row.get::<_, i64>(0));
    let bytes = || Some(pragma("page_count").ok()?.saturating_mul(pragma("page_size").ok()?));
    bytes().unwrap_or(0)
}

/// A table that broke off.
#[derive(Debug)]
pub struct Broken {
    /// How many rows came before.
    pub before: u64,
    /// SQLite's words.
    pub error: rusqlite::Error,
}

/// The cells of a row, read as what they should be whatever type they were stored with.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'r>(Source<'r>);

/// Where the cells of a row are.
#[derive(Clone, Copy, Debug)]
enum Source<'r> {
    Sqlite(&'r Row<'r>),
    /// The record on a page, the places of its cells, and the number of the row.
    Page(&'r [u8], &'r [Place], i64),
}

impl<'r> Cells<'r> {
    fn of_page(record: &'r [u8], places: &'r [Place], key: i64) -> Self {
        Self(Source::Page(record, places, key))
    }

    // A whole number in a column of others comes out of a page as a whole number, which is read as the same by all
    // functions below.
    #[inline]
    fn value(&self, column: usize) -> ValueRef<'_> {
        match self.0 {
            Source::Sqlite(row) => row.get_ref(column).unwrap_or(ValueRef::Null),
            Source::Page(record, places, key) => {
                places.get(column).map_or(ValueRef::Null, |place| pages::value(record, *place, key))
            }
        }
    }

    /// A whole number. Some tables store times as text.
    pub fn integer(&self, column: usize) -> Option<i64> {
        match self.value(column) {
            ValueRef::Integer(value) => Some(value),
            // A number beyond the range becomes its end, which no id or time is.
            ValueRef::Real(value) if value.is_finite() => Some(value as i64),
            ValueRef::Text(text) => decimal::whole(text).ok(),
            ValueRef::Null | ValueRef::Real(_) | ValueRef::Blob(_) => None,
        }
    }

    /// A whole number that is not negative.
    pub fn number(&self, column: usize) -> Option<u64> {
        self.integer(column).and_then(|value| u64::try_from(value).ok())
    }

    /// A whole number of 32 bits that is not negative.
    pub fn small(&self, column: usize) -> Option<u32> {
        self.integer(column).and_then(|value| u32::try_from(value).ok())
    }

    /// A number; nothing for those that are infinite.
    pub fn float(&self, column: usize) -> Option<f64> {
        let value = match self.value(column) {
            ValueRef::Integer(value) => value as f64,
            ValueRef::Real(value) => value,
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.parse().ok()?,
            ValueRef::Null | ValueRef::Blob(_) => return None,
        };
        value.is_finite().then_some(value)
    }

    /// Text, or a number as it is written.
    pub fn text(&self, column: usize) -> Option<Cow<'_, str>> {
        match self.value(column) {
            ValueRef::Text(text) => Some(String::from_utf8_lossy(text)),
            ValueRef::Integer(value) => Some(value.to_string().into()),
            ValueRef::Real(value) => Some(value.to_string().into()),
            ValueRef::Null | ValueRef::Blob(_) => None,
        }
    }

    /// Start and duration out of two columns of nanoseconds.
    pub fn span(&self, start: usize, end: usize) -> Result<(Nanoseconds, Nanoseconds), NoSpan> {
        let (Some(start), Some(end)) = (self.integer(start), self.integer(end)) else {
            return Err(NoSpan::Missing);
        };
        match end.checked_sub(start) {
            Some(duration @ 0..) => Ok((Nanoseconds(start), Nanoseconds(duration))),
            Some(_) => Err(NoSpan::EndsBeforeStart),
            None => Err(NoSpan::Missing),
        }
    }
}

/// Why two columns are no span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoSpan {
    /// One of them is empty or no number.
    Missing,
    /// The end lies before the start.
    EndsBeforeStart,
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
