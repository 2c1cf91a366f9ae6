//! The thread that writes what waits, a few times a second and whenever it is asked to.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::Thread;
use std::time::Duration;

/// How often everything that waits is written. A killed process loses no more than this much.
const FLUSH_EVERY: Duration = Duration::from_millis(250);

/// How long a process that is about to be gone waits for the thread, at a time and in all.
const PAUSE: Duration = Duration::from_micros(50);
const MOST_PAUSES: u32 = 20_000;

/// The state of the thread that others see.
#[derive(Debug, Default)]
pub struct Flusher {
    thread: OnceLock<Thread>,
    /// How often it began to write, and how often it was done.
    begun: AtomicU64,
    done: AtomicU64,
}

impl Flusher {
    /// The work of the thread: calls `flush` as long as `goes_on` says so.
    pub fn run(&self, goes_on: impl Fn() -> bool, flush: impl Fn()) {
        while goes_on() {
            std::thread::park_timeout(FLUSH_EVERY);
            let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
            flush();
            self.done.store(number, Ordering::Release);
        }
    }

    /// Names the thread that runs; until then nobody can wake it.
    pub fn is(&self, thread: Option<&Thread>) {
        thread.cloned().map(|thread| self.thread.set(thread));
    }

    /// Wakes the thread before its time.
    pub fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Waits until everything that waits now is written, or until that takes too long. It takes no
    /// lock and no memory, because signal handlers end processes, too.
    pub fn settle(&self) {
        let Some(thread) = self.thread.get() else { return };
        let before = self.begun.load(Ordering::Acquire);
        thread.unpark();
        for _ in 0..MOST_PAUSES {
            if self.done.load(Ordering::Acquire) > before {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn whoever_asks_gets_everything_written_at_once() {
        let (flusher, ends) = (Arc::new(Flusher::default()), Arc::new(AtomicBool::new(false)));
        let (waiting, written) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let its = (Arc::clone(&flusher), Arc::clone(&ends), Arc::clone(&waiting), Arc::clone(&written));
        let handle = std::thread::spawn(move || {
            let (flusher, ends, waiting, written) = its;
            let flush = || {
                let count = waiting.load(Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(2));
                written.store(count, Ordering::SeqCst);
            };
            flusher.run(|| !ends.load(Ordering::SeqCst), flush);
        });
        flusher.is(Some(handle.thread()));
        for number in 1..50 {
            waiting.store(number, Ordering::SeqCst);
            flusher.settle();
            assert_eq!(written.load(Ordering::SeqCst), number);
        }
        ends.store(true, Ordering::SeqCst);
        flusher.wake();
        handle.join().expect("the thread ends");
    }

    #[test]
    fn nobody_waits_where_there_is_no_thread() {
        Flusher::default().settle();
    }
}
