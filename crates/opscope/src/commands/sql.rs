//! `opscope sql`: questions to a profile in SQL.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use clap::Args;
use opscope_formats::sqlite::{Database, QueryError, Value, schema_help};
use opscope_open::{Source, formats};
use opscope_say::say;
use serde_json::Value as Json;

use super::form::FormArguments;
use crate::exit::{Exit, UsageError};
use crate::profile::{self, Tell};
use crate::report::rows::{self, Asked, Part};
use crate::terminal::Terminal;
use crate::{help, interrupt};

const EXAMPLES: &str = "\
Examples:
  opscope sql profile.json 'SELECT op_type, count(*), sum(duration_ns) / 1e6 AS ms
                            FROM operator_executions WHERE NOT warm_up GROUP BY 1 ORDER BY 3 DESC'
  opscope sql run.db --csv 'SELECT * FROM task_details' > tasks.csv
  opscope sql PROF_000001_20261121/ 'SELECT * FROM loss_details'
  echo 'SELECT count(*) FROM tasks' | opscope sql run.db -

duration_ns of an operator has in it the operators that ran within it, as those that aten::conv2d of
PyTorch calls, and sums count these more than once. opscope analyze sums the time that each took itself.

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
            terminal.print(&help::by_hand(&schema_help()))?;
            return Ok(Exit::Done);
        }
        Some(text) => rows::statement(text)?,
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
    let asked = ToDatabase(&database, &statement);
    let answered = match arguments.form {
        FormArguments { csv: true, .. } => rows::print_csv(&asked),
        FormArguments { json: true, .. } => {
            rows::print_json(&asked, VERSION, profile::losses_of(database.losses(), &arguments.path))
        }
        form => rows::print_table(&asked, form.markdown, terminal),
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

/// A statement to a database.
struct ToDatabase<'a>(&'a Database, &'a str);

impl Asked for ToDatabase<'_> {
    fn ask(
        &self,
        columns: &mut dyn FnMut(Vec<String>) -> anyhow::Result<()>,
        row: &mut dyn FnMut(Vec<Value>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.0.query::<anyhow::Error>(self.1, columns, row)
    }
}

/// The version of the answer in JSON.
const VERSION: u32 = 2;

/// The answer that `--json` prints, of a part of the rows, and whether there are more behind it.
///
/// # Errors
/// When the statement is wrong, or reaches a bound.
pub fn answer(database: &Database, statement: &str, path: &Path, part: Part) -> anyhow::Result<(Json, bool)> {
    let losses = profile::losses_of(database.losses(), path);
    rows::part(&ToDatabase(database, statement), VERSION, losses, part)
}
