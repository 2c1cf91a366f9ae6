//! The annotations of an event, as the JSON object that Chrome's events have their arguments in.

use super::super::fields::annotation;
use super::sequence::Names;
use super::texts::{TextId, Texts};
use crate::chrome::text::{push_number, push_string};
use crate::json::Scanner;
use opscope_protobuf::{Fields, Value};

/// How deep lists and objects may lie within each other; the scanner of JSON refuses deeper ones.
const DEEPEST: u32 = 64;

/// The bytes of one event's arguments beyond which texts that are told by number are left out: each can be long, and
/// named any number of times.
const MOST_BYTES: usize = 1 << 20;

/// Appends the object of an event's annotations. `missing` counts texts that are named and were not told.
pub fn push_object(
    json: &mut Vec<u8>,
    annotations: &[&[u8]],
    names: &Names,
    texts: &Texts,
    missing: &mut u64,
) {
    Writer { names, texts, missing }.object(json, annotations.iter().copied(), 0);
}

struct Writer<'w> {
    names: &'w Names,
    texts: &'w Texts,
    missing: &'w mut u64,
}

impl Writer<'_> {
    fn object<'a>(&mut self, json: &mut Vec<u8>, annotations: impl Iterator<Item = &'a [u8]>, depth: u32) {
        json.push(b'{');
        let mut is_first = true;
        for body in annotations {
            if !std::mem::take(&mut is_first) {
                json.push(b',');
            }
            self.name(json, body);
            json.push(b':');
            self.value(json, body, depth);
        }
        json.push(b'}');
    }

    fn name(&mut self, json: &mut Vec<u8>, body: &[u8]) {
        for (number, value) in Fields::of(body).flatten() {
            match number {
                annotation::NAME => return push_string(json, &String::from_utf8_lossy(value.bytes())),
                annotation::NAME_IID => match self.names.annotations.get(&value.number()) {
                    Some(&name) => return self.text(json, name, b"\"\""),
                    None => *self.missing += 1,
                },
                _ => {}
            }
        }
        push_string(json, "");
    }

    /// A text that is told by number, or what stands in its place where there is no room for it.
    fn text(&mut self, json: &mut Vec<u8>, text: TextId, instead: &[u8]) {
        let told = self.texts.json(text);
        if json.len() + told.len() > MOST_BYTES {
            *self.missing += 1;
            json.extend_from_slice(instead);
        } else {
            json.extend_from_slice(told);
        }
    }

    fn value(&mut self, json: &mut Vec<u8>, body: &[u8], depth: u32) {
        let is = |wanted: u32| move |&(number, _): &(u32, Value<'_>)| number == wanted;
        let inner =
            |wanted: u32| Fields::of(body).flatten().filter(is(wanted)).map(|(_, value)| value.bytes());
        let mut last: Option<(u32, Value<'_>)> = None;
        for (number, value) in Fields::of(body).flatten() {
            if !matches!(number, annotation::NAME | annotation::NAME_IID) {
                last = Some((number, value));
            }
        }
        match last {
            Some((annotation::ENTRIES, _)) if depth < DEEPEST => {
                self.object(json, inner(annotation::ENTRIES), depth + 1);
            }
            Some((annotation::ITEMS, _)) if depth < DEEPEST => {
                json.push(b'[');
                for (index, item) in inner(annotation::ITEMS).enumerate() {
                    if index > 0 {
                        json.push(b',');
                    }
                    self.value(json, item, depth + 1);
                }
                json.push(b']');
            }
            Some((number, value)) => self.scalar(json, number, value),
            None => json.extend_from_slice(b"null"),
        }
    }

    fn scalar(&mut self, json: &mut Vec<u8>, number: u32, value: Value<'_>) {
        match number {
            annotation::BOOLEAN => {
                json.extend_from_slice(if value.number() == 0 { b"false".as_slice() } else { b"true" });
            }
            annotation::UNSIGNED | annotation::POINTER => push_number(json, value.number()),
            annotation::SIGNED => push_number(json, value.signed()),
            annotation::DOUBLE if value.double().is_finite() => {
                json.extend_from_slice(format!("{:e}", value.double()).as_bytes());
            }
            annotation::TEXT => push_string(json, &String::from_utf8_lossy(value.bytes())),
            annotation::TEXT_IID => match self.names.annotation_texts.get(&value.number()) {
                Some(&text) => self.text(json, text, b"null"),
                None => {
                    *self.missing += 1;
                    json.extend_from_slice(b"null");
                }
            },
            annotation::JSON if is_json(value.bytes()) => json.extend_from_slice(value.bytes()),
            annotation::JSON => push_string(json, &String::from_utf8_lossy(value.bytes())),
            _ => json.extend_from_slice(b"null"),
        }
    }
}

/// Whether bytes are one value of JSON, flat enough to stand within another.
pub fn is_json(bytes: &[u8]) -> bool {
    /// Brackets beyond this could lie within each other deeper than the scanner follows.
    const MOST_OPEN: usize = 32;
    let open = bytes.iter().filter(|byte| matches!(byte, b'{' | b'[')).count();
    let mut scanner = Scanner::new(bytes);
    open <= MOST_OPEN && scanner.skip().is_ok() && scanner.end().is_ok()
}
