//! `opscope tune`: rewrites that were measured to pay.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use opscope_model::Model;
use opscope_run::{EngineOptions, Repetition, RunClock, RunError, RunOptions, prepare};
use opscope_say::{say, word};
use opscope_tune::{Budget, Progress, TuneOptions, Tuned, tune};

use super::html::{self, HtmlArguments};
use super::outputs::check_target;
use super::rewrite::{SelectionArguments, check_output, warn_of_unknown_version, write_model};
use super::run::{EngineArguments, InputArguments, create_folder, parse_duration, run_model};
use crate::exit::{Exit, naming_model};
use crate::interrupt;
use crate::report::tune::{self as report, TuningRequest};
use crate::terminal::{StepBar, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope tune model.onnx
  opscope tune model.onnx --engine ort -o fast.onnx --report tuning/
  opscope tune model.onnx --html change.html         what became of each operator, drawn
  opscope tune bert.onnx --dim batch=1 --dim sequence=128
  opscope tune detector.onnx --input image=photo.npy --opset 18
  opscope tune yolo.onnx --engine ort --allow-lossy --max-error 0.05

What it does:
  The model runs as it is, on the other engine too: where the two disagree, nothing can be judged,
  and it stops. Then each rewrite (opscope rewrite --list) is applied to the best model so far. Its
  outputs are compared on your inputs and on three random ones; then both models run alternately,
  each prepared several times, and the step is kept only if it is faster beyond the noise. In the end,
  all rewrites are tried together, because some pay only together; and what was kept is measured once
  more, and withdrawn if it doesn't win again. The original file is never changed. With --html, both
  models run once more, recorded and one after the other; the verdict stays that of the alternate runs.

Errors:
  The relative error is the largest difference of two elements, in relation to the expected one or
  to the output's mean magnitude, whichever is greater. An exact rewrite beyond --tolerance is
  undone and the exit status is 1. With --allow-lossy, rewrites that change what the model computes
  are tried as well, and kept up to --max-error; the report lists the error of each.";

/// The options of `opscope tune`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// The model, an ONNX file
    #[arg(value_name = "MODEL.onnx")]
    pub model: PathBuf,

    /// The file for the tuned model [default: MODEL.tuned.onnx]
    #[arg(short, long, value_name = "OUT.onnx")]
    pub output: Option<PathBuf>,

    /// A folder for the log of all steps, as tune.json and tune.md
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,

    #[command(flatten)]
    pub selection: SelectionArguments,

    #[command(flatten)]
    pub judging: JudgingArguments,

    /// Print the log of all steps as JSON
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub inputs: InputArguments,

    #[command(flatten)]
    pub engine: EngineArguments,

    #[command(flatten)]
    pub page: HtmlArguments,
}

/// When a step is kept.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Judging")]
pub struct JudgingArguments {
    /// How far an exact rewrite may change the outputs, relatively
    #[arg(long, value_name = "E", default_value_t = TOLERANCE, value_parser = parse_error)]
    pub tolerance: f64,

    /// How far a lossy rewrite may change them [default: as far as it does]
    #[arg(long, value_name = "E", value_parser = parse_error)]
    pub max_error: Option<f64>,

    /// How long to measure each step: 500ms, 10s, 2min
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = parse_duration)]
    pub duration: Duration,
}

impl Default for JudgingArguments {
    fn default() -> Self {
        Self { tolerance: TOLERANCE, max_error: None, duration: Duration::from_secs(3) }
    }
}

/// The error that exact rewrites may make: rounding adds up along a deep network.
const TOLERANCE: f64 = 1e-4;

fn parse_error(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|error| error.is_finite() && *error >= 0.0);
    number.ok_or_else(|| say!("'{text}' is no error, such as 1e-4"))
}

/// The confidence beyond which a step counts as faster: one in two hundred steps without any gain is
/// kept by mistake.
pub const CONFIDENCE: f64 = 0.99;

