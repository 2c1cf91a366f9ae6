//! `opscope rewrite`: rewrites of a model's graph, without measuring.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use opscope_model::Model;
use opscope_model::proto::ModelProto;
use opscope_rewrite::{Exactness, Selection, rewrite};
use opscope_run::{EngineOptions, RunClock, RunError, prepare};
use opscope_say::{say, word};
use opscope_tune::{Agreement, InputSets, agreement};

use super::outputs::check_target;
use super::run::{EngineArguments, InputArguments};
use crate::exit::{Exit, UsageError, naming_model};
use crate::interrupt;
use crate::profile;
use crate::report::rewrite as report;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope rewrite --list
  opscope rewrite model.onnx --dry-run
  opscope rewrite model.onnx -o smaller.onnx --check
  opscope rewrite model.onnx -o out.onnx --only G01,G15 --skip G15c
  opscope rewrite yolo.onnx -o leaky.onnx --only G05b --allow-lossy
  opscope rewrite model.onnx -o out.onnx --opset 20

A rewrite is named by its id (G05a), its group (G05) or its name (conv-bn-fold). Without --only, all
that pay on any engine are applied; those for some hardware only when they are named. What a rewrite
gains is another question: opscope tune measures it.

With --opset, the version of ONNX's operators is raised, after checking that every operator that is
left in the model keeps its meaning; newer versions have operators that others are contracted to.

With --check, both models run on the engine with your inputs and three random ones. Where exact and
bounded rewrites change the outputs by more than --tolerance, nothing is written and the exit status
is 1.";

/// The options of `opscope rewrite`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, after_help = "See the examples with --help.")]
pub struct Arguments {
    /// The model, an ONNX file
    #[arg(value_name = "MODEL.onnx", required_unless_present = "list")]
    model: Option<PathBuf>,

    /// The file to write
    #[arg(short, long, value_name = "OUT.onnx", required_unless_present_any = ["dry_run", "list"])]
    output: Option<PathBuf>,

    #[command(flatten)]
    selection: SelectionArguments,

    /// Show what would be done, and write nothing
    #[arg(long)]
    dry_run: bool,

    /// Compare the outputs of both models, on your inputs and three random ones
    #[arg(long)]
    check: bool,

    /// How far exact rewrites may change the outputs, relatively, with --check
    #[arg(long, value_name = "E", default_value_t = 1e-4)]
    tolerance: f64,

    /// Print the answer as JSON
    #[arg(long)]
    json: bool,

    /// List the rewrites
    #[arg(long, conflicts_with_all = ["model", "output", "dry_run", "check"])]
    list: bool,

    #[command(flatten)]
    inputs: InputArguments,

    #[command(flatten)]
    engine: EngineArguments,
}

/// Which rewrites are meant.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Rewrites")]
pub struct SelectionArguments {
    /// Only these, by id, group or name; several with commas
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub only: Vec<String>,

    /// Not these
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub skip: Vec<String>,

    /// Allow rewrites that change what the model computes
    #[arg(long)]
    pub allow_lossy: bool,

    /// Raise ONNX's operators to this version
    #[arg(long, value_name = "N")]
    pub opset: Option<i64>,
}

impl SelectionArguments {
    /// The rewrites that are meant; with `all_uses` also those for some hardware only.
    ///
    /// # Errors
    /// When a name fits none, or a lossy one is named without being allowed.
    pub fn resolve(&self, all_uses: bool) -> Result<Vec<&'static dyn opscope_rewrite::Rewrite>, UsageError> {
        let trimmed = |names: &[String]| {
            let names = names.iter().map(|name| name.trim().to_owned());
            names.filter(|name| !name.is_empty()).collect()
        };
        let (only, skip) = (trimmed(&self.only), trimmed(&self.skip));
        let selection = Selection { only, skip, allow_lossy: self.allow_lossy, all_uses };
        selection.resolve().map_err(|error| UsageError(error.to_string()))
    }
}

/// Rewrites a model, or lists the rewrites.
///
/// # Errors
/// When the model can't be loaded or rewritten, or the file can't be written.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let Some(path) = &arguments.model else {
        let text = match arguments.json {
            true => report::list_json().to_text()?,
            false => report::list_text(terminal.width()),
        };
        terminal.print(&text)?;
        return Ok(Exit::Done);
    };
    let rewrites = arguments.selection.resolve(false)?;
    let output = arguments.output.as_deref().filter(|_| !arguments.dry_run);
    if let Some(output) = output {
        check_output(path, output)?;
    }
    let model = Arc::new(Model::load_onnx(path)?);
    profile::warn_of_model(&model, path, terminal);
    warn_of_unknown_version(&model, terminal);
    let rewritten = rewrite(&model, &rewrites, arguments.selection.opset, arguments.selection.allow_lossy)?;
    let lossy = rewritten.applications.iter().any(|done| done.exactness == Exactness::Lossy);
    let mut found = None;
    let mut accept = |after: Model| {
        if arguments.check {
            found = Some(check(arguments, path, &model, Arc::new(after), terminal)?);
        }
        Ok(lossy || found.is_none_or(|found| found.relative <= arguments.tolerance))
    };
    let accepted = match output {
        Some(output) => write_model(&model, rewritten.proto.clone(), output, accept)?,
        None => accept(Model::from_proto(rewritten.proto.clone(), model.folder())?)?,
    };
    let failed = !accepted;
    let written = output.filter(|_| accepted);
    let text = match arguments.json {
        true => {
            let lost = profile::losses_of_model(&model);
            report::to_json(path, written, &rewritten, found, failed).with_losses(lost).to_text()?
        }
        false => report::to_text(path, &rewritten, found, arguments.dry_run),
    };
    terminal.print(&text)?;
    if failed {
        terminal
            .error(word("the rewrites changed the outputs by more than --tolerance; nothing was written"));
        return Ok(Exit::Failed);
    }
    match written {
        Some(output) => terminal.note(&say!("wrote {}", output.display())),
        None => terminal.note(word("nothing was written (--dry-run)")),
    }
    Ok(Exit::Done)
}

