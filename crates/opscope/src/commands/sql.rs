//! `opscope sql`: questions to a profile in SQL.

use std::cell::{Cell, RefCell};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::Args;
use opscope_formats::memory;
use opscope_formats::spreadsheet::mark;
use opscope_formats::sqlite::{Database, QueryError, Value, schema_help};
use opscope_open::{Source, formats};
use opscope_say::{say, word};
use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::form::FormArguments;
use crate::exit::{Exit, UsageError};
use crate::interrupt;
use crate::profile::{self, Tell};
use crate::report::{Envelope, Table, TableCell, TableColumn};
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

A statement may take as long as it likes, and Ctrl-C ends it at once, with one exception: a database
with views that opscope didn't write may have been made by somebody who wishes you no good, so a
statement is stopped after a minute there. --timeout changes both. Memory is bounded by --memory; --csv
and --json print rows as they come, a table keeps them all.

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

    /// Stop the statement after this long, such as 30s; 0 for never [default: never, and 1min where the
    /// database has views of somebody else]
    #[arg(long, value_name = "TIME", value_parser = super::limit)]
    timeout: Option<Duration>,

    #[command(flatten)]
    form: FormArguments,
}

/// How long a statement may take in a database with views that opscope didn't write.
const AMONG_FOREIGN_VIEWS: Duration = Duration::from_secs(60);

/// How much longer a statement gets that SQLite doesn't stop, because a single step of it takes so long.
const GRACE: Duration = Duration::from_millis(500);

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
    let time = match arguments.timeout {
        None if has_foreign_views(&database, &arguments.path)? => Some(AMONG_FOREIGN_VIEWS),
        None => None,
        Some(time) => Some(time).filter(|time| !time.is_zero()),
    };
    let database = match time {
        Some(time) => bounded(database, time)?,
        None => database,
    };
    let answered = match arguments.form {
        FormArguments { csv: true, .. } => print_csv(&database, &statement),
        FormArguments { json: true, .. } => print_json(&database, &statement, &arguments.path),
        form => print_table(&database, &statement, form.markdown, terminal),
    };
    answered.map_err(|error| match error.downcast::<QueryError>() {
        Ok(error @ QueryError::Statement { .. }) => {
            UsageError(say!("{error}; opscope sql --help explains the tables")).into()
        }
        Ok(QueryError::TooLong) => anyhow!(too_long(time.unwrap_or_default())),
        Ok(error @ QueryError::TooMuchMemory) => error.into(),
        Ok(error @ QueryError::Damaged { .. }) => anyhow!("{}: {error}", arguments.path.display()),
        Ok(error) => UsageError(error.to_string()).into(),
        Err(error) => error,
    })?;
    Ok(Exit::Done)
}

fn has_foreign_views(database: &Database, path: &Path) -> anyhow::Result<bool> {
    database.has_foreign_views().map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Stops the statement after some time, and the program where SQLite doesn't heed that soon: it asks
/// between its steps only.
fn bounded(database: Database, time: Duration) -> anyhow::Result<Database> {
    std::thread::spawn(move || {
        std::thread::sleep(time.saturating_add(GRACE));
        interrupt::fail(&format!("error: {}", too_long(time)));
    });
    Ok(database.end_after(time)?)
}

fn too_long(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    say!("the statement took longer than {seconds} s and was stopped (--timeout)")
}

/// Makes tables of the profile, and warns of what was lost of it.
fn open(path: &Path, terminal: &Terminal) -> anyhow::Result<Database> {
    let source = Source::at(path)?;
    if source.is(&formats::opscope_database::FORMAT) && !source.is_compressed() {
        let database = Database::open(path)?;
        profile::warn(database.losses(), path, terminal);
        return Ok(database);
    }
    let trace = profile::read(source, Tell::Warnings, terminal)?;
    Ok(Database::of_trace(&trace)?)
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
    let write = |cells: Vec<String>| {
        let cells = cells.iter().map(|cell| mark(cell).into_owned());
        Ok(writer.borrow_mut().write_record(cells).map_err(io_error)?)
    };
    let columns = |names: Vec<String>| write(unique(names));
    database.query::<anyhow::Error>(statement, columns, |row| write(row.iter().map(text).collect()))?;
    writer.borrow_mut().flush()?;
    Ok(())
}

/// The cause of an error of the CSV writer, so that a pipe that was closed is known as one.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        kind => io::Error::other(format!("{kind:?}")),
    }
}

/// The whole answer: the names of its columns, and its rows, as long as they fit into memory.
fn read(database: &Database, statement: &str) -> anyhow::Result<(Vec<String>, Vec<Vec<Value>>)> {
    /// The copies of a row: as values, as cells, and laid out.
    const COPIES: u64 = 4;
    let (mut names, mut rows, mut bytes) = (Vec::new(), Vec::new(), 0);
    let keep = |found| {
        names = found;
        Ok(())
    };
    database.query::<anyhow::Error>(statement, keep, |row| {
        bytes += COPIES * row.iter().map(size).sum::<u64>();
        memory::check(bytes)
            .context(word("the rows are too many for a table; --csv and --json print them as they come"))?;
        rows.push(row);
        Ok(())
    })?;
    Ok((names, rows))
}

