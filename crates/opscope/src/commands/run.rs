//! `opscope run`: a model on an engine, and where its time goes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use opscope_model::{Model, Shapes};
use opscope_run::{
    EngineKind, EngineOptions, HostTensor, InputRequest, InputSpec, Optimization, Outcome, Repetition,
    RunError, RunOptions, with_fallback,
};
use opscope_say::{say, word};
use opscope_trace::units;

use super::html::{self, HtmlArguments};
use super::outputs::{AnswerArguments, FileArguments};
use crate::exit::{Exit, UsageError, naming_model};
use crate::interrupt;
use crate::terminal::{IterationBar, SlowNote, Terminal};

const EXAMPLES: &str = "\
Examples:
  opscope run model.onnx
  opscope run model.onnx --engine ort --threads 1 -t 10
  opscope run bert.onnx --dim batch=1 --dim sequence=128
  opscope run detector.onnx --input image=photo.npy --outputs results/
  opscope run model.onnx --trace timeline.json --db run.db --json > answer.json
  opscope run model.onnx --db run.db --html report.html       a page to look at
";

const ENGINES: &str = if EngineKind::IS_ONE_EMBEDDED {
    "
Engines:
  tract is built in. ort is ONNX Runtime: its shared library is searched for in --ort-lib,
  ORT_DYLIB_PATH, the packages of the active Python (pip install onnxruntime) and the system's
  library paths. auto takes ort where tract can't run the model, and says so."
} else {
    "
Engines:
  This build has none of its own (tract). ort is ONNX Runtime: its shared library is searched for
  in --ort-lib, ORT_DYLIB_PATH, the packages of the active Python (pip install onnxruntime) and the
  system's library paths. auto is ort."
};

const TIMES: &str = "

Times:
  The latency is that of inferences of which nothing is recorded. In turn with them others are
  recorded operator by operator, which takes longer (several times as long on tiny operators): the
  answer says how much. Where it is more than 5 %, the table shows recorded times beside what they
  are of the latency (≈ time), if all operators bear the recording alike.
  An operator's own time leaves out the operators that run within it, as in the body of a loop. It
  is the median over the measured iterations. Warm-up iterations are kept in the files, marked as
  such, and left out of the figures.";

/// The options of `opscope run`.
#[derive(Debug, Args)]
#[command(after_long_help = [EXAMPLES, ENGINES, TIMES].concat(), after_help = "See the examples with --help.")]
pub struct Arguments {
    /// The model, an ONNX file
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,

    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    measuring: MeasuringArguments,

    #[command(flatten)]
    engine: EngineArguments,

    #[command(flatten)]
    answer: AnswerArguments,

    #[command(flatten)]
    files: FileArguments,

    #[command(flatten)]
    page: HtmlArguments,

    /// Save the outputs of the last iteration as .npy files in this folder
    #[arg(long, value_name = "DIR", help_heading = "Files")]
    outputs: Option<PathBuf>,
}

/// The inputs of the model.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Inputs")]
pub struct InputArguments {
    #[command(flatten)]
    pub shapes: ShapeArguments,

    /// Seeds the random values
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// The inputs, for commands that need their shapes only.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Inputs")]
pub struct ShapeArguments {
    /// The content of an input: NAME=SHAPE (such as data=1x3x224x224), NAME=FILE.npy,
    /// NAME=random|zeros|ones with or without :SHAPE, or NAME=NUMBER; may be given for each input. A
    /// single number is the value of a scalar (or of a tensor of one element), and the size of an input
    /// of one dimension; [16000] is always the size
    #[arg(long = "input", value_name = "NAME=WHAT")]
    inputs: Vec<InputSpec>,

    /// The size of a symbolic dimension; may be given for each
    #[arg(long = "dim", value_name = "NAME=N", value_parser = parse_dimension)]
    dimensions: Vec<(String, u64)>,
}

impl ShapeArguments {
    /// Whether none are told.
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty() && self.dimensions.is_empty()
    }

