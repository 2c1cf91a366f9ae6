//! A vendor's runtime telling of its operators: it writes descriptions of one size each into a pipe,
//! and its own functions tell their content.

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// A function that tells a text's length in bytes.
pub type TextLength = unsafe extern "C" fn(*const c_void, usize, u32, *mut usize) -> c_int;
/// A function that tells a text into a place of so many bytes.
pub type Text = unsafe extern "C" fn(*const c_void, usize, u32, *mut c_char, usize) -> c_int;

/// The end of a pipe that descriptions are read from.
#[derive(Debug)]
pub struct Pipe<'a> {
    /// The end for reading.
    pub descriptor: c_int,
    /// The bytes of a description.
    pub size: usize,
    /// How many are read at once.
    pub batch: usize,
    /// Whether nothing more is to come. The pipe's end may be missing then: a child of the program may
    /// hold the other end open.
    pub is_over: &'a AtomicBool,
    /// How long to wait at a time before that, in milliseconds.
    pub wait: c_int,
    /// How long to wait for more once it is over, in milliseconds.
    pub last_wait: c_int,
}

impl Pipe<'_> {
    /// Hands whole descriptions over until the pipe ends, or is over and empty. Returns the bytes of an
    /// unfinished one at the end.
    pub fn read_all(&self, mut take: impl FnMut(&[u8])) -> usize {
        let mut buffer = vec![0; self.size * self.batch];
        let mut filled = 0;
        let is_interrupted = || io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
        loop {
            let was_over = self.is_over.load(Ordering::Acquire);
            let mut poll = libc::pollfd { fd: self.descriptor, events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid entry.
            let ready =
                unsafe { libc::poll(&mut poll, 1, if was_over { self.last_wait } else { self.wait }) };
            if ready == 0 && was_over || ready < 0 && !is_interrupted() {
                return filled;
            }
            if ready <= 0 {
                continue;
            }
            let rest = &mut buffer[filled..];
            // SAFETY: the rest of the buffer is a place for so many bytes.
            let count = unsafe { libc::read(self.descriptor, rest.as_mut_ptr().cast(), rest.len()) };
            match usize::try_from(count) {
                Ok(0) => return filled,
                Ok(count) => filled += count,
                Err(_) if is_interrupted() => continue,
                Err(_) => return filled,
            }
            let whole = filled - filled % self.size;
            if whole > 0 {
                take(&buffer[..whole]);
                buffer.copy_within(whole..filled, 0);
                filled -= whole;
            }
        }
    }
}

/// Asks for a text of the `index`th description in `length` bytes of `data`, up to its zero. `room`
/// says for a text's length how many bytes are asked for; 0 for none. `None` without a text.
///
/// # Safety
/// The functions are the vendor's, for descriptions such as `data` holds.
pub unsafe fn text(
    (length_of, text_of): (TextLength, Text),
    (data, length, index): (*const c_void, usize, u32),
    room: impl FnOnce(usize) -> usize,
) -> Option<Vec<u8>> {
    let mut size = 0;
    // SAFETY: by the caller's word, with a place for the answer.
    let status = unsafe { length_of(data, length, index, &mut size) };
    let room = if status == 0 && size > 0 { room(size) } else { 0 };
    if room == 0 {
        return None;
    }
    // Whether the length counts the closing zero isn't said.
    let mut text = vec![0u8; room + 1];
    // SAFETY: by the caller's word; the place has one byte more than is asked for.
    if unsafe { text_of(data, length, index, text.as_mut_ptr().cast(), room) } != 0 {
        return None;
    }
    text.truncate(text.iter().position(|byte| *byte == 0).unwrap_or(room));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends() -> [c_int; 2] {
        let mut ends = [-1; 2];
        // SAFETY: a place for two descriptors.
        assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        ends
    }

    fn read(descriptor: c_int, is_over: &AtomicBool) -> (Vec<u8>, usize) {
        let mut all = Vec::new();
        let pipe = Pipe { descriptor, size: 3, batch: 2, is_over, wait: 1, last_wait: 0 };
        let rest = pipe.read_all(|bytes| {
            assert!(bytes.len().is_multiple_of(3) && bytes.len() <= 6);
            all.extend_from_slice(bytes);
        });
        (all, rest)
    }

    #[test]
    fn whole_descriptions_are_handed_over_however_the_bytes_come() {
        let [reading, writing] = ends();
        let writer = std::thread::spawn(move || {
            for chunk in (0..20).collect::<Vec<u8>>().chunks(4) {
                // SAFETY: the chunk's own bytes, into a pipe of ours.
                let written = unsafe { libc::write(writing, chunk.as_ptr().cast(), chunk.len()) };
                assert_eq!(written, chunk.len() as isize);
            }
            // SAFETY: the descriptor is ours.
            unsafe { libc::close(writing) };
        });
        assert_eq!(read(reading, &AtomicBool::new(false)), ((0..18).collect(), 2));
        writer.join().expect("the writer ends");
        // SAFETY: the descriptor is ours.
        unsafe { libc::close(reading) };
    }

    #[test]
    fn a_pipe_that_somebody_holds_open_is_left_once_it_is_over_and_empty() {
        let [reading, writing] = ends();
        // SAFETY: three bytes into a pipe of ours.
        assert_eq!(unsafe { libc::write(writing, b"abc".as_ptr().cast(), 3) }, 3);
        assert_eq!(read(reading, &AtomicBool::new(true)), (b"abc".to_vec(), 0));
        // SAFETY: both descriptors are ours.
        unsafe { (libc::close(reading), libc::close(writing)) };
    }
}
