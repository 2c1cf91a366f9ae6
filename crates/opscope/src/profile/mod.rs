//! Whatever is a profile, read as a trace: files and folders that tools wrote, and the raw
//! directories of Ascend.

mod ascendcl;
pub mod board;
pub mod cache;
mod losses;
mod onnxruntime;
mod remarks;
mod results;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use opscope_cann::{Data, Found, Joined, Profile, to_trace};
use opscope_trace::{Nanoseconds, Trace};

use crate::exit::Exit;
use crate::terminal::{StepBar, Terminal};

pub use losses::{Opened, Tell, losses_of, warn};
pub use remarks::{outline, remarks, remarks_of_joined};
pub use results::Results;

/// What a path leads to.
#[derive(Debug)]
pub enum Source {
    /// A file in any format.
    File(PathBuf),
    /// A folder of tables, timelines and databases that the Ascend tools exported.
    Outputs(PathBuf),
    /// Raw directories, one or several, in the order of their paths.
    Raw(Vec<Profile>),
    /// A board's exported files, or its `JOB*` directory.
    Board(PathBuf),
}

impl Source {
    /// Finds out what a path leads to. A folder of outputs that has raw directories below it counts
    /// as outputs: they hold what the raw directories don't, such as the calls of a framework. A raw
    /// directory with outputs below it counts as raw. What lies below and can't be used is warned of.
    ///
    /// # Errors
    /// When there is nothing at `path`, or nothing that is a profile.
    pub fn find(path: &Path, terminal: &Terminal) -> anyhow::Result<Self> {
        if is_board(path)? {
            return Ok(Self::Board(path.to_owned()));
        }
        if !path.is_dir() {
            return Ok(Self::File(path.to_owned()));
        }
        let found = opscope_cann::search(path);
        let is_raw = found.as_ref().is_ok_and(|found| found.profiles.iter().any(|it| it.path == path));
        if !is_raw && opscope_cann::read::is_folder(path) {
            return Ok(Self::Outputs(path.to_owned()));
        }
        if !found.as_ref().is_ok_and(|found| !found.profiles.is_empty())
            && let Some(job) = board::only_below(path)?
        {
            return Ok(Self::Board(job));
        }
        Ok(Self::Raw(usable(found?, terminal)))
    }
}

/// Whether a path leads to what a board's tools or its profiler left.
///
/// # Errors
/// When there is nothing at `path`.
pub fn is_board(path: &Path) -> anyhow::Result<bool> {
    check_presence(path)?;
    let is_named = opscope_svp::Exports::is_file(path) || is_board_folder(path);
    Ok(is_named || (opscope_svp::Exports::has_totals(path) && !is_raw(path)))
}

/// Whether a path is a raw directory of Ascend itself: the tools of 2022 put tables of calls into those
/// that look like a board's.
fn is_raw(path: &Path) -> bool {
    let found = path.is_dir().then(|| opscope_cann::search(path).ok()).flatten();
    found.is_some_and(|found| found.profiles.iter().any(|profile| profile.path == path))
}

fn is_board_folder(path: &Path) -> bool {
    path.is_dir() && (opscope_svp::Exports::is_folder(path) || opscope_svp::Job::is_one(path))
}

/// Makes sure that there is something at `path`; otherwise says so, and suggests the path from the
/// root where only the first slash was forgotten.
///
/// # Errors
/// When there is nothing.
pub fn check_presence(path: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(path) {
        Ok(_) => return Ok(()),
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {}
        Err(problem) => return Err(problem).with_context(|| format!("{}: cannot be read", path.display())),
    }
    let rooted = Path::new("/").join(path);
    if path.is_relative() && rooted.exists() {
        bail!("{}: there is no such file or directory; did you mean {}?", path.display(), rooted.display());
    }
    bail!("{}: there is no such file or directory", path.display());
}

/// Reads a profile as a trace: a file in any format, a folder of outputs of the Ascend tools, or a
/// raw directory (`PROF_*`, `JOB*`), its host or device directory, or a directory above it. The
/// devices of a raw directory go into one trace. What was imported and still holds isn't decoded
/// again. What was lost of it is told as `how` says.
///
/// # Errors
/// When there is no profile at `path`, when there are several, or when it can't be read.
pub fn open(path: &Path, how: Tell, terminal: &Terminal) -> anyhow::Result<Opened> {
    let trace = match Source::find(path, terminal)? {
        Source::File(path) | Source::Outputs(path) => opscope_open::open(&path)?,
        Source::Raw(profiles) => read_raw(only(path, profiles)?, terminal)?,
        Source::Board(path) => board::open(&path)?,
    };
    Ok(Opened::new(trace, path, how, terminal))
}

/// The profile of a board that the vendor's parser read, with its losses told as `how` says.
pub fn of_exports(exports: &opscope_svp::Exports, path: &Path, how: Tell, terminal: &Terminal) -> Opened {
    Opened::new(exports.to_trace(), path, how, terminal)
}

/// The raw directories at or below `path`.
///
/// # Errors
/// When there is none.
pub fn raw(path: &Path, terminal: &Terminal) -> anyhow::Result<Vec<Profile>> {
    check_presence(path)?;
    if !path.is_dir() {
        bail!("{}: this is a file; name the raw directory (PROF_*, JOB*) or one above it", path.display());
    }
    Ok(usable(opscope_cann::search(path)?, terminal))
}