/// The memory that a value takes.
fn size(value: &Value) -> u64 {
    let text = match value {
        Value::Text(text) => text.len(),
        Value::Blob(bytes) => 2 * bytes.len(),
        Value::Null | Value::Integer(_) | Value::Real(_) => 0,
    };
    (size_of::<Value>() + text) as u64
}

/// Prints an object: the rows, as they come, and what was lost of the profile that they are of.
fn print_json(database: &Database, statement: &str, path: &Path) -> anyhow::Result<()> {
    let state = State::default();
    let answer = envelope(database, statement, path, Part::ALL, &state);
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = answer.write_lines(&mut out);
    if let Some(error) = state.failure.take() {
        // Rows that aren't printed yet are no answer.
        let _ = out.into_parts();
        return Err(error);
    }
    written?;
    out.flush()?;
    Ok(())
}

/// The rows that are wanted of all.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Rows to leave out first.
    pub offset: usize,
    /// Rows to have at most.
    pub limit: usize,
    /// The bytes of values after which no further row is had.
    pub bytes: u64,
}

impl Part {
    const ALL: Self = Self { offset: 0, limit: usize::MAX, bytes: u64::MAX };
}

/// The answer that `--json` prints, of a part of the rows, and whether there are more behind it.
///
/// # Errors
/// When the statement is wrong, or reaches a bound.
pub fn answer(database: &Database, statement: &str, path: &Path, part: Part) -> anyhow::Result<(Json, bool)> {
    let state = State::default();
    let answer = serde_json::to_value(envelope(database, statement, path, part, &state));
    match state.failure.take() {
        Some(error) => Err(error),
        None => Ok((answer?, state.is_cut.get())),
    }
}

fn envelope<'a>(
    database: &'a Database,
    statement: &'a str,
    path: &Path,
    part: Part,
    state: &'a State,
) -> Envelope<impl Serialize + 'a> {
    #[derive(Serialize)]
    struct Answer<'a> {
        rows: Rows<'a>,
    }
    let rows = Rows { database, statement, part, state };
    Envelope::new(2, Answer { rows }).with_losses(profile::losses_of(database.losses(), path))
}

/// The outcome of a statement that is carried out while its rows are written.
#[derive(Default)]
struct State {
    /// Why it failed.
    failure: RefCell<Option<anyhow::Error>>,
    /// Whether there are rows behind those that were wanted.
    is_cut: Cell<bool>,
}

/// The rows of a statement, which is carried out when they are written.
struct Rows<'a> {
    database: &'a Database,
    statement: &'a str,
    part: Part,
    state: &'a State,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names: RefCell<Rc<[String]>> = RefCell::new(Rc::new([]));
        let mut list = serializer.serialize_seq(None)?;
        let keep = |found| {
            *names.borrow_mut() = unique(found).into();
            Ok(())
        };
        let mut unwritten = None;
        let (mut number, mut bytes) = (0, 0);
        let Part { offset, limit, bytes: most } = self.part;
        let asked = self.database.query::<anyhow::Error>(self.statement, keep, |row| {
            number += 1;
            if number <= offset {
                return Ok(());
            }
            if number - offset > limit || bytes >= most {
                self.state.is_cut.set(true);
                return Err(anyhow!("{}", say!("there are more rows than were asked for")));
            }
            bytes += row.iter().map(size).sum::<u64>();
            list.serialize_element(&Row(Rc::clone(&names.borrow()), row)).map_err(|error| {
                unwritten = Some(error);
                anyhow!("{}", say!("the output can't take it"))
            })
        });
        match (asked, unwritten) {
            (Ok(()), _) => list.end(),
            (Err(_), None) if self.state.is_cut.get() => list.end(),
            (_, Some(error)) => Err(error),
            (Err(error), None) => {
                let text = error.to_string();
                *self.state.failure.borrow_mut() = Some(error);
                Err(S::Error::custom(text))
            }
        }
    }
}

/// A row with the names of its columns: an object in JSON.
struct Row(Rc<[String]>, Vec<Value>);

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().zip(self.1.iter().map(json)))
    }
}

fn print_table(
    database: &Database,
    statement: &str,
    markdown: bool,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let (names, rows) = read(database, statement)?;
    let is_text =
        |column: usize| rows.iter().any(|row| matches!(row[column], Value::Text(_) | Value::Blob(_)));
    let columns = names.iter().enumerate().map(|(index, name)| match is_text(index) {
        true => TableColumn::text(name.clone()),
        false => TableColumn::number(name.clone()),
    });
    let mut table = Table::new(columns);
    for row in &rows {
        table.row(row.iter().map(|value| match value {
            Value::Null => TableCell::missing(),
            value => text(value).into(),
        }));
    }
    terminal.print(&if markdown { table.to_markdown() } else { table.to_text(terminal.width()) })?;
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
