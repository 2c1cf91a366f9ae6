//! Programs that tests start, which must come to an end: a test that waits for ever tells nothing.

use std::io;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

/// How long a program may take. None that tests start takes a tenth of it on a busy machine.
const LIMIT: Duration = Duration::from_secs(600);

/// Runs a program to its end with nothing on its standard input. After ten minutes it is ended, with
/// all the processes that it started.
///
/// # Errors
/// Where the program doesn't start; [`io::ErrorKind::TimedOut`] where it doesn't end.
pub fn output_in_time(command: &mut Command) -> io::Result<Output> {
    output_within(command, LIMIT)
}

fn output_within(command: &mut Command, limit: Duration) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let child = command.spawn()?;
    let group = child.id();
    let (ended, end) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let is_late = end.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if is_late {
            end_group(group);
        }
        is_late
    });
    let output = Child::wait_with_output(child);
    drop(ended);
    match watch.join() {
        Ok(true) => Err(io::Error::new(io::ErrorKind::TimedOut, format!("{command:?} doesn't end"))),
        _ => output,
    }
}

/// Ends all processes of a group, which may hold the pipes of one that is gone.
fn end_group(group: u32) {
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{group}")]).status();
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_ends_gives_its_output_and_one_that_does_not_is_ended_with_its_children() {
        let shell = |text: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", text]);
            command
        };
        let output = output_within(&mut shell("echo out; exit 3"), LIMIT).expect("an output");
        assert_eq!((&output.stdout[..], output.status.code()), (&b"out\n"[..], Some(3)));
        let late = output_within(&mut shell("sleep 1000 & wait"), Duration::from_millis(50));
        assert_eq!(late.expect_err("too late").kind(), io::ErrorKind::TimedOut);
    }
}
