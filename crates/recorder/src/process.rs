//! Threads of our own in other people's processes, and what is called when such a process forks or
//! ends.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// The system's number of the calling thread.
pub fn thread_id() -> u32 {
    // Asked of the kernel itself: C libraries before glibc 2.30 have no function for it.
    #[cfg(target_os = "linux")]
    // SAFETY: the call has no arguments and never fails.
    return unsafe { libc::syscall(libc::SYS_gettid) } as u32;
    #[cfg(not(target_os = "linux"))]
    return std::process::id();
}

/// Has `forked` called in every child that this process forks, and `ended` at the end of the process,
/// once `is_watched`. Both functions must stay loaded, and may be called more than once.
///
/// Before anything is published that a forked child must not find, this has to have returned: a child
/// that finds its parent's recorder waits for locks that threads of its parent hold.
pub fn watch(is_watched: &AtomicBool, forked: extern "C" fn(), ended: extern "C" fn()) {
    if is_watched.load(Ordering::Acquire) {
        return;
    }
    // SAFETY: by the caller's word both functions stay loaded.
    unsafe {
        libc::pthread_atfork(None, None, Some(forked));
        libc::atexit(ended);
    }
    // Only now: a second thread that comes meanwhile enters them again, which does no harm.
    is_watched.store(true, Ordering::Release);
}

/// Does something while the calling thread gets no signal: a handler that records would wait for the
/// locks that its own thread holds.
pub fn without_signals<T>(work: impl FnOnce() -> T) -> T {
    let mut before = None;
    // SAFETY: the sets are valid places.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut old: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        if libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut old) == 0 {
            before = Some(old);
        }
    }
    let result = work();
    if let Some(old) = before {
        // SAFETY: the mask as it was.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &old, ptr::null_mut()) };
    }
    result
}

/// Starts a thread that gets none of the program's signals, which are for the program's own threads.
///
/// # Errors
/// When the system refuses.
pub fn spawn<T: Send + 'static>(
    name: &str,
    stack_bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<JoinHandle<T>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(stack_bytes);
    without_signals(|| thread.spawn(work))
}

/// So many random letters, the first `alphabet` of the capital ones: for names that nobody else has.
pub fn random_letters(count: usize, alphabet: u8) -> String {
    use std::hash::{BuildHasher, RandomState};
    // The standard library seeds it from the system's random numbers.
    let random = RandomState::new();
    let letter = |place| char::from(b'A' + (random.hash_one(place) % u64::from(alphabet)) as u8);
    (0..count).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_letters_are_of_the_alphabet_and_differ() {
        let (one, other) = (random_letters(400, 18), random_letters(400, 18));
        assert_ne!(one, other);
        let mut letters: Vec<u8> = one.bytes().collect();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters, (b'A'..=b'R').collect::<Vec<u8>>());
    }
}
