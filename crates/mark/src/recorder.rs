//! The recorder of a process: the threads' rings, the thread that writes them out, and what happens
//! when the process forks or ends.
//!
//! Everything here is made when the first mark is recorded and then stays for the life of the
//! process. A forked child has its parent's memory but not its threads, and locks may be held in
//! it by threads that it doesn't have: it leaves the parent's recorder alone and makes its own.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use opscope_cann_raw::Record;
use opscope_cann_raw::additional::Tx;
use opscope_recorder::clock::ClockKind;
use opscope_recorder::control::Control;
use opscope_recorder::flusher::Flusher;
use opscope_recorder::published::Published;
use opscope_recorder::sink::{MARKS, Sink};
use opscope_recorder::{leaving, process};

use crate::queued_mark::MOST_LINES;
use crate::ring::Ring;
use crate::session::{Changing, SESSION, Session};
use crate::{domain, open_ranges};

/// The recorder of the present session, once it has recorded something.
pub(crate) static RECORDER: Published<Recorder> = Published::nothing();
static HANDLERS: AtomicBool = AtomicBool::new(false);

/// The place where a thread puts its records, and the part of its state that others may see.
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

/// The way of drained marks to the disk.
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
        match RECORDER.get() {
            Some(recorder) => Some(recorder),
            None => Self::start(),
        }
    }

    #[cold]
    fn start() -> Option<&'static Self> {
        let session = SESSION.get()?;
        watch_process();
        let begun = RECORDER.begin(Self {
            session,
            clock: session.control.clock(),
            process: std::process::id(),
            lanes: Mutex::default(),
            output: Mutex::new(Output {
                sink: Sink::new(session.directory.clone(), MARKS),
                records: vec![0; BATCH * RECORD].into_boxed_slice(),
            }),
            writer: Flusher::default(),
        });
        let recorder = match begun {
            Ok(recorder) => recorder,
            Err(of_another_thread) => return Some(of_another_thread),
        };
        session.control.processes.fetch_add(1, Ordering::Relaxed);
        domain::begin(&session.directory);
        recorder.start_writer();
        Some(recorder)
    }

    /// Starts the thread that writes. Without it, threads write when their rings are full.
    fn start_writer(&'static self) {
        let write = || self.writer.run(|| RECORDER.is(self), || self.flush());
        let thread = process::spawn("opscope-mark", 128 << 10, write);
        self.writer.is(thread.ok().as_ref().map(|handle| handle.thread()));
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
            Ok(()) => _ = control.written.fetch_add(count, Ordering::Relaxed),
            Err(error) => control.count_lost(count, &error),
        }
    }

    /// The page that the collector sees of this process.
    pub(crate) fn control(&self) -> &'static Control {
        self.session.control
    }
}

/// Enters the functions that are called when the process forks, ends, or becomes another. All are
/// functions of this library, which is never unloaded.
pub(crate) fn watch_process() {
    if HANDLERS.load(Ordering::Acquire) {
        return;
    }
    #[cfg(target_os = "linux")]
    // SAFETY: as above.
    unsafe {
        at_quick_exit(finish);
    }
    leaving::tell(leave);
    process::watch(&HANDLERS, forked, finish);
}

#[cfg(target_os = "linux")]
unsafe extern "C" {
    /// As `atexit`, for `quick_exit`.
    fn at_quick_exit(function: extern "C" fn()) -> std::ffi::c_int;
}

/// Writes everything and completes the slice; when the process ends, and when a session does.
pub(crate) extern "C" fn finish() {
    let Some(recorder) = RECORDER.get() else { return };
    let open: u32 = lock(&recorder.lanes).all.iter().map(|lane| lane.open.swap(0, Ordering::Relaxed)).sum();
    let open = u64::from(open) + open_ranges::forget();
    recorder.control().unclosed.fetch_add(open, Ordering::Relaxed);
    recorder.flush();
    lock(&recorder.output).sink.finish();
}

/// Has everything written before the process is gone without its handlers.
extern "C" fn leave() {
    let Some(recorder) = RECORDER.get() else { return };
    // Between vfork and exec a child has its parent's memory, and the parent goes on.
    if recorder.process == std::process::id() {
        recorder.writer.settle();
    }
}

/// In a forked child: the parent's recorder stays as it is, and the next mark makes a new one.
extern "C" fn forked() {
    RECORDER.clear();
    Changing::forked();
    open_ranges::forget();
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
