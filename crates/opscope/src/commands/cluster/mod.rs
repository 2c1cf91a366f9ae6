//! `opscope cluster`: which rank or link of a run on many devices costs all of them how much, and why.

mod comm;
mod compare;
mod engine;
mod experts;
mod export;
mod import;
mod info;
pub mod page;
mod queries;
mod slow;
pub mod source;
mod sql;
mod summary;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use opscope_reach::{Findings, Stage};
use opscope_say::{say, word};

use super::form::FormArguments;
use super::html::HtmlArguments;
use crate::exit::{Exit, UsageError};
use crate::report::cluster::{self, TablesForm};
use crate::terminal::Terminal;
use source::SourceArguments;

const EXAMPLES: &str = "\
Examples:
  opscope cluster profiling_data/                    who costs a step how much, and why
  opscope cluster profiling_data/ --json | jq .suspects
  opscope cluster host0/ host1/ host2/               one run, collected in several folders
  opscope cluster rank*.json.gz                      timelines of PyTorch's profiler, one of each rank
  opscope cluster profiling_data/ --fail-above 5%    for continuous integration
  opscope cluster profiling_data/ --html ranks.html  the same with pictures, as a page in one file
  opscope cluster slow profiling_data/ --rank 49     the operators in which a rank differs from its peers
  opscope cluster summary profiling_data/ --by stage where steps go
  opscope cluster comm profiling_data/ --group dp    collectives: waiting, transfer, bandwidth
  opscope cluster experts profiling_data/            tokens of experts by rank
  opscope cluster info profiling_data/               ranks, clocks, what is missing or damaged
  opscope cluster compare before/ after/             what got slower or faster, beyond noise
  opscope cluster export profiling_data/ --format timeline -o run.json
  opscope cluster import profiling_data/ -o set      Parquet files for quicker answers and other engines
  opscope cluster set                                the same answers from them

The folders hold the profile of each rank: a folder *_ascend_pt or *_ascend_ms with databases or text,
a raw directory PROF_*, a database msprof_*.db, a timeline of PyTorch's that tells its rank (*.json,
*.json.gz), or a database of opscope's; or, where nothing else is left, the cluster_analysis.db or the
cluster_*.json and .csv of all.

'Costs a step' is what a step would save if this rank or link were as quick as its peers and all else stayed
as it is; 'alone' is what it would cost in an otherwise healthy run. They differ where one hides another.
Both come from replaying the matched collectives, not from counting who waits: the rank that waits longest
is usually the victim. What lies within the noise isn't named.

With --fail-above, the exit status is 1 if a step would be shorter by more than that with no rank and no link
slower than its peers, and suspects are named for it, and 3 if nobody stands out of the noise.";

/// The options of `opscope cluster`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    source: SourceArguments,

    /// Fail if a step would be shorter by more than this without its suspects
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    fail_above: Option<f64>,

    #[command(flatten)]
    form: FormArguments,

    #[command(flatten)]
    page: HtmlArguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show the suspects, or all that is known of one of them
    Slow(slow::Arguments),
    /// Show ranks, hosts, clocks, and what is missing or damaged
    Info(info::Arguments),
    /// Compare two runs: by part of a step, kind of collective, and rank
    Compare(compare::Arguments),
    /// Write the run for other programs: MindStudio Insight, timelines, tables
    Export(export::Arguments),
    /// Show where steps go, by rank, stage, host or step
    Summary(summary::Arguments),
    /// Show collectives by use and type, the links that carry them, or one of them rank by rank
    Comm(comm::Arguments),
    /// Show tokens and time of experts by rank and group
    Experts(experts::Arguments),
    /// Print the SQL behind the tables, for a set and any engine
    Queries(queries::Arguments),
    /// Ask a set anything, in SQL
    Sql(sql::Arguments),
    /// Make of the ranks' profiles a set: Parquet files that answer quicker, and that any engine reads
    Import(import::Arguments),
}

/// Examines the ranks and prints the answer.
///
/// # Errors
/// When there are none, or nothing in them can be compared.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    match &arguments.command {
        Some(Command::Slow(arguments)) => return slow::execute(arguments, terminal),
        Some(Command::Info(arguments)) => return info::execute(arguments, terminal),
        Some(Command::Compare(arguments)) => return compare::execute(arguments, terminal),
        Some(Command::Export(arguments)) => return export::execute(arguments, terminal),
        Some(Command::Summary(arguments)) => return summary::execute(arguments, terminal),
        Some(Command::Comm(arguments)) => return comm::execute(arguments, terminal),
        Some(Command::Experts(arguments)) => return experts::execute(arguments, terminal),
        Some(Command::Queries(arguments)) => return queries::execute(arguments, terminal),
        Some(Command::Sql(arguments)) => return sql::execute(arguments, terminal),
        Some(Command::Import(arguments)) => return import::execute(arguments, terminal),
        None => {}
    }
    let inputs: Vec<&Path> = arguments.source.paths.iter().map(PathBuf::as_path).collect();
    refuse_command(&inputs)?;
    arguments.page.check(&inputs)?;
    let findings = arguments.source.examine(terminal)?;
    if let Some(output) = &arguments.page.html {
        page::write(&findings, &arguments.source, output, terminal)?;
    }
    let rows = |as_csv| {
        cluster::suspects_rows(&findings, cluster::plain(&findings), cluster::Asked::default(), as_csv)
    };
    terminal.print(&match source::form_of(&arguments.form, terminal) {
        TablesForm::Json => cluster::to_json(&findings).to_text()?,
        TablesForm::Text(width) => {
            let source = &arguments.source;
            cluster::to_text(&findings, &source.paths, source.run.as_deref(), width)
        }
        TablesForm::Csv => rows(true)?,
        TablesForm::Markdown => rows(false)?,
    })?;
    Ok(arguments.fail_above.map_or(Exit::Done, |limit| judge(&findings, limit)))
}

fn described(stage: Stage) -> String {
    match stage {
        Stage::Looking => word("looking for ranks").to_owned(),
        Stage::Reading(done, all) => say!("reading ranks: {done} of {all}"),
        Stage::Matching => word("matching collectives and aligning clocks").to_owned(),
        Stage::Replaying => word("replaying the run without each suspect").to_owned(),
        Stage::Explaining => word("comparing the suspects' operators with their peers'").to_owned(),
    }
}

/// Refuses a command behind options, which clap takes for a folder.
fn refuse_command(inputs: &[&Path]) -> Result<(), UsageError> {
    let word = inputs.first().filter(|path| !path.exists()).and_then(|path| path.to_str());
    match word.filter(|word| Command::has_subcommand(word)) {
        Some(word) => Err(UsageError(say!(
            "'{word}' is a command of opscope cluster: put options behind it (opscope cluster {word} …), or write \
             ./{word} for a folder of that name"
        ))),
        None => Ok(()),
    }
}

/// Whether the run passes a limit, given as a share of the step.
fn judge(findings: &Findings, limit: f64) -> Exit {
    let costs = &findings.costs;
    let lost = (costs.step_ns - costs.reachable_ns) / costs.step_ns;
    match (lost > limit, costs.suspects.iter().any(|suspect| suspect.is_named)) {
        (false, _) => Exit::Done,
        (true, true) => Exit::Failed,
        (true, false) => Exit::Undecided,
    }
}

/// A share such as `5%`, as a fraction.
fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    match number {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(say!("expected a share from 0% to 100%, found '{text}'")),
    }
}
