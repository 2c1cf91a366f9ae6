//! The vendor's own parser of `JOB*` directories, where it is installed.
//!
//! | what is named | how it is run |
//! |---|---|
//! | `msprof.pyc`, `msprof.py` | by Python: `import -dir JOB`, then `export timeline` and `export summary` |
//! | a folder with one of those, or that of the vendor's toolkit | the same |
//! | `mindcmd` | `profile merge -d JOB -f csv` |
//! | any other program | as `msprof.pyc` is, without Python |
//!
//! It works on a copy: the directory itself is never changed, and a parser that fails or hangs
//! leaves nothing half written beside the data. Only regular files of its results are read.
//!
//! Sources: the Profiling guide for SS928 V100 and SS927 V100 (00B01); the vendor's guide to MindCmd
//! for the same chips.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use opscope_trace::LossKind;

use crate::files::{Exports, ReadError};
use crate::job::{Job, JobError};

/// Where the toolkit has the parser, below the folder that it was installed to.
const IN_TOOLKIT: &str = "toolkit/tools/profiler/profiler_tool/analysis/msprof";
const SCRIPTS: [&str; 2] = ["msprof.pyc", "msprof.py"];
/// Compiled scripts need the Python that compiled them, so the guide's own comes first.
const PYTHONS: [&str; 4] = ["python3.7.5", "python3.7", "python3", "python"];
/// Where the results are, below the directory.
const RESULTS: [&str; 2] = ["summary", "timeline"];
/// A parser that prints more than this is out of its mind.
const MOST_OUTPUT: u64 = 64 << 20;
/// How deep a directory of raw data nests; it has two levels.
const DEEPEST: usize = 8;

/// Why the vendor's parser gave no result.
#[derive(Debug, thiserror::Error)]
pub enum VendorError {
    /// The path is no whole `JOB*` directory.
    #[error(transparent)]
    Job(#[from] JobError),
    /// There is no parser at the path.
    #[error(
        "{}: the vendor's parser is not there: name msprof.pyc, the folder that the vendor's toolkit was installed \
         to, or mindcmd",
        .0.display()
    )]
    Missing(PathBuf),
    /// The script needs a Python, and there is none.
    #[error("{}: it needs Python (3.7.5 by its guide), and none of {} is in PATH", path.display(), PYTHONS.join(", "))]
    NoPython {
        /// The script.
        path: PathBuf,
    },
    /// The system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or program.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// It ended with a failure.
    #[error("the vendor's parser failed ({status}) at '{step}'{}", said(output))]
    Failed {
        /// The command that it was given.
        step: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it printed.
        output: String,
    },
    /// It did not end, or would not stop to print.
    #[error("the vendor's parser {what} at '{step}' and was stopped{}", said(output))]
    Stopped {
        /// The command that it was given.
        step: String,
        /// Why it was stopped.
        what: String,
        /// The end of what it printed.
        output: String,
    },
    /// The user stopped it.
    #[error("the vendor's parser was interrupted at '{step}'; nothing was written")]
    Interrupted {
        /// The command that it was given.
        step: String,
    },
    /// It ended well, and there is nothing that could be read.
    #[error("the vendor's parser ended without an error and left nothing to read: {source}{}", said(output))]
    NoResult {
        /// Why its results could not be read.
        source: ReadError,
        /// The end of what it printed.
        output: String,
    },
}

fn said(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!("; it said: {output}") }
}

/// The vendor's parser.
#[derive(Clone, Debug)]
pub struct VendorParser {
    /// The program and the arguments that always stand first.
    command: Vec<PathBuf>,
    is_mindcmd: bool,
    timeout: Duration,
}

