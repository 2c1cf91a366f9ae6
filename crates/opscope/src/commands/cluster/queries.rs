//! `opscope cluster queries`: the SQL behind the tables, to run elsewhere.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use opscope_reach::{Dialect, QUERIES, Query, RunTables, SetError};
use opscope_say::say;

use super::source::{form_of, open_set};
use crate::commands::form::FormArguments;
use crate::exit::{Exit, UsageError};
use crate::report::cluster::TablesForm;
use crate::report::{Envelope, Table, TableCell, TableColumn};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster queries                                          the questions there are
  opscope cluster queries waits                                    one of them
  opscope cluster queries waits --dialect duckdb --set set | duckdb
  opscope cluster queries links --dialect spark --set /shared/set > links.sql

Every statement is the same for all engines; with DuckDB and Spark, what stands before it says in which
files the tables are.";

/// The options of `opscope cluster queries`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The question; without one, all are listed
    #[arg(value_name = "NAME")]
    name: Option<String>,

    /// The engine that it is for
    #[arg(long, value_enum, default_value_t)]
    dialect: DialectChoice,

    /// The set that it is about
    #[arg(long, value_name = "SET", default_value = "SET")]
    set: PathBuf,

    /// The run of the set [default: the only one]
    #[arg(long, value_name = "NAME")]
    run: Option<String>,

    #[command(flatten)]
    form: FormArguments,
}

/// An engine on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum DialectChoice {
    /// The tables have the names of the set's
    #[default]
    Datafusion,
    /// The tables are read from files
    Duckdb,
    /// The tables are read from folders
    Spark,
}

/// Prints questions.
///
/// # Errors
/// When there is none of that name, or the set has no such run, or lacks a table that the question is about.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let dialect = match arguments.dialect {
        DialectChoice::Datafusion => Dialect::DataFusion,
        DialectChoice::Duckdb => Dialect::DuckDb,
        DialectChoice::Spark => Dialect::Spark,
    };
    let run = run_of(arguments, dialect, terminal)?;
    let chosen: Vec<&Query> = match &arguments.name {
        Some(name) => vec![Query::named(name).ok_or_else(|| {
            let names: Vec<&str> = QUERIES.iter().map(|query| query.name).collect();
            UsageError(say!("there is no query {name}; there are {}", names.join(", ")))
        })?],
        None => QUERIES.iter().collect(),
    };
    let form = form_of(&arguments.form, terminal);
    let sql = |query: &Query| query.for_run(dialect, &run);
    let text = match (form, &arguments.name) {
        (TablesForm::Json | TablesForm::Csv, name) => {
            let mut table = Table::new(["name", "about", "sql", "why_not"].map(TableColumn::text));
            for query in chosen {
                let (sql, why_not) = match sql(query) {
                    Ok(sql) => (Some(sql), None),
                    // Of all questions, others can be put.
                    Err(error) if name.is_none() => (None, Some(error.to_string())),
                    Err(error) => return Err(error.into()),
                };
                table.row([
                    TableCell::from(query.name),
                    query.about().into(),
                    TableCell::new("", sql),
                    TableCell::new("", why_not),
                ]);
            }
            match form {
                TablesForm::Csv => table.to_csv()?,
                _ => Envelope::new(1, serde_json::json!({ "queries": table.to_json() })).to_text()?,
            }
        }
        (_, Some(_)) => {
            let statement = |query: &Query| -> Result<String, SetError> {
                Ok(format!("-- {}\n{};\n", query.about(), sql(query)?))
            };
            let all = chosen.into_iter().map(statement).collect::<Result<String, SetError>>()?;
            if matches!(form, TablesForm::Markdown) { format!("```sql\n{all}```\n") } else { all }
        }
        (_, None) => {
            let mut table = Table::new([TableColumn::text("query"), TableColumn::text("answers")]);
            for query in chosen {
                let about = query.about();
                table.row([TableCell::from(query.name), opscope_say::sentence(&about).as_ref().into()]);
            }
            match form {
                TablesForm::Markdown => table.to_markdown(),
                _ => table.to_text(terminal.width()),
            }
        }
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

/// The run that is asked about, which may not be there yet.
fn run_of(arguments: &Arguments, dialect: Dialect, terminal: &Terminal) -> anyhow::Result<RunTables> {
    let run = arguments.run.as_deref();
    if !arguments.set.exists() {
        return Ok(RunTables::of_folders(&arguments.set, run.unwrap_or("run")));
    }
    let set = open_set(&arguments.set, run)?;
    if dialect == Dialect::DataFusion {
        // Its statements name no files.
        return Ok(RunTables::of_folders(&set.path, &set.run));
    }
    let run = RunTables::of(&set)?;
    if let Some(first) = run.others().first().filter(|_| dialect == Dialect::Spark) {
        terminal.warn(&say!(
            "{} files of the set are named by none of its manifests, such as {}: an import is under way or was \
             stopped, or somebody put them there; Spark counts their rows as well; an import removes its own that are \
             an hour old",
            run.others().len(),
            first.display()
        ));
    }
    Ok(run)
}
