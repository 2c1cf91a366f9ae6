//! One stream of records over all its slices, mapped into memory, or read where they are small.
//!
//! A stream of records of one size is aligned at its end: the collector may have dropped its front
//! when storage ran short. A record may lie across the border of two slices. Where records have a
//! magic number, a slice that was cut short doesn't shift those behind it.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};

use opscope_files::MappedFile;
use opscope_formats::reading::Stop;

use opscope_trace::{LossKind, Losses};

/// The files of one stream, in order.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The stream's present-day name, such as `compact.task_track`.
    pub name: String,
    /// Whether old slices may have been dropped.
    pub aging: bool,
    /// The device that the files' names tell.
    pub device: Option<u32>,
    /// The slices.
    pub slices: Vec<Slice>,
    /// Asked before each slice and each part of it.
    pub stop: Stop,
}

/// One file of a stream.
#[derive(Clone, Debug)]
pub struct Slice {
    /// Where it lies.
    pub path: PathBuf,
    /// Its length in bytes, where it was asked for already; to ask costs as much as to read a small file.
    pub length: Option<u64>,
}

/// A two-byte number that every record has at the same place.
#[derive(Clone, Copy, Debug)]
pub struct Magic {
    /// Where in the record.
    pub offset: usize,
    /// The number.
    pub value: u16,
}

/// The magic number of host-side records.
pub const HOST_MAGIC: Magic = Magic { offset: 0, value: opscope_cann_raw::host::MAGIC };

/// The magic number of the device's log and counter records.
pub const DEVICE_MAGIC: Magic = Magic { offset: 2, value: opscope_cann_raw::device::MAGIC };

impl Stream {
    /// Maps all slices until it is stopped; what can't be opened is counted.
    pub fn map(&self, losses: &mut Losses) -> Mapped {
        let mut maps = Vec::with_capacity(self.slices.len());
        for Slice { path, length } in self.slices.iter().take_while(|_| !self.stop.is_wanted()) {
            let Ok(file) = File::open(path) else {
                losses.count(LossKind::UnreadableFile, &path.to_string_lossy(), 1);
                continue;
            };
            match SliceBytes::of(&file, path, *length) {
                // An empty file holds nothing.
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => maps.push(bytes),
                Err(_) => losses.count(LossKind::UnreadableFile, &path.to_string_lossy(), 1),
            }
        }
        Mapped { name: self.name.clone(), maps }
    }
}

/// The bytes of one slice.
#[derive(Debug)]
enum SliceBytes {
    /// A file that stays where it is.
    Mapped(MappedFile),
    /// A small file's content: a map costs the system more than a copy of so little.
    Read(Vec<u8>),
}

impl SliceBytes {
    /// The content of a file of any size; `path` is its name in messages, and `length` what is known of its
    /// size.
    fn of(file: &File, path: &Path, length: Option<u64>) -> io::Result<Self> {
        /// The size in bytes up to which a file is copied.
        const SMALL: u64 = 32 << 10;
        let length = match length {
            Some(length) => length,
            None => file.metadata()?.len(),
        };
        if length > SMALL {
            return MappedFile::new(file, path).map(Self::Mapped);
        }
        let mut bytes = Vec::with_capacity(length as usize);
        file.take(length).read_to_end(&mut bytes)?;
        Ok(Self::Read(bytes))
    }
}

impl Deref for SliceBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read(bytes) => bytes,
        }
    }
}

/// The bytes of one stream.
#[derive(Debug)]
pub struct Mapped {
    name: String,
    maps: Vec<SliceBytes>,
}

