//! Rows of a column in a file that has no name, mapped into memory.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::{MmapMut, MmapOptions};

/// The most files at once, for a program may only open some hundreds. Further columns stay in memory.
const MOST_FILES: usize = 160;

/// How many files there are.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// The rows that are collected, or given room, at a time, in bytes.
pub(crate) const PIECE: usize = 1 << 20;

/// Rows in a file that has no name; how many there are, and of which type, the column knows.
pub(crate) struct Spilled {
    pub(crate) file: File,
    /// At least as long as the file.
    map: MmapMut,
    /// The end of what the file has on the disk, or is promised there, in bytes: the map may be written up to it.
    room: usize,
    _place: FilePlace,
}

/// One of the files that there may be at once.
struct FilePlace;

impl FilePlace {
    fn take() -> io::Result<Self> {
        let place = Self;
        if FILES.fetch_add(1, Ordering::Relaxed) < MOST_FILES {
            Ok(place)
        } else {
            Err(io::ErrorKind::QuotaExceeded.into())
        }
    }
}

impl Drop for FilePlace {
    fn drop(&mut self) {
        FILES.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Spilled {
    /// A file without rows.
    pub(crate) fn new() -> io::Result<Self> {
        // Windows writes no file from several threads at places of their own.
        if !cfg!(unix) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        #[cfg(test)]
        tests::note_file();
        let place = FilePlace::take()?;
        let file = nameless_file()?;
        let map = map(&file, PIECE)?;
        Ok(Self { file, map, room: 0, _place: place })
    }

    /// The first byte, which is at the begin of a page; it moves whenever the file grows.
    pub(crate) fn begin(&self) -> NonNull<u8> {
        NonNull::new(self.map.as_ptr().cast_mut()).unwrap_or(NonNull::dangling())
    }

    /// So many bytes may be written through the map.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Writes rows to a place in bytes; where that fails, what lies before it is as it was.
    pub(crate) fn write<T: Copy>(&mut self, rows: &[T], place: usize) -> io::Result<()> {
        let end = place + size_of_val(rows);
        self.map_up_to(end)?;
        // To write them takes a fifth of the time that it takes to fill the map's pages.
        write_at(&self.file, rows, place)?;
        self.room = self.room.max(end);
        Ok(())
    }

    /// Has the disk promise room up to a place in bytes, and some more: without it, to write to the map would end the
    /// program.
    pub(crate) fn promise(&mut self, end: usize) -> io::Result<()> {
        let end = end.next_multiple_of(PIECE);
        self.map_up_to(end)?;
        if end > self.room {
            allocate(&self.file, self.room, end - self.room)?;
            self.room = end;
        }
        Ok(())
    }

    fn map_up_to(&mut self, end: usize) -> io::Result<()> {
        #[cfg(test)]
        tests::check_disk(end)?;
        if end > self.map.len() {
            self.map = map(&self.file, 2 * end)?;
        }
        Ok(())
    }
}

/// A new file without a name, which nobody else may read.
#[cfg(unix)]
fn nameless_file() -> io::Result<File> {
    use std::os::unix::fs::PermissionsExt;
    let file = tempfile::tempfile_in(folder())?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

#[cfg(not(unix))]
fn nameless_file() -> io::Result<File> {
    tempfile::tempfile_in(folder())
}

/// Maps a file, and what it is to grow by.
fn map(file: &File, bytes: usize) -> io::Result<MmapMut> {
    // SAFETY: the file has no name, so nobody else changes it; what lies behind its end isn't touched.
    unsafe { MmapOptions::new().len(bytes).map_mut(file) }
}

/// Writes the bytes of rows to a place in a file.
#[cfg(unix)]
fn write_at<T: Copy>(file: &File, rows: &[T], place: usize) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let mut done = 0;
    while done < size_of_val(rows) {
        let offset = libc::off_t::try_from(place + done).map_err(io::Error::other)?;
        // SAFETY: the descriptor is open; the pointer leads to as many bytes, which the system only copies, so
        // that it doesn't matter whether some lie between fields.
        let written = unsafe {
            let bytes = rows.as_ptr().cast::<libc::c_void>().add(done);
            libc::pwrite(file.as_raw_fd(), bytes, size_of_val(rows) - done, offset)
        };
        match usize::try_from(written) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => done += written,
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(())
}

/// Reserves a stretch of a file on the disk, in bytes.
#[cfg(target_os = "linux")]
fn allocate(file: &File, place: usize, bytes: usize) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let offset = |bytes: usize| libc::off_t::try_from(bytes).map_err(io::Error::other);
    // SAFETY: the descriptor is open, and the call touches no memory of ours.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), offset(place)?, offset(bytes)?) } {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}

#[cfg(not(target_os = "linux"))]
fn allocate(file: &File, place: usize, bytes: usize) -> io::Result<()> {
    write_at(file, &vec![0_u8; bytes], place)
}

#[cfg(not(unix))]
fn write_at<T: Copy>(_file: &File, _rows: &[T], _place: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The folder of the files: that of `TMPDIR`, or the one for temporary files that may be large.
fn folder() -> PathBuf {
    let large = PathBuf::from("/var/tmp");
    if std::env::var_os("TMPDIR").is_none() && large.is_dir() { large } else { std::env::temp_dir() }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The bytes that a file may have.
    static DISK: AtomicUsize = AtomicUsize::new(usize::MAX);
    static MADE: AtomicUsize = AtomicUsize::new(0);

    pub(super) fn note_file() {
        MADE.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn check_disk(end: usize) -> std::io::Result<()> {
        if end > DISK.load(Ordering::Relaxed) { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    /// The number of files so far.
    pub(crate) fn files_made() -> usize {
        MADE.load(Ordering::Relaxed)
    }

    /// Does something while no file may have more bytes than these.
    pub(crate) fn with_disk_of(bytes: usize, act: impl FnOnce()) {
        DISK.store(bytes, Ordering::Relaxed);
        act();
        DISK.store(usize::MAX, Ordering::Relaxed);
    }
}
