//! Messages of protocol buffers by the names of their fields, as texts and JSON have them, written as they stand on
//! the wire. So a model that is there in several forms is read by one reader.
//!
//! A schema lists the fields that somebody reads; all others are passed over, weights among them. The form of the
//! text calls [`Writer`] with each field as it comes, so that nothing is kept but the bytes on the wire.

use std::borrow::Cow;

use opscope_protobuf::{push_bytes, push_fixed32, push_number, push_varint};

use super::assembly::Told;
use super::text::Sink;

/// The fields of a message that are read.
#[derive(Debug)]
pub(crate) struct Schema(pub &'static [Field]);

/// A field: its name in texts, its number on the wire, and its kind.
#[derive(Debug)]
pub(crate) struct Field {
    pub name: &'static str,
    pub number: u32,
    pub kind: Kind,
}

/// The kind of a field. Whether it is one of several doesn't matter: each value is a field of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Text.
    Text,
    /// Bytes, which JSON has as text with signs behind backslashes. Those of weights are longer than
    /// [`LONGEST_BYTES`], and left out.
    Bytes,
    Integer,
    Float,
    Truth,
    /// A number that texts have by a name.
    Named(fn(&str) -> Option<u64>),
    Message(&'static Schema),
    /// A message that says too little of itself where the file ends within it.
    Whole(&'static Schema),
}

/// The longest bytes that are kept; names and lists of words are shorter, weights longer.
const LONGEST_BYTES: usize = 64 << 10;

/// The bytes in front of a message in which its length is put when it ends. Five have room for 32 GiB.
const LENGTH: [u8; 5] = [0x80, 0x80, 0x80, 0x80, 0];

/// A message on the wire, as it is written field by field.
#[derive(Debug)]
pub(crate) struct Writer {
    out: Vec<u8>,
    open: Vec<Open>,
    /// The messages that are open within one that nobody reads, with that.
    passed: usize,
    /// Values that are none of their field's kind.
    odd: Told,
}

#[derive(Debug)]
struct Open {
    schema: &'static Schema,
    /// Where the field begins.
    field: usize,
    /// Where the content begins, behind the length.
    content: usize,
    is_whole: bool,
}

impl Field {
    pub const fn new(name: &'static str, number: u32, kind: Kind) -> Self {
        Self { name, number, kind }
    }
}

impl Schema {
    fn field(&self, name: &str) -> Option<&'static Field> {
        self.0.iter().find(|field| field.name == name)
    }
}

impl Writer {
    pub fn new(schema: &'static Schema) -> Self {
        let whole = Open { schema, field: 0, content: 0, is_whole: false };
        Self { out: Vec::new(), open: vec![whole], passed: 0, odd: Told::default() }
    }

    /// The field of a name in the message that is open; `None` if nobody reads it.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        match self.passed {
            0 => self.open.last()?.schema.field(name),
            _ => None,
        }
    }

    /// Begins the message of a field.
    pub fn enter(&mut self, field: Option<&'static Field>) {
        let (Some(field), 0) = (field, self.passed) else {
            self.passed += 1;
            return;
        };
        let (schema, is_whole) = match field.kind {
            Kind::Message(schema) => (schema, false),
            Kind::Whole(schema) => (schema, true),
            _ => {
                self.odd.add(|| field.name.to_owned());
                self.passed += 1;
                return;
            }
        };
        let begin = self.out.len();
        push_varint(&mut self.out, u64::from(field.number) << 3 | 2);
        self.out.extend_from_slice(&LENGTH);
        self.open.push(Open { schema, field: begin, content: self.out.len(), is_whole });
    }

    /// Ends the message that was begun last.
    pub fn leave(&mut self) {
        if self.passed > 0 {
            self.passed -= 1;
        } else if self.open.len() > 1
            && let Some(open) = self.open.pop()
        {
            self.end(&open);
        }
    }

    fn end(&mut self, open: &Open) {
        let mut length = self.out.len() - open.content;
        for byte in &mut self.out[open.content - LENGTH.len()..open.content] {
            *byte |= length as u8 & 0x7f;
            length >>= 7;
        }
    }

    /// A value that stands without quotes: a number, a truth, or the name of a number.
    pub fn value(&mut self, field: &'static Field, word: &str) {
        let number = match field.kind {
            Kind::Integer => integer(word),
            Kind::Named(number) => number(word).or_else(|| integer(word)),
            Kind::Truth => truth(word),
            Kind::Float => {
                if let Ok(number) = word.trim_end_matches(['f', 'F']).parse::<f32>() {
                    return push_fixed32(&mut self.out, field.number, number.to_bits());
                }
                None
            }
            Kind::Text | Kind::Bytes => return push_bytes(&mut self.out, field.number, word.as_bytes()),
            Kind::Message(_) | Kind::Whole(_) => None,
        };
        match number {
            Some(number) => self.number(field, number),
            None => self.odd.add(|| super::assembly::shortened(&format!("{} {word}", field.name))),
        }
    }

    /// A number as such.
    pub fn number(&mut self, field: &Field, number: u64) {
        push_number(&mut self.out, field.number, number);
    }

    /// A value in quotes, without those. Numbers may stand in quotes as well.
    pub fn quoted(&mut self, field: &'static Field, text: &[u8]) {
        match field.kind {
            Kind::Bytes if text.len() > LONGEST_BYTES => {}
            Kind::Text | Kind::Bytes => push_bytes(&mut self.out, field.number, text),
            _ => match str::from_utf8(text) {
                Ok(word) => self.value(field, word),
                Err(_) => self.odd.add(|| field.name.to_owned()),
            },
        }
    }

    /// The message. Where the text ended before its time, the innermost of the messages that count as a whole is
    /// left out, and those around it end here. Then a sentence about odd values, if there were any.
    pub fn finish(mut self, is_cut: bool) -> (Vec<u8>, Option<String>) {
        if is_cut && let Some(place) = self.open.iter().rposition(|open| open.is_whole) {
            self.out.truncate(self.open[place].field);
            self.open.truncate(place);
        }
        while self.open.len() > 1 {
            if let Some(open) = self.open.pop() {
                self.end(&open);
            }
        }
        (self.out, self.odd.sentence("{} of the values are none of their field's kind and were left out: {}"))
    }
}

