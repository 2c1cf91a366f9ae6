//! Indexes of columns of integers, some of which may be NULL.
//!
//! In an index every entry occurs once: those between two pages lie on the page above them. So that
//! no page is left without entries at the end, entries are spread evenly over the pages.
//!
//! A leaf page is as that of a table, but of kind 10 and its entries have no key: each is the length
//! of its record and the record, whose last value is the key of the row.

use std::io;

use crate::sqlite_file::interior::{self, InteriorPage, spread};
use crate::sqlite_file::page::PAGE;
use crate::sqlite_file::record::integer_type;

/// Bytes of a leaf page's header.
const LEAF_HEADER: usize = 8;

/// So many leaves are handed over together: an index takes as much memory however long it is.
const LEAVES_AT_ONCE: usize = 512;

/// A value in an entry of an index.
pub trait IndexValue: Copy {
    /// The integer, or nothing for NULL, which is the least of all.
    fn integer(self) -> Option<i64>;
}

impl IndexValue for i64 {
    #[inline]
    fn integer(self) -> Option<i64> {
        Some(self)
    }
}

impl IndexValue for Option<i64> {
    #[inline]
    fn integer(self) -> Option<i64> {
        self
    }
}

/// Writes the pages of an index with sorted entries; returns the root's number. `append` writes pages behind
/// the others and gives their numbers.
pub(super) fn write<Value: IndexValue, const COLUMNS: usize>(
    entries: &[[Value; COLUMNS]],
    mut append: impl FnMut(&[u8]) -> io::Result<Vec<u32>>,
) -> io::Result<u32> {
    let longest = entries.iter().map(entry_len).max().unwrap_or(0);
    let on_leaf = (PAGE - LEAF_HEADER) / (longest + 2);
    // So many leaves that one entry between each two of them is left over for the level above.
    let leaves = (entries.len() + 1).div_ceil(on_leaf + 1).max(1);
    let mut pages = Vec::with_capacity(leaves.min(LEAVES_AT_ONCE) * PAGE);
    let mut between = Vec::with_capacity(leaves);
    let mut children = Vec::with_capacity(leaves);
    for group in spread(entries.len() + 1, leaves) {
        // The last of each group is the one that goes up; the very last group has one too many.
        let (own, up) = (group.start..group.end - 1, group.end - 1);
        pages.extend_from_slice(&leaf(&entries[own]));
        between.push(up);
        if pages.len() == LEAVES_AT_ONCE * PAGE {
            children.extend(append(&pages)?);
            pages.clear();
        }
    }
    between.pop();
    children.extend(append(&pages)?);
    let on_interior = (PAGE - interior::HEADER) / (4 + longest + 2) + 1;
    while children.len() > 1 {
        let groups = children.len().div_ceil(on_interior);
        let (mut pages, mut above) = (Vec::with_capacity(groups * PAGE), Vec::new());
        for group in spread(children.len(), groups) {
            let last = group.end - 1;
            let mut page = InteriorPage::new(2, children[last]);
            for child in group.start..last {
                let mut bytes = children[child].to_be_bytes().to_vec();
                push_entry(&mut bytes, &entries[between[child]]);
                page.push(&bytes);
            }
            pages.extend_from_slice(&page.finish());
            above.extend(between.get(last).copied());
        }
        children = append(&pages)?;
        between = above;
    }
    Ok(children.first().copied().unwrap_or(0))
}

/// A leaf page.
fn leaf<Value: IndexValue, const COLUMNS: usize>(entries: &[[Value; COLUMNS]]) -> Vec<u8> {
    let mut page = vec![0; PAGE];
    let mut content = PAGE;
    let mut bytes = Vec::with_capacity(64);
    for (number, entry) in entries.iter().enumerate() {
        bytes.clear();
        push_entry(&mut bytes, entry);
        content -= bytes.len();
        page[content..content + bytes.len()].copy_from_slice(&bytes);
        let pointer = LEAF_HEADER + 2 * number;
        page[pointer..pointer + 2].copy_from_slice(&(content as u16).to_be_bytes());
    }
    page[0] = 10;
    page[3..5].copy_from_slice(&(entries.len() as u16).to_be_bytes());
    page[5..7].copy_from_slice(&(content as u16).to_be_bytes());
    page
}

/// Bytes of an entry: the record's length, the header's length, the types and the values. Both
/// lengths fit a byte, as there are few columns.
fn entry_len<Value: IndexValue, const COLUMNS: usize>(entry: &[Value; COLUMNS]) -> usize {
    2 + COLUMNS + entry.iter().map(|value| value_type(*value).1).sum::<usize>()
}

fn push_entry<Value: IndexValue, const COLUMNS: usize>(out: &mut Vec<u8>, entry: &[Value; COLUMNS]) {
    const { assert!(COLUMNS < 13, "the lengths of longer entries need more than a byte") };
    out.push((entry_len(entry) - 1) as u8);
    out.push(COLUMNS as u8 + 1);
    out.extend(entry.iter().map(|value| value_type(*value).0));
    for value in entry {
        let bytes = value.integer().unwrap_or_default().to_be_bytes();
        out.extend_from_slice(&bytes[8 - value_type(*value).1..]);
    }
}

/// The type of a value and how many bytes it takes.
fn value_type(value: impl IndexValue) -> (u8, usize) {
    value.integer().map_or((0, 0), integer_type)
}
