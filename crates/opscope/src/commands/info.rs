//! `opscope info`: what a file or folder is, what is in it, what is missing or damaged.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope_formats::input::Input;
use opscope_formats::tensorrt::LayerInfo;
use opscope_model::{Model, Shapes};
use opscope_open::{OpenError, Source, Stop, formats};
use opscope_say::{say, word};
use opscope_svp::{Job, SideFiles};

use super::run::ShapeArguments;
use crate::converter_files::{self, ConverterFiles};
use crate::exit::{Exit, UsageError, with_causes};
use crate::profile::{self, Opened, Tell, board};
use crate::report::conversion;
use crate::report::info::{
    Info, of_engine_layers, of_job, of_model, of_operator_library, of_side_files, of_trace,
};
use crate::report::nodes::Nodes;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope info model.onnx
  opscope info model.onnx --nodes --dim batch=1    what each node reads, makes, computes, moves
  opscope info profile.json
  opscope info PROF_000001_20261121/
  opscope info downloads/ --json
  opscope info model.om           how it was compiled, its operators, what its converter says of layers
  opscope info JOB…               the raw files of a board, their sizes, and which are whole

Anything can be named: a model, a profile of any format, a database, a folder. What a file is shows
from its content. The exit status is 1 if nothing of it can be read.";

/// How many files of a folder are looked at.
const MOST_FILES: usize = 200;

/// The options of `opscope info`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A file or folder
    path: PathBuf,

    /// List the nodes of a model: what each reads and makes, computes and moves
    #[arg(long)]
    nodes: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    shapes: ShapeArguments,
}

/// Looks and prints.
///
/// # Errors
/// When there is nothing at the path, or standard output can't take the answer.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    profile::check_presence(&arguments.path)?;
    let read = |source| profile::read(source, Tell::InAnswer, terminal);
    let shapes = shapes(arguments)?;
    let info = look(&arguments.path, shapes.as_ref(), &read, &Stop::default(), terminal);
    let nodes = arguments.nodes.then(|| nodes(&arguments.path, &arguments.shapes)).transpose()?;
    let text = match (arguments.json, &nodes) {
        (true, nodes) => info.to_json(&arguments.path, nodes.as_ref()).to_text()?,
        (false, None) => info.to_text(&arguments.path),
        (false, Some(nodes)) => {
            format!("{}\n{}", info.to_text(&arguments.path), nodes.table.to_text(terminal.width()))
        }
    };
    terminal.print(&text)?;
    Ok(if info.problem.is_some() { Exit::Failed } else { Exit::Done })
}

/// The nodes of a model.
fn nodes(path: &Path, shapes: &ShapeArguments) -> anyhow::Result<Nodes> {
    if !Source::at(path)?.is_model() {
        return Err(UsageError(say!("{}: --nodes is about models", path.display())).into());
    }
    let model = Model::load(path)?;
    Ok(Nodes::of(&model, &shapes.infer(&model)?))
}

/// The shapes of a model's values, where sizes are given.
fn shapes(arguments: &Arguments) -> anyhow::Result<Option<Shapes>> {
    if arguments.shapes.is_empty() {
        return Ok(None);
    }
    if !Source::at(&arguments.path).is_ok_and(|source| source.is_model()) {
        let text = say!("{}: --input and --dim are about models", arguments.path.display());
        return Err(UsageError(text).into());
    }
    // A model that can't be read is told as such in the answer.
    Model::load(&arguments.path).ok().map(|model| arguments.shapes.infer(&model)).transpose()
}

/// Whoever reads a profile.
type Read<'r> = dyn Fn(Source) -> anyhow::Result<Opened> + 'r;

