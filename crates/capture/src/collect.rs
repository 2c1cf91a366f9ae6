//! One collection, from making the directory to completing it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use opscope_mark::profile::{ProfileDirectory, Subject, is_made_here};
use opscope_recorder::control::{Control, SharedControl};

use crate::error::CaptureError;
use crate::injection::Injection;
use crate::launch::{Running, status_code};
use crate::output::{LEAST_FREE, free_bytes};
use crate::plan::{DeviceData, Plan};
use crate::profile_lock::{Claim, claimed_in, profiles_in};
use crate::sampler::Sampler;
use crate::{finish_slices, storage};

/// How often space and time are looked at while the program runs.
pub(crate) const WATCH: Duration = Duration::from_millis(200);

/// The status of what a key on the terminal, or a signal, has ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// Something that happens while a program is collected from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The profile's directory was made.
    Directory(PathBuf),
    /// Something that the user may want to know.
    Remark(String),
    /// Recording began.
    Recording,
    /// Recording ended before the program did.
    Stopped(&'static str),
}

/// How a collection ended.
#[derive(Debug)]
pub struct Outcome {
    /// The profile.
    pub path: PathBuf,
    /// The program's own status, or 128 and the signal that ended it.
    pub status: u8,
    /// How long the program ran.
    pub elapsed: Duration,
    /// How many marks were written.
    pub marks: u64,
    /// How many marks were lost, and why.
    pub lost_marks: u64,
    /// The system's error when marks were lost.
    pub error: Option<io::Error>,
    /// Samples of the host that could not be written.
    pub lost_samples: u64,
    /// Bytes of old slices that went to keep the storage limit.
    pub dropped_bytes: u64,
    /// Pops without a push, stops without a start.
    pub unmatched: u64,
    /// Ranges that were never closed.
    pub unclosed: u64,
    /// How many processes recorded marks.
    pub processes: u32,
    /// The end of what the program wrote to its standard error, where that could be read along.
    pub stderr_end: String,
    /// Profiles that AscendCL made beside ours.
    pub device_profiles: Vec<PathBuf>,
}

/// The counts of a control, and nothing else.
pub(crate) fn outcome_of(path: &Path, controls: &[&Control]) -> Outcome {
    let sum = |count: fn(&Control) -> &AtomicU64| {
        controls.iter().map(|control| count(control).load(Ordering::Relaxed)).sum()
    };
    let mut errors = controls.iter().map(|control| control.error.load(Ordering::Relaxed));
    Outcome {
        path: path.to_owned(),
        status: 0,
        elapsed: Duration::ZERO,
        marks: sum(|it| &it.written),
        lost_marks: sum(|it| &it.lost),
        error: errors.find(|error| *error != 0).map(|error| io::Error::from_raw_os_error(error as i32)),
        lost_samples: 0,
        dropped_bytes: 0,
        unmatched: sum(|it| &it.unmatched),
        unclosed: sum(|it| &it.unclosed),
        processes: controls.iter().map(|control| control.processes.load(Ordering::Relaxed)).sum(),
        stderr_end: String::new(),
        device_profiles: Vec::new(),
    }
}

/// Runs the program and records it. Without a program of ours, `stops` tells when to end; the status
/// is then that of one which is interrupted.
///
/// # Errors
/// When the program was not started. Later failures are told in the [`Outcome`]: the program is
/// never stopped for them.
pub fn collect(
    plan: &Plan,
    stops: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(Event),
) -> Result<Outcome, CaptureError> {
    let parent = plan.output.path();
    tell_of_others(parent, tell);
    let directory =
        ProfileDirectory::create(parent).map_err(CaptureError::io("make a profile in", parent))?;
    let claim = Claim::on(directory.path());
    let made = begin(plan, &directory, tell);
    let begun = made.inspect_err(|_| {
        // Nothing was collected; an empty profile would only confuse.
        let _ = std::fs::remove_dir_all(directory.path());
    })?;
    tell(Event::Directory(directory.path().to_owned()));
    let (sampler, recording) = (None, Recording::Waiting);
    let mut session = Session { plan, directory, _claim: claim, begun, sampler, recording };
    Ok(session.run(stops, tell))
}

