//! What Ctrl-C does: the first asks a measurement to end early, so that what was measured is still
//! reported; the second ends the program.

use opscope_run::Interrupt;

static REQUEST: Interrupt = Interrupt::new();

/// Lets Ctrl-C (and the signals that ask a program to end) interrupt the measurement that follows.
pub fn listen() -> &'static Interrupt {
    let handler = || {
        if REQUEST.is_requested() {
            std::process::exit(130);
        }
        REQUEST.request();
    };
    // That there is a handler already isn't an error: it is this one.
    let _ = ctrlc::set_handler(handler);
    &REQUEST
}
