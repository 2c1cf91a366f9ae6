//! What Ctrl-C does, and the signals that ask a program to end: it ends at once and leaves nothing
//! half written. Where a measurement runs, the first one only ends that early, so that what was
//! measured is still reported.

use std::sync::atomic::{AtomicBool, Ordering};

use opscope_run::Interrupt;

static REQUEST: Interrupt = Interrupt::new();
static MEASURES: AtomicBool = AtomicBool::new(false);

/// Begins to listen.
pub fn listen() {
    let handler = || {
        if MEASURES.load(Ordering::Relaxed) && !REQUEST.is_requested() {
            REQUEST.request();
            return;
        }
        opscope_formats::discard_unfinished();
        std::process::exit(130);
    };
    // A system without such signals works as well.
    let _ = ctrlc::set_handler(handler);
}

/// The request that Ctrl-C makes of the measurement that follows.
pub fn request() -> &'static Interrupt {
    MEASURES.store(true, Ordering::Relaxed);
    &REQUEST
}
