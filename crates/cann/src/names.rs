//! The dictionaries that turn hashes and type numbers into text.

use opscope_cann_raw::host::level;

use crate::catalogue::Catalogue;
use opscope_trace::{LossKind, Losses, NumberMap};

/// The levels that a type dictionary may name.
const LEVELS: [u16; 9] = [
    level::PYTORCH,
    level::PTA,
    level::MSPROFTX,
    level::ACL,
    level::MODEL,
    level::NODE,
    level::AICPU,
    level::COMMUNICATION,
    level::RUNTIME,
];

/// Text by hash, and names of types by level and number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    hashes: NumberMap<u64, Box<str>>,
    types: NumberMap<(u16, u32), Box<str>>,
}

impl Names {
    /// Reads the dictionaries of a host directory.
    pub(crate) fn read(catalogue: &Catalogue, losses: &mut Losses) -> Self {
        let mut names = Self::default();
        names.read_hashes(catalogue, &["additional.hash_dic"], losses);
        each_line(catalogue, "additional.type_info_dic", losses, |line| {
            let (key, text) = line.split_once(':')?;
            let (level, number) = key.split_once('_')?;
            let level = level.parse().ok().filter(|level| LEVELS.contains(level))?;
            names.types.insert((level, number.parse().ok()?), text.into());
            Some(())
        });
        names
    }

    /// Reads the dictionaries that the tool chain of 2022 wrote into a directory.
    pub(crate) fn read_more(&mut self, catalogue: &Catalogue, losses: &mut Losses) {
        self.read_hashes(catalogue, &["Framework.hash_dic", "AclModule.hash_dic"], losses);
    }

    fn read_hashes(&mut self, catalogue: &Catalogue, streams: &[&str], losses: &mut Losses) {
        for stream in streams {
            each_line(catalogue, stream, losses, |line| {
                let (hash, text) = line.split_once(':')?;
                self.add(hash.parse().ok()?, text);
                Some(())
            });
        }
    }

    /// Adds a name.
    pub fn add(&mut self, hash: u64, text: &str) {
        self.hashes.insert(hash, text.into());
    }

    /// Makes a text known under its hash, which is the result.
    pub(crate) fn add_text(&mut self, text: &[u8]) -> u64 {
        let text = String::from_utf8_lossy(text);
        let hash = opscope_cann_raw::hash_of(&text);
        if self.get(hash).is_none() {
            self.add(hash, &text);
        }
        hash
    }

    /// Adds the name of a type, unless it has one.
    pub(crate) fn add_type(&mut self, level: u16, number: u32, text: &str) {
        self.types.entry((level, number)).or_insert_with(|| text.into());
    }

    /// Gives every type among `used` that has no name its number as a name, as the vendor's tool prints it.
    pub(crate) fn name_unknown_types(&mut self, used: impl Iterator<Item = (u16, u32)>) {
        for (level, number) in used {
            self.types.entry((level, number)).or_insert_with(|| number.to_string().into());
        }
    }

    /// The text of a hash, if a dictionary has it.
    #[inline]
    pub fn get(&self, hash: u64) -> Option<&str> {
        self.hashes.get(&hash).map(|text| &**text)
    }

    /// All texts with their hashes, in no particular order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, &str)> {
        self.hashes.iter().map(|(hash, text)| (*hash, &**text))
    }

    /// The name of a type, if the dictionary has it.
    #[inline]
    pub fn type_name(&self, level: u16, number: u32) -> Option<&str> {
        self.types.get(&(level, number)).map(|text| &**text)
    }

    /// All names of types of a level, in no particular order.
    pub fn types_of(&self, level: u16) -> impl Iterator<Item = (u32, &str)> {
        self.types.iter().filter(move |((of, _), _)| *of == level).map(|((_, n), text)| (*n, &**text))
    }

    /// Gives every hash among `used` that has no name its own decimal digits as a name, as the
    /// vendor's tool prints it, and counts them.
    pub(crate) fn name_unknown(&mut self, used: impl Iterator<Item = u64>, losses: &mut Losses, place: &str) {
        let mut unnamed = 0;
        let mut last = None;
        for hash in used {
            if last == Some(hash) {
                continue;
            }
            last = Some(hash);
            if let std::collections::hash_map::Entry::Vacant(entry) = self.hashes.entry(hash) {
                entry.insert(hash.to_string().into());
                unnamed += u64::from(hash != 0);
            }
        }
        losses.count(LossKind::UnnamedHash, place, unnamed);
    }
}

/// Calls `add` with every line of a text stream and counts those for which it returns `None`.
fn each_line(
    catalogue: &Catalogue,
    stream: &str,
    losses: &mut Losses,
    mut add: impl FnMut(&str) -> Option<()>,
) {
    for stream in catalogue.streams(stream) {
        let mapped = stream.map(losses);
        let text = mapped.concatenated();
        let lines = text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let invalid = lines
            .filter(|line| !line.is_empty())
            .filter(|line| add(&String::from_utf8_lossy(line)).is_none())
            .count();
        losses.count(LossKind::InvalidLine, &stream.name, invalid as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_are_split_at_the_first_colon_and_bad_lines_are_counted() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let write = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).expect("a new file");
        };
        write("unaging.additional.hash_dic.slice_0", "7:conv:1\n8:re");
        write("unaging.additional.hash_dic.slice_1", "lu\r\nnonsense\n\n");
        write("unaging.additional.type_info_dic.slice_0", "5000_801:memcpy_info\n4711_1:x\n");
        let mut losses = Losses::default();
        let catalogue =
            Catalogue::read(directory.path(), &Default::default(), &mut losses).expect("a listing");
        let mut names = Names::read(&catalogue, &mut losses);
        assert_eq!(names.get(7), Some("conv:1"));
        assert_eq!(names.get(8), Some("relu"));
        assert_eq!(names.type_name(5000, 801), Some("memcpy_info"));
        assert_eq!(losses.total(LossKind::InvalidLine), 2);
        names.name_unknown([7, 9, 9, 0].into_iter(), &mut losses, "node");
        assert_eq!(names.get(9), Some("9"));
        names.name_unknown_types([(5000, 801), (5000, 999)].into_iter());
        assert_eq!(names.type_name(5000, 801), Some("memcpy_info"));
        assert_eq!(names.type_name(5000, 999), Some("999"));
        assert_eq!(losses.total(LossKind::UnnamedHash), 1);
    }
}