    /// Contents of inputs, each as `NAME=WHAT`, and sizes of dimensions, each as `NAME=N`.
    ///
    /// # Errors
    /// When one is of another form.
    pub fn of(inputs: &[String], dimensions: &[String]) -> anyhow::Result<Self> {
        let wrong = |text: &str, error: &dyn std::fmt::Display| UsageError(say!("{text}: {error}"));
        let input = |text: &String| text.parse::<InputSpec>().map_err(|error| wrong(text, &error));
        let dimension = |text: &String| parse_dimension(text).map_err(|error| wrong(text, &error));
        Ok(Self {
            inputs: inputs.iter().map(input).collect::<Result<_, _>>()?,
            dimensions: dimensions.iter().map(dimension).collect::<Result<_, _>>()?,
        })
    }

    /// The shapes of all of the model's values, as far as these tell.
    ///
    /// # Errors
    /// When what is given doesn't fit the model's inputs.
    pub fn infer(&self, model: &Model) -> anyhow::Result<Shapes> {
        let request = self.request(0);
        let bindings = request.bindings(model).map_err(opscope_run::RunError::from)?;
        Shapes::infer(model, &bindings).map_err(|error| UsageError(error.to_string()).into())
    }

    fn request(&self, seed: u64) -> InputRequest {
        InputRequest {
            specs: self.inputs.clone(),
            dimensions: self.dimensions.iter().cloned().collect(),
            seed,
        }
    }
}

impl InputArguments {
    /// The same for the engines.
    pub fn request(&self) -> InputRequest {
        self.shapes.request(self.seed)
    }
}

/// How often the model is run.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Measuring")]
struct MeasuringArguments {
    /// How many iterations to measure, unrecorded and recorded ones each [default: as many as fit into
    /// the duration, from 10 to 1000]; with a duration as well, whichever ends first
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    iterations: Option<u32>,

    /// How many iterations of each kind to run before [default: 2]
    #[arg(long, value_name = "N")]
    warmup: Option<u32>,

    /// How long to measure: 500ms, 10s, 2min [default: 3s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    duration: Option<Duration>,
}

/// Which engine runs the model.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Engine")]
pub struct EngineArguments {
    /// The engine
    #[arg(long, value_enum, default_value_t)]
    engine: EngineName,

    /// How far the engine may rewrite the model before it runs it
    #[arg(long, value_enum, default_value_t, value_name = "LEVEL")]
    optimize: OptimizationLevel,

    /// How many threads an operator may use [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// The shared library of ONNX Runtime, or the folder that it lies in
    #[arg(long, value_name = "FILE")]
    ort_lib: Option<PathBuf>,
}

const AUTO: &str = if EngineKind::IS_ONE_EMBEDDED {
    "tract, and ONNX Runtime where that can't run the model"
} else {
    "ONNX Runtime: this build has no engine of its own"
};

const TRACT: &str =
    if EngineKind::IS_ONE_EMBEDDED { "tract, built in" } else { "tract, which this build doesn't have" };

/// An engine's name on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum EngineName {
    #[default]
    #[value(help = AUTO)]
    Auto,
    #[value(help = TRACT)]
    Tract,
    /// ONNX Runtime, found on this machine
    Ort,
}

/// A level of optimization on the command line.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum OptimizationLevel {
    /// Run the nodes one by one, as the model has them
    Off,
    /// Fold constants, remove what is needless
    Basic,
    /// Everything: fuse operators, change layouts
    #[default]
    Full,
}

impl EngineArguments {
    /// Whether ONNX Runtime may take the place of the embedded engine.
    pub fn auto(&self) -> bool {
        self.engine == EngineName::Auto
    }

