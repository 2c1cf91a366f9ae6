//! The wire format of protocol buffers: the fields of a message as they stand in its bytes, and back
//! (protobuf.dev, "Encoding").
//!
//! A field is a tag, a varint whose lower three bits are the kind and whose others are the field's number, and
//! a value:
//!
//! | kind | value |
//! |---|---|
//! | 0 | a varint: seven bits a byte, the lowest first, the eighth bit set where more follow |
//! | 1 | eight bytes, the lowest first |
//! | 2 | a varint that tells how many bytes follow: text, bytes, a message, a list of numbers |
//! | 5 | four bytes, the lowest first |
//!
//! Kinds 3 and 4, which enclosed groups, are written by nobody any more, and count as damage. Nothing is decoded
//! that nobody asks for, nothing is copied, and nothing recurses, so that neither size nor depth costs anything.
//!
//! ```
//! use opscope_protobuf::{Fields, Value, push_bytes, push_number};
//!
//! let mut message = Vec::new();
//! push_number(&mut message, 1, 300);
//! push_bytes(&mut message, 2, b"conv");
//! let fields: Result<Vec<_>, _> = Fields::of(&message).collect();
//! assert_eq!(fields, Ok(vec![(1, Value::Number(300)), (2, Value::Bytes(b"conv"))]));
//! ```

/// A value as it stands in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A varint; negative numbers are their two's complement.
    Number(u64),
    /// Eight bytes as a number.
    Fixed64(u64),
    /// Text, bytes, a message, or a list of numbers.
    Bytes(&'a [u8]),
    /// Four bytes as a number.
    Fixed32(u32),
}

impl<'a> Value<'a> {
    /// The bytes; nothing of a number.
    pub fn bytes(self) -> &'a [u8] {
        if let Self::Bytes(bytes) = self { bytes } else { &[] }
    }

    /// The number, of whatever width; 0 of bytes.
    pub fn number(self) -> u64 {
        match self {
            Self::Number(number) | Self::Fixed64(number) => number,
            Self::Fixed32(number) => u64::from(number),
            Self::Bytes(_) => 0,
        }
    }

    /// The floating-point number of four bytes; 0 of anything else.
    pub fn single(self) -> f32 {
        if let Self::Fixed32(bits) = self { f32::from_bits(bits) } else { 0.0 }
    }

    /// The number as a signed one.
    pub fn signed(self) -> i64 {
        self.number().cast_signed()
    }

    /// The floating-point number of eight or four bytes; a varint's own value.
    pub fn double(self) -> f64 {
        match self {
            Self::Fixed64(bits) => f64::from_bits(bits),
            Self::Fixed32(bits) => f64::from(f32::from_bits(bits)),
            other => other.number() as f64,
        }
    }

    /// The numbers of a list, packed into bytes as varints or standing alone.
    pub fn numbers(self) -> impl Iterator<Item = u64> + 'a {
        let (mut alone, mut packed) = match self {
            Self::Bytes(bytes) => (None, bytes),
            number => (Some(number.number()), &[] as &[u8]),
        };
        std::iter::from_fn(move || {
            alone.take().or_else(|| {
                let (number, length) = varint(packed)?;
                packed = &packed[length..];
                Some(number)
            })
        })
    }

    /// As [`numbers`](Self::numbers), of numbers that take eight bytes each.
    pub fn fixed_numbers(self) -> impl Iterator<Item = u64> + 'a {
        let (alone, packed) = match self {
            Self::Bytes(bytes) => (None, bytes),
            number => (Some(number.number()), &[] as &[u8]),
        };
        let words = packed.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(*word.first_chunk()?)));
        alone.into_iter().chain(words)
    }
}

/// A message that can't be read further, and the byte of it at which that showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The bytes end within a field that begins here.
    Cut(usize),
    /// No field begins here.
    Malformed(usize),
}

