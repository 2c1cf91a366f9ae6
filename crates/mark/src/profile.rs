//! `PROF_*` directories: their names, and the small files in them that say what was collected,
//! where and when.
//!
//! | file below `host` | content |
//! |---|---|
//! | `info.json` | machine, process, frequency of the records' clock; one line of JSON |
//! | `sample.json` | what was asked to be collected; one line of JSON |
//! | `start_info`, `end_info` | begin and end in wall-clock and monotonic time; one line of JSON |
//! | `host_start.log` | a simultaneous reading of the records' clock and the monotonic one |
//! | `data/` | the slices |

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use opscope_recorder::clock::{self, ClockKind, Reading};
use opscope_recorder::control::Control;
use opscope_recorder::process::random_letters;
use opscope_recorder::sink::MODE;

use crate::collector;
use crate::session::Session;

mod json;
mod machine;

use json::quoted;
use machine::Machine;

/// How long the counter is measured before the first record can be read. At the end the measure
/// is replaced by that of the whole run.
const CALIBRATION: Duration = Duration::from_millis(20);

/// Directories are private to the user and the group.
const DIRECTORY_MODE: u32 = 0o750;

/// A `PROF_*` directory that is being written.
#[derive(Debug)]
pub struct ProfileDirectory {
    path: PathBuf,
    begin: Reading,
    clock: ClockKind,
}

/// The program that a profile is about.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The process, 0 while there is none.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// Further entries of `sample.json`: names and JSON values.
    pub settings: Vec<(String, String)>,
}

