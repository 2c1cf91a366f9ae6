//! `opscope sql`: questions to a profile in SQL.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use opscope_formats::sqlite::{Database, QueryError, Value, schema_help};
use opscope_open::{Kind, detect};
use serde_json::Value as Json;

use crate::exit::{Exit, UsageError};
use crate::profile::{self, Tell};
use crate::report::{FormArguments, Sheet, SheetCell, SheetColumn};
use crate::terminal::{DataOutput, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope sql profile.json 'SELECT op_type, count(*), sum(duration_ns) / 1e6 AS ms
                            FROM operator_executions WHERE NOT warm_up GROUP BY 1 ORDER BY 3 DESC'
  opscope sql run.db --csv 'SELECT * FROM task_details' > tasks.csv
  opscope sql PROF_000001_20261121/ 'SELECT * FROM loss_details'
  echo 'SELECT count(*) FROM tasks' | opscope sql run.db -

With --json the answer is an object: \"rows\" is a list with an object for each row, \"losses\" says what
was lost while the profile was read.

The profile's tables can be read and nothing else. A profile that isn't opscope's own database is put
into tables in memory for each question; opscope import keeps them.";

/// The options of `opscope sql`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = long_help())]
pub struct Arguments {
    /// The profile, of any format, or a database that opscope wrote
    path: PathBuf,

    /// One statement; - reads it from standard input; without it, the tables are explained
    statement: Option<String>,

    #[command(flatten)]
    form: FormArguments,
}

fn long_help() -> String {
    format!("{EXAMPLES}\n\n{}", schema_help())
}

/// Answers the question.
///
/// # Errors
/// When the profile can't be read, or the statement is wrong.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let database = open(&arguments.path, terminal)?;
    let statement = match arguments.statement.as_deref() {
        None => {
            terminal.print(&schema_help())?;
            return Ok(Exit::Done);
        }
        Some("-") => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            text
        }
        Some(text) => text.to_owned(),
    };
    let answered = match arguments.form {
        FormArguments { csv: true, .. } => print_csv(&database, &statement),
        FormArguments { json: true, .. } => print_json(&database, &statement, &arguments.path),
        form => print_sheet(&database, &statement, form.markdown, terminal),
    };
    answered.map_err(|error| match error.downcast::<QueryError>() {
        Ok(error @ QueryError::Statement { .. }) => {
            UsageError(format!("{error}; opscope sql --help explains the tables")).into()
        }
        Ok(error) => UsageError(error.to_string()).into(),
        Err(error) => error,
    })?;
    Ok(Exit::Done)
}

/// Makes tables of the profile, and warns of what was lost of it.
fn open(path: &Path, terminal: &Terminal) -> anyhow::Result<Database> {
    profile::check_presence(path)?;
    let is_plain = path.is_file() && std::fs::File::open(path).is_ok_and(begins_as_database);
    if is_plain && detect(path)? == Kind::OpscopeDatabase {
        let database = Database::open(path)?;
        profile::warn(database.losses(), path, terminal);
        return Ok(database);
    }
    let trace = profile::open(path, Tell::Warnings, terminal)?;
    Ok(Database::of_trace(&trace)?)
}

/// Whether a file is a database itself and not, for instance, compressed.
fn begins_as_database(file: std::fs::File) -> bool {
    let mut head = Vec::new();
    file.take(6).read_to_end(&mut head).is_ok() && head == b"SQLite"
}

/// Names of columns, each once: a second `name` becomes `name_2`, so that no member is lost in JSON.
fn unique(names: Vec<String>) -> Vec<String> {
    let mut unique: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let mut candidate = name.clone();
        let mut number = 2;
        while unique.contains(&candidate) {
            candidate = format!("{name}_{number}");
            number += 1;
        }
        unique.push(candidate);
    }
    unique
}

fn print_csv(database: &Database, statement: &str) -> anyhow::Result<()> {
    let writer = std::cell::RefCell::new(csv::Writer::from_writer(DataOutput::new(io::stdout().lock())));
    let columns =
        |names: Vec<String>| Ok(writer.borrow_mut().write_record(unique(names)).map_err(io_error)?);
    let row = |row: Vec<Value>| {
        let cells = row.iter().map(|value| if *value == Value::Null { String::new() } else { text(value) });
        Ok(writer.borrow_mut().write_record(cells).map_err(io_error)?)
    };
    database.query::<anyhow::Error>(statement, columns, row)?;
    writer.borrow_mut().flush()?;
    Ok(())
}

/// What lies behind an error of the CSV writer, so that a pipe that was closed is known as one.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// Rises when a member of the JSON changes its meaning or goes away.
const SCHEMA_VERSION: u32 = 2;

/// Prints an object: the rows, and what was lost of the profile that they are of.
fn print_json(database: &Database, statement: &str, path: &Path) -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut names = Vec::new();
    let mut is_first = true;
    let keep = |found| {
        names = unique(found);
        Ok(())
    };
    // The names are there before the first row is.
    let mut rows = Vec::new();
    database.query::<anyhow::Error>(statement, keep, |row| {
        rows.push(row);
        Ok(())
    })?;
    write!(out, "{{\"schema_version\":{SCHEMA_VERSION},\"rows\":[")?;
    for row in rows {
        out.write_all(if is_first { b"\n" } else { b",\n" })?;
        is_first = false;
        let members = names.iter().cloned().zip(row.iter().map(json));
        serde_json::to_writer(&mut out, &Json::Object(members.collect())).map_err(io::Error::from)?;
    }
    out.write_all(if is_first { b"],\"losses\":" } else { b"\n],\"losses\":" })?;
    serde_json::to_writer(&mut out, &profile::losses_of(database.losses(), path)).map_err(io::Error::from)?;
    out.write_all(b"}\n")?;
    out.flush()?;
    Ok(())
}

fn print_sheet(
    database: &Database,
    statement: &str,
    markdown: bool,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let mut names = Vec::new();
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let keep = |found| {
        names = found;
        Ok(())
    };
    database.query::<anyhow::Error>(statement, keep, |row| {
        rows.push(row);
        Ok(())
    })?;
    let is_text =
        |column: usize| rows.iter().any(|row| matches!(row[column], Value::Text(_) | Value::Blob(_)));
    let column = |(index, name): (usize, &String)| SheetColumn {
        heading: name.clone().into(),
        key: name.clone().into(),
        is_text: is_text(index),
        is_expendable: false,
    };
    let columns = names.iter().enumerate().map(column).collect();
    let cell = |value: &Value| match value {
        Value::Null => SheetCell::missing(),
        value => SheetCell { text: text(value), value: Json::Null },
    };
    let rows = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let sheet = Sheet { columns, rows };
    terminal.print(&if markdown { sheet.to_markdown() } else { sheet.to_table(terminal.width()) })?;
    Ok(())
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => value.to_string(),
        Value::Text(text) => text.clone(),
        Value::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Integer(value) => Json::from(*value),
        Value::Real(value) => Json::from(*value),
        value => Json::from(text(value)),
    }
}
