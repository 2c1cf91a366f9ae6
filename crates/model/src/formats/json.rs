//! The JSON form of protocol buffers, read once from its beginning to its end.
//!
//! Fields have their names as they are declared. Repeated ones are arrays, and maps are arrays of `key` and `value`;
//! numbers may stand in quotes; bytes have signs behind backslashes, but for those in arrays; a message without
//! content is `null` in an array.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::FormatError;
use super::schema::{Field, Kind, Writer};
use super::text::unescaped;

/// Hands the fields of a message to its writer. Messages that are open when it stops were not closed.
///
/// # Errors
/// For the first thing that can't be read.
pub(crate) fn walk(bytes: &[u8], writer: &mut Writer) -> Result<(), FormatError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut document = serde_json::Deserializer::from_slice(bytes);
    let read = document.deserialize_map(Members(writer)).and_then(|()| document.end());
    read.map_err(|error| {
        let text = match error.is_eof() {
            true => "the file ends within its values".to_owned(),
            // The place stands at the end of the sentence.
            false => error.to_string().split(" at line ").next().unwrap_or_default().to_owned(),
        };
        FormatError::Line { line: error.line(), text }
    })
}

/// Takes the members of a message.
struct Members<'w>(&'w mut Writer);

impl<'de> Visitor<'de> for Members<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Self(writer) = self;
        while let Some(field) = members.next_key_seed(Name(writer))? {
            match field {
                Some(field) => members.next_value_seed(Content { writer, field, is_listed: false })?,
                None => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// Looks up the field of a member; `None` if nobody reads it.
struct Name<'w>(&'w Writer);

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Option<&'static Field>;

    fn deserialize<D: Deserializer<'de>>(self, name: D) -> Result<Self::Value, D::Error> {
        name.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Option<&'static Field>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a field")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(self.0.field(name))
    }
}

/// Takes the value of a field, or one of several.
struct Content<'w> {
    writer: &'w mut Writer,
    field: &'static Field,
    is_listed: bool,
}

impl<'de> DeserializeSeed<'de> for Content<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Content<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the value of a field")
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<(), E> {
        self.writer.value(self.field, if truth { "true" } else { "false" });
        Ok(())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        match self.field.kind {
            Kind::Integer | Kind::Named(_) => self.writer.number(self.field, number),
            _ => self.writer.value(self.field, &number.to_string()),
        }
        Ok(())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        match self.field.kind {
            Kind::Integer | Kind::Named(_) => self.writer.number(self.field, number.cast_unsigned()),
            _ => self.writer.value(self.field, &number.to_string()),
        }
        Ok(())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.writer.value(self.field, &number.to_string());
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let text = match self.field.kind {
            Kind::Bytes if !self.is_listed => unescaped(text.as_bytes()),
            _ => Cow::Borrowed(text.as_bytes()),
        };
        self.writer.quoted(self.field, &text);
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if self.is_listed && matches!(self.field.kind, Kind::Message(_) | Kind::Whole(_)) {
            self.writer.enter(Some(self.field));
            self.writer.leave();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<(), A::Error> {
        let Self { writer, field, .. } = self;
        while values.next_element_seed(Content { writer, field, is_listed: true })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<(), A::Error> {
        self.writer.enter(Some(self.field));
        Members(self.writer).visit_map(members)?;
        self.writer.leave();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::protobuf::Message;
    use super::super::schema::Schema;
    use super::*;

    static MODEL: Schema = Schema(&[
        Field::new("name", 1, Kind::Text),
        Field::new("s", 2, Kind::Bytes),
        Field::new("i", 3, Kind::Integer),
        Field::new("f", 4, Kind::Float),
        Field::new("b", 5, Kind::Truth),
        Field::new("op", 6, Kind::Whole(&MODEL)),
    ]);

    fn read(json: &str) -> (Vec<u8>, Result<(), FormatError>) {
        let mut writer = Writer::new(&MODEL);
        let read = walk(json.as_bytes(), &mut writer);
        (writer.finish(read.is_err()).0, read)
    }

    #[test]
    fn members_become_fields_and_what_nobody_reads_is_passed_over() {
        let json = r#"{"op": [{"i": [1, "2", -3]}, null, {"f": "1e-05", "more": {"i": 4}}],
            "name": "a\\n\u00e4", "s": "\\344\\\"", "b": true, "data": [[{}], null, 1.5], "f": 2}"#;
        let (bytes, read) = read(json);
        assert_eq!(read, Ok(()));
        let fields: Vec<_> = Message::new(&bytes, 0).each().collect();
        assert_eq!(fields.iter().map(|(field, _)| *field).collect::<Vec<_>>(), [6, 6, 6, 1, 2, 5, 4]);
        let ints: Vec<i64> = fields[0].1.message().each().map(|(_, wire)| wire.int()).collect();
        assert_eq!(ints, [1, 2, -3]);
        assert!(fields[1].1.message().bytes.is_empty());
        assert_eq!(fields[2].1.message().each().map(|(_, it)| it.float()).collect::<Vec<_>>(), [1e-5]);
        assert_eq!(fields[3].1.text(), "a\\nä");
        assert_eq!(fields[4].1.message().bytes, [0o344, b'"']);
        assert_eq!((fields[5].1.int(), fields[6].1.float()), (1, 2.0));
    }

    #[test]
    fn damage_is_told_with_its_line_and_the_messages_before_are_kept() {
        for (json, line, word) in [
            ("{\"op\": [{\"i\": 1},\n{\"i\": 2", 2, "ends within"),
            ("{\"op\": [{\"i\": 1},\n{\"i\": x", 2, "expected value"),
            ("{\"op\": [{\"i\": 1}]}\n}", 2, "trailing"),
        ] {
            let (bytes, read) = read(json);
            let Err(FormatError::Line { line: found, text }) = read else { panic!("{json}") };
            assert!(found == line && text.contains(word), "{json}: {text} in {found}");
            assert_eq!(Message::new(&bytes, 0).each().count(), 1, "{json}");
        }
    }

    #[test]
    fn a_million_nested_arrays_and_messages_are_refused_or_passed_over_at_once() {
        let (_, refused) = read(&format!("{{\"op\": {}", "[".repeat(1_000_000)));
        assert!(refused.unwrap_err().to_string().contains("recursion limit"));
        let (_, refused) = read(&"{\"op\":".repeat(1_000_000));
        assert!(refused.unwrap_err().to_string().contains("recursion limit"));
        let (bytes, read) = read(&format!("{{\"more\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000)));
        assert_eq!((bytes.len(), read), (0, Ok(())));
    }
}
