//! Writes SQLite files page by page, several times faster than SQLite's own inserts.
//!
//! A table that is only ever appended to is a sequence of full pages, so its pages can be encoded
//! on all cores and written one after another; the few pages that lead to them follow when all are
//! known. The result is an ordinary file of SQLite 3 ([file format](https://www.sqlite.org/fileformat2.html)).
//!
//! | part of the file | content |
//! |---|---|
//! | page 1 | 100 bytes of file header, then the root of the table of tables |
//! | per table | leaf pages with its rows, in order; pages with what doesn't fit a leaf page; interior pages, the root last |
//! | per index | leaf pages with its entries, in order; interior pages, the root last |
//!
//! Numbers are big-endian. There are no free pages, and nothing refers to a place in the file but by
//! page number, so pages are encoded before it is known where they will lie.

mod index;
mod interior;
mod leaf;
mod page;
mod record;

use std::io::{self, Seek, SeekFrom, Write};

use opscope_parallel as parallel;

use crate::sqlite_file::leaf::LeafPages;
use crate::sqlite_file::page::{FILE_HEADER, PAGE};
use crate::sqlite_file::record::RowBuffer;

pub use index::IndexValue;
pub use record::Row;

/// The page that holds the byte 2³⁰, by which SQLite locks the file; it stays unused.
const LOCK_PAGE: u32 = (1 << 30) / PAGE as u32 + 1;

/// How many rows are put into pages in one go.
const ROWS_PER_CHUNK: usize = 1 << 13;

/// A SQLite file that is being written.
pub struct SqliteWriter<W> {
    out: W,
    next_page: u32,
    schema: Vec<SchemaRow>,
}

/// A table or index, as the table of tables names it.
struct SchemaRow {
    kind: &'static str,
    name: String,
    table: String,
    root: u32,
    sql: String,
}

impl<W: Write + Seek + Send> SqliteWriter<W> {
    /// Begins a file at the present position of `out`, which must be its begin.
    ///
    /// # Errors
    /// Errors of `out`, here and in all that follows.
    pub fn new(mut out: W) -> io::Result<Self> {
        // Page 1 is written last, when the roots of all tables are known.
        out.write_all(&[0; PAGE])?;
        Ok(Self { out, next_page: 2, schema: Vec::new() })
    }

    /// Writes a table; `fill` writes the values of the row with a number. A row's key is its number
    /// plus one, or what `fill` gives; keys must ascend.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn table(
        &mut self,
        name: &str,
        sql: String,
        rows: usize,
        fill: impl Fn(usize, &mut Row<'_>) + Sync,
    ) -> io::Result<()> {
        let chunk = |number: usize, (pages, buffer): &mut (LeafPages, RowBuffer)| {
            for index in number * ROWS_PER_CHUNK..((number + 1) * ROWS_PER_CHUNK).min(rows) {
                let mut row = buffer.begin(index as i64 + 1);
                fill(index, &mut row);
                pages.push(buffer);
            }
        };
        let mut children = Vec::new();
        parallel::parts(rows.div_ceil(ROWS_PER_CHUNK), chunk, |(pages, _)| {
            self.append_leaves(pages, &mut children)
        })?;
        if children.is_empty() {
            self.append_leaves(&mut LeafPages::empty(), &mut children)?;
        }
        let root = self.append_table_levels(children)?;
        self.add("table", name, name, root, sql);
        Ok(())
    }

