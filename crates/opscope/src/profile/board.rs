//! A board's exported files and `JOB*` directories, read as a trace.

use std::path::{Path, PathBuf};

use anyhow::bail;
use opscope_svp::{Exports, Job, RAW_CALLS_LABEL, RawKind, ReadError, TableFormat, Written};
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
    /// Raw files: the trace, and what can be exported of it.
    Raw(Box<Trace>, Exports),
}

/// Reads exported files, or, where there are none, what can be read of a `JOB*` directory itself.
///
/// # Errors
/// When nothing can be read; for a `JOB*` directory the error says what it holds and what is missing.
pub fn open(path: &Path) -> anyhow::Result<Trace> {
    Ok(read(path)?.1)
}

/// As [`open`], with the files that can be exported.
///
/// # Errors
/// Those of [`open`].
pub fn read(path: &Path) -> anyhow::Result<(Exports, Trace)> {
    Ok(match find(path)? {
        Found::Raw(trace, exports) => (exports, *trace),
        Found::Exports(exports, problems) => {
            let mut trace = exports.to_trace();
            note_doubts(&mut trace, &problems);
            (exports, trace)
        }
    })
}

/// A board's exported files, or those that can be made of a `JOB*` directory itself. What was lost of
/// them is told as `how` says.
///
/// # Errors
/// Those of [`open`].
pub fn exports(path: &Path, how: Tell, terminal: &Terminal) -> anyhow::Result<Exports> {
    let (exports, trace) = read(path)?;
    if how == Tell::Warnings {
        super::warn(&trace, path, terminal);
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
    if !is_own && Exports::is_folder_of_others(path) {
        return Ok(Found::Exports(Exports::read(path)?, problems));
    }
    let raw = job.map_err(anyhow::Error::from).and_then(|job| open_job(&job));
    let found = |raw: anyhow::Result<(Trace, Exports)>| {
        raw.map(|(trace, exports)| Found::Raw(Box::new(trace), exports))
    };
    if raw.as_ref().is_ok_and(|(trace, _)| !(trace.tasks.is_empty() && trace.api_calls.is_empty())) {
        return found(raw);
    }
    match Exports::read(path) {
        Ok(exports) => Ok(Found::Exports(exports, problems)),
        // What the raw files lack says more than that there is nothing beside them.
        Err(ReadError::NoExports { .. } | ReadError::Io { .. }) => found(raw),
        Err(error) => Err(error.into()),
    }
}

/// Writes the tables of a board's profile below `folder/summary`, and its timelines below
/// `folder/timeline`, in the names and columns of the vendor's guide. What the vendor's tool wrote there
/// stays as it is.
///
/// # Errors
/// When a file can't be written.
pub fn write(
    exports: &Exports,
    (summary, timeline): (bool, bool),
    format: TableFormat,
    folder: &Path,
) -> anyhow::Result<Written> {
    let mut written = Written::default();
    if summary {
        written.append(exports.write_summary(folder, format)?);
    }
    if timeline {
        written.append(exports.write_timeline(folder)?);
    }
    Ok(written)
}

/// Says which files of other tools were left as they are, and how to have opscope's own as well.
pub fn tell_kept(written: &Written, terminal: &Terminal) {
    let Some(first) = written.kept.first() else { return };
    let count = written.kept.len();
    let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
    terminal.note(&format!(
        "kept as it is: {}{others}, which another tool wrote; 'opscope export all DIR --output OTHER' writes \
         opscope's own elsewhere",
        first.display()
    ));
}

/// A part of a board's profile that isn't there, and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What isn't there.
    pub what: &'static str,
    /// Why, and what brings it.
    pub how: String,
}

/// What a board's profile lacks of what the vendor's guide knows: layers, their counters, calls.
pub fn missing(path: &Path, trace: &Trace) -> Vec<Missing> {
    let job = Job::open(path).ok();
    let has = |kind: RawKind| job.as_ref().is_some_and(|job| job.files.iter().any(|file| file.kind == kind));
    let mut missing = Vec::new();
    let mut add = |what, how: &str| missing.push(Missing { what, how: how.to_owned() });
    const UNREAD: &str = "the raw files of the engine are there, in a layout that is not public: where the vendor's \
                          tool is installed, --vendor-parser PATH (msprof.pyc or mindcmd) has it read them; else \
                          collect once more with --collector, opscope's own recorder of layers (docs/boards.md)";
    const NOT_COLLECTED: &str = "they were not collected: convert the model with --online_model_type=2, collect with \
                                 --aac_metrics ArithmeticUtilization, and execute the model at least once";
    if trace.tasks.is_empty() {
        add("layers and their counters", if has(RawKind::Counters) { UNREAD } else { NOT_COLLECTED });
    } else if trace.readings.is_empty() {
        let is_own = job.as_ref().is_some_and(Job::has_own_records);
        let how = match is_own {
            true => {
                "opscope's own collector can't read them; the board's own profiler records them (collect without \
                     --collector), and the vendor's tool reads those"
            }
            false if has(RawKind::Counters) => UNREAD,
            false => NOT_COLLECTED,
        };
        add("counters of layers", how);
    }
    if trace.api_calls.is_empty() {
        let how = match has(RawKind::Calls) {
            true => {
                "their raw files are there, in a layout that is not public: where the vendor's tool is installed, \
                     --vendor-parser PATH has it read them"
            }
            false => {
                "they were not collected: collect with --acl_api on, and let the program call svp_acl_finalize()"
            }
        };
        add("calls", how);
    }
    missing
}

/// What can be read of a `JOB*` directory by itself: what opscope's own collector recorded, or else calls,
/// if their files have the layout of 2022. The other files are counted, because their layout is not public.
fn open_job(job: &Job) -> anyhow::Result<(Trace, Exports)> {
    let own = Exports::from_own_records(job)?;
    let calls = Exports::from_raw_calls(job);
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
    let (mut trace, exports) = match own {
        Some(own) => {
            let mut trace = own.to_trace();
            trace.set_property("collector", "opscope, on the board");
            let exports = Exports::from_trace(&trace);
            calls.count_losses(&mut trace);
            (trace, exports)
        }
        None => {
            let mut trace = calls.to_trace();
            if !calls.calls.is_empty() {
                trace.set_property("calls", RAW_CALLS_LABEL);
            }
            (trace, calls)
        }
    };
    for file in job.files.iter().filter(|file| !file.kind.is_own() && file.kind != RawKind::Calls) {
        let detail = format!("{} ({} bytes)", file.name, file.size);
        trace.count_as(Severity::Doubted, "not read: a raw file whose layout is not public", 1, &detail);
    }
    note_doubts(&mut trace, &job.problems());
    Ok((trace, exports))
}
