//! Files that become shorter while they are read.
//!
//! Files are mapped into memory. Reading where a map has no file behind it any more is no error that a
//! function returns, but a signal, `SIGBUS`, which ends the program without a word. Its handler says which
//! file it was. Temporary files are left to the next run: a handler may do next to nothing.

use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

const BEFORE: &[u8] = b"error: ";
const UNKNOWN: &[u8] = b"a file";
const BEHIND: &[u8] =
    b": it became shorter while it was read, or its disk failed; run this again when nothing \
writes to it\n";

/// Begins to explain such an end, on standard error and with the status of a failure.
pub fn explain() {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = handle;
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: an all-zero action is a valid one, and its fields are set before it is used. The handler
    // calls nothing but functions that may be called from one. It runs on the stack that the standard
    // library gives each thread for its own handler of this signal, which is replaced.
    unsafe {
        let action = action.assume_init_mut();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, action, std::ptr::null_mut());
    }
}

extern "C" fn handle(_signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the system hands a valid description to a handler that was set with SA_SIGINFO, and the
    // address belongs to whatever this thread was reading. `write` and `_exit` may be called from a handler.
    unsafe {
        if (*info).si_code != libc::BUS_ADRERR {
            // A fault of the program, or a signal that somebody sent: as without this handler.
            libc::signal(libc::SIGBUS, libc::SIG_DFL);
            libc::raise(libc::SIGBUS);
            return;
        }
        let file = opscope_files::file_at((*info).si_addr().addr()).unwrap_or(UNKNOWN);
        for text in [BEFORE, file, BEHIND] {
            // Nobody is left to complain to where this can't be written.
            let _ = libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        }
        libc::_exit(1);
    }
}