/// Says which collections are writing into the same directory. Each has a profile of its own there.
pub(crate) fn tell_of_others(parent: &Path, tell: &mut dyn FnMut(Event)) {
    for other in claimed_in(parent) {
        tell(Event::Remark(format!(
            "another collection is writing {}; this one makes a directory of its own beside it",
            other.display()
        )));
    }
}

/// Everything that is there once the program runs.
struct Begun {
    running: Option<Running>,
    subject: Subject,
    shared: SharedControl,
    started: Instant,
    /// Profiles that were there before.
    others: Vec<PathBuf>,
}

fn begin(
    plan: &Plan,
    directory: &ProfileDirectory,
    tell: &mut dyn FnMut(Event),
) -> Result<Begun, CaptureError> {
    let mut subject = subject(plan);
    let written = directory.write_begin(&subject);
    written.map_err(CaptureError::io("write the profile", directory.host()))?;
    let shared = SharedControl::new(directory.clock());
    let shared = shared.map_err(CaptureError::io("make memory for", directory.path()))?;
    let mut running = None;
    let started = Instant::now();
    // Marks of the very first moment count, too.
    shared.control.record(plan.marks && plan.delay.is_zero());
    shared.control.record_calls(plan.records_calls() && plan.delay.is_zero());
    let others = profiles_in(plan.output.path());
    if let Some(program) = launch(plan, Some(&directory.data()), &shared.path(), tell)? {
        subject.process = program.id();
        running = Some(program);
    }
    // The directory names the program from now on, should this process be killed.
    let _ = directory.write_begin(&subject);
    Ok(Begun { running, subject, shared, started, others })
}

/// Starts the plan's program with everything that it needs to be recorded.
pub(crate) fn launch(
    plan: &Plan,
    data: Option<&Path>,
    control: &str,
    tell: &mut dyn FnMut(Event),
) -> Result<Option<Running>, CaptureError> {
    let Some(program) = &plan.program else { return Ok(None) };
    let (ours, remarks) = Injection::prepare()?.variables(plan, data, control);
    remarks.into_iter().for_each(|remark| tell(Event::Remark(remark)));
    let given = plan.environment.iter().map(|(name, value)| (name.into(), value.into()));
    let variables: Vec<_> = given.chain(ours).collect();
    Running::start(program, &variables, plan.dynamic).map(Some)
}

/// The notes that libraries within the program left.
fn notes(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data).into_iter().flatten().flatten();
    let is_notes = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "notes");
    let texts = entries.map(|entry| entry.path()).filter(is_notes).map(std::fs::read_to_string);
    texts.flatten().flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

pub(crate) fn subject(plan: &Plan) -> Subject {
    let pid = plan.host_pid.unwrap_or(0);
    let name = match &plan.program {
        Some(program) => program.short_name(),
        None => std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned(),
    };
    Subject { process: pid, name, settings: plan.settings.clone() }
}

/// Whether something is recorded now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Recording {
    /// Not yet.
    Waiting,
    /// Since then.
    Since(Instant),
    /// Not any more.
    Over,
}

struct Session<'a> {
    plan: &'a Plan,
    directory: ProfileDirectory,
    _claim: Claim,
    begun: Begun,
    sampler: Option<Sampler>,
    recording: Recording,
}

