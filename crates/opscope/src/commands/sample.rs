//! `opscope sample`: models and raw directories to try things on.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use opscope_model::proto::encode;
use opscope_model::samples::Sample;

use crate::exit::{Exit, UsageError};
use crate::terminal::{Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope sample --list
  opscope sample resnet50                    writes resnet50.onnx
  opscope sample yolo-mish -o net.onnx --seed 7
  opscope sample prof -o runs --chip 310p    a raw directory as a run on Ascend leaves it

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
}

/// Writes a model, or lists them.
///
/// # Errors
/// When there is no such model, or the file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    if let Some(Other::Prof(arguments)) = &arguments.other {
        return super::sample_prof::execute(arguments, terminal);
    }
    let Some(name) = &arguments.name else {
        terminal.print(&list())?;
        return Ok(Exit::Done);
    };
    let sample = find(name)?;
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{sample}.onnx")));
    write(sample, arguments.seed, &path)?;
    terminal.note(&format!("wrote {}; run it with: opscope run {}", path.display(), path.display()));
    Ok(Exit::Done)
}

/// Writes a sample model, whole or not at all.
///
/// # Errors
/// When the file can't be written.
pub fn write(sample: Sample, seed: u64, path: &Path) -> anyhow::Result<()> {
    let bytes = encode(&sample.build(seed));
    opscope_files::write_atomically(path, |file| file.write_all(&bytes))
        .with_context(|| format!("{}: cannot write the model", path.display()))
}

fn find(name: &str) -> Result<Sample, UsageError> {
    Sample::from_name(name).ok_or_else(|| {
        let similarity = |sample: &Sample| strsim::jaro_winkler(name, sample.name());
        let nearest = Sample::ALL.into_iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)));
        let hint = nearest.filter(|sample| similarity(sample) > 0.6);
        let hint = hint.map_or(String::new(), |sample| format!(" (did you mean '{sample}'?)"));
        let names: Vec<&str> = Sample::ALL.iter().map(|sample| sample.name()).collect();
        UsageError(format!("there is no sample named '{name}'{hint}; there are: {}", names.join(", ")))
    })
}

fn list() -> String {
    let mut text = String::new();
    for sample in Sample::ALL {
        let _ = writeln!(text, "{} {}", bold(&format!("{:13}", sample.name())), sample.description());
    }
    text
}