    /// Does something with the engine, or with what takes its place, and says so.
    ///
    /// # Errors
    /// When no engine can.
    pub fn settle<T>(
        &self,
        terminal: &Terminal,
        work: impl FnMut(&EngineOptions) -> Result<T, RunError>,
    ) -> Result<(T, EngineOptions), RunError> {
        let slow = slow_note(&self.options(), terminal);
        let settled = with_fallback(&self.options(), self.auto(), work)?;
        drop(slow);
        settled.remarks.iter().for_each(|remark| terminal.warn(remark));
        Ok((settled.done, settled.options))
    }

    /// The same for the engines.
    pub fn options(&self) -> EngineOptions {
        let processors = available_parallelism().map_or(1, usize::from);
        EngineOptions {
            kind: match self.engine {
                EngineName::Auto => EngineKind::default(),
                EngineName::Tract => EngineKind::Tract,
                EngineName::Ort => EngineKind::OnnxRuntime,
            },
            optimization: match self.optimize {
                OptimizationLevel::Off => Optimization::Off,
                OptimizationLevel::Basic => Optimization::Basic,
                OptimizationLevel::Full => Optimization::Full,
            },
            threads: self.threads.map_or(processors, usize::from),
            ort_library: self.ort_lib.clone(),
        }
    }
}

/// Runs the model, prints the answer, writes the files.
///
/// # Errors
/// When the model can't be loaded, fed, run, or a file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    arguments.page.check(&[&arguments.model])?;
    let further = arguments.page.html.as_deref();
    arguments.files.check(&[&*arguments.model].into_iter().chain(further).collect::<Vec<_>>())?;
    if let Some(folder) = &arguments.outputs {
        check_folder(folder)?;
    }
    let options = RunOptions {
        inputs: arguments.inputs.request(),
        engine: arguments.engine.options(),
        auto: arguments.engine.auto(),
        repetition: Repetition {
            iterations: arguments.measuring.iterations.map(|n| n as usize),
            warm_up: arguments.measuring.warmup.map(|n| n as usize),
            budget: arguments.measuring.duration,
        },
    };
    let mut outcome = run_model(&arguments.model, &options, terminal)?;
    // Whoever reads the answer may go away; the files are wanted all the same.
    let printed = arguments.answer.print(&outcome.trace, terminal);
    arguments.files.write(&outcome.trace, terminal)?;
    if let Some(folder) = &arguments.outputs {
        save_outputs(&outcome.outputs, folder, terminal)?;
    }
    if let Some(output) = &arguments.page.html {
        let run = html::Run {
            trace: std::mem::take(&mut outcome.trace),
            model: &arguments.model,
            shapes: &arguments.inputs.shapes,
            database: arguments.files.db.as_deref(),
        };
        html::write_run(run, None, output, terminal)?;
    }
    printed?;
    Ok(conclude(&outcome, terminal))
}

/// Loads and runs a model with a progress bar, until Ctrl-C.
///
/// # Errors
/// When it can't be loaded or run.
pub fn run_model(path: &Path, options: &RunOptions, terminal: &Terminal) -> anyhow::Result<Outcome> {
    let model = Arc::new(Model::load_onnx(path)?);
    model.check_external_data()?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    terminal.detail(&say!("{}: {} nodes", path.display(), model.graph().node_count()));
    let bar = IterationBar::new(terminal);
    let mut slow = Some(slow_note(&options.engine, terminal));
    let outcome = opscope_run::run(model, &name, options, interrupt::of_measurement(), &mut |progress| {
        slow.take();
        bar.update(progress);
    });
    drop((bar, slow));
    let outcome = outcome.map_err(|error| naming_model(error, path))?;
    outcome.remarks.iter().for_each(|remark| terminal.warn(remark));
    Ok(outcome)
}

