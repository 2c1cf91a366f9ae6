//! `opscope info`: what a file or folder is, what is in it, what is missing or damaged.

use std::path::{Path, PathBuf};

use clap::Args;
use opscope_open::{Kind, detect};
use opscope_svp::{Exports, Job, SideFiles};

use crate::converter_files::{self, ConverterFiles};
use crate::exit::{Exit, with_causes};
use crate::profile::{self, Source, Tell};
use crate::report::conversion;
use crate::report::info::{Info, of_job, of_model, of_side_files, of_trace};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope info model.onnx
  opscope info profile.json
  opscope info PROF_000001_20261121/
  opscope info downloads/ --json
  opscope info model.om           what its converter says: layers on the CPU, fused layers
  opscope info JOB…               the raw files of a board, their sizes, and which are whole

Anything can be named: a model, a profile of any format, a database, a folder. What a file is shows
from its content. The exit status is 1 if nothing of it can be read.";

/// The words for the kind of a board's files.
const BOARD: &str = "a profile of an SVP board";

/// How many files of a folder are looked at.
const MOST_FILES: usize = 200;

/// The options of `opscope info`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// A file or folder
    path: PathBuf,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Looks and prints.
///
/// # Errors
/// When there is nothing at the path, or standard output can't take the answer.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    profile::check_presence(&arguments.path)?;
    let info = look(&arguments.path, terminal);
    let text = match arguments.json {
        true => info.to_json(&arguments.path).to_text()?,
        false => info.to_text(&arguments.path),
    };
    terminal.print(&text)?;
    Ok(if info.problem.is_some() { Exit::Failed } else { Exit::Done })
}

fn of_file(path: &Path, terminal: &Terminal) -> Info {
    let kind = match detect(path) {
        Ok(kind) => kind,
        Err(error) => {
            return Info { problem: Some(error.to_string()), ..Info::new("a file that cannot be read") };
        }
    };
    let mut info = Info::new(kind.to_string());
    if let Ok(found) = path.metadata() {
        info.facts.bytes("file", "file_bytes", found.len());
    }
    match kind {
        Kind::OnnxModel => match opscope_model::Model::load(path) {
            Ok(model) => of_model(&model, &mut info.facts),
            Err(error) => info.problem = Some(error.to_string()),
        },
        Kind::Unknown { .. } if is_om(path) => {
            info.kind = "a model that was converted for a processor of Ascend or SVP (.om)".to_owned();
            add_side_files(&mut info, path);
        }
        _ if !SideFiles::of_file(path).is_empty() => {
            info.kind = "a file that the model converter leaves beside a model".to_owned();
            of_side_files(&SideFiles::of_file(path), &mut info.facts);
        }
        Kind::OtherDatabase | Kind::Unknown { .. } if converter_files::kind(path).is_some() => {
            add_converter_file(&mut info, path);
        }
        Kind::OtherDatabase | Kind::Unknown { .. } => {
            info.facts.missing.push("anything that opscope can read".to_owned());
        }
        _ => add_profile(&mut info, path, terminal),
    }
    info
}

fn is_om(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("om"))
}

/// Adds the files that the converter left beside a model, or in a folder.
fn add_side_files(info: &mut Info, path: &Path) {
    for (path, files) in converter_files::beside(path) {
        conversion::facts(&path, &files, &mut info.facts);
    }
    match SideFiles::beside(path) {
        Ok(found) if !found.is_empty() => of_side_files(&found, &mut info.facts),
        Ok(_) if is_om(path) => info.facts.missing.push(
            "what the converter says of its layers: om.json, layer.json and the like are not beside it \
             (atc --mode=1 --om=MODEL.om --json=om.json makes the first)"
                .to_owned(),
        ),
        _ => {}
    }
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
fn add_job(info: &mut Info, path: &Path, terminal: &Terminal) {
    match Job::open(path) {
        Ok(job) => {
            of_job(&job, &mut info.facts);
            match profile::open(path, Tell::InAnswer, terminal) {
                Ok(trace) => of_trace(&trace, &mut info.facts),
                Err(error) => info.facts.missing.push(with_causes(&error)),
            }
        }
        Err(error) => info.problem = Some(error.to_string()),
    }
}

fn add_profile(info: &mut Info, path: &Path, terminal: &Terminal) {
    match profile::open(path, Tell::InAnswer, terminal) {
        Ok(trace) => of_trace(&trace, &mut info.facts),
        Err(error) => info.problem = Some(with_causes(&error)),
    }
}

fn look(path: &Path, terminal: &Terminal) -> Info {
    match Source::find(path, terminal) {
        Ok(Source::Raw(profiles)) if profiles.len() == 1 => {
            let mut info = Info::new("a raw directory of Ascend");
            info.facts.raw(&profiles[0]);
            add_profile(&mut info, path, terminal);
            info
        }
        Ok(Source::Raw(profiles)) => {
            let mut info = Info::new(format!("a folder of {} raw directories of Ascend", profiles.len()));
            for profile in &profiles {
                let name = profile.path.strip_prefix(path).unwrap_or(&profile.path).display().to_string();
                info.facts.item(&name, "a raw directory of Ascend");
            }
            info
        }
        Ok(Source::Outputs(_)) => {
            let mut info = Info::new(Kind::AscendFolder.to_string());
            add_profile(&mut info, path, terminal);
            info
        }
        Ok(Source::Board(_)) => {
            let mut info = Info::new(BOARD);
            match Job::is_one(path) && !Exports::is_folder(path) {
                true => add_job(&mut info, path, terminal),
                false => {
                    if let Ok(job) = Job::open(path) {
                        of_job(&job, &mut info.facts);
                    }
                    add_profile(&mut info, path, terminal);
                }
            }
            if path.is_dir() {
                add_side_files(&mut info, path);
            }
            info
        }
        Ok(Source::File(_)) => of_file(path, terminal),
        Err(_) => list(path, terminal),
    }
}

/// A folder that is no profile by itself: what its files are.
fn list(path: &Path, terminal: &Terminal) -> Info {
    let mut info = Info::new("a folder");
    let entries = match std::fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) => return Info { problem: Some(error.to_string()), ..info },
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    let mut known = 0;
    for path in paths.iter().take(MOST_FILES) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let kind = match Source::find(path, terminal) {
            Ok(Source::Raw(_)) => "a raw directory of Ascend".to_owned(),
            Ok(Source::Outputs(_)) => Kind::AscendFolder.to_string(),
            Ok(Source::Board(_)) => BOARD.to_owned(),
            Ok(Source::File(_)) => match detect(path) {
                Ok(Kind::Unknown { looks_like }) => {
                    info.facts.item(&name, &looks_like);
                    continue;
                }
                Ok(kind) => kind.to_string(),
                Err(error) => error.to_string(),
            },
            Err(_) => {
                info.facts.item(&name, "a folder");
                continue;
            }
        };
        known += 1;
        info.facts.item(&name, &kind);
    }
    if paths.len() > MOST_FILES {
        info.facts.item("…", &format!("and {} more", paths.len() - MOST_FILES));
    }
    add_side_files(&mut info, path);
    if known == 0 && SideFiles::beside(path).is_ok_and(|found| found.is_empty()) {
        info.facts.missing.push("a profile or a model".to_owned());
    }
    info
}