/// The fields of a message, in their order; the last item is the fault that ended it before its time.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// The fields of a message.
    pub fn of(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Where the next field begins.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Number and begin of the bytes of a field that the message breaks off within, which began at the byte that a
    /// [`Fault::Cut`] tells. Nothing if it isn't one of bytes, or not even their length is there.
    pub fn cut_content(&self, start: usize) -> Option<(u32, &'a [u8])> {
        let (tag, tag_length) = varint(self.bytes.get(start..)?)?;
        let rest = &self.bytes[start + tag_length..];
        let (_, length_length) = varint(rest).filter(|_| tag & 7 == 2)?;
        Some((u32::try_from(tag >> 3).ok()?, &rest[length_length..]))
    }

    #[inline]
    fn field(&mut self) -> Result<(u32, Value<'a>), Fault> {
        let start = self.at;
        let tag = self.varint(start)?;
        let number = u32::try_from(tag >> 3).map_err(|_| Fault::Malformed(start))?;
        if number == 0 {
            return Err(Fault::Malformed(start));
        }
        let value = match tag & 7 {
            0 => Value::Number(self.varint(start)?),
            1 => Value::Fixed64(u64::from_le_bytes(self.array(start)?)),
            5 => Value::Fixed32(u32::from_le_bytes(self.array(start)?)),
            2 => {
                let length = self.varint(start)?;
                let rest = &self.bytes[self.at..];
                let bytes = usize::try_from(length).ok().and_then(|length| rest.get(..length));
                let bytes = bytes.ok_or(Fault::Cut(start))?;
                self.at += bytes.len();
                Value::Bytes(bytes)
            }
            _ => return Err(Fault::Malformed(start)),
        };
        Ok((number, value))
    }

    #[inline]
    fn varint(&mut self, start: usize) -> Result<u64, Fault> {
        let rest = &self.bytes[self.at..];
        let (number, length) = match rest.first() {
            Some(&byte) if byte < 0x80 => (u64::from(byte), 1),
            // Ten bytes hold the longest.
            _ => varint(rest).ok_or(if rest.len() < 10 {
                Fault::Cut(start)
            } else {
                Fault::Malformed(start)
            })?,
        };
        self.at += length;
        Ok(number)
    }

    #[inline]
    fn array<const N: usize>(&mut self, start: usize) -> Result<[u8; N], Fault> {
        let array = self.bytes[self.at..].first_chunk().ok_or(Fault::Cut(start))?;
        self.at += N;
        Ok(*array)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Fault>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.at = self.bytes.len();
        }
        Some(field)
    }
}

/// A varint and the number of its bytes; nothing if it has no end.
#[inline]
pub fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    /// The highest bits of all bytes of a word.
    const HIGHEST: u64 = 0x8080_8080_8080_8080;
    // Nearly all end within a word, whose bits are brought together at once: those of neighbouring bytes, of
    // neighbouring pairs, of both halves.
    if let Some(word) = bytes.first_chunk().map(|word| u64::from_le_bytes(*word)) {
        let ends = !word & HIGHEST;
        if ends != 0 {
            let bits = ends.trailing_zeros() + 1;
            let word = word & u64::MAX >> (64 - bits) & !HIGHEST;
            let word = word & 0x007f_007f_007f_007f | (word & 0x7f00_7f00_7f00_7f00) >> 1;
            let word = word & 0x0000_3fff_0000_3fff | (word & 0x3fff_0000_3fff_0000) >> 2;
            let word = word & 0x0fff_ffff | (word & 0x0fff_ffff_0000_0000) >> 4;
            return Some((word, bits as usize / 8));
        }
    }
    varint_by_bytes(bytes)
}

/// As [`varint`], where it is longer than a word, or the bytes end.
fn varint_by_bytes(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0_u64;
    for (index, &byte) in bytes.iter().take(10).enumerate() {
        // The tenth byte has more bits than there is room for; they are left out.
        number |= u64::from(byte & 0x7f) << (7 * index as u32);
        if byte < 0x80 {
            return Some((number, index + 1));
        }
    }
    None
}

/// Appends a varint.
#[inline]
pub fn push_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Appends a field that is a varint.
#[inline]
pub fn push_number(out: &mut Vec<u8>, field: u32, number: u64) {
    push_varint(out, u64::from(field) << 3);
    push_varint(out, number);
}

