//! Interior pages: those that lead to leaf pages.
//!
//! | part of a page | content |
//! |---|---|
//! | 0 | 5 in a table, 2 in an index |
//! | 1 | 2 bytes: no freed space |
//! | 3 | 2 bytes: how many entries |
//! | 5 | 2 bytes: where their bytes begin |
//! | 7 | 1 byte: no fragments |
//! | 8 | 4 bytes: the last page below |
//! | 12 | for each entry 2 bytes: where it lies |
//! | … | unused |
//! | to the end | the entries, the first at the very end |
//!
//! An entry is the number of a page below, and the largest key there (in a table) or the entry of
//! the index that follows that page's.

use std::ops::Range;

use crate::sqlite_file::page::{FILE_HEADER, PAGE};
use crate::sqlite_file::record::{put_varint, varint_len};

/// Bytes of an interior page's header.
pub(super) const HEADER: usize = 12;

/// A page of a table, and the largest key there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Child {
    pub(super) page: u32,
    pub(super) key: i64,
}

/// The pages of the level above `children`, which are at least two, and the largest key of each.
pub(super) fn table_level(children: &[Child]) -> (Vec<u8>, Vec<i64>) {
    // A page number, a key of at most nine bytes and the entry's place.
    const MOST: usize = (PAGE - HEADER) / (4 + 9 + 2) + 1;
    let mut pages = Vec::new();
    let mut keys = Vec::new();
    for group in spread(children.len(), children.len().div_ceil(MOST)) {
        let group = &children[group];
        let Some((last, others)) = group.split_last() else { continue };
        let mut page = InteriorPage::new(5, last.page);
        for child in others {
            let mut entry = [0; 13];
            entry[..4].copy_from_slice(&child.page.to_be_bytes());
            let length = 4 + varint_len(child.key as u64);
            put_varint(&mut entry[4..], child.key as u64);
            page.push(&entry[..length]);
        }
        pages.extend_from_slice(&page.finish());
        keys.push(last.key);
    }
    (pages, keys)
}

/// The file's first page, if its table doesn't fit there: it leads to the table's real root.
pub(super) fn first_page(root: u32) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let bytes = InteriorPage::new(5, root).finish();
    page[FILE_HEADER..FILE_HEADER + HEADER].copy_from_slice(&bytes[..HEADER]);
    page
}

/// `count` things in `groups` groups of nearly equal size, which follow one another.
pub(super) fn spread(count: usize, groups: usize) -> impl Iterator<Item = Range<usize>> {
    (0..groups).map(move |group| group * count / groups..(group + 1) * count / groups)
}

/// An interior page that is being filled.
pub(super) struct InteriorPage {
    page: Vec<u8>,
    entries: usize,
    content: usize,
}

impl InteriorPage {
    /// A page of a kind, whose last page below is `last`.
    pub(super) fn new(kind: u8, last: u32) -> Self {
        let mut page = vec![0; PAGE];
        page[0] = kind;
        page[8..12].copy_from_slice(&last.to_be_bytes());
        Self { page, entries: 0, content: PAGE }
    }

    /// Appends an entry; there must be room.
    pub(super) fn push(&mut self, entry: &[u8]) {
        self.content -= entry.len();
        self.page[self.content..self.content + entry.len()].copy_from_slice(entry);
        let pointer = HEADER + 2 * self.entries;
        self.page[pointer..pointer + 2].copy_from_slice(&(self.content as u16).to_be_bytes());
        self.entries += 1;
    }

    /// The whole page.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.page[3..5].copy_from_slice(&(self.entries as u16).to_be_bytes());
        self.page[5..7].copy_from_slice(&(self.content as u16).to_be_bytes());
        self.page
    }
}
