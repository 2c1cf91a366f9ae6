//! How a table of named, documented columns is declared.

/// Declares a table: its id, the struct of one row, and the struct of columns.
///
/// Columns are private so that they always have the same length; each is readable under its own name, as a slice
/// unless an `OptionalColumn` is declared with it (`wait: Option<Nanoseconds> as OptionalColumn<Nanoseconds>`), which
/// takes no memory where no row has a value.
macro_rules! table {
    (
        $(#[$table_doc:meta])* $table:ident,
        $(#[$id_doc:meta])* $id:ident,
        $(#[$row_doc:meta])* $row:ident {
            $($(#[$column_doc:meta])* $column:ident: $type:ty $(as $optional:ty)?,)+
        }
    ) => {
        crate::ids::row_id!($(#[$id_doc])* $id);

        $(#[$row_doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $row {
            $($(#[$column_doc])* pub $column: $type,)+
        }

        $(#[$table_doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $table {
            $($column: crate::table::column!($type $(, $optional)?),)+
        }

        impl $table {
            /// Appends a row.
            #[inline]
            pub fn push(&mut self, row: $row) -> $id {
                let id = $id::from_index(self.len());
                $(self.$column.push(row.$column);)+
                id
            }

            /// One whole row.
            ///
            /// # Panics
            /// If the id comes from another, longer table.
            #[inline]
            pub fn get(&self, id: $id) -> $row {
                $row { $($column: self.$column[id.index()],)+ }
            }

            /// Replaces a row.
            ///
            /// # Panics
            /// If the id comes from another, longer table.
            #[inline]
            pub fn set(&mut self, id: $id, row: $row) {
                $(self.$column.set(id.index(), row.$column);)+
            }

            /// Keeps the rows that are marked. The rows behind one that goes get smaller ids, so whoever
            /// refers to them has to be told.
            pub fn retain(&mut self, keep: &[bool]) {
                $(
                    let mut marks = keep.iter();
                    self.$column.retain(|_| marks.next().copied().unwrap_or(true));
                )+
            }

            /// How many rows there are.
            #[inline]
            pub fn len(&self) -> usize {
                crate::table::first_len(&[$(self.$column.len()),+])
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

            /// The ids of all rows, in order.
            pub fn ids(&self) -> impl ExactSizeIterator<Item = $id> + DoubleEndedIterator + use<> {
                (0..self.len()).map($id::from_index)
            }

            /// All rows with their ids, in order.
            pub fn iter(&self) -> impl ExactSizeIterator<Item = ($id, $row)> + '_ {
                self.ids().map(|id| (id, self.get(id)))
            }

            $(
                $(#[$column_doc])*
                #[inline]
                pub fn $column(&self) -> &crate::table::rows!($type $(, $optional)?) {
                    &self.$column
                }
            )+
        }
    };
}
pub(crate) use table;

/// The type of a column.
macro_rules! column {
    ($type:ty) => { opscope_columns::Column<$type> };
    ($type:ty, $optional:ty) => { $optional };
}
pub(crate) use column;

/// The type by which a column is read.
macro_rules! rows {
    ($type:ty) => {
        [$type]
    };
    ($type:ty, $optional:ty) => {
        $optional
    };
}
pub(crate) use rows;

/// The length of the first column, which is that of all.
#[inline(always)]
pub(crate) fn first_len(lengths: &[usize]) -> usize {
    lengths[0]
}