fn usable(found: Found, terminal: &Terminal) -> Vec<Profile> {
    for problem in found.unusable {
        terminal.warn(&format!("left out: {problem}"));
    }
    found.profiles
}

/// The profile among those found at `path`, if it is the only one.
///
/// # Errors
/// When there are several; they are named.
pub fn only(path: &Path, mut profiles: Vec<Profile>) -> anyhow::Result<Profile> {
    /// How many are named before it becomes tiresome.
    const NAMED: usize = 8;
    if profiles.len() == 1 {
        return Ok(profiles.remove(0));
    }
    let named = profiles.iter().take(NAMED).map(|profile| format!("\n  {}", profile.path.display()));
    let mut list: String = named.collect();
    if profiles.len() > NAMED {
        list.push_str(&format!("\n  and {} more", profiles.len() - NAMED));
    }
    bail!("{}: there are {} profiles here; name one of them:{list}", path.display(), profiles.len());
}

/// Does something with each of several profiles: one that fails doesn't keep the others from it.
///
/// # Errors
/// When the only profile fails.
pub fn each(
    profiles: Vec<Profile>,
    terminal: &Terminal,
    mut work: impl FnMut(Profile) -> anyhow::Result<()>,
) -> anyhow::Result<Exit> {
    let count = profiles.len();
    let mut failed = 0;
    for profile in profiles {
        let path = profile.path.clone();
        match work(profile) {
            Err(problem) if count == 1 => return Err(problem),
            Err(problem) => {
                failed += 1;
                terminal.error(&format!("{}: {problem:#}", path.display()));
            }
            Ok(()) => {}
        }
    }
    if failed == 0 {
        return Ok(Exit::Done);
    }
    terminal.error(&format!("{failed} of {count} profiles failed"));
    Ok(Exit::Failed)
}

/// The local time for the names of exported files: year to second, without anything between.
pub fn stamp() -> String {
    jiff::Zoned::now().strftime(STAMP).to_string()
}

/// The second after such a time.
pub fn second_after(stamp: &str) -> Option<String> {
    let time = jiff::civil::DateTime::strptime(STAMP, stamp).ok()?;
    Some(time.checked_add(jiff::SignedDuration::from_secs(1)).ok()?.strftime(STAMP).to_string())
}

/// How such times are written.
const STAMP: &str = "%Y%m%d%H%M%S";

/// A raw directory, with what other recorders left beside its files.
#[derive(Debug)]
pub struct RawProfile {
    /// The native tables of host and devices, brought together.
    pub joined: Joined,
    /// The trace of ONNX Runtime and of AscendCL's subscription; its zero is the begin of the collection.
    pub other_recorders: Trace,
}

/// Decodes a raw directory and brings its host and device sides together.
///
/// # Errors
/// When a directory of it can't be listed.
pub fn join(profile: Profile, bar: &StepBar) -> anyhow::Result<RawProfile> {
    bar.step(&format!("decoding {}", profile.name()));
    let data = Data::load(profile)?;
    bar.step("bringing host and devices together");
    let joined = Joined::new(data);
    let mut other_recorders = Trace::new();
    onnxruntime::append(&mut other_recorders, &joined.data.profile);
    ascendcl::append(&mut other_recorders, &joined.data.profile);
    Ok(RawProfile { joined, other_recorders })
}

/// Reads a profile anew and leaves its trace in a database for later commands.
///
/// # Errors
/// When it can't be read, or the database can't be written.
pub fn import(profile: Profile, database: &Path, terminal: &Terminal) -> anyhow::Result<Trace> {
    let bar = StepBar::new(terminal);
    let raw = join(profile, &bar)?;
    bar.step("making a trace of it");
    let trace = trace_of(&raw);
    bar.step("writing the database");
    cache::write(&trace, &raw.joined.data.profile, database)?;
    drop(bar);
    for remark in remarks(&raw.joined.data.profile, &trace) {
        terminal.warn(&remark);
    }
    Ok(trace)
}

/// What was lost of a raw directory, as a trace that holds nothing else.
pub fn losses_of_joined(raw: &RawProfile) -> Trace {
    let mut losses = Trace::new();
    for loss in raw.joined.all_losses().rows().iter().filter(|loss| loss.reason.is_loss()) {
        losses.count_as(loss.reason.severity(), loss.reason.text(), loss.count, &loss.place);
    }
    losses.append_losses(&raw.other_recorders);
    losses
}

/// The trace of a raw directory, with what ONNX Runtime and AscendCL told beside the raw files.
pub fn trace_of(raw: &RawProfile) -> Trace {
    let mut trace = to_trace(&raw.joined);
    trace.append(&raw.other_recorders, Nanoseconds(0));
    trace
}

fn read_raw(profile: Profile, terminal: &Terminal) -> anyhow::Result<Trace> {
    let bar = StepBar::new(terminal);
    bar.step("reading what was imported");
    let trace = match cache::read(&profile) {
        Some(trace) => trace,
        None => {
            let raw = join(profile.clone(), &bar)?;
            bar.step("making a trace of it");
            trace_of(&raw)
        }
    };
    drop(bar);
    for remark in remarks(&profile, &trace) {
        terminal.warn(&remark);
    }
    Ok(trace)
}

/// The folder below `output` for the results of a profile that was found at `path`: `output` itself
/// for that profile, and a folder of the profile's name for those below.
pub fn folder_in(output: &Path, path: &Path, profile: &Profile) -> PathBuf {
    let below = profile.path.strip_prefix(path).unwrap_or(Path::new(""));
    output.join(below)
}
