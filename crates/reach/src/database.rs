//! The vendor's databases: opened as files that nobody changes, read row by row, by columns that may be missing.

use std::ops::Deref;
use std::path::Path;

use opscope_trace::NumberMap;
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row, Statement};
use serde_json::Value;

/// Has SQLite keep no account of the memory that it takes: the account has a lock, for which threads that read
/// databases wait a third of their time. Limits of SQLite's memory don't hold then.
///
/// # Safety
/// No other thread uses SQLite meanwhile. Once a database was opened, nothing changes.
pub unsafe fn keep_no_account_of_memory() {
    // SAFETY: the option takes one `int` (SQLite's documentation, "Configuration Options"); no thread uses SQLite, as the
    // caller promises, and SQLite refuses the option once it was initialised.
    unsafe { rusqlite::ffi::sqlite3_config(rusqlite::ffi::SQLITE_CONFIG_MEMSTATUS, 0) };
}

/// A database that is read.
pub struct Database {
    connection: Connection,
    /// No table has more rows than the file has bytes: a damaged file can name its pages over and over.
    most_rows: u64,
    /// Whether all that it lists are tables with rows of their own, and indexes: no views, and nothing that a module
    /// computes.
    is_plain: bool,
}

impl Deref for Database {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

/// One of which nothing is known, such as one in memory.
impl From<Connection> for Database {
    fn from(connection: Connection) -> Self {
        Self { connection, most_rows: i64::MAX as u64, is_plain: false }
    }
}

/// Opens a database: no lock is taken, nothing is written beside it, and its views and triggers get no say.
///
/// # Errors
/// When it is no plain file, no database, or one that is too damaged to have tables.
pub fn open(path: &Path) -> rusqlite::Result<Database> {
    open_telling(path).map(|(database, _)| database)
}

/// As [`open()`], with why SQLite refuses the database as it is: one that is shorter than it says, or whose list of tables
/// is damaged, may list no table that it lost.
///
/// # Errors
/// As [`open()`].
pub fn open_telling(path: &Path) -> rusqlite::Result<(Database, Option<rusqlite::Error>)> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // SQLite would wait for a pipe.
    let Some(file) = path.metadata().ok().filter(std::fs::Metadata::is_file) else {
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
        return Err(rusqlite::Error::SqliteFailure(code, Some("this is no plain file".to_owned())));
    };
    let connection = Connection::open_with_flags(uri(path), flags)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.execute_batch("PRAGMA cell_size_check = ON")?;
    let list = |it: &Connection| {
        let sql =
            "SELECT count(*), total(type = 'view' OR type = 'table' AND rootpage = 0) FROM sqlite_schema";
        it.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, f64>(1)?)))
    };
    let (count, is_plain, damage) = match list(&connection) {
        Ok((count, others)) => (count, others == 0.0, None),
        Err(error) => {
            // SQLite refuses a file that is shorter than it says, unless it may repair it; then it reads what is there.
            connection.execute_batch("PRAGMA query_only = ON; PRAGMA writable_schema = ON")?;
            (list(&connection)?.0, false, Some(error))
        }
    };
    match count {
        0 => Err(rusqlite::Error::QueryReturnedNoRows),
        _ => Ok((Database { connection, most_rows: file.len(), is_plain }, damage)),
    }
}

/// The path as a URI with the word that nothing changes the file (SQLite's documentation, "URI Filenames").
fn uri(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = "file:".to_owned();
    if !path.as_os_str().as_encoded_bytes().starts_with(b"/") {
        uri.push('/');
    }
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'/' | b'.' | b'-' | b'_' | b':' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?mode=ro&immutable=1"
}