/// Tunes a model and writes what came of it.
///
/// # Errors
/// When the model can't be loaded or run, or a file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let path = &arguments.model;
    let rewrites = arguments.selection.resolve(true)?;
    let output = arguments.output.clone().unwrap_or_else(|| path.with_extension("tuned.onnx"));
    check_output(path, &output)?;
    arguments.page.check(&[path, &output])?;
    if let Some(folder) = &arguments.report {
        create_folder(folder)?;
        for name in ["tune.json", "tune.md"] {
            check_target(&folder.join(name))?;
        }
    }
    let model = Arc::new(Model::load_onnx(path)?);
    model.check_external_data()?;
    warn_of_unknown_version(&model, terminal);
    if arguments.selection.opset.is_some() {
        // Whether the version can be raised shows once everything was rewritten.
        opscope_rewrite::rewrite(
            &model,
            &rewrites,
            arguments.selection.opset,
            arguments.selection.allow_lossy,
        )?;
    }
    let inputs = arguments.inputs.request();
    let resolved = inputs.resolve(&model).map_err(RunError::from);
    let values = resolved.map_err(|error| naming_model(error, path))?;
    let settled = arguments.engine.settle(terminal, |options| {
        let mut engine = prepare(Arc::clone(&model), &values, options, RunClock::start())?;
        engine.infer(interrupt::of_measurement()).map(|_| ())
    });
    let ((), engine) = settled.map_err(|error| naming_model(error, path))?;
    let options = TuneOptions {
        inputs,
        engine,
        rewrites,
        allow_lossy: arguments.selection.allow_lossy,
        opset: arguments.selection.opset,
        tolerance: arguments.judging.tolerance,
        max_error: arguments.judging.max_error,
        budget: Budget { time: arguments.judging.duration, ..Budget::default() },
        confidence: CONFIDENCE,
    };
    let bar = StepBar::new(terminal);
    let mut doing = String::new();
    let tuned =
        tune(Arc::clone(&model), &options, interrupt::of_measurement(), &mut |progress| match progress {
            Progress::Begin(what) => {
                what.clone_into(&mut doing);
                bar.step(what);
            }
            Progress::Pairs(count) => bar.step(&say!("{doing}: {count} pairs of runs")),
            Progress::Step(step) => bar.aside(|| terminal.note(&report::step_text(step))),
        });
    drop(bar);
    let tuned = tuned.map_err(|error| naming_model(error, path))?;
    if let Some(proto) = &tuned.model {
        write_model(&model, proto.clone(), &output, |_| Ok(true))?;
    }
    let request = TuningRequest {
        model: path.display().to_string(),
        output: tuned.model.as_ref().map(|_| output.display().to_string()),
        engine: options.engine.kind.to_string(),
        optimization: options.engine.optimization.name().to_owned(),
        threads: options.engine.threads,
        confidence: CONFIDENCE,
        opset: options.opset,
    };
    if let Some(folder) = &arguments.report {
        write_report(folder, &request, &tuned)?;
        terminal.note(&say!("wrote the log {} and tune.json beside it", folder.join("tune.md").display()));
    }
    let text = match arguments.json {
        true => report::to_json(&request, &tuned).to_text()?,
        false => report::conclusion(&request, &tuned),
    };
    // Whoever reads the answer may go away; the page is wanted all the same.
    let printed = terminal.print(&text);
    if let Some(page) = arguments.page.html.as_ref().filter(|_| !tuned.interrupted) {
        write_page(arguments, &options.engine, tuned.model.as_ref().map(|_| &*output), page, terminal)?;
    }
    printed?;
    conclude(&tuned, terminal)
}

/// Runs the model as it was and as it is now, recorded, and writes what changed; without a tuned model, the page of
/// the model as it is.
fn write_page(
    arguments: &Arguments,
    engine: &EngineOptions,
    tuned: Option<&Path>,
    page: &Path,
    terminal: &Terminal,
) -> anyhow::Result<()> {
    let budget = arguments.judging.duration;
    let options = RunOptions {
        inputs: arguments.inputs.request(),
        engine: engine.clone(),
        auto: false,
        repetition: Repetition { iterations: None, warm_up: None, budget: Some(budget) },
    };
    let shapes = &arguments.inputs.shapes;
    let run = |model| -> anyhow::Result<html::Run<'_>> {
        Ok(html::Run { trace: run_model(model, &options, terminal)?.trace, model, shapes, database: None })
    };
    let before = run(&arguments.model)?;
    match tuned {
        Some(tuned) => html::write_run(run(tuned)?, Some(before), page, terminal),
        None => {
            terminal.note(word("no rewrite was kept: the page shows the model as it is"));
            html::write_run(before, None, page, terminal)
        }
    }
}

fn conclude(tuned: &Tuned, terminal: &Terminal) -> anyhow::Result<Exit> {
    if tuned.interrupted {
        terminal.warn(word("interrupted; what was kept until then is in the tuned model"));
        return Ok(Exit::Interrupted);
    }
    if tuned.check_failed() {
        terminal.error(word("a rewrite changed the outputs by more than it may, and was undone"));
        return Ok(Exit::Failed);
    }
    Ok(Exit::Done)
}

fn write_report(folder: &Path, request: &TuningRequest, tuned: &Tuned) -> anyhow::Result<()> {
    let json = report::to_json(request, tuned).to_text()?;
    for (name, text) in [("tune.json", json), ("tune.md", report::to_markdown(request, tuned))] {
        let path = folder.join(name);
        opscope_files::write_atomically(&path, |file| file.write_all(text.as_bytes()))
            .with_context(|| say!("{}: cannot write the log", path.display()))?;
    }
    Ok(())
}
