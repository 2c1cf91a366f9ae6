//! Ctrl-C, and the signals that ask a program to end: it ends at once and leaves nothing
//! half written. Where a measurement runs, the first one only ends that early, so that what was
//! measured is still reported; an engine that doesn't listen meanwhile, because it loads a model or
//! computes a single node, is given half a second.

use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use opscope_run::Interrupt;
use opscope_say::word;

static REQUEST: Interrupt = Interrupt::new();
static LISTENER: Mutex<Listener> = Mutex::new(Listener::Nobody);
static LAST_WORDS: Mutex<&str> = Mutex::new("");
static LAST_DEED: Mutex<fn()> = Mutex::new(|| ());

/// How long an engine may take to heed a request.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whoever heeds the first signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listener {
    /// Nobody: the program ends.
    Nobody,
    /// A measurement, unless its engine is busy.
    Measurement,
    /// A loop that waits for another program and is sure to ask.
    Waiting,
}

/// Begins to listen.
pub fn listen() {
    // A system without such signals works as well.
    let _ = ctrlc::set_handler(on_signal);
    refuse_too_large_files();
}

fn on_signal() {
    let listener = *LISTENER.lock().unwrap_or_else(PoisonError::into_inner);
    if listener == Listener::Nobody || REQUEST.is_made() {
        end("");
    }
    REQUEST.request();
    if listener == Listener::Measurement && !is_heeded_in_time() {
        end(word(
            "interrupted while the engine was busy with loading the model or with a single node; nothing is reported",
        ));
    }
}

fn is_heeded_in_time() -> bool {
    let begun = Instant::now();
    while !REQUEST.is_heeded() {
        if begun.elapsed() >= PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Ends the program at once because its work can't be done.
pub fn fail(why: &str) -> ! {
    opscope_files::discard_unfinished();
    let _ = writeln!(std::io::stderr(), "{why}");
    exit(1);
}

/// Ends the program at once, and says why unless it is clear.
fn end(why: &str) -> ! {
    opscope_files::discard_unfinished();
    let deed = *LAST_DEED.lock().unwrap_or_else(PoisonError::into_inner);
    deed();
    let words = *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    for text in [why, words].into_iter().filter(|text| !text.is_empty()) {
        // Nobody is left to complain to where this can't be written.
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    exit(130);
}

/// Ends the program without what libraries do at an orderly end: it would take away under other threads'
/// feet what an engine is working with.
#[cfg(unix)]
fn exit(status: i32) -> ! {
    // SAFETY: it ends the process and returns to nobody.
    unsafe { libc::_exit(status) }
}

#[cfg(not(unix))]
fn exit(status: i32) -> ! {
    std::process::exit(status)
}

/// The last words of a program that ends at once: how to go on. Nothing where there are none.
pub fn set_last_words(words: &'static str) {
    *LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner) = words;
}

/// The last deed of a program that Ctrl-C ends: it ends what would go on elsewhere. It may take seconds, no more.
#[cfg(feature = "ballista")]
pub fn set_last_deed(deed: fn()) {
    *LAST_DEED.lock().unwrap_or_else(PoisonError::into_inner) = deed;
}

/// From here on Ctrl-C ends the program at once again.
pub fn release() {
    set_listener(Listener::Nobody);
}

fn set_listener(listener: Listener) {
    *LISTENER.lock().unwrap_or_else(PoisonError::into_inner) = listener;
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

/// The request that Ctrl-C makes of the measurement that follows. Where its engine doesn't heed it soon,
/// the program ends.
pub fn of_measurement() -> &'static Interrupt {
    set_listener(Listener::Measurement);
    &REQUEST
}

/// The request that Ctrl-C makes of a loop that waits for another program, and has to end that first.
pub fn of_waiting() -> &'static Interrupt {
    set_listener(Listener::Waiting);
    &REQUEST
}
