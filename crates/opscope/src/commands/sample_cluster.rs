//! `opscope sample cluster`: profiles of many ranks with known faults.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use opscope_reach_sample::{
    ClockErrors, Damage, Error, Fault, Layout, MOST_RANKS, Options, default_faults, write,
};
use opscope_say::say;

use super::run::create_folder;
use crate::exit::{Exit, UsageError};
use crate::terminal::{StepBar, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope sample cluster -o runs
  opscope sample cluster -o runs --ranks 64 --format both --seed 7
  opscope sample cluster -o gpus --format kineto
  opscope sample cluster --ranks 64 --fault slow-link=0-28:0.5 --fault ai-cpu=49:2ms
  opscope sample cluster --ranks 16 --fault none --damage missing=5 --damage cut=6
  opscope sample cluster --layout tp=2,pp=4,dp=8,ep=8 --devices-per-host 16 --steps 4 --warm-up 1.8

Faults:
  low-frequency=RANK[:FACTOR]   its operators take 1.25 times as long
  slow-link=FROM-TO[:PART]      0.35 of the bandwidth from one rank to another is left
  more-tokens=RANK[:FACTOR]     its experts get 2.2 times the tokens of the others
  ai-cpu=RANK[:TIME]            an operator of each layer takes 1500us on the AI CPU
  late-input=RANK[:TIME]        its input comes 9ms late in every step
  host-bound=RANK[:TIME]        its host launches each operator 60us late
  default, none                 one of each in different groups; nothing

Damages:
  missing=RANK   it isn't there              cut=RANK       its results end after two thirds
  twice=RANK     it is there twice           empty=RANK     its results are empty
  level0=RANK    no details of communication
  shifted=RANK   its collectives among copies are numbered one higher

The collection is a folder cluster_N_ranks_seed_S: db and text have a folder for each rank, as the
vendor's profiler for PyTorch leaves it, kineto has a timeline for each, and truth.json says what is
wrong and what each fault costs a step, found by simulating without it. It is made in blocks of ranks,
so any number of them takes the same memory. The same options give the same bytes.";

/// The options of `opscope sample cluster`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folder to put the collection into
    #[arg(short, long, default_value = ".", value_name = "DIR")]
    output: PathBuf,

    /// How many ranks there are
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=MOST_RANKS as i64))]
    ranks: u32,

    /// How they share the model, in place of the usual way for so many ranks
    #[arg(long, value_name = "tp=N,pp=N,dp=N,ep=N", conflicts_with = "ranks")]
    layout: Option<Layout>,

    /// How many ranks a host has
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_024))]
    devices_per_host: u32,

    /// How many steps are recorded
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    steps: u32,

    /// How many times as long the first step takes, on all ranks alike
    #[arg(long, default_value_t = 1.0, value_name = "TIMES")]
    warm_up: f64,

    /// How many layers a stage of the pipeline has
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    layers: u32,

    /// How many micro-batches a step has
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    microbatches: u32,

    /// A fault of the cluster (see below); can be given several times
    #[arg(long = "fault", value_name = "FAULT", value_delimiter = ',', value_parser = parse_fault, default_value = "default")]
    faults: Vec<FaultChoice>,

    /// A damage of a rank's files (see below); can be given several times
    #[arg(long = "damage", value_name = "DAMAGE", value_delimiter = ',', value_parser = parse_damage)]
    damages: Vec<(Damage, usize)>,

    /// How wrong the hosts' clocks are
    #[arg(long, value_enum, default_value_t)]
    clocks: Clocks,

    /// In which form results are written
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Seeds durations and clocks
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// A fault on the command line, or a word for several or none.
#[derive(Clone, Debug)]
enum FaultChoice {
    Default,
    None,
    One(Fault),
}

/// Clocks on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Clocks {
    /// They are right
    None,
    /// Some 3 ms, and drifting
    Near,
    /// The same, and one of three or more hosts is 73 s ahead
    #[default]
    Far,
}

/// A form of results on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Databases
    #[default]
    Db,
    /// Tables, JSON and timelines
    Text,
    /// Two collections with the same content
    Both,
    /// Timelines of PyTorch's profiler, as of GPUs: a file for each rank
    Kineto,
}

fn parse_fault(text: &str) -> Result<FaultChoice, Error> {
    match text {
        "default" => Ok(FaultChoice::Default),
        "none" => Ok(FaultChoice::None),
        _ => text.parse().map(FaultChoice::One),
    }
}

fn parse_damage(text: &str) -> Result<(Damage, usize), String> {
    let (damage, rank) =
        text.split_once('=').ok_or_else(|| say!("'{text}' is not of the form DAMAGE=RANK, such as cut=3"))?;
    let damage = damage.parse().map_err(|error: Error| error.to_string())?;
    Ok((damage, rank.parse().map_err(|_| say!("'{rank}' is no rank"))?))
}

/// Writes the collection and prints its path.
///
/// # Errors
/// When the options don't go together, it is there already, or can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let options = arguments.options().map_err(|error| UsageError(error.to_string()))?;
    create_folder(&arguments.output)?;
    let bar = StepBar::new(terminal);
    let ranks = options.layout.ranks();
    bar.step(&say!("simulating {ranks} ranks, with and without each fault"));
    let collection = write(&arguments.output, &options, &|written| {
        bar.step(&say!("rank {written} of {ranks} is written"))
    })?;
    drop(bar);
    let truth = &collection.truth;
    terminal.note(&say!(
        "a step takes {:.1} ms, without its faults ({}) {:.1} ms; truth.json says what each costs",
        truth.step_ms,
        truth.costs.len(),
        truth.step_without_faults_ms
    ));
    terminal.print(&format!("{}\n", collection.path.display()))?;
    Ok(Exit::Done)
}

impl Arguments {
    fn options(&self) -> Result<Options, Error> {
        let layout = self.layout.map_or_else(|| Layout::of(self.ranks as usize), Ok)?;
        let mut faults = Vec::new();
        for choice in &self.faults {
            match choice {
                FaultChoice::Default => faults.extend(default_faults(&layout)),
                FaultChoice::None => {}
                FaultChoice::One(fault) => faults.push(*fault),
            }
        }
        let options = Options {
            devices_per_host: self.devices_per_host as usize,
            layers: self.layers as usize,
            microbatches: self.microbatches as usize,
            steps: self.steps as usize,
            warm_up: self.warm_up,
            seed: self.seed,
            faults,
            clocks: match self.clocks {
                Clocks::None => ClockErrors::None,
                Clocks::Near => ClockErrors::Near,
                Clocks::Far => ClockErrors::Far,
            },
            damages: self.damages.clone(),
            databases: matches!(self.format, Format::Db | Format::Both),
            texts: matches!(self.format, Format::Text | Format::Both),
            timelines: self.format == Format::Kineto,
            ..Options::new(layout)
        };
        options.check()?;
        Ok(options)
    }
}
