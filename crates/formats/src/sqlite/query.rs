//! Questions in SQL to a trace: its tables in memory, or those of a database, to be read only.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use opscope_trace::Trace;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use super::read::{check_file, read_losses, stoppable};
use super::views::{VIEWS, View};
use super::write::in_memory;
use super::{ReadError, WriteProblem};
use crate::memory;
use crate::reading::Stop;

/// The tables of a trace, to be read only.
pub struct Database {
    connection: Connection,
    losses: Trace,
}

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// Text; what is no UTF-8 in it is replaced.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

/// A statement that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// SQLite doesn't understand it, or the tables don't have what it names.
    #[error("{message}{}", place(*offset))]
    Statement {
        /// SQLite's message.
        message: String,
        /// Where in the statement, in bytes.
        offset: Option<usize>,
    },
    /// It would change something, or reach beyond the trace's tables.
    #[error(
        "this statement does more than read the tables, which is all that is allowed; use SELECT or WITH"
    )]
    NotRead,
    /// It took longer than it may.
    #[error("the statement took longer than it may, and was stopped")]
    TooLong,
    /// It took more memory than it may.
    #[error("the statement takes more memory than it may (--memory allows more)")]
    TooMuchMemory,
    /// There is more than one statement.
    #[error("one statement is expected, without another behind it")]
    NotOne,
    /// There is no statement.
    #[error("the statement is empty; write one, such as SELECT name FROM operators")]
    Empty,
    /// The database's pages aren't as SQLite makes them, or the system can't read them.
    #[error("the database is damaged: {message}; copy it again, or convert the original profile again")]
    Damaged {
        /// SQLite's message.
        message: String,
    },
}

fn place(offset: Option<usize>) -> String {
    offset.map_or(String::new(), |offset| format!(" (at character {})", offset + 1))
}

impl Database {
    /// Puts a trace into tables in memory.
    ///
    /// # Errors
    /// Any that SQLite reports.
    pub fn of_trace(trace: &Trace) -> Result<Self, QueryError> {
        let connection = in_memory(trace).map_err(|problem| match problem {
            WriteProblem::Sqlite(error) => statement_error(error),
            // Memory takes whatever is written.
            WriteProblem::Io(error) => QueryError::Statement { message: error.to_string(), offset: None },
        })?;
        let mut losses = Trace::new();
        losses.append_losses(trace);
        Self::restrict(connection, losses, true).map_err(statement_error)
    }

    /// Opens a database of opscope as it is.
    ///
    /// # Errors
    /// When it can't be opened, has tables of another version, or its table of losses is damaged.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let open = || {
            check_file(path)?;
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(path, flags)?;
            connection.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
            let losses = read_losses(&connection)?;
            Ok(Self::restrict(connection, losses, false)?)
        };
        open().map_err(|problem| ReadError { path: path.to_owned(), problem })
    }

    /// The losses of the trace in the tables, as a trace that holds nothing else.
    pub fn losses(&self) -> &Trace {
        &self.losses
    }

    /// Whether there are views that opscope didn't write: those may compute without an end.
    ///
    /// # Errors
    /// Any that SQLite reports.
    pub fn has_foreign_views(&self) -> Result<bool, QueryError> {
        let known: HashSet<String> = VIEWS.iter().map(View::ddl).collect();
        let is_foreign = || {
            let mut views = self.connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'view'")?;
            let mut rows = views.query([])?;
            while let Some(row) = rows.next()? {
                let sql: Option<String> = row.get(0)?;
                if sql.is_none_or(|sql| !known.contains(&sql)) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        is_foreign().map_err(statement_error)
    }

    /// Stops whatever is asked once some time has gone by from now on.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn end_after(self, time: Duration) -> Result<Self, QueryError> {
        let begun = Instant::now();
        self.end_when(&Stop::when(move || begun.elapsed() >= time))
    }

    /// Stops whatever is asked from now on as soon as `stop` wants it, in place of an earlier wish.
    ///
    /// # Errors
    /// When SQLite refuses.
    pub fn end_when(self, stop: &Stop) -> Result<Self, QueryError> {
        let connection = stoppable(self.connection, stop).map_err(statement_error)?;
        Ok(Self { connection, ..self })
    }

    fn restrict(mut connection: Connection, losses: Trace, is_in_memory: bool) -> rusqlite::Result<Self> {
        bound(&connection, is_in_memory)?;
        connection.authorizer(Some(allow_reading))?;
        Ok(Self { connection, losses })
    }

    /// Carries out one statement that reads: hands on the names of the columns, then each row.
    ///
    /// # Errors
    /// When the statement is wrong, and whatever `each_row` reports.
    pub fn query<Error: From<QueryError>>(
        &self,
        sql: &str,
        columns: impl FnOnce(Vec<String>) -> Result<(), Error>,
        mut each_row: impl FnMut(Vec<Value>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let failed = |error| Error::from(statement_error(error));
        let mut statement = self.connection.prepare(sql).map_err(failed)?;
        if sql.trim().is_empty() {
            return Err(QueryError::Empty.into());
        }
        // VACUUM, for instance, asks for leave only when it is carried out.
        if statement.column_count() == 0 || !statement.readonly() {
            return Err(QueryError::NotRead.into());
        }
        columns(statement.column_names().map(str::to_owned).collect())?;
        let count = statement.column_count();
        let mut rows = statement.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let value = |column| row.get_ref(column).map(Value::from).map_err(failed);
            each_row((0..count).map(value).collect::<Result<_, _>>()?)?;
        }
        Ok(())
    }
}

