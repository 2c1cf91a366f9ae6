//! `opscope query`: what the raw directories of Ascend hold.

use std::path::PathBuf;

use crate::exit::Exit;
use crate::profile;
use crate::report::query::{ContentsRow, contents, table, to_json};
use crate::terminal::Terminal;
use clap::Args;
use opscope_cann::Profile;
use opscope_open::{Progress, Source};
use opscope_trace::Trace;

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
    let read = |profile: Profile, progress: &dyn Progress| {
        let raw = profile::join(profile, progress)?;
        Ok(Contents {
            lines: contents(&raw),
            losses: profile::losses_of_joined(&raw),
            path: raw.joined.data.profile.path,
        })
    };
    let exit = profile::each_answer(profiles, terminal, read, |Contents { lines, losses, path }| {
        profile::warn(&losses, &path, terminal);
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

/// The answer about one profile.
struct Contents {
    lines: Vec<ContentsRow>,
    losses: Trace,
    path: PathBuf,
}
