//! Reading a trace back from a database.

use std::io::Read;
use std::path::Path;

use opscope_trace::{LossKind, Operator, TensorId, Trace};
use rusqlite::{Connection, MAIN_DB, OpenFlags, OptionalExtension};

use crate::reading::Stop;

use super::schema::{CellError, Cells, TABLES, Table};
use super::{
    APPLICATION_ID, HEADER_BYTES, META_DDL, ReadError, ReadProblem, SCHEMA_VERSION, application_id,
    missing_bytes,
};

/// Reads a trace from a database that [`write_file`](super::write_file) made.
///
/// # Errors
/// When the file can't be read, is no database of opscope's or another version's, or when a table
/// or value isn't what it should be.
pub fn read_file(path: &Path) -> Result<Trace, ReadError> {
    read_file_until(path, &Stop::default())
}

/// As [`read_file`], until `stop` is wanted.
///
/// # Errors
/// As [`read_file`], and where it was stopped.
pub fn read_file_until(path: &Path, stop: &Stop) -> Result<Trace, ReadError> {
    let read = || read_database(&stoppable(open(path)?, stop)?);
    read().map_err(|problem| ReadError { path: path.to_owned(), problem })
}

/// Reads a trace from the bytes of a database until `stop` is wanted; `path` only names them in errors.
///
/// # Errors
/// As [`read_file_until`].
pub fn read_bytes(bytes: &[u8], path: &Path, stop: &Stop) -> Result<Trace, ReadError> {
    let read = || {
        check_header(bytes, bytes.len() as u64)?;
        let mut database = Connection::open_in_memory()?;
        database.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), true)?;
        read_database(&stoppable(database, stop)?)
    };
    read().map_err(|problem| ReadError { path: path.to_owned(), problem })
}

/// The value of a key in the table `meta`, without reading the rest; `None` when it isn't there.
///
/// # Errors
/// When the file can't be read, or is no database of opscope's or another version's.
pub fn read_meta(path: &Path, key: &str) -> Result<Option<String>, ReadError> {
    let read = || {
        let database = open(path)?;
        check_version(&database)?;
        Ok(meta_value(&database, key)?)
    };
    read().map_err(|problem| ReadError { path: path.to_owned(), problem })
}

fn open(path: &Path) -> Result<Connection, ReadProblem> {
    check_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(Connection::open_with_flags(path, flags)?)
}

/// Makes SQLite interrupt whatever it is told to do once `stop` is wanted.
///
/// # Errors
/// When SQLite refuses.
pub fn stoppable(mut database: Connection, stop: &Stop) -> rusqlite::Result<Connection> {
    /// The instructions of its machine between two questions: some hundred rows.
    const BETWEEN: std::ffi::c_int = 10_000;
    let stop = stop.clone();
    database.progress_handler(BETWEEN, Some(move || stop.is_wanted()))?;
    Ok(database)
}

/// Makes sure that a file is a database of opscope, and as long as it says.
pub(super) fn check_file(path: &Path) -> Result<(), ReadProblem> {
    let file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    let mut header = Vec::with_capacity(HEADER_BYTES);
    file.take(HEADER_BYTES as u64).read_to_end(&mut header)?;
    check_header(&header, length)
}

fn check_header(header: &[u8], length: u64) -> Result<(), ReadProblem> {
    match application_id(header) {
        None => Err(ReadProblem::NotSqlite),
        Some(APPLICATION_ID) => match missing_bytes(header, length) {
            0 => Ok(()),
            missing => Err(ReadProblem::CutOff { missing }),
        },
        Some(application_id) => Err(ReadProblem::Foreign { application_id }),
    }
}

fn read_database(database: &Connection) -> Result<Trace, ReadProblem> {
    check_version(database)?;
    let mut trace = Trace::new();
    for table in TABLES {
        check_table(database, table.name, &table.ddl())?;
        read_table(database, table, &mut trace)?;
    }
    check_tensors(&trace)?;
    check_readings(&trace)?;
    read_clock(database, &mut trace)?;
    Ok(trace)
}

