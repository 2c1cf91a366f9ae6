//! `opscope where`: on which unit an operator ran.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use opscope_analyze::{Matched, locate};
use opscope_model::{Model, Origin};
use opscope_say::{say, word};
use opscope_trace::Trace;

use crate::exit::{Exit, UsageError};
use crate::likeness::meant_operator;
use crate::profile::{self, NetworkArguments, Tell};
use crate::report::locate::{self as report, MadeOf};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope where TopKD PROF_000001_20251009085320000_ABCDEFGH
  opscope where conv PROF_…                       every operator with conv in its name or type
  opscope where Conv2D PROF_… --json              with the time of every task
  opscope where relu1 PROF_… --model net.om       where a node of the network before its conversion went

An operator is looked for by its name and by its type, else by a part of its name; a name that is
also the type of other operators is shown as both (in JSON, the type is \"also\"). Tasks, times and
shares are those that analyze counts: of the measured iterations, without waiting and handling of
streams. The task ids are those that the vendor's files have (of a board's table of layers, its
layer ids); they are used again in every inference, and on every stream.
With the model that ran, OP may also be a node of the network that was converted: the operators that
were made of it are found, and what else they were made of is told.
Of operators on the AI CPU it is said why they are there, and what to put in their place. Where the
profile is a database of PyTorch's, the call that asked for an operator follows, with the program's lines.";

/// The options of `opscope where`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The operator's name or type, or a part of its name
    #[arg(value_name = "OP")]
    operator: String,

    /// A raw directory (PROF_*, JOB*), or any other profile
    #[arg(value_name = "DIR")]
    profile: PathBuf,

    /// The converted model that ran (.om): finds the operators that OP became a part of
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    network: NetworkArguments,

    /// Show the N most costly operators; 0 shows all
    #[arg(short, long, default_value_t = 10, value_name = "N")]
    top: usize,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Finds the operator and prints where it ran.
///
/// # Errors
/// When the profile can't be read, or no such operator ran.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    if !arguments.profile.exists() && Path::new(&arguments.operator).exists() {
        let (path, operator) = (&arguments.operator, arguments.profile.display());
        let text = say!(
            "{operator}: there is no such profile; the operator comes first: opscope where {operator} {path}"
        );
        return Err(UsageError(text).into());
    }
    let trace = profile::open(&arguments.profile, Tell::Warnings, terminal)?;
    let trace = arguments.network.choose(trace, false, terminal)?;
    let model = arguments.model.as_deref().map(Model::load).transpose()?;
    let mut found = locate(&trace, &arguments.operator);
    let made_of = model.as_ref().map(|model| made_of(model, &arguments.operator)).unwrap_or_default();
    // A part of a name may be that of another operator than the node.
    if found.iter().all(|it| it.matched == Matched::Part) && !made_of.is_empty() {
        found = made_of.iter().flat_map(|made| locate(&trace, &made.operator)).collect();
        found.retain(|it| it.matched == Matched::Name);
        if found.is_empty() {
            let names: Vec<&str> = made_of.iter().map(|made| made.operator.as_str()).collect();
            bail!("{}", say!("'{}' became {}, which did not run", arguments.operator, names.join(", ")));
        }
    }
    let [first, others @ ..] = found.as_slice() else {
        bail!("{}", unknown(&trace, &arguments.operator));
    };
    let text = match arguments.json {
        true => report::to_json(&trace, first, others, &made_of).about([&trace]).to_text()?,
        false => {
            let word = &arguments.operator;
            report::to_text(&trace, word, &found, &made_of, arguments.top, terminal.width())
        }
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

/// The operators of a converted model that a name stands for: one of its own, or those that were made of a node of
/// that name.
fn made_of(model: &Model, name: &str) -> Vec<MadeOf> {
    let nodes = model.graph().nodes().filter_map(|node| Some((node.name, model.origin(node.id)?)));
    let of_name = |(operator, origin): &(&str, &Origin)| {
        let is_other = origin.names.len() != 1 || origin.names[0] != *operator;
        is_other && (*operator == name || origin.names.iter().any(|node| node == name))
    };
    let made = nodes.filter(of_name).map(|(operator, origin)| MadeOf {
        operator: operator.to_owned(),
        nodes: origin.names.clone(),
        passes: origin.passes.clone(),
    });
    made.collect()
}

/// The message where no operator was found.
fn unknown(trace: &Trace, text: &str) -> String {
    if trace.operators.is_empty() && trace.tasks.is_empty() {
        return word("this profile names no operators").to_owned();
    }
    let hint = meant_operator(trace, text);
    say!("no operator of this profile has '{text}' as its name or type{hint}; 'opscope show' lists the types")
}
