//! Interned text.

use std::hash::BuildHasher;

use crate::ids::row_id;
use crate::numbers::Seeded;

row_id!(
    /// Names a piece of text in a [`StringTable`]; equal text has equal ids.
    StringId
);

/// Text, each piece stored once.
///
/// The bytes lie end to end in one buffer; an open-addressing index of ids finds a piece by its
/// hash, so that nothing is allocated per piece.
#[derive(Clone, Debug)]
pub struct StringTable {
    text: String,
    /// Where each piece ends in `text`; it begins where the one before ends.
    ends: Vec<usize>,
    /// A power of two of slots, at most three quarters of them taken.
    slots: Vec<Slot>,
    hasher: Seeded,
}

/// A place of the index. The hash beside the id keeps nearly all pieces that aren't looked for from being compared, whose
/// text lies anywhere in memory.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    hash: u32,
    id: Option<StringId>,
}

impl Default for StringTable {
    fn default() -> Self {
        Self {
            text: String::new(),
            ends: Vec::new(),
            slots: vec![Slot::default(); 64],
            hasher: Seeded::default(),
        }
    }
}

impl StringTable {
    /// The id of `text`, which is stored if it is new.
    pub fn intern(&mut self, text: &str) -> StringId {
        let hash = self.hash(text);
        let slot = match self.find(text, hash) {
            Ok(id) => return id,
            Err(slot) => slot,
        };
        let id = StringId::from_index(self.ends.len());
        self.text.push_str(text);
        self.ends.push(self.text.len());
        self.slots[slot] = Slot { hash, id: Some(id) };
        if self.ends.len() * 4 > self.slots.len() * 3 {
            self.grow();
        }
        id
    }

    /// The id of `text`, if it is stored.
    pub fn lookup(&self, text: &str) -> Option<StringId> {
        self.find(text, self.hash(text)).ok()
    }

    /// The text of an id.
    ///
    /// # Panics
    /// If the id comes from another, longer table.
    #[inline]
    pub fn get(&self, id: StringId) -> &str {
        let index = id.index();
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..self.ends[index]]
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// All pieces with their ids, in the order in which they came.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (StringId, &str)> {
        (0..self.len()).map(StringId::from_index).map(|id| (id, self.get(id)))
    }

    /// How many pieces have a letter that stands for bytes which are none (U+FFFD).
    pub fn with_replaced_bytes(&self) -> usize {
        // One look at the whole, because there is hardly ever one.
        match self.text.contains(char::REPLACEMENT_CHARACTER) {
            true => self.iter().filter(|(_, text)| text.contains(char::REPLACEMENT_CHARACTER)).count(),
            false => 0,
        }
    }

    fn hash(&self, text: &str) -> u32 {
        self.hasher.hash_one(text) as u32
    }

    /// The id of the text with this hash, or the free slot where it belongs.
    fn find(&self, text: &str, hash: u32) -> Result<StringId, usize> {
        let mask = self.slots.len() - 1;
        let mut place = hash as usize & mask;
        while let Slot { hash: known, id: Some(id) } = self.slots[place] {
            // Empty text may point to no memory, over which the C library's comparison stumbles for many times as long
            // as it takes otherwise.
            if known == hash {
                let known = self.get(id);
                if known.len() == text.len() && (text.is_empty() || known == text) {
                    return Ok(id);
                }
            }
            place = (place + 1) & mask;
        }
        Err(place)
    }

    fn grow(&mut self) {
        let mut slots = vec![Slot::default(); self.slots.len() * 2];
        let mask = slots.len() - 1;
        for taken in self.slots.iter().filter(|slot| slot.id.is_some()) {
            let mut place = taken.hash as usize & mask;
            while slots[place].id.is_some() {
                place = (place + 1) & mask;
            }
            slots[place] = *taken;
        }
        self.slots = slots;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_text_has_equal_ids_however_many_there_are() {
        let mut strings = StringTable::default();
        let first: Vec<_> = (0..10_000).map(|n| strings.intern(&format!("node_{n}"))).collect();
        let second: Vec<_> = (0..10_000).map(|n| strings.intern(&format!("node_{n}"))).collect();
        assert_eq!(first, second);
        assert_eq!(strings.len(), 10_000);
        assert_eq!(strings.get(first[1234]), "node_1234");
        assert_eq!(strings.lookup("node_10000"), None);
    }

    #[test]
    fn texts_with_replaced_bytes_are_counted() {
        let mut strings = StringTable::default();
        // The end of one and the begin of the next are no letter of one.
        for text in ["\u{fff0}", "a\u{fffd}", "", "\u{fffd}\u{fffd}b", "a\u{fffd}"] {
            strings.intern(text);
        }
        assert_eq!(strings.with_replaced_bytes(), 2);
        assert_eq!(StringTable::default().with_replaced_bytes(), 0);
    }

    #[test]
    fn the_empty_string_is_a_string_like_any_other() {
        let mut strings = StringTable::default();
        let empty = strings.intern("");
        assert_eq!(strings.intern(""), empty);
        assert_ne!(strings.intern("x"), empty);
        assert_eq!(strings.get(empty), "");
    }
}
