//! `opscope cluster summary`: where steps go, by rank or by what ranks have in common.

use clap::{Args, ValueEnum};
use opscope_reach::{By, Role, summary};
use opscope_say::word;

use super::source::{SourceArguments, form_of};
use crate::commands::form::FormArguments;
use crate::exit::Exit;
use crate::report::cluster::{self, TablesForm};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster summary profiling_data/
  opscope cluster summary set --by stage
  opscope cluster summary set --by step --csv > steps.csv
  opscope cluster summary set --json | jq '.rows[] | select(.unaccounted_ns > 1e6)'

A step is computing, waiting for other ranks, waiting for a sender (bubble), transfer that no computing
hides, and idle, when no operator and no collective runs (copies count as idle). Each is measured by itself; what they leave of the step,
or exceed it by, is told as unaccounted where it is more than a thousandth: a task that reaches into the
next step, or records that contradict. Imbalance is how much longer than the mean the busiest rank of a
line computes. A line is the mean of all steps of its ranks; that of opscope cluster is the mean of the
run's steps, each of which counts once, however many ranks lack it.";

/// The options of `opscope cluster summary`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,

    /// The property by which ranks are put together: tp, dp, ep and cp are the places in groups of that use
    #[arg(long, value_enum, default_value_t)]
    by: Grouping,

    #[command(flatten)]
    form: FormArguments,
}

/// The property by which ranks are put together, as a word of the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Grouping {
    #[default]
    Rank,
    Stage,
    Host,
    Dp,
    Tp,
    Pp,
    Ep,
    Cp,
    Step,
}

/// Prints the account.
///
/// # Errors
/// When there are no ranks, or a set keeps no collectives.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let (by, of) = match arguments.by {
        Grouping::Rank => (By::Rank, "rank"),
        Grouping::Host => (By::Host, "host"),
        Grouping::Step => (By::Step, "step"),
        Grouping::Stage => (By::Place(Role::Pp), "stage"),
        Grouping::Pp => (By::Place(Role::Pp), "pp"),
        Grouping::Dp => (By::Place(Role::Dp), "dp"),
        Grouping::Tp => (By::Place(Role::Tp), "tp"),
        Grouping::Ep => (By::Place(Role::Ep), "ep"),
        Grouping::Cp => (By::Place(Role::Cp), "cp"),
    };
    let findings = arguments.source.survey(terminal)?;
    let rows = summary(&findings, by);
    let losses = cluster::losses(&findings);
    let form = form_of(&arguments.form, terminal);
    let mut text = cluster::print(&cluster::summary_tables(&findings, &rows, of), form, losses)?;
    if by == By::Step && findings.incomparable.is_none() && matches!(form, TablesForm::Text(_)) {
        text.push_str(word(
            "\nEach is the mean of the ranks' own steps; the run's step goes on until the last rank ends, and may be longer: \
             opscope cluster slow --step tells it\n",
        ));
    }
    terminal.print(&text)?;
    Ok(Exit::Done)
}
