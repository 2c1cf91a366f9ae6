//! A list of plain values, in memory or in a file of its own.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::budget::Share;
use crate::spilled::{PIECE, Spilled};

/// From this size in bytes on, a column in memory grows by a quarter at a time and no longer to twice its size: the
/// system then moves pages rather than rows, and room that stays unused counts as well.
const LARGE: usize = 16 << 20;

/// So many rows are appended one by one.
const FEW_ROWS: usize = 1_000;

/// A list of plain values, in memory or, where all columns together are large, in a file of its own. It is read and
/// changed as a slice either way.
///
/// ```
/// let mut column: opscope_columns::Column<u64> = (0..1_000).collect();
/// column.push(7);
/// assert_eq!((column.len(), column[999], column.last()), (1_001, 999, Some(&7)));
/// ```
pub struct Column<T: Copy> {
    /// The first row. It stands here whatever the place is, so that to read a row is as quick as that of a vector.
    begin: NonNull<T>,
    len: usize,
    /// How many rows the place has room for.
    room: usize,
    place: Place,
}

enum Place {
    /// `begin` and `room` are those of a vector.
    Memory(Share),
    /// `begin` is that of the file's map, and `room` counts what the disk has promised.
    File(Spilled),
}

// SAFETY: a column owns its rows alone, as a vector does.
unsafe impl<T: Copy + Send> Send for Column<T> {}
// SAFETY: through a shared column rows are only read.
unsafe impl<T: Copy + Sync> Sync for Column<T> {}

impl<T: Copy> Column<T> {
    /// No rows.
    pub const fn new() -> Self {
        Self { begin: NonNull::dangling(), len: 0, room: 0, place: Place::Memory(Share::NONE) }
    }

    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: T) {
        if self.len == self.room {
            self.make_room(1);
        }
        // SAFETY: the place has room for more rows than there are.
        unsafe { self.begin.add(self.len).write(row) };
        self.len += 1;
    }

    /// Replaces a row.
    ///
    /// # Panics
    /// If there are no more rows than `index`.
    #[inline]
    pub fn set(&mut self, index: usize, row: T) {
        self[index] = row;
    }

    /// Makes room for so many further rows where they are to lie in memory.
    pub fn reserve(&mut self, additional: usize) {
        if !self.is_spilled() {
            self.grow_in_memory(additional);
        }
    }

    /// Moves all rows of another column behind those of this one.
    pub fn append(&mut self, other: &mut Self) {
        if self.is_empty() {
            std::mem::swap(self, other);
        } else {
            self.extend_from_slice(other);
        }
        other.clear();
    }

    /// Appends rows.
    pub fn extend_from_slice(&mut self, more: &[T]) {
        if !self.grow_in_memory(more.len()) {
            if self.write_to_file(more) {
                return;
            }
            // The disk is full: memory may not be.
            self.return_to_memory(more.len());
        }
        // SAFETY: there is room in memory for so many further rows, and nobody else borrows them.
        unsafe {
            self.begin.add(self.len).copy_from_nonoverlapping(NonNull::from_ref(more).cast(), more.len())
        };
        self.len += more.len();
    }

    /// Keeps the rows of which `keep` is true.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let mut kept = 0;
        for place in 0..self.len {
            let row = self[place];
            if keep(&row) {
                self[kept] = row;
                kept += 1;
            }
        }
        self.truncate(kept);
    }

    /// Keeps the first rows alone.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Drops all rows. Memory is kept for others, a file isn't.
    pub fn clear(&mut self) {
        if self.is_spilled() { *self = Self::new() } else { self.len = 0 }
    }

    /// Whether the rows lie in a file.
    pub fn is_spilled(&self) -> bool {
        matches!(self.place, Place::File(_))
    }

    /// Makes room for further rows to be written one by one, wherever they are to lie.
    #[cold]
    fn make_room(&mut self, additional: usize) {
        if self.grow_in_memory(additional) {
            return;
        }
        let end = (self.len + additional) * size_of::<T>();
        let is_promised = match &mut self.place {
            Place::File(file) => file.promise(end).is_ok(),
            Place::Memory(_) => false,
        };
        // The map may have moved in either case.
        self.find_in_file();
        if !is_promised {
            self.return_to_memory(additional);
        }
    }

    /// Makes room for further rows in memory; where the budget doesn't allow it, the rows go to a file. Whether they
    /// are in memory then.
    fn grow_in_memory(&mut self, additional: usize) -> bool {
        let Place::Memory(share) = &mut self.place else { return false };
        let wanted = self.len.saturating_add(additional);
        if wanted <= self.room {
            return true;
        }
        let size = size_of::<T>();
        let spare = if self.room.saturating_mul(size) < LARGE { self.room } else { self.room / 4 };
        let rows = wanted.max(self.room + spare).max(4);
        if share.grow_to(rows.saturating_mul(size)) {
            self.change_vector(|vector| vector.reserve_exact(rows - vector.len()));
            return true;
        }
        let Ok(mut file) = Spilled::new() else {
            self.return_to_memory(additional);
            return true;
        };
        if file.write(self, 0).is_err() {
            self.return_to_memory(additional);
            return true;
        }
        let len = self.len;
        *self = Self { len, place: Place::File(file), ..Self::new() };
        self.find_in_file();
        false
    }

    /// Appends rows to the file; false where that fails, and then the column is as it was.
    fn write_to_file(&mut self, more: &[T]) -> bool {
        let Place::File(file) = &mut self.place else { return false };
        let is_written = file.write(more, self.len * size_of::<T>()).is_ok();
        // The map may have moved in either case.
        self.find_in_file();
        if is_written {
            self.len += more.len();
        }
        is_written
    }

    /// Has rows lie in memory from now on, with room for more, whatever the budget is: who tried a full disk again for
    /// each row would never end.
    fn return_to_memory(&mut self, additional: usize) {
        if let Place::File(_) = self.place {
            let mut rows = Vec::with_capacity(self.len + additional);
            rows.extend_from_slice(self);
            *self = Self::in_memory(rows);
        } else {
            self.change_vector(|vector| vector.reserve(additional));
        }
        if let Place::Memory(share) = &mut self.place {
            share.force_to(self.room.saturating_mul(size_of::<T>()));
        }
    }

    /// Notes where the file's rows are, which any change of the file may have moved.
    fn find_in_file(&mut self) {
        if let Place::File(file) = &self.place {
            self.begin = file.begin().cast();
            self.room = file.room().checked_div(size_of::<T>()).unwrap_or(usize::MAX);
        }
    }

    /// The rows of a vector, not yet counted.
    fn in_memory(rows: Vec<T>) -> Self {
        let mut rows = ManuallyDrop::new(rows);
        let (len, room) = (rows.len(), rows.capacity());
        let begin = NonNull::new(rows.as_mut_ptr()).unwrap_or(NonNull::dangling());
        Self { begin, len, room, place: Place::Memory(Share::NONE) }
    }

    /// Changes rows in memory as a vector. Where `change` panics, the column has no rows.
    fn change_vector(&mut self, change: impl FnOnce(&mut Vec<T>)) {
        let mut rows = self.take_vector();
        change(&mut rows);
        let mut rows = ManuallyDrop::new(rows);
        (self.len, self.room) = (rows.len(), rows.capacity());
        self.begin = NonNull::new(rows.as_mut_ptr()).unwrap_or(NonNull::dangling());
    }

    /// The vector of the rows in memory, which the column has no longer; an empty one where they lie in a file.
    fn take_vector(&mut self) -> Vec<T> {
        if self.is_spilled() {
            return Vec::new();
        }
        let (len, room) = (std::mem::take(&mut self.len), std::mem::take(&mut self.room));
        let begin = std::mem::replace(&mut self.begin, NonNull::dangling());
        // SAFETY: these are the parts of a vector that was given up for them, and the column has them no longer.
        unsafe { Vec::from_raw_parts(begin.as_ptr(), len, room) }
    }
}

