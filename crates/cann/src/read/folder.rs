//! Whole folders of outputs, joined as far as they belong together.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use opscope_trace::{LossKind, Trace};

use opscope_formats::chrome;
use opscope_formats::input::Input;

use super::database;
use super::tables::{self, Kernels, join};
use crate::timeline::AscendTimeline;

/// The folders below a run's own that the tools put their outputs into.
const OUTPUT_FOLDERS: [&str; 2] = ["ASCEND_PROFILER_OUTPUT", "mindstudio_profiler_output"];

/// A folder that could not be read as a trace.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// There is nothing that makes a trace.
    #[error(
        "{}: there are none of the outputs that make a trace: ascend_pytorch_profiler_*.db, msprof_*.db, \
         trace_view.json, msprof_*.json, kernel_details.csv, op_summary_*.csv",
        path.display()
    )]
    NoOutputs {
        /// The folder.
        path: PathBuf,
    },
    /// A database that could not be read.
    #[error(transparent)]
    Database(#[from] database::ReadError),
    /// A timeline that could not be read.
    #[error("{}: {source}", path.display())]
    Timeline {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: chrome::ReadError,
    },
    /// A table that could not be read.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: tables::ReadError,
    },
}

/// The outputs of one run that make a trace.
#[derive(Debug, Default)]
struct Outputs {
    database: Option<PathBuf>,
    timeline: Option<PathBuf>,
    /// A long table is split into several files.
    tables: Vec<PathBuf>,
}

/// Whether a folder holds outputs of the Ascend tools, itself or in the folder that they are put
/// into.
pub fn is_folder(path: &Path) -> bool {
    find_outputs(path).is_ok_and(|outputs| !outputs.is_empty())
}

/// Reads a folder of outputs: the database if there is one, because it holds most; else the
/// timeline together with the table of tasks, or whichever of them there is.
///
/// # Errors
/// When nothing in it makes a trace, or what does can't be read; always with the path.
pub fn read_folder(path: &Path) -> Result<Trace, FolderError> {
    let outputs = find_outputs(path)?;
    if let Some(database) = &outputs.database {
        return Ok(database::read_file(database)?);
    }
    if outputs.is_empty() {
        return Err(FolderError::NoOutputs { path: path.to_owned() });
    }
    let mut kernels = Kernels::default();
    let mut damaged = Vec::new();
    for path in &outputs.tables {
        let text = open(path, &mut damaged)?;
        let failed = |source| FolderError::Table { path: path.clone(), source };
        tables::read_tasks(&text, &mut kernels).map_err(failed)?;
    }
    let mut trace = match outputs.timeline {
        None => kernels.to_trace(),
        Some(path) => {
            let read = chrome::read_with(&open(&path, &mut damaged)?, &[&AscendTimeline]);
            let mut trace = read.map_err(|source| FolderError::Timeline { path, source })?;
            if !kernels.is_empty() {
                join::add_table(&mut trace, &kernels);
            }
            trace
        }
    };
    for damage in damaged {
        trace.count_loss(LossKind::CutCompression, 1, &damage);
    }
    Ok(trace)
}

impl Outputs {
    fn is_empty(&self) -> bool {
        self.database.is_none() && self.timeline.is_none() && self.tables.is_empty()
    }
}

/// The bytes of a file; what damage its compression has is noted.
fn open(path: &Path, damaged: &mut Vec<String>) -> Result<Input, FolderError> {
    let input = Input::open(path).map_err(|source| FolderError::Io { path: path.to_owned(), source })?;
    damaged.extend(input.damage().map(|problem| format!("{}: {problem}", path.display())));
    Ok(input)
}

/// The outputs in a folder or in those below it.
fn find_outputs(path: &Path) -> Result<Outputs, FolderError> {
    let mut files = files_in(path)?;
    for folder in OUTPUT_FOLDERS.map(|name| path.join(name)) {
        if folder.is_dir() {
            files.append(&mut files_in(&folder)?);
        }
    }
    // Every export writes new files whose names end in its time: the last one counts.
    let last = |prefix: &str, suffix: &str| {
        let name_of = |path: &&PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let of_kind = |path: &&PathBuf| {
            name_of(path).is_some_and(|name| {
                let stamp = name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(suffix));
                stamp.is_some_and(|stamp| stamp.bytes().all(|byte| byte.is_ascii_digit()))
            })
        };
        files.iter().filter(of_kind).max_by_key(|path| name_of(path)).cloned()
    };
    let database = last("ascend_pytorch_profiler_", ".db")
        .or_else(|| last("ascend_pytorch_profiler", ".db"))
        .or_else(|| last("msprof_", ".db"));
    let timeline = last("trace_view", ".json").or_else(|| last("msprof_", ".json"));
    let tables = match last("kernel_details", ".csv") {
        Some(table) => vec![table],
        None => last_export(&files, "op_summary_"),
    };
    Ok(Outputs { database, timeline, tables })
}

/// All files of the last export of a table: those whose names hold the latest time.
fn last_export(files: &[PathBuf], prefix: &str) -> Vec<PathBuf> {
    /// Digits of a time from years to seconds.
    const STAMP: usize = 14;
    let stamp = |path: &PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        let rest = name.strip_prefix(prefix)?.strip_suffix(".csv")?;
        let is_stamp = |part: &&str| part.len() == STAMP && part.bytes().all(|byte| byte.is_ascii_digit());
        Some(rest.split('_').find(is_stamp)?.to_owned())
    };
    let latest = files.iter().filter_map(stamp).max();
    files.iter().filter(|path| latest.is_some() && stamp(path) == latest).cloned().collect()
}

/// The files in a folder, by name.
fn files_in(folder: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let failed = |source| FolderError::Io { path: folder.to_owned(), source };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
