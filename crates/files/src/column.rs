//! Columns of plain values: lists that move to a file once they are large.
//!
//! The tables of a large profile take many times the memory that a machine has to spare. A column that outgrows
//! [`spill_from`] lies in a file without a name, mapped into memory: the system keeps of it what there is room
//! for, and writes the rest to the disk. Nobody else can open that file, and the system frees it when the
//! program ends, however that happens. Where there is no room on the disk, a column stays in memory.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::spilled::{PIECE, Spilled};

/// Columns that grow by single rows go to a file when they are so many times as large as others: to write a row to
/// a map takes longer than to memory.
const PUSHED_FACTOR: usize = 12;

/// So many rows are appended one by one.
const FEW_ROWS: usize = 1_000;

/// The size in bytes from which a column goes to a file.
static LIMIT: AtomicUsize = AtomicUsize::new(16 << 20);

/// Sets the size in bytes from which columns go to a file, 16 MiB until then; columns that grow row by row go at
/// twelve times as many. The ones that are there stay where they are.
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

    /// Appends a row. A column that grows row by row goes to a file later than others.
    #[inline]
    pub fn push(&mut self, row: T) {
        match &mut self.0 {
            Place::Memory(rows) if rows.len() < rows.capacity() => rows.push(row),
            _ => self.push_growing(row),
        }
    }

    fn push_growing(&mut self, row: T) {
        match &mut self.0 {
            Place::Memory(rows) => {
                let most = PUSHED_FACTOR * limit() / size_of::<T>().max(1);
                if rows.len() < most {
                    // No more than may stay, so that the column is full when it has to go.
                    rows.reserve_exact(rows.len().max(64).min(most - rows.len()));
                    return rows.push(row);
                }
            }
            Place::File(file) => {
                if file.push(row).is_ok() {
                    return;
                }
            }
        }
        self.append_slice(&[row]);
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

    /// Keeps the rows of which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let rows = &mut **self;
        let mut kept = 0;
        for place in 0..rows.len() {
            let row = rows[place];
            if keep(&row) {
                rows[kept] = row;
                kept += 1;
            }
        }
        match &mut self.0 {
            Place::Memory(rows) => rows.truncate(kept),
            Place::File(file) => file.truncate(kept),
        }
    }

    /// Whether the rows lie in a file.
    pub fn is_spilled(&self) -> bool {
        matches!(self.0, Place::File(_))
    }
}

fn limit() -> usize {
    LIMIT.load(Ordering::Relaxed)
}

/// Whether so many rows are to lie in a file.
fn is_large<T>(rows: usize) -> bool {
    rows.saturating_mul(size_of::<T>()) > limit()
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
        if rows.size_hint().1.is_some_and(|most| most < FEW_ROWS) {
            return rows.for_each(|row| self.push(row));
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
            let mut pushed = Column::new();
            expected.chunks(10).for_each(|few| pushed.extend(few.iter().copied()));
            let is_spilled = cfg!(unix) && count * 16 > 120_000;
            assert!(*pushed == *expected && pushed.is_spilled() == is_spilled, "{count}");
            pushed.retain(|(row, _)| row % 2 == 0);
            assert!(pushed.iter().eq(expected.iter().filter(|(row, _)| row % 2 == 0)), "{count}");
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
        let opened = std::path::PathBuf::from(format!("/proc/self/fd/{}", spilled.file.as_raw_fd()));
        let found = spilled.file.metadata().expect("an open file");
        assert_eq!((found.nlink(), found.len(), found.mode() & 0o077), (0, 2_400_000, 0));
        drop(column);
        let still_open = std::fs::metadata(opened).is_ok_and(|now| now.ino() == found.ino());
        assert!(!still_open);
    }
}