/// A trace with nothing but the losses of the one in the tables.
pub(super) fn read_losses(database: &Connection) -> Result<Trace, ReadProblem> {
    check_version(database)?;
    for table in TABLES.iter().filter(|table| matches!(table.name, "strings" | "losses")) {
        check_table(database, table.name, &table.ddl())?;
    }
    let mut select = database.prepare(
        "SELECT kind, count, text FROM losses JOIN strings ON strings.id = detail_id ORDER BY losses.id",
    )?;
    let mut rows = select.query([])?;
    let mut trace = Trace::new();
    while let Some(row) = rows.next()? {
        let (kind, count, detail): (String, i64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if let Some(kind) = LossKind::from_name(&kind) {
            trace.count_loss(kind, count.cast_unsigned(), &detail);
        }
    }
    Ok(trace)
}

/// Makes sure that the database has this version's tables, as its `meta` shows.
fn check_version(database: &Connection) -> Result<(), ReadProblem> {
    // Views and triggers of a file that somebody else may have altered get no say.
    database.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
    let version = database.query_one("PRAGMA user_version", [], |row| row.get(0))?;
    if version != SCHEMA_VERSION {
        return Err(ReadProblem::OtherVersion { found: version });
    }
    check_table(database, "meta", META_DDL)
}

/// Makes sure that a table is what [`TABLES`] declares and not, for instance, a view of endless
/// rows.
fn check_table(database: &Connection, table: &'static str, ddl: &str) -> Result<(), ReadProblem> {
    let found: Option<String> = database
        .query_row("SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", [table], |row| {
            row.get(0)
        })
        .optional()?;
    if found.as_deref() == Some(ddl) { Ok(()) } else { Err(ReadProblem::Altered { table }) }
}

fn read_table(database: &Connection, table: &Table, trace: &mut Trace) -> Result<(), ReadProblem> {
    let mut select = database.prepare(&table.select())?;
    let mut rows = select.query([])?;
    let mut number = 0;
    while let Some(row) = rows.next()? {
        read_row(table, row, number, trace).map_err(|error| match error {
            CellError::Sqlite(error) => error.into(),
            CellError::Value { column, problem } => ReadProblem::Value {
                table: table.name,
                row: number,
                // The first column that is selected is `id`.
                column: column.checked_sub(1).map_or("id", |column| table.columns[column].name),
                expected: problem.expected,
                found: problem.found,
            },
        })?;
        number += 1;
    }
    Ok(())
}

fn read_row(
    table: &Table,
    row: &rusqlite::Row<'_>,
    number: usize,
    trace: &mut Trace,
) -> Result<(), CellError> {
    let mut cells = Cells::new(row);
    cells.take_id(number)?;
    (table.take)(&mut cells, trace)
}

/// Makes sure that the operators' inputs and outputs lie within the table of tensors.
fn check_tensors(trace: &Trace) -> Result<(), ReadProblem> {
    let tensors = trace.tensors.len();
    let fits = |first: Option<TensorId>, count: u32| match first {
        Some(first) => count as usize <= tensors - first.index(),
        None => count == 0,
    };
    let check = |(row, operator): (usize, Operator)| {
        let (column, count) = match () {
            () if !fits(operator.first_input, operator.input_count) => ("input_count", operator.input_count),
            () if !fits(operator.first_output, operator.output_count) => {
                ("output_count", operator.output_count)
            }
            () => return Ok(()),
        };
        Err(ReadProblem::Value {
            table: "operators",
            row,
            column,
            expected: format!("no more than the {tensors} tensors allow"),
            found: count.to_string(),
        })
    };
    trace.operators.iter().map(|(id, operator)| (id.index(), operator)).try_for_each(check)
}

/// Makes sure that every reading has a value for each metric.
fn check_readings(trace: &Trace) -> Result<(), ReadProblem> {
    let wrong = trace.readings.iter().find(|(_, reading)| reading.metrics.len() != reading.values.len());
    wrong.map_or(Ok(()), |(id, reading)| {
        Err(ReadProblem::Value {
            table: "readings",
            row: id.index(),
            column: "metric_values",
            expected: format!("a value for each of the {} metrics", reading.metrics.len()),
            found: format!("{} values", reading.values.len()),
        })
    })
}

fn read_clock(database: &Connection, trace: &mut Trace) -> Result<(), ReadProblem> {
    if let Some(text) = meta_value(database, "clock_unix_zero_ns")? {
        let zero = text.parse().map_err(|_| ReadProblem::Value {
            table: "meta",
            row: 0,
            column: "clock_unix_zero_ns",
            expected: "a whole number".to_owned(),
            found: text,
        })?;
        trace.clock.unix_zero = Some(zero);
    }
    if let Some(domain) = meta_value(database, "clock_domain")? {
        trace.clock.domain = Some(trace.strings.intern(&domain));
    }
    Ok(())
}

fn meta_value(database: &Connection, key: &str) -> rusqlite::Result<Option<String>> {
    database.query_row("SELECT value FROM meta WHERE key = ?", [key], |row| row.get(0)).optional()
}