fn of_file(path: &Path, source: Source, shapes: Option<&Shapes>, read: &Read<'_>) -> Info {
    let mut info = Info::new(source.to_string());
    if let Ok(found) = path.metadata() {
        info.facts.bytes("file", "file_bytes", found.len());
    }
    let is_unknown = source.format().is_none();
    let is_unread = is_unknown || source.is(&formats::other_database::FORMAT);
    if source.is(&formats::onnx_model::FORMAT) || source.is_other_model() {
        match Model::load(path) {
            Ok(model) => of_model(&model, shapes, &mut info.facts),
            Err(error) => {
                info.is_foreign = error.is_unread_version();
                info.problem = Some(error.to_string());
            }
        }
        if source.is(&formats::other_models::OM) {
            add_side_files(&mut info, path);
        }
    } else if is_unknown && is_om(path) && path.metadata().is_ok_and(|found| found.len() > 0) {
        // The layout of those for SVP isn't public, so that the name alone tells.
        let content = std::mem::take(&mut info.kind);
        info.kind = say!(
            "by its name a model that was converted for a processor of Ascend or SVP (.om); its content: {content}"
        );
        if !add_side_files(&mut info, path) {
            info.is_foreign = true;
            info.problem = Some(word("nothing of it is of a kind that opscope reads").to_owned());
        }
    } else if !SideFiles::of_file(path).is_empty() {
        info.kind = word("a file that the model converter leaves beside a model").to_owned();
        of_side_files(&SideFiles::of_file(path), &mut info.facts);
    } else if is_unread && converter_files::kind(path).is_some() {
        add_converter_file(&mut info, path);
    } else if is_unread && let Some(library) = converter_files::operator_library(path) {
        info.kind = word("an operator information library of Ascend's compiler").to_owned();
        of_operator_library(&library, &mut info.facts);
    } else if is_unknown && is_aic_info(path) {
        let content = std::mem::take(&mut info.kind);
        info.kind = say!(
            "by its name a file that the compilation for a processor of Ascend left (aic-*.info), whose layout \
             isn't public; its content: {content}"
        );
        info.is_foreign = true;
        info.problem = Some(word("nothing of it is of a kind that opscope reads").to_owned());
    } else if source.is(&formats::tensorrt::LAYERS) {
        add_engine_layers(&mut info, path);
    } else if source.is(&formats::ascend_ranks::FORMAT) {
        let remedy = word("a profile of one rank: give the folder that it is in to 'opscope cluster'");
        info.facts.missing.push(remedy.to_owned());
    } else if is_unread {
        info.is_foreign = true;
        info.problem = Some(word("nothing of it is of a kind that opscope reads").to_owned());
    } else {
        add_profile(&mut info, source, read);
    }
    info
}

/// Adds the layers of an engine of TensorRT's, or why they can't be read.
fn add_engine_layers(info: &mut Info, path: &Path) {
    let input = Input::open(path).map_err(|error| error.to_string());
    match input.and_then(|input| LayerInfo::read(&input).map_err(|error| error.to_string())) {
        Ok(layers) => of_engine_layers(&layers, &mut info.facts),
        Err(problem) => info.problem = Some(problem),
    }
}

fn is_om(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("om"))
}

/// Whether a file has the name of those that Ascend's compiler leaves beside what it made.
fn is_aic_info(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    name.starts_with("aic-") && name.ends_with(".info")
}

/// Whether the model itself was read, so that nothing is missing where no file beside it tells of its layers.
fn is_read(info: &Info) -> bool {
    info.kind == formats::other_models::OM.name && info.problem.is_none()
}

/// Adds the files that the converter left beside a model, or in a folder; returns whether there are any.
fn add_side_files(info: &mut Info, path: &Path) -> bool {
    let beside = converter_files::beside(path);
    let mut has_some = !beside.is_empty();
    for (path, files) in beside {
        conversion::facts(&path, &files, &mut info.facts);
    }
    match SideFiles::beside(path) {
        Ok(found) if !found.is_empty() => {
            has_some = true;
            of_side_files(&found, &mut info.facts);
        }
        Ok(_) if is_om(path) && !is_read(info) => info.facts.missing.push(
            word(
                "what the converter says of its layers: om.json, layer.json and the like are not beside it \
             (atc --mode=1 --om=MODEL.om --json=om.json makes the first)",
            )
            .to_owned(),
        ),
        _ => {}
    }
    has_some
}

/// A command, switch file or report of fusion of the converter's.
fn add_converter_file(info: &mut Info, path: &Path) {
    let mut files = ConverterFiles::default();
    match files.take(path) {
        Ok(_) => {
            if let Some(kind) = converter_files::kind(path) {
                info.kind = kind.to_string();
            }
            conversion::facts(path, &files, &mut info.facts);
        }
        Err(error) => info.problem = Some(with_causes(&error)),
    }
}

/// A board's directory of raw files: what can't be decoded is listed all the same.
fn add_job(info: &mut Info, path: &Path, source: Source, read: &Read<'_>) {
    match Job::open(path) {
        Ok(job) => {
            of_job(&job, &mut info.facts);
            match read(source) {
                Ok(trace) => {
                    of_trace(&trace, &mut info.facts);
                    let remedy = board::unread(trace.place(), &trace);
                    info.facts.missing.extend(remedy.map(|remedy| say!("layers: {remedy}")));
                }
                Err(error) => info.facts.missing.push(with_causes(&error)),
            }
        }
        Err(error) => info.problem = Some(error.to_string()),
    }
}

fn add_profile(info: &mut Info, source: Source, read: &Read<'_>) {
    match read(source) {
        Ok(trace) => {
            info.facts.files(trace.files());
            of_trace(&trace, &mut info.facts);
        }
        Err(error) if is_sound_without_times(&error) => info.facts.missing.push(with_causes(&error)),
        Err(error) => info.problem = Some(with_causes(&error)),
    }
}

/// Whether a table is what it should be, but no profile by itself.
fn is_sound_without_times(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref()
            .is_some_and(|error| matches!(error, opscope_cann::read::tables::ReadError::NoTrace))
    })
}

