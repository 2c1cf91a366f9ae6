//! `opscope compare`: what differs between two profiles.

pub mod models;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use opscope_analyze::{Basis, Comparison, NodeNames};
use opscope_open::Source;
use opscope_say::say;
use opscope_trace::Severity;

use super::advise::silence_suspects;
use super::html::{self, Content, HtmlArguments, command_line};
use crate::exit::Exit;
use crate::profile::{self, NetworkArguments, Opened, Tell};
use crate::report::compare::{Shown, to_json, to_markdown, to_text};
use crate::terminal::{Terminal, dim, printable};
use models::Models;

const EXAMPLES: &str = "\
Examples:
  opscope compare before.db after.db
  opscope compare PROF_000001/ PROF_000002/ -t 0 --each
  opscope compare tract.db ort.db --json         the same model on two engines
  opscope compare before.csv after.csv --markdown > change.md
  opscope compare before.db after.db --html change.html      B as a page, with the comparison drawn
  opscope compare ort.db PROF_000001/ --model-a net.onnx --model-b net.om
                                                 the network before and after its conversion
  opscope compare before.db after.db --network detector     of profiles with several models that one

Operators are brought together by the nodes of the model that they stand for, then by name, then by
type and order; what one of them took in is told as merged. The nodes are those that a profile tells.
Where it tells none, --model-a and --model-b do: by the operators that a converted model's were made
of, and by what is the same in both graphs where a converter changed the names. What became of many operators alike is
one line, unless --each is given. Times are those of an average measured inference; where both
profiles timed inferences without recording them, those of a typical one, with each operator's median;
of calls and ranges that lie in no inference of a side, the mean of one is compared.
The steps sum to the change of the headline; what operators don't account for is a step of its own,
which is outside operators only where these were recorded in the inferences that are compared. With two
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

    /// The model that A is of, in any format that `opscope info` reads: brings operators together by its nodes
    #[arg(long, value_name = "MODEL")]
    model_a: Option<PathBuf>,

    /// The model that B is of
    #[arg(long, value_name = "MODEL")]
    model_b: Option<PathBuf>,

    #[command(flatten)]
    network: NetworkArguments,

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
    let before = arguments.network.choose(before, true, terminal)?;
    let source = Source::at(&arguments.after)?;
    let origin = arguments.page.origin(&source);
    let after = profile::open_source(source, Tell::Warnings, terminal)?;
    let after = arguments.network.choose(after, true, terminal)?;
    let models =
        Models::read([&arguments.model_a, &arguments.model_b].map(Option::as_deref), [&before, &after])?;
    models.warn(terminal);
    let comparison = compared(&before, &after, &models.names)?;
    if comparison.basis == Basis::Nothing {
        let sides = say!("{} and ", arguments.before.display()) + &arguments.after.display().to_string();
        return Err(anyhow!("{}", say!("there are no times that can be compared")).context(sides));
    }
    let shown = Shown { top: arguments.top, each: arguments.each };
    let text = if arguments.json {
        to_json(&comparison, models.to_json()).about([&before, &after]).to_text()?
    } else if arguments.markdown {
        let losses = [("A", &before), ("B", &after)].into_iter().filter_map(|(side, profile)| {
            Some(say!("{side} has lost {}", profile.losses_in_short(Severity::Lost, 3)?))
        });
        to_markdown(&comparison, shown, losses.chain(models.lines()))
    } else {
        let lines = models.lines().into_iter().map(|line| format!("{}\n", dim(&printable(&line))));
        to_text(&comparison, shown, terminal.width()) + &lines.collect::<String>()
    };
    // Whoever reads the answer may go away; the page is wanted all the same.
    let printed = terminal.print(&text);
    if let Some((output, origin)) = arguments.page.html.as_ref().zip(origin) {
        let words = page_command(arguments, output);
        let content =
            Content { against: Some(&before), models: Some(&models), ..Content::usual(command_line(words)) };
        html::write(&after, origin, &content, output, terminal)?;
    }
    printed?;
    Ok(Exit::Done)
}

/// The command that makes the page again. A report with A's model would show the graph of B's as well.
fn page_command(arguments: &Arguments, output: &Path) -> impl Iterator<Item = String> {
    let path = |path: &Path| path.display().to_string();
    let (before, after) = (path(&arguments.before), path(&arguments.after));
    let models = [("--model-a", &arguments.model_a), ("--model-b", &arguments.model_b)];
    let models: Vec<String> = models
        .into_iter()
        .filter_map(|(option, model)| Some([option.to_owned(), path(model.as_deref()?)]))
        .flatten()
        .collect();
    let words = match models.is_empty() {
        true => vec!["report".to_owned(), after, "--against".to_owned(), before],
        false => [vec!["compare".to_owned(), before, after], models, vec!["--html".to_owned(), path(output)]]
            .concat(),
    };
    ["opscope".to_owned()].into_iter().chain(words)
}

/// The differences of two profiles, without those that the settings of the current folder silence. The names of nodes
/// are those of A's and B's models.
///
/// # Errors
/// When the settings can't be read.
pub fn compared<'t>(
    before: &'t Opened,
    after: &'t Opened,
    [of_before, of_after]: &'t [NodeNames; 2],
) -> anyhow::Result<Comparison<'t>> {
    let mut comparison = Comparison::joined(before, after, [of_before, of_after]);
    silence_suspects(&mut comparison)?;
    Ok(comparison)
}
