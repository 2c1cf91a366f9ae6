//! `opscope cluster compare`: two runs by the parts of a step, kinds of collectives, and ranks.

use std::path::PathBuf;

use clap::Args;

use super::source::{SourceArguments, form_of};
use crate::commands::form::FormArguments;
use crate::exit::Exit;
use crate::report::cluster::{self, TablesForm};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster compare before/ after/
  opscope cluster compare set set --run-a first --run-b second
  opscope cluster compare before/ after/ --json | jq '.rows[] | select(.verdict != \"within_noise\")'

Steps of A are set against those of B: their length, the parts of a rank's mean step, what each kind of
collective makes a rank wait and transfer, and the own work of each rank (what it computes and what its host
takes), by its number. A difference counts where Welch's test at 95 % says so, which takes two steps a side
at least and grows sharper with more; change and interval are those of the test. A and B are means of all
steps; for the test, of eight steps or more, single ones far from the others count as less far. Changes of
less than 0.05 % of a step are none. Where the steps don't differ by the test, single ones that take over
2 % longer than all of the other side are counted.";

/// The options of `opscope cluster compare`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folder of all ranks of the first run, or its set
    #[arg(value_name = "A")]
    before: PathBuf,

    /// The folder of all ranks of the second run, or its set
    #[arg(value_name = "B")]
    after: PathBuf,

    /// The run of A, where it is a set of several
    #[arg(long, value_name = "NAME")]
    run_a: Option<String>,

    /// The run of B, where it is a set of several
    #[arg(long, value_name = "NAME")]
    run_b: Option<String>,

    /// Show differences within the noise as well
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    form: FormArguments,
}

/// Prints how two runs differ.
///
/// # Errors
/// When nothing of a run can be compared across its ranks.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let before = SourceArguments::at(&arguments.before, arguments.run_a.as_deref()).examine(terminal)?;
    let after = SourceArguments::at(&arguments.after, arguments.run_b.as_deref()).examine(terminal)?;
    let comparison = cluster::compare(&before, &after);
    terminal.print(&match form_of(&arguments.form, terminal) {
        TablesForm::Json => comparison.to_json(&before, &after).to_text()?,
        TablesForm::Text(width) => comparison.to_text(arguments.all, width),
        TablesForm::Csv => comparison.to_csv()?,
        TablesForm::Markdown => comparison.to_markdown(arguments.all),
    })?;
    Ok(Exit::Done)
}
