//! `opscope rewrite`: rewrites of a model's graph, without measuring.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use opscope_model::Model;
use opscope_rewrite::{ALL, Application, Exactness, Info, Rewritten, Selection, Use, rewrite};
use opscope_run::{EngineOptions, RunClock, prepare};
use opscope_tune::report::agreement_text;
use opscope_tune::{Agreement, InputSets, agreement};
use serde_json::{Value, json};

use super::outputs::check_target;
use super::run::{EngineArguments, InputArguments};
use crate::exit::{Exit, UsageError};
use crate::interrupt;
use crate::terminal::{Column, Table, Terminal, bold, dim};

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
        let text = if arguments.json { format!("{:#}\n", list_json()) } else { list_text(terminal) };
        terminal.print(&text)?;
        return Ok(Exit::Done);
    };
    let rewrites = arguments.selection.resolve(false)?;
    let output = arguments.output.as_deref().filter(|_| !arguments.dry_run);
    if let Some(output) = output {
        check_output(path, output)?;
    }
    let model = Arc::new(Model::load(path)?);
    warn_of_unknown_version(&model, terminal);
    let rewritten = rewrite(&model, &rewrites, arguments.selection.opset, arguments.selection.allow_lossy)?;
    let found = if arguments.check { Some(check(arguments, &model, &rewritten, terminal)?) } else { None };
    let lossy = rewritten.applications.iter().any(|done| done.exactness == Exactness::Lossy);
    let failed = !lossy && found.is_some_and(|found| found.relative > arguments.tolerance);

    let written = output.filter(|_| !failed);
    if let Some(output) = written {
        save(&model, &rewritten, output)?;
    }
    let text = match arguments.json {
        true => format!("{:#}\n", to_json(path, written, &rewritten, found, failed)),
        false => to_text(path, &rewritten, found, arguments.dry_run),
    };
    terminal.print(&text)?;
    if failed {
        terminal.error("the rewrites changed the outputs by more than --tolerance; nothing was written");
        return Ok(Exit::Failed);
    }
    match written {
        Some(output) => terminal.note(&format!("wrote {}", output.display())),
        None => terminal.note("nothing was written (--dry-run)"),
    }
    Ok(Exit::Done)
}

