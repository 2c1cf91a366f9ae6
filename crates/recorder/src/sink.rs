//! Where drained records go: slices below `host/data`, shared by all processes of a collection.
//!
//! No descriptor is kept open between two writes. The program may close every descriptor that it
//! doesn't know, and get the same number again for a file of its own, into which we'd write.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use opscope_cann_raw::SLICE_BYTES;

/// The stream of marks. Of streams that age, old slices may be dropped when space runs short.
pub const MARKS: &str = "aging.additional.msproftx";
/// The stream of the times of AscendCL's calls.
pub const CALLS: &str = "aging.api_event.data";

/// Files are private to the user and the group.
pub const MODE: u32 = 0o640;

/// The slice that this process is writing, if it has begun one.
#[derive(Debug)]
pub struct Sink {
    directory: PathBuf,
    stream: &'static str,
    current: Option<Slice>,
    /// From where to look for a number that no process has taken.
    next: u32,
}

#[derive(Debug)]
struct Slice {
    path: PathBuf,
    written: u64,
}

impl Sink {
    /// A sink for a stream, of which nothing is written yet.
    pub fn new(directory: PathBuf, stream: &'static str) -> Self {
        Self { directory, stream, current: None, next: 0 }
    }

    /// Appends whole records.
    ///
    /// # Errors
    /// When the file can't be written; records of which only a part was appended are cut off again.
    pub fn write(&mut self, mut records: &[u8], record: usize) -> io::Result<()> {
        while !records.is_empty() {
            let written = self.current.as_ref().map_or(0, |slice| slice.written);
            let space = (SLICE_BYTES.saturating_sub(written) as usize) / record * record;
            if space == 0 {
                self.finish();
                continue;
            }
            let (now, later) = records.split_at(space.min(records.len()));
            self.append(now)?;
            records = later;
        }
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.current.is_none() {
            let path = create_slice(&self.directory, self.stream, &mut self.next)?;
            self.current = Some(Slice { path, written: 0 });
        }
        let Some(slice) = &mut self.current else { return Ok(()) };
        let mut file = OpenOptions::new().append(true).open(&slice.path)?;
        if let Err(error) = write_all(&mut file, bytes) {
            // A record that was cut in the middle would shift all that follow.
            let _ = file.set_len(slice.written);
            return Err(error);
        }
        slice.written += bytes.len() as u64;
        Ok(())
    }

    /// Completes the slice, as the marker beside it tells.
    pub fn finish(&mut self) {
        let Some(slice) = self.current.take() else { return };
        let mut marker = slice.path.into_os_string();
        marker.push(".done");
        // A slice without a marker is read all the same.
        let text = format!("filesize:{}", slice.written);
        let made = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(marker);
        let _ = made.and_then(|mut file| write_all(&mut file, text.as_bytes()));
    }
}

/// Makes an empty slice of a stream under the next number that no process has taken.
///
/// # Errors
/// When the file can't be written.
pub fn create_slice(directory: &Path, stream: &str, next: &mut u32) -> io::Result<PathBuf> {
    loop {
        let path = directory.join(format!("{stream}.slice_{next}"));
        *next += 1;
        match OpenOptions::new().write(true).create_new(true).mode(MODE).open(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes all of it. Where files may not become so large (`ulimit -f`) it fails as for any other reason;
/// the system would end the program by a signal.
///
/// # Errors
/// When the file can't be written.
#[cfg(target_os = "linux")]
pub fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: the sets are valid places, and the mask is that from before at the end. The signal is for
    // the calling thread alone, so one that was not pending before and is pending now is ours.
    unsafe {
        let mut limit: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut pending: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut limit);
        libc::sigaddset(&mut limit, libc::SIGXFSZ);
        let blocked = libc::pthread_sigmask(libc::SIG_BLOCK, &limit, &mut before) == 0;
        let is_known = libc::sigpending(&mut pending) == 0;
        let is_ours = is_known && libc::sigismember(&pending, libc::SIGXFSZ) == 0;
        let written = file.write_all(bytes);
        let is_too_large = |error: &io::Error| error.raw_os_error() == Some(libc::EFBIG);
        if blocked && is_ours && written.as_ref().is_err_and(is_too_large) {
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&limit, std::ptr::null_mut(), &at_once);
        }
        if blocked {
            libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        }
        written
    }
}

/// Writes all of it.
///
/// # Errors
/// When the file can't be written.
#[cfg(not(target_os = "linux"))]
pub fn write_all(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processes_never_share_a_slice_and_none_exceeds_its_size() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut sinks = [0, 1].map(|_| Sink::new(directory.path().to_owned(), MARKS));
        for _ in 0..3 {
            for (number, sink) in sinks.iter_mut().enumerate() {
                sink.write(&vec![number as u8 + 1; 1 << 20], 256).expect("space on disk");
            }
        }
        sinks.iter_mut().for_each(Sink::finish);
        let mut sizes = Vec::new();
        for number in 0..4 {
            let path = directory.path().join(format!("{MARKS}.slice_{number}"));
            let bytes = std::fs::read(&path).expect("a slice");
            assert!(bytes.iter().all(|byte| *byte == bytes[0]), "slice {number} is of one process");
            sizes.push(bytes.len());
            let marker = std::fs::read_to_string(path.with_extension(format!("slice_{number}.done")));
            assert_eq!(marker.ok(), Some(format!("filesize:{}", bytes.len())));
        }
        sizes.sort_unstable();
        assert_eq!(sizes, [1 << 20, 1 << 20, 2 << 20, 2 << 20]);
    }
}
