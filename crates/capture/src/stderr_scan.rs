//! Reading the program's standard error along without changing a byte of it, so that a known failure
//! can be explained once the program has ended.
//!
//! | standard error | what is done |
//! |---|---|
//! | a terminal | the program gets a terminal of its own, whose output is passed on as it is |
//! | a pipe or socket | the program gets a pipe, which is passed on |
//! | the same pipe or socket as standard output | nothing: the order of both would change |
//! | a file | nothing; what was added to it is read afterwards |
//! | anything else | nothing |
//!
//! A process of its own passes things on. It lives as long as anybody holds the other end, so that
//! neither our end nor that of the program hurts those who still write, and it goes on when we are
//! killed.

use std::ffi::c_int;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Stdio;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How much of the end is kept.
const KEPT: usize = 64 << 10;

/// How long to wait for the last words of a program that has ended.
const LAST_WORDS: Duration = Duration::from_millis(200);

const STDOUT: c_int = 1;
const STDERR: c_int = 2;

/// The way in which standard error is read along.
#[derive(Debug)]
pub(crate) enum StderrScan {
    /// Not at all.
    Nowhere,
    /// From the file that is our own standard error, from this place on.
    File(u64),
    /// By a process that passes it on and keeps the end of it.
    PassedOn { process: libc::pid_t, kept: &'static Kept },
}

/// The end of what was passed on, in memory that both processes see.
pub(crate) struct Kept {
    /// How many bytes there were in all.
    count: AtomicU64,
    bytes: [AtomicU8; KEPT],
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Kept").field("count", &self.count).finish_non_exhaustive()
    }
}

impl StderrScan {
    /// Begins to listen; the answer has what the program is to get as its standard error, if it
    /// isn't to be ours.
    pub(crate) fn listen() -> (Self, Option<Stdio>) {
        let Some(status) = status(STDERR) else { return (Self::Nowhere, None) };
        let is_same_as_output =
            status_of_stdout().is_some_and(|out| (out.st_dev, out.st_ino) == (status.st_dev, status.st_ino));
        let ends = match status.st_mode & libc::S_IFMT {
            libc::S_IFREG => return (Self::File(u64::try_from(status.st_size).unwrap_or(0)), None),
            // SAFETY: the call takes a descriptor.
            libc::S_IFCHR if unsafe { libc::isatty(STDERR) } == 1 => terminal(),
            libc::S_IFIFO | libc::S_IFSOCK if !is_same_as_output => pipe(),
            _ => None,
        };
        let passed_on = ends.and_then(|(ours, theirs)| Some((pass_on(&ours, &theirs)?, theirs)));
        match passed_on {
            Some((scan, theirs)) => (scan, Some(Stdio::from(theirs))),
            None => (Self::Nowhere, None),
        }
    }

    /// The end of what the program wrote, once it has ended.
    pub(crate) fn text(&mut self) -> String {
        match self {
            Self::Nowhere => String::new(),
            Self::File(begin) => written_since(*begin).unwrap_or_default(),
            Self::PassedOn { process, kept } => {
                let begin = Instant::now();
                // SAFETY: our own child, whose status nobody else wants.
                while unsafe { libc::waitpid(*process, std::ptr::null_mut(), libc::WNOHANG) } == 0
                    && begin.elapsed() < LAST_WORDS
                {
                    std::thread::sleep(Duration::from_millis(1));
                }
                kept.text()
            }
        }
    }
}

