//! The `JOB*` directory: made when the program first calls the runtime, written record by record,
//! so that nothing is lost but what was not yet reported when a program dies.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope_cann_raw::board::{CALLS, LAYERS, NOTES, OUTPUT_VARIABLE};
use opscope_cann_raw::legacy::{AclCall, tag};
use opscope_cann_raw::{Record, host};
use opscope_recorder::clock::monotonic;
use opscope_recorder::environment::value;
use opscope_recorder::process::{random_letters, thread_id};

/// The group of functions that a call belongs to.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Model = 2,
    Runtime = 3,
    Other = 4,
}

enum State {
    /// Nothing was called yet.
    Untouched,
    /// Nothing is recorded.
    Off,
    Recording(Recorder),
}

static STATE: Mutex<State> = Mutex::new(State::Untouched);

fn state() -> MutexGuard<'static, State> {
    let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    if matches!(*state, State::Untouched) {
        *state = match value(OUTPUT_VARIABLE) {
            None => State::Off,
            Some(folder) => match Recorder::new(Path::new(&folder)) {
                Ok(recorder) => State::Recording(recorder),
                Err(error) => {
                    eprintln!("opscope: {}: {error}; nothing is recorded", Path::new(&folder).display());
                    State::Off
                }
            },
        };
    }
    state
}

/// Whether anything is recorded.
pub(crate) fn is_on() -> bool {
    matches!(*state(), State::Recording(_))
}

/// Records a call that began at `begin` and ends now.
pub(crate) fn call(name: &str, kind: Kind, begin: u64) {
    let end = monotonic();
    if let State::Recording(recorder) = &mut *state() {
        let mut record = AclCall {
            magic: host::MAGIC,
            tag: tag::ACL,
            kind: kind as u32,
            begin,
            end,
            process: std::process::id(),
            thread: thread_id(),
            ..AclCall::default()
        };
        copy_text(name.as_bytes(), &mut record.name);
        let mut bytes = Vec::with_capacity(<AclCall as Record>::SIZE);
        record.append_to(&mut bytes);
        recorder.append(CALLS, &bytes);
    }
}

/// Appends records of layers.
pub(crate) fn layers(bytes: &[u8]) {
    if let State::Recording(recorder) = &mut *state() {
        recorder.append(LAYERS, bytes);
    }
}

/// Notes that something is not recorded, and why.
pub(crate) fn note(text: &str) {
    if let State::Recording(recorder) = &mut *state() {
        recorder.append(NOTES, format!("{text}\n").as_bytes());
    }
}

/// Marks the files as complete.
pub(crate) fn finish() {
    if let State::Recording(recorder) = &mut *state() {
        recorder.finish();
    }
}

/// Copies a text into a field that ends with a zero.
pub(crate) fn copy_text(text: &[u8], field: &mut [u8]) {
    let length = text.len().min(field.len().saturating_sub(1));
    field[..length].copy_from_slice(&text[..length]);
}

struct Recorder {
    data: PathBuf,
    files: Vec<(&'static str, File)>,
    /// Whether something could not be written; said once.
    failed: bool,
}

impl Recorder {
    fn new(output: &Path) -> std::io::Result<Self> {
        // As the boards' own profiler names its directories: `JOB` and 29 capital letters.
        let job = output.join(format!("JOB{}", random_letters(29, 26)));
        let data = job.join("data");
        // As the board's own profiler is told to: nothing for others.
        fs::DirBuilder::new().recursive(true).mode(0o750).create(&data)?;
        let info = format!(
            "{{\"collector\": \"opscope\", \"version\": \"{}\", \"pid\": {}, \"clock\": \"CLOCK_MONOTONIC\"}}\n",
            env!("CARGO_PKG_VERSION"),
            std::process::id()
        );
        fs::write(job.join("info.json.0"), info)?;
        Ok(Self { data, files: Vec::new(), failed: false })
    }

    fn path(&self, kind: &str) -> PathBuf {
        self.data.join(format!("{kind}{}", std::process::id()))
    }

    fn append(&mut self, kind: &'static str, bytes: &[u8]) {
        if let Err(error) = self.try_append(kind, bytes)
            && !self.failed
        {
            self.failed = true;
            eprintln!("opscope: {}: {error}; the profile will be incomplete", self.path(kind).display());
        }
    }

    fn try_append(&mut self, kind: &'static str, bytes: &[u8]) -> std::io::Result<()> {
        let place = match self.files.iter().position(|(known, _)| *known == kind) {
            Some(place) => place,
            None => {
                let file = OpenOptions::new().create(true).append(true).open(self.path(kind))?;
                self.files.push((kind, file));
                self.files.len() - 1
            }
        };
        self.files[place].1.write_all(bytes)
    }

    fn finish(&mut self) {
        if self.failed {
            return;
        }
        for (kind, _) in &self.files {
            let mut name = self.path(kind).into_os_string();
            name.push(".done");
            let _ = File::create(name);
        }
    }
}
