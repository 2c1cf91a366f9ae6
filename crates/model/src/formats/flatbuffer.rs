//! FlatBuffers as they lie in a file: tables, and the vectors and strings that they lead to.
//!
//! Models of TensorFlow Lite and MegEngine are such.
//!
//! | part | layout |
//! |---|---|
//! | file | offset of the root table (u32), 4 letters that name the schema |
//! | table | distance back to its list of fields (i32), then the fields |
//! | list of fields | its bytes (u16), the table's bytes (u16), for each field its offset in the table (u16, 0 if absent) |
//! | vector, string | how many elements (u32), the elements |
//!
//! A field that is no number holds the distance (u32) from itself to a table, vector or string; so do the elements of
//! a vector of tables. All numbers are little-endian. Whatever leads out of the file counts as a fault and is left
//! out; of a vector that is cut off, the elements before are there. Tables may be shared and so be read many times:
//! readers bound how much they make of them.

use std::cell::Cell;

/// A file, with what was wrong with it as far as it was read.
#[derive(Debug)]
pub(crate) struct File<'b> {
    bytes: &'b [u8],
    faults: Cell<usize>,
    first: Cell<usize>,
}

impl<'b> File<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, faults: Cell::new(0), first: Cell::new(0) }
    }

    /// The table that all others hang from.
    pub fn root(&'b self) -> Option<Table<'b>> {
        Table::at(self, self.target(0)?)
    }

    /// How many offsets and lengths led out of the file, and the place of the first.
    pub fn faults(&self) -> (usize, usize) {
        (self.faults.get(), self.first.get())
    }

    /// Bytes that lie outside of all tables.
    pub fn slice(&self, offset: u64, size: u64) -> Option<&'b [u8]> {
        let (start, size) = (usize::try_from(offset).ok()?, usize::try_from(size).ok()?);
        let found = start.checked_add(size).and_then(|end| self.bytes.get(start..end));
        if found.is_none() {
            self.fault(start);
        }
        found
    }

    fn fault(&self, at: usize) {
        if self.faults.get() == 0 {
            self.first.set(at);
        }
        self.faults.set(self.faults.get() + 1);
    }

    fn read<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let found = self.bytes.get(at..).and_then(|rest| rest.first_chunk());
        if found.is_none() {
            self.fault(at);
        }
        found.copied()
    }

    /// Where the elements of a vector begin, and their bytes, each of which has so many; as far as they are there.
    fn elements(&self, start: usize, width: usize) -> Option<(usize, &'b [u8])> {
        let count = u32::from_le_bytes(self.read(start)?);
        let rest = self.bytes.get(start + 4..)?;
        let bytes = usize::try_from(count).ok().and_then(|count| count.checked_mul(width));
        let kept = bytes.filter(|bytes| *bytes <= rest.len()).unwrap_or_else(|| {
            self.fault(start);
            rest.len() / width * width
        });
        Some((start + 4, &rest[..kept]))
    }

    /// The place that the offset at a place leads to.
    fn target(&self, at: usize) -> Option<usize> {
        let distance = u32::from_le_bytes(self.read(at)?);
        at.checked_add(usize::try_from(distance).ok()?)
    }
}

/// A table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'b> {
    file: &'b File<'b>,
    at: usize,
    /// Where its list of fields lies, and how many bytes that has.
    list: usize,
    bytes: usize,
}

impl<'b> Table<'b> {
    fn at(file: &'b File<'b>, at: usize) -> Option<Self> {
        let back = i32::from_le_bytes(file.read(at)?);
        let list = i64::try_from(at).ok()? - i64::from(back);
        let Ok(list) = usize::try_from(list) else {
            file.fault(at);
            return None;
        };
        let bytes = usize::from(u16::from_le_bytes(file.read(list)?));
        Some(Self { file, at, list, bytes })
    }

    /// Where a field lies, if the table has it.
    fn field(&self, number: usize) -> Option<usize> {
        let entry = 4 + 2 * number;
        if entry + 2 > self.bytes {
            return None;
        }
        let offset = u16::from_le_bytes(self.file.read(self.list + entry)?);
        (offset != 0).then(|| self.at + usize::from(offset))
    }

    fn scalar<const N: usize>(&self, number: usize) -> Option<[u8; N]> {
        self.file.read(self.field(number)?)
    }

    /// A byte; it is 0 where the table lacks it.
    pub fn u8(&self, number: usize) -> u8 {
        self.scalar(number).map_or(0, u8::from_le_bytes)
    }

    /// A truth.
    pub fn bool(&self, number: usize) -> bool {
        self.u8(number) != 0
    }

    /// A number that the table may lack.
    pub fn i32(&self, number: usize) -> Option<i32> {
        self.scalar(number).map(i32::from_le_bytes)
    }

    /// A number; it is 0 where the table lacks it.
    pub fn u32(&self, number: usize) -> u32 {
        self.scalar(number).map_or(0, u32::from_le_bytes)
    }

    /// A number; it is 0 where the table lacks it.
    pub fn u64(&self, number: usize) -> u64 {
        self.scalar(number).map_or(0, u64::from_le_bytes)
    }

    /// A number; it is 0 where the table lacks it.
    pub fn f32(&self, number: usize) -> f32 {
        self.scalar(number).map_or(0.0, f32::from_le_bytes)
    }

    /// A table within.
    pub fn table(&self, number: usize) -> Option<Self> {
        Self::at(self.file, self.file.target(self.field(number)?)?)
    }

    /// The bytes of a vector's elements, of which each has so many; as far as they are there.
    fn elements(&self, number: usize, width: usize) -> Option<(usize, &'b [u8])> {
        self.file.elements(self.file.target(self.field(number)?)?, width)
    }

