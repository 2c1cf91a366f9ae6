//! The times of calls, as the records that CANN's own host library writes of them: 40 bytes each in
//! `aging.api_event.data.slice_N`, their names in `unaging.additional.type_info_dic.slice_N`.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope_cann_raw::Record;
use opscope_cann_raw::host::{ApiEvent, MAGIC, level};
use opscope_recorder::clock::monotonic_raw;
use opscope_recorder::control::Control;
use opscope_recorder::flusher::Flusher;
use opscope_recorder::process;
use opscope_recorder::published::Published;
use opscope_recorder::sink::{CALLS, Sink};

use super::call_names::{EXECUTE, EXECUTE_ASYNC, NAMES, SYNCHRONIZE};
use super::collector::{control, directory, is_on};
use super::operators;

/// How many bytes wait at most.
const MOST_WAITING: usize = 64 << 10;

/// Where this process writes. Made when the first call is recorded, and anew after a fork.
static RECORDER: Published<Shared> = Published::nothing();
static HANDLERS: AtomicBool = AtomicBool::new(false);

/// The recorder of a process.
struct Shared {
    process: u32,
    recorder: Mutex<Recorder>,
    writer: Flusher,
}

struct Recorder {
    /// The profile that it writes for.
    profile: u32,
    waiting: Vec<u8>,
    sink: Sink,
}

/// Does something, and records how long it took under a number of [`NAMES`].
#[inline]
pub(super) fn timed<T>(number: u32, work: impl FnOnce() -> T) -> T {
    if number == 0 || !is_on() {
        return work();
    }
    let Some(kind) = control().map(Control::clock) else { return work() };
    let (begin, first) = (kind.now(), monotonic_raw());
    let result = work();
    let (end, last) = (kind.now(), monotonic_raw());
    record(number, begin, end);
    if matches!(number, EXECUTE | EXECUTE_ASYNC | SYNCHRONIZE) {
        operators::note_call(first, last);
    }
    result
}

fn lock(shared: &'static Shared) -> MutexGuard<'static, Recorder> {
    shared.recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

fn record(number: u32, begin: u64, end: u64) {
    let profile = control().map_or(0, Control::profile);
    let Some(recorder) = current(profile) else { return };
    let thread = process::thread_id();
    let event =
        ApiEvent { magic: MAGIC, level: level::ACL, kind: number, thread, begin, end, ..ApiEvent::default() };
    let mut recorder = lock(recorder);
    if recorder.profile != profile {
        recorder.flush();
        recorder.sink.finish();
        if let Some((waiting, sink)) = open() {
            *recorder = Recorder { profile, waiting, sink };
        }
    }
    event.append_to(&mut recorder.waiting);
    if recorder.waiting.len() >= MOST_WAITING {
        recorder.flush();
    }
}

impl Recorder {
    fn flush(&mut self) {
        let count = (self.waiting.len() / ApiEvent::SIZE) as u64;
        if count == 0 {
            return;
        }
        let written = self.sink.write(&self.waiting, ApiEvent::SIZE);
        self.waiting.clear();
        if let (Err(error), Some(control)) = (written, control()) {
            control.count_lost(count, &error);
        }
    }
}

fn current(profile: u32) -> Option<&'static Shared> {
    match RECORDER.get() {
        Some(recorder) => Some(recorder),
        None => start(profile),
    }
}

/// Begins a stream of records, and writes their names beside it.
fn open() -> Option<(Vec<u8>, Sink)> {
    let directory = directory()?;
    let names = NAMES.map(|(number, name)| format!("{}_{number}:{name}\n", level::ACL)).concat();
    let mut dictionary = Sink::new(directory.clone(), "unaging.additional.type_info_dic");
    // Without their names, readers show the calls' numbers.
    let _ = dictionary.write(names.as_bytes(), 1);
    dictionary.finish();
    let waiting = Vec::with_capacity(MOST_WAITING + ApiEvent::SIZE);
    Some((waiting, Sink::new(directory, CALLS)))
}

#[cold]
fn start(profile: u32) -> Option<&'static Shared> {
    let (waiting, sink) = open()?;
    process::watch(&HANDLERS, forked, finish);
    let begun = RECORDER.begin(Shared {
        process: std::process::id(),
        recorder: Mutex::new(Recorder { profile, waiting, sink }),
        writer: Flusher::default(),
    });
    let recorder = match begun {
        Ok(recorder) => recorder,
        Err(of_another_thread) => return Some(of_another_thread),
    };
    let thread = process::spawn("opscope-calls", 256 << 10, move || {
        recorder.writer.run(|| RECORDER.is(recorder), || lock(recorder).flush());
    });
    recorder.writer.is(thread.ok().as_ref().map(|handle| handle.thread()));
    Some(recorder)
}

/// Writes what waits; when the process ends.
extern "C" fn finish() {
    if let Some(recorder) = RECORDER.get() {
        let mut recorder = lock(recorder);
        recorder.flush();
        recorder.sink.finish();
    }
}

/// Has what waits written before the process is gone without its handlers.
pub(crate) fn leave() {
    let Some(shared) = RECORDER.get() else { return };
    // Between vfork and exec a child has its parent's memory, and the parent goes on.
    if shared.process == std::process::id() {
        shared.writer.settle();
    }
}

/// In a forked child, which has none of its parent's threads: it gets a recorder of its own.
extern "C" fn forked() {
    RECORDER.clear();
}
