//! The database as it is being written: its file and its texts.

use std::io::{self, Seek, Write};

use opscope_formats::sqlite_file::{Row, SqliteWriter};

use crate::database::schema::Table;
use crate::database::strings::Strings;

/// The file, and the texts that its tables refer to so far.
pub(super) struct Output<'a, W> {
    pub(super) writer: SqliteWriter<W>,
    pub(super) strings: Strings<'a>,
}

impl<W: Write + Seek + Send> Output<'_, W> {
    /// Writes a table; `fill` writes the values of the row with a number, in the columns' order.
    pub(super) fn table(
        &mut self,
        table: &Table,
        rows: usize,
        fill: impl Fn(usize, &mut Row<'_>) + Sync,
    ) -> io::Result<()> {
        self.writer.table(table.name, table.sql(), rows, |index, row| {
            fill(index, row);
            debug_assert_eq!(row.count(), table.columns.len(), "{}: a value for each column", table.name);
        })
    }

    /// Writes an index; each sorted entry ends with the number of its row.
    pub(super) fn index<const COLUMNS: usize>(
        &mut self,
        name: &str,
        table: &Table,
        columns: &[&str],
        entries: &[[i64; COLUMNS]],
    ) -> io::Result<()> {
        let sql = format!("CREATE INDEX {name} ON {} ({})", table.name, columns.join(","));
        self.writer.index(name, table.name, sql, entries)
    }
}
