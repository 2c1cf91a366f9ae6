//! The `JOB*` directory: made when the program first calls the runtime, written record by record,
//! so that nothing is lost but what was not yet reported when a program dies.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope_cann_raw::board::{CALLS, LAYERS, NOTES};
use opscope_cann_raw::legacy::{AclCall, tag};
use opscope_cann_raw::{Record, host};

/// Names the folder for the results.
const OUTPUT: &str = "OPSCOPE_SVP_OUTPUT";

/// What a call belongs to.
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
        *state = match std::env::var_os(OUTPUT).filter(|folder| !folder.is_empty()) {
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

/// Now, in nanoseconds of the clock that calls are timed by.
pub(crate) fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    (time.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as u64)
}

/// Records a call that began at `begin` and ends now.
pub(crate) fn call(name: &str, kind: Kind, begin: u64) {
    let end = now();
    if let State::Recording(recorder) = &mut *state() {
        // SAFETY: asking has no preconditions.
        let thread = unsafe { libc::gettid() };
        let mut record = AclCall {
            magic: host::MAGIC,
            tag: tag::ACL,
            kind: kind as u32,
            begin,
            end,
            process: std::process::id(),
            thread: thread as u32,
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

/// Notes what is not recorded, and why.
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
        let job = output.join(job_name());
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

/// `JOB` and 29 capital letters, as the boards' own profiler names its directories.
fn job_name() -> String {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
    let mut seed = (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64);
    seed ^= u64::from(std::process::id()) << 32;
    let letters = (0..29).map(|_| {
        // Steps of a linear generator, of which the upper bits vary most.
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'A' + ((seed >> 33) % 26) as u8)
    });
    std::iter::once("JOB".to_owned()).chain(letters.map(String::from)).collect()
}
