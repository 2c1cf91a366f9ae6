//! A board's exported files and `JOB*` directories, read as a trace.

use std::path::{Path, PathBuf};

use anyhow::bail;
use opscope_svp::{Exports, Job, RawCalls, RawKind, ReadError, TableFormat};
use opscope_trace::{Severity, Trace};

use super::Tell;
use crate::terminal::Terminal;

/// The `JOB*` directory in a folder, if there is one: collections are brought back to such a folder.
///
/// # Errors
/// When there are several; they are named.
pub fn only_below(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    /// How many are named before it becomes tiresome.
    const NAMED: usize = 8;
    let is_job = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("JOB") && path.is_dir() && (Job::is_one(path) || Exports::is_folder(path))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut jobs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_job).collect();
    jobs.sort();
    if jobs.len() > 1 {
        let named: String = jobs.iter().take(NAMED).map(|job| format!("\n  {}", job.display())).collect();
        let rest = if jobs.len() > NAMED { "\n  …" } else { "" };
        bail!(
            "{}: there are {} profiles of boards here; name one of them:{named}{rest}",
            folder.display(),
            jobs.len()
        );
    }
    Ok(jobs.pop())
}

/// What a board's profile was read as.
enum Found {
    /// Exported files, and what makes the raw files beside them doubtful.
    Exports(Exports, Vec<String>),
    /// Raw files.
    Raw(Box<Trace>),
}

/// Reads exported files, or, where there are none, what can be read of a `JOB*` directory itself.
///
/// # Errors
/// When nothing can be read; for a `JOB*` directory the error says what it holds and what is missing.
pub fn open(path: &Path) -> anyhow::Result<Trace> {
    Ok(match find(path)? {
        Found::Raw(trace) => *trace,
        Found::Exports(exports, problems) => {
            let mut trace = exports.to_trace();
            note_doubts(&mut trace, &problems);
            trace
        }
    })
}

/// A board's exported files, or those that can be made of a `JOB*` directory itself. What was lost of
/// them is told as `how` says.
///
/// # Errors
/// Those of [`open`].
pub fn exports(path: &Path, how: Tell, terminal: &Terminal) -> anyhow::Result<Exports> {
    let (exports, losses) = match find(path)? {
        Found::Exports(exports, problems) => {
            let mut trace = exports.to_trace();
            note_doubts(&mut trace, &problems);
            (exports, trace)
        }
        Found::Raw(trace) => (Exports::from_trace(&trace), *trace),
    };
    if how == Tell::Warnings {
        super::warn(&losses, path, terminal);
    }
    Ok(exports)
}

const DOUBTED: &str = "doubted: the collection";

fn note_doubts(trace: &mut Trace, problems: &[String]) {
    problems.iter().for_each(|problem| trace.count_as(Severity::Doubted, DOUBTED, 1, problem));
}

/// What our own collector recorded goes before what was exported of it; what the vendor's tools
/// exported before raw files that can't be read.
fn find(path: &Path) -> anyhow::Result<Found> {
    if !Job::is_one(path) {
        return Ok(Found::Exports(Exports::read(path)?, Vec::new()));
    }
    let job = Job::open(path);
    let problems = job.as_ref().map(Job::problems).unwrap_or_default();
    let is_own = job.as_ref().is_ok_and(Job::has_own_records);
    if !is_own && Exports::is_folder(path) {
        return Ok(Found::Exports(Exports::read(path)?, problems));
    }
    let raw = job.map_err(anyhow::Error::from).and_then(|job| open_job(&job));
    if raw.as_ref().is_ok_and(|trace| !(trace.tasks.is_empty() && trace.api_calls.is_empty())) {
        return raw.map(|trace| Found::Raw(Box::new(trace)));
    }
    match Exports::read(path) {
        Ok(exports) => Ok(Found::Exports(exports, problems)),
        // What the raw files lack says more than that there is nothing beside them.
        Err(ReadError::NoExports { .. } | ReadError::Io { .. }) => {
            raw.map(|trace| Found::Raw(Box::new(trace)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Writes the tables of a board's profile below `folder/summary`, and its timelines below
/// `folder/timeline`, in the names and columns of the vendor's guide. Returns the files.
///
/// # Errors
/// When a file can't be written.
pub fn write(
    exports: &Exports,
    (summary, timeline): (bool, bool),
    format: TableFormat,
    folder: &Path,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut written = Vec::new();
    if summary {
        written.extend(exports.write_summary(folder, format)?.0);
    }
    if timeline {
        written.extend(exports.write_timeline(folder)?.0);
    }
    Ok(written)
}

/// The calls of a `JOB*` directory, if their file has the layout of 2022. The other files are counted,
/// because their layout is not public.
fn open_job(job: &Job) -> anyhow::Result<Trace> {
    let own = Exports::from_own_records(job)?;
    let mut calls = RawCalls::default();
    let (mut refused_calls, mut unread) = (Vec::new(), Vec::new());
    for file in job.files.iter().filter(|file| !file.kind.is_own()) {
        let refused = match file.kind {
            RawKind::Calls => {
                RawCalls::read_file(&file.path).map(|mut more| calls.calls.append(&mut more.calls))
            }
            _ => {
                unread.push(format!("{} ({} bytes)", file.name, file.size));
                continue;
            }
        };
        if let Err(error) = refused {
            refused_calls.push(error.to_string());
        }
    }
    if own.is_none() && calls.calls.is_empty() && job.problems().is_empty() {
        let files: Vec<&str> = job.files.iter().map(|file| &*file.name).collect();
        bail!(
            "{}: the raw files of this board are in a layout that is not public ({}); where the vendor's tool is \
             installed, name it with --vendor-parser (msprof.pyc or mindcmd), or read what it exports; 'opscope info' lists \
             them with their sizes",
            job.path.display(),
            files.join(", ")
        );
    }
    let mut trace = match own {
        Some(own) => {
            let mut trace = own.to_trace();
            trace.set_property("collector", "opscope, on the board");
            trace
        }
        None => calls.to_trace(),
    };
    for detail in refused_calls {
        trace.count_loss("not read: calls in a layout that is not public", 1, &detail);
    }
    for detail in unread {
        let reason = "not read: a raw file whose layout is not public";
        trace.count_as(Severity::Doubted, reason, 1, &detail);
    }
    note_doubts(&mut trace, &job.problems());
    Ok(trace)
}
