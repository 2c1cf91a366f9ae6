//! Changes to SQLite databases by their tables, columns and rows.

use std::path::Path;

use fastrand::Rng;
use rusqlite::Connection;

/// Values, in SQL, that are seldom where they are expected.
const VALUES: [&str; 18] = [
    "NULL",
    "0",
    "-1",
    "1",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775807 - 1",
    "1e308",
    "-9e999",
    "0.5",
    "''",
    "'x'",
    "'12'",
    "'[1,2,3]'",
    "'a' || char(27) || '[31m' || char(8238)",
    "replace(hex(zeroblob(5000)), '00', 'long')",
    "zeroblob(9)",
    "x'ff00ff'",
];

/// Changes one place; `None` for what is no database any more.
pub fn change(random: &mut Rng, input: &[u8]) -> Option<Vec<u8>> {
    let file =
        tempfile::NamedTempFile::new_in("/dev/shm").or_else(|_| tempfile::NamedTempFile::new()).ok()?;
    std::fs::write(file.path(), input).ok()?;
    change_file(random, file.path()).ok()?;
    std::fs::read(file.path()).ok()
}

fn change_file(random: &mut Rng, path: &Path) -> rusqlite::Result<()> {
    let database = Connection::open(path)?;
    // It needn't outlast anything, and what a table demands of its rows is what others break.
    database
        .execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;")?;
    database.execute_batch("PRAGMA ignore_check_constraints = ON;")?;
    let tables = names(&database, "SELECT name FROM sqlite_master WHERE type = 'table'")?;
    if tables.is_empty() {
        return Ok(());
    }
    let table = quoted(&tables[random.usize(..tables.len())]);
    let columns = names(&database, &format!("SELECT name FROM pragma_table_info({table})"))?;
    if columns.is_empty() {
        return Ok(());
    }
    let column = quoted(&columns[random.usize(..columns.len())]);
    let value = VALUES[random.usize(..VALUES.len())];
    let row = format!("rowid IN (SELECT rowid FROM {table} LIMIT 1 OFFSET {})", random.usize(..12));
    let statement = match random.u8(..20) {
        0 => format!("DELETE FROM {table} WHERE {row}"),
        1 => format!("DELETE FROM {table}"),
        2 => format!("INSERT OR REPLACE INTO {table} SELECT * FROM {table}"),
        3 => format!("INSERT OR IGNORE INTO {table} ({column}) VALUES ({value})"),
        4 => format!("DROP TABLE {table}"),
        5 => format!("ALTER TABLE {table} RENAME TO other"),
        6 => format!("ALTER TABLE {table} RENAME COLUMN {column} TO other"),
        7 => format!("UPDATE OR IGNORE {table} SET {column} = {value}"),
        8 => {
            let other = quoted(&columns[random.usize(..columns.len())]);
            format!("UPDATE OR IGNORE {table} SET {column} = {other}")
        }
        9 => format!("ALTER TABLE {table} RENAME TO hidden; CREATE VIEW {table} AS SELECT * FROM hidden"),
        10 => format!(
            "ALTER TABLE {table} RENAME TO hidden; CREATE VIEW {table} AS WITH RECURSIVE number(n) AS \
             (SELECT 1 UNION ALL SELECT n + 1 FROM number) SELECT hidden.* FROM number, hidden"
        ),
        _ => format!("UPDATE OR IGNORE {table} SET {column} = {value} WHERE {row}"),
    };
    // A statement that a table refuses changes nothing.
    let _ = database.execute_batch(&statement);
    Ok(())
}

fn names(database: &Connection, question: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = database.prepare(question)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
