//! `opscope compare`: what differs between two profiles.

use std::path::PathBuf;

use clap::Args;
use opscope_analyze::Comparison;
use opscope_trace::Severity;

use super::advise::silence_suspects;
use crate::exit::Exit;
use crate::profile::{self, Tell};
use crate::report::compare::{Shown, to_json, to_markdown, to_text};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope compare before.db after.db
  opscope compare PROF_000001/ PROF_000002/ -t 0 --each
  opscope compare tract.db ort.db --json         the same model on two engines
  opscope compare before.csv after.csv --markdown > change.md

Operators are brought together by the nodes of the model that they stand for, then by name, then by
type and order; what one of them took in is told as merged. What became of many operators alike is
one line, unless --each is given. Times are those of an average measured inference. The steps sum to
the change of the headline; what operators don't account for is a step of its own. With two
inferences or more on both sides, Welch's test at 95 % says whether the
difference is more than noise.";

/// The options of `opscope compare`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// The profile before, of any kind
    #[arg(value_name = "A")]
    before: PathBuf,

    /// The profile after, of any kind
    #[arg(value_name = "B")]
    after: PathBuf,

    /// Show the N greatest changes; 0 shows all
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    top: usize,

    /// Show every operator by itself, not those with the same story as one
    #[arg(long)]
    each: bool,

    /// Print the whole answer as JSON
    #[arg(long, conflicts_with = "markdown")]
    json: bool,

    /// Print the answer as Markdown
    #[arg(long)]
    markdown: bool,
}

/// Compares and prints.
///
/// # Errors
/// When a profile can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let before = profile::open(&arguments.before, Tell::Warnings, terminal)?;
    let after = profile::open(&arguments.after, Tell::Warnings, terminal)?;
    let mut comparison = Comparison::of(&before, &after);
    silence_suspects(&mut comparison)?;
    let shown = Shown { top: arguments.top, each: arguments.each };
    let text = if arguments.json {
        to_json(&comparison).about([&before, &after]).to_text()?
    } else if arguments.markdown {
        let losses = [("A", &before), ("B", &after)].into_iter().filter_map(|(side, profile)| {
            Some(format!("{side} has lost {}", profile.losses_in_short(Severity::Lost, 3)?))
        });
        to_markdown(&comparison, shown, losses)
    } else {
        to_text(&comparison, shown, terminal.width())
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}
