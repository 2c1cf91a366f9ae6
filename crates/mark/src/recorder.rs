//! The recorder of a process: the threads' rings, the thread that writes them out, and what happens
//! when the process forks or ends.
//!
//! Everything here is made when the first mark is recorded and then stays for the life of the
//! process. A forked child has its parent's memory but not its threads, and locks may be held in
//! it by threads that it doesn't have: it leaves the parent's recorder alone and makes its own.

use std::path::PathBuf;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::Tx;

use crate::clock::ClockKind;
use crate::control::{CONTROL_VARIABLE, Control, DIRECTORY_VARIABLE, OFF, UNKNOWN};
use crate::entry::MOST_LINES;
use crate::flusher::Flusher;
use crate::ring::Ring;
use crate::sink::{STREAM, Sink};
use crate::{leaving, waiting};

/// How often a thread lets others run while one of them looks for the collector.
const MOST_YIELDS: u32 = 100_000;

/// Where records go and who may stop them.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) control: &'static Control,
    pub(crate) directory: PathBuf,
}

/// The switch of programs that nobody collects from.
static NOBODY: Control = Control::new(OFF);
/// The switch before anybody looked.
static UNDECIDED: Control = Control::new(UNKNOWN);

/// Whether there is a page to look at: not where it is known that nobody collects.
static WATCHED: AtomicBool = AtomicBool::new(true);
static CONTROL: AtomicPtr<Control> = AtomicPtr::new(ptr::from_ref(&UNDECIDED).cast_mut());
static SESSION: AtomicPtr<Session> = AtomicPtr::new(ptr::null_mut());
static RECORDER: AtomicPtr<Recorder> = AtomicPtr::new(ptr::null_mut());
/// The number of the profile that the session belongs to.
static PROFILE: AtomicU32 = AtomicU32::new(OFF);
static LOOKING: AtomicBool = AtomicBool::new(false);
static HANDLERS: AtomicBool = AtomicBool::new(false);

/// Whether marks are recorded now. The first call looks at the environment.
#[inline(always)]
pub fn is_on() -> bool {
    if !WATCHED.load(Ordering::Relaxed) {
        return false;
    }
    let switch = current_control().switch.load(Ordering::Relaxed);
    switch != OFF && (switch == PROFILE.load(Ordering::Relaxed) || look_for_collector())
}

/// Finds who collects, and begins a session of our own in a profile that is new.
#[cold]
fn look_for_collector() -> bool {
    let Some(_alone) = Looking::begin() else { return false };
    let mut control = current_control();
    if ptr::eq(control, &UNDECIDED) {
        control = named_control().or_else(waiting::make_page).unwrap_or(&NOBODY);
        set_control(control);
    }
    let named = || std::env::var_os(DIRECTORY_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let is_new = control.is_on() && control.profile() != PROFILE.load(Ordering::Relaxed);
    let directory = if is_new { control.directory().or_else(named) } else { None };
    if let Some(directory) = directory {
        finish();
        begin(Session { control, directory });
    }
    control.is_on() && control.profile() == PROFILE.load(Ordering::Relaxed)
}

/// The page that a collector named in the environment.
fn named_control() -> Option<&'static Control> {
    Control::open(&std::env::var(CONTROL_VARIABLE).ok()?)
}

#[inline(always)]
fn current_control() -> &'static Control {
    // SAFETY: it always points to a page that is never freed.
    unsafe { &*CONTROL.load(Ordering::Acquire) }
}

fn set_control(control: &'static Control) {
    // In this order a child that is forked between the two looks once too often, and never too seldom.
    let is_nobody = ptr::eq(control, &NOBODY);
    if !is_nobody {
        WATCHED.store(true, Ordering::Release);
    }
    CONTROL.store(ptr::from_ref(control).cast_mut(), Ordering::Release);
    if is_nobody {
        WATCHED.store(false, Ordering::Release);
    }
}

/// The right to decide who collects, which one thread has at a time.
struct Looking;

impl Looking {
    /// Waits for those who decide now: marks of this thread count, too. `None` after a long time: a
    /// signal handler that marks while its own thread decides would wait forever.
    fn begin() -> Option<Self> {
        let mut patience = MOST_YIELDS;
        while LOOKING.swap(true, Ordering::AcqRel) {
            patience = patience.checked_sub(1)?;
            std::thread::yield_now();
        }
        Some(Self)
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        LOOKING.store(false, Ordering::Release);
    }
}

/// Sends all further records to a session. The one before is written out first.
pub(crate) fn open(session: Session) {
    let _alone = Looking::begin();
    end();
    begin(session);
}

fn begin(session: Session) {
    let control = session.control;
    // Sessions are few and small; other threads may still look at the one before.
    SESSION.store(Box::into_raw(Box::new(session)), Ordering::Release);
    // Only now, so that whoever makes a new recorder makes it for this session.
    RECORDER.store(ptr::null_mut(), Ordering::Release);
    PROFILE.store(control.profile(), Ordering::Release);
    set_control(control);
}

