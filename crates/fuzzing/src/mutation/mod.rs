//! Changes to inputs, as their content is made up: a text is changed by its words, a model by its nodes, a packed
//! folder file by file. The same seed gives the same changes.

mod bytes;
mod database;
mod model;
mod text;

use fastrand::Rng;

use crate::packing::Packed;
use crate::targets::Content;

/// Inputs don't grow beyond this, in bytes.
const LARGEST: usize = 1 << 20;

/// Changes inputs.
#[derive(Clone, Debug)]
pub struct Mutator {
    random: Rng,
}

impl Mutator {
    /// One that begins with a seed.
    pub fn new(seed: u64) -> Self {
        Self { random: Rng::with_seed(seed) }
    }

    /// One of so many, the first of which is 0.
    pub fn choose(&mut self, count: usize) -> usize {
        self.random.usize(..count.max(1))
    }

    /// The input with some changes, a few of which take parts of another.
    pub fn change(&mut self, content: Content, input: &[u8], other: &[u8]) -> Vec<u8> {
        let mut changed = input.to_vec();
        // One change is often the best; many together lead farther away.
        for _ in 0..1 << self.random.u32(..4) {
            changed = self.change_once(content, &changed, other);
            // Not only at the end: each change may repeat all there is, and eight in a row would take all memory.
            changed.truncate(LARGEST);
        }
        changed
    }

    fn change_once(&mut self, content: Content, input: &[u8], other: &[u8]) -> Vec<u8> {
        // Damage that knows nothing of the content goes with each.
        let is_blind = self.random.u8(..8) == 0;
        match content {
            Content::Bytes => bytes::change(&mut self.random, input, other),
            _ if is_blind => bytes::change(&mut self.random, input, other),
            Content::Text => text::change(&mut self.random, input, other),
            Content::Database => database::change(&mut self.random, input)
                .unwrap_or_else(|| bytes::change(&mut self.random, input, other)),
            Content::Model => model::change(&mut self.random, input, other)
                .unwrap_or_else(|| bytes::change(&mut self.random, input, other)),
            Content::ChoiceAndText => {
                let rest = |bytes: &[u8]| bytes.get(1..).unwrap_or_default().to_vec();
                let choice = match self.random.u8(..8) {
                    0 => self.random.u8(..),
                    _ => input.first().copied().unwrap_or_default(),
                };
                let mut changed = vec![choice];
                changed.extend(text::change(&mut self.random, &rest(input), &rest(other)));
                changed
            }
            Content::Files(names) => self.change_files(names, input, other),
        }
    }

    fn change_files(&mut self, names: &[&str], input: &[u8], other: &[u8]) -> Vec<u8> {
        let (mut packed, mut other) = (Packed::of(input, names), Packed::of(other, names));
        if packed.files.is_empty() {
            return other.to_input();
        }
        let place = self.random.usize(..packed.files.len());
        let number = packed.files[place].0;
        match self.random.u8(..20) {
            0 => packed.flags = self.random.u8(..),
            1 => drop(packed.files.remove(place)),
            2 => packed.files[place].0 = self.random.u8(..names.len() as u8),
            3 if !other.files.is_empty() => {
                packed.files.push(other.files.swap_remove(self.random.usize(..other.files.len())));
            }
            _ => {
                let theirs = other.files.iter().find(|(theirs, _)| *theirs == number);
                let theirs = theirs.map(|(_, content)| content.as_slice()).unwrap_or_default();
                let kind = content_of(names[usize::from(number)]);
                packed.files[place].1 = self.change_once(kind, &packed.files[place].1, theirs);
            }
        }
        packed.to_input()
    }
}

/// How a file is made up, by its name.
fn content_of(name: &str) -> Content {
    const TEXTS: [&str; 13] = [
        "words", ".json", ".json.0", ".json.1", ".csv", ".txt", ".toml", ".sh", ".cfg", ".dot", ".log",
        ".log.0", ".dbg",
    ];
    match name {
        _ if name.ends_with(".onnx") => Content::Model,
        _ if TEXTS.iter().any(|end| name.ends_with(end)) || name.contains("_info") => Content::Text,
        _ => Content::Bytes,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::packing::ADVISED;
    use crate::seeds;

    /// Different results of many changes.
    fn changes(content: Content, input: &[u8]) -> HashSet<Vec<u8>> {
        let mut mutator = Mutator::new(3);
        (0..200).map(|_| mutator.change(content, input, input)).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_changes() {
        let change = |seed| Mutator::new(seed).change(Content::Text, seeds::TIMELINE.as_bytes(), b"");
        assert_eq!(change(5), change(5));
        assert_ne!(change(5), change(6));
    }

    #[test]
    fn changes_of_models_are_often_models_still() {
        let changed = changes(Content::Model, &seeds::chain());
        assert!(changed.len() > 150, "only {} differ", changed.len());
        let loads =
            |bytes: &&Vec<u8>| opscope_model::Model::from_bytes((*bytes).clone().into(), None).is_ok();
        let models = changed.iter().filter(loads).count();
        assert!(models > changed.len() / 8, "{models} of {}", changed.len());
    }

    #[test]
    fn changes_of_databases_are_often_databases_still() {
        let database = seeds::databases("sqlite").remove(0);
        let mut mutator = Mutator::new(3);
        let opens = |bytes: &Vec<u8>| {
            let path = std::path::Path::new("changed.db");
            opscope_formats::sqlite::read_bytes(bytes, path, &Default::default()).is_ok()
        };
        assert!(opens(&database));
        let changed: Vec<Vec<u8>> =
            (0..40).map(|_| mutator.change_once(Content::Database, &database, &[])).collect();
        let databases = changed.iter().filter(|bytes| opens(bytes)).count();
        let different = changed.iter().filter(|bytes| **bytes != database).count();
        assert!(databases > 10 && different > 10, "{databases} databases, {different} differ");
    }

    #[test]
    fn changes_of_packed_files_leave_most_of_them_whole() {
        let mut packed = Packed::default();
        packed.add(ADVISED, "profile.json", seeds::TIMELINE.as_bytes());
        packed.add(ADVISED, "model.onnx", &seeds::chain());
        let changed = changes(Content::Files(ADVISED), &packed.to_input());
        assert!(changed.len() > 150, "only {} differ", changed.len());
        let both = changed.iter().filter(|input| Packed::of(input, ADVISED).files.len() >= 2).count();
        assert!(both > changed.len() / 2, "{both} of {}", changed.len());
    }

    #[test]
    fn nothing_is_too_short_or_too_odd_to_be_changed() {
        let contents =
            [Content::Bytes, Content::Text, Content::Model, Content::Database, Content::ChoiceAndText];
        for content in contents {
            for input in [&b""[..], b"\xff", b"7", b"\n\n", "é\u{202e}".as_bytes()] {
                changes(content, input);
            }
        }
        changes(Content::Files(ADVISED), b"");
        changes(Content::Files(ADVISED), b"\x00\x01");
    }
}