impl VendorParser {
    /// Finds out how to run what is at `path`. Each step may take `timeout`.
    ///
    /// # Errors
    /// When there is no parser, or no Python for it.
    pub fn new(path: &Path, timeout: Duration) -> Result<Self, VendorError> {
        let path = if path.is_dir() { script_in(path)? } else { path.to_owned() };
        let path = path.canonicalize().map_err(|_| VendorError::Missing(path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let is_script = name.ends_with(".py") || name.ends_with(".pyc");
        let command = match is_script {
            true => vec![python().ok_or_else(|| VendorError::NoPython { path: path.clone() })?, path],
            false => vec![path],
        };
        Ok(Self { command, is_mindcmd: name.starts_with("mindcmd"), timeout })
    }

    /// Runs it on a `JOB*` directory and reads what it exports. `stop` is asked again and again
    /// whether to end it early.
    ///
    /// # Errors
    /// When the directory is not whole, or the parser fails, hangs or leaves nothing.
    pub fn parse(&self, job: &Path, stop: &dyn Fn() -> bool) -> Result<Exports, VendorError> {
        let whole = Job::open(job)?;
        let folder = tempfile::Builder::new().prefix("opscope-vendor-").tempdir();
        let folder = folder.map_err(|source| VendorError::Io { path: std::env::temp_dir(), source })?;
        // The parser looks at the name: it has to begin with JOB.
        let given = whole.path.canonicalize().unwrap_or_else(|_| whole.path.clone());
        let name = given.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = if name.starts_with("JOB") { name } else { format!("JOB{name}") };
        let copy = folder.path().join(name);
        copy_raw(job, &copy)?;
        let log = folder.path().join("log");
        for step in self.steps(&copy) {
            self.run(&step, &log, stop)?;
        }
        let dropped = remove_all_but_files(&copy);
        let mut exports =
            Exports::read(&copy).map_err(|source| VendorError::NoResult { source, output: end_of(&log) })?;
        let place = "links and the like among the vendor's results";
        exports.losses.count(LossKind::NoRegularFile, place, dropped);
        Ok(exports)
    }

    /// The arguments of each call.
    fn steps(&self, job: &Path) -> Vec<Vec<PathBuf>> {
        let words = |before: &[&str], after: &[&str]| {
            let mut words: Vec<PathBuf> = before.iter().map(PathBuf::from).collect();
            words.push(job.to_owned());
            words.extend(after.iter().map(PathBuf::from));
            words
        };
        if self.is_mindcmd {
            return vec![words(&["profile", "merge", "-d"], &["-f", "csv"])];
        }
        vec![
            words(&["import", "-dir"], &[]),
            words(&["export", "timeline", "-dir"], &[]),
            words(&["export", "summary", "-dir"], &["--format", "csv"]),
        ]
    }

    fn run(&self, arguments: &[PathBuf], log: &Path, stop: &dyn Fn() -> bool) -> Result<(), VendorError> {
        let program = &self.command[0];
        let in_log = |source| VendorError::Io { path: log.to_owned(), source };
        let output = File::create(log).map_err(in_log)?;
        let errors = output.try_clone().map_err(in_log)?;
        let mut command = Command::new(program);
        command.args(&self.command[1..]).args(arguments);
        // Files instead of pipes: whatever it leaves running can't keep us waiting.
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child =
            command.spawn().map_err(|source| VendorError::Io { path: program.clone(), source })?;
        let step: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
        let step = step.join(" ");
        let begin = Instant::now();
        let status = loop {
            let ended =
                child.try_wait().map_err(|source| VendorError::Io { path: program.clone(), source })?;
            if let Some(status) = ended {
                break status;
            }
            let what = if begin.elapsed() >= self.timeout {
                format!("did not end within {} s (see --vendor-timeout)", self.timeout.as_secs())
            } else if log.metadata().is_ok_and(|found| found.len() > MOST_OUTPUT) {
                "would not stop to print".to_owned()
            } else if stop() {
                end(&mut child);
                return Err(VendorError::Interrupted { step });
            } else {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            };
            end(&mut child);
            return Err(VendorError::Stopped { step, what, output: end_of(log) });
        };
        if status.success() {
            return Ok(());
        }
        Err(VendorError::Failed { step, status, output: end_of(log) })
    }
}

/// Ends the program and whatever it started.
fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Ok(group) = libc::pid_t::try_from(child.id()) {
        // SAFETY: the group is that of our child, which has not been waited for, so the number is
        // still its own.
        unsafe { libc::kill(-group, libc::SIGKILL) };
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn script_in(folder: &Path) -> Result<PathBuf, VendorError> {
    let places = [folder.to_owned(), folder.join(IN_TOOLKIT)];
    let scripts = places.iter().flat_map(|place| SCRIPTS.map(|name| place.join(name)));
    let mut scripts = scripts.filter(|script| script.is_file());
    scripts.next().ok_or_else(|| VendorError::Missing(folder.to_owned()))
}

fn python() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let name = |name: &str| format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let found = PYTHONS.iter().flat_map(|python| folders.iter().map(|folder| folder.join(name(python))));
    found.into_iter().find(|candidate| candidate.is_file())
}

/// Copies what a parser needs: the raw data and what describes them. Links are not followed.
fn copy_raw(job: &Path, copy: &Path) -> Result<(), VendorError> {
    let mut pending = vec![(job.to_owned(), copy.to_owned(), 0)];
    while let Some((from, to, depth)) = pending.pop() {
        let io = |path: &Path, source| VendorError::Io { path: path.to_owned(), source };
        fs::create_dir_all(&to).map_err(|source| io(&to, source))?;
        for entry in fs::read_dir(&from).map_err(|source| io(&from, source))? {
            let entry = entry.map_err(|source| io(&from, source))?;
            let kind = entry.file_type().map_err(|source| io(&entry.path(), source))?;
            let target = to.join(entry.file_name());
            // Beside the data only files are taken: folders there are results of earlier parsing.
            if kind.is_dir() && depth < DEEPEST && (depth > 0 || entry.file_name() == "data") {
                pending.push((entry.path(), target, depth + 1));
            } else if kind.is_file() {
                fs::copy(entry.path(), &target).map_err(|source| io(&entry.path(), source))?;
            }
        }
    }
    Ok(())
}

/// Removes links and whatever else is no regular file from the results, and says how many.
fn remove_all_but_files(job: &Path) -> u64 {
    let mut removed = 0;
    for folder in RESULTS.map(|name| job.join(name)).into_iter().chain([job.to_owned()]) {
        if folder.is_symlink() {
            removed += u64::from(fs::remove_file(&folder).is_ok());
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_other = entry.file_type().is_ok_and(|kind| !kind.is_file() && !kind.is_dir());
            removed += u64::from(is_other && fs::remove_file(entry.path()).is_ok());
        }
    }
    removed
}

/// The last lines of what was printed, as one.
fn end_of(log: &Path) -> String {
    const MOST: u64 = 2048;
    let read = || -> io::Result<Vec<u8>> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = File::open(log)?;
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(MOST)))?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    last.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