/// Keeps statements, and views that somebody else wrote, within bounds: what they may consist of, and all
/// memory that SQLite takes, to which sorting is bound as well in place of files.
fn bound(connection: &Connection, is_in_memory: bool) -> rusqlite::Result<()> {
    let limits = [
        (Limit::SQLITE_LIMIT_LENGTH, 256 << 20),
        (Limit::SQLITE_LIMIT_SQL_LENGTH, 1 << 20),
        (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
        (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 500),
        (Limit::SQLITE_LIMIT_VDBE_OP, 5_000_000),
        (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ];
    for (limit, most) in limits {
        connection.set_limit(limit, most)?;
    }
    let number = |pragma: &str| connection.query_one(pragma, [], |row| row.get::<_, i64>(0));
    // Tables in memory are there already, and their pages take somewhat more than they hold.
    let there = match is_in_memory {
        true => number("PRAGMA page_count")?.saturating_mul(number("PRAGMA page_size")?) / 4 * 5,
        false => 0,
    };
    let most = i64::try_from(memory::allowed()).unwrap_or(i64::MAX).saturating_add(there);
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
    number(&format!("PRAGMA hard_heap_limit = {most}")).map(drop)
}

/// Lets a statement read tables and compute, and nothing else: no writing, no settings, no further
/// files.
fn allow_reading(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if !function_name.eq_ignore_ascii_case("load_extension") => {
            Authorization::Allow
        }
        // Pragmas that describe tables.
        AuthAction::Pragma { pragma_name, .. }
            if ["table_info", "table_xinfo", "table_list", "index_list", "foreign_key_list"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(pragma_name)) =>
        {
            Authorization::Allow
        }
        _ => Authorization::Deny,
    }
}

fn statement_error(error: rusqlite::Error) -> QueryError {
    use rusqlite::ErrorCode::{
        AuthorizationForStatementDenied, DatabaseCorrupt, NotADatabase, OperationInterrupted, OutOfMemory,
        SystemIoFailure,
    };
    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase | SystemIoFailure) => {
            return QueryError::Damaged { message: error.to_string() };
        }
        Some(OperationInterrupted) => return QueryError::TooLong,
        Some(OutOfMemory) => return QueryError::TooMuchMemory,
        _ => {}
    }
    match error {
        rusqlite::Error::MultipleStatement => QueryError::NotOne,
        error if error.sqlite_error_code() == Some(AuthorizationForStatementDenied) => QueryError::NotRead,
        rusqlite::Error::SqlInputError { msg, offset, .. } => {
            let offset = usize::try_from(offset).ok();
            // Of a function, SQLite says more than that.
            if msg.starts_with("not authorized") {
                QueryError::NotRead
            } else {
                QueryError::Statement { message: msg, offset }
            }
        }
        error => QueryError::Statement { message: error.to_string(), offset: None },
    }
}