/// Says so where an engine takes long to make a model ready, and what may take less.
fn slow_note(options: &EngineOptions, terminal: &Terminal) -> SlowNote {
    let instead = match options.kind {
        EngineKind::Tract => word("--engine ort or --optimize off"),
        EngineKind::OnnxRuntime => "--optimize off",
    };
    let engine = options.kind;
    let text =
        say!("{engine} is still making the model ready; Ctrl-C ends that, {instead} may take less time");
    SlowNote::new(*terminal, text)
}

/// Says what is odd about a run, and how it ends.
pub fn conclude(outcome: &Outcome, terminal: &Terminal) -> Exit {
    for (name, kind) in &outcome.non_finite {
        terminal.warn(&say!("the output '{name}' holds {} values", kind.name()));
    }
    if let Some(origin) = &outcome.non_finite_from {
        terminal.warn(&say!("they begin at {origin}"));
    }
    if outcome.interrupted {
        terminal.warn(word("interrupted; the figures are those of the iterations that were complete"));
        return Exit::Interrupted;
    }
    Exit::Done
}

fn save_outputs(outputs: &[(String, HostTensor)], folder: &Path, terminal: &Terminal) -> anyhow::Result<()> {
    create_folder(folder)?;
    for (position, (name, tensor)) in outputs.iter().enumerate() {
        let path = folder.join(format!("{}.npy", file_name(name, position)));
        opscope_run::npy::write(&path, tensor)?;
        terminal.note(&say!("wrote the output '{}' to {}", name.escape_debug(), path.display()));
    }
    Ok(())
}

/// A file name for an output: its own name without what a file system or a shell may stumble over.
fn file_name(name: &str, position: usize) -> String {
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    const LONGEST: usize = 100;
    let cleaned: String = name.chars().map(safe).take(LONGEST).collect();
    let cleaned = cleaned.trim_matches(['.', '_']);
    if cleaned.is_empty() || cleaned != name { format!("{position}_{cleaned}") } else { cleaned.to_owned() }
}

/// Makes sure that a folder can be made, or is there already, without touching it.
fn check_folder(folder: &Path) -> anyhow::Result<()> {
    let unusable = || say!("{}: cannot be used as a folder", folder.display());
    let there = folder.ancestors().find(|above| above.exists() || above.as_os_str().is_empty());
    let there = there.filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    opscope_files::check_target(&there.join(".opscope")).with_context(unusable)
}

/// Makes a folder and those above it, for the user and the group only.
///
/// # Errors
/// When the system refuses.
pub fn create_folder(folder: &Path) -> anyhow::Result<()> {
    opscope_files::create_folder(folder)
        .with_context(|| say!("{}: cannot make this folder", folder.display()))
}

fn parse_dimension(text: &str) -> Result<(String, u64), String> {
    let parsed = text.rsplit_once('=').and_then(|(name, size)| Some((name.to_owned(), size.parse().ok()?)));
    parsed
        .filter(|(name, _)| !name.is_empty())
        .ok_or_else(|| say!("'{text}' is not of the form NAME=N, such as batch=1"))
}

/// Reads a duration with its unit.
///
/// # Errors
/// When it is no duration, or a negative one.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let nanoseconds = units::parse_duration(text)?.0;
    u64::try_from(nanoseconds).map(Duration::from_nanos).map_err(|_| say!("'{text}' is negative"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_get_file_names_that_stay_in_the_folder() {
        assert_eq!(file_name("logits", 0), "logits");
        assert_eq!(file_name("../../etc/passwd", 1), "1_etc_passwd");
        assert_eq!(file_name("/head/Gemm:0", 2), "2_head_Gemm_0");
        assert_eq!(file_name("..", 3), "3_");
        assert_eq!(file_name(&"n".repeat(300), 4).len(), 102);
    }

    #[test]
    fn dimensions_are_names_with_sizes() {
        assert_eq!(parse_dimension("batch=4"), Ok(("batch".into(), 4)));
        assert!(
            parse_dimension("batch").is_err()
                && parse_dimension("=4").is_err()
                && parse_dimension("b=x").is_err()
        );
    }
}
