//! `opscope whatif`: what a change would save, before anybody makes it.

use std::path::PathBuf;

use clap::Args;
use opscope_analyze::{Edit, EditError, predict};
use opscope_say::{say, word};
use opscope_trace::Trace;

use crate::exit::{Exit, UsageError};
use crate::likeness::meant_operator;
use crate::profile::{self, NetworkArguments, Tell};
use crate::report::whatif::{to_json, to_text};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope whatif profile.db --remove TransData
  opscope whatif profile.db --scale Conv=0.5 --scale Softmax=2
  opscope whatif PROF_000001/ --fuse \"Conv+BatchNormalization+Relu\"

Operators are named by type (in any engine's spelling) or by name. The figure is a prediction by
Amdahl's law: what isn't named keeps its measured time. Of fused operators only the first keeps its
time, which is the most that fusing can save.";

/// The options of `opscope whatif`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// A profile of any kind
    #[arg(value_name = "PATH")]
    path: PathBuf,

    #[command(flatten)]
    network: NetworkArguments,

    /// Operators that would take no time; may be given several times
    #[arg(long, value_name = "OPERATOR")]
    remove: Vec<String>,

    /// Operators whose time would be multiplied; may be given several times
    #[arg(long, alias = "op", value_name = "OPERATOR=FACTOR")]
    scale: Vec<String>,

    /// Types that follow one another and would become one; may be given several times
    #[arg(long, value_name = "TYPE+TYPE")]
    fuse: Vec<String>,

    /// Print the answer as JSON
    #[arg(long)]
    json: bool,
}

/// Predicts and prints.
///
/// # Errors
/// When the profile can't be read, or an edit can't be read or matches nothing.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let edits = edits(arguments)?;
    let trace = profile::open(&arguments.path, Tell::Warnings, terminal)?;
    let trace = arguments.network.choose(trace, false, terminal)?;
    if trace.tasks.is_empty() {
        anyhow::bail!(
            "{}",
            say!("{}: the profile has no operators to predict with", arguments.path.display())
        );
    }
    let prediction = predict(&trace, &edits).map_err(|error| refusal(&trace, error))?;
    let text = match arguments.json {
        true => to_json(&edits, &prediction).about([&trace]).to_text()?,
        false => to_text(&edits, &prediction),
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

/// The error with the operator that was probably meant, where one is spelled alike.
fn refusal(trace: &Trace, error: EditError) -> anyhow::Error {
    let EditError::NoMatch { text, words, known } = &error else { return error.into() };
    let mut hints = words.iter().map(|word| meant_operator(trace, word));
    let Some(hint) = hints.find(|hint| !hint.is_empty()) else { return error.into() };
    anyhow::Error::msg(say!(
        "no operator of the profile matches `{text}`{hint}; it has operators of the types {known}"
    ))
}

fn edits(arguments: &Arguments) -> anyhow::Result<Vec<Edit>> {
    let usage = |error: opscope_analyze::EditError| UsageError(error.to_string());
    let mut edits: Vec<Edit> = arguments.remove.iter().cloned().map(Edit::Remove).collect();
    for text in &arguments.scale {
        edits.push(Edit::scale(text).map_err(usage)?);
    }
    for text in &arguments.fuse {
        edits.push(Edit::fuse(text).map_err(usage)?);
    }
    if edits.is_empty() {
        return Err(
            UsageError(word("say what is to change with --remove, --scale or --fuse").to_owned()).into()
        );
    }
    Ok(edits)
}
