//! `opscope demo`: the main job on a model of our own.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use opscope_model::samples::Sample;
use opscope_run::{InputRequest, Repetition, RunOptions};

use super::outputs::{AnswerArguments, FileArguments};
use super::rewrite::SelectionArguments;
use super::run::{EngineArguments, InputArguments, conclude, create_folder, run_model};
use super::{sample, tune};
use crate::exit::Exit;
use crate::terminal::{Terminal, bold};

const EXAMPLES: &str = "\
Examples:
  opscope demo
  opscope demo -o /tmp/try --engine ort

Writes a face-mask detector (an SSD of 260x260 pixels whose convolutions, normalisations and
activations are not fused) into the folder, runs it, shows where the time goes, and leaves a
timeline and a database beside it. Then it tunes it, and a YOLO with Mish as well: each rewrite is
checked and measured here, and kept only if it wins.";

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
    let end = conclude(&outcome, terminal);
    if end != Exit::Done {
        return Ok(end);
    }
    for (sample, allow_lossy) in [(Sample::MaskSsd, false), (Sample::YoloMish, true)] {
        let end = tune_sample(sample, allow_lossy, arguments, terminal)?;
        if end != Exit::Done {
            return Ok(end);
        }
    }
    terminal.print(&next_steps(&model))?;
    Ok(Exit::Done)
}

/// The loop on one model: rewrite, check, measure, keep what wins.
fn tune_sample(
    sample: Sample,
    allow_lossy: bool,
    arguments: &Arguments,
    terminal: &Terminal,
) -> anyhow::Result<Exit> {
    let model = arguments.output.join(format!("{sample}.onnx"));
    sample::write(sample, 0, &model)?;
    let lossy = if allow_lossy { " --allow-lossy" } else { "" };
    terminal.print(&format!("\n{}\n", bold(&format!("opscope tune {}{lossy}", model.display()))))?;
    let tuning = tune::Arguments {
        output: Some(arguments.output.join(format!("{sample}.tuned.onnx"))),
        report: Some(arguments.output.join(format!("{sample}-tuning"))),
        model,
        selection: SelectionArguments { allow_lossy, ..SelectionArguments::default() },
        judging: tune::JudgingArguments { duration: TUNING_BUDGET, ..tune::JudgingArguments::default() },
        json: false,
        inputs: InputArguments::default(),
        engine: arguments.engine.clone(),
    };
    tune::execute(&tuning, terminal)
}

/// How long each step of tuning is measured: short, for nobody waits gladly for a demonstration.
const TUNING_BUDGET: Duration = Duration::from_secs(1);

fn next_steps(model: &std::path::Path) -> String {
    let model = model.display();
    format!(
        "\n{}\n  \
         opscope run {model} -t 0                    all operators\n  \
         opscope run {model} --optimize off          the model as it was exported\n  \
         opscope run {model} --engine ort            the same on ONNX Runtime (pip install onnxruntime)\n  \
         opscope rewrite --list                  what tuning can do to a model\n  \
         opscope tune YOUR_MODEL.onnx\n",
        bold("Try next:")
    )
}
