//! Calls of the operating system and of threads, which other tools traced as text.
//!
//! | file | tool | line |
//! |---|---|---|
//! | `host_syscall.data` | `perf trace` | `  12.345 ( 0.017 ms): python/4242 futex(uaddr: 0x7f…, op: WAIT) = 0` |
//! | `host_pthreadcall.data` | `ltrace` | `[pid 4242] 12.345678 libx.so->pthread_mutex_lock(…) = 0 <0.000017>` |
//!
//! A traced process alone has no `python/4242`. Both tools have clocks of their own, so the first call of a file
//! stands for the begin of the collection, as in the reference. It shows a choice of system calls, and so does
//! this; others are no loss.

use std::collections::HashMap;

use crate::catalogue::Catalogue;
use crate::clock::CENTURY;
use crate::metadata::Metadata;
use crate::slices::Stream;
use crate::tables::{OsCall, OsCalls};
use opscope_trace::{LossKind, Losses};

/// Parts of the names of system calls that are shown; others only ask for something or end at once.
#[rustfmt::skip]
const SHOWN: [&str; 78] = [
    "accept", "acct", "alarm", "bind", "bpf", "brk", "chroot", "connect", "copy_file_range", "creat", "dup",
    "fallocate", "fcntl", "flock", "fork", "futex", "ioctl", "ioperm", "iopl", "kill", "listen", "membarrier",
    "mlock", "mmap", "mount", "move_pages", "mprotect", "mq_notify", "mq_receive", "mq_timedreceive", "mremap",
    "msgctl", "msgget", "msgrcv", "msgsnd", "munmap", "nanosleep", "nfsservctl", "open", "pause", "pipe",
    "pivot_root", "poll", "prctl", "ptrace", "read", "reboot", "recv", "rt_sigqueueinfo", "sched_yield", "seccomp",
    "select", "semctl", "semget", "semop", "semtimedop", "send", "shmat", "shmctl", "shmdt", "shmget", "shutdown",
    "sigaction", "sigsuspend", "socket", "splice", "swapoff", "swapon", "sync", "tee", "tgsigqueueinfo",
    "truncate", "unshare", "uselib", "vhangup", "wait", "write", "_sysctl",
];

/// The call that is left out of those of threads.
const UNSHOWN_OF_THREADS: &str = "pthread_once";

/// Decodes both files.
pub(super) fn os_calls(catalogue: &Catalogue, metadata: &Metadata, losses: &mut Losses) -> OsCalls {
    let mut found = Found::default();
    let begin = metadata.session.begin_monotonic.unwrap_or(0);
    let process = metadata.info.pid;
    found.read(catalogue.streams("host_syscall.data"), begin, losses, |line| {
        match system_call(line, process) {
            Some(call) if SHOWN.iter().any(|part| call.name.contains(part)) => Line::Call(call),
            Some(_) => Line::Other,
            None => Line::NotUnderstood,
        }
    });
    found.read(catalogue.streams("host_pthreadcall.data"), begin, losses, thread_call);
    found.calls
}

/// A call as a line has it, in nanoseconds of the tool's clock.
#[derive(Debug, PartialEq)]
struct Call<'a> {
    thread: u32,
    name: &'a str,
    start: u64,
    duration: u64,
}

/// The content of a line.
#[derive(Debug, PartialEq)]
enum Line<'a> {
    Call(Call<'a>),
    /// A call that isn't shown, or a remark of the tool.
    Other,
    NotUnderstood,
}

/// The calls, and the places of their names.
#[derive(Default)]
struct Found {
    calls: OsCalls,
    names: HashMap<String, u32>,
}

impl Found {
    fn read(
        &mut self,
        streams: &[Stream],
        begin: i64,
        losses: &mut Losses,
        parse: impl for<'a> Fn(&'a str) -> Line<'a>,
    ) {
        let mut first = None;
        for stream in streams {
            let mapped = stream.map(losses);
            let bytes = mapped.concatenated();
            let text = String::from_utf8_lossy(&bytes);
            let (mut refused, mut impossible) = (0, 0);
            for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
                match parse(line) {
                    Line::Call(call) => {
                        let first = *first.get_or_insert(call.start);
                        impossible += u64::from(self.add(&call, first, begin).is_none());
                    }
                    Line::Other => {}
                    Line::NotUnderstood => refused += 1,
                }
            }
            losses.count(LossKind::InvalidLine, &stream.name, refused);
            losses.count(LossKind::ImpossibleTime, &stream.name, impossible);
        }
    }

    /// Adds a call; `None` if it ends more than a century after the first one.
    fn add(&mut self, call: &Call<'_>, first: u64, begin: i64) -> Option<()> {
        let after = i64::try_from(call.start).ok()?.checked_sub(i64::try_from(first).ok()?)?;
        let start = begin.checked_add(after)?;
        after.checked_add_unsigned(call.duration).filter(|end| *end <= CENTURY)?;
        let name = match self.names.get(call.name) {
            Some(&name) => name,
            None => {
                let name = self.calls.names.len() as u32;
                self.calls.names.push(call.name.to_owned());
                self.names.insert(call.name.to_owned(), name);
                name
            }
        };
        self.calls.table.push(OsCall { thread: call.thread, name, start, duration: call.duration });
        Some(())
    }
}

