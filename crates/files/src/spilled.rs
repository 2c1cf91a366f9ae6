//! Rows of a column in a file that has no name, mapped into memory.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::{MmapMut, MmapOptions};

/// The most files at once, for a program may only open some hundreds. Further columns stay in memory.
const MOST_FILES: usize = 160;

/// How many files there are.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// The rows that are collected, or given room, at a time, in bytes.
pub(crate) const PIECE: usize = 1 << 20;

/// Rows in a file that has no name.
pub(crate) struct Spilled<T> {
    pub(crate) file: File,
    /// At least as long as the file.
    map: MmapMut,
    /// The number of rows, all of which were written to the file.
    len: usize,
    /// The end of what the file has on the disk, or is promised there, in bytes: the map may be written up to it.
    room: usize,
    rows: PhantomData<T>,
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

impl<T: Copy> Spilled<T> {
    /// A file with these rows.
    pub(crate) fn of(rows: &[T]) -> io::Result<Self> {
        // Windows writes no file from several threads at places of their own.
        if !cfg!(unix) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let place = FilePlace::take()?;
        let file = nameless_file()?;
        let map = map(&file, 2 * size_of_val(rows).max(PIECE))?;
        let mut spilled = Self { file, map, len: 0, room: 0, rows: PhantomData, _place: place };
        spilled.append(rows)?;
        Ok(spilled)
    }

    /// All rows.
    pub(crate) fn rows(&self) -> &[T] {
        // SAFETY: the map begins at a page, and `len` rows were written there, as values of this type, to a file
        // that nobody else can open. The map is longer than they are, and stays while it is borrowed.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.len) }
    }

    /// All rows, to be changed.
    pub(crate) fn rows_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `rows`; the map is borrowed for this alone.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.len) }
    }

    /// Appends rows; where that fails, the column is as it was.
    pub(crate) fn append(&mut self, more: &[T]) -> io::Result<()> {
        let (begin, bytes) = (self.len * size_of::<T>(), size_of_val(more));
        if begin + bytes > self.map.len() {
            self.map = map(&self.file, 2 * (begin + bytes))?;
        }
        // To write them takes a fifth of the time that it takes to fill the map's pages.
        write_at(&self.file, more, begin)?;
        self.room = self.room.max(begin + bytes);
        self.len += more.len();
        Ok(())
    }

    /// Keeps the first rows alone.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Appends a row through the map; where that fails, the column is as it was.
    #[inline]
    pub(crate) fn push(&mut self, row: T) -> io::Result<()> {
        if (self.len + 1) * size_of::<T>() > self.room {
            self.make_room()?;
        }
        // SAFETY: the map begins at a page and is longer than `room`, behind which no row begins or ends.
        unsafe { self.map.as_mut_ptr().cast::<T>().add(self.len).write(row) };
        self.len += 1;
        Ok(())
    }

    /// Has the disk promise room for further rows: without it, to write to the map would end the program.
    fn make_room(&mut self) -> io::Result<()> {
        let end = self.room + PIECE.max(size_of::<T>());
        if end > self.map.len() {
            self.map = map(&self.file, 2 * end)?;
        }
        allocate(&self.file, self.room, end - self.room)?;
        self.room = end;
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
