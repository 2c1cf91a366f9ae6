//! Columns of plain values: lists that move to a file once they are large.
//!
//! The tables of a large profile take many times the memory that a machine has to spare. A column that outgrows
//! [`spill_from`] lies in a file without a name, mapped into memory: the system keeps of it what there is room
//! for, and writes the rest to the disk. Nobody else can open that file, and the system frees it when the
//! program ends, however that happens. Where there is no room on the disk, a column stays in memory.

use std::fmt;
use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use memmap2::{MmapMut, MmapOptions};

/// The size in bytes from which a column goes to a file.
static LIMIT: AtomicUsize = AtomicUsize::new(16 << 20);

/// The most files at once, for a program may only open some hundreds. Further columns stay in memory.
const MOST_FILES: usize = 160;

/// How many files there are.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// The rows that are collected, or given room, at a time, in bytes.
const PIECE: usize = 1 << 20;

/// Sets the size in bytes from which columns go to a file; 16 MiB without. Those that are there stay where they
/// are.
pub fn spill_from(bytes: usize) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// A list of plain values, in memory or, where it is large, in a file of its own. It is read and changed as a
/// slice either way.
///
/// ```
/// let mut column: opscope_files::Column<u64> = (0..1_000).collect();
/// column.push(7);
/// assert_eq!((column.len(), column[999], column.last()), (1_001, 999, Some(&7)));
/// ```
pub struct Column<T: Copy>(Place<T>);

enum Place<T: Copy> {
    Memory(Vec<T>),
    File(Spilled<T>),
}

impl<T: Copy> Column<T> {
    /// No rows.
    pub const fn new() -> Self {
        Self(Place::Memory(Vec::new()))
    }

    /// Appends a row. A column that grows by single rows stays in memory until it is appended to, or handed to
    /// [`Column::from`].
    #[inline]
    pub fn push(&mut self, row: T) {
        match &mut self.0 {
            Place::Memory(rows) => rows.push(row),
            Place::File(_) => self.append_slice(&[row]),
        }
    }

    /// Makes room for so many further rows, unless they go to a file.
    pub fn reserve(&mut self, additional: usize) {
        if let Place::Memory(rows) = &mut self.0
            && !is_large::<T>(rows.len() + additional)
        {
            rows.reserve(additional);
        }
    }

    /// Moves all rows of another column behind those of this one.
    pub fn append(&mut self, other: &mut Self) {
        match (&mut self.0, &mut other.0) {
            (Place::Memory(rows), Place::Memory(more)) if !is_large::<T>(rows.len() + more.len()) => {
                rows.append(more);
            }
            (_, Place::Memory(more)) => {
                self.append_slice(more);
                more.clear();
            }
            (_, Place::File(more)) => {
                self.append_slice(more.rows());
                *other = Self::new();
            }
        }
    }

    /// Appends rows.
    fn append_slice(&mut self, more: &[T]) {
        if let Place::Memory(rows) = &mut self.0 {
            if is_large::<T>(rows.len() + more.len())
                && let Ok(file) = Spilled::of(rows)
            {
                self.0 = Place::File(file);
            } else {
                return rows.extend_from_slice(more);
            }
        }
        if let Place::File(file) = &mut self.0
            && file.append(more).is_err()
        {
            // The disk is full: memory may not be.
            let mut rows = file.rows().to_vec();
            rows.extend_from_slice(more);
            self.0 = Place::Memory(rows);
        }
    }

    /// Whether the rows lie in a file.
    pub fn is_spilled(&self) -> bool {
        matches!(self.0, Place::File(_))
    }
}

/// Whether so many rows are to lie in a file.
fn is_large<T>(rows: usize) -> bool {
    rows.saturating_mul(size_of::<T>()) > LIMIT.load(Ordering::Relaxed)
}

impl<T: Copy> Default for Column<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Copy> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Place::Memory(rows) => rows,
            Place::File(file) => file.rows(),
        }
    }
}

impl<T: Copy> DerefMut for Column<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Place::Memory(rows) => rows,
            Place::File(file) => file.rows_mut(),
        }
    }
}

impl<T: Copy> From<Vec<T>> for Column<T> {
    fn from(rows: Vec<T>) -> Self {
        let spilled = is_large::<T>(rows.len()).then(|| Spilled::of(&rows).ok()).flatten();
        Self(spilled.map_or(Place::Memory(rows), Place::File))
    }
}

impl<T: Copy> FromIterator<T> for Column<T> {
    fn from_iter<I: IntoIterator<Item = T>>(rows: I) -> Self {
        let mut column = Self::new();
        column.extend(rows);
        column
    }
}

