//! `opscope cluster sql`: any question to a set.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use opscope_reach::{Dialect, Set, in_dialect};
use opscope_say::say;

use crate::exit::Exit;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster sql set 'SELECT rank, sum(duration_ns) FROM operators GROUP BY rank ORDER BY 2 DESC'
  opscope cluster sql set \"$(opscope cluster queries waits)\"

The engine isn't part of this program: it prints the statement as DuckDB takes it, with the files of the
set in place of its tables, to be piped there. opscope cluster queries has the statements behind the tables.";

/// The options of `opscope cluster sql`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The set
    #[arg(value_name = "SET")]
    set: PathBuf,

    /// The question, over the tables of the set
    #[arg(value_name = "STATEMENT")]
    statement: String,

    /// The run of a set that has several
    #[arg(long, value_name = "NAME")]
    run: Option<String>,
}

/// Says how to ask.
///
/// # Errors
/// Always, since this program has no engine for free questions.
pub fn execute(arguments: &Arguments, _: &Terminal) -> anyhow::Result<Exit> {
    let set = Set::open(&arguments.set, arguments.run.as_deref())?;
    let statement = in_dialect(arguments.statement.trim(), Dialect::DuckDb, &arguments.set, &set.run);
    bail!(
        "{}",
        say!(
            "this opscope is built without an engine for free questions; DuckDB (pip install duckdb, or its program) \
         answers this one:\n\n{statement};\n"
        )
    )
}
