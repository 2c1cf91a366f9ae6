//! The session of a process: where its records go now, and who may stop them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope_recorder::control::Control;
use opscope_recorder::published::Published;

/// How often a thread lets others run while one of them changes the session.
const MOST_YIELDS: u32 = 100_000;

/// Where records go and who may stop them.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) control: &'static Control,
    pub(crate) directory: PathBuf,
}

/// The session now. Earlier ones stay in memory: they are few and small, and other threads may still
/// look at them.
pub(crate) static SESSION: Published<Session> = Published::nothing();
static CHANGING: AtomicBool = AtomicBool::new(false);

/// The right to change the session, which one thread has at a time.
pub(crate) struct Changing;

impl Changing {
    /// Waits for the thread that changes it now: marks of this thread count, too. `None` after a long
    /// time: a signal handler that marks while its own thread changes the session would wait forever.
    pub(crate) fn begin() -> Option<Self> {
        let mut patience = MOST_YIELDS;
        while CHANGING.swap(true, Ordering::AcqRel) {
            patience = patience.checked_sub(1)?;
            std::thread::yield_now();
        }
        Some(Self)
    }

    /// In a forked child, which may not have the thread that changed it.
    pub(crate) fn forked() {
        CHANGING.store(false, Ordering::Release);
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        CHANGING.store(false, Ordering::Release);
    }
}
