//! Profiles of boards with SVP processors: exported files, and `JOB*` directories.

use std::path::{Path, PathBuf};

use opscope_svp::{Exports, Job, RAW_CALLS_LABEL, RawKind, ReadError};
use opscope_trace::{LossKind, Trace};

use crate::about::{About, FormatKind, Tried};
use crate::format::{Content, Format, Reader};
use crate::look::Look;
use crate::{OpenError, Progress, Stop};

/// The format.
pub static FORMAT: Format =
    Format { name: NAME, about: Some(&ABOUT), is: is_itself, reader: Reader::Place(read_place) };

/// The same for a folder that collections were brought back to: it holds one `JOB*` directory.
pub static BELOW: Format = Format {
    name: NAME,
    about: Some(&ABOUT),
    is: |look| look.is_folder && jobs_below(&look.path).len() == 1,
    reader: Reader::Place(read_place),
};

const NAME: &str = "a profile of an SVP board";

const ABOUT: About = About {
    kind: FormatKind::Profile,
    from: "the tools of SS928 and SS927 (exports of JOB*), opscope's own collector there",
    reads: "layers, calls, hardware's counters, frequency; records of opscope's own collector",
    written_by: Some("opscope export, opscope collect --config"),
    lacks: "the vendor's raw files, whose layout is not public: --vendor-parser has the vendor's tool read them",
    tried: Tried::Documentation,
};

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
    Ok(Content::new(trace, place))
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
        // The gaps of the raw files say more than that there is nothing beside them.
        Err(ReadError::NoExports { .. } | ReadError::Io { .. }) => found(raw),
        Err(error) => Err(OpenError::content(error)),
    }
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
