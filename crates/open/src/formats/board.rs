//! Profiles of boards with SVP processors: exported files, and `JOB*` directories.

use std::path::{Path, PathBuf};

use opscope_svp::{Exports, Job, RAW_CALLS_LABEL, RawKind, ReadError};
use opscope_trace::{LossKind, Trace};

use crate::format::{Content, Format, Reader};
use crate::look::Look;
use crate::{OpenError, Progress, Stop};

/// The format.
pub static FORMAT: Format = Format { name: NAME, is: is_itself, reader: Reader::Place(read_place) };

/// The same for a folder that collections were brought back to: it holds one `JOB*` directory.
pub static BELOW: Format = Format {
    name: NAME,
    is: |look| look.is_folder && jobs_below(&look.path).len() == 1,
    reader: Reader::Place(read_place),
};

const NAME: &str = "a profile of an SVP board";

/// Whether a path is what a board's tools or its profiler left. The tools of 2022 put tables of calls
/// into raw directories of Ascend, too.
fn is_itself(look: &Look) -> bool {
    let path = &look.path;
    Exports::is_file(path)
        || (look.is_folder && (Exports::is_folder(path) || Job::is_one(path)))
        || (Exports::has_totals(path) && !look.is_raw())
}

/// The profile itself: the path that was looked at, or the `JOB*` directory below it.
pub(crate) fn place(look: &Look) -> PathBuf {
    let below = || jobs_below(&look.path).pop();
    if is_itself(look) { None } else { below() }.unwrap_or_else(|| look.path.clone())
}

fn read_place(look: Look, progress: &dyn Progress) -> Result<Content, OpenError> {
    let place = place(&look);
    let (_, trace) = read(&place, &progress.stop())?;
    Ok(Content { trace, place, remarks: Vec::new() })
}

/// The `JOB*` directories in a folder, by name.
pub(crate) fn jobs_below(folder: &Path) -> Vec<PathBuf> {
    let is_job = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("JOB") && path.is_dir() && (Job::is_one(path) || Exports::is_folder(path))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut jobs: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_job).collect();
    jobs.sort();
    jobs
}

/// The error of a folder with several of them.
pub(crate) fn several(path: PathBuf, found: Vec<PathBuf>) -> OpenError {
    OpenError::Several { path, what: "profiles of boards", found }
}

/// The parts of a board's profile that were read.
enum Found {
    /// Exported files, and the reasons to doubt the raw files beside them.
    Exports(Exports, Vec<String>),
    /// Raw files: their trace, and the files that can be exported of it.
    Raw(Box<Trace>, Exports),
}

/// Reads exported files, or, where there are none, what can be read of a `JOB*` directory itself: the
/// files that can be exported, and the trace. It ends early where `stop` is wanted.
///
/// # Errors
/// When nothing can be read; for a `JOB*` directory the error says what it holds and what is missing.
pub fn read(path: &Path, stop: &Stop) -> Result<(Exports, Trace), OpenError> {
    Ok(match find(path, stop)? {
        Found::Raw(trace, exports) => (exports, *trace),
        Found::Exports(exports, problems) => {
            let mut trace = exports.to_trace();
            note_doubts(&mut trace, &problems);
            (exports, trace)
        }
    })
}

fn note_doubts(trace: &mut Trace, problems: &[String]) {
    problems.iter().for_each(|problem| trace.count_loss(LossKind::DoubtedCollection, 1, problem));
}

/// Reads own records rather than files that were exported of them, and files that the vendor's tools
/// exported rather than raw files that can't be read.
fn find(path: &Path, stop: &Stop) -> Result<Found, OpenError> {
    let exported = || Exports::read_until(path, stop).map_err(OpenError::content);
    if !Job::is_one(path) {
        return Ok(Found::Exports(exported()?, Vec::new()));
    }
    let job = Job::open(path);
    let problems = job.as_ref().map(Job::problems).unwrap_or_default();
    let is_own = job.as_ref().is_ok_and(Job::has_own_records);
    if !is_own && Exports::is_folder_of_others(path) {
        return Ok(Found::Exports(exported()?, problems));
    }
    let raw = job.map_err(OpenError::content).and_then(|job| open_job(&job));
    let found = |raw: Result<(Trace, Exports), OpenError>| {
        raw.map(|(trace, exports)| Found::Raw(Box::new(trace), exports))
    };
    if raw.as_ref().is_ok_and(|(trace, _)| !(trace.tasks.is_empty() && trace.api_calls.is_empty())) {
        return found(raw);
    }
    match Exports::read_until(path, stop) {
        Ok(exports) => Ok(Found::Exports(exports, problems)),
        // What the raw files lack says more than that there is nothing beside them.
        Err(ReadError::NoExports { .. } | ReadError::Io { .. }) => found(raw),
        Err(error) => Err(OpenError::content(error)),
    }
}

/// A part of a board's profile that isn't there, and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its name.
    pub what: &'static str,
    /// Why it is missing, and how it is had.
    pub how: String,
}

/// The parts that a board's profile lacks of those that the vendor's guide knows: layers, their
/// counters, calls.
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

/// Reads a `JOB*` directory by itself: the records of opscope's own collector, or else calls, if their
/// files have the layout of 2022. The other files are counted, because their layout is not public.
fn open_job(job: &Job) -> Result<(Trace, Exports), OpenError> {
    let own = Exports::from_own_records(job).map_err(OpenError::content)?;
    let calls = Exports::from_raw_calls(job);
    if own.is_none() && calls.calls.is_empty() && job.problems().is_empty() {
        let files = job.files.iter().map(|file| file.name.clone()).collect();
        return Err(OpenError::ClosedLayout { path: job.path.clone(), files });
    }
    let (mut trace, exports) = match own {
        Some(own) => {
            let mut trace = own.to_trace();
            trace.run.collector = Some("opscope, on the board".to_owned());
            let exports = Exports::from_trace(&trace);
            calls.count_losses(&mut trace);
            (trace, exports)
        }
        None => {
            let mut trace = calls.to_trace();
            if !calls.calls.is_empty() {
                trace.run.calls = Some(RAW_CALLS_LABEL.to_owned());
            }
            (trace, calls)
        }
    };
    for file in job.files.iter().filter(|file| !file.kind.is_own() && file.kind != RawKind::Calls) {
        let detail = format!("{} ({} bytes)", file.name, file.size);
        trace.count_loss(LossKind::PrivateFile, 1, &detail);
    }
    note_doubts(&mut trace, &job.problems());
    Ok((trace, exports))
}
