//! The times of calls, as the records that CANN's own host library writes of them: 40 bytes each in
//! `aging.api_event.data.slice_N`, their names in `unaging.additional.type_info_dic.slice_N`.

use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use opscope_cann_raw::Record;
use opscope_cann_raw::host::{ApiEvent, MAGIC, level};

use super::{EXECUTE, EXECUTE_ASYNC, NAMES, SYNCHRONIZE, operators};
use crate::clock;
use crate::control::{CONTROL_VARIABLE, Control};
use crate::flusher::Flusher;
use crate::sink::Sink;

/// Names the directory for the records.
const DIRECTORY_VARIABLE: &str = "OPSCOPE_ACL_DIR";

/// How many bytes wait at most.
const MOST_WAITING: usize = 64 << 10;

/// Where this process writes. Made when the first call is recorded, and anew after a fork.
static RECORDER: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());
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

/// Where the records go, if anybody collects.
pub(super) fn directory() -> Option<PathBuf> {
    if let Some(directory) = control().and_then(Control::directory) {
        return Some(directory);
    }
    std::env::var_os(DIRECTORY_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The collector's page, if anybody collects.
pub(super) fn control() -> Option<&'static Control> {
    static CONTROL: OnceLock<Option<&'static Control>> = OnceLock::new();
    *CONTROL.get_or_init(|| std::env::var(CONTROL_VARIABLE).ok().and_then(|path| Control::open(&path)))
}

/// Whether something is recorded now.
pub(super) fn is_on() -> bool {
    control().is_some_and(Control::records_calls)
}

/// Does something, and records how long it took under a number of [`NAMES`].
#[inline]
pub(super) fn timed<T>(number: u32, work: impl FnOnce() -> T) -> T {
    if number == 0 || !is_on() {
        return work();
    }
    let Some(kind) = control().map(Control::clock) else { return work() };
    let (begin, first) = (kind.now(), clock::monotonic_raw());
    let result = work();
    let (end, last) = (kind.now(), clock::monotonic_raw());
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
    // SAFETY: the call has no arguments and never fails.
    let thread = unsafe { libc::gettid() } as u32;
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
            control.error.store(error.raw_os_error().unwrap_or(libc::EIO) as u32, Ordering::Relaxed);
            control.lost.fetch_add(count, Ordering::Relaxed);
        }
    }
}

fn current(profile: u32) -> Option<&'static Shared> {
    // SAFETY: null, or a recorder that is never freed.
    match unsafe { RECORDER.load(Ordering::Acquire).as_ref() } {
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
    Some((waiting, Sink::new(directory, "aging.api_event.data")))
}

#[cold]
fn start(profile: u32) -> Option<&'static Shared> {
    let (waiting, sink) = open()?;
    let recorder = Box::into_raw(Box::new(Shared {
        process: std::process::id(),
        recorder: Mutex::new(Recorder { profile, waiting, sink }),
        writer: Flusher::default(),
    }));
    let (none, order) = (ptr::null_mut(), Ordering::AcqRel);
    if let Err(other) = RECORDER.compare_exchange(none, recorder, order, Ordering::Acquire) {
        // SAFETY: nobody else has seen it; the other one was there first and is never freed.
        drop(unsafe { Box::from_raw(recorder) });
        // SAFETY: as above.
        return unsafe { other.as_ref() };
    }
    watch_process();
    // SAFETY: it was just made and is never freed.
    let recorder: &'static Shared = unsafe { &*recorder };
    let thread = spawn("opscope-calls", move || {
        let is_current = || ptr::eq(RECORDER.load(Ordering::Acquire), recorder);
        recorder.writer.run(is_current, || lock(recorder).flush());
    });
    recorder.writer.is(thread.as_ref().map(|handle| handle.thread()));
    Some(recorder)
}

/// Sees to it that everything is put in order when the process forks or ends.
pub(super) fn watch_process() {
    if !HANDLERS.swap(true, Ordering::AcqRel) {
        // SAFETY: both handlers are functions of this library, which stays loaded.
        unsafe {
            libc::pthread_atfork(None, None, Some(forked));
            libc::atexit(finish);
        }
    }
}

/// Starts a thread that gets none of the program's signals.
pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Option<std::thread::JoinHandle<()>> {
    // SAFETY: the sets are valid places, and the mask is restored below.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        let blocked = libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before) == 0;
        let thread = std::thread::Builder::new().name(name.into()).stack_size(256 << 10).spawn(work).ok();
        if blocked {
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
        }
        thread
    }
}

/// Writes what waits; when the process ends.
extern "C" fn finish() {
    super::device::end();
    // SAFETY: null, or a recorder that is never freed.
    if let Some(recorder) = unsafe { RECORDER.load(Ordering::Acquire).as_ref() } {
        let mut recorder = lock(recorder);
        recorder.flush();
        recorder.sink.finish();
    }
}

/// Has what waits written before the process is gone without its handlers.
pub(crate) fn leave() {
    // SAFETY: null, or a recorder that is never freed.
    let Some(shared) = (unsafe { RECORDER.load(Ordering::Acquire).as_ref() }) else { return };
    // Between vfork and exec a child has its parent's memory, and the parent goes on.
    if shared.process == std::process::id() {
        shared.writer.settle();
    }
}

/// In a forked child, which has none of its parent's threads: it gets a recorder of its own, and
/// leaves the device to the parent.
extern "C" fn forked() {
    RECORDER.store(ptr::null_mut(), Ordering::Release);
    super::device::forked();
}
