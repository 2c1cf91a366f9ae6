//! Rows of a table where they stand in the pages of a database (SQLite's documentation, "Database File Format").
//!
//! To hand on one row after another takes SQLite's machine five times as long as to find their cells in the pages. So
//! a table that is plain (rows by their numbers, no index, no column that is computed) is read here. Whatever is out of
//! the ordinary, a damaged page first of all, is left to SQLite, which goes on behind the rows that were handed on:
//! it alone says what is wrong with a file.

use rusqlite::types::ValueRef;

use super::Cells;

/// The pages of a whole database.
#[derive(Clone, Copy, Debug)]
pub struct Pages<'b> {
    bytes: &'b [u8],
    /// The bytes of a page, and those of them that the format uses.
    size: usize,
    usable: usize,
}

/// The columns of a table that are asked for, by their places among the columns of the table.
#[derive(Debug)]
pub struct Layout {
    /// Of each column, up to the last that is asked for, the place among those that are.
    pub wanted: Vec<Option<usize>>,
    /// How many are asked for.
    pub count: usize,
    /// Which of those is the number of the row, which isn't stored as a cell.
    pub key: Option<usize>,
}

/// How far a table was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scanned {
    /// The rows that were handed on.
    pub rows: u64,
    /// Whether they are all.
    pub is_whole: bool,
}

/// Where the value of a cell stands.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    Null,
    /// The number of the row.
    Key,
    /// A value of a type, from a byte of the record on.
    Stored(u64, usize),
}

/// A row within its page: its number, and its record with the page on which that goes on.
#[derive(Clone, Copy)]
struct Cell<'b> {
    key: i64,
    length: usize,
    here: &'b [u8],
    overflow: u32,
}

/// The contents of a page of a table.
enum Page<'b> {
    /// The pages below it, in order.
    Inner(Vec<u32>),
    Leaf(Vec<Cell<'b>>),
}

impl<'b> Pages<'b> {
    /// The pages of a database, if its header is one of text in UTF-8.
    pub fn of(bytes: &'b [u8]) -> Option<Self> {
        const SIGNATURE: &[u8] = b"SQLite format 3\0";
        const UTF_8: u32 = 1;
        if !bytes.starts_with(SIGNATURE) || number(bytes, 56)? != UTF_8 {
            return None;
        }
        let size = match short(bytes, 16)? {
            // The largest doesn't fit into two bytes.
            1 => 1 << 16,
            size => size,
        };
        let usable = size.checked_sub(usize::from(*bytes.get(20)?))?;
        (size.is_power_of_two() && size >= 512 && usable >= 480).then_some(Self { bytes, size, usable })
    }

    /// Hands the rows of the table on whose uppermost page has the number `root`, until something is out of the
    /// ordinary, or `goes_on` says no, which it is asked before each page.
    pub fn each_row(
        &self,
        root: u32,
        layout: &Layout,
        goes_on: impl Fn() -> bool,
        mut row: impl FnMut(&Cells<'_>),
    ) -> Scanned {
        let mut scanned = Scanned { rows: 0, is_whole: false };
        let mut places = vec![Place::Null; layout.count];
        let mut joined = Vec::new();
        let mut pending = vec![root];
        // Pages that name one another over and over are damaged, or were made so.
        let mut most = self.bytes.len() / self.size;
        while let Some(next) = pending.pop() {
            if most == 0 || !goes_on() {
                return scanned;
            }
            most -= 1;
            match self.page(next) {
                None => return scanned,
                Some(Page::Inner(below)) => pending.extend(below.iter().rev()),
                Some(Page::Leaf(cells)) => {
                    for cell in cells {
                        let record = match cell.overflow {
                            0 => cell.here,
                            _ if self.join(&cell, &mut joined) => &joined,
                            _ => return scanned,
                        };
                        if layout.find(record, &mut places).is_none() {
                            return scanned;
                        }
                        row(&Cells::of_page(record, &places, cell.key));
                        scanned.rows += 1;
                    }
                }
            }
        }
        scanned.is_whole = true;
        scanned
    }

    fn bytes_of(&self, page: u32) -> Option<&'b [u8]> {
        let start = (page as usize).checked_sub(1)?.checked_mul(self.size)?;
        self.bytes.get(start..start.checked_add(self.usable)?)
    }

