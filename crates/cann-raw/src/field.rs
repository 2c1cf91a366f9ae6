//! Values that a record's field can hold.

/// A value of a fixed number of bytes, stored little-endian.
pub trait Field: Sized + Copy {
    /// How many bytes it takes.
    const SIZE: usize;

    /// Reads the value from the start of `bytes`, which hold at least [`Field::SIZE`].
    fn read(bytes: &[u8]) -> Self;

    /// Writes the value to the start of `bytes`, which hold at least [`Field::SIZE`].
    fn write(self, bytes: &mut [u8]);

    /// The value that stands for nothing.
    fn empty() -> Self;

    /// Reads several values that lie one after another.
    #[inline(always)]
    fn read_array<const N: usize>(bytes: &[u8]) -> [Self; N] {
        std::array::from_fn(|i| Self::read(&bytes[i * Self::SIZE..]))
    }

    /// Writes several values one after another.
    #[inline(always)]
    fn write_array<const N: usize>(values: [Self; N], bytes: &mut [u8]) {
        for (i, value) in values.into_iter().enumerate() {
            value.write(&mut bytes[i * Self::SIZE..]);
        }
    }
}

macro_rules! number {
    ($($type:ty $({ $($further:tt)+ })?),+) => {$(
        impl Field for $type {
            const SIZE: usize = size_of::<$type>();

            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut raw = [0; size_of::<$type>()];
                raw.copy_from_slice(&bytes[..size_of::<$type>()]);
                Self::from_le_bytes(raw)
            }

            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes[..size_of::<$type>()].copy_from_slice(&self.to_le_bytes());
            }

            #[inline(always)]
            fn empty() -> Self {
                0 as $type
            }

            $($($further)+)?
        }
    )+};
}
number!(u16, u32, u64, i32, i64, f64);
number!(u8 {
    // Texts are arrays of bytes, and worth being copied in one piece.
    #[inline(always)]
    fn read_array<const N: usize>(bytes: &[u8]) -> [Self; N] {
        let mut values = [0; N];
        values.copy_from_slice(&bytes[..N]);
        values
    }

    #[inline(always)]
    fn write_array<const N: usize>(values: [Self; N], bytes: &mut [u8]) {
        bytes[..N].copy_from_slice(&values);
    }
});

impl<T: Field, const N: usize> Field for [T; N] {
    const SIZE: usize = T::SIZE * N;

    #[inline(always)]
    fn read(bytes: &[u8]) -> Self {
        T::read_array(bytes)
    }

    #[inline(always)]
    fn write(self, bytes: &mut [u8]) {
        T::write_array(self, bytes);
    }

    #[inline(always)]
    fn empty() -> Self {
        [T::empty(); N]
    }
}