impl<T: Copy> Drop for Column<T> {
    fn drop(&mut self) {
        drop(self.take_vector());
    }
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
        // SAFETY: so many rows were written from there on, and stay while the column is borrowed.
        unsafe { std::slice::from_raw_parts(self.begin.as_ptr(), self.len) }
    }
}

impl<T: Copy> DerefMut for Column<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the column is borrowed for this alone.
        unsafe { std::slice::from_raw_parts_mut(self.begin.as_ptr(), self.len) }
    }
}

impl<T: Copy> From<Vec<T>> for Column<T> {
    fn from(rows: Vec<T>) -> Self {
        let mut share = Share::NONE;
        if share.grow_to(rows.capacity().saturating_mul(size_of::<T>())) {
            let mut column = Self::in_memory(rows);
            column.place = Place::Memory(share);
            return column;
        }
        let mut column = Self::new();
        column.extend_from_slice(&rows);
        column
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
        let (least, most) = rows.size_hint();
        if most == Some(least) && self.grow_in_memory(least) {
            return self.change_vector(|vector| vector.extend(rows));
        }
        if most.is_none_or(|most| most < FEW_ROWS) {
            return rows.for_each(|row| self.push(row));
        }
        // Many rows at once are written to a file in a fifth of the time that single ones take.
        let rows_per_piece = (PIECE / size_of::<T>().max(1)).max(1);
        let mut piece = Vec::new();
        loop {
            piece.extend(rows.by_ref().take(rows_per_piece));
            if piece.is_empty() {
                return;
            }
            self.extend_from_slice(&piece);
            piece.clear();
        }
    }
}

impl<T: Copy> Clone for Column<T> {
    fn clone(&self) -> Self {
        let mut rows = Self::new();
        rows.extend_from_slice(self);
        rows
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
    use crate::keep_in_memory;

    /// The tests change the budget of all columns, so that they run one after another.
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());

