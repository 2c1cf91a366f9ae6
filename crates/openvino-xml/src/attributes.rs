//! The attributes of a tag.

use std::borrow::Cow;

/// Attributes as they stand in a tag: each a name and a value in quotes. Those behind a broken one are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes<'x> {
    rest: &'x [u8],
}

impl<'x> Attributes<'x> {
    pub(crate) fn of(text: &'x [u8]) -> Self {
        Self { rest: text }
    }

    /// The value of an attribute, with its entities as the characters that they stand for.
    pub fn get(mut self, key: &str) -> Option<Cow<'x, str>> {
        self.find(|(name, _)| *name == key.as_bytes()).map(|(_, value)| plain(value))
    }

    /// All of them with their values as texts.
    pub fn texts(self) -> impl Iterator<Item = (Cow<'x, str>, Cow<'x, str>)> {
        self.map(|(name, value)| (String::from_utf8_lossy(name), plain(value)))
    }
}

/// Names and values as they stand, with their entities.
impl<'x> Iterator for Attributes<'x> {
    type Item = (&'x [u8], &'x [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.trim_ascii_start();
        let equals = rest.iter().position(|byte| *byte == b'=')?;
        let name = rest[..equals].trim_ascii();
        let value = rest[equals + 1..].trim_ascii_start();
        let (mark, value) = value.split_first().filter(|(mark, _)| matches!(mark, b'"' | b'\''))?;
        let end = value.iter().position(|byte| byte == mark)?;
        self.rest = &value[end + 1..];
        Some((name, &value[..end]))
    }
}

/// A text with its entities as characters: the five that XML has, and numbers. Others stay as they are.
fn plain(text: &[u8]) -> Cow<'_, str> {
    let text = String::from_utf8_lossy(text);
    if !text.contains('&') {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest entity, a number, has ten letters.
        let end = rest.bytes().take(12).position(|byte| byte == b';');
        match end.and_then(|end| Some((character(&rest[1..end])?, end))) {
            Some((character, end)) => {
                plain.push(character);
                rest = &rest[end + 1..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

fn character(entity: &str) -> Option<char> {
    Some(match entity {
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "amp" => '&',
        _ => {
            let number = entity.strip_prefix('#')?;
            let number = match number.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(number)?
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_whole_and_with_their_entities() {
        let attributes = Attributes::of(br#" a="1" name = 'x &amp; "y"' execName="z>" "#);
        assert_eq!(attributes.get("name").as_deref(), Some("x & \"y\""));
        assert_eq!(attributes.get("execName").as_deref(), Some("z>"));
        assert_eq!(attributes.get("y"), None);
        assert_eq!(Attributes::of(b"name").get("name"), None);
        assert_eq!(Attributes::of(b"name=\"cut").get("name"), None);
        assert_eq!(attributes.texts().count(), 3);
    }

    #[test]
    fn entities_of_xml_are_characters_and_others_stay() {
        let read = |text: &str| plain(text.as_bytes()).into_owned();
        assert_eq!(read("a&lt;b&#10;c&#x41;&amp;lt;"), "a<b\ncA&lt;");
        assert_eq!(read("&bomb; & &; &#; &#xFFFFFFFF; &é;"), "&bomb; & &; &#; &#xFFFFFFFF; &é;");
    }
}
