//! Row numbers. Each table has a type of its own for them, of which an `Option` takes four bytes.

/// Declares the type of a table's row numbers.
macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::num::NonZeroU32);

        impl $name {
            /// The row at `index`.
            ///
            /// # Panics
            /// If `index` is `u32::MAX` or more: no table is as long.
            #[inline(always)]
            pub const fn from_index(index: usize) -> Self {
                assert!(index < u32::MAX as usize, "a table has fewer than 2^32 - 1 rows");
                match std::num::NonZeroU32::new(index as u32 + 1) {
                    Some(number) => Self(number),
                    None => unreachable!(),
                }
            }

            /// The row's place in the table, from 0.
            #[inline(always)]
            pub const fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }
    )+};
}
pub(crate) use rows;

rows! {
    /// A row of [`ApiTable`](crate::tables::ApiTable).
    CallRow;
    /// A row of [`NodeTable`](crate::tables::NodeTable).
    NodeRow;
    /// A row of [`NodeAttributeTable`](crate::tables::NodeAttributeTable).
    AttributeRow;
    /// A row of [`NodeContextTable`](crate::tables::NodeContextTable).
    ContextsRow;
    /// A row of [`TaskTrackTable`](crate::tables::TaskTrackTable).
    TrackRow;
    /// A place in [`HostTables::extents`](crate::tables::HostTables::extents).
    ExtentRow;
    /// A combination in [`TensorSets`](crate::tables::TensorSets).
    TensorSetRow;
    /// A row of [`CommunicationNoteTable`](crate::tables::CommunicationNoteTable).
    CommunicationNoteRow;
    /// A row of [`CollectiveNoteTable`](crate::tables::CollectiveNoteTable).
    CollectiveNoteRow;
    /// A row of [`HostTaskTable`](crate::join::HostTaskTable).
    HostTaskRow;
    /// A row of [`CollectiveTable`](crate::join::CollectiveTable).
    CollectiveRow;
    /// A row of [`CounterTable`](crate::tables::CounterTable), or one behind them of
    /// [`TaskCounters::sums`](crate::join::TaskCounters::sums).
    CounterRow;
}

impl CallRow {
    /// The number by which timelines and databases name the call: that of its row, from 1.
    #[inline(always)]
    pub const fn connection(self) -> u32 {
        self.0.get()
    }
}
