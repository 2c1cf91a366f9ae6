//! `opscope cluster experts`: tokens and time of experts.

use clap::Args;
use opscope_formats::reading::Stop;
use opscope_reach::{Stage, experts};
use opscope_say::word;

use super::described;
use super::source::{SourceArguments, form_of};
use crate::commands::form::FormArguments;
use crate::exit::Exit;
use crate::report::cluster;
use crate::terminal::{StepBar, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope cluster experts profiling_data/
  opscope cluster experts set --csv > experts.csv

Tokens are the first dimensions of what the grouped products of a rank (GroupedMatmul) multiply, summed
over a step: a token counts once for each product that it goes through. Loses is what a step loses at most
by the spread: the longest time of each product less the mean of its group, as if all waited for it.";

/// The options of `opscope cluster experts`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,

    #[command(flatten)]
    form: FormArguments,
}

/// Prints experts by rank and group.
///
/// # Errors
/// When there are no ranks, or the set can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let bar = StepBar::new(terminal);
    bar.step(&described(Stage::Looking));
    let profiles = arguments.source.open()?;
    let (rows, losses) = profiles.experts(&Stop::default(), &|stage| bar.step(&described(stage)))?;
    drop(bar);
    for line in cluster::losses_lines(&losses) {
        terminal.warn(&line);
    }
    let found = experts(profiles.discovery(), &rows);
    if found.ranks.is_empty() && !arguments.form.json {
        terminal
            .print(word("No rank multiplies tokens of experts: there is no operator GroupedMatmul, nor aten::_grouped_mm.\n"))?;
        return Ok(Exit::Done);
    }
    let losses = losses.iter().map(cluster::loss_json).collect();
    let tables = cluster::experts_tables(&found);
    terminal.print(&cluster::print(&tables, form_of(&arguments.form, terminal), losses)?)?;
    Ok(Exit::Done)
}
