//! `opscope cluster import`: profiles of ranks become a set of Parquet files.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use opscope_formats::reading::Stop;
use opscope_reach::{ImportOptions, Keep, Shard, has_several_runs, is_run_name};
use opscope_say::{say, word};

use super::described;
use crate::exit::Exit;
use crate::report::cluster;
use crate::terminal::{StepBar, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope cluster import profiling_data/ -o set
  opscope cluster set                                        the answers from the set
  opscope cluster import /local/profiles -o /shared/set      on each host: its own ranks, without copying
  srun --ntasks 16 sh -c 'opscope cluster import profiles -o set --shard $((SLURM_PROCID + 1))/16'
  opscope cluster import tuned/ -o set --run tuned           a second run beside the first
  duckdb -c \"SELECT type, sum(duration_ns) FROM read_parquet('set/operators/**/*.parquet') GROUP BY type\"

A rank is read at a time. Ranks that the set has from the
same data are left out: after an interruption, the same command goes on. Any number of importers can
write into one set. What they write is named when it is whole; until then nobody reads it.

The tables: ranks, steps, ends, collectives, links, operators, copies, calls, experts, frequency, marks,
losses; and once no rank is missing, or without --shard, those over all ranks: clocks, groups, members,
instances, arrivals, accounts, suspects, costs. Table losses has what reading the ranks lost or doubts,
and what comparing them does once these are there; its column reason is what JSON calls kind. Columns are
plain Parquet; times are nanoseconds.";

/// The options of `opscope cluster import`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Folders with the collections of ranks, at any depth
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,

    /// The set: a new or empty folder, or a set that there is already
    #[arg(short, long, value_name = "SET")]
    output: PathBuf,

    /// The run's name in the set
    #[arg(long, default_value = "run", value_name = "NAME", value_parser = parse_run)]
    run: String,

    /// Import only every N-th rank, from the K-th on: others do the rest
    #[arg(long, value_name = "K/N", value_parser = parse_shard)]
    shard: Option<Shard>,

    /// How much of each rank is kept
    #[arg(long, value_enum, default_value_t)]
    keep: KeepChoice,

    /// How many ranks are read at the same time [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Print what was imported as JSON
    #[arg(long)]
    json: bool,
}

/// How much is kept, on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum KeepChoice {
    /// Operators, collectives, steps: who costs how much, and why
    #[default]
    All,
    /// Collectives and steps: who costs how much
    Communication,
    /// Steps and traffic over links, of which only SQL makes tables
    Summary,
}

/// Imports ranks, and says how many.
///
/// # Errors
/// When there are none, or the set can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let options = ImportOptions {
        run: arguments.run.clone(),
        shard: arguments.shard,
        keep: match arguments.keep {
            KeepChoice::All => Keep::All,
            KeepChoice::Communication => Keep::Communication,
            KeepChoice::Summary => Keep::Summary,
        },
        jobs: arguments
            .jobs
            .or_else(|| std::thread::available_parallelism().ok())
            .map_or(1, NonZeroUsize::get),
    };
    let bar = StepBar::new(terminal);
    let imported =
        opscope_reach::import(&arguments.paths, &arguments.output, &options, &Stop::default(), &|stage| {
            bar.step(&described(stage));
        })?;
    drop(bar);
    for line in cluster::losses_lines(&imported.losses) {
        terminal.warn(&line);
    }
    let set = arguments.output.display().to_string();
    match arguments.json {
        true => terminal.print(&cluster::imported_json(&imported, &set, &arguments.run).to_text()?)?,
        false => {
            let run = Some(&*arguments.run).filter(|_| has_several_runs(&arguments.output));
            let text = cluster::imported_text(&imported, options.keep, &set, run, terminal.width());
            terminal.print(&text)?;
        }
    }
    Ok(Exit::Done)
}

fn parse_run(text: &str) -> Result<String, String> {
    match is_run_name(text) {
        true => Ok(text.to_owned()),
        false => Err(word("a name has 1 to 64 letters, digits, dots, hyphens and underscores, no dot first")
            .to_owned()),
    }
}

/// A shard such as `3/16`.
fn parse_shard(text: &str) -> Result<Shard, String> {
    let parsed = text
        .split_once('/')
        .and_then(|(number, of)| Some((number.trim().parse().ok()?, of.trim().parse().ok()?)));
    match parsed {
        Some((number, of)) if number >= 1 && number <= of => Ok(Shard { number, of }),
        _ => Err(say!("expected one of N such as 1/16 to 16/16, found '{text}'")),
    }
}
