//! `opscope cluster info`: what the ranks' collections hold.

use std::path::PathBuf;

use clap::Args;

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
    /// Folders with the collections of all ranks, at any depth
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Prints ranks, groups, clocks and losses.
///
/// # Errors
/// When there are none, or nothing in them can be compared.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let findings = super::findings(&arguments.paths, terminal)?;
    match arguments.json {
        true => terminal.print(&cluster::info_json(&findings).to_text()?)?,
        false => terminal.print(&cluster::info_text(&findings, terminal.width()))?,
    }
    Ok(Exit::Done)
}
