//! A database in memory, table by table.

use std::io::{self, Cursor};

use opscope_formats::sqlite_file::{Row, SqliteWriter};

/// A file in memory, table by table.
pub(crate) struct Database<'a>(pub(crate) SqliteWriter<&'a mut Cursor<Vec<u8>>>);

impl Database<'_> {
    pub(crate) fn table(
        &mut self,
        name: &str,
        columns: &str,
        rows: usize,
        fill: impl Fn(usize, &mut Row<'_>) + Sync,
    ) -> io::Result<()> {
        self.0.table(name, format!("CREATE TABLE {name} ({columns})"), rows, fill)
    }

    /// A table of integers alone, one of which may be the rows' key.
    pub(crate) fn integers<const COLUMNS: usize>(
        &mut self,
        name: &str,
        columns: &str,
        key: Option<usize>,
        rows: &[[i64; COLUMNS]],
    ) -> io::Result<()> {
        self.table(name, columns, rows.len(), |index, row| {
            for (column, value) in rows[index].iter().enumerate() {
                if key == Some(column) { row.key(*value) } else { row.integer(*value) }
            }
        })
    }

    pub(crate) fn texts(&mut self, name: &str, columns: &str, rows: &[[&str; 2]]) -> io::Result<()> {
        self.table(name, columns, rows.len(), |index, row| rows[index].iter().for_each(|text| row.text(text)))
    }
}
