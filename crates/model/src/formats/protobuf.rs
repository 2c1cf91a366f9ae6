//! Messages of a model's file with their places in it, so that a fault is told with its offset, and a message that
//! is cut off is read as far as it goes.

use std::borrow::Cow;

use opscope_protobuf::{Fault, Value};

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
pub(crate) struct Wire<'b> {
    value: Value<'b>,
    /// Where in the file its bytes begin, if it is of bytes.
    offset: usize,
}

impl<'b> Wire<'b> {
    /// A number of the kinds that are sent as varints.
    pub fn int(self) -> i64 {
        self.value.signed()
    }

    /// The bytes of a message, text or packed list; nothing of a number.
    pub fn message(self) -> Message<'b> {
        Message { bytes: self.value.bytes(), offset: self.offset }
    }

    pub fn text(self) -> Cow<'b, str> {
        String::from_utf8_lossy(self.value.bytes())
    }

    pub fn float(self) -> f32 {
        self.value.single()
    }

    /// Adds the numbers of a repeated field, which may be packed into one.
    pub fn push_ints(self, into: &mut Vec<i64>) {
        into.extend(self.value.numbers().map(u64::cast_signed));
    }

    /// Adds the numbers of a repeated field of single precision, which may be packed into one.
    pub fn push_floats(self, into: &mut Vec<f32>) {
        match self.value {
            Value::Bytes(bytes) => {
                into.extend(bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)));
            }
            number => into.push(number.single()),
        }
    }
}

impl<'b> Message<'b> {
    pub fn new(bytes: &'b [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    /// The fields in order.
    pub fn fields(self) -> Fields<'b> {
        Fields { fields: opscope_protobuf::Fields::of(self.bytes), offset: self.offset, fault: None }
    }

    /// The fields in order, for those who keep what is there and need not tell of damage.
    pub fn each(self) -> impl Iterator<Item = (u32, Wire<'b>)> {
        let mut fields = self.fields();
        std::iter::from_fn(move || fields.next())
    }

    /// The first field of a number.
    pub fn field(self, number: u32) -> Option<Wire<'b>> {
        self.each().find(|(found, _)| *found == number).map(|(_, value)| value)
    }

    /// The message or text in the first field of a number; empty if there is none.
    pub fn sub(self, number: u32) -> Self {
        self.field(number).map_or(Self { bytes: &[], offset: self.offset }, Wire::message)
    }
}

/// The fields of a message. The last one may be cut off; then its beginning is given.
#[derive(Debug)]
pub(crate) struct Fields<'b> {
    fields: opscope_protobuf::Fields<'b>,
    /// Where in the file the message begins.
    offset: usize,
    /// The first thing that is wrong, after which no field comes.
    pub fault: Option<FormatError>,
}

impl<'b> Iterator for Fields<'b> {
    type Item = (u32, Wire<'b>);

    fn next(&mut self) -> Option<Self::Item> {
        let (number, value) = match self.fields.next()? {
            Ok(field) => field,
            Err(Fault::Cut(start)) => {
                self.fault = Some(FormatError::at(self.offset + start, "a field is cut off"));
                let (number, bytes) = self.fields.cut_content(start)?;
                (number, Value::Bytes(bytes))
            }
            Err(Fault::Malformed(start)) => {
                let text = "the bytes are no field of a message";
                self.fault = Some(FormatError::at(self.offset + start, text));
                return None;
            }
        };
        // Behind a fault the position is the message's end, where a field that is cut off ends as well.
        let offset = self.offset + self.fields.position() - value.bytes().len();
        Some((number, Wire { value, offset }))
    }
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
