//! Leaf pages of tables: the pages that hold rows.
//!
//! | part of a page | content |
//! |---|---|
//! | 0 | 13, a leaf of a table |
//! | 1 | 2 bytes: no freed space |
//! | 3 | 2 bytes: how many rows |
//! | 5 | 2 bytes: where their bytes begin |
//! | 7 | 1 byte: no fragments |
//! | 8 | for each row 2 bytes: where it lies |
//! | … | unused |
//! | to the end | the rows, the first at the very end |
//!
//! A row is the length of its record and its key (variable-length numbers) and the record. Of a
//! record that is too long for a page, only the begin lies there, with the number of the page where
//! it goes on; such pages begin with the number of the next one (0 for none).

use crate::sqlite_file::page::{FILE_HEADER, PAGE};
use crate::sqlite_file::record::{RowBuffer, put_varint, varint_len};

/// Bytes of a leaf page's header.
const HEADER: usize = 8;

/// A record of up to this many bytes lies wholly on its page.
const MAX_LOCAL: usize = PAGE - 35;

/// Of a longer record at least this many bytes lie there.
const MIN_LOCAL: usize = (PAGE - 12) * 32 / 255 - 23;

/// Full leaf pages, one behind the other.
#[derive(Debug, Default)]
pub(super) struct LeafPages {
    pub(super) pages: Vec<u8>,
    /// For each page its last row's key.
    pub(super) last_keys: Vec<i64>,
    pub(super) overflows: Vec<Overflow>,
    /// Rows on the last page.
    rows: usize,
    /// Where the bytes of the rows on the last page begin.
    content: usize,
}

/// The part of a record for which its page has no room.
#[derive(Debug)]
pub(super) struct Overflow {
    /// Where in [`LeafPages::pages`] the number of the page belongs on which the record goes on.
    pub(super) place: usize,
    pub(super) bytes: Vec<u8>,
}

impl LeafPages {
    /// The one page of a table without rows.
    pub(super) fn empty() -> Self {
        let mut pages = Self::default();
        pages.begin_page(0);
        pages
    }

    /// Appends a row.
    #[inline]
    pub(super) fn push(&mut self, row: &mut RowBuffer) {
        let length = row.len();
        let local = local_len(length);
        let spill = if local < length { 4 } else { 0 };
        let prefix = varint_len(length as u64) + varint_len(row.key as u64);
        let size = prefix + local + spill;
        if self.last_keys.is_empty() || HEADER + 2 * (self.rows + 1) + size > self.content {
            self.finish();
            self.begin_page(row.key);
        }
        let page = self.pages.len() - PAGE;
        self.content -= size;
        let pointer = page + HEADER + 2 * self.rows;
        self.pages[pointer..pointer + 2].copy_from_slice(&(self.content as u16).to_be_bytes());
        let start = page + self.content;
        let cell = &mut self.pages[start..start + size];
        let used = put_varint(cell, length as u64);
        put_varint(&mut cell[used..], row.key as u64);
        if spill == 0 {
            row.write(&mut cell[prefix..]);
        } else {
            let mut record = vec![0; length];
            row.write(&mut record);
            cell[prefix..prefix + local].copy_from_slice(&record[..local]);
            let bytes = record.split_off(local);
            self.overflows.push(Overflow { place: start + size - 4, bytes });
        }
        self.rows += 1;
        if let Some(last) = self.last_keys.last_mut() {
            debug_assert!(self.rows == 1 || *last < row.key, "keys ascend");
            *last = row.key;
        }
    }

    fn begin_page(&mut self, key: i64) {
        self.pages.resize(self.pages.len() + PAGE, 0);
        self.last_keys.push(key);
        self.rows = 0;
        self.content = PAGE;
    }

    /// Completes the last page.
    pub(super) fn finish(&mut self) {
        if self.last_keys.is_empty() {
            return;
        }
        let page = self.pages.len() - PAGE;
        write_page_header(&mut self.pages[page..page + HEADER], self.rows, self.content);
    }

    /// The file's first page, which begins with the file's header, if the rows fit there.
    pub(super) fn into_first_page(mut self) -> Result<Vec<u8>, Self> {
        self.finish();
        let free = self.content - (HEADER + 2 * self.rows);
        if self.last_keys.len() != 1 || !self.overflows.is_empty() || free < FILE_HEADER {
            return Err(self);
        }
        // All places are relative to the page's begin, so only the head moves.
        let head = HEADER + 2 * self.rows;
        self.pages.copy_within(..head, FILE_HEADER);
        Ok(self.pages)
    }
}

fn write_page_header(header: &mut [u8], rows: usize, content: usize) {
    header[0] = 13;
    header[3..5].copy_from_slice(&(rows as u16).to_be_bytes());
    header[5..7].copy_from_slice(&(content as u16).to_be_bytes());
}

/// How many bytes of a record lie on its leaf page.
#[inline]
fn local_len(length: usize) -> usize {
    if length <= MAX_LOCAL {
        return length;
    }
    let wanted = MIN_LOCAL + (length - MIN_LOCAL) % (PAGE - 4);
    if wanted <= MAX_LOCAL { wanted } else { MIN_LOCAL }
}
