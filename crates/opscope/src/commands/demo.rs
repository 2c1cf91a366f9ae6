//! `opscope demo`: the main job on a model of our own.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use opscope_model::samples::Sample;
use opscope_run::{InputRequest, Repetition, RunOptions};

use super::outputs::{AnswerArguments, FileArguments};
use super::run::{EngineArguments, conclude, create_folder, run_model};
use super::sample;
use crate::exit::Exit;
use crate::terminal::{Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope demo
  opscope demo -o /tmp/try --engine ort

Writes a face-mask detector (an SSD of 260x260 pixels whose convolutions, normalisations and
activations are not fused) into the folder, runs it, shows where the time goes, and leaves a
timeline and a database beside it.";

/// The options of `opscope demo`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The folder for the model, the timeline and the database
    #[arg(short, long, default_value = "opscope-demo", value_name = "DIR")]
    output: PathBuf,

    #[command(flatten)]
    engine: EngineArguments,
}

/// Writes the model, runs it, shows the answer, and names what to try next.
///
/// # Errors
/// When the folder can't be written or the model can't be run.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let folder = &arguments.output;
    create_folder(folder)?;
    let model = folder.join("mask-ssd.onnx");
    sample::write(Sample::MaskSsd, 0, &model)?;
    terminal.note(&format!("wrote the model {}", model.display()));

    let budget = Some(Duration::from_secs(3));
    let options = RunOptions {
        inputs: InputRequest::default(),
        engine: arguments.engine.options(),
        repetition: Repetition { budget, ..Repetition::default() },
    };
    let outcome = run_model(&model, &options, terminal)?;
    let answer = AnswerArguments { top: 5, json: false };
    answer.print(&outcome.trace, terminal)?;
    terminal.print("\n")?;
    let files = FileArguments {
        trace: Some(folder.join("timeline.json")),
        db: Some(folder.join("run.db")),
        ..FileArguments::default()
    };
    files.write(&outcome.trace, terminal)?;
    terminal.print(&next_steps(&model))?;
    Ok(conclude(&outcome, terminal))
}

fn next_steps(model: &std::path::Path) -> String {
    let model = model.display();
    format!(
        "\n{}\n  \
         opscope run {model} -t 0                    all operators\n  \
         opscope run {model} --optimize off          the model as it was exported\n  \
         opscope run {model} --engine ort            the same on ONNX Runtime (pip install onnxruntime)\n  \
         opscope sample yolo-mish && opscope run yolo-mish.onnx\n  \
         opscope run YOUR_MODEL.onnx\n",
        bold("Try next:")
    )
}