    /// The bytes of a vector; none where the table lacks it.
    pub fn bytes(&self, number: usize) -> &'b [u8] {
        self.elements(number, 1).map_or(&[], |(_, bytes)| bytes)
    }

    /// A text; it is empty where the table lacks it.
    pub fn text(&self, number: usize) -> std::borrow::Cow<'b, str> {
        String::from_utf8_lossy(self.bytes(number))
    }

    /// The numbers of a vector; none where the table lacks it.
    pub fn i32s(&self, number: usize) -> impl ExactSizeIterator<Item = i32> + use<'b> {
        let bytes = self.elements(number, 4).map_or(&[][..], |(_, bytes)| bytes);
        bytes.as_chunks().0.iter().map(|chunk| i32::from_le_bytes(*chunk))
    }

    /// The numbers of a vector; none where the table lacks it.
    pub fn u32s(&self, number: usize) -> impl ExactSizeIterator<Item = u32> + use<'b> {
        self.i32s(number).map(i32::cast_unsigned)
    }

    /// The structures of two numbers each of a vector; none where the table lacks it.
    pub fn pairs(&self, number: usize) -> impl ExactSizeIterator<Item = [u32; 2]> + use<'b> {
        let bytes = self.elements(number, 8).map_or(&[][..], |(_, bytes)| bytes);
        let pair = |chunk: &[u8; 8]| {
            let number = u64::from_le_bytes(*chunk);
            [number as u32, (number >> 32) as u32]
        };
        bytes.as_chunks().0.iter().map(pair)
    }

    /// The numbers of a vector; none where the table lacks it.
    pub fn f32s(&self, number: usize) -> impl ExactSizeIterator<Item = f32> + use<'b> {
        let bytes = self.elements(number, 4).map_or(&[][..], |(_, bytes)| bytes);
        bytes.as_chunks().0.iter().map(|chunk| f32::from_le_bytes(*chunk))
    }

    /// The numbers of a vector; none where the table lacks it.
    pub fn i64s(&self, number: usize) -> impl ExactSizeIterator<Item = i64> + use<'b> {
        let bytes = self.elements(number, 8).map_or(&[][..], |(_, bytes)| bytes);
        bytes.as_chunks().0.iter().map(|chunk| i64::from_le_bytes(*chunk))
    }

    /// The tables of a vector, each at its place; `None` stands for one that can't be read.
    pub fn tables(&self, number: usize) -> impl ExactSizeIterator<Item = Option<Self>> + use<'b> {
        let file = self.file;
        let (start, bytes) = self.elements(number, 4).unwrap_or((0, &[]));
        (0..bytes.len() / 4).map(move |place| Self::at(file, file.target(start + 4 * place)?))
    }

    /// The text at a place of a vector.
    pub fn text_of(&self, number: usize, place: usize) -> Option<std::borrow::Cow<'b, str>> {
        let (start, bytes) = self.elements(number, 4)?;
        let at = place.checked_mul(4).filter(|at| *at < bytes.len())?;
        let (_, text) = self.file.elements(self.file.target(start + at)?, 1)?;
        Some(String::from_utf8_lossy(text))
    }

    /// The table at a place of a vector.
    pub fn table_of(&self, number: usize, place: usize) -> Option<Self> {
        let (start, bytes) = self.elements(number, 4)?;
        let at = place.checked_mul(4).filter(|at| *at < bytes.len())?;
        Self::at(self.file, self.file.target(start + at)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A root table with a number, a text, and a vector of itself.
    const SMALL: [u8; 52] = [
        20, 0, 0, 0, b'T', b'F', b'L', b'3', 10, 0, 16, 0, 4, 0, 8, 0, 12, 0, 0, 0, 12, 0, 0, 0, 7, 0, 0, 0,
        8, 0, 0, 0, 12, 0, 0, 0, 2, 0, 0, 0, b'h', b'i', 0, 0, 1, 0, 0, 0, 228, 255, 255, 255,
    ];

    #[test]
    fn fields_are_found_and_those_that_lead_out_are_counted() {
        let file = File::new(&SMALL);
        let root = file.root().unwrap();
        assert_eq!((root.u32(0), &*root.text(1), root.i32(3)), (7, "hi", None));
        assert_eq!(root.tables(2).len(), 1);
        assert_eq!(file.faults(), (0, 0));
        // An unsigned distance can't lead back: the vector's only element leads out.
        assert!(root.tables(2).next().unwrap().is_none());
        assert_eq!(file.faults().0, 1);
        let mut long = SMALL;
        long[36..40].copy_from_slice(&u32::MAX.to_le_bytes());
        let file = File::new(&long);
        assert_eq!(file.root().unwrap().bytes(1).len(), 12);
        assert_eq!(file.faults(), (1, 36));
        assert!(file.slice(u64::MAX, 1).is_none() && file.slice(50, 2).is_some());
    }

    #[test]
    fn any_damage_is_survived() {
        for at in 0..SMALL.len() {
            for value in [0, 1, 3, 0x7f, 0x80, 0xff] {
                let mut damaged = SMALL;
                damaged[at] = value;
                for end in [at, SMALL.len()] {
                    let file = File::new(&damaged[..end]);
                    let Some(root) = file.root() else { continue };
                    let _ =
                        (root.u8(0), root.u64(0), root.f32(1), root.text(1), root.table(1), root.table(2));
                    let _ = (
                        root.i32s(2).count(),
                        root.i64s(2).count(),
                        root.f32s(1).count(),
                        root.pairs(2).count(),
                    );
                    let _ = (root.tables(1).flatten().count(), root.tables(2).flatten().count());
                    let _ = (root.table_of(2, usize::MAX), root.table_of(2, 0));
                }
            }
        }
    }
}
