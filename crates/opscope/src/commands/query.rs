//! `opscope query`: what the raw directories of Ascend hold.

use std::path::PathBuf;

use crate::exit::Exit;
use crate::profile;
use crate::report::query::{contents, table, to_json};
use crate::terminal::{StepBar, Terminal};
use clap::Args;
use opscope_open::Source;

const EXAMPLES: &str = "\
Examples:
  opscope query PROF_000001_20251009085320000_ABCDEFGH
  opscope query output/ --json

The columns are those of the vendor's tool. The model ids and iteration numbers are those that
'opscope export' takes as --model-id and --iteration-id; the iterations that took longest are listed
first in the column Top Time Iteration.";

/// The options of `opscope query`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A raw directory (PROF_*, JOB*), or one above several
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
}

/// Prints what the profiles of a directory hold.
///
/// # Errors
/// When there is none, or the only one can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let profiles = profile::raw(Source::at(&arguments.directory)?, terminal)?;
    let mut all = Vec::new();
    let exit = profile::each(profiles, terminal, |profile| {
        let bar = StepBar::new(terminal);
        let raw = profile::join(profile, &bar)?;
        drop(bar);
        let (lines, path) = (contents(&raw), &raw.joined.data.profile.path);
        profile::warn(&profile::losses_of_joined(&raw), path, terminal);
        if !arguments.json {
            // Several profiles are told apart by a line of their own, which the vendor's tool lacks.
            terminal.note(&format!("{}:", path.display()));
            terminal.print(&table(&lines))?;
        }
        all.extend(lines);
        Ok(())
    })?;
    if arguments.json {
        terminal.print(&to_json(&all)?.to_text()?)?;
    }
    Ok(exit)
}
