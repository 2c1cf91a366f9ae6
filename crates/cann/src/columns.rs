//! How a native table is declared: a [`Column`](opscope_columns::Column) for each field, so that ten million rows stay
//! small, and memory hardly grows with the run.

use std::ops::Range;

use opscope_columns::Column;

/// Declares a table and the form of one of its rows.
macro_rules! columns {
    (
        $(#[$table_doc:meta])* $table:ident,
        $(#[$row_doc:meta])* $row:ident {
            $($(#[$column_doc:meta])* $column:ident: $type:ty,)+
        }
    ) => {
        $(#[$row_doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $row {
            $($(#[$column_doc])* pub $column: $type,)+
        }

        $(#[$table_doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $table {
            $($column: opscope_columns::Column<$type>,)+
        }

        #[allow(dead_code, reason = "every table offers the same functions")]
        impl $table {
            /// Appends a row.
            #[inline]
            pub fn push(&mut self, row: $row) {
                $(self.$column.push(row.$column);)+
            }

            /// One whole row.
            ///
            /// # Panics
            /// If the table is shorter.
            // Callers need some of the columns only; the others aren't even read.
            #[inline(always)]
            pub fn row(&self, index: usize) -> $row {
                $row { $($column: self.$column[index],)+ }
            }

            /// Replaces a row.
            ///
            /// # Panics
            /// If the table is shorter.
            #[inline]
            pub fn replace(&mut self, index: usize, row: $row) {
                $(self.$column[index] = row.$column;)+
            }

            /// How many rows there are.
            #[inline]
            pub fn len(&self) -> usize {
                crate::columns::first(&[$(self.$column.len()),+])
            }

            /// Whether there is no row.
            #[inline]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Makes room for further rows.
            pub fn reserve(&mut self, additional: usize) {
                $(self.$column.reserve(additional);)+
            }

            /// All rows, in order.
            pub fn rows(&self) -> impl ExactSizeIterator<Item = $row> + DoubleEndedIterator + '_ {
                (0..self.len()).map(|index| self.row(index))
            }

            /// Moves all rows of another table behind those of this one.
            pub fn append(&mut self, other: &mut Self) {
                if self.is_empty() {
                    std::mem::swap(self, other);
                    return;
                }
                $(self.$column.append(&mut other.$column);)+
            }

            /// The rows in another order; `order` names the rows of this table.
            ///
            /// # Panics
            /// If `order` names a row that doesn't exist.
            pub fn in_order(&self, order: &[u32]) -> Self {
                let mut sorted = Self::default();
                crate::parallel::all(order.len(), &mut [
                    $(&mut || {
                        let column = order.iter().map(|&index| self.$column[index as usize]);
                        sorted.$column = column.collect();
                    },)+
                ]);
                sorted
            }

            /// Drops the rows for which `keep` is false.
            pub fn retain(&mut self, keep: impl Fn($row) -> bool) {
                let kept: Vec<u32> =
                    (0..self.len()).filter(|&i| keep(self.row(i))).map(|i| i as u32).collect();
                if kept.len() < self.len() {
                    *self = self.in_order(&kept);
                }
            }

            /// Sorts the rows by a key; rows with equal keys keep their order.
            pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&Self, usize) -> K + Sync) {
                if self.put_in_place(&key) {
                    return;
                }
                let mut order: Vec<u32> = (0..self.len() as u32).collect();
                crate::parallel::sort_by_key(&mut order, |&index| key(self, index as usize));
                *self = self.in_order(&order);
            }

            /// Sorts rows of which few are far from their place, such as calls that were recorded when they
            /// ended. False where that would move too many rows; then the rows are as good as before.
            fn put_in_place<K: Ord>(&mut self, key: &impl Fn(&Self, usize) -> K) -> bool {
                let mut budget = crate::columns::MoveBudget::new(self.len());
                // Where the row before is now.
                let mut before = 0;
                for row in 1..self.len() {
                    let mut place = row;
                    if key(self, row - 1) > key(self, row) {
                        place = crate::columns::place_before(row, |other| key(self, other) > key(self, row));
                        if !budget.allows(row - place, key(self, before) <= key(self, row)) {
                            return false;
                        }
                        $(self.$column[place..=row].rotate_right(1);)+
                    }
                    before = place;
                }
                true
            }

            $(
                $(#[$column_doc])*
                #[inline]
                pub fn $column(&self) -> &[$type] {
                    &self.$column
                }
            )+
        }
    };
}
pub(crate) use columns;

/// A column that all cores make of so many rows: `work` appends what it makes of a range of rows.
pub(crate) fn made_in_parts<T: Copy + Send>(
    count: usize,
    work: impl Fn(Range<usize>, &mut Vec<T>) + Sync,
) -> Column<T> {
    let mut all = Column::new();
    crate::parallel::row_parts(count, work, |part| {
        all.extend_from_slice(part);
        part.clear();
    });
    all
}

/// The length of the first column, which is that of all.
#[inline(always)]
pub(crate) fn first(lengths: &[usize]) -> usize {
    lengths[0]
}

/// How many rows may still be moved one by one before it is cheaper to sort all of them.
pub(crate) struct MoveBudget {
    /// Over how many rows in all.
    distance: usize,
    /// How many that are in order with the row before, and only have to follow it past others.
    followers: usize,
}

impl MoveBudget {
    pub(crate) fn new(rows: usize) -> Self {
        Self { distance: 8 * rows, followers: rows / 16 }
    }

    /// Takes the move of a row from the budget; false if that is used up.
    pub(crate) fn allows(&mut self, distance: usize, follows: bool) -> bool {
        let left = (self.distance.checked_sub(distance), self.followers.checked_sub(usize::from(follows)));
        let (Some(distance), Some(followers)) = left else { return false };
        *self = Self { distance, followers };
        true
    }
}

/// The first of the rows before `row` that `is_behind` is true of; it is true of the last of them, and of no
/// row before one of which it is false.
pub(crate) fn place_before(row: usize, is_behind: impl Fn(usize) -> bool) -> usize {
    let mut step = 1;
    let mut place = row - 1;
    while place >= step && is_behind(place - step) {
        place -= step;
        step *= 2;
    }
    // It is false of the row that many before, or there is none.
    let mut first = (place + 1).saturating_sub(step);
    while first < place {
        let middle = first + (place - first) / 2;
        if is_behind(middle) { place = middle } else { first = middle + 1 }
    }
    place
}

#[cfg(test)]
mod tests {
    columns! {
        /// A table for the test.
        Samples,
        /// A row for the test.
        Sample {
            /// When.
            time: u64,
            /// A value.
            value: u8,
        }
    }

    #[test]
    fn sorting_keeps_rows_whole_and_equal_keys_in_order() {
        let mut table = Samples::default();
        for (time, value) in [(3, 0), (1, 1), (3, 2), (2, 3)] {
            table.push(Sample { time, value });
        }
        table.sort_by_key(|t, i| t.time()[i]);
        assert_eq!(table.time(), [1, 2, 3, 3]);
        assert_eq!(table.value(), [1, 3, 0, 2]);
        table.retain(|row| row.time != 2);
        assert_eq!(table.value(), [1, 0, 2]);
    }

    #[test]
    fn sorting_is_the_same_whether_few_or_many_rows_are_out_of_place() {
        // Each tenth row belongs so far in front, or all are the other way round, or the last come first.
        for distance in [1, 2, 3, 9, 1_000, 20_000] {
            let time = |row: u64| row.saturating_sub(if row % 10 == 9 { distance } else { 0 });
            let late_first = (50_000..50_000 + distance).chain(0..40_000);
            let orders: [Vec<u64>; 3] =
                [(0..40_000).map(time).collect(), (0..40_000).rev().collect(), late_first.collect()];
            for times in orders {
                let mut table = Samples::default();
                (0u64..)
                    .zip(&times)
                    .for_each(|(row, &time)| table.push(Sample { time, value: (row % 251) as u8 }));
                let mut rows: Vec<Sample> = table.rows().collect();
                rows.sort_by_key(|row| row.time);
                table.sort_by_key(|t, i| t.time()[i]);
                assert!(table.rows().eq(rows), "{distance}");
            }
        }
    }
}
