//! Profiles that are begun and ended by commands while programs run: one profile for every `start` and
//! `stop`.
//!
//! A program waits to be collected from when it was started by such a collection, or with
//! `PROFILING_MODE=dynamic` in its environment and the instrumentation library loaded. Both ways
//! there is a page of memory through which it is told ([`Control`]).

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use opscope_mark::profile::ProfileDirectory;
use opscope_recorder::clock::ClockKind;
use opscope_recorder::control::{Control, SharedControl, waiting_page};
use opscope_recorder::environment;

use crate::collect::{Event, INTERRUPTED, Outcome, WATCH, launch, outcome_of, subject};
use crate::error::CaptureError;
use crate::launch::{Running, status_code};
use crate::output::{LEAST_FREE, free_bytes};
use crate::plan::Plan;
use crate::profile_lock::Claim;
use crate::sampler::Sampler;
use crate::{finish_slices, storage};

/// How long programs take at most to write what they have, once they are told to stop.
const SETTLE: Duration = Duration::from_millis(300);

/// When to stop waiting for programs that go on writing.
const PATIENCE: Duration = Duration::from_secs(3);

/// A command of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Begin a profile.
    Start,
    /// End it.
    Stop,
    /// End it, and leave the programs alone from then on.
    Quit,
}

/// Programs that can be collected from at any time.
#[derive(Debug)]
pub struct OnDemand<'p> {
    plan: &'p Plan,
    processes: Vec<u32>,
    controls: Vec<&'static Control>,
    running: Option<Running>,
    /// The page of the program that we started.
    _shared: Option<SharedControl>,
    active: Option<Active>,
}

/// A profile that is being recorded.
#[derive(Debug)]
struct Active {
    directory: ProfileDirectory,
    _claim: Claim,
    sampler: Option<Sampler>,
    begin: Instant,
    dropped_bytes: u64,
}