impl From<ValueRef<'_>> for Value {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(value) => Self::Integer(value),
            ValueRef::Real(value) => Self::Real(value),
            ValueRef::Text(text) => Self::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Nanoseconds, Task};

    use super::*;

    fn database() -> Database {
        let mut trace = Trace::new();
        let name = trace.strings.intern("conv");
        trace.tasks.push(Task::new(name, Nanoseconds(1), Nanoseconds(20)));
        trace.tasks.push(Task::new(name, Nanoseconds(30), Nanoseconds(5)));
        Database::of_trace(&trace).unwrap()
    }

    fn rows(database: &Database, sql: &str) -> Result<(Vec<String>, Vec<Vec<Value>>), QueryError> {
        let (mut names, mut rows) = (Vec::new(), Vec::new());
        let keep = |found| {
            names = found;
            Ok(())
        };
        let row = |row| {
            rows.push(row);
            Ok::<(), QueryError>(())
        };
        database.query(sql, keep, row)?;
        Ok((names, rows))
    }

    #[test]
    fn the_tables_of_a_trace_answer_in_sql() {
        let (names, rows) =
            rows(&database(), "SELECT task, sum(duration_ns) AS time, NULL, 0.5 FROM task_details").unwrap();
        assert_eq!(names[..2], ["task", "time"]);
        let expected = [Value::Text("conv".into()), Value::Integer(25), Value::Null, Value::Real(0.5)];
        assert_eq!(rows, [expected]);
        assert!(
            super::tests::rows(
                &database(),
                "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 3) SELECT * FROM n"
            )
            .is_ok()
        );
    }

    #[test]
    fn views_of_somebody_else_are_told_from_our_own() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.db");
        crate::sqlite::write_file(&Trace::new(), &path).unwrap();
        assert!(!Database::open(&path).unwrap().has_foreign_views().unwrap());
        let altered = Connection::open(&path).unwrap();
        altered
            .execute_batch("DROP VIEW task_details; CREATE VIEW task_details AS SELECT 1 AS task")
            .unwrap();
        drop(altered);
        assert!(Database::open(&path).unwrap().has_foreign_views().unwrap());
    }

    #[test]
    fn nothing_but_reading_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other.db");
        let database = database();
        for sql in [
            "DELETE FROM tasks".to_owned(),
            "DROP TABLE tasks".to_owned(),
            "CREATE TABLE t(x)".to_owned(),
            "UPDATE tasks SET start_ns = 0 RETURNING id".to_owned(),
            "PRAGMA query_only = OFF".to_owned(),
            "PRAGMA user_version".to_owned(),
            format!("ATTACH '{}' AS other", other.display()),
            format!("VACUUM INTO '{}'", other.display()),
            "SELECT load_extension('x')".to_owned(),
        ] {
            let failed = rows(&database, &sql).unwrap_err();
            assert!(matches!(failed, QueryError::NotRead), "{sql}: {failed}");
        }
        assert!(!other.exists());
        assert!(matches!(rows(&database, "SELECT 1; SELECT 2"), Err(QueryError::NotOne)));
        assert!(matches!(rows(&database, ""), Err(QueryError::Empty)));
        let (_, rows) = rows(&database, "SELECT count(*) FROM tasks").unwrap();
        assert_eq!(rows, [[Value::Integer(2)]]);
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let failed = rows(&database(), "SELECT nme FROM tasks").unwrap_err().to_string();
        assert!(failed.contains("no such column: nme") && failed.contains("at character 8"), "{failed}");
        let failed = rows(&database(), "SELEC").unwrap_err().to_string();
        assert!(failed.contains("syntax error"), "{failed}");
    }
}
