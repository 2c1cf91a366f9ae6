//! opscope's own SQLite file: a whole trace, for keeping and for queries.
//!
//! [`write_file`] stores every table of a [`Trace`](opscope_trace::Trace) in a table of the same
//! name, and [`read_file`] makes an equal trace of it. `schema` declares the tables once for both,
//! and [`schema_help`] explains them. [`Database`] answers questions in SQL.
//!
//! | part | holds |
//! |---|---|
//! | header, byte 68 | [`APPLICATION_ID`], by which the file is known |
//! | header, byte 60 | [`SCHEMA_VERSION`] |
//! | `meta` | the versions again, the program's, the clock, and what the writer adds, as text |
//! | `strings` | all text, each piece once; other tables name it by id |
//! | `tasks`, `operators`, … | one row for every row of the trace; `id` is its number from 0 |
//! | `operator_executions`, … | views with text in place of ids |
//!
//! Foreign keys hold. Enums are stored as words, lists as JSON, times as whole nanoseconds.

mod cell;
mod error;
mod help;
mod query;
mod read;
mod schema;
mod views;
mod write;

#[cfg(test)]
mod tests;

pub use error::{ReadError, ReadProblem, WriteError, WriteProblem};
pub use help::schema_help;
pub use query::{Database, QueryError, Value};
pub use read::{read_bytes, read_file, read_file_until, read_meta, stoppable};
pub use write::{write_file, write_file_with};

/// The number by which a SQLite file says whose it is: `OPSC`.
pub const APPLICATION_ID: u32 = u32::from_be_bytes(*b"OPSC");

/// The version of the tables; it rises with every change to them, and with every change of what a column
/// means: since version 5 facts about the run are apart from what its producer only remarks, and losses
/// have a kind, a source and a scope; since version 6 there are stated figures, and the calls of frameworks that
/// asked for tasks.
pub const SCHEMA_VERSION: i64 = 6;

/// The first bytes of every SQLite file.
pub const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The application id in the first bytes of a SQLite file, if they are those of one
/// (SQLite's documentation, "Database File Format", section 1.3).
pub fn application_id(head: &[u8]) -> Option<u32> {
    let id = head.strip_prefix(MAGIC)?.get(68 - MAGIC.len()..)?.first_chunk()?;
    Some(u32::from_be_bytes(*id))
}

/// How many bytes the header of a SQLite file has.
pub const HEADER_BYTES: usize = 100;

/// How many bytes a SQLite file of `length` bytes lacks of those that its header tells; 0 where that
/// doesn't tell (the same document, sections 1.3.2, 1.3.6 and 1.3.7). SQLite itself lets a last page pass
/// that is there in part.
pub fn missing_bytes(header: &[u8], length: u64) -> u64 {
    let number =
        |at: usize| -> Option<u32> { Some(u32::from_be_bytes(*header.get(at..at + 4)?.first_chunk()?)) };
    let told = || {
        let page = u16::from_be_bytes(*header.get(16..18)?.first_chunk()?);
        // 65,536 doesn't fit.
        let page = if page == 1 { 1 << 16 } else { u64::from(page) };
        // The number of pages counts only where the program that last wrote the file kept it.
        (number(24)? == number(92)?).then_some(u64::from(number(28)?) * page)
    };
    told().map_or(0, |told| told.saturating_sub(length))
}

/// The table of keys and values that stands beside those of the trace.
const META_DDL: &str = "CREATE TABLE meta (\n  key TEXT PRIMARY KEY NOT NULL,\n  value TEXT NOT NULL\n)";
