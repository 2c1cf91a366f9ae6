//! All text of a file, each piece once, in the form in which the rows of Chrome's events have it: as JSON.

use std::collections::HashMap;
use std::ops::Range;

use crate::chrome::text::push_string;

/// Names a text; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextId(pub u32);

/// The texts, one behind the other.
#[derive(Default)]
pub struct Texts {
    json: Vec<u8>,
    places: Vec<Range<usize>>,
    known: HashMap<Box<[u8]>, TextId>,
}

impl Texts {
    /// The bytes of all texts.
    pub fn len(&self) -> usize {
        self.json.len()
    }

    /// The text of some bytes; what is no UTF-8 in them is replaced.
    pub fn text(&mut self, bytes: &[u8]) -> TextId {
        if let Some(&known) = self.known.get(bytes) {
            return known;
        }
        let id = self.push(|json| push_string(json, &String::from_utf8_lossy(bytes)));
        self.known.insert(bytes.into(), id);
        id
    }

    /// A further piece of JSON, which `write` appends.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> TextId {
        let start = self.json.len();
        write(&mut self.json);
        self.places.push(start..self.json.len());
        TextId(self.places.len() as u32)
    }

    /// The JSON of a text; nothing for none.
    pub fn json(&self, text: TextId) -> &[u8] {
        let place = (text.0 as usize).checked_sub(1).and_then(|index| self.places.get(index));
        place.map_or(&[], |place| &self.json[place.clone()])
    }

    /// All JSON, and where a text of it stands.
    pub fn place(&self, text: TextId) -> (&[u8], usize) {
        let place = (text.0 as usize).checked_sub(1).and_then(|index| self.places.get(index));
        (&self.json, place.map_or(self.json.len(), |place| place.start))
    }
}