    /// The contents of a page, if all of them lie where they may.
    fn page(&self, of: u32) -> Option<Page<'b>> {
        const INNER: u8 = 5;
        const LEAF: u8 = 13;
        let page = self.bytes_of(of)?;
        // The header of the file stands before that of the first page.
        let head = if of == 1 { 100 } else { 0 };
        let kind = *page.get(head)?;
        let count = short(page, head + 3)?;
        let list = head + if kind == INNER { 12 } else { 8 };
        let end = list + 2 * count;
        // No cell is shorter than four bytes.
        let starts = page.get(list..end)?.chunks_exact(2).map(|pair| {
            let start = usize::from(u16::from_be_bytes([pair[0], pair[1]]));
            (start >= end && start + 4 <= page.len()).then_some(start)
        });
        match kind {
            INNER => {
                let below = starts.map(|start| number(page, start?));
                let last = number(page, head + 8);
                below.chain([last]).collect::<Option<_>>().map(Page::Inner)
            }
            LEAF => starts.map(|start| self.cell(page, start?)).collect::<Option<_>>().map(Page::Leaf),
            _ => None,
        }
    }

    fn cell(&self, page: &'b [u8], start: usize) -> Option<Cell<'b>> {
        let (length, of_length) = varint(&page[start..])?;
        let (key, of_key) = varint(&page[start + of_length..])?;
        let length = usize::try_from(length).ok().filter(|length| *length <= self.bytes.len())?;
        let begin = start + of_length + of_key;
        // As much of a long record stands here as fills whole pages with the rest, but not less than a minimum.
        let most = self.usable - 35;
        let least = (self.usable - 12) * 32 / 255 - 23;
        let here = match least + length.saturating_sub(least) % (self.usable - 4) {
            _ if length <= most => length,
            filling if filling <= most => filling,
            _ => least,
        };
        let overflow = if here < length { number(page, begin + here)? } else { 0 };
        // A record that goes on nowhere is damaged.
        (here == length || overflow != 0).then_some(())?;
        Some(Cell { key: key.cast_signed(), length, here: page.get(begin..begin + here)?, overflow })
    }

    /// Joins the parts of a record; false where one is missing.
    fn join(&self, cell: &Cell<'_>, joined: &mut Vec<u8>) -> bool {
        joined.clear();
        joined.extend_from_slice(cell.here);
        let mut next = cell.overflow;
        while joined.len() < cell.length {
            let Some(page) = self.bytes_of(next) else { return false };
            let Some((head, rest)) = page.split_first_chunk() else { return false };
            next = u32::from_be_bytes(*head);
            joined.extend_from_slice(&rest[..rest.len().min(cell.length - joined.len())]);
        }
        true
    }
}

impl Layout {
    /// Finds the cells of a record; nothing if it isn't as records are.
    #[inline]
    fn find(&self, record: &[u8], places: &mut [Place]) -> Option<()> {
        places.fill(Place::Null);
        let (head, mut at) = varint(record)?;
        let mut start = usize::try_from(head).ok()?;
        let types = record.get(..start)?;
        for wanted in &self.wanted {
            // Columns that were added to the table later are missing in the rows before.
            if at >= types.len() {
                break;
            }
            let (kind, length) = match types[at] {
                kind @ ..0x80 => (u64::from(kind), 1),
                _ => varint(&types[at..])?,
            };
            at += length;
            if let Some(wanted) = *wanted {
                places[wanted] = Place::Stored(kind, start);
            }
            start = start.checked_add(size_of_value(kind)?)?;
        }
        if let Some(key) = self.key {
            places[key] = Place::Key;
        }
        (start <= record.len()).then_some(())
    }
}

/// The bytes of a value of a type; nothing of types that are none.
#[inline]
fn size_of_value(kind: u64) -> Option<usize> {
    const OF_NUMBERS: [u8; 10] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];
    match kind {
        0..=9 => Some(usize::from(OF_NUMBERS[kind as usize])),
        10 | 11 => None,
        _ => usize::try_from((kind - 12) / 2).ok(),
    }
}

/// The value at a place of a record.
#[inline]
pub fn value<'r>(record: &'r [u8], place: Place, key: i64) -> ValueRef<'r> {
    let (kind, start) = match place {
        Place::Null => return ValueRef::Null,
        Place::Key => return ValueRef::Integer(key),
        Place::Stored(kind, start) => (kind, start),
    };
    let size = size_of_value(kind).unwrap_or(0);
    let bytes = record.get(start..start.saturating_add(size)).unwrap_or_default();
    match kind {
        1..=6 => ValueRef::Integer(match record.get(start..).and_then(<[u8]>::first_chunk) {
            // One load and one shift, which keeps the sign.
            Some(word) => i64::from_be_bytes(*word) >> (64 - 8 * size),
            None => {
                let sign = if bytes.first().is_some_and(|first| *first >= 0x80) { -1 } else { 0 };
                bytes.iter().fold(sign, |number, byte| number << 8 | i64::from(*byte))
            }
        }),
        7 => match bytes.first_chunk().map(|bits| f64::from_be_bytes(*bits)) {
            Some(number) if !number.is_nan() => ValueRef::Real(number),
            _ => ValueRef::Null,
        },
        8 => ValueRef::Integer(0),
        9 => ValueRef::Integer(1),
        12.. if kind.is_multiple_of(2) => ValueRef::Blob(bytes),
        13.. => ValueRef::Text(bytes),
        _ => ValueRef::Null,
    }
}

/// A number of one to nine bytes, the highest first, and the number of its bytes: seven bits of each, the eighth set
/// where more follow, and all eight of the ninth.
#[inline]
fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut number = 0;
    for (index, &byte) in bytes.iter().take(8).enumerate() {
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((number, index + 1));
        }
    }
    Some((number << 8 | u64::from(*bytes.get(8)?), 9))
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?)))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}
