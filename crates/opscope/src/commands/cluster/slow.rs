//! `opscope cluster slow`: the suspects, and the evidence against one of them.

use anyhow::bail;
use clap::Args;
use opscope_reach::{Ends, Findings, Who};
use opscope_say::say;

use super::source::{SourceArguments, form_of};
use crate::commands::form::FormArguments;
use crate::exit::{Exit, UsageError};
use crate::report::cluster::{self, Asked, TablesForm};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope cluster slow profiling_data/
  opscope cluster slow profiling_data/ --top 3
  opscope cluster slow profiling_data/ --rank 49
  opscope cluster slow profiling_data/ --rank 49 --step 11     its costs to that step, and its part in it
  opscope cluster slow profiling_data/ --host node6            a host, and the suspects on it
  opscope cluster slow profiling_data/ --link 0-28 --json
  opscope cluster slow profiling_data/ --csv > suspects.csv
  opscope cluster slow profiling_data/ --rank 49 --csv         the operators that differ, with all digits

A host stands for its ranks where most of them are slow, and an operator for all ranks that it
slows: without any one of them the others hold the run up, so that none costs anything by itself.
They are listed with these ranks, which opscope cluster leaves out.

The chain of work that ends a step last is found backwards from its end: a rank's own work, then
the transfer before it, then the rank that came last to that collective. Who isn't on it doesn't
lengthen the step. Causes and operators are those of all steps, also with --step.";

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

    /// Show what is known of this host, and the suspects on it
    #[arg(long, value_name = "HOST", conflicts_with_all = ["rank", "link"])]
    host: Option<String>,

    /// The costs to this step alone
    #[arg(long, value_name = "STEP", allow_negative_numbers = true)]
    step: Option<i32>,

    /// Show so many suspects at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["rank", "link"])]
    top: Option<u32>,

    #[command(flatten)]
    form: FormArguments,
}

/// Prints the suspects, or one of them.
///
/// # Errors
/// When nothing can be compared, or there is no such rank, host or step.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let findings = arguments.source.examine(terminal)?;
    let asked = Asked {
        step: arguments.step.map(|step| place_of_step(&findings, step)).transpose()?,
        top: arguments.top.map(|top| top as usize),
        in_full: arguments.rank.is_some() || arguments.link.is_some() || arguments.host.is_some(),
    };
    let host = arguments.host.as_deref().map(|name| find_host(&findings, name)).transpose()?;
    let is_suspect =
        |rank: &u32| arguments.rank == Some(*rank) && !suspects_of_rank(&findings, *rank).is_empty();
    let named = arguments.rank.into_iter().chain(arguments.link.into_iter().flat_map(|(a, b)| [a, b]));
    for rank in named.filter(|rank| !is_suspect(rank)) {
        check_rank(&findings, rank)?;
    }
    let form = form_of(&arguments.form, terminal);
    let text = match (arguments.rank, arguments.link, host) {
        (Some(rank), ..) => {
            let found = suspects_of_rank(&findings, rank);
            if found.is_empty() && !findings.run.is_recorded(rank) {
                bail!(UsageError(say!(
                    "no collectives of rank {rank} are there to compare, so that nothing is known of it; see opscope \
                     cluster info"
                )));
            }
            about(&findings, &found, &say!("rank {rank}"), asked, form)?
        }
        (_, Some((a, b)), _) => {
            let found = suspects_of_link(&findings, a, b);
            if found.is_empty() && !exchange(&findings, a, b) {
                bail!(UsageError(say!(
                    "the profiles tell nothing of a link from rank {a} to rank {b}; opscope cluster comm --matrix lists \
                     those that they tell of"
                )));
            }
            match form {
                // Nothing but its costs can be told in rows: a link runs no operators.
                TablesForm::Csv => cluster::suspects_rows(&findings, found, asked, true)?,
                TablesForm::Markdown => cluster::suspects_rows(&findings, found, asked, false)?,
                form => about(&findings, &found, &say!("the link {a} → {b}"), asked, form)?,
            }
        }
        (_, _, Some(host)) => about_host(&findings, host, asked, form)?,
        (None, None, None) => {
            let all = cluster::all_of(&findings);
            match form {
                TablesForm::Json => cluster::suspects_json(&findings, all, asked).to_text()?,
                TablesForm::Text(width) => cluster::suspects_text(&findings, all, asked, width),
                TablesForm::Csv => cluster::suspects_rows(&findings, all, asked, true)?,
                TablesForm::Markdown => cluster::suspects_rows(&findings, all, asked, false)?,
            }
        }
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}

/// Whether any traffic from a rank to another was recorded.
fn exchange(findings: &Findings, from: u32, to: u32) -> bool {
    let run = &findings.run;
    run.links.iter().any(|(_, link)| {
        let group = run.groups.iter().find(|group| group.key == link.group_key);
        let rank = |place: u32| group.and_then(|group| group.member(place));
        rank(link.src) == Some(from) && rank(link.dst) == Some(to)
    })
}

/// The evidence against the first of some suspects, and that the others stand for it.
fn about(
    findings: &Findings,
    found: &[usize],
    who: &str,
    asked: Asked,
    form: TablesForm,
) -> anyhow::Result<String> {
    Ok(match (form, found) {
        (TablesForm::Json, found) => cluster::suspects_json(findings, found.to_vec(), asked).to_text()?,
        (TablesForm::Csv, found) => cluster::differences_rows(findings, found.first().copied(), true)?,
        (TablesForm::Markdown, found) => cluster::differences_rows(findings, found.first().copied(), false)?,
        (TablesForm::Text(width), [first, others @ ..]) => {
            let text = cluster::suspect_text(findings, *first, asked, width);
            others.iter().fold(text, |text, other| text + &cluster::standing_text(findings, *other, asked))
        }
        (TablesForm::Text(_), []) => cluster::innocent_text(findings, who),
    })
}