impl<'t> Sink<'t> for Writer {
    /// None of them is kept by itself.
    const MOST_FIELDS: usize = usize::MAX;

    fn wants(&self, name: &str, bytes: usize) -> bool {
        // A sign behind a backslash takes up to four bytes.
        let is_short = |kind| !matches!(kind, Kind::Bytes) || bytes <= 4 * LONGEST_BYTES;
        self.field(name).is_some_and(|field| is_short(field.kind))
    }

    fn open(&mut self, name: &'t str) {
        self.enter(self.field(name));
    }

    fn close(&mut self) {
        self.leave();
    }

    fn word(&mut self, name: &'t str, word: &'t str) {
        if let Some(field) = self.field(name) {
            self.value(field, word);
        }
    }

    fn text(&mut self, name: &'t str, text: Cow<'t, [u8]>) {
        if let Some(field) = self.field(name) {
            self.quoted(field, &text);
        }
    }
}

fn integer(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse::<i64>().map(i64::cast_unsigned).or_else(|_| word.parse()).ok(),
    }
}

fn truth(word: &str) -> Option<u64> {
    match word {
        "true" | "True" | "t" | "1" => Some(1),
        "false" | "False" | "f" | "0" => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::protobuf::Message;
    use super::*;

    static OUTER: Schema = Schema(&[
        Field::new("name", 1, Kind::Text),
        Field::new("number", 2, Kind::Integer),
        Field::new("share", 3, Kind::Float),
        Field::new("is_on", 4, Kind::Truth),
        Field::new("colour", 5, Kind::Named(|word| (word == "RED").then_some(7))),
        Field::new("inner", 6, Kind::Whole(&OUTER)),
    ]);

    fn put(writer: &mut Writer, name: &str, word: &str) {
        writer.value(writer.field(name).unwrap(), word);
    }

    #[test]
    fn words_become_fields_of_their_kinds() {
        let mut writer = Writer::new(&OUTER);
        for (name, word) in [
            ("number", "-5"),
            ("number", "0x10"),
            ("number", "18446744073709551615"),
            ("share", "1.5f"),
            ("is_on", "true"),
            ("colour", "RED"),
            ("colour", "9"),
        ] {
            put(&mut writer, name, word);
        }
        for (name, word) in [("number", "many"), ("is_on", "maybe"), ("colour", "BLUE"), ("inner", "1")] {
            put(&mut writer, name, word);
        }
        let (bytes, odd) = writer.finish(false);
        let fields: Vec<_> = Message::new(&bytes, 0).each().collect();
        let ints: Vec<i64> =
            fields.iter().filter(|(field, _)| *field != 3).map(|(_, wire)| wire.int()).collect();
        assert_eq!(ints, [-5, 16, -1, 1, 7, 9]);
        assert_eq!(fields.iter().find(|(field, _)| *field == 3).unwrap().1.float(), 1.5);
        let odd = odd.unwrap();
        assert!(odd.starts_with("4 of the values") && odd.contains("number many"), "{odd}");
    }

    #[test]
    fn messages_get_their_lengths_and_unknown_ones_are_passed_over() {
        let mut writer = Writer::new(&OUTER);
        writer.enter(writer.field("inner"));
        writer.quoted(writer.field("name").unwrap(), &[b'n'; 300]);
        writer.enter(writer.field("unknown"));
        assert!(writer.field("name").is_none());
        writer.enter(None);
        writer.leave();
        writer.leave();
        put(&mut writer, "number", "3");
        writer.leave();
        put(&mut writer, "number", "4");
        writer.leave();
        let (bytes, odd) = writer.finish(false);
        assert_eq!(odd, None);
        let mut fields = Message::new(&bytes, 0).fields();
        let inner = fields.next().unwrap().1.message();
        assert_eq!((inner.field(1).unwrap().text().len(), inner.field(2).unwrap().int()), (300, 3));
        assert_eq!((fields.next().unwrap().1.int(), fields.next().is_none()), (4, true));
        assert_eq!(fields.fault, None);
    }

    #[test]
    fn a_message_in_which_the_text_ends_is_left_out_and_those_around_it_are_kept() {
        let mut writer = Writer::new(&OUTER);
        writer.enter(writer.field("inner"));
        put(&mut writer, "number", "1");
        writer.enter(writer.field("inner"));
        put(&mut writer, "number", "2");
        let (bytes, _) = writer.finish(true);
        let inner = Message::new(&bytes, 0).sub(6);
        assert_eq!(inner.each().map(|(field, wire)| (field, wire.int())).collect::<Vec<_>>(), [(2, 1)]);
    }
}
