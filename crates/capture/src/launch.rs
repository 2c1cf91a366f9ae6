//! The program while it runs: it has our standard input and output, gets our signals, and its status
//! becomes ours.

use std::ffi::{OsString, c_int};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use crate::error::CaptureError;
use crate::inherited_fds;
use crate::program::Program;
use crate::stderr_scan::StderrScan;

/// The process that signals are passed on to; 0 for none.
static CHILD: AtomicI32 = AtomicI32::new(0);
/// The signals that came and were not passed on yet, a bit each.
static PENDING: AtomicU64 = AtomicU64::new(0);

/// The signals that ask a program to do something.
const SIGNALS: [c_int; 6] =
    [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2];

/// A program that runs.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stderr: StderrScan,
    before: Vec<(c_int, libc::sigaction)>,
}

impl Running {
    /// Starts the program.
    ///
    /// # Errors
    /// When the system refuses.
    pub(crate) fn start(
        program: &Program,
        variables: &[(OsString, OsString)],
        without_input: bool,
    ) -> Result<Self, CaptureError> {
        let mut command = Command::new(&program.path);
        command.arg0(&program.name).args(&program.arguments);
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        if without_input {
            command.stdin(Stdio::null());
        }
        let (stderr, own_end) = StderrScan::listen();
        if let Some(own_end) = own_end {
            command.stderr(own_end);
        }
        inherited_fds::close_again(&mut command, if without_input { &[libc::STDIN_FILENO] } else { &[] });
        // Signals that arrive before the child's number is known wait for it.
        PENDING.store(0, Ordering::SeqCst);
        let before = listen();
        let spawned = command.spawn();
        // The last end for writing must be the program's own.
        drop(command);
        match spawned {
            Ok(child) => {
                CHILD.store(child.id() as i32, Ordering::SeqCst);
                pass_on_pending();
                Ok(Self { child, stderr, before })
            }
            Err(error) => {
                restore(&before);
                let reason = match error.raw_os_error() {
                    Some(libc::ENOEXEC) => {
                        "the system can't execute this file; a script begins with a line such as #!/bin/sh"
                            .into()
                    }
                    Some(libc::ENOENT) => match interpreter(&program.path) {
                        Some(name) => format!("its first line names {name}, which is not there"),
                        None => {
                            "the loader that it needs is not there; file PROGRAM tells what it was built for"
                                .into()
                        }
                    },
                    _ => error.to_string(),
                };
                Err(CaptureError::NotExecutable { path: program.path.clone(), reason })
            }
        }
    }

    /// The program's process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The end of what the program wrote to its standard error, once it has ended; empty where that
    /// can't be read along.
    pub(crate) fn stderr_end(&mut self) -> String {
        self.stderr.text()
    }

    /// How the program ended, if it did.
    ///
    /// # Errors
    /// When the system doesn't know it any more.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits until the program ends, or so long.
    pub(crate) fn wait(&mut self, limit: std::time::Duration) -> io::Result<Option<ExitStatus>> {
        let descriptor = self.descriptor();
        let Some(descriptor) = descriptor else {
            std::thread::sleep(limit.min(std::time::Duration::from_millis(5)));
            return self.ended();
        };
        let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
        let millis = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
        // SAFETY: one valid entry; being interrupted by a signal is as good as the time being over.
        unsafe { libc::poll(&mut poll, 1, millis) };
        // SAFETY: the descriptor is ours.
        unsafe { libc::close(descriptor) };
        self.ended()
    }

    /// A descriptor that becomes readable when the program ends.
    fn descriptor(&self) -> Option<c_int> {
        // SAFETY: the call takes two integers.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, self.child.id(), 0) };
        c_int::try_from(descriptor).ok().filter(|descriptor| *descriptor >= 0)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        CHILD.store(0, Ordering::SeqCst);
        restore(&self.before);
    }
}

/// The interpreter that a script's first line names.
fn interpreter(path: &Path) -> Option<String> {
    const LONGEST_LINE: usize = 256;
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(LONGEST_LINE as u64).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let line = String::from_utf8_lossy(line.strip_prefix(b"#!")?).into_owned();
    line.split_whitespace().next().map(str::to_owned)
}

/// The status that a shell would tell: the program's own, or 128 and the signal that ended it.
pub(crate) fn status_code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    u8::try_from(code).unwrap_or(255)
}

/// Passes signals on from now on; returns what happened with them before.
fn listen() -> Vec<(c_int, libc::sigaction)> {
    let mut before = Vec::new();
    for signal in SIGNALS {
        // SAFETY: all-zero is a valid beginning for both; the handler only calls what handlers may.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = pass_on as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            let mut old: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &mut old) != 0 || old.sa_sigaction == libc::SIG_IGN {
                // Who started us with nohup wants it ignored by the program, too.
                continue;
            }
            if libc::sigaction(signal, &action, std::ptr::null_mut()) == 0 {
                before.push((signal, old));
            }
        }
    }
    before
}

fn restore(before: &[(c_int, libc::sigaction)]) {
    for (signal, action) in before {
        // SAFETY: the action was in force before.
        unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
    }
}

extern "C" fn pass_on(signal: c_int, information: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // A signal by a key on the terminal goes to the program as well; any other is for us alone.
    // SAFETY: the system gives valid information.
    let from_terminal = unsafe { information.as_ref() }.is_some_and(|it| it.si_code > 0);
    if !(from_terminal && matches!(signal, libc::SIGINT | libc::SIGQUIT)) {
        PENDING.fetch_or(1 << signal, Ordering::SeqCst);
        pass_on_pending();
    }
}

/// Sends the child, if there is one, the signals that are for it.
fn pass_on_pending() {
    let child = CHILD.load(Ordering::SeqCst);
    if child <= 0 {
        return;
    }
    let pending = PENDING.swap(0, Ordering::SeqCst);
    for signal in SIGNALS.into_iter().filter(|signal| pending & 1 << signal != 0) {
        // SAFETY: the call has no preconditions.
        unsafe { libc::kill(child, signal) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_comes_before_the_childs_number_is_known_reaches_it() {
        let mut child = Command::new("sleep").arg("60").spawn().expect("a program");
        pass_on(libc::SIGTERM, std::ptr::null_mut(), std::ptr::null_mut());
        assert!(child.try_wait().expect("a status").is_none(), "there is nobody to send it to");
        CHILD.store(child.id() as i32, Ordering::SeqCst);
        pass_on_pending();
        let status = child.wait().expect("a status");
        CHILD.store(0, Ordering::SeqCst);
        assert_eq!(status.signal(), Some(libc::SIGTERM));
        assert_eq!(PENDING.load(Ordering::SeqCst), 0, "it is sent once");
    }
}
