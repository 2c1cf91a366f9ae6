//! `opscope cluster slow`: the suspects, and the evidence against one of them.

use clap::Args;
use opscope_reach::{Findings, Who};
use opscope_say::say;

use super::source::SourceArguments;
use crate::exit::{Exit, UsageError};
use crate::report::cluster;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster slow profiling_data/
  opscope cluster slow profiling_data/ --rank 49
  opscope cluster slow profiling_data/ --link 0-28 --json";

/// The options of `opscope cluster slow`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,

    /// Show what is known of this rank
    #[arg(long, value_name = "RANK", conflicts_with = "link")]
    rank: Option<u32>,

    /// Show what is known of the link from one rank to another
    #[arg(long, value_name = "A-B", value_parser = parse_link)]
    link: Option<(u32, u32)>,

    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// Prints the suspects, or one of them.
///
/// # Errors
/// When nothing can be compared, or there is no such rank.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let findings = arguments.source.examine(terminal)?;
    let chosen = match (arguments.rank, arguments.link) {
        (None, None) => None,
        (rank, link) => {
            for rank in rank.into_iter().chain(link.into_iter().flat_map(|(a, b)| [a, b])) {
                check_rank(&findings, rank)?;
            }
            Some(find(&findings, rank, link))
        }
    };
    let text = match (arguments.json, chosen) {
        (true, Some(chosen)) => cluster::suspects_json(&findings, chosen.into_iter()).to_text()?,
        (true, None) => cluster::suspects_json(&findings, 0..findings.costs.suspects.len()).to_text()?,
        (false, Some(Some(chosen))) => cluster::suspect_text(&findings, chosen, terminal.width()),
        (false, Some(None)) => {
            let who = match (arguments.rank, arguments.link) {
                (Some(rank), _) => say!("rank {rank}"),
                (_, Some((a, b))) => say!("the link {a} → {b}"),
                _ => String::new(),
            };
            cluster::innocent_text(&findings, &who)
        }
        (false, None) => cluster::suspects_text(&findings, terminal.width()),
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

/// Refuses a rank that isn't there.
///
/// # Errors
/// When it isn't.
pub fn check_rank(findings: &Findings, rank: u32) -> Result<(), UsageError> {
    if findings.run.rank_of(rank).is_some() {
        return Ok(());
    }
    let numbers = |it: Option<&opscope_reach::Rank>| it.map_or(0, |rank| rank.number);
    let (first, last) = (numbers(findings.run.ranks.first()), numbers(findings.run.ranks.last()));
    Err(UsageError(say!(
        "there is no rank {rank} among those from {first} to {last}; see opscope cluster info"
    )))
}

/// The suspect of a rank or link.
fn find(findings: &Findings, rank: Option<u32>, link: Option<(u32, u32)>) -> Option<usize> {
    let number = |index: usize| findings.run.ranks[index].number;
    findings.costs.suspects.iter().position(|suspect| match &suspect.who {
        Who::Rank(index) => Some(number(*index)) == rank,
        Who::Link(found) => {
            link.is_some_and(|(a, b)| number(found.src) == a && found.dst.is_none_or(|dst| number(dst) == b))
        }
        Who::Group(_) => false,
    })
}

/// A link such as `0-28`.
fn parse_link(text: &str) -> Result<(u32, u32), String> {
    let parsed =
        text.split_once('-').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    parsed.ok_or_else(|| say!("expected two ranks such as 0-28, found '{text}'"))
}