/// A line of `perf trace`; times are milliseconds.
fn system_call(line: &str, process: u32) -> Option<Call<'_>> {
    let (start, rest) = line.split_once(" (")?;
    let (duration, rest) = rest.split_once("):")?;
    let start = decimal(start.trim(), 6)?;
    let duration = decimal(duration.trim().strip_suffix("ms")?.trim(), 6)?;
    let before = rest.split('(').next()?.trim();
    // `python/4242 futex`, where the program's name may have blanks.
    let (thread, name) = match before.rsplit_once('/') {
        Some((_, rest)) => {
            let (thread, name) = rest.split_once(char::is_whitespace)?;
            (thread.parse().ok()?, name.trim())
        }
        None => (process, before),
    };
    (!name.is_empty()).then_some(Call { thread, name, start, duration })
}

/// A line of `ltrace`; times are seconds. A call that another interrupts has two lines, of which the second one,
/// `<... NAME resumed>`, tells how long it took.
fn thread_call(line: &str) -> Line<'_> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, thread, start, what, rest @ ..] = &*words else { return Line::NotUnderstood };
    let Some(duration) = words.last().and_then(|last| last.strip_prefix('<')?.strip_suffix('>')) else {
        return Line::Other;
    };
    let name = match (what.split_once("->"), rest.first()) {
        (Some((_, call)), _) => call.split('(').next().unwrap_or_default(),
        (None, Some(name)) => *name,
        (None, None) => return Line::NotUnderstood,
    };
    let call = || {
        let thread = thread.trim_end_matches(']').parse().ok()?;
        Some(Call { thread, name, start: decimal(start, 9)?, duration: decimal(duration, 9)? })
    };
    match call() {
        _ if name == UNSHOWN_OF_THREADS => Line::Other,
        Some(call) if !name.is_empty() => Line::Call(call),
        _ => Line::NotUnderstood,
    }
}

/// A decimal number in units of ten to the minus `digits`; further digits are cut off.
fn decimal(text: &str, digits: usize) -> Option<u64> {
    let (whole, fraction) = text.split_once('.')?;
    let is_number = !fraction.is_empty() && fraction.bytes().all(|digit| digit.is_ascii_digit());
    let fraction = fraction.get(..fraction.len().min(digits)).filter(|_| is_number)?;
    let fraction: u64 = format!("{fraction:0<digits$}").parse().ok()?;
    let unit = 10u64.checked_pow(u32::try_from(digits).ok()?)?;
    // Within the range of times, so that differences can't overflow.
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(fraction).filter(|time| *time < 1 << 62)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_perf_names_thread_call_and_times() {
        let call = |thread, name| Some(Call { thread, name, start: 12_345_000, duration: 17_000 });
        for line in [
            "12.345 ( 0.017 ms): my python/4243 futex(uaddr: 0x7f, op: WAIT) = 0",
            "12.345 (0.017 ms): python/4243 futex() = 0",
        ] {
            assert_eq!(system_call(line, 1), call(4_243, "futex"), "{line}");
        }
        assert_eq!(system_call("12.345 ( 0.017 ms): read(fd: 3</a/b>) = 0", 1), call(1, "read"));
        for bad in
            ["", "12.345 ( 0.017 ms)", "12.345 ( ): a/1 b(", "x ( 0.017 ms): a/1 b(", "1.0 ( 1.0 ms): a/b c("]
        {
            assert_eq!(system_call(bad, 1), None, "{bad}");
        }
    }

    #[test]
    fn a_line_of_ltrace_names_thread_call_and_times() {
        let call = |name| Line::Call(Call { thread: 9, name, start: 1_500_000_000, duration: 17_000 });
        assert_eq!(
            thread_call("[pid 9] 1.5 libx.so->pthread_mutex_lock(0x1, 2) = 0 <0.000017>"),
            call("pthread_mutex_lock")
        );
        assert_eq!(
            thread_call("[pid 9] 1.5 <... pthread_join resumed> ) = 0 <0.000017>"),
            call("pthread_join")
        );
        assert_eq!(thread_call("[pid 9] 1.5 libx.so->pthread_join(0x1 <unfinished ...>"), Line::Other);
        assert_eq!(thread_call("[pid 9] 1.5 libx.so->pthread_once(0x1) = 0 <0.000017>"), Line::Other);
        assert_eq!(thread_call("[pid x] 1.5 libx.so->pthread_join(0x1) = 0 <0.000017>"), Line::NotUnderstood);
        assert_eq!(thread_call("--- SIGCHLD"), Line::NotUnderstood);
    }

    #[test]
    fn numbers_that_no_clock_shows_are_refused() {
        assert_eq!(decimal("1.2345678", 6), Some(1_234_567));
        for bad in ["99999999999999999999.0", "9223372036854.0", "1.", "1", "-1.0", "1.x", "1.é"] {
            assert_eq!(decimal(bad, 6), None, "{bad}");
        }
    }
}
