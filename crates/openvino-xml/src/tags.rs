//! The tags of a document, one after the other.

use std::borrow::Cow;

use crate::attributes::Attributes;
use crate::find;

/// A tag, and the text up to the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag<'x> {
    /// The element's name.
    pub name: &'x [u8],
    /// The attributes as they stand.
    pub attributes: Attributes<'x>,
    /// Whether it ends an element.
    pub is_end: bool,
    /// Whether it is closed in itself. It counts as a beginning.
    pub is_empty: bool,
    /// The text behind it.
    pub text: &'x [u8],
}

impl<'x> Tag<'x> {
    /// The value of an attribute, with its entities as the characters that they stand for.
    pub fn attribute(&self, key: &str) -> Option<Cow<'x, str>> {
        self.attributes.get(key)
    }

    /// An attribute as a number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.attribute(key)?.trim().parse().ok()
    }

    /// The text behind it as a number.
    pub fn text_number(&self) -> Option<i64> {
        std::str::from_utf8(self.text.trim_ascii()).ok()?.parse().ok()
    }
}

/// The tags of a document, without judging whether they match. Comments and sections of characters are passed over.
#[derive(Clone, Debug)]
pub struct Tags<'x> {
    rest: &'x [u8],
}

impl<'x> Tags<'x> {
    /// The tags of a document, or of a part of it.
    pub fn of(xml: &'x [u8]) -> Self {
        Self { rest: xml }
    }
}

impl<'x> Iterator for Tags<'x> {
    type Item = Tag<'x>;

    fn next(&mut self) -> Option<Tag<'x>> {
        loop {
            let begin = self.rest.iter().position(|byte| *byte == b'<')?;
            let inside = &self.rest[begin + 1..];
            let passed_over: [(&[u8], &[u8]); 2] = [(b"!--", b"-->"), (b"![CDATA[", b"]]>")];
            let passed_over =
                passed_over.iter().find_map(|(begin, end)| Some((inside.strip_prefix(*begin)?, end)));
            if let Some((content, end)) = passed_over {
                self.rest = &content[find(content, end)? + end.len()..];
                continue;
            }
            let length = end_of_tag(inside)?;
            self.rest = &inside[length + 1..];
            let content = &inside[..length];
            let (is_end, content) = content.strip_prefix(b"/").map_or((false, content), |rest| (true, rest));
            let length = content.iter().position(|byte| byte.is_ascii_whitespace() || *byte == b'/');
            let (name, attributes) = content.split_at(length.unwrap_or(content.len()));
            let text = self.rest.iter().position(|byte| *byte == b'<').unwrap_or(self.rest.len());
            return Some(Tag {
                name,
                attributes: Attributes::of(attributes),
                is_end,
                is_empty: attributes.ends_with(b"/"),
                text: &self.rest[..text],
            });
        }
    }
}

/// Where a tag ends. A bracket within quotes ends nothing.
fn end_of_tag(inside: &[u8]) -> Option<usize> {
    let mut quote = None;
    inside.iter().position(|byte| match (quote, byte) {
        (None, b'>') => true,
        (None, b'"' | b'\'') => {
            quote = Some(*byte);
            false
        }
        (Some(mark), byte) => {
            quote = (mark != *byte).then_some(mark);
            false
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn tags_come_in_order_and_nothing_within_comments_or_quotes_is_one() {
        let xml = b"<?xml?><!-- <a> --><b x=\"<c> /\"/><![CDATA[<d>]]><e>7</e><f";
        let tags: Vec<_> = Tags::of(xml).map(|tag| (tag.name, tag.is_end, tag.is_empty)).collect();
        assert_eq!(
            tags,
            [(&b"?xml?"[..], false, false), (b"b", false, true), (b"e", false, false), (b"e", true, false)]
        );
        assert_eq!(Tags::of(b"<dim> 64\n</dim>").next().and_then(|tag| tag.text_number()), Some(64));
    }

    proptest! {
        #[test]
        fn any_bytes_are_gone_through(bytes in "[<>/='\" !a&;-]{0,64}") {
            for tag in Tags::of(bytes.as_bytes()) {
                prop_assert!(tag.attributes.count() <= bytes.len());
            }
        }
    }
}
