//! `opscope cluster info`: what the ranks' collections hold.

use clap::Args;

use super::source::SourceArguments;
use crate::exit::Exit;
use crate::report::cluster;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster info profiling_data/
  opscope cluster info profiling_data/ --json";

/// The options of `opscope cluster info`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Prints ranks, groups, clocks and losses.
///
/// # Errors
/// When there are none, or nothing in them can be compared.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let findings = arguments.source.examine(terminal)?;
    match arguments.json {
        true => terminal.print(&cluster::info_json(&findings).to_text()?)?,
        false => terminal.print(&cluster::info_text(&findings, terminal.width()))?,
    }
    Ok(Exit::Done)
}
