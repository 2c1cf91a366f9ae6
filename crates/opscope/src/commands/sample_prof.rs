//! `opscope sample prof`: a raw directory as a run on an Ascend processor leaves it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use opscope_cann::{SampleLayout, SampleMode, SampleOptions, write_sample};
use opscope_cann_raw::Chip;
use opscope_say::say;

use super::run::create_folder;
use crate::exit::Exit;
use crate::terminal::{StepBar, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope sample prof -o runs
  opscope sample prof -o runs --chip 310p --mode static --tasks 5000
  opscope sample prof -o runs --tasks 1000000 && opscope export all runs

The records are like those of a real run of a detector, its operators repeated until there are enough
tasks. It is written as it is made, so any size takes the same memory. The same options give the same
bytes.";

/// The options of `opscope sample prof`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folder to put the directory into
    #[arg(short, long, default_value = ".", value_name = "DIR")]
    output: PathBuf,

    /// The processor
    #[arg(long, value_enum, default_value_t)]
    chip: ChipName,

    /// How many tasks the device executes
    #[arg(long, default_value_t = 1_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    tasks: u64,

    /// How the model is executed
    #[arg(long, value_enum, default_value_t)]
    mode: Mode,

    /// Which tool chain the files are like
    #[arg(long, value_enum, default_value_t)]
    layout: Layout,

    /// Seeds durations and counters
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// A processor on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ChipName {
    /// Ascend 910B
    #[default]
    #[value(name = "910b")]
    Ascend910B,
    /// Ascend 910
    #[value(name = "910")]
    Ascend910,
    /// Ascend 310P
    #[value(name = "310p")]
    Ascend310P,
    /// Ascend 310
    #[value(name = "310")]
    Ascend310,
    /// Ascend 950
    #[value(name = "950")]
    Ascend950,
}

/// A way to execute a model on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Mode {
    /// The model is loaded once and replayed
    Static,
    /// Each operator is launched anew in every inference
    #[default]
    Dynamic,
    /// Launches are captured into graphs and replayed, on two devices (910B, 950 and 310P)
    Graph,
    /// As dynamic, with collective operations that the device's own processors launch (910B and 950)
    Collective,
}

/// A layout of raw files on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Layout {
    /// Today's
    #[default]
    Modern,
    /// That of 2022 (CANN 5.x): a PROF_* directory with records of each component
    #[value(name = "2022")]
    Prof2022,
    /// That of 2022 with a single JOB* directory
    #[value(name = "job")]
    Job2022,
}

/// Writes the directory and prints its path.
///
/// # Errors
/// When it is there already, or can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let options = SampleOptions {
        chip: match arguments.chip {
            ChipName::Ascend910B => Chip::V4_1_0,
            ChipName::Ascend910 => Chip::V2_1_0,
            ChipName::Ascend310P => Chip::V3_3_0,
            ChipName::Ascend310 => Chip::V1_1_0,
            ChipName::Ascend950 => Chip::V6_1_0,
        },
        tasks: arguments.tasks,
        mode: match arguments.mode {
            Mode::Static => SampleMode::Static,
            Mode::Dynamic => SampleMode::Dynamic,
            Mode::Graph => SampleMode::Graph,
            Mode::Collective => SampleMode::Collective,
        },
        layout: match arguments.layout {
            Layout::Modern => SampleLayout::Current,
            Layout::Prof2022 => SampleLayout::Prof2022,
            Layout::Job2022 => SampleLayout::Job2022,
        },
        seed: arguments.seed,
    };
    create_folder(&arguments.output)?;
    let bar = StepBar::new(terminal);
    bar.step(&say!("writing {} tasks", arguments.tasks));
    let path = write_sample(&arguments.output, options)?;
    drop(bar);
    terminal.note(&say!("export it with: opscope export all {}", path.display()));
    terminal.print(&format!("{}\n", path.display()))?;
    Ok(Exit::Done)
}