/// Ends the session: everything is written out, and nothing more is recorded.
pub(crate) fn close() {
    let _alone = Looking::begin();
    end();
}

fn end() {
    if let Some(session) = session() {
        session.control.record(false);
    }
    finish();
    set_control(&NOBODY);
    PROFILE.store(OFF, Ordering::Release);
    RECORDER.store(ptr::null_mut(), Ordering::Release);
    SESSION.store(ptr::null_mut(), Ordering::Release);
}

/// Whether there is a collector, or was one; it decides when something is recorded.
pub(crate) fn has_collector() -> bool {
    is_on();
    let control = current_control();
    !ptr::eq(control, &NOBODY) && !ptr::eq(control, &UNDECIDED)
}

fn session() -> Option<&'static Session> {
    // SAFETY: null, or a session that is never freed.
    unsafe { SESSION.load(Ordering::Acquire).as_ref() }
}

/// Where a thread puts its records, and what of it others may see.
pub(crate) struct Lane {
    pub(crate) ring: Ring,
    /// How many ranges the thread has open.
    pub(crate) open: AtomicU32,
}

/// The recorder of a process.
pub(crate) struct Recorder {
    session: &'static Session,
    pub(crate) clock: ClockKind,
    pub(crate) process: u32,
    lanes: Mutex<Lanes>,
    output: Mutex<Output>,
    writer: Flusher,
}

/// Where drained marks go.
struct Output {
    sink: Sink,
    /// Records on their way to the sink. It never grows: a program may be out of memory.
    records: Box<[u8]>,
}

/// The bytes of a record.
const RECORD: usize = Tx::SIZE;

/// How many records are made before they are written: they should still be in the processor's
/// cache then.
const BATCH: usize = 512;

#[derive(Default)]
struct Lanes {
    all: Vec<&'static Lane>,
    free: Vec<&'static Lane>,
}

/// A poisoned lock only means that somebody panicked while holding it; the data are still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many lines the ring of the `number`th thread holds; a mark takes one or more. All rings
/// together stay below two mebibytes of records with as many threads as programs have, so that no more
/// is lost with the process.
fn ring_size(number: usize) -> usize {
    match number {
        0 => 2_048,
        1 => 1_024,
        2..4 => 256,
        4..8 => 128,
        8..16 => 64,
        16..64 => 32,
        _ => MOST_LINES,
    }
}