    fn with_budget(bytes: usize) -> std::sync::MutexGuard<'static, ()> {
        let alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        keep_in_memory(bytes);
        alone
    }

    type Row = (u64, u8);

    /// The same rows in columns that came about in each way.
    fn columns_of(rows: &[Row]) -> [(&'static str, Column<Row>); 8] {
        let half = rows.len() / 2;
        let mut appended = Column::new();
        rows.chunks(777).for_each(|part| appended.append(&mut Column::from(part.to_vec())));
        let mut joined = Column::from(rows[..half].to_vec());
        joined.append(&mut Column::from(rows[half..].to_vec()));
        let mut pushed = Column::new();
        rows.iter().for_each(|row| pushed.push(*row));
        let mut in_tens = Column::new();
        rows.chunks(10).for_each(|few| in_tens.extend(few.iter().copied()));
        let exact: Column<Row> = rows.iter().copied().collect();
        [
            ("filtered", rows.iter().copied().filter(|_| true).collect()),
            ("of unknown length", rows.iter().copied().scan((), |(), row| Some(row)).collect()),
            ("cloned", exact.clone()),
            ("exact", exact),
            ("appended", appended),
            ("joined", joined),
            ("pushed", pushed),
            ("in tens", in_tens),
        ]
    }

    #[test]
    fn a_column_has_the_same_rows_in_memory_and_in_a_file_however_they_come() {
        for count in [0_u64, 1, 300, 5_000, 400_000] {
            let rows: Vec<Row> = (0..count).map(|row| (row * 3, row as u8)).collect();
            for budget in [0, 10_000, usize::MAX] {
                let _alone = with_budget(budget);
                for (way, mut column) in columns_of(&rows) {
                    assert!(*column == *rows, "{way}, {count} rows, {budget}");
                    // In a file if these rows alone are too many, in memory if there is room for all columns.
                    let bytes = count as usize * size_of::<Row>();
                    let is_settled = bytes > budget || budget == usize::MAX || count == 0;
                    let is_spilled = cfg!(unix) && bytes > budget;
                    assert!(
                        !is_settled || column.is_spilled() == is_spilled,
                        "{way}, {count} rows, {budget}"
                    );
                    column.retain(|(row, _)| row % 2 == 0);
                    assert!(column.iter().eq(rows.iter().filter(|(row, _)| row % 2 == 0)), "{way}");
                    column.push((7, 7));
                    column.reverse();
                    assert_eq!(column[0], (7, 7), "{way}");
                    column.clear();
                    column.push((8, 8));
                    assert_eq!(*column, [(8, 8)], "{way}");
                }
            }
        }
    }

    #[test]
    fn columns_that_are_gone_leave_their_room_in_memory_to_others() {
        let _alone = with_budget(10_000_000);
        let column = |bytes: usize| Column::from(vec![1_u8; bytes]);
        for _ in 0..10 {
            let first = column(6_000_000);
            assert!(!first.is_spilled());
            let second = column(6_000_000);
            assert_eq!((second.is_spilled(), second.len()), (cfg!(unix), 6_000_000));
            drop(first);
            assert!(!column(6_000_000).is_spilled());
        }
        // Rows that were moved into another column take their room along.
        let (mut first, mut second) = (Column::new(), column(6_000_000));
        first.append(&mut second);
        drop(second);
        assert!(column(6_000_000).is_spilled() == cfg!(unix) && !first.is_spilled());
    }

    #[test]
    fn rows_without_a_size_are_counted() {
        let _alone = with_budget(0);
        let mut column: Column<()> = std::iter::repeat_n((), 100_000).collect();
        column.push(());
        assert_eq!((column.len(), column.is_spilled()), (100_001, false));
    }

    #[test]
    fn a_column_whose_source_panics_has_no_rows_and_goes_on() {
        let _alone = with_budget(usize::MAX);
        let mut column: Column<u64> = (0..10).collect();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            column.extend((0..10_u64).map(|row| if row < 5 { row } else { panic!("no more rows") }));
        }));
        assert!(panicked.is_err());
        column.push(1);
        assert_eq!(*column, [1]);
    }

    #[cfg(unix)]
    #[test]
    fn a_column_that_finds_the_disk_full_stays_in_memory_and_doesnt_try_again() {
        use crate::spilled::tests::{files_made, with_disk_of};
        let _alone = with_budget(0);
        // So that each file fails, or one that has room for the rows there are but not for more.
        for disk in [0, 1_000, 2_500_000] {
            let rows: Vec<Row> = (0..300_000).map(|row| (row, row as u8)).collect();
            let before = files_made();
            with_disk_of(disk, || {
                for (way, column) in columns_of(&rows) {
                    assert!(*column == *rows && !column.is_spilled(), "{way}, {disk}");
                }
            });
            // The two halves are columns of their own, and so are the parts that were appended.
            let made = files_made() - before;
            assert!(made < 600, "{made} files for 8 columns of {} parts, {disk}", 300_000 / 777);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_file_of_a_column_has_no_name_and_is_gone_with_it() {
        let _alone = with_budget(10_000);
        let column: Column<u64> = (0..300_000).collect();
        let Place::File(spilled) = &column.place else { panic!("the column stayed in memory") };
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
