//! The state that each thread keeps: its lane, and the ranges that it has pushed and not popped.

use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{Ordering, compiler_fence};

use opscope_recorder::clock::ClockKind;
use opscope_recorder::process::{thread_id, without_signals};

use crate::details::Details;
use crate::queued_mark::{self, Extras, Line, MarkHeader, line_count};
use crate::recorder::{Lane, RECORDER, Recorder};
use crate::text::{Kept, Short, Text, Texts};

/// The state of one thread. It belongs to one recorder; after a fork it is made anew.
pub(crate) struct Local {
    pub(crate) recorder: &'static Recorder,
    lane: &'static Lane,
    pub(crate) thread: u32,
    pub(crate) clock: ClockKind,
    /// The ranges that are open, the innermost last.
    pub(crate) pushed: Vec<Pushed>,
    /// Their texts.
    pub(crate) texts: Texts,
    /// The details of those of them that have any.
    pub(crate) details: Vec<Details>,
}

/// A range that was begun on a thread.
#[derive(Clone, Copy)]
pub(crate) struct Pushed {
    pub(crate) start: u64,
    pub(crate) text: Kept,
    /// Whether the last of the thread's details are this range's.
    pub(crate) has_details: bool,
}

thread_local! {
    static LOCAL: Cell<*mut Local> = const { Cell::new(ptr::null_mut()) };
    static CLEANUP: Cleanup = const { Cleanup };
}

/// Gives the lane back when the thread ends.
struct Cleanup;

impl Drop for Cleanup {
    fn drop(&mut self) {
        let local = LOCAL.replace(ptr::null_mut());
        if local.is_null() {
            return;
        }
        // SAFETY: it came from `Box::into_raw` and is this thread's own.
        let local = unsafe { Box::from_raw(local) };
        if local.recorder.process == std::process::id() {
            local.recorder.return_lane(local.lane);
        }
    }
}

/// Lends the calling thread its state; `None` where nothing can be recorded, and within another
/// call of this function (a signal handler that marks while a mark is being recorded).
#[inline(always)]
pub(crate) fn with<T>(work: impl FnOnce(&mut Local) -> T) -> Option<T> {
    let recorder = Recorder::current()?;
    // A small closure, so that all of this becomes part of the caller.
    let place: *const Cell<*mut Local> = LOCAL.with(ptr::from_ref);
    // SAFETY: the place has no destructor, so it is there as long as the thread.
    let place = unsafe { &*place };
    let mut local = place.replace(ptr::null_mut());
    compiler_fence(Ordering::SeqCst);
    // SAFETY: not null means it is this thread's own, and taking it out made it ours alone.
    if local.is_null() || !ptr::eq(unsafe { &*local }.recorder, recorder) {
        local = without_signals(|| begin(recorder, local));
    }
    // SAFETY: as above.
    let result = work(unsafe { &mut *local });
    compiler_fence(Ordering::SeqCst);
    // A signal handler that marked meanwhile made a state of its own, which is given up here.
    place.set(local);
    Some(result)
}

/// Lends the calling thread its state where it has one of the present recorder, in as few
/// instructions as that takes.
#[inline(always)]
pub(crate) fn with_ready<T>(work: impl FnOnce(&mut Local) -> Option<T>) -> Option<T> {
    let place: *const Cell<*mut Local> = LOCAL.with(ptr::from_ref);
    // SAFETY: as in `with`.
    let place = unsafe { &*place };
    let local = place.get();
    // SAFETY: not null means it is this thread's own.
    if local.is_null() || !RECORDER.is(unsafe { &*local }.recorder) {
        return None;
    }
    // The fences are for signal handlers, which must not see it in its place meanwhile.
    place.set(ptr::null_mut());
    compiler_fence(Ordering::SeqCst);
    // SAFETY: taking it out made it ours alone.
    let result = work(unsafe { &mut *local });
    compiler_fence(Ordering::SeqCst);
    place.set(local);
    result
}

#[cold]
fn begin(recorder: &'static Recorder, stale: *mut Local) -> *mut Local {
    if !stale.is_null() {
        // SAFETY: it came from `Box::into_raw` and is this thread's own. Its lane belongs to a
        // recorder that is over.
        drop(unsafe { Box::from_raw(stale) });
    }
    // While the thread is ending there is no cleanup any more; the lane is then not used again.
    let _ = CLEANUP.try_with(|_| ());
    let (lane, thread) = (recorder.take_lane(), thread_id());
    let (pushed, texts, details) = (Vec::new(), Texts::default(), Vec::new());
    let clock = recorder.clock;
    let local = Local { recorder, lane, thread, clock, pushed, texts, details };
    Box::into_raw(Box::new(local))
}

impl Local {
    /// Hands a mark over to be written.
    pub(crate) fn put(&self, header: MarkHeader, text: Text<'_>, extras: Option<Extras>) {
        let count = line_count(text, extras.as_ref());
        self.put_lines(count, |lines| queued_mark::set(lines, header, text, extras.as_ref()));
    }

    /// Hands a mark of a short text over to be written.
    #[inline(always)]
    pub(crate) fn put_short(&self, header: MarkHeader, text: Short) {
        if !self.put_quietly(|line| line.set_short(header, text)) {
            self.put_lines(1, |lines| lines[0].set_short(header, text));
        }
    }

    /// Hands a mark of one line over, unless there is more to do than to put it down; returns whether it
    /// did.
    #[inline(always)]
    pub(crate) fn put_quietly(&self, fill: impl FnOnce(&mut Line)) -> bool {
        // SAFETY: the lane is this thread's own as long as it has this state.
        unsafe { self.lane.ring.put_quietly(fill) }
    }

    fn put_lines(&self, count: usize, fill: impl Fn(&mut [Line])) {
        loop {
            // SAFETY: as above.
            match unsafe { self.lane.ring.put(count, &fill) } {
                // Who marks faster than the disk takes helps writing, so that nothing is lost.
                None => without_signals(|| self.recorder.drain(self.lane)),
                Some(true) => return self.recorder.wake(),
                Some(false) => return,
            }
        }
    }

    /// Tells how many ranges are open, for the case that they stay so.
    #[inline(always)]
    pub(crate) fn note_open(&self, count: usize) {
        self.lane.open.store(count as u32, Ordering::Relaxed);
    }
}