/// Rewrites rest on what operators mean, which a version of the future may change.
pub fn warn_of_unknown_version(model: &Model, terminal: &Terminal) {
    if let Some(version) = opscope_rewrite::unknown_version(model) {
        terminal.warn(&say!(
            "the model has version {version} of ONNX's operators, and those known here end with {}: an \
             operator that has changed since may be rewritten wrongly; compare the outputs (--check)",
            opscope_rewrite::NEWEST
        ));
    }
}

/// A model's output may be any file but the model itself.
///
/// # Errors
/// When it is, or it can't be written.
pub fn check_output(model: &Path, output: &Path) -> anyhow::Result<()> {
    let same = |a: &Path, b: &Path| Some(a.canonicalize().ok()? == b.canonicalize().ok()?);
    if same(model, output) == Some(true) {
        let text = say!("{}: the model itself would be overwritten; name another file", output.display());
        return Err(UsageError(text).into());
    }
    check_target(output)
}

/// Writes a model that came from `original`, whole or not at all. It takes its place only once `accept`,
/// which is given the model as it was loaded again from the file beside that place, says so; returns
/// whether it did.
///
/// # Errors
/// When external data can't be read, the file can't be written, or what was written can't be loaded; and
/// those of `accept`.
pub fn write_model(
    original: &Model,
    proto: ModelProto,
    output: &Path,
    accept: impl FnOnce(Model) -> anyhow::Result<bool>,
) -> anyhow::Result<bool> {
    let folder = output.parent().unwrap_or(Path::new(""));
    let bytes = opscope_rewrite::to_bytes(original, proto, folder)?;
    let cannot = || say!("{}: cannot write the model", output.display());
    if output.exists() && !output.is_file() {
        // A pipe or a device keeps nothing that could be loaded again.
        let accepted = accept(Model::from_bytes(bytes.clone().into(), Some(folder))?)?;
        if accepted {
            opscope_files::write_atomically(output, |file| file.write_all(&bytes)).with_context(cannot)?;
        }
        return Ok(accepted);
    }
    let mut verdict = None;
    let written = opscope_files::write_seekable(output, |file| {
        file.write_all(&bytes)?;
        file.flush()?;
        match verdict.insert(load_written(file.get_ref().path()).and_then(accept)) {
            Ok(true) => Ok(()),
            _ => Err(io::Error::other(word("it was not accepted"))),
        }
    });
    match verdict {
        Some(verdict @ (Ok(false) | Err(_))) => verdict,
        Some(Ok(true)) | None => written.map(|()| true).with_context(cannot),
    }
}

/// The model of a file that was just written, with all its data.
fn load_written(path: &Path) -> anyhow::Result<Model> {
    let load = || -> anyhow::Result<Model> {
        let model = Model::load_onnx(path)?;
        model.check_external_data()?;
        Ok(model)
    };
    load().context(word("the rewritten model cannot be loaded from where it is to lie; nothing was written"))
}

/// How well the outputs of a model and of what it became agree.
fn check(
    arguments: &Arguments,
    path: &Path,
    model: &Arc<Model>,
    after: Arc<Model>,
    terminal: &Terminal,
) -> anyhow::Result<Agreement> {
    let sets = InputSets::resolve(model, &arguments.inputs.request(), 3).map_err(RunError::from);
    let sets = sets.map_err(|error| naming_model(error, path))?;
    let outputs = |model: &Arc<Model>, options: &EngineOptions| {
        let mut engine = prepare(Arc::clone(model), sets.own(), options, RunClock::start())?;
        sets.outputs(engine.as_mut(), interrupt::of_measurement())
    };
    let settled = arguments.engine.settle(terminal, |options| outputs(model, options));
    let (expected, options) = settled.map_err(|error| naming_model(error, path))?;
    let found = outputs(&after, &options)
        .with_context(|| say!("{}, rewritten (--skip leaves out what --dry-run lists)", path.display()))?;
    Ok(agreement(&expected, &found)?)
}