/// Hands on every row of a table, the columns in the order asked for; those that it lacks are NULL. A table
/// that isn't there has no rows.
///
/// # Errors
/// When SQLite can't go on; the rows before were handed on.
pub fn each_row(
    database: &Database,
    table: &str,
    columns: &[&str],
    mut row: impl FnMut(&Row<'_>),
) -> rusqlite::Result<()> {
    let Some(mut statement) = select(database, table, columns, ["", "LIMIT ?1"])? else { return Ok(()) };
    let mut rows = statement.query([i64::try_from(database.most_rows).unwrap_or(i64::MAX)])?;
    while let Some(found) = rows.next()? {
        row(found);
    }
    Ok(())
}

/// Rows of a table by their numbers: the first and the last of each run of them.
pub type RowRuns = Vec<(i64, i64)>;

/// Of each value of a column the rows that have it.
///
/// # Errors
/// When SQLite can't go on; the rows before were handed on.
pub fn each_row_number(
    database: &Database,
    table: &str,
    column: &str,
    mut row: impl FnMut(i64, &Row<'_>),
) -> rusqlite::Result<()> {
    let Some(mut statement) = select(database, table, &[column], ["rowid, ", ""])? else { return Ok(()) };
    let mut rows = statement.query([])?;
    let mut last = i64::MIN;
    while let Some(found) = rows.next()? {
        let number: i64 = found.get(0)?;
        // The numbers of a sound table rise; those of a damaged one may go round for ever.
        if number <= last {
            break;
        }
        last = number;
        row(number, found);
    }
    Ok(())
}

/// As [`each_row()`], of some rows only.
///
/// # Errors
/// When SQLite can't go on; the rows before were handed on.
pub fn each_row_of(
    database: &Database,
    table: &str,
    columns: &[&str],
    runs: &RowRuns,
    mut row: impl FnMut(&Row<'_>),
) -> rusqlite::Result<()> {
    let ends = ["", "WHERE rowid BETWEEN ?1 AND ?2 LIMIT ?3"];
    let Some(mut statement) = select(database, table, columns, ends)? else { return Ok(()) };
    for (first, last) in runs {
        let most = last.saturating_sub(*first).saturating_add(1);
        let mut rows = statement.query([*first, *last, most])?;
        while let Some(found) = rows.next()? {
            row(found);
        }
    }
    Ok(())
}

/// A query of columns of a table, with texts before them and behind it; columns that the table lacks are NULL. `None` if
/// there is no such table.
fn select<'d>(
    database: &'d Database,
    table: &str,
    columns: &[&str],
    [before, behind]: [&str; 2],
) -> rusqlite::Result<Option<Statement<'d>>> {
    // In brackets, because some columns have names that mean something in SQL, such as `index`, and because in quotation
    // marks a name that isn't there would be a text.
    let query =
        |columns: Vec<String>| format!("SELECT {before}{} FROM [{table}] {behind}", columns.join(", "));
    let quoted = |name: &&str| format!("[{name}]");
    // Nearly all databases have all that is asked for.
    if database.is_plain
        && let Ok(statement) = database.prepare(&query(columns.iter().map(quoted).collect()))
    {
        return Ok(Some(statement));
    }
    let mut known = database.prepare_cached(
        "SELECT info.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS info \
         WHERE tables.name = ?1 AND tables.type = 'table' AND tables.rootpage > 0",
    )?;
    let known: Vec<String> = known.query_map([table], |row| row.get(0))?.collect::<Result<_, _>>()?;
    if known.is_empty() {
        return Ok(None);
    }
    let column = |name: &&str| match known.iter().any(|it| it == name) {
        true => quoted(name),
        false => "NULL".to_owned(),
    };
    database.prepare(&query(columns.iter().map(column).collect())).map(Some)
}

/// A whole number, also if it is written as text or as a number with a fraction.
pub fn whole(row: &Row<'_>, column: usize) -> Option<i64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(number) => Some(number),
        ValueRef::Real(number) => Some(number as i64),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    }
}

/// A number, also if it is written as text.
pub fn number(row: &Row<'_>, column: usize) -> Option<f64> {
    match row.get_ref(column).ok()? {
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
        _ => None,
    }
    .filter(|number| number.is_finite())
}

/// A text; empty if it is none.
pub fn text<'r>(row: &'r Row<'_>, column: usize) -> &'r str {
    row.get_ref(column).ok().and_then(|value| value.as_str().ok()).unwrap_or_default()
}

/// The texts of `STRING_IDS` by their numbers.
#[derive(Default)]
pub struct Texts(NumberMap<i64, String>);

