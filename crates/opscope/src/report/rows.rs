//! Answers in SQL, whoever gives them: rows as CSV or JSON, printed as they come, or as a table.

use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::rc::Rc;

use anyhow::{Context, anyhow};
use opscope_formats::memory;
use opscope_formats::spreadsheet::mark;
use opscope_formats::sqlite::Value;
use opscope_say::{say, word};
use serde::ser::{Error, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use super::{Envelope, Table, TableCell, TableColumn};
use crate::terminal::{DataOutput, Terminal};

/// The statement that an argument gives: `-` stands for what comes on standard input.
///
/// # Errors
/// When standard input can't be read, or isn't text.
pub fn statement(argument: &str) -> io::Result<String> {
    match argument {
        "-" => io::read_to_string(io::stdin()),
        text => Ok(text.to_owned()),
    }
}

/// A statement that can be carried out.
pub trait Asked {
    /// Carries it out: hands on the names of the columns, then each row.
    ///
    /// # Errors
    /// When it is wrong or can't be carried out, and whatever those report whom columns and rows are handed to.
    fn ask(
        &self,
        columns: &mut dyn FnMut(Vec<String>) -> anyhow::Result<()>,
        row: &mut dyn FnMut(Vec<Value>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()>;
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

/// Prints the answer as comma-separated values, row by row as they come.
///
/// # Errors
/// The statement's, and when standard output can't take it.
pub fn print_csv(asked: &dyn Asked) -> anyhow::Result<()> {
    let writer = RefCell::new(csv::Writer::from_writer(DataOutput::new(io::stdout().lock())));
    let write = |cells: Vec<String>| {
        let cells = cells.iter().map(|cell| mark(cell).into_owned());
        Ok(writer.borrow_mut().write_record(cells).map_err(io_error)?)
    };
    asked.ask(&mut |names| write(unique(names)), &mut |row| write(row.iter().map(text).collect()))?;
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
fn read(asked: &dyn Asked) -> anyhow::Result<(Vec<String>, Vec<Vec<Value>>)> {
    /// The copies of a row: as values, as cells, and laid out.
    const COPIES: u64 = 4;
    let (mut names, mut rows, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut keep = |found| {
        names = found;
        Ok(())
    };
    asked.ask(&mut keep, &mut |row| {
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

/// Prints the answer as a table, in Markdown or for people.
///
/// # Errors
/// The statement's, when the rows don't fit into memory, and when standard output can't take it.
pub fn print_table(asked: &dyn Asked, markdown: bool, terminal: &Terminal) -> anyhow::Result<()> {
    let (names, rows) = read(asked)?;
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

/// Prints an object: the rows, as they come, and what was lost of what they are of.
///
/// # Errors
/// The statement's, and when standard output can't take it.
pub fn print_json(asked: &dyn Asked, version: u32, losses: Vec<Json>) -> anyhow::Result<()> {
    let state = State::default();
    let answer = envelope(asked, version, losses, Part::ALL, &state);
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

/// The answer that [`print_json`] prints, of a part of the rows, and whether there are more behind it.
///
/// # Errors
/// When the statement is wrong, or reaches a bound.
pub fn part(asked: &dyn Asked, version: u32, losses: Vec<Json>, part: Part) -> anyhow::Result<(Json, bool)> {
    let state = State::default();
    let answer = serde_json::to_value(envelope(asked, version, losses, part, &state));
    match state.failure.take() {
        Some(error) => Err(error),
        None => Ok((answer?, state.is_cut.get())),
    }
}

fn envelope<'a>(
    asked: &'a dyn Asked,
    version: u32,
    losses: Vec<Json>,
    part: Part,
    state: &'a State,
) -> Envelope<impl Serialize + 'a> {
    #[derive(Serialize)]
    struct Answer<'a> {
        rows: Rows<'a>,
    }
    Envelope::new(version, Answer { rows: Rows { asked, part, state } }).with_losses(losses)
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
    asked: &'a dyn Asked,
    part: Part,
    state: &'a State,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let names: RefCell<Rc<[String]>> = RefCell::new(Rc::new([]));
        let mut list = serializer.serialize_seq(None)?;
        let mut keep = |found| {
            *names.borrow_mut() = unique(found).into();
            Ok(())
        };
        let mut unwritten = None;
        let (mut number, mut bytes) = (0, 0);
        let Part { offset, limit, bytes: most } = self.part;
        let asked = self.asked.ask(&mut keep, &mut |row| {
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
