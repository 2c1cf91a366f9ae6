//! Which of standard input, output and error were closed when we were started.
//!
//! Rust opens `/dev/null` in their place before `main`. The program that is run must find them as its
//! caller left them.

use std::ffi::c_int;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A bit for each of the three.
static CLOSED: AtomicU32 = AtomicU32::new(0);

extern "C" fn at_load() {
    for descriptor in 0..3 {
        // SAFETY: the call takes integers.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } < 0 {
            CLOSED.fetch_or(1 << descriptor, Ordering::Relaxed);
        }
    }
}

#[cfg(target_os = "linux")]
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

/// Closes in a program that is to be started the descriptors that our caller had closed, except `own`,
/// which the program is given by us.
pub(crate) fn close_again(command: &mut Command, own: &[c_int]) {
    let closed = CLOSED.load(Ordering::Relaxed);
    let descriptors: Vec<c_int> =
        (0..3).filter(|descriptor| closed & 1 << descriptor != 0 && !own.contains(descriptor)).collect();
    if descriptors.is_empty() {
        return;
    }
    let close = move || -> io::Result<()> {
        for descriptor in &descriptors {
            // SAFETY: nothing in the new process has used it yet.
            unsafe { libc::close(*descriptor) };
        }
        Ok(())
    };
    // SAFETY: it calls nothing but `close`.
    unsafe { command.pre_exec(close) };
}
