//! `opscope cluster sql`: any question to a set.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use opscope_formats::sqlite::Value;
use opscope_reach::{RunTables, SetError, SetTable, for_duckdb, is_question, without_comments};
use opscope_say::say;

use super::engine::{self, Bounds, Place};
use super::source::{form_of, open_set};
use crate::commands::form::FormArguments;
use crate::commands::limit;
use crate::exit::{Exit, UsageError};
use crate::report::cluster::{self, TablesForm};
use crate::report::{Envelope, Table, TableCell, TableColumn, rows};
use crate::terminal::{Terminal, printable};

const EXAMPLES: &str = "\
Examples:
  opscope cluster sql set                                            the tables and their columns
  opscope cluster sql set 'SELECT rank, sum(duration_ns) FROM operators GROUP BY rank ORDER BY 2 DESC'
  opscope cluster sql set \"$(opscope cluster queries waits)\" --csv > waits.csv
  opscope cluster queries links | opscope cluster sql set -
  opscope cluster sql set --explain 'SELECT max(end_ns) FROM instances'    the engine's plan for it
  opscope cluster sql /shared/set --engine ballista://head:50050 'SELECT count(*) FROM operators'

A statement reads the set's tables and does nothing else. It holds 256 MiB of rows (--memory), puts
what goes beyond that into files (--spill), and ends with Ctrl-C, or after --timeout. --csv and --json
print rows as they come, a table keeps them all.

The engine, Apache DataFusion, is part of programs that are built with the feature datafusion. Without
it, the statement is printed as DuckDB takes it, behind views of the set's files.

With --engine ballista://HOST:PORT, the executors of a scheduler of Apache Ballista 55 carry the
statement out, which takes a program that is built with the feature ballista. They must find the set
under the path that it has here, and this machine must reach them, not only the scheduler. Ballista has
no login: use it in a trusted network only (docs/engine.md).";

/// The options of `opscope cluster sql`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The set
    #[arg(value_name = "SET")]
    set: PathBuf,

    /// One statement over the tables of the set; - reads it from standard input; without it, the tables are listed
    #[arg(value_name = "STATEMENT")]
    statement: Option<String>,

    /// The run of a set that has several
    #[arg(long, value_name = "NAME")]
    run: Option<String>,

    /// Where the statement is carried out: embedded, or ballista://HOST:PORT
    #[arg(long, value_name = "ENGINE", default_value = "embedded")]
    engine: Place,

    /// How many threads compute; more are quicker, and take more memory. On Ballista, into how many parts the work is
    /// divided [default: 2, and 16 on Ballista]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// The folder for rows that don't fit into memory [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    spill: Option<PathBuf>,

    /// Stop the statement after this long, such as 30s; 0 for never [default: never, and 10min on Ballista]
    #[arg(long, value_name = "TIME", value_parser = limit)]
    timeout: Option<Duration>,

    /// Print how the engine would carry the statement out, and don't
    #[arg(long, requires = "statement")]
    explain: bool,

    #[command(flatten)]
    form: FormArguments,
}

/// Answers the question.
///
/// # Errors
/// When the set can't be read, the statement is wrong or can't be carried out, or this program has no engine.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let set = open_set(&arguments.set, arguments.run.as_deref())?;
    let statement = match arguments.statement.as_deref() {
        None => {
            let form = form_of(&arguments.form, terminal);
            terminal.print(&tables_in(&set.tables()?, form)?)?;
            return Ok(Exit::Done);
        }
        Some(text) => rows::statement(text)?,
    };
    let bounds = Bounds { threads: arguments.jobs, spill: arguments.spill.clone(), time: arguments.timeout };
    let Some(engine) = engine::open(&set, &arguments.engine, bounds)? else {
        if !is_question(&statement) {
            let found: String = without_comments(&statement).chars().take(40).collect();
            bail!(UsageError(say!(
                "only one question can be asked, which begins with SELECT or WITH; found '{found}'"
            )));
        }
        let question = statement.trim().trim_end_matches(';');
        let question = if arguments.explain { format!("EXPLAIN {question}") } else { question.to_owned() };
        let asked = for_duckdb(&question, &RunTables::of(&set)?)?;
        bail!(
            "{}",
            say!(
                "this opscope is built without an engine for free questions, which cargo build --release -p opscope \
                 --features datafusion puts in; DuckDB (pip install duckdb, or its program) answers this one:\n\n{asked};\n"
            )
        );
    };
    for line in cluster::losses_lines(&set.losses) {
        terminal.warn(&line);
    }
    let statement = if arguments.explain { format!("EXPLAIN {statement}") } else { statement };
    let asked = engine::statement(&engine, &statement);
    let answered = match arguments.form {
        FormArguments { csv: false, json: false, markdown: false } if arguments.explain => {
            print_plans(&asked, terminal)
        }
        FormArguments { csv: true, .. } => rows::print_csv(&asked),
        FormArguments { json: true, .. } => {
            rows::print_json(&asked, 1, set.losses.iter().map(cluster::loss_json).collect())
        }
        form => rows::print_table(&asked, form.markdown, terminal),
    };
    answered.map_err(|error| match engine::is_mistake(&error) {
        true => {
            UsageError(format!("{error}; opscope cluster sql {} lists the tables", arguments.set.display()))
                .into()
        }
        false => error,
    })?;
    Ok(Exit::Done)
}

/// Prints the plans of an explained statement, each below its name.
fn print_plans(asked: &impl rows::Asked, terminal: &Terminal) -> anyhow::Result<()> {
    let mut text = String::new();
    asked.ask(&mut |_| Ok(()), &mut |row| {
        let mut cells = row.into_iter().map(|cell| match cell {
            Value::Text(text) => text,
            other => format!("{other:?}"),
        });
        let (name, plan) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        for line in std::iter::once(name.replace('_', " ").as_str()).chain(plan.lines()) {
            text.push_str(&printable(line));
            text.push('\n');
        }
        Ok(())
    })?;
    Ok(terminal.print(&text)?)
}

/// The tables with their columns, in a form.
///
/// # Errors
/// Never in practice: memory takes everything.
fn tables_in(tables: &[SetTable], form: TablesForm) -> anyhow::Result<String> {
    let mut table = Table::new([TableColumn::text("table"), TableColumn::text("columns")]);
    let mut for_programs = Table::new(["table", "columns", "is_there"].map(TableColumn::text));
    for of_set in tables {
        let columns: Vec<&str> = of_set.schema.get_fields().iter().map(|column| column.name()).collect();
        let listed = columns.join(", ");
        let absent = match of_set.absent() {
            _ if !of_set.files.is_empty() => "",
            SetError::NothingCompared { .. } => " (once ranks are imported that can be compared)",
            SetError::NotKept { .. } => " (of sets that keep collectives)",
            _ => " (once all ranks are imported)",
        };
        let cells = match form {
            TablesForm::Json => TableCell::new("", columns),
            _ => TableCell::from(listed.as_str()),
        };
        let is_there = TableCell::new("", !of_set.files.is_empty());
        for_programs.row([TableCell::from(of_set.name), cells, is_there]);
        table.row([TableCell::from(of_set.name), format!("{listed}{absent}").into()]);
    }
    match form {
        TablesForm::Json => {
            Envelope::new(1, serde_json::json!({ "tables": for_programs.to_json() })).to_text()
        }
        TablesForm::Csv => for_programs.to_csv(),
        TablesForm::Markdown => Ok(table.to_markdown()),
        TablesForm::Text(width) => Ok(table.to_text(width)),
    }
}
