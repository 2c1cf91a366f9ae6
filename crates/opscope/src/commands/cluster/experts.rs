//! `opscope cluster experts`: tokens and time of experts.

use clap::{Args, ValueEnum};
use opscope_formats::reading::Stop;
use opscope_reach::{Stage, experts};
use opscope_say::{say, word};

use super::described;
use super::source::{SourceArguments, form_of};
use crate::commands::form::FormArguments;
use crate::exit::{Exit, UsageError};
use crate::report::cluster;
use crate::terminal::{StepBar, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope cluster experts profiling_data/
  opscope cluster experts set --by product
  opscope cluster experts set --csv > experts.csv

Tokens are the first dimensions of what the grouped products of a rank (GroupedMatmul) multiply, summed
over a step: a token counts once for each product that it goes through. Loses is what a step loses at most
by the spread: the longest time of each product less the mean of its group, as if all waited for it. Ranks
are beside their group's mean, and lose, in the steps that all of the group have; one that was cut is
none. Profiles number no layers; products are numbered as they follow one another in a step, layer by
layer.";

/// How many products are printed where nobody says otherwise.
const USUAL: usize = 20;

/// The options of `opscope cluster experts`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,

    /// Lines for ranks and their groups, or for products
    #[arg(long, value_enum, default_value_t)]
    by: Lines,

    /// How many products are printed [default: 20; all as CSV and JSON]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    top: Option<u32>,

    #[command(flatten)]
    form: FormArguments,
}

/// The lines of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Lines {
    #[default]
    Rank,
    Product,
}

/// Prints experts by rank and group.
///
/// # Errors
/// When there are no ranks, or the set can't be read.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    if arguments.top.is_some() && arguments.by == Lines::Rank {
        return Err(UsageError(say!("--top is for products: --by product")).into());
    }
    let bar = StepBar::new(terminal);
    bar.step(&described(Stage::Looking));
    let profiles = arguments.source.open()?;
    let (recorded, losses) = profiles.experts(&Stop::default(), &|stage| bar.step(&described(stage)))?;
    drop(bar);
    for line in cluster::losses_lines(&losses) {
        terminal.warn(&line);
    }
    let found = experts(profiles.discovery(), &recorded);
    let without = &recorded.without_operators;
    if found.ranks.is_empty() && !arguments.form.json {
        let why = match without.len() == profiles.discovery().collections.len() {
            true => word("No rank recorded operators, which experts are found by.\n"),
            false => word(
                "No rank multiplies tokens of experts: there is no operator GroupedMatmul, nor aten::_grouped_mm.\n",
            ),
        };
        terminal.print(why)?;
        return Ok(Exit::Done);
    }
    if !without.is_empty() {
        terminal.warn(&cluster::without_operators(without));
    }
    let losses = losses.iter().map(cluster::loss_json).collect();
    let usual = if arguments.form.csv || arguments.form.json { usize::MAX } else { USUAL };
    let tables = match arguments.by {
        Lines::Rank => cluster::experts_tables(&found),
        Lines::Product => {
            vec![cluster::products_table(&found, arguments.top.map_or(usual, |top| top as usize))]
        }
    };
    terminal.print(&cluster::print(&tables, form_of(&arguments.form, terminal), losses)?)?;
    Ok(Exit::Done)
}