/// Rewrites rest on what operators mean, which a version of the future may change.
pub fn warn_of_unknown_version(model: &Model, terminal: &Terminal) {
    if let Some(version) = opscope_rewrite::unknown_version(model) {
        terminal.warn(&format!(
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
        let text = format!("{}: the model itself would be overwritten; name another file", output.display());
        return Err(UsageError(text).into());
    }
    check_target(output)
}

/// Writes a rewritten model, whole or not at all.
///
/// # Errors
/// When external data can't be read, or the file can't be written.
pub fn save(model: &Model, rewritten: &Rewritten, output: &Path) -> anyhow::Result<()> {
    write_model(model, rewritten.proto.clone(), output)
}

/// The same for any model that came from `original`.
///
/// # Errors
/// As [`save`].
pub fn write_model(
    original: &Model,
    proto: opscope_model::proto::ModelProto,
    output: &Path,
) -> anyhow::Result<()> {
    let folder = output.parent().unwrap_or(Path::new(""));
    let bytes = opscope_rewrite::to_bytes(original, proto, folder)?;
    opscope_formats::write_atomically(output, |file| file.write_all(&bytes))
        .with_context(|| format!("{}: cannot write the model", output.display()))
}

/// How well the outputs of both models agree.
fn check(
    arguments: &Arguments,
    model: &Arc<Model>,
    rewritten: &Rewritten,
    terminal: &Terminal,
) -> anyhow::Result<Agreement> {
    let sets =
        InputSets::resolve(model, &arguments.inputs.request(), 3).map_err(opscope_run::RunError::from)?;
    let outputs = |model: &Arc<Model>, options: &EngineOptions| {
        let mut engine = prepare(Arc::clone(model), sets.own(), options, RunClock::start())?;
        sets.outputs(engine.as_mut(), interrupt::request())
    };
    let after = Arc::new(Model::from_proto(rewritten.proto.clone(), model.folder())?);
    let (expected, options) = arguments.engine.settle(terminal, |options| outputs(model, options))?;
    let found = outputs(&after, &options).context("the rewritten model")?;
    Ok(agreement(&expected, &found)?)
}

/// The applications of each rewrite, in the order in which the rewrites were first applied.
fn by_rewrite(applications: &[Application]) -> Vec<Vec<&Application>> {
    let mut groups: Vec<Vec<&Application>> = Vec::new();
    for done in applications {
        match groups.iter_mut().find(|group| group[0].rewrite.id == done.rewrite.id) {
            Some(group) => group.push(done),
            None => groups.push(vec![done]),
        }
    }
    groups
}

/// The answer for people; every place of a rewrite only where that is what they ask for.
fn to_text(path: &Path, rewritten: &Rewritten, found: Option<Agreement>, names_all: bool) -> String {
    const SHOWN: usize = 5;
    let mut text = String::new();
    let (before, after) = (rewritten.nodes_before, rewritten.nodes_after);
    let _ = writeln!(text, "{}: {before} nodes became {after}", bold(&path.display().to_string()));
    if let Some((from, to)) = rewritten.opset {
        let _ = writeln!(text, "ONNX's operators: version {from} became {to}");
    }
    for group in by_rewrite(&rewritten.applications) {
        let info = group[0].rewrite;
        let title = bold(&format!("{} {}", info.id, info.name));
        let exactness = group.iter().map(|done| done.exactness).max().unwrap_or(info.exactness);
        let _ = writeln!(text, "\n{title} {}", dim(&format!("({exactness}, {})", times(group.len()))));
        let shown = if names_all { group.len() } else { SHOWN };
        for done in group.iter().take(shown) {
            let after = if done.after.is_empty() { "nothing".to_owned() } else { done.after.join(" + ") };
            let _ = writeln!(text, "  {} -> {after}", done.before.join(" + "));
        }
        if group.len() > shown {
            let more = format!("and {} more (--dry-run names all)", group.len() - shown);
            let _ = writeln!(text, "  {}", dim(&more));
        }
    }
    if rewritten.applications.is_empty() {
        text.push_str("No rewrite applies.\n");
    }
    if rewritten.inner_nodes > 0 {
        let inner = rewritten.inner_nodes;
        let _ = writeln!(text, "\n{inner} nodes inside of others (If, Loop, Scan) were left as they are.");
    }
    if !rewritten.declined.is_empty() {
        let _ = writeln!(text, "\n{}", bold("Left alone"));
        for declined in &rewritten.declined {
            let _ = writeln!(text, "  {} at {}: {}", declined.rewrite, declined.node, declined.reason);
        }
    }
    if let Some(found) = found {
        let _ = writeln!(text, "\n{} {}", bold("Outputs"), agreement_text(&found));
    }
    text
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn to_json(
    path: &Path,
    written: Option<&Path>,
    rewritten: &Rewritten,
    found: Option<Agreement>,
    failed: bool,
) -> Value {
    let number = |x: f64| if x.is_finite() { json!(x) } else { json!(x.to_string()) };
    json!({
        "schema_version": 1,
        "model": path.display().to_string(),
        "output": written.map(|path| path.display().to_string()),
        "nodes_before": rewritten.nodes_before,
        "nodes_after": rewritten.nodes_after,
        "inner_nodes_left_alone": rewritten.inner_nodes,
        "opset": rewritten.opset.map(|(from, to)| json!({ "before": from, "after": to })),
        "applications": rewritten.applications.iter().map(|done| json!({
            "id": done.rewrite.id,
            "name": done.rewrite.name,
            "exactness": done.exactness.name(),
            "before": done.before,
            "after": done.after,
        })).collect::<Vec<_>>(),
        "declined": rewritten.declined.iter().map(|declined| json!({
            "id": declined.rewrite,
            "node": declined.node,
            "reason": declined.reason.to_string(),
        })).collect::<Vec<_>>(),
        "agreement": found.map(|found| json!({
            "max_absolute_error": number(found.absolute),
            "max_relative_error": number(found.relative),
            "cosine_similarity": found.cosine,
            "top_1_agreement": found.top_1,
        })),
        "check_failed": failed,
    })
}

fn applied(info: &Info) -> &'static str {
    match (info.exactness, info.use_) {
        (Exactness::Lossy, _) => "when allowed",
        (_, Use::Always) => "always",
        (_, Use::Named) => "when named",
    }
}

fn list_text(terminal: &Terminal) -> String {
    let columns = [
        Column::text("id"),
        Column::text("name"),
        Column::text("exactness"),
        Column::text("applied"),
        Column::text("what becomes what"),
    ];
    let mut table = Table::new(&columns, terminal.width());
    for rewrite in ALL {
        let info = rewrite.info();
        let cells = [info.id, info.name, info.exactness.name(), applied(info), info.summary];
        table.row(cells.map(str::to_owned));
    }
    format!("{}\n{}", table.render(), dim("The condition of each: opscope rewrite --list --json\n"))
}

fn list_json() -> Value {
    let rewrites = ALL.iter().map(|rewrite| {
        let info = rewrite.info();
        json!({
            "id": info.id,
            "name": info.name,
            "exactness": info.exactness.name(),
            "applied": applied(info),
            "summary": info.summary,
            "condition": info.condition,
        })
    });
    json!({ "schema_version": 1, "rewrites": rewrites.collect::<Vec<_>>() })
}