impl Session<'_> {
    fn run(&mut self, stops: &dyn Fn() -> bool, tell: &mut dyn FnMut(Event)) -> Outcome {
        let mut dropped_bytes = 0;
        let mut lost_samples = 0;
        let data = self.directory.data();
        let status = loop {
            let due = self.advance(tell, &mut lost_samples);
            dropped_bytes += self.watch_space(&data, tell, &mut lost_samples);
            if let Some(status) = self.wait(due, stops) {
                break status;
            }
        };
        let elapsed = self.begun.started.elapsed();
        self.stop(&mut lost_samples);
        finish_slices::complete_slices(&data);
        // Slices that were written since space was last looked at count, too.
        dropped_bytes += self.plan.storage_limit.map_or(0, |limit| storage::enforce(&data, Some(limit)));
        if let Err(error) = self.directory.write_end(&self.begun.subject) {
            tell(Event::Remark(format!(
                "the end of the profile could not be written: {error}; it can be read all the same"
            )));
        }
        notes(&data).into_iter().for_each(|note| tell(Event::Remark(note)));
        Outcome {
            status,
            elapsed,
            lost_samples,
            dropped_bytes,
            stderr_end: self.begun.running.as_mut().map(Running::stderr_end).unwrap_or_default(),
            device_profiles: self.device_profiles(),
            ..outcome_of(self.directory.path(), &[self.begun.shared.control])
        }
    }

    /// The profiles that AscendCL made in the output directory meanwhile.
    fn device_profiles(&self) -> Vec<PathBuf> {
        if !matches!(self.plan.device_data, DeviceData::Files { .. }) {
            return Vec::new();
        }
        let mut profiles = profiles_in(self.plan.output.path());
        profiles.retain(|path| !self.begun.others.contains(path) && !is_made_here(path));
        profiles
    }

    /// Begins and ends recording when it is time; returns how long until something is due.
    fn advance(&mut self, tell: &mut dyn FnMut(Event), lost_samples: &mut u64) -> Duration {
        match self.recording {
            Recording::Waiting if self.begun.started.elapsed() >= self.plan.delay => {
                let process = self.plan.host_pid.unwrap_or(self.begun.subject.process);
                self.begun.shared.control.record(self.plan.marks);
                self.begun.shared.control.record_calls(self.plan.records_calls());
                self.sampler = Sampler::start(self.plan, process, &self.directory.data());
                self.recording = Recording::Since(Instant::now());
                tell(Event::Recording);
                self.plan.duration.unwrap_or(WATCH).min(WATCH)
            }
            Recording::Waiting => self.plan.delay.saturating_sub(self.begun.started.elapsed()).min(WATCH),
            Recording::Since(begin) => match self.plan.duration {
                Some(duration) if begin.elapsed() >= duration => {
                    self.stop(lost_samples);
                    tell(Event::Stopped("the duration is over"));
                    WATCH
                }
                Some(duration) => duration.saturating_sub(begin.elapsed()).min(WATCH),
                None => WATCH,
            },
            Recording::Over => WATCH,
        }
    }

    fn stop(&mut self, lost_samples: &mut u64) {
        self.begun.shared.control.record(false);
        self.begun.shared.control.record_calls(false);
        if let Some(sampler) = self.sampler.take() {
            *lost_samples += sampler.finish();
        }
        self.recording = Recording::Over;
    }

    /// Keeps the storage limit, and stops before the disk is full.
    fn watch_space(&mut self, data: &Path, tell: &mut dyn FnMut(Event), lost_samples: &mut u64) -> u64 {
        let dropped = match self.plan.storage_limit {
            Some(limit) => storage::enforce(data, Some(limit)),
            None => 0,
        };
        let is_full = || free_bytes(data).is_some_and(|free| free < LEAST_FREE / 10);
        if matches!(self.recording, Recording::Since(_)) && is_full() {
            self.stop(lost_samples);
            tell(Event::Stopped("the disk is full"));
        }
        dropped
    }

    /// Waits for the end of the program, or until something is due. Without a program of ours, the
    /// one that is sampled counts, or the end of the duration.
    fn wait(&mut self, limit: Duration, stops: &dyn Fn() -> bool) -> Option<u8> {
        match &mut self.begun.running {
            Some(running) => match running.wait(limit) {
                Ok(status) => status.map(status_code),
                // Somebody else took the status; the program is gone.
                Err(_) => Some(0),
            },
            None => {
                let gone = |pid: u32| !Path::new(&format!("/proc/{pid}")).exists();
                if self.recording == Recording::Over || self.plan.host_pid.is_none_or(gone) {
                    return Some(0);
                }
                if stops() {
                    return Some(INTERRUPTED);
                }
                std::thread::sleep(limit);
                None
            }
        }
    }
}
