//! Boards' profiles on the command line: what is told of them, and their exported files.

use std::path::Path;

use opscope_open::Stop;
use opscope_say::{say, word};
use opscope_svp::{Exports, Job, RawKind, TableFormat, Written};
use opscope_trace::{Loss, LossKind, ProfileFormat, Trace};

use crate::terminal::Terminal;

/// A board's exported files, or those that can be made of a `JOB*` directory itself, and their trace.
///
/// # Errors
/// When nothing can be read.
pub fn read(path: &Path) -> anyhow::Result<(Exports, Trace)> {
    opscope_open::formats::board::read(path, &Stop::default()).map_err(super::advised)
}

/// A part of a board's profile that isn't there, and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Its name.
    pub what: &'static str,
    /// Why it is missing, and how it is had.
    pub how: String,
}

/// The reason why raw files of the engine give nothing, and how they are read.
const UNREAD: &str = "the raw files of the engine are there, in a layout that is not public: where the vendor's tool is \
                      installed, --vendor-parser PATH (msprof.pyc or mindcmd; of show, import and export) has it read \
                      them; else collect once more with --collector, opscope's own recorder of layers (docs/boards.md)";

/// Whether raw files of a kind are there, or were when the profile was imported.
fn has_raw(path: &Path, trace: &Trace, kind: RawKind) -> bool {
    let is_lost = |(_, loss): (_, Loss)| match loss.kind {
        LossKind::PrivateCalls => kind == RawKind::Calls,
        // The detail begins with the file's name.
        LossKind::PrivateFile => RawKind::of(trace.strings.get(loss.detail)) == kind,
        _ => false,
    };
    let is_there = |job: Job| job.files.iter().any(|file| file.kind == kind);
    trace.losses.iter().any(is_lost) || Job::open(path).is_ok_and(is_there)
}

/// How the layers of a board's profile are had, where only raw files have them that opscope can't read.
pub fn unread(path: &Path, trace: &Trace) -> Option<&'static str> {
    let is_without_layers = trace.run.format == Some(ProfileFormat::Svp) && trace.tasks.is_empty();
    (is_without_layers && has_raw(path, trace, RawKind::Counters)).then_some(UNREAD)
}

/// The parts that a board's profile lacks of those that the vendor's guide knows: layers, their
/// counters, calls.
pub fn missing(path: &Path, trace: &Trace) -> Vec<Missing> {
    let has = |kind| has_raw(path, trace, kind);
    let mut missing = Vec::new();
    let mut add = |what, how: &str| missing.push(Missing { what, how: how.to_owned() });
    const NOT_COLLECTED: &str = "they were not collected: convert the model with --online_model_type=2, collect with \
                                 --aac_metrics ArithmeticUtilization, and execute the model at least once";
    if trace.tasks.is_empty() {
        add(word("layers and their counters"), if has(RawKind::Counters) { UNREAD } else { NOT_COLLECTED });
    } else if trace.readings.is_empty() {
        let is_own = Job::open(path).is_ok_and(|job| job.has_own_records());
        let how = match is_own {
            true => word(
                "opscope's own collector can't read them; the board's own profiler records them (collect without \
                     --collector), and the vendor's tool reads those",
            ),
            false if has(RawKind::Counters) => UNREAD,
            false => NOT_COLLECTED,
        };
        add(word("counters of layers"), how);
    }
    if trace.api_calls.is_empty() {
        let how = match has(RawKind::Calls) {
            true => word(
                "their raw files are there, in a layout that is not public: where the vendor's tool is installed, \
                     --vendor-parser PATH has it read them",
            ),
            false => word(
                "they were not collected: collect with --acl_api on, and let the program call svp_acl_finalize()",
            ),
        };
        add("calls", how);
    }
    missing
}

/// Writes the tables of a board's profile below `folder/summary`, and its timelines below
/// `folder/timeline`, in the names and columns of the vendor's guide. Files that the vendor's tool wrote
/// there stay as they are.
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
    let others = if count > 1 { say!(" and {} more", count - 1) } else { String::new() };
    terminal.note(&say!(
        "kept as it is: {}{others}, which another tool wrote; 'opscope export all DIR --output OTHER' writes \
         opscope's own elsewhere",
        first.display()
    ));
}