/// Looks at a path; a profile there is read by `read`, and of a model the shapes of values may be known. Where `stop` is
/// wanted, the answer is for nobody.
pub fn look(path: &Path, shapes: Option<&Shapes>, read: &Read<'_>, stop: &Stop, terminal: &Terminal) -> Info {
    let source = match Source::at(path) {
        Ok(source) => source,
        Err(error) => {
            return Info {
                problem: Some(error.to_string()),
                ..Info::new(word("a file that cannot be read"))
            };
        }
    };
    if source.board().is_some() {
        return of_board(path, source, read);
    }
    match source.profiles() {
        [] if !path.is_dir() => of_file(path, source, shapes, read),
        [] if source.format().is_none() => list(path, source, read),
        [] | [_] => {
            let mut info = Info::new(source.to_string());
            source.profiles().iter().for_each(|profile| info.facts.raw(profile));
            add_profile(&mut info, source, read);
            info
        }
        profiles => {
            let mut info = Info::new(say!("a folder of {} raw directories of Ascend", profiles.len()));
            for profile in profile::raw_of(&source, stop, terminal) {
                let name = profile.path.strip_prefix(path).unwrap_or(&profile.path).display().to_string();
                info.facts.item(&name, &source.to_string());
            }
            info
        }
    }
}

fn of_board(path: &Path, source: Source, read: &Read<'_>) -> Info {
    let mut info = Info::new(source.to_string());
    if source.unexported_job().is_some() {
        add_job(&mut info, path, source, read);
    } else {
        if let Ok(job) = Job::open(path) {
            of_job(&job, &mut info.facts);
        }
        add_profile(&mut info, source, read);
    }
    if path.is_dir() {
        add_side_files(&mut info, path);
    }
    info
}

/// A folder that is no profile by itself: what its files are, and the only profile in or below it, which all commands
/// read that are given the folder.
fn list(path: &Path, source: Source, read: &Read<'_>) -> Info {
    let mut info = Info::new(word("a folder"));
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return Info { problem: Some(error.to_string()), ..info },
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let folder = path;
    let mut known = 0;
    for path in paths.iter().take(MOST_FILES) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match Source::at(path) {
            Ok(source) if source.format().is_none() => {
                info.facts.item(&name, &source.to_string());
                continue;
            }
            Ok(source) => info.facts.item(&name, &source.to_string()),
            Err(error) => info.facts.item(&name, &error.to_string()),
        }
        known += 1;
    }
    if paths.len() > MOST_FILES {
        info.facts.item("…", &say!("and {} more", paths.len() - MOST_FILES));
    }
    add_side_files(&mut info, folder);
    let has_profile = add_within(&mut info, folder, source, read, &paths);
    if known == 0 && !has_profile && SideFiles::beside(folder).is_ok_and(|found| found.is_empty()) {
        info.facts.missing.push(word("a profile or a model").to_owned());
    }
    info
}

/// Adds the only profile in or below a folder, or the names of several that lie deeper than those that are `listed`;
/// says whether there are any.
fn add_within(info: &mut Info, folder: &Path, source: Source, read: &Read<'_>, listed: &[PathBuf]) -> bool {
    let below = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let error = match read(source) {
        Ok(opened) => {
            info.facts.item("profile", &below(opened.place()));
            info.facts.files(opened.files());
            of_trace(&opened, &mut info.facts);
            return true;
        }
        Err(error) => error,
    };
    match error.chain().find_map(|cause| cause.downcast_ref::<OpenError>()) {
        // Long texts are listed with how much of them was looked at.
        Some(
            OpenError::NoProfile { .. }
            | OpenError::LongTexts { .. }
            | OpenError::Ascend(opscope_cann::Error::NoProfile { .. }),
        ) => false,
        Some(OpenError::Several { found, .. }) => {
            for path in found.iter().filter(|path| !listed.contains(path)).take(MOST_FILES) {
                let kind = Source::at(path).map_or_else(|error| error.to_string(), |found| found.to_string());
                info.facts.item(&below(path), &kind);
            }
            true
        }
        _ => {
            info.facts.missing.push(with_causes(&error));
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_a_kind_or_version_that_is_not_read_is_no_damage_and_no_success() {
        let folder = tempfile::tempdir().unwrap();
        let old = "<?xml version=\"1.0\"?><net name=\"n\" version=\"4\" batch=\"1\"><layers></layers></net>";
        for (name, text) in [("old.xml", old), ("solver.prototxt", "base_lr: 0.01\nmomentum: 0.9\n")] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let info = of_file(&path, Source::at(&path).unwrap(), None, &|_| anyhow::bail!("no profile"));
            assert!(info.problem.is_some(), "{name}");
            assert!(!info.to_text(&path).contains("damaged"), "{name}: {}", info.to_text(&path));
        }
    }
}