impl ProfileDirectory {
    /// Makes a new directory below `parent`, which is made as well if it isn't there.
    ///
    /// # Errors
    /// When a file can't be written.
    pub fn create(parent: &Path) -> io::Result<Self> {
        let clock = ClockKind::best();
        let mut builder = DirBuilder::new();
        builder.mode(DIRECTORY_MODE).recursive(true).create(parent)?;
        builder.recursive(false);
        loop {
            let begin = Reading::now(clock);
            let time = machine::local_time(begin.wall).digits();
            let name = format!("PROF_{:06}_{time}_{}", next_number(parent)?, random_letters(16, 18));
            let path = parent.join(name);
            match builder.create(&path) {
                Ok(()) => {
                    builder.create(path.join("host"))?;
                    builder.create(path.join("host/data"))?;
                    return Ok(Self { path, begin, clock });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the host's metadata lie.
    pub fn host(&self) -> PathBuf {
        self.path.join("host")
    }

    /// Where the slices lie.
    pub fn data(&self) -> PathBuf {
        self.path.join("host/data")
    }

    /// The clock of the records.
    pub fn clock(&self) -> ClockKind {
        self.clock
    }

    /// The clocks when the directory was made.
    pub fn begin(&self) -> Reading {
        self.begin
    }

    /// Writes all metadata with what is known at the begin, so that a directory whose writer is
    /// killed can be read.
    ///
    /// # Errors
    /// When a file can't be written.
    pub fn write_begin(&self, subject: &Subject) -> io::Result<()> {
        let hertz = clock::measure_hertz(self.clock, CALIBRATION);
        self.write_info(subject, hertz)?;
        self.save("sample.json", &sample_json(subject))?;
        self.save("start_info", &self.session_json("Begin", self.begin))?;
        let Reading { monotonic, ticks, .. } = self.begin;
        let reading = format!("[Host]\nclock_monotonic_raw: {monotonic}\ncntvct: {ticks}\ncntvct_diff: 0\n");
        self.save("host_start.log", &reading)?;
        // Until the end is known, the begin stands for it.
        self.save("end_info", &self.session_json("End", self.begin))
    }

    /// Writes the metadata again that are better known at the end.
    ///
    /// # Errors
    /// When a file can't be written.
    pub fn write_end(&self, subject: &Subject) -> io::Result<()> {
        let end = Reading::now(self.clock);
        let hertz = match self.clock {
            ClockKind::MonotonicRaw => None,
            ClockKind::Counter => self.begin.hertz_until(&end),
        };
        let hertz = hertz.unwrap_or_else(|| clock::measure_hertz(self.clock, CALIBRATION));
        self.write_info(subject, hertz)?;
        self.save("sample.json", &sample_json(subject))?;
        self.save("end_info", &self.session_json("End", end))
    }

    fn write_info(&self, subject: &Subject, hertz: f64) -> io::Result<()> {
        let frequency = match self.clock {
            ClockKind::MonotonicRaw => String::new(),
            ClockKind::Counter => format!("{:.6}", hertz / 1e6),
        };
        self.save("info.json", &Machine::read().info_json(subject.process, &subject.name, &frequency))
    }

    /// `start_info` and `end_info`. Their wall-clock time has whole microseconds, so the pair is
    /// that of a moment when the monotonic clock showed whole microseconds, too: readers subtract
    /// one from the other in double precision, which is exact for whole numbers only.
    fn session_json(&self, which: &str, reading: Reading) -> String {
        let date = machine::local_time(reading.wall).date();
        let rest = reading.monotonic % 1_000;
        let monotonic = reading.monotonic - rest;
        let micros = reading.wall.saturating_sub(rest) / 1_000;
        let (begin, end) = if which == "Begin" { (&*date, "") } else { ("", &*date) };
        let text = micros.to_string();
        let (time_begin, time_end) = if which == "Begin" { (&*text, "") } else { ("", &*text) };
        format!(
            r#"{{"collectionDateBegin": "{begin}", "collectionDateEnd": "{end}", "collectionTimeBegin": "{time_begin}", "collectionTimeEnd": "{time_end}", "clockMonotonicRaw": "{monotonic}"}}"#
        )
    }

    /// Writes a file of the host's directory, whole or not at all.
    fn save(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.host().join(name);
        let unfinished = self.host().join(format!(".{name}.unfinished"));
        let write = || {
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(MODE);
            let mut file = options.open(&unfinished)?;
            file.write_all(text.as_bytes())?;
            file.write_all(b"\n")?;
            std::fs::rename(&unfinished, &path)
        };
        write().inspect_err(|_| {
            let _ = std::fs::remove_file(&unfinished);
        })
    }
}

/// The entry of `sample.json` that tells profiles which are made here from those of CANN's own runtime.
const COLLECTOR: (&str, &str) = ("collector", "opscope");

/// Whether a profile was made here, and not by CANN's own runtime.
pub fn is_made_here(profile: &Path) -> bool {
    let (key, value) = COLLECTOR;
    let sample = std::fs::read_to_string(profile.join("host/sample.json"));
    sample.is_ok_and(|text| text.contains(&format!("{}: {}", quoted(key), quoted(value))))
}

/// `sample.json` of a collection of the host alone.
fn sample_json(subject: &Subject) -> String {
    let mut pairs: Vec<(&str, String)> = vec![
        ("result_dir", quoted("")),
        ("app", quoted(&subject.name)),
        ("profiling_mode", quoted("def_mode")),
        ("ai_core_profiling_mode", quoted("task-based")),
        ("ai_core_metrics", quoted("PipeUtilization")),
        ("ai_core_profiling_events", quoted("")),
        ("aiv_profiling_mode", quoted("task-based")),
        ("aiv_metrics", quoted("PipeUtilization")),
        ("aiv_profiling_events", quoted("")),
        ("msproftx", quoted("on")),
        ("taskBlock", quoted("off")),
        ("devices", quoted("64")),
        (COLLECTOR.0, quoted(COLLECTOR.1)),
    ];
    for (name, value) in &subject.settings {
        match pairs.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => known.clone_from(value),
            None => pairs.push((name, value.clone())),
        }
    }
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{}: {value}", quoted(name))).collect();
    format!("{{{}}}", pairs.join(", "))
}

/// One more than the largest number of the profiles that are there.
fn next_number(parent: &Path) -> io::Result<u32> {
    let number = |name: &str| name.strip_prefix("PROF_")?.split('_').next()?.parse::<u32>().ok();
    let names = std::fs::read_dir(parent)?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let largest = names.filter_map(|name| number(&name)).max().unwrap_or(0);
    Ok((largest + 1) % 1_000_000)
}

/// A profile that a program makes of itself.
#[derive(Debug)]
pub struct Recording {
    directory: ProfileDirectory,
    subject: Subject,
    control: &'static Control,
}

impl Recording {
    /// Makes a profile below `parent`. Nothing is recorded yet.
    ///
    /// # Errors
    /// When a file can't be written.
    pub fn begin(parent: &Path) -> io::Result<Self> {
        let directory = ProfileDirectory::create(parent)?;
        let subject = Subject { process: std::process::id(), name: own_name(), settings: Vec::new() };
        directory.write_begin(&subject)?;
        let control: &'static Control = Box::leak(Box::new(Control::new(0)));
        control.prepare(directory.clock());
        collector::open(Session { control, directory: directory.data() });
        Ok(Self { directory, subject, control })
    }

    /// The profile's directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Switches recording on or off.
    pub fn record(&self, on: bool) {
        self.control.record(on);
    }

    /// Writes everything out and completes the profile.
    ///
    /// # Errors
    /// When a file can't be written, or records were lost, with their number.
    pub fn end(self) -> io::Result<()> {
        collector::close();
        self.directory.write_end(&self.subject)?;
        match self.control.lost.load(std::sync::atomic::Ordering::Relaxed) {
            0 => Ok(()),
            lost => Err(io::Error::other(format!("{lost} marks could not be written"))),
        }
    }
}

/// The name of the running program.
fn own_name() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
