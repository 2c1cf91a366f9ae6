//! `opscope cluster comm`: collectives, the links that carry them, and one of them rank by rank.

use clap::Args;
use opscope_reach::{
    CollectiveType, CollectivesFilter, Findings, Role, collectives, group_of, instances, matrix,
};
use opscope_say::{say, word};

use super::source::{SourceArguments, form_of};
use crate::commands::form::FormArguments;
use crate::exit::{Exit, UsageError};
use crate::report::{cluster, count};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster comm profiling_data/
  opscope cluster comm set --group dp
  opscope cluster comm set --group dp:28 --type reduceScatter     the group of copies that has rank 28
  opscope cluster comm set --matrix --csv > links.csv             bandwidth of each pair of ranks
  opscope cluster comm set --instance dp:28/7                     who waited for whom in one of them

Waiting is until the last rank came, transfer from then on, both as a mean over ranks a step. They aren't
lost as a whole: what computing hides of them costs nothing. Until a rank that wasn't recorded is taken to
have come, the others of incomplete collectives wait for it, which is inferred. Bytes are those that ranks
hand in; texts of the vendor's tell those that went over links instead. Bandwidths are bytes by the time
that links carried them, as the profiles tell it.";

/// The options of `opscope cluster comm`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    source: SourceArguments,

    /// Only groups of a use (tp, pp, dp, ep, cp, other), or one group: a use and one of its ranks, such as
    /// dp:28, or its name or number
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,

    /// Only collectives of a type, such as allReduce
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_type)]
    kind: Option<CollectiveType>,

    /// Show the traffic between each two ranks
    #[arg(long, conflicts_with = "instance")]
    matrix: bool,

    /// Show one collective rank by rank: its group and its number in it, such as dp:28/7
    #[arg(long, value_name = "GROUP/NUMBER", conflicts_with_all = ["group", "kind"])]
    instance: Option<String>,

    #[command(flatten)]
    form: FormArguments,
}

/// Prints collectives, links or one collective.
///
/// # Errors
/// When nothing can be compared, or there is no such group or collective.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    // Links are told by each rank alone, waits by all.
    let findings = match arguments.matrix {
        true => arguments.source.survey(terminal)?,
        false => arguments.source.examine(terminal)?,
    };
    let form = form_of(&arguments.form, terminal);
    let filter = filter(&findings, arguments)?;
    let tables = match &arguments.instance {
        Some(word) => cluster::instance_tables(&find_instance(&findings, word)?, form),
        None if arguments.matrix => cluster::matrix_tables(&matrix(&findings, &filter)),
        None => cluster::collectives_tables(&collectives(&findings, &filter)),
    };
    if tables.iter().all(cluster::Named::is_empty) {
        terminal.note(&match arguments.matrix {
            true => no_links(findings.unnamed_links(&filter)),
            false => word("there are no collectives of this group and type").to_owned(),
        });
    }
    let losses = cluster::losses(&findings);
    terminal.print(&cluster::print(&tables, form, losses)?)?;
    Ok(Exit::Done)
}

/// Why no links are shown, by how many there are of which nothing says between which ranks they are.
fn no_links(unnamed: usize) -> String {
    match unnamed {
        0 => word("the profiles tell no links of these collectives").to_owned(),
        unnamed => say!(
            "the profiles tell of {} of these collectives, and not of the ranks at the other ends, because the members \
             of their groups aren't declared; the profiles of the other ranks do",
            count(unnamed, "link")
        ),
    }
}

fn filter(findings: &Findings, arguments: &Arguments) -> Result<CollectivesFilter, UsageError> {
    let mut filter = CollectivesFilter { kind: arguments.kind, ..CollectivesFilter::default() };
    if let Some(word) = &arguments.group {
        match Role::ALL.into_iter().find(|role| role.name() == word) {
            Some(role) => filter.role = Some(role),
            None => filter.group_key = Some(group_of(findings, word).map_err(UsageError)?),
        }
    }
    Ok(filter)
}

fn find_instance(findings: &Findings, word: &str) -> Result<Vec<opscope_reach::InstanceParts>, UsageError> {
    let parsed = word.rsplit_once('/').and_then(|(group, number)| Some((group, number.parse::<i32>().ok()?)));
    let Some((group, number)) = parsed else {
        return Err(UsageError(say!("expected a group and a number such as dp:28/7, found '{word}'")));
    };
    let key = group_of(findings, group).map_err(UsageError)?;
    let found = instances(findings, key, number);
    if found.is_empty() {
        let of_group = findings.run.groups.iter().position(|it| it.key == key).unwrap_or(0) as u32;
        let numbers =
            || findings.run.events.iter().filter(|event| event.group == of_group).map(|event| event.sequence);
        let (first, last) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
        return Err(UsageError(say!(
            "group {group} has no collective {number}; its numbers go from {first} to {last}"
        )));
    }
    Ok(found)
}

fn parse_type(text: &str) -> Result<CollectiveType, String> {
    let kind = CollectiveType::of_name(text);
    match kind {
        CollectiveType::Other if text != "other" => Err(say!(
            "expected a type such as allReduce, allGather, reduceScatter, alltoall or receive, found '{text}'"
        )),
        // A send and its receive are one collective.
        CollectiveType::Send => Ok(CollectiveType::Receive),
        kind => Ok(kind),
    }
}
