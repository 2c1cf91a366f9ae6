//! The texts of `STRING_IDS`, fetched when something names them: most of a large database's are
//! call stacks that nothing in a trace needs.

use std::collections::HashMap;

use opscope_trace::{StringId, StringTable};
use rusqlite::{Connection, OptionalExtension, Statement};

use opscope_formats::other_database::{self as query, Database};

/// The texts that were named so far.
pub(super) struct Texts<'c> {
    /// Looks one text up; nothing if all were fetched at once.
    statement: Option<Statement<'c>>,
    ids: HashMap<i64, StringId>,
    pub table: StringTable,
    /// How many ids were named that have no text.
    pub missing: u64,
    empty: StringId,
}

impl<'c> Texts<'c> {
    pub fn new(database: &'c Database<'c>) -> Self {
        let mut table = StringTable::default();
        let empty = table.intern("");
        let mut texts = Self { statement: None, ids: HashMap::new(), table, missing: 0, empty };
        if has_key(database) {
            texts.statement = database.prepare("SELECT value FROM STRING_IDS WHERE id = ?1").ok();
        } else {
            // Looking a single one up would mean to read them all.
            let _ = query::each_row(database, "STRING_IDS", &["id", "value"], |row| {
                if let (Some(id), Some(text)) = (row.integer(0), row.text(1)) {
                    texts.ids.insert(id, texts.table.intern(&text));
                }
            });
        }
        texts
    }

    /// The text of an id, which is in [`Texts::table`]; an empty one for no id.
    pub fn find(&mut self, id: Option<i64>) -> StringId {
        let Some(id) = id else { return self.empty };
        if let Some(&text) = self.ids.get(&id) {
            return text;
        }
        let found = self.statement.as_mut().and_then(|statement| {
            let text = statement.query_row([id], |row| {
                let text = row.get_ref(0)?.as_bytes_or_null().unwrap_or_default();
                Ok(text.map(|text| String::from_utf8_lossy(text).into_owned()))
            });
            text.optional().ok().flatten().flatten()
        });
        let text = match found {
            Some(text) => self.table.intern(&text),
            None => {
                self.missing += 1;
                self.empty
            }
        };
        self.ids.insert(id, text);
        text
    }
}

/// Whether a text can be looked up by its id without reading all of them.
fn has_key(database: &Connection) -> bool {
    let sql = "SELECT count(*) FROM pragma_table_info('STRING_IDS') WHERE name = 'id' AND pk = 1";
    database.query_row(sql, [], |row| row.get::<_, i64>(0)).is_ok_and(|keys| keys == 1)
}
