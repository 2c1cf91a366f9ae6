//! `opscope sample`: models, raw directories and collections of many ranks to try things on.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use opscope_model::proto::encode;
use opscope_model::samples::Sample;
use opscope_say::{say, word};

use super::run::create_folder;
use crate::exit::{Exit, UsageError};
use crate::likeness::nearest;
use crate::terminal::{Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope sample --list
  opscope sample resnet50                    writes resnet50.onnx
  opscope sample yolo-mish -o net.onnx --seed 7
  opscope sample prof -o runs --chip 310p    a raw directory as a run on Ascend leaves it
  opscope sample opprof -o runs              single operators as msprof op leaves them
  opscope sample cluster -o runs --ranks 64  profiles of many ranks with known faults

The weights are made up, but scaled so that every layer's values stay finite and varied: the time
that such a model takes is that of the real one. The same seed gives the same file.";

/// The options of `opscope sample`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,

    /// Which model
    #[arg(required_unless_present = "list", value_name = "NAME")]
    name: Option<String>,

    /// The file to write [default: NAME.onnx]
    #[arg(short, long, value_name = "FILE.onnx")]
    output: Option<PathBuf>,

    /// Seeds the weights
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// List the models
    #[arg(long, conflicts_with_all = ["name", "output"])]
    list: bool,
}

/// Samples that aren't models.
#[derive(Debug, Subcommand)]
enum Other {
    /// Write a raw directory (PROF_*) as a run on Ascend leaves it
    Prof(super::sample_prof::Arguments),
    /// Write a folder (OPPROF_*) as msprof op leaves it of single operators
    Opprof(Opprof),
    /// Write profiles of many ranks (*_ascend_pt) with known faults, and what each fault costs
    Cluster(super::sample_cluster::Arguments),
}

/// The options of `opscope sample opprof`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  opscope sample opprof -o runs
  opscope sample opprof -o runs --blocks 40 && opscope advise runs/OPPROF_*

Four kernels of a 910B in the vendor's tables, each limited by something else: transfer, the cube,
the scalar unit, the vector unit.")]
struct Opprof {
    /// The folder to put the folder into
    #[arg(short, long, default_value = ".", value_name = "DIR")]
    output: PathBuf,

    /// How many blocks the kernels have
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    blocks: u32,

    /// Seeds the times of the blocks
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

fn write_operators(arguments: &Opprof, terminal: &Terminal) -> anyhow::Result<Exit> {
    create_folder(&arguments.output)?;
    let path = opscope_cann::write_single_operators(&arguments.output, arguments.blocks, arguments.seed)?;
    terminal.note(&say!("see what limits its kernels with: opscope advise {}", path.display()));
    terminal.print(&format!("{}\n", path.display()))?;
    Ok(Exit::Done)
}

/// Writes a model, or lists them.
///
/// # Errors
/// When there is no such model, or the file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    match &arguments.other {
        Some(Other::Prof(arguments)) => return super::sample_prof::execute(arguments, terminal),
        Some(Other::Opprof(arguments)) => return write_operators(arguments, terminal),
        Some(Other::Cluster(arguments)) => return super::sample_cluster::execute(arguments, terminal),
        None => {}
    }
    let Some(name) = &arguments.name else {
        terminal.print(&list())?;
        return Ok(Exit::Done);
    };
    let sample = find(name)?;
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{sample}.onnx")));
    write(sample, arguments.seed, &path)?;
    terminal.note(&say!("wrote {}; run it with: opscope run {}", path.display(), path.display()));
    Ok(Exit::Done)
}

/// Writes a sample model, whole or not at all.
///
/// # Errors
/// When the file can't be written.
pub fn write(sample: Sample, seed: u64, path: &Path) -> anyhow::Result<()> {
    let bytes = encode(&sample.build(seed));
    opscope_files::write_atomically(path, |file| file.write_all(&bytes))
        .with_context(|| say!("{}: cannot write the model", path.display()))
}

fn find(name: &str) -> Result<Sample, UsageError> {
    Sample::from_name(name).ok_or_else(|| {
        let hint = nearest(name, Sample::ALL.iter().map(|sample| sample.name()), 0.6);
        let hint = hint.map_or(String::new(), |sample| say!(" (did you mean '{sample}'?)"));
        let names: Vec<&str> = Sample::ALL.iter().map(|sample| sample.name()).collect();
        UsageError(say!("there is no sample named '{name}'{hint}; there are: {}", names.join(", ")))
    })
}

fn list() -> String {
    let mut text = String::new();
    for sample in Sample::ALL {
        let _ = writeln!(text, "{} {}", bold(&format!("{:13}", sample.name())), word(sample.description()));
    }
    text
}
