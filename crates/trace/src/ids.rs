//! How a row number becomes an id that fits one table only.

/// Declares an id type: a row number that fits in four bytes even inside an `Option`.
macro_rules! row_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(std::num::NonZeroU32);

        impl $name {
            /// The id of the row at `index`.
            ///
            /// # Panics
            /// If `index` is `u32::MAX` or more: a table holds fewer rows than that.
            #[inline]
            pub const fn from_index(index: usize) -> Self {
                assert!(index < u32::MAX as usize, "a table holds fewer than 2^32 - 1 rows");
                match std::num::NonZeroU32::new(index as u32 + 1) {
                    Some(number) => Self(number),
                    None => unreachable!(),
                }
            }

            /// The row number, from 0.
            #[inline]
            pub const fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.index())
            }
        }
    };
}
pub(crate) use row_id;

#[cfg(test)]
mod tests {
    row_id!(
        /// An id for the test.
        RowId
    );

    #[test]
    fn an_id_keeps_its_row_number_and_its_option_costs_nothing() {
        assert_eq!(RowId::from_index(0).index(), 0);
        assert_eq!(RowId::from_index(u32::MAX as usize - 1).index(), u32::MAX as usize - 1);
        assert_eq!(size_of::<Option<RowId>>(), 4);
        assert_eq!(format!("{:?}", RowId::from_index(7)), "RowId(7)");
    }
}