    /// Writes an index of a table whose rows have the keys that end each of the sorted entries.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn index<Value: IndexValue, const COLUMNS: usize>(
        &mut self,
        name: &str,
        table: &str,
        sql: String,
        entries: &[[Value; COLUMNS]],
    ) -> io::Result<()> {
        let root = index::write(entries, |pages| self.append(pages))?;
        self.add("index", name, table, root, sql);
        Ok(())
    }

    fn add(&mut self, kind: &'static str, name: &str, table: &str, root: u32, sql: String) {
        self.schema.push(SchemaRow { kind, name: name.to_owned(), table: table.to_owned(), root, sql });
    }

    /// Writes the table of tables and the file's header.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(mut self) -> io::Result<()> {
        let mut leaves = LeafPages::default();
        let mut buffer = RowBuffer::default();
        for (key, entry) in (1..).zip(&self.schema) {
            let mut row = buffer.begin(key);
            row.text(entry.kind);
            row.text(&entry.name);
            row.text(&entry.table);
            row.integer(i64::from(entry.root));
            row.text(&entry.sql);
            leaves.push(&mut buffer);
        }
        let mut first = match leaves.into_first_page() {
            Ok(page) => page,
            Err(mut leaves) => {
                let mut children = Vec::new();
                self.append_leaves(&mut leaves, &mut children)?;
                let root = self.append_table_levels(children)?;
                interior::first_page(root)
            }
        };
        write_header(&mut first[..FILE_HEADER], self.next_page - 1);
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(&first)?;
        self.out.seek(SeekFrom::End(0))?;
        self.out.flush()
    }

    /// Writes leaf pages and what overflows them; adds the pages to `children`. The leaves are empty then.
    fn append_leaves(
        &mut self,
        leaves: &mut LeafPages,
        children: &mut Vec<interior::Child>,
    ) -> io::Result<()> {
        leaves.finish();
        let numbers = self.numbers(leaves.last_keys.len());
        // Records that don't fit go on behind the leaves, which must know the first page of each.
        let mut next = numbers.last().map_or(self.next_page, |last| last + 1);
        let mut rest = Vec::new();
        for overflow in leaves.overflows.drain(..) {
            next += u32::from(next == LOCK_PAGE);
            leaves.pages[overflow.place..overflow.place + 4].copy_from_slice(&next.to_be_bytes());
            let mut chunks = overflow.bytes.chunks(PAGE - 4).peekable();
            while let Some(chunk) = chunks.next() {
                next += 1;
                next += u32::from(next == LOCK_PAGE);
                let following = if chunks.peek().is_some() { next } else { 0 };
                rest.extend_from_slice(&following.to_be_bytes());
                rest.extend_from_slice(chunk);
                rest.resize(rest.len().next_multiple_of(PAGE), 0);
            }
        }
        self.append(&leaves.pages)?;
        self.append(&rest)?;
        let keys = leaves.last_keys.drain(..);
        children.extend(numbers.into_iter().zip(keys).map(|(page, key)| interior::Child { page, key }));
        leaves.pages.clear();
        Ok(())
    }

    /// Writes the interior pages above some pages of a table; returns the root's number.
    fn append_table_levels(&mut self, mut children: Vec<interior::Child>) -> io::Result<u32> {
        while children.len() > 1 {
            let (pages, keys) = interior::table_level(&children);
            let numbers = self.append(&pages)?;
            children =
                numbers.into_iter().zip(keys).map(|(page, key)| interior::Child { page, key }).collect();
        }
        Ok(children.first().map_or(0, |child| child.page))
    }

    /// The numbers that the next pages will get.
    fn numbers(&self, count: usize) -> Vec<u32> {
        (self.next_page..).filter(|page| *page != LOCK_PAGE).take(count).collect()
    }

    /// Writes pages behind the others; returns their numbers.
    fn append(&mut self, pages: &[u8]) -> io::Result<Vec<u32>> {
        let numbers = self.numbers(pages.len() / PAGE);
        let before_lock = (LOCK_PAGE.saturating_sub(self.next_page) as usize * PAGE).min(pages.len());
        if self.next_page <= LOCK_PAGE && before_lock < pages.len() {
            self.out.write_all(&pages[..before_lock])?;
            self.out.write_all(&[0; PAGE])?;
            self.out.write_all(&pages[before_lock..])?;
        } else {
            self.out.write_all(pages)?;
        }
        self.next_page = numbers.last().map_or(self.next_page, |last| last + 1);
        Ok(numbers)
    }
}

/// Writes the file's header.
///
/// | offset | bytes | content |
/// |---|---|---|
/// | 0 | 16 | `SQLite format 3\0` |
/// | 16 | 2 | bytes of a page |
/// | 18 | 1, 1 | versions for writing and reading: 1, a rollback journal |
/// | 20 | 1 | unused bytes at the end of each page: 0 |
/// | 21 | 1, 1, 1 | fixed: 64, 32, 32 |
/// | 24 | 4 | how often the file was changed |
/// | 28 | 4 | pages of the file |
/// | 32 | 4, 4 | first free page, free pages: none |
/// | 40 | 4 | how often the tables were changed |
/// | 44 | 4 | format of the table of tables: 4, which has types of their own for 0 and 1 |
/// | 56 | 4 | encoding of text: 1, UTF-8 |
/// | 92 | 4 | the change for which the next field holds |
/// | 96 | 4 | the version of SQLite whose format this is |
fn write_header(header: &mut [u8], pages: u32) {
    header.fill(0);
    let mut put = |offset: usize, bytes: &[u8]| header[offset..offset + bytes.len()].copy_from_slice(bytes);
    put(0, b"SQLite format 3\0");
    put(16, &(PAGE as u16).to_be_bytes());
    put(18, &[1, 1, 0, 64, 32, 32]);
    put(24, &1u32.to_be_bytes());
    put(28, &pages.to_be_bytes());
    put(40, &1u32.to_be_bytes());
    put(44, &4u32.to_be_bytes());
    put(56, &1u32.to_be_bytes());
    put(92, &1u32.to_be_bytes());
    put(96, &3_045_000u32.to_be_bytes());
}

#[cfg(test)]
mod tests;