impl<T: Copy> Extend<T> for Column<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, rows: I) {
        let mut rows = rows.into_iter();
        if let (Place::Memory(known), (_, Some(most))) = (&mut self.0, rows.size_hint())
            && !is_large::<T>(known.len() + most)
        {
            return known.extend(rows);
        }
        let rows_per_piece = (PIECE / size_of::<T>().max(1)).max(1);
        let mut piece = Vec::new();
        loop {
            piece.extend(rows.by_ref().take(rows_per_piece));
            if piece.is_empty() {
                return;
            }
            self.append_slice(&piece);
            piece.clear();
        }
    }
}

impl<T: Copy> Clone for Column<T> {
    fn clone(&self) -> Self {
        self.iter().copied().collect()
    }
}

impl<'a, T: Copy> IntoIterator for &'a Column<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Column<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Copy + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

/// Rows in a file that has no name.
struct Spilled<T> {
    file: File,
    /// At least as long as the file.
    map: MmapMut,
    /// The number of rows, all of which were written to the file.
    len: usize,
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
    fn of(rows: &[T]) -> io::Result<Self> {
        // Windows writes no file from several threads at places of their own.
        if !cfg!(unix) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let place = FilePlace::take()?;
        let file = tempfile::tempfile_in(folder())?;
        let map = map(&file, 2 * size_of_val(rows).max(PIECE))?;
        let mut spilled = Self { file, map, len: 0, rows: PhantomData, _place: place };
        spilled.append(rows)?;
        Ok(spilled)
    }

    fn rows(&self) -> &[T] {
        // SAFETY: the map begins at a page, and `len` rows were written there, as values of this type, to a file
        // that nobody else can open. The map is longer than they are, and stays while it is borrowed.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.len) }
    }

    fn rows_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `rows`; the map is borrowed for this alone.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.len) }
    }

    /// Appends rows; where that fails, the column is as it was.
    fn append(&mut self, more: &[T]) -> io::Result<()> {
        let (begin, bytes) = (self.len * size_of::<T>(), size_of_val(more));
        if begin + bytes > self.map.len() {
            self.map = map(&self.file, 2 * (begin + bytes))?;
        }
        // To write them takes a fifth of the time that it takes to fill the map's pages.
        write_at(&self.file, more, begin)?;
        self.len += more.len();
        Ok(())
    }
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
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_same_rows_in_memory_and_in_a_file_however_they_come() {
        spill_from(10_000);
        // As many as fit into memory, as don't, and as are collected in several pieces.
        for count in [1_000_u64, 2_000, 400_000] {
            let expected: Vec<(u64, u8)> = (0..count).map(|row| (row * 3, row as u8)).collect();
            let collected: Column<_> = expected.iter().copied().filter(|_| true).collect();
            let mut appended = Column::new();
            for part in expected.chunks(777) {
                appended.append(&mut Column(Place::Memory(part.to_vec())));
            }
            let mut joined = Column::from(expected[..count as usize / 2].to_vec());
            joined.append(&mut Column::from(expected[count as usize / 2..].to_vec()));
            for column in
                [&collected, &appended, &joined, &collected.clone(), &Column::from(expected.clone())]
            {
                assert_eq!(column.is_spilled(), cfg!(unix) && count * 16 > 10_000, "{count}");
                assert!(**column == *expected, "{count}");
            }
            let mut changed = appended;
            changed.push((7, 7));
            changed.reverse();
            changed.sort_unstable();
            changed[1] = (9, 9);
            assert_eq!((changed.len() as u64, changed[0], changed[1]), (count + 1, (0, 0), (9, 9)));
            assert!(changed[4..] == expected[3..], "{count}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_file_of_a_column_has_no_name_and_is_gone_with_it() {
        spill_from(10_000);
        let column: Column<u64> = (0..300_000).collect();
        let Place::File(spilled) = &column.0 else { panic!("the column stayed in memory") };
        use std::os::fd::AsRawFd;
        use std::os::unix::fs::MetadataExt;
        let opened = PathBuf::from(format!("/proc/self/fd/{}", spilled.file.as_raw_fd()));
        let found = spilled.file.metadata().expect("an open file");
        assert_eq!((found.nlink(), found.len(), found.mode() & 0o077), (0, 2_400_000, 0));
        drop(column);
        let still_open = std::fs::metadata(opened).is_ok_and(|now| now.ino() == found.ino());
        assert!(!still_open);
    }
}