impl Mapped {
    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All bytes one after another; copied only if there are several slices.
    pub fn concatenated(&self) -> Cow<'_, [u8]> {
        match self.maps.as_slice() {
            [] => Cow::Borrowed(&[]),
            [map] => Cow::Borrowed(map),
            maps => Cow::Owned(maps.iter().flat_map(|map| map.iter().copied()).collect()),
        }
    }

    /// Hands on each record of a stream whose records tell their own size, those that go on in the next slice too.
    ///
    /// `size_of` tells the size in bytes of the record that some bytes begin with; `None` where they are too few to
    /// tell. The stream ends at a size of 0. How many bytes are left there.
    pub fn sized_records(
        &self,
        size_of: impl Fn(&[u8]) -> Option<usize>,
        mut take: impl FnMut(&[u8]),
    ) -> usize {
        let mut begun: Vec<u8> = Vec::new();
        let mut slices = self.maps.iter();
        while let Some(slice) = slices.next() {
            let mut rest: &[u8] = slice;
            // The record that the slice before has begun; its size may not be known yet.
            while !begun.is_empty() && !rest.is_empty() {
                let wanted = size_of(&begun).unwrap_or(begun.len() + 1);
                let (more, behind) = rest.split_at(wanted.saturating_sub(begun.len()).min(rest.len()));
                begun.extend_from_slice(more);
                rest = behind;
                match size_of(&begun) {
                    Some(0) => {
                        return begun.len() + rest.len() + slices.map(|slice| slice.len()).sum::<usize>();
                    }
                    Some(size) if size == begun.len() => {
                        take(&begun);
                        begun.clear();
                    }
                    _ => {}
                }
            }
            while let Some(size) = size_of(rest).filter(|size| *size <= rest.len()) {
                if size == 0 {
                    return rest.len() + slices.map(|slice| slice.len()).sum::<usize>();
                }
                take(&rest[..size]);
                rest = &rest[size..];
            }
            begun.extend_from_slice(rest);
        }
        begun.len()
    }

    /// The stream cut into pieces of whole records, in order; each piece is a multiple of `size`
    /// bytes long.
    pub fn pieces(&self, size: usize, magic: Option<Magic>, losses: &mut Losses) -> Vec<Cow<'_, [u8]>> {
        let slices: Vec<&[u8]> = self.maps.iter().map(|map| &map[..]).collect();
        cut(&slices, size, magic, &self.name, losses)
    }
}

fn cut<'a>(
    slices: &[&'a [u8]],
    size: usize,
    magic: Option<Magic>,
    name: &str,
    losses: &mut Losses,
) -> Vec<Cow<'a, [u8]>> {
    let mut pieces = Vec::with_capacity(slices.len());
    let mut rest: Vec<u8> = Vec::new();
    // How many bytes at the begin belong to a record of which the front was dropped.
    let mut skip = front(slices, size, magic);
    losses.count(LossKind::PartialRecord, name, u64::from(skip > 0));
    for &slice in slices {
        let mut slice = slice;
        if skip > 0 {
            let dropped = skip.min(slice.len());
            slice = &slice[dropped..];
            skip -= dropped;
        }
        let begin = if rest.is_empty() { 0 } else { size - rest.len() };
        match aligned(slice, begin, size, magic) {
            Begin::Continued if begin == 0 => {}
            Begin::Continued if slice.len() < begin => {
                rest.extend_from_slice(slice);
                continue;
            }
            Begin::Continued => {
                rest.extend_from_slice(&slice[..begin]);
                pieces.push(Cow::Owned(std::mem::take(&mut rest)));
                slice = &slice[begin..];
            }
            Begin::At(offset) => {
                losses.count(LossKind::PartialRecord, name, 1);
                rest.clear();
                slice = &slice[offset..];
            }
        }
        let whole = slice.len() / size * size;
        if whole > 0 {
            pieces.push(Cow::Borrowed(&slice[..whole]));
        }
        rest.extend_from_slice(&slice[whole..]);
    }
    losses.count(LossKind::PartialRecord, name, u64::from(!rest.is_empty()));
    pieces
}

/// How many bytes lie before the first whole record of a stream that is aligned at its end.
fn front(slices: &[&[u8]], size: usize, magic: Option<Magic>) -> usize {
    let total: usize = slices.iter().map(|slice| slice.len()).sum();
    let skip = total % size;
    let Some(magic) = magic else { return skip };
    // Where the magic number shows that records begin at the front, it is the end that is cut.
    let first = slices.iter().find(|slice| !slice.is_empty()).copied().unwrap_or(&[]);
    if skip > 0 && has_magic(first, 0, magic) && !has_magic(first, skip, magic) { 0 } else { skip }
}

/// Where the records of a slice begin.
enum Begin {
    /// Where the records of the slice before lead to.
    Continued,
    /// At an offset of their own; the slice before was cut short.
    At(usize),
}

fn aligned(slice: &[u8], begin: usize, size: usize, magic: Option<Magic>) -> Begin {
    let Some(magic) = magic else { return Begin::Continued };
    let fits = |offset: usize| {
        has_magic(slice, offset, magic)
            && (offset + size + magic.offset + 2 > slice.len() || has_magic(slice, offset + size, magic))
    };
    // Too short to tell, or right: nothing to correct.
    if begin + size > slice.len() || fits(begin) {
        return Begin::Continued;
    }
    (0..size).find(|&offset| fits(offset)).map_or(Begin::Continued, Begin::At)
}

