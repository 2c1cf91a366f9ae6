//! Attributes of GE's messages, of which newer files keep names and texts as numbers.
//!
//! A model with the attribute `om_compress_version` has lists of names (`attr_name_enum`) and texts
//! (`attr_value_enum`), and says of each name whether its values are such texts (`attrs_use_string_value`). A key
//! that begins with a zero byte is then a number in base 127, the lowest digit first, each plus one.
//!
//! | number | field of `AttrDef` |
//! |---|---|
//! | 1 | list: 2 texts, 3 integers, 4 numbers, 5 truths |
//! | 2, 3, 4, 5 | text, integer, number, truth |
//! | 11, 12 | type of a tensor, tensor |
//! | 15 | number of an element type |

use std::borrow::Cow;

use super::super::protobuf::Message;

/// The names and texts that a model keeps in one place.
#[derive(Debug, Default)]
pub(super) struct Dictionary<'b> {
    names: Vec<Cow<'b, str>>,
    texts: Vec<Cow<'b, str>>,
    /// Of each name, whether its values are numbers of texts.
    has_texts: Vec<bool>,
}

/// A message's attribute.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute<'b> {
    value: Message<'b>,
    /// Whether integers stand for texts.
    has_texts: bool,
}

/// The value of an attribute, as far as it is of a kind that is shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum AttributeValue<'b> {
    Text(Cow<'b, str>),
    Int(i64),
    Float(f32),
    Texts(Vec<Cow<'b, str>>),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
}

const KEY: u32 = 1;
const VALUE: u32 = 2;

/// The longest name of an attribute, in bytes.
const LONGEST_NAME: usize = 256;
/// The longest word of an attribute, in bytes: texts of the dictionary can be used any number of times.
const LONGEST_WORD: usize = 4096;
/// The most words of one attribute.
const MOST_WORDS: usize = 4096;

/// Texts where they lie: each is used many times, so that none may be a copy. Those that aren't UTF-8 become empty.
fn lent(texts: Vec<Cow<'_, str>>) -> Vec<Cow<'_, str>> {
    let lies_there = |text: &Cow<'_, str>| matches!(text, Cow::Borrowed(_));
    texts.into_iter().map(|text| if lies_there(&text) { text } else { Cow::Borrowed("") }).collect()
}

impl<'b> Dictionary<'b> {
    /// The dictionary of a model, empty where it has none, and what is wrong with it.
    pub fn of(model: Message<'b>) -> (Self, Vec<String>) {
        let mut dictionary = Self::default();
        let plain = Self::default();
        for (key, attribute) in plain.attributes(model, MODEL_ATTRIBUTES) {
            match (&*key, attribute.value(&plain)) {
                ("attr_name_enum", Some(AttributeValue::Texts(texts))) => dictionary.names = lent(texts),
                ("attr_value_enum", Some(AttributeValue::Texts(texts))) => dictionary.texts = lent(texts),
                ("attrs_use_string_value", Some(AttributeValue::Ints(flags))) => {
                    dictionary.has_texts = flags.iter().map(|flag| *flag != 0).collect();
                }
                _ => {}
            }
        }
        let mut losses = Vec::new();
        if dictionary.names.len() != dictionary.has_texts.len() {
            losses.push(format!(
                "the model's list of {} names of attributes doesn't fit that of their {} kinds",
                dictionary.names.len(),
                dictionary.has_texts.len()
            ));
        }
        (dictionary, losses)
    }

    /// The attributes of a message that has them in a field, by their names.
    pub fn attributes(&self, message: Message<'b>, field: u32) -> Vec<(Cow<'b, str>, Attribute<'b>)> {
        let entries = message.each().filter(|(number, _)| *number == field);
        let named = entries.filter_map(|(_, entry)| {
            let entry = entry.message();
            let (name, has_texts) = self.name(entry.sub(KEY).bytes)?;
            Some((name, Attribute { value: entry.sub(VALUE), has_texts }))
        });
        named.collect()
    }

    fn name(&self, key: &'b [u8]) -> Option<(Cow<'b, str>, bool)> {
        let Some(digits) = key.strip_prefix(b"\0") else {
            return Some((String::from_utf8_lossy(key), false));
        };
        let mut number = 0usize;
        for digit in digits.iter().rev() {
            number = number.checked_mul(127)?.checked_add(usize::from(*digit).checked_sub(1)?)?;
        }
        let has_texts = self.has_texts.get(number).copied().unwrap_or(false);
        let name = self.names.get(number).filter(|name| name.len() <= LONGEST_NAME)?;
        Some((name.clone(), has_texts))
    }

    fn text(&self, number: i64) -> Option<Cow<'b, str>> {
        self.texts.get(usize::try_from(number).ok()?).cloned()
    }
}

/// The field of `ModelDef` and `GraphDef` with attributes.
pub(super) const MODEL_ATTRIBUTES: u32 = 11;

impl<'b> Attribute<'b> {
    /// The value, with texts in place of their numbers.
    pub fn value(&self, dictionary: &Dictionary<'b>) -> Option<AttributeValue<'b>> {
        let (field, wire) = self.value.each().next()?;
        Some(match field {
            1 => self.list(wire.message(), dictionary),
            2 => AttributeValue::Text(wire.text()),
            3 if self.has_texts => AttributeValue::Text(dictionary.text(wire.int())?),
            3 | 5 | 15 => AttributeValue::Int(wire.int()),
            4 => AttributeValue::Float(wire.float()),
            _ => return None,
        })
    }

    fn list(&self, list: Message<'b>, dictionary: &Dictionary<'b>) -> AttributeValue<'b> {
        let (mut texts, mut ints, mut floats) = (Vec::new(), Vec::new(), Vec::new());
        for (field, wire) in list.each() {
            match field {
                2 => texts.push(wire.text()),
                3 | 5 | 12 => wire.push_ints(&mut ints),
                4 => wire.push_floats(&mut floats),
                _ => {}
            }
        }
        if self.has_texts && texts.is_empty() {
            texts = ints.drain(..).filter_map(|number| dictionary.text(number)).collect();
        }
        match (texts.is_empty(), floats.is_empty()) {
            (false, _) => AttributeValue::Texts(texts),
            (true, false) => AttributeValue::Floats(floats),
            (true, true) => AttributeValue::Ints(ints),
        }
    }

    /// The tensor that the value is, for constants.
    pub fn tensor(&self) -> Option<Message<'b>> {
        self.value.field(12).map(|wire| wire.message())
    }
}

impl AttributeValue<'_> {
    /// The integer, or the truth as one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            _ => None,
        }
    }

    /// The words; one or several.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Text(text) if text.len() <= LONGEST_WORD => vec![text.to_string()],
            Self::Texts(texts) => {
                let short = texts.iter().filter(|text| text.len() <= LONGEST_WORD);
                short.take(MOST_WORDS).map(ToString::to_string).collect()
            }
            _ => Vec::new(),
        }
    }
}