impl Recorder {
    /// The recorder of this process and session, made when there is none.
    pub(crate) fn current() -> Option<&'static Self> {
        // SAFETY: null, or a recorder that is never freed.
        match unsafe { RECORDER.load(Ordering::Acquire).as_ref() } {
            Some(recorder) => Some(recorder),
            None => Self::start(),
        }
    }

    /// Whether a recorder is the one that [`Recorder::current`] would give.
    #[inline(always)]
    pub(crate) fn is_current(recorder: &'static Self) -> bool {
        ptr::eq(RECORDER.load(Ordering::Acquire), recorder)
    }

    #[cold]
    fn start() -> Option<&'static Self> {
        let session = session()?;
        let recorder = Box::into_raw(Box::new(Self {
            session,
            clock: session.control.clock(),
            process: std::process::id(),
            lanes: Mutex::default(),
            output: Mutex::new(Output {
                sink: Sink::new(session.directory.clone(), STREAM),
                records: vec![0; BATCH * RECORD].into_boxed_slice(),
            }),
            writer: Flusher::default(),
        }));
        let (none, order) = (ptr::null_mut(), Ordering::AcqRel);
        if let Err(other) = RECORDER.compare_exchange(none, recorder, order, Ordering::Acquire) {
            // SAFETY: nobody else has seen it; the other one was there first and is never freed.
            drop(unsafe { Box::from_raw(recorder) });
            // SAFETY: as above.
            return unsafe { other.as_ref() };
        }
        session.control.processes.fetch_add(1, Ordering::Relaxed);
        crate::domain::begin(&session.directory);
        if !HANDLERS.swap(true, Ordering::AcqRel) {
            // SAFETY: both handlers are functions of this library, which is never unloaded.
            unsafe {
                libc::pthread_atfork(None, None, Some(forked));
                libc::atexit(finish);
                #[cfg(target_os = "linux")]
                at_quick_exit(finish);
            }
            leaving::tell(leave);
        }
        // SAFETY: it was just made and is never freed.
        let recorder = unsafe { &*recorder };
        recorder.start_writer();
        Some(recorder)
    }

    /// Starts the thread that writes. Without it, threads write when their rings are full.
    fn start_writer(&'static self) {
        let thread = std::thread::Builder::new().name("opscope-mark".into()).stack_size(128 << 10);
        // The program's signals are for the program's own threads.
        let spawned = without_signals(|| {
            thread.spawn(|| {
                self.writer.run(|| ptr::eq(RECORDER.load(Ordering::Acquire), self), || self.flush());
            })
        });
        self.writer.is(spawned.ok().as_ref().map(|handle| handle.thread()));
    }

    /// Wakes the writer before its time.
    #[cold]
    pub(crate) fn wake(&self) {
        self.writer.wake();
    }

    /// A lane for the calling thread.
    pub(crate) fn take_lane(&self) -> &'static Lane {
        let mut lanes = lock(&self.lanes);
        if let Some(lane) = lanes.free.pop() {
            return lane;
        }
        let ring = Ring::new(ring_size(lanes.all.len()));
        let lane: &'static Lane = Box::leak(Box::new(Lane { ring, open: AtomicU32::new(0) }));
        lanes.all.push(lane);
        lane
    }

    /// Takes the lane of a thread that ends; what waits in it is still written.
    pub(crate) fn return_lane(&self, lane: &'static Lane) {
        let open = lane.open.swap(0, Ordering::Relaxed);
        self.session.control.unclosed.fetch_add(u64::from(open), Ordering::Relaxed);
        lock(&self.lanes).free.push(lane);
    }

    /// Writes what waits in one lane.
    #[cold]
    pub(crate) fn drain(&self, lane: &Lane) {
        let mut output = lock(&self.output);
        let Output { sink, records } = &mut *output;
        // SAFETY: the output's lock makes this the only one who takes marks out.
        let mut waiting = unsafe { lane.ring.waiting() };
        loop {
            let mut places = records.chunks_exact_mut(RECORD);
            let count = waiting.take(BATCH, |mark| {
                if let Some(place) = places.next() {
                    mark.record(self.process).write(place);
                }
            });
            if count == 0 {
                return;
            }
            self.write(sink, &records[..count * RECORD]);
            waiting.give_back();
        }
    }

    /// Writes everything that waits.
    fn flush(&self) {
        let lanes = lock(&self.lanes).all.clone();
        for lane in lanes {
            // The lock is given back between lanes, to threads that wait for space.
            self.drain(lane);
        }
    }

    fn write(&self, sink: &mut Sink, records: &[u8]) {
        let control = self.session.control;
        let count = (records.len() / RECORD) as u64;
        match sink.write(records, RECORD) {
            Ok(()) => control.written.fetch_add(count, Ordering::Relaxed),
            Err(error) => {
                let number = error.raw_os_error().unwrap_or(libc::EIO);
                control.error.store(number as u32, Ordering::Relaxed);
                control.lost.fetch_add(count, Ordering::Relaxed)
            }
        };
    }

    /// What the collector sees of this process.
    pub(crate) fn control(&self) -> &'static Control {
        self.session.control
    }
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// As `atexit`, for `quick_exit`.
    fn at_quick_exit(function: extern "C" fn()) -> std::ffi::c_int;
}

/// Does something while the calling thread gets no signal: a handler that marks would wait for the locks
/// that its own thread holds.
pub(crate) fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    let mut before = None;
    // SAFETY: the sets are valid places.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        if libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old) == 0 {
            before = Some(old);
        }
    }
    let result = work();
    if let Some(old) = before {
        // SAFETY: the mask as it was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, ptr::null_mut()) };
    }
    result
}

/// Writes everything and completes the slice; when the process ends, and when a session does.
extern "C" fn finish() {
    // SAFETY: null, or a recorder that is never freed.
    let Some(recorder) = (unsafe { RECORDER.load(Ordering::Acquire).as_ref() }) else { return };
    let open: u32 = lock(&recorder.lanes).all.iter().map(|lane| lane.open.swap(0, Ordering::Relaxed)).sum();
    let open = u64::from(open) + crate::event::forget_ranges();
    recorder.control().unclosed.fetch_add(open, Ordering::Relaxed);
    recorder.flush();
    lock(&recorder.output).sink.finish();
}

/// Has everything written before the process is gone without its handlers.
extern "C" fn leave() {
    // SAFETY: null, or a recorder that is never freed.
    let Some(recorder) = (unsafe { RECORDER.load(Ordering::Acquire).as_ref() }) else { return };
    // Between vfork and exec a child has its parent's memory, and the parent goes on.
    if recorder.process == std::process::id() {
        recorder.writer.settle();
    }
}

/// In a forked child: the parent's recorder stays as it is, and the next mark makes a new one.
extern "C" fn forked() {
    RECORDER.store(ptr::null_mut(), Ordering::Release);
    LOOKING.store(false, Ordering::Release);
    crate::event::forked();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rings_of_many_threads_hold_less_than_two_mebibytes() {
        let records: usize = (0..512).map(|number| Ring::new(ring_size(number)).size()).sum();
        let bytes = records * RECORD;
        assert!(bytes <= 2 << 20, "{bytes}");
    }
}
