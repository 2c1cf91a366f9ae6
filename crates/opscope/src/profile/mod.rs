//! Profiles on the command line: the library's door, with a bar for its progress and its remarks and
//! losses in warnings.

pub mod board;
mod losses;
mod network;
mod several;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use anyhow::Error;
use opscope_cann::{Found, Profile};
use opscope_open::raw::NoPlace;
use opscope_open::{OpenError, Progress, Source, Stop, formats};
use opscope_say::{say, word};
use opscope_svp::SideFiles;
use opscope_trace::Trace;

use crate::converter_files;
use crate::terminal::{StepBar, Terminal};

pub use losses::{
    Opened, Tell, loss_line, losses_beside_graph, losses_by_severity, losses_json, losses_of,
    losses_of_model, warn, warn_beside_graph, warn_of_model,
};
pub use network::NetworkArguments;
pub use opscope_open::check_presence;
pub use opscope_open::raw::{
    RawProfile, Results, imported, join, losses_of_joined, only, outline, remarks_of_joined, trace_of,
};
pub use several::{each, each_answer};

/// Reads a profile as a trace, whatever its format. Its losses are told as `how` says.
///
/// # Errors
/// When there is no profile at `path`, when there are several, or when it can't be read.
pub fn open(path: &Path, how: Tell, terminal: &Terminal) -> anyhow::Result<Opened> {
    open_source(Source::at(path)?, how, terminal)
}

/// As [`open`], of a path that was looked at already.
///
/// # Errors
/// As [`open`].
pub fn open_source(source: Source, how: Tell, terminal: &Terminal) -> anyhow::Result<Opened> {
    let opened = read(source, how, terminal)?;
    warn_of_unread(&opened, terminal);
    Ok(opened)
}

/// As [`open_source`], of samples below functions with a text in their names alone.
///
/// # Errors
/// As [`open`], and when the profile has no stacks of samples, or none there.
pub fn open_below(source: Source, below: &str, how: Tell, terminal: &Terminal) -> anyhow::Result<Opened> {
    let bar = LateBar { terminal, bar: OnceCell::new() };
    Ok(Opened::new(source.open_below(below, &bar).map_err(advised)?, how, terminal))
}

/// Says how raw files of a board are read, where a profile has nothing else.
pub fn warn_of_unread(opened: &Opened, terminal: &Terminal) {
    if let Some(remedy) = board::unread(opened.place(), opened) {
        terminal.warn(&say!("there are no layers: {remedy}"));
    }
}

/// As [`open_source`], without saying how unread files of a board are read.
///
/// # Errors
/// As [`open`].
pub fn read(source: Source, how: Tell, terminal: &Terminal) -> anyhow::Result<Opened> {
    let bar = LateBar { terminal, bar: OnceCell::new() };
    read_telling(source, how, &bar, terminal)
}

/// As [`read`], with another listener for the steps.
///
/// # Errors
/// As [`open`].
pub fn read_telling(
    source: Source,
    how: Tell,
    progress: &dyn Progress,
    terminal: &Terminal,
) -> anyhow::Result<Opened> {
    warn_of_left_out(source.left_out(), terminal);
    let opened = source.open(progress).map_err(advised)?;
    for remark in &opened.remarks {
        terminal.warn(remark);
    }
    Ok(Opened::new(opened, how, terminal))
}

/// An error of the door, with the options that help.
fn advised(error: OpenError) -> Error {
    match error {
        OpenError::ClosedLayout { .. } => anyhow::anyhow!(
            "{}",
            say!(
                "{error}; where the vendor's tool is installed, name it with --vendor-parser (msprof.pyc or mindcmd) to \
             show, import or export, or read what it exports; 'opscope info' lists them with their sizes"
            )
        ),
        OpenError::NoProfile { path, kind, advice } => match of_converter(&path) {
            Some(told) => anyhow::anyhow!("{told}"),
            None => OpenError::NoProfile { path, kind, advice }.into(),
        },
        error => error.into(),
    }
}

/// Says of a file of the model converter's, which is no profile, for whom it is.
fn of_converter(path: &Path) -> Option<String> {
    if let Some(file) = converter_files::kind(path) {
        return Some(say!(
            "{}: this is {file}, not a profile; opscope fusion shows it, and opscope advise takes it beside a \
             profile or model, with --converter, --switches or --fusion-result",
            path.display()
        ));
    }
    let is_beside = path.is_file() && !SideFiles::of_file(path).is_empty();
    is_beside.then(|| {
        say!(
            "{}: this is a file that the model converter leaves beside a model, not a profile; opscope info shows it",
            path.display()
        )
    })
}