impl<'p> OnDemand<'p> {
    /// Starts the plan's program. It gets no standard input, because commands come from there.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn launch(plan: &'p Plan, tell: &mut dyn FnMut(Event)) -> Result<Self, CaptureError> {
        let output = plan.output.path();
        let shared = SharedControl::new(ClockKind::best());
        let shared = shared.map_err(CaptureError::io("make memory for", output))?;
        let control = shared.control;
        control.wait_for_collector(std::process::id());
        let _ = control.take(std::process::id());
        let running = launch(plan, None, &shared.path(), tell)?;
        let processes = running.iter().map(Running::id).collect();
        Ok(Self { plan, processes, controls: vec![control], running, _shared: Some(shared), active: None })
    }

    /// Finds programs that wait.
    ///
    /// # Errors
    /// When one of them doesn't, or another collector has it.
    pub fn attach(plan: &'p Plan, processes: &[u32]) -> Result<Self, CaptureError> {
        let mut controls: Vec<&'static Control> = Vec::new();
        for process in processes {
            let control = find(*process).map_err(CaptureError::Usage)?;
            control.take(std::process::id()).map_err(|other| {
                CaptureError::Usage(format!(
                    "--pid: process {process} is being collected from by process {other}"
                ))
            })?;
            controls.push(control);
        }
        Ok(Self { plan, processes: processes.to_vec(), controls, running: None, _shared: None, active: None })
    }

    /// Obeys commands until there are no more and the programs have ended. `done` gets every
    /// profile. Returns the program's status where we started it; elsewhere `stops` ends it, too.
    pub fn obey(
        &mut self,
        commands: &Receiver<Command>,
        stops: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Event),
        done: &mut dyn FnMut(&Outcome),
    ) -> (u8, String) {
        let mut is_listening = true;
        let status = loop {
            let command = match commands.recv_timeout(WATCH) {
                Ok(command) => Some(command),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) if is_listening => Some(Command::Quit),
                Err(RecvTimeoutError::Disconnected) => {
                    std::thread::sleep(WATCH);
                    None
                }
            };
            match command {
                Some(Command::Start) if self.active.is_some() => {
                    tell(Event::Remark("a profile is being recorded already; stop ends it".to_owned()));
                }
                Some(Command::Start) => match self.begin(tell) {
                    Ok(active) => self.active = Some(active),
                    Err(error) => tell(Event::Remark(error.to_string())),
                },
                Some(Command::Stop) if self.active.is_none() => {
                    tell(Event::Remark("nothing is being recorded; start begins a profile".to_owned()));
                }
                Some(Command::Stop) => self.end(tell, done),
                Some(Command::Quit) => {
                    is_listening = false;
                    self.end(tell, done);
                    if self.running.is_none() {
                        break 0;
                    }
                    tell(Event::Remark(
                        "no further profile is begun; the program's end is waited for".to_owned(),
                    ));
                }
                None => self.watch_space(tell, done),
            }
            if let Some(status) = self.ended() {
                break status;
            }
            if self.running.is_none() && stops() {
                break INTERRUPTED;
            }
        };
        self.end(tell, done);
        self.controls.iter().for_each(|control| control.give_back());
        (status, self.running.as_mut().map(Running::stderr_end).unwrap_or_default())
    }

    fn begin(&self, tell: &mut dyn FnMut(Event)) -> Result<Active, CaptureError> {
        let parent = self.plan.output.path();
        let made = ProfileDirectory::create(parent);
        let directory = made.map_err(CaptureError::io("make a profile in", parent))?;
        let mut subject = subject(self.plan);
        let process = self.processes.first().copied().unwrap_or(0);
        subject.process = process;
        let written = directory.write_begin(&subject);
        written.map_err(CaptureError::io("write the profile", directory.host()))?;
        for control in &self.controls {
            let begun = control.begin_profile(&directory.data());
            begun.map_err(CaptureError::io("record into", directory.data()))?;
        }
        let sampler = Sampler::start(self.plan, process, &directory.data());
        for control in &self.controls {
            control.record(self.plan.marks);
            control.record_calls(self.plan.ascendcl);
        }
        tell(Event::Directory(directory.path().to_owned()));
        tell(Event::Recording);
        let _claim = Claim::on(directory.path());
        Ok(Active { directory, _claim, sampler, begin: Instant::now(), dropped_bytes: 0 })
    }

    fn end(&mut self, tell: &mut dyn FnMut(Event), done: &mut dyn FnMut(&Outcome)) {
        let Some(active) = self.active.take() else { return };
        for control in &self.controls {
            control.record(false);
            control.record_calls(false);
        }
        let elapsed = active.begin.elapsed();
        let lost_samples = active.sampler.map_or(0, Sampler::finish);
        self.settle();
        let data = active.directory.data();
        finish_slices::complete_slices(&data);
        let limit = self.plan.storage_limit;
        let dropped_bytes =
            active.dropped_bytes + limit.map_or(0, |limit| storage::enforce(&data, Some(limit)));
        let mut subject = subject(self.plan);
        subject.process = self.processes.first().copied().unwrap_or(0);
        if let Err(error) = active.directory.write_end(&subject) {
            tell(Event::Remark(format!(
                "the end of the profile could not be written: {error}; it can be read all the same"
            )));
        }
        let counts = outcome_of(active.directory.path(), &self.controls);
        done(&Outcome { elapsed, lost_samples, dropped_bytes, ..counts });
    }

    /// Waits until the programs have written what they had.
    fn settle(&self) {
        let written = || -> u64 { self.controls.iter().map(|it| it.written.load(Ordering::Relaxed)).sum() };
        let begin = Instant::now();
        let mut before = u64::MAX;
        while before != written() && begin.elapsed() < PATIENCE {
            before = written();
            std::thread::sleep(SETTLE);
        }
    }

    /// Keeps the storage limit, and ends the profile before the disk is full.
    fn watch_space(&mut self, tell: &mut dyn FnMut(Event), done: &mut dyn FnMut(&Outcome)) {
        let Some(active) = &mut self.active else { return };
        let data = active.directory.data();
        if let Some(limit) = self.plan.storage_limit {
            active.dropped_bytes += storage::enforce(&data, Some(limit));
        }
        if free_bytes(&data).is_some_and(|free| free < LEAST_FREE / 10) {
            tell(Event::Stopped("the disk is full"));
            self.end(tell, done);
        }
    }

    /// The status of the program that we started, or 0 once all others are gone.
    fn ended(&mut self) -> Option<u8> {
        match &mut self.running {
            Some(running) => match running.ended() {
                Ok(status) => status.map(status_code),
                // Somebody else took the status; the program is gone.
                Err(_) => Some(0),
            },
            None => {
                let is_gone = |pid: &u32| !Path::new(&format!("/proc/{pid}")).exists();
                self.processes.iter().all(is_gone).then_some(0)
            }
        }
    }
}

/// The page with which a process waits.
fn find(process: u32) -> Result<&'static Control, String> {
    use std::os::unix::fs::MetadataExt;
    let folder = PathBuf::from(format!("/proc/{process}"));
    let Ok(status) = folder.metadata() else { return Err(format!("--pid: there is no process {process}")) };
    let own = waiting_page(status.uid(), process);
    let named = || {
        // By a collector, in its environment.
        let environment = std::fs::read(folder.join("environ")).unwrap_or_default();
        let prefix = format!("{}=", environment::CONTROL);
        let mut entries = environment.split(|byte| *byte == 0);
        let value = entries.find_map(|entry| entry.strip_prefix(prefix.as_bytes()))?;
        String::from_utf8(value.to_vec()).ok()
    };
    // A file that others may have put there is not what it seems.
    let is_its_own = own.metadata().is_ok_and(|page| page.uid() == status.uid());
    let page = if is_its_own { Control::open(&own.to_string_lossy()) } else { None };
    let page = page.or_else(|| Control::open(&named()?));
    match page {
        Some(page) if page.waiting() != 0 => Ok(page),
        Some(_) => Err(format!("--pid: process {process} is being collected from as a whole already")),
        None => Err(format!(
            "--pid: process {process} doesn't wait to be collected from; start it by 'opscope collect --dynamic=on \
             -- PROGRAM', or with PROFILING_MODE=dynamic and opscope's instrumentation library"
        )),
    }
}
