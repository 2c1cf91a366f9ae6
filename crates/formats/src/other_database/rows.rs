//! The rows of a table: off the file's pages where the table is plain, which is quicker, and else from SQLite.

use std::ops::Deref;

use rusqlite::Connection;

use super::pages::{Layout, Pages};
use super::{Cells, columns, most_rows, quoted};
use crate::reading::Stop;

/// A database with its bytes where those can be had, in which plain tables are found without SQLite. All else is asked
/// of the connection.
#[derive(Debug)]
pub struct Database<'b> {
    connection: Connection,
    pub(super) pages: Option<Pages<'b>>,
    stop: Stop,
}

impl<'b> Database<'b> {
    /// A database to be read until `stop` is wanted; `bytes` are those of its file, if nothing is wrong with it.
    pub fn new(connection: Connection, bytes: Option<&'b [u8]>, stop: &Stop) -> Self {
        Self { connection, pages: bytes.and_then(Pages::of), stop: stop.clone() }
    }

    /// The number of the uppermost page of a table, and its columns, if it is plain: one of SQLite's ordinary tables,
    /// without an index by which it might be read as well, and with no value that isn't in its rows.
    pub(super) fn plain_table(&self, table: &str, wanted: &[&str]) -> Option<(u32, Layout)> {
        let schema = "SELECT rootpage, (SELECT count(*) FROM sqlite_schema WHERE tbl_name = ?1 COLLATE NOCASE) \
                      FROM sqlite_schema WHERE name = ?1 AND type = 'table'";
        let found: (u32, u32) =
            self.connection.query_row(schema, [table], |row| Ok((row.get(0)?, row.get(1)?))).ok()?;
        // The table itself is the only entry that belongs to it.
        let root = Some(found).filter(|(root, entries)| *root > 0 && *entries == 1)?.0;
        let columns = "SELECT name, upper(type) = 'INTEGER' AND pk = 1, hidden != 0 OR dflt_value IS NOT NULL, pk \
                       FROM pragma_table_xinfo(?1) ORDER BY cid";
        let mut statement = self.connection.prepare(columns).ok()?;
        let columns = statement.query_map([table], |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, bool>(1)?,
                row.get::<_, bool>(2)?,
                row.get::<_, u32>(3)?,
            ))
        });
        let columns: Vec<(String, bool, bool, u32)> = columns.ok()?.collect::<rusqlite::Result<_>>().ok()?;
        if columns.iter().any(|(.., is_computed, _)| *is_computed) {
            return None;
        }
        // A key of several columns has an index, or the table has no numbers of rows.
        let key = columns.iter().find(|(.., key)| *key > 0);
        if key.is_some_and(|(_, is_number, ..)| !is_number) {
            return None;
        }
        let place = |column: &str| wanted.iter().position(|wanted| *wanted == column);
        let key = key.and_then(|(name, ..)| place(name));
        let mut layout = Layout {
            wanted: columns.iter().map(|(name, ..)| place(name)).collect(),
            count: wanted.len(),
            key,
        };
        let used = layout.wanted.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        layout.wanted.truncate(used);
        Some((root, layout))
    }
}

impl Deref for Database<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// Hands every row of a table to `row`, with the columns in the order asked for; those that the
/// table lacks are empty. Without the table, nothing is done.
///
/// # Errors
/// When SQLite can't go on, with the number of rows that came before.
pub fn each_row(
    database: &Database<'_>,
    table: &str,
    wanted: &[&str],
    mut row: impl FnMut(&Cells<'_>),
) -> Result<(), Broken> {
    let known = columns(database, table);
    if known.is_empty() {
        return Ok(());
    }
    let selected: Vec<String> = (wanted.iter())
        .map(|name| match known.iter().any(|column| column == name) {
            true => quoted(name),
            false => "NULL".to_owned(),
        })
        .collect();
    let mut before = 0;
    if let Some(pages) = database.pages
        && let Some((root, layout)) = database.plain_table(table, wanted)
    {
        let scanned = pages.each_row(root, &layout, || !database.stop.is_wanted(), &mut row);
        if scanned.is_whole || database.stop.is_wanted() {
            return Ok(());
        }
        before = scanned.rows;
    }
    let mut read = || {
        let (selected, most) = (selected.join(", "), most_rows(database));
        let sql = format!("SELECT {selected} FROM {} LIMIT {most} OFFSET {before}", quoted(table));
        let mut statement = database.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(found) = rows.next()? {
            row(&Cells::of_row(found));
            before += 1;
        }
        Ok(())
    };
    read().map_err(|error| Broken { before, error })
}

/// A table that broke off.
#[derive(Debug)]
pub struct Broken {
    /// How many rows came before.
    pub before: u64,
    /// SQLite's words.
    pub error: rusqlite::Error,
}
