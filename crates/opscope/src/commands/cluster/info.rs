//! `opscope cluster info`: what the ranks' collections hold.

use clap::Args;

use super::source::{SourceArguments, form_of};
use crate::commands::form::FormArguments;
use crate::exit::Exit;
use crate::report::cluster::{self, Chosen, TablesForm};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster info profiling_data/
  opscope cluster info profiling_data/ --json
  opscope cluster info profiling_data/ --csv > ranks.csv         where the mean step of each goes";

/// The options of `opscope cluster info`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,

    #[command(flatten)]
    form: FormArguments,
}

/// Prints ranks, groups, clocks and losses.
///
/// # Errors
/// When there are none, or a set keeps no collectives.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let findings = arguments.source.survey(terminal)?;
    terminal.print(&match form_of(&arguments.form, terminal) {
        TablesForm::Json => cluster::info_json(&findings).to_text()?,
        TablesForm::Text(width) => cluster::info_text(&findings, width),
        TablesForm::Csv => cluster::ranks(&findings, &Chosen::default()).to_csv()?,
        TablesForm::Markdown => cluster::ranks_table(&findings).to_markdown(),
    })?;
    Ok(Exit::Done)
}
