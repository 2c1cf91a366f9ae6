//! The texts that the events of a sequence name by numbers.

use std::collections::HashMap;

use opscope_trace::{NumberMap, StringId, StringTable};

use super::super::fields::interned;
use opscope_protobuf::{push_bytes, push_message, push_number};

/// The texts of a sequence, as the message in which its first packet tells them.
pub struct Names<'t> {
    strings: &'t StringTable,
    /// The message, without those that are still to come.
    pub message: Vec<u8>,
    events: NumberMap<u32, u64>,
    words: HashMap<&'static str, u64>,
    categories: HashMap<&'static str, u64>,
    annotations: HashMap<&'static str, u64>,
    texts: HashMap<Box<str>, u64>,
    event_count: u64,
}

impl<'t> Names<'t> {
    pub fn new(strings: &'t StringTable) -> Self {
        Self {
            strings,
            message: Vec::new(),
            events: NumberMap::default(),
            words: HashMap::new(),
            categories: HashMap::new(),
            annotations: HashMap::new(),
            texts: HashMap::new(),
            event_count: 0,
        }
    }

    /// The number of the name of an event; a word of ours takes the place of an empty one.
    pub fn event(&mut self, name: StringId, instead_of_nothing: &'static str) -> u64 {
        let text = self.strings.get(name);
        if text.is_empty() {
            return self.word(instead_of_nothing);
        }
        let (message, count) = (&mut self.message, &mut self.event_count);
        *self.events.entry(name.index() as u32).or_insert_with(|| {
            *count += 1;
            tell(message, interned::NAMES, *count, text);
            *count
        })
    }

    /// The number of a word of ours as the name of an event.
    pub fn word(&mut self, word: &'static str) -> u64 {
        let (message, count) = (&mut self.message, &mut self.event_count);
        *self.words.entry(word).or_insert_with(|| {
            *count += 1;
            tell(message, interned::NAMES, *count, word);
            *count
        })
    }

    /// The number of a category.
    pub fn category(&mut self, word: &'static str) -> u64 {
        numbered(&mut self.categories, &mut self.message, interned::CATEGORIES, word)
    }

    /// The number of the name of an argument.
    pub fn annotation(&mut self, name: &'static str) -> u64 {
        numbered(&mut self.annotations, &mut self.message, interned::ANNOTATION_NAMES, name)
    }

    /// The number of a text among the arguments.
    pub fn text(&mut self, text: &str) -> u64 {
        if let Some(&known) = self.texts.get(text) {
            return known;
        }
        let number = self.texts.len() as u64 + 1;
        tell(&mut self.message, interned::ANNOTATION_TEXTS, number, text);
        self.texts.insert(text.into(), number);
        number
    }
}

fn numbered(
    known: &mut HashMap<&'static str, u64>,
    message: &mut Vec<u8>,
    field: u32,
    word: &'static str,
) -> u64 {
    let next = known.len() as u64 + 1;
    *known.entry(word).or_insert_with(|| {
        tell(message, field, next, word);
        next
    })
}

fn tell(message: &mut Vec<u8>, field: u32, number: u64, text: &str) {
    push_message(message, field, |entry| {
        push_number(entry, interned::NUMBER, number);
        push_bytes(entry, interned::TEXT, text.as_bytes());
    });
}