/// Appends a field of eight bytes.
pub fn push_fixed64(out: &mut Vec<u8>, field: u32, number: u64) {
    push_varint(out, u64::from(field) << 3 | 1);
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a field of four bytes.
pub fn push_fixed32(out: &mut Vec<u8>, field: u32, number: u32) {
    push_varint(out, u64::from(field) << 3 | 5);
    out.extend_from_slice(&number.to_le_bytes());
}

/// Appends a field that is text, bytes or a message.
#[inline]
pub fn push_bytes(out: &mut Vec<u8>, field: u32, bytes: &[u8]) {
    push_varint(out, u64::from(field) << 3 | 2);
    push_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Appends a field that is a message, which `fill` makes.
pub fn push_message(out: &mut Vec<u8>, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut message = Vec::new();
    fill(&mut message);
    push_bytes(out, field, &message);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_field_comes_back() {
        let mut message = Vec::new();
        push_number(&mut message, 1, u64::MAX);
        push_fixed64(&mut message, 16, 2.5_f64.to_bits());
        push_fixed32(&mut message, 3, 1);
        push_message(&mut message, 4, |inner| push_number(inner, 1, 300));
        let fields: Vec<_> = Fields::of(&message).map(Result::unwrap).collect();
        assert_eq!(fields[0].1.signed(), -1);
        assert_eq!((fields[1].0, fields[1].1.double()), (16, 2.5));
        assert_eq!(fields[2], (3, Value::Fixed32(1)));
        assert_eq!(Fields::of(fields[3].1.bytes()).next(), Some(Ok((1, Value::Number(300)))));
    }

    #[test]
    fn numbers_of_every_length_come_back_wherever_the_bytes_end() {
        for bits in 0..64 {
            for number in [1_u64 << bits, u64::MAX >> bits, 0x5555_5555_5555_5555 >> bits] {
                let mut bytes = Vec::new();
                push_varint(&mut bytes, number);
                let length = bytes.len();
                for behind in 0..10 {
                    assert_eq!(varint(&bytes), Some((number, length)), "{number}, and {behind} bytes behind");
                    bytes.push(if behind % 2 == 0 { 0xff } else { 0 });
                }
                assert_eq!(varint(&bytes[..length - 1]), None);
            }
        }
    }

    #[test]
    fn lists_of_numbers_are_read_packed_and_alone() {
        let packed: Vec<u64> = Value::Bytes(&[1, 0xac, 0x02, 0x80]).numbers().collect();
        assert_eq!(packed, [1, 300], "the last has no end");
        assert_eq!(Value::Number(7).numbers().collect::<Vec<_>>(), [7]);
        let fixed = [[1_u8, 0, 0, 0, 0, 0, 0, 0], [2, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert_eq!(Value::Bytes(&fixed).fixed_numbers().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_message_that_is_cut_off_or_damaged_says_where() {
        fn last(bytes: &[u8]) -> Option<Result<(u32, Value<'_>), Fault>> {
            Fields::of(bytes).last()
        }
        assert_eq!(last(&[8, 1, 0x12, 5, b'a']), Some(Err(Fault::Cut(2))));
        assert_eq!(Fields::of(&[8, 1, 0x12, 5, b'a']).cut_content(2), Some((2, &b"a"[..])));
        assert_eq!(Fields::of(&[8, 1, 0x12]).cut_content(2), None);
        assert_eq!(last(&[8, 0x80]), Some(Err(Fault::Cut(0))));
        assert_eq!(last(&[8, 1, 0x0b]), Some(Err(Fault::Malformed(2))));
        assert_eq!(last(&[0, 1]), Some(Err(Fault::Malformed(0))));
        assert_eq!(last(&[0xff; 12]), Some(Err(Fault::Malformed(0))));
        let endless = [&[0x12_u8][..], &[0xff; 9], &[0x01]].concat();
        assert_eq!(last(&endless), Some(Err(Fault::Cut(0))), "more bytes than there can be");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_to_an_end(bytes: Vec<u8>) {
            for (_, value) in Fields::of(&bytes).flatten() {
                let _ = (value.numbers().count(), value.fixed_numbers().count(), value.double());
            }
        }
    }
}