/// The profile of a board that the vendor's parser read, with its losses told as `how` says.
pub fn of_exports(exports: &opscope_svp::Exports, path: &Path, how: Tell, terminal: &Terminal) -> Opened {
    let opened = opscope_open::Opened {
        trace: exports.to_trace(),
        format: &formats::board::FORMAT,
        path: path.to_owned(),
        place: path.to_owned(),
        remarks: Vec::new(),
        files: Vec::new(),
    };
    Opened::new(opened, how, terminal)
}

/// A bar that is made when the first step begins: most files are read in one.
struct LateBar<'t> {
    terminal: &'t Terminal,
    bar: OnceCell<StepBar>,
}

impl Progress for LateBar<'_> {
    fn step(&self, name: &str) {
        self.bar.get_or_init(|| StepBar::new(self.terminal)).step(name);
    }
}

impl Progress for StepBar {
    fn step(&self, name: &str) {
        Self::step(self, name);
    }
}

/// The raw directories at or below a path that was looked at.
///
/// # Errors
/// When there is none.
pub fn raw(source: Source, terminal: &Terminal) -> anyhow::Result<Vec<Profile>> {
    // Ctrl-C ends commands at once.
    warn_of_others(&source, &Stop::default(), terminal);
    let Found { profiles, unusable } = source.into_raw()?;
    warn_of_left_out(unusable.iter().map(ToString::to_string), terminal);
    Ok(profiles)
}

/// The raw directories of a path that was looked at. Where `stop` is wanted, not all that is beside them is told.
pub fn raw_of(source: &Source, stop: &Stop, terminal: &Terminal) -> Vec<Profile> {
    warn_of_left_out(source.left_out(), terminal);
    warn_of_others(source, stop, terminal);
    source.profiles().to_vec()
}

/// Names the profiles beside raw directories, which whoever reads those alone doesn't see.
fn warn_of_others(source: &Source, stop: &Stop, terminal: &Terminal) {
    for (kind, path) in source.beside_raw(stop) {
        terminal.warn(&format!("{}: {}", path.display(), word(kind.sentence())));
    }
}

fn warn_of_left_out(problems: impl IntoIterator<Item = String>, terminal: &Terminal) {
    for problem in problems {
        terminal.warn(&say!("left out: {problem}"));
    }
}

/// The place for the results of a profile: `chosen` if the user chose one, else below the profile,
/// else, where that can't be written to, in the user's cache folder, which is said.
///
/// # Errors
/// When nothing can be written to the chosen place, or nowhere.
pub fn place_results(
    profile: &Profile,
    chosen: Option<PathBuf>,
    terminal: &Terminal,
) -> anyhow::Result<Results> {
    match Results::place(profile, chosen) {
        Ok((results, None)) => Ok(results),
        Ok((results, Some(below))) => {
            let folder = results.folder().display();
            terminal.warn(&say!(
                "{:#}; results go to {folder} (--output DIR names another place)",
                Error::from(below)
            ));
            Ok(results)
        }
        Err(NoPlace::Chosen(problem)) => Err(problem.into()),
        Err(NoPlace::Below(problem)) => {
            Err(Error::from(problem).context(word("name another place with --output DIR")))
        }
        Err(NoPlace::Nowhere { below, cache }) => {
            let below = Error::from(below);
            let unusable = say!("{below:#}, and neither can the user's cache folder; give --output DIR");
            Err(Error::from(cache).context(unusable))
        }
    }
}

/// Reads a profile and writes its trace into a database.
///
/// # Errors
/// When it can't be read, or the database can't be written.
pub fn import(profile: Profile, database: &Path, terminal: &Terminal) -> anyhow::Result<Trace> {
    let (trace, remarks) = opscope_open::raw::import(profile, database, &StepBar::new(terminal))?;
    for remark in remarks {
        terminal.warn(&remark);
    }
    Ok(trace)
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

/// The folder below `output` for the results of a profile that was found at `path`: `output` itself
/// for that profile, and a folder of the profile's name for those below.
pub fn folder_in(output: &Path, path: &Path, profile: &Profile) -> PathBuf {
    let below = profile.path.strip_prefix(path).unwrap_or(Path::new(""));
    output.join(below)
}