impl Kept {
    /// Memory that a forked process shares.
    fn new() -> Option<&'static Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: new memory of our own, checked below.
        let place = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<Self>(), access, kind, -1, 0) };
        // SAFETY: zeros are valid, the place is large enough and aligned, and it is never unmapped.
        (place != libc::MAP_FAILED).then(|| unsafe { &*place.cast::<Self>() })
    }

    fn add(&self, bytes: &[u8]) {
        let count = self.count.load(Ordering::Relaxed) as usize;
        for (place, byte) in bytes.iter().enumerate() {
            self.bytes[(count + place) % KEPT].store(*byte, Ordering::Relaxed);
        }
        self.count.store((count + bytes.len()) as u64, Ordering::Release);
    }

    fn text(&self) -> String {
        let count = self.count.load(Ordering::Acquire) as usize;
        let first = count.saturating_sub(KEPT);
        let bytes: Vec<u8> =
            (first..count).map(|place| self.bytes[place % KEPT].load(Ordering::Relaxed)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

fn status(descriptor: c_int) -> Option<libc::stat> {
    // SAFETY: an all-zero answer is valid, and is filled in by the call.
    let mut status: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the answer.
    (unsafe { libc::fstat(descriptor, &mut status) } == 0).then_some(status)
}

fn status_of_stdout() -> Option<libc::stat> {
    status(STDOUT)
}

/// The text that was added to the file which is our standard error; of a long one, its end.
fn written_since(begin: u64) -> Option<String> {
    let mut file = std::fs::File::open(format!("/proc/self/fd/{STDERR}")).ok()?;
    let end = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(begin.max(end.saturating_sub(KEPT as u64)))).ok()?;
    let mut bytes = Vec::new();
    file.take(KEPT as u64).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A pipe: our end and the program's. No other program that we start gets either.
fn pipe() -> Option<(OwnedFd, OwnedFd)> {
    let mut ends = [-1; 2];
    // SAFETY: a place for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return None;
    }
    // SAFETY: both were just made and belong to nobody else.
    Some(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// A terminal like ours: our end and the program's. It passes on what is written as it is; the
/// terminal behind does what terminals do to it.
fn terminal() -> Option<(OwnedFd, OwnedFd)> {
    // SAFETY: the calls take flags and descriptors, and all-zero structures are valid places.
    unsafe {
        let ours = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC);
        if ours < 0 {
            return None;
        }
        let ours = OwnedFd::from_raw_fd(ours);
        if libc::grantpt(ours.as_raw_fd()) != 0 || libc::unlockpt(ours.as_raw_fd()) != 0 {
            return None;
        }
        let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
        let theirs = libc::ioctl(ours.as_raw_fd(), libc::TIOCGPTPEER, flags);
        if theirs < 0 {
            return None;
        }
        let theirs = OwnedFd::from_raw_fd(theirs);
        let mut settings: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(STDERR, &mut settings) != 0 {
            return None;
        }
        settings.c_oflag &= !libc::OPOST;
        settings.c_lflag &= !libc::ECHO;
        libc::tcsetattr(theirs.as_raw_fd(), libc::TCSANOW, &settings);
        copy_size(ours.as_raw_fd());
        Some((ours, theirs))
    }
}

/// Gives the program's terminal the size of ours. Called in the process that passes on.
fn copy_size(ours: c_int) {
    // SAFETY: valid places, and calls that a forked process may make.
    unsafe {
        let (mut real, mut copy): (libc::winsize, libc::winsize) = (std::mem::zeroed(), std::mem::zeroed());
        let known = libc::ioctl(STDERR, libc::TIOCGWINSZ, &mut real) == 0
            && libc::ioctl(ours, libc::TIOCGWINSZ, &mut copy) == 0;
        if known && (real.ws_row, real.ws_col) != (copy.ws_row, copy.ws_col) {
            libc::ioctl(ours, libc::TIOCSWINSZ, &real);
        }
    }
}

/// Starts the process that passes on.
fn pass_on(ours: &OwnedFd, theirs: &OwnedFd) -> Option<StderrScan> {
    let kept = Kept::new()?;
    let (ours, theirs) = (ours.as_raw_fd(), theirs.as_raw_fd());
    // SAFETY: between here and its end the child makes system calls only, as it must where other
    // threads may have held locks.
    match unsafe { libc::fork() } {
        -1 => None,
        0 => {
            // SAFETY: as above.
            unsafe {
                // Keys on the terminal and whoever ends a group of processes are not meant for it.
                libc::setsid();
                for signal in 1..32 {
                    libc::signal(signal, if signal == libc::SIGCHLD { libc::SIG_DFL } else { libc::SIG_IGN });
                }
                // Who reads our output to its end doesn't wait for this process.
                libc::close(0);
                libc::close(STDOUT);
                libc::close(theirs);
                close_others(ours);
            }
            copy_through(ours, kept)
        }
        process => Some(StderrScan::PassedOn { process, kept }),
    }
}

/// Closes all descriptors but one and standard error.
///
/// # Safety
/// Nobody in this process uses any of them any more.
unsafe fn close_others(keep: c_int) {
    let (first, keep) = (STDERR as u32 + 1, keep as u32);
    // SAFETY: by the caller's word. Where the system doesn't know the call they stay open.
    unsafe {
        if keep > first {
            libc::syscall(libc::SYS_close_range, first, keep - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, keep + 1, u32::MAX, 0);
    }
}

/// Passes on until nobody can write any more.
fn copy_through(ours: c_int, kept: &Kept) -> ! {
    let mut buffer = [0u8; 4_096];
    loop {
        // SAFETY: a place of our own; the calls are those that a forked process may make.
        let count = unsafe { libc::read(ours, buffer.as_mut_ptr().cast(), buffer.len()) };
        let interrupted = count < 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR);
        if interrupted {
            continue;
        }
        // A terminal whose last user is gone answers with an error.
        if count <= 0 {
            // SAFETY: ends this process without any cleaning up, which is the parent's.
            unsafe { libc::_exit(0) };
        }
        copy_size(ours);
        let bytes = &buffer[..count as usize];
        kept.add(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: the rest of the buffer.
            let written = unsafe { libc::write(STDERR, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) => rest = &rest[written.min(rest.len())..],
                Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
                Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN) => {
                    let mut poll = libc::pollfd { fd: STDERR, events: libc::POLLOUT, revents: 0 };
                    // SAFETY: one valid entry.
                    unsafe { libc::poll(&mut poll, 1, -1) };
                }
                // Nobody reads it any more. The program isn't told by a signal, as it would be
                // without us; it goes on.
                Err(_) => break,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_text_is_kept() {
        let kept = Kept::new().expect("memory");
        assert_eq!(kept.text(), "");
        kept.add(b"first ");
        kept.add(&vec![b'x'; KEPT - 4]);
        kept.add(b" last");
        let text = kept.text();
        assert_eq!(text.len(), KEPT);
        assert!(text.starts_with("x") && text.ends_with("x last"));
    }
}
