//! How a record's layout is declared.

/// A record of a fixed size.
pub trait Record: Sized + Default {
    /// How many bytes it takes in a file.
    const SIZE: usize;

    /// Reads a record from the start of `bytes`; `None` if they are too few.
    fn read(bytes: &[u8]) -> Option<Self>;

    /// Writes the record to the start of `bytes`, with zeros in the gaps between its fields.
    ///
    /// # Panics
    /// If `bytes` are fewer than [`Record::SIZE`].
    fn write(&self, bytes: &mut [u8]);

    /// The record's bytes appended to `file`.
    fn append_to(&self, file: &mut Vec<u8>) {
        let start = file.len();
        file.resize(start + Self::SIZE, 0);
        self.write(&mut file[start..]);
    }
}

/// Declares a record: its size, and each field with its offset.
///
/// Bytes that no field covers are reserved. Offsets must rise and stay within the size; that is
/// checked while compiling. A record with a field that is another record's array uses [`Field`]
/// (which every record implements) for it.
///
/// [`Field`]: crate::Field
macro_rules! record {
    (
        $(#[$doc:meta])*
        $name:ident, $size:literal {
            $($(#[$field_doc:meta])* $offset:literal $field:ident: $type:ty,)+
        }
    ) => {
        $(#[$doc])*
        ///
        /// | offset | field | type |
        /// |---|---|---|
        $(#[doc = concat!("| ", stringify!($offset), " | `", stringify!($field), "` | `", stringify!($type), "` |")])+
        #[doc = concat!("| ", stringify!($size), " | (end) | |")]
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_doc])* pub $field: $type,)+
        }

        const _: () = {
            let mut end = 0;
            $(
                assert!($offset >= end, "fields must not overlap");
                end = $offset + <$type as $crate::Field>::SIZE;
            )+
            assert!(end <= $size, "fields must lie within the record");
        };

        impl $crate::Record for $name {
            const SIZE: usize = $size;

            #[inline(always)]
            fn read(bytes: &[u8]) -> Option<Self> {
                let bytes = bytes.first_chunk::<$size>()?;
                Some(Self { $($field: <$type as $crate::Field>::read(&bytes[$offset..]),)+ })
            }

            #[inline]
            fn write(&self, bytes: &mut [u8]) {
                let bytes = &mut bytes[..$size];
                bytes.fill(0);
                $($crate::Field::write(self.$field, &mut bytes[$offset..]);)+
            }
        }

        impl $crate::Field for $name {
            const SIZE: usize = $size;

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                <Self as $crate::Record>::read(bytes).unwrap_or_default()
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                $crate::Record::write(&self, bytes);
            }

            #[inline(always)]
            fn empty() -> Self {
                Self::default()
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: <$type as $crate::Field>::empty(),)+ }
            }
        }
    };
}
pub(crate) use record;

#[cfg(test)]
mod tests {
    use super::*;

    record! {
        /// A record for the test, with a gap from 1 to 4.
        Sample, 12 {
            /// First.
            0 first: u8,
            /// Second.
            4 second: u32,
            /// Third.
            8 third: [u16; 2],
        }
    }

    #[test]
    fn fields_lie_at_their_offsets_in_little_endian() {
        let record = Sample { first: 7, second: 0x0102_0304, third: [1, 0x0203] };
        let mut bytes = [0xFF; 12];
        record.write(&mut bytes);
        assert_eq!(bytes, [7, 0, 0, 0, 4, 3, 2, 1, 1, 0, 3, 2]);
        assert_eq!(<Sample as Record>::read(&bytes), Some(record));
    }

    #[test]
    fn too_few_bytes_are_no_record() {
        assert_eq!(<Sample as Record>::read(&[0; 11]), None);
        assert!(<Sample as Record>::read(&[0; 13]).is_some());
    }
}
