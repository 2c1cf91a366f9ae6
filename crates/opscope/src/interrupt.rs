//! Ctrl-C, and the signals that ask a program to end: it ends at once and leaves nothing
//! half written. Where a measurement runs, the first one only ends that early, so that what was
//! measured is still reported.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use opscope_run::Interrupt;

static REQUEST: Interrupt = Interrupt::new();
static MEASURES: AtomicBool = AtomicBool::new(false);
static LAST_WORDS: Mutex<&str> = Mutex::new("");

/// Begins to listen.
pub fn listen() {
    let handler = || {
        if MEASURES.load(Ordering::Relaxed) && !REQUEST.is_requested() {
            REQUEST.request();
            return;
        }
        opscope_files::discard_unfinished();
        let words = *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner);
        if !words.is_empty() {
            // Nobody is left to complain to where this can't be written.
            let _ = writeln!(std::io::stderr(), "{words}");
        }
        std::process::exit(130);
    };
    // A system without such signals works as well.
    let _ = ctrlc::set_handler(handler);
    refuse_too_large_files();
}

/// The last words of a program that ends at once: how to go on. Nothing where there are none.
pub fn set_last_words(words: &'static str) {
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
}

/// From here on Ctrl-C ends the program at once again.
pub fn release() {
    MEASURES.store(false, Ordering::Relaxed);
}

/// Makes writing beyond a limit for the size of files (`ulimit -f`) an error as any other, where the
/// system would end the program at once. Programs that are launched don't inherit this.
#[cfg(unix)]
fn refuse_too_large_files() {
    extern "C" fn nothing(_signal: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: the handler does nothing at all, so it may interrupt anything.
    unsafe { libc::signal(libc::SIGXFSZ, handler as libc::sighandler_t) };
}

#[cfg(not(unix))]
fn refuse_too_large_files() {}

/// The request that Ctrl-C makes of the measurement that follows.
pub fn request() -> &'static Interrupt {
    MEASURES.store(true, Ordering::Relaxed);
    &REQUEST
}