impl Texts {
    /// Reads all.
    ///
    /// # Errors
    /// When the table breaks off.
    pub fn read(database: &Database) -> (Self, rusqlite::Result<()>) {
        let mut texts = NumberMap::default();
        let done = each_row(database, "STRING_IDS", &["id", "value"], |row| {
            if let Some(id) = whole(row, 0) {
                texts.insert(id, text(row, 1).to_owned());
            }
        });
        (Self(texts), done)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of a number; empty if there is none.
    pub fn get(&self, id: Option<i64>) -> &str {
        id.and_then(|id| self.0.get(&id)).map_or("", String::as_str)
    }
}

/// The owner of a database, as it says itself.
pub struct Identity {
    /// The host's name.
    pub host: Option<String>,
    /// The number by which the profiler knows it.
    pub host_uid: Option<String>,
    /// The devices that it is of, each with its rank if it has one, in the order of the table.
    pub ranks_and_devices: Vec<(Option<u32>, u32)>,
    /// The framework's metadata, as an object of texts that hold JSON.
    pub metadata: Option<Value>,
}

/// Reads whose a database is.
///
/// # Errors
/// When it can't be opened.
pub fn identity(path: &Path) -> rusqlite::Result<Identity> {
    let database = open(path)?;
    let mut identity = Identity { host: None, host_uid: None, ranks_and_devices: Vec::new(), metadata: None };
    let mut metadata = serde_json::Map::new();
    // A table that breaks off tells what it can; reading the rank says that it is damaged.
    let _ = each_row(&database, "HOST_INFO", &["hostName", "hostUid"], |row| {
        let told = |column| Some(text(row, column).to_owned()).filter(|name| !name.is_empty());
        (identity.host, identity.host_uid) = (told(0), told(1));
    });
    let _ = each_row(&database, "RANK_DEVICE_MAP", &["rankId", "deviceId"], |row| {
        // Without a cluster the rank is -1.
        let number = |column| whole(row, column).and_then(|number| u32::try_from(number).ok());
        identity.ranks_and_devices.extend(number(1).map(|device| (number(0), device)));
    });
    let _ = each_row(&database, "META_DATA", &["name", "value"], |row| {
        metadata.insert(text(row, 0).to_owned(), text(row, 1).into());
    });
    if !metadata.is_empty() {
        identity.metadata = Some(Value::Object(metadata));
    }
    Ok(identity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_that_is_not_there_is_null_and_a_view_has_no_rows() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let found = |name: &str, sql: &str| {
            let path = folder.path().join(name);
            Connection::open(&path).and_then(|database| database.execute_batch(sql)).expect("a new database");
            let database = open(&path).expect("a database");
            let mut rows = Vec::new();
            for table in ["CALLS", "LOOK", "NONE"] {
                let take = |row: &Row<'_>| {
                    rows.push(format!("{table} {:?} {:?} {:?}", whole(row, 0), text(row, 1), whole(row, 2)));
                };
                each_row(&database, table, &["index", "name", "absent"], take).expect("readable rows");
            }
            (database.is_plain, rows)
        };
        let tables = "CREATE TABLE CALLS (\"index\", name); INSERT INTO CALLS VALUES (7, 'a'), (8, NULL);";
        let expected = ["CALLS Some(7) \"a\" None", "CALLS Some(8) \"\" None"].map(str::to_owned);
        assert_eq!(found("plain.db", tables), (true, expected.to_vec()));
        let views = format!("{tables} CREATE VIEW LOOK AS SELECT 1 AS \"index\", 'b' AS name, 2 AS absent;");
        assert_eq!(found("views.db", &views), (false, expected.to_vec()));
    }

    #[test]
    fn a_database_that_is_cut_anywhere_is_refused_or_told() {
        const PAGE: usize = 4096;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("cut.db");
        let database = Connection::open(&path).expect("a new database");
        let tables =
            "CREATE TABLE first (x); CREATE TABLE last (x); INSERT INTO last VALUES (zeroblob(20000));";
        database.execute_batch(&format!("PRAGMA page_size = {PAGE}; {tables}")).expect("tables");
        drop(database);
        let whole = std::fs::read(&path).expect("the database");
        assert!(open_telling(&path).is_ok_and(|(_, damage)| damage.is_none()));
        for length in [0, 50, 1_000, 3_000, PAGE, 5_000, 2 * PAGE, 3 * PAGE, whole.len() - PAGE] {
            std::fs::write(&path, &whole[..length]).expect("a writable temporary folder");
            let is_told = open_telling(&path).map_or(true, |(_, damage)| damage.is_some());
            assert!(is_told, "cut to {length} of {} bytes", whole.len());
        }
    }
}