fn has_magic(bytes: &[u8], record: usize, magic: Magic) -> bool {
    let at = record + magic.offset;
    bytes.get(at..at + 2).is_some_and(|pair| u16::from_le_bytes([pair[0], pair[1]]) == magic.value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records(numbers: impl IntoIterator<Item = u8>) -> Vec<u8> {
        numbers.into_iter().flat_map(|n| [0x5A, 0x5A, n, n, n, n, n, n]).collect()
    }

    fn join(pieces: &[Cow<'_, [u8]>]) -> Vec<u8> {
        pieces.concat()
    }

    #[test]
    fn records_of_their_own_size_are_whole_wherever_slices_are_cut() {
        // The first two bytes of a record are its size.
        let size_of = |bytes: &[u8]| Some(usize::from(u16::from_le_bytes([*bytes.first()?, *bytes.get(1)?])));
        let bytes = [&[3, 0, 7][..], &[2, 0], &[6, 0, 1, 2, 3, 4], &[4, 0, 9, 9], &[5, 0, 1]].concat();
        let read = |slices: Vec<&[u8]>| {
            let maps = slices.into_iter().map(|slice| SliceBytes::Read(slice.to_vec())).collect();
            let mut records = Vec::new();
            let left = Mapped { name: String::new(), maps }
                .sized_records(size_of, |record| records.push(record.to_vec()));
            (records, left)
        };
        let whole = read(vec![&bytes]);
        assert_eq!((whole.0.len(), whole.1), (4, 3));
        assert_eq!(whole.0.concat(), bytes[..bytes.len() - 3]);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                assert_eq!(read(vec![&bytes[..first], &bytes[first..second], &bytes[second..]]), whole);
            }
        }
        // No record is empty, and nothing can be read behind one that says so.
        assert_eq!(read(vec![&[2, 0, 0], &[0, 2, 0], &[2, 0]]), (vec![vec![2, 0]], 6));
    }

    #[test]
    fn the_front_of_an_aged_stream_is_skipped() {
        let bytes = records(0..4);
        let mut losses = Losses::default();
        for magic in [None, Some(HOST_MAGIC)] {
            let pieces = cut(&[&bytes[3..]], 8, magic, "x", &mut losses);
            assert_eq!(join(&pieces), records(1..4));
        }
        assert_eq!(losses.total(LossKind::PartialRecord), 2);
    }

    #[test]
    fn a_cut_end_is_seen_where_records_have_a_magic_number() {
        let bytes = records(0..4);
        let pieces = cut(&[&bytes[..27]], 8, Some(HOST_MAGIC), "x", &mut Losses::default());
        assert_eq!(join(&pieces), records(0..3));
    }

    #[test]
    fn a_slice_that_was_cut_short_does_not_shift_the_next() {
        let (first, second) = (records(0..4), records(4..8));
        let mut losses = Losses::default();
        let pieces = cut(&[&first[..21], &second], 8, Some(HOST_MAGIC), "x", &mut losses);
        assert_eq!(join(&pieces), records([0, 1, 4, 5, 6, 7]));
        assert!(losses.total(LossKind::PartialRecord) > 0);
    }

    proptest! {
        #[test]
        fn slices_cut_anywhere_give_the_same_records(mut cuts in prop::collection::vec(0usize..400, 0..12)) {
            let bytes = records(0..50);
            cuts.push(0);
            cuts.push(bytes.len());
            cuts.sort_unstable();
            let slices: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            for magic in [None, Some(HOST_MAGIC)] {
                let mut losses = Losses::default();
                let pieces = cut(&slices, 8, magic, "x", &mut losses);
                prop_assert_eq!(join(&pieces), bytes.clone());
                prop_assert!(losses.rows().is_empty());
            }
        }

        #[test]
        fn any_bytes_are_cut_into_whole_records(
            slices in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
        ) {
            let slices: Vec<&[u8]> = slices.iter().map(Vec::as_slice).collect();
            for piece in cut(&slices, 8, Some(HOST_MAGIC), "x", &mut Losses::default()) {
                prop_assert_eq!(piece.len() % 8, 0);
            }
        }
    }
}
