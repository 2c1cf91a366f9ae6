//! A board's exported files and `JOB*` directories, read as a trace.

use std::path::{Path, PathBuf};

use anyhow::bail;
use opscope_svp::{Exports, Job, RawCalls, RawKind, TableFormat};
use opscope_trace::Trace;

/// Reads exported files, or, where there are none, what can be read of a `JOB*` directory itself.
///
/// # Errors
/// When nothing can be read; for a `JOB*` directory the error says what it holds and what is missing.
pub fn open(path: &Path) -> anyhow::Result<Trace> {
    if !Job::is_one(path) || Exports::is_folder(path) {
        return Ok(Exports::read(path)?.to_trace());
    }
    open_job(&Job::open(path)?)
}

/// A board's exported files, or those that can be made of a `JOB*` directory itself.
///
/// # Errors
/// Those of [`open`].
pub fn exports(path: &Path) -> anyhow::Result<Exports> {
    let is_exported = !Job::is_one(path) || Exports::is_folder(path);
    Ok(if is_exported { Exports::read(path)? } else { Exports::from_trace(&open(path)?) })
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
    let mut losses = Vec::new();
    for file in job.files.iter().filter(|file| !file.kind.is_own()) {
        let refused = match file.kind {
            RawKind::Calls => {
                RawCalls::read_file(&file.path).map(|mut more| calls.calls.append(&mut more.calls))
            }
            _ => {
                losses.push((
                    "not read: a raw file whose layout is not public",
                    format!("{} ({} bytes)", file.name, file.size),
                ));
                continue;
            }
        };
        if let Err(error) = refused {
            losses.push(("not read: calls in a layout that is not public", error.to_string()));
        }
    }
    if own.is_none() && calls.calls.is_empty() && job.problems().is_empty() {
        let files: Vec<&str> = job.files.iter().map(|file| &*file.name).collect();
        bail!(
            "{}: the raw files of this board are in a layout that is not public ({}); where the vendor's tool is \
             installed, name it with --vendor-parser (msprof.pyc or mindcmd), or read what it exports",
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
    for (reason, detail) in losses {
        trace.count_loss(reason, 1, &detail);
    }
    for problem in job.problems() {
        trace.count_loss("doubted: the collection", 1, &problem);
    }
    Ok(trace)
}
