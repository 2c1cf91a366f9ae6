//! `opscope compare`: what differs between two profiles.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope_analyze::Comparison;
use opscope_open::Source;
use opscope_trace::Severity;

use super::advise::silence_suspects;
use super::html::{self, Content, HtmlArguments, command_line};
use crate::exit::Exit;
use crate::profile::{self, Opened, Tell};
use crate::report::compare::{Shown, to_json, to_markdown, to_text};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope compare before.db after.db
  opscope compare PROF_000001/ PROF_000002/ -t 0 --each
  opscope compare tract.db ort.db --json         the same model on two engines
  opscope compare before.csv after.csv --markdown > change.md
  opscope compare before.db after.db --html change.html      B as a page, with the comparison drawn

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

    #[command(flatten)]
    page: HtmlArguments,
}

/// Compares and prints.
///
/// # Errors
/// When a profile can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    arguments.page.check(&[&arguments.before, &arguments.after])?;
    let before = profile::open(&arguments.before, Tell::Warnings, terminal)?;
    let source = Source::at(&arguments.after)?;
    let origin = arguments.page.origin(&source);
    let after = profile::open_source(source, Tell::Warnings, terminal)?;
    let comparison = compared(&before, &after)?;
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
    // Whoever reads the answer may go away; the page is wanted all the same.
    let printed = terminal.print(&text);
    if let Some((output, origin)) = arguments.page.html.as_ref().zip(origin) {
        let path = |path: &Path| path.display().to_string();
        let words = ["opscope", "report"].map(str::to_owned).into_iter();
        let words = words.chain([path(&arguments.after), "--against".to_owned(), path(&arguments.before)]);
        let content = Content { against: Some(&before), ..Content::usual(command_line(words)) };
        html::write(&after, origin, &content, output, terminal)?;
    }
    printed?;
    Ok(Exit::Done)
}

/// The differences of two profiles, without those that the settings of the current folder silence.
///
/// # Errors
/// When the settings can't be read.
pub fn compared<'t>(before: &'t Opened, after: &'t Opened) -> anyhow::Result<Comparison<'t>> {
    let mut comparison = Comparison::of(before, after);
    silence_suspects(&mut comparison)?;
    Ok(comparison)
}
