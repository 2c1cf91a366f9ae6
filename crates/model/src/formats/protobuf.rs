//! The fields of protocol buffers where they lie, without copies: messages are walked by whoever knows them.
//!
//! | bytes | field |
//! |---|---|
//! | varint | number · 8 + kind; kinds: 0 varint, 1 eight bytes, 2 a length (varint) and as many bytes, 5 four bytes |
//!
//! The layout is that of the public encoding guide. Nothing recurses here, so that depth costs nothing.

use std::borrow::Cow;

use super::FormatError;

/// A message, or any bytes of a file, with their place in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'b> {
    /// The content.
    pub bytes: &'b [u8],
    /// Where in the file it begins.
    pub offset: usize,
}

/// The value of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wire<'b> {
    Varint(u64),
    Fixed32(u32),
    Fixed64(u64),
    Bytes(Message<'b>),
}

impl<'b> Wire<'b> {
    /// A number of the kinds that are sent as varints.
    pub fn int(self) -> i64 {
        match self {
            Self::Varint(value) | Self::Fixed64(value) => value as i64,
            Self::Fixed32(value) => value.into(),
            Self::Bytes(_) => 0,
        }
    }

    /// The bytes of a message, text or packed list; nothing of a number.
    pub fn message(self) -> Message<'b> {
        match self {
            Self::Bytes(message) => message,
            _ => Message { bytes: &[], offset: 0 },
        }
    }

    pub fn text(self) -> Cow<'b, str> {
        String::from_utf8_lossy(self.message().bytes)
    }

    pub fn float(self) -> f32 {
        match self {
            Self::Fixed32(bits) => f32::from_bits(bits),
            _ => 0.0,
        }
    }

    /// Adds the numbers of a repeated field, which may be packed into one.
    pub fn push_ints(self, into: &mut Vec<i64>) {
        match self {
            Self::Bytes(message) => {
                let mut rest = message.bytes;
                while let Some(value) = varint(&mut rest) {
                    into.push(value as i64);
                }
            }
            other => into.push(other.int()),
        }
    }

    /// Adds the numbers of a repeated field of single precision, which may be packed into one.
    pub fn push_floats(self, into: &mut Vec<f32>) {
        match self {
            Self::Bytes(message) => {
                into.extend(message.bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)));
            }
            other => into.push(other.float()),
        }
    }
}

impl<'b> Message<'b> {
    pub fn new(bytes: &'b [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// The fields in order.
    pub fn fields(self) -> Fields<'b> {
        Fields { rest: self.bytes, offset: self.offset, fault: None }
    }

    /// The fields in order, for those who keep what is there and need not tell of damage.
    pub fn each(self) -> impl Iterator<Item = (u64, Wire<'b>)> {
        let mut fields = self.fields();
        std::iter::from_fn(move || fields.next())
    }

    /// The first field of a number.
    pub fn field(self, number: u64) -> Option<Wire<'b>> {
        self.each().find(|(found, _)| *found == number).map(|(_, value)| value)
    }

    /// The message or text in the first field of a number; empty if there is none.
    pub fn sub(self, number: u64) -> Self {
        self.field(number).map_or(Self { bytes: &[], offset: self.offset }, Wire::message)
    }
}

/// The fields of a message. The last one may be cut off; then its beginning is given.
#[derive(Debug)]
pub(crate) struct Fields<'b> {
    rest: &'b [u8],
    offset: usize,
    /// The first thing that is wrong, after which no field comes.
    pub fault: Option<FormatError>,
}

impl<'b> Fields<'b> {
    fn fail<T>(&mut self, text: &str) -> Option<T> {
        self.fault = Some(FormatError::at(self.offset, text));
        self.rest = &[];
        None
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'b> Iterator for Fields<'b> {
    type Item = (u64, Wire<'b>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let before = self.rest.len();
        let start = self.offset;
        let Some(tag) = varint(&mut self.rest) else { return self.fail("a field's number is cut off") };
        let number = tag >> 3;
        let value = match tag & 7 {
            _ if number == 0 => return self.fail("the bytes are no field of a message"),
            0 => varint(&mut self.rest).map(Wire::Varint),
            1 => {
                self.take(8).and_then(|eight| Some(Wire::Fixed64(u64::from_le_bytes(eight.try_into().ok()?))))
            }
            5 => self.take(4).and_then(|four| Some(Wire::Fixed32(u32::from_le_bytes(four.try_into().ok()?)))),
            2 => match varint(&mut self.rest) {
                None => None,
                Some(length) => {
                    let offset = start + (before - self.rest.len());
                    let whole = usize::try_from(length).ok().filter(|length| *length <= self.rest.len());
                    let bytes = match whole {
                        Some(length) => self.take(length).unwrap_or_default(),
                        None => {
                            let text = format!(
                                "a field claims {length} bytes, and only {} are there",
                                self.rest.len()
                            );
                            self.fault = Some(FormatError::at(start, text));
                            std::mem::take(&mut self.rest)
                        }
                    };
                    Some(Wire::Bytes(Message { bytes, offset }))
                }
            },
            _ => return self.fail("the bytes are no field of a message"),
        };
        let Some(value) = value else { return self.fail("a field is cut off") };
        self.offset = start + (before - self.rest.len());
        Some((number, value))
    }
}

/// A number in groups of seven bits, the lowest first.
pub(crate) fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let (first, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(first & 0x7f).checked_shl(shift).unwrap_or(0);
        if *first < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_all_kinds_are_read_where_they_lie() {
        let bytes = [8, 150, 1, 0x12, 2, b'h', b'i', 0x1d, 0, 0, 0x80, 0x3f, 0x21, 1, 0, 0, 0, 0, 0, 0, 0];
        let mut fields = Message::new(&bytes, 100).fields();
        let (number, value) = fields.next().unwrap();
        assert_eq!((number, value.int()), (1, 150));
        let (_, value) = fields.next().unwrap();
        assert_eq!((&*value.text(), value.message().offset), ("hi", 105));
        assert_eq!(fields.next().unwrap().1.float(), 1.0);
        assert_eq!(fields.next().unwrap().1.int(), 1);
        assert!(fields.next().is_none() && fields.fault.is_none());
    }

    #[test]
    fn a_cut_field_gives_its_beginning_and_is_told_with_its_offset() {
        let mut fields = Message::new(&[0x0a, 9, b'a', b'b'], 7).fields();
        assert_eq!(fields.next().unwrap().1.text(), "ab");
        assert!(fields.next().is_none());
        assert!(matches!(fields.fault, Some(FormatError::At { offset: 7, .. })), "{:?}", fields.fault);
        let mut fields = Message::new(&[0x0b, 1], 0).fields();
        assert!(fields.next().is_none() && fields.fault.is_some(), "groups are no fields of these messages");
    }

    #[test]
    fn lists_of_numbers_may_be_packed_or_not() {
        let (mut ints, mut floats) = (Vec::new(), Vec::new());
        for (_, value) in Message::new(&[0x08, 5, 0x0a, 3, 1, 0x96, 1], 0).each() {
            value.push_ints(&mut ints);
        }
        assert_eq!(ints, [5, 1, 150]);
        for (_, value) in Message::new(&[0x0a, 4, 0, 0, 0x80, 0x3f], 0).each() {
            value.push_floats(&mut floats);
        }
        assert_eq!(floats, [1.0]);
    }
}
