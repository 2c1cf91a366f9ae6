//! The files that a run or an import leaves behind, and the answer that it prints.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use opscope_formats::megengine::{Profile, Recorded};
use opscope_formats::{chrome, perfetto, sqlite};
use opscope_say::{say, word};
use opscope_timeline::Layout;
use opscope_trace::{TimeBasis, Trace};

use crate::exit::UsageError;
use crate::report::{RunReport, to_json, to_text};
use crate::terminal::Terminal;

/// Options for the answer.
#[derive(Clone, Debug, Args)]
pub struct AnswerArguments {
    /// Show the N most costly operators and types; 0 shows all
    #[arg(short, long, default_value_t = 3, value_name = "N")]
    pub top: usize,

    /// Print the whole answer as JSON
    #[arg(long)]
    pub json: bool,
}

impl AnswerArguments {
    /// Prints the answer.
    ///
    /// # Errors
    /// When standard output can't take it.
    pub fn print(&self, trace: &Trace, terminal: &Terminal) -> anyhow::Result<()> {
        terminal.print(&self.text(trace, terminal)?)?;
        Ok(())
    }

    /// The answer.
    ///
    /// # Errors
    /// When a figure has no form in JSON, which would be a fault of this program.
    pub fn text(&self, trace: &Trace, terminal: &Terminal) -> anyhow::Result<String> {
        let (report, models) = (RunReport::of(trace), RunReport::of_each_model(trace));
        Ok(match (self.json, &models[..]) {
            (true, models) => to_json(&report, models)?,
            (false, []) => to_text(&report, self.top, terminal.width()),
            (false, models) => {
                let texts = models.iter().map(|report| to_text(report, self.top, terminal.width()));
                texts.collect::<Vec<_>>().join("\n")
            }
        })
    }
}

/// Options for the files.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Files")]
pub struct FileArguments {
    /// Write a timeline for Perfetto (FILE.pftrace, a quarter as large), or for any viewer of Chrome's JSON
    /// (any other name)
    #[arg(long, value_name = "FILE.pftrace|FILE.json")]
    pub trace: Option<PathBuf>,

    /// Write an SQLite database of everything that was recorded
    #[arg(long, value_name = "FILE.db")]
    pub db: Option<PathBuf>,

    /// Write a profile in MegEngine's layout, for its tools; it holds the last iteration
    #[arg(long, value_name = "FILE.json")]
    pub profile: Option<PathBuf>,

    /// The same with the times of the host only
    #[arg(long, value_name = "FILE.json")]
    pub profile_host: Option<PathBuf>,
}

impl FileArguments {
    /// Makes sure that all files can be written, before work is spent on what goes into them, and
    /// that none takes the place of another or of an input.
    ///
    /// # Errors
    /// With the first file that can't be written or is named twice.
    pub fn check(&self, inputs: &[&Path]) -> anyhow::Result<()> {
        let mut taken: Vec<PathBuf> = inputs.iter().map(|path| resolved(path)).collect();
        for path in [&self.trace, &self.db, &self.profile, &self.profile_host].into_iter().flatten() {
            if path.as_os_str() == "-" {
                let text = word("-: a file of this name would be written; name another, or /dev/stdout");
                return Err(UsageError(text.to_owned()).into());
            }
            let place = resolved(path);
            // A device takes whatever is written to it, however often.
            let file = !path.exists() || path.is_file();
            if file && taken.contains(&place) {
                let text = say!("{}: this file is named twice, and would be overwritten", path.display());
                return Err(UsageError(text).into());
            }
            taken.push(place);
            match self.db.as_ref() == Some(path) {
                true => check_seekable_target(path)?,
                false => check_target(path)?,
            }
        }
        Ok(())
    }

    /// Writes the files that were asked for.
    ///
    /// # Errors
    /// With the first file that can't be written; the others before it are whole.
    pub fn write(&self, trace: &Trace, terminal: &Terminal) -> anyhow::Result<()> {
        let wants_starts = self.trace.is_some() || self.profile.is_some() || self.profile_host.is_some();
        let undrawable = if wants_starts { undrawable(trace) } else { None };
        if let Some(path) = self.trace.as_ref().filter(|_| undrawable.is_none()) {
            let written = match perfetto::is_name(path) {
                true => perfetto::write_file(trace, path)?,
                false => chrome::write_file(trace, path)?,
            };
            terminal.note(&say!(
                "wrote the timeline {} ({} slices); open it at https://ui.perfetto.dev",
                path.display(),
                written.slices
            ));
        }
        if let Some(path) = &self.db {
            sqlite::write_file(trace, path)?;
            terminal.note(&say!("wrote the database {}", path.display()));
        }
        if let Some(path) = self.profile.as_ref().filter(|_| undrawable.is_none()) {
            write_profile(trace, Recorded::DeviceAndHost, path)?;
            terminal.note(&say!("wrote the profile {}", path.display()));
        }
        if let Some(path) = self.profile_host.as_ref().filter(|_| undrawable.is_none()) {
            write_profile(trace, Recorded::HostOnly, path)?;
            terminal.note(&say!("wrote the host's profile {}", path.display()));
        }
        match undrawable {
            Some(basis) => bail!(
                "{}",
                say!(
                    "no timeline was written, and no profile with starts: when anything began was {}",
                    basis.name()
                )
            ),
            None => Ok(()),
        }
    }
}

/// How times are told of which a timeline would have nothing: of some profiles no start is known. `None` where it has
/// something, or nothing was recorded.
pub fn undrawable(trace: &Trace) -> Option<TimeBasis> {
    let bases = [trace.run.layer_times, trace.run.call_times];
    let has_rows = !(trace.tasks.is_empty() && trace.api_calls.is_empty() && trace.samples.is_empty());
    // Sums and samples of functions are figures, none of which began.
    let of_figures = (!has_rows && !trace.figures.is_empty()).then_some(TimeBasis::Unplaced);
    let basis = bases.into_iter().find(|basis| !basis.is_placed()).or(of_figures)?;
    Layout::new(trace).lanes.is_empty().then_some(basis)
}

fn write_profile(trace: &Trace, recorded: Recorded, path: &Path) -> anyhow::Result<()> {
    let profile = Profile::from_trace(trace, recorded);
    profile.write(path).with_context(|| say!("{}: cannot write the profile", path.display()))
}

/// A path that is the same for two spellings of it.
pub fn resolved(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let whole = path.canonicalize().ok();
    let in_folder = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    whole.or_else(in_folder).unwrap_or_else(|| path.to_owned())
}

/// Whether a file can be written, found out without touching it.
///
/// # Errors
/// With the reason why not.
pub fn check_target(path: &Path) -> anyhow::Result<()> {
    opscope_files::check_target(path).with_context(|| say!("{}: cannot be written", path.display()))
}

/// As [`check_target`], for a database, which can be no pipe.
fn check_seekable_target(path: &Path) -> anyhow::Result<()> {
    opscope_files::check_seekable_target(path).with_context(|| say!("{}: cannot be written", path.display()))
}