/// The evidence against a host as a whole, if there is any, and a table of the suspects on it.
fn about_host(findings: &Findings, host: usize, asked: Asked, form: TablesForm) -> anyhow::Result<String> {
    let suspects = &findings.costs.suspects;
    let is_on_it = |index: &usize| {
        let ranks = cluster::ranks_of(findings, &suspects[*index].who);
        ranks.iter().any(|rank| findings.run.ranks[*rank].host == host)
    };
    let found: Vec<usize> = (0..suspects.len()).filter(is_on_it).collect();
    let width = match form {
        TablesForm::Json => return cluster::suspects_json(findings, found, asked).to_text(),
        TablesForm::Csv => return cluster::suspects_rows(findings, found, asked, true),
        TablesForm::Markdown => return cluster::suspects_rows(findings, found, asked, false),
        TablesForm::Text(width) => width,
    };
    let who = say!("host {}", findings.run.hosts[host]);
    let whole = found.iter().find(|index| suspects[**index].who == Who::Host(host));
    let text = whole.map(|index| cluster::suspect_text(findings, *index, asked, width));
    let table = match found.is_empty() {
        true => cluster::innocent_text(findings, &who),
        false => cluster::suspects_text(findings, found, asked, width),
    };
    Ok(text.map_or(String::new(), |text| text + "\n") + &table)
}

/// The place of a step among those of the run.
///
/// # Errors
/// When there is no such step.
pub fn place_of_step(findings: &Findings, step: i32) -> Result<usize, UsageError> {
    let steps = findings.run.steps();
    steps.binary_search(&step).map_err(|_| {
        let known: Vec<String> = steps.iter().map(i32::to_string).collect();
        UsageError(say!("there is no step {step}; there are {}", known.join(", ")))
    })
}

/// A host by its name.
fn find_host(findings: &Findings, name: &str) -> Result<usize, UsageError> {
    let hosts = &findings.run.hosts;
    hosts.iter().position(|host| host == name).ok_or_else(|| {
        /// How many are listed.
        const LISTED: usize = 12;
        let mut known: Vec<&str> = hosts.iter().take(LISTED).map(String::as_str).collect();
        if hosts.len() > LISTED {
            known.push("…");
        }
        UsageError(say!("there is no host '{name}'; there are {}", known.join(", ")))
    })
}

/// Refuses a rank that isn't there.
///
/// # Errors
/// When it isn't.
pub fn check_rank(findings: &Findings, rank: u32) -> Result<(), UsageError> {
    if findings.run.rank_of(rank).is_some() {
        return Ok(());
    }
    if findings.discovery.missing().contains(&rank) {
        return Err(UsageError(say!(
            "rank {rank} wasn't recorded, so that nothing of its own can be shown; see opscope cluster info"
        )));
    }
    let numbers = |it: Option<&opscope_reach::Rank>| it.map_or(0, |rank| rank.number);
    let (first, last) = (numbers(findings.run.ranks.first()), numbers(findings.run.ranks.last()));
    Err(UsageError(say!(
        "there is no rank {rank} among those from {first} to {last}; see opscope cluster info"
    )))
}

/// The suspects that a rank is, or that stand for it, the rank itself first.
fn suspects_of_rank(findings: &Findings, rank: u32) -> Vec<usize> {
    let is_it = |index: &usize| findings.run.ranks[*index].number == rank;
    let of = |which: &dyn Fn(&Who) -> bool| -> Vec<usize> {
        let suspects = &findings.costs.suspects;
        (0..suspects.len()).filter(|index| which(&suspects[*index].who)).collect()
    };
    let mut found = of(&|who| matches!(who, Who::Rank(it) if is_it(it)));
    found.extend(of(&|who| match who {
        Who::Host(_) | Who::Operator(..) => who.workers(&findings.run).iter().any(is_it),
        Who::Unrecorded(it) => it.ranks.contains(&rank),
        Who::Rank(_) | Who::Link(_) | Who::Group(_) => false,
    }));
    found
}

/// The suspects that a link is or is one of.
fn suspects_of_link(findings: &Findings, src: u32, dst: u32) -> Vec<usize> {
    let run = &findings.run;
    let (Some(src), Some(dst)) = (run.rank_of(src), run.rank_of(dst)) else { return Vec::new() };
    let (from, to) = (run.ranks[src].host, run.ranks[dst].host);
    let is_it = |who: &Who| match who {
        Who::Link(link) => match link.ends {
            Ends::Pair(a, b) => (a, b) == (src, dst),
            Ends::PortOut(rank) => rank == src,
            Ends::PortIn(rank) => rank == dst,
            Ends::AdapterOut(host) => host == from && from != to,
            Ends::AdapterIn(host) => host == to && from != to,
            Ends::Path(a, b) => (a, b) == (from, to),
        },
        Who::Rank(_) | Who::Group(_) | Who::Host(_) | Who::Operator(..) | Who::Unrecorded(_) => false,
    };
    let suspects = &findings.costs.suspects;
    (0..suspects.len()).filter(|index| is_it(&suspects[*index].who)).collect()
}

/// A link such as `0-28`.
fn parse_link(text: &str) -> Result<(u32, u32), String> {
    let parsed =
        text.split_once('-').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    parsed.ok_or_else(|| say!("expected two ranks such as 0-28, found '{text}'"))
}
