//! Written files are read back by SQLite itself, which also checks every page.

use std::io::BufWriter;

use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::*;

/// Writes a file and opens it with SQLite.
fn written(
    write: impl FnOnce(&mut SqliteWriter<BufWriter<&std::fs::File>>),
) -> (tempfile::NamedTempFile, Connection) {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let mut writer = SqliteWriter::new(BufWriter::new(file.as_file())).expect("space on disk");
    write(&mut writer);
    writer.finish().expect("space on disk");
    let connection = Connection::open(file.path()).expect("a database");
    let check: Vec<String> = connection
        .prepare("PRAGMA integrity_check")
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .expect("an answer");
    assert_eq!(check, ["ok"]);
    (file, connection)
}

fn rows(connection: &Connection, query: &str) -> Vec<Vec<Value>> {
    let mut statement = connection.prepare(query).expect("a query");
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|c| row.get(c)).collect()).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Integer),
        (0u32..64, any::<bool>())
            .prop_map(|(bits, less)| Value::Integer((1i64 << bits).wrapping_sub(i64::from(less)))),
        any::<f64>().prop_filter("a number", |n| !n.is_nan()).prop_map(Value::Real),
        ".{0,40}".prop_map(Value::Text),
        (0usize..60_000, "[a-zä]").prop_map(|(n, c)| Value::Text(c.repeat(n))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn sqlite_reads_back_every_value(
        table in prop::collection::vec((1i64..1 << 40, value(), value()), 0..300),
    ) {
        let mut key = 0;
        let table: Vec<(i64, Value, Value)> =
            table.into_iter().map(|(step, a, b)| { key += step; (key, a, b) }).collect();
        let put = |row: &mut Row<'_>, value: &Value| match value {
            Value::Integer(n) => row.integer(*n),
            Value::Real(n) => row.real(*n),
            Value::Text(text) => row.text(text),
            _ => row.null(),
        };
        let (_file, connection) = written(|writer| {
            let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b)".to_owned();
            writer.table("t", sql, table.len(), |index, row| {
                row.key(table[index].0);
                put(row, &table[index].1);
                put(row, &table[index].2);
            }).expect("space on disk");
        });
        let expected: Vec<Vec<Value>> =
            table.into_iter().map(|(key, a, b)| vec![Value::Integer(key), a, b]).collect();
        prop_assert_eq!(rows(&connection, "SELECT * FROM t"), expected);
    }

    #[test]
    fn sqlite_finds_every_row_through_an_index(
        values in prop::collection::vec((any::<i64>(), 0i64..300), 0..4_000),
    ) {
        let mut entries: Vec<[i64; 3]> = (1..).zip(&values).map(|(key, (a, b))| [*a, *b, key]).collect();
        entries.sort_unstable();
        let (_file, connection) = written(|writer| {
            let sql = "CREATE TABLE t (a INTEGER, b INTEGER)".to_owned();
            writer.table("t", sql, values.len(), |index, row| {
                row.integer(values[index].0);
                row.integer(values[index].1);
            }).expect("space on disk");
            writer.index("i", "t", "CREATE INDEX i ON t (a,b)".to_owned(), &entries).expect("space on disk");
        });
        let expected: Vec<Vec<Value>> =
            entries.iter().map(|entry| entry.iter().map(|n| Value::Integer(*n)).collect()).collect();
        prop_assert_eq!(rows(&connection, "SELECT a, b, rowid FROM t INDEXED BY i ORDER BY a, b"), expected);
    }
}

#[test]
fn an_index_finds_values_and_what_lacks_one() {
    // Its leaves are handed over several times.
    const ROWS: usize = 400_000;
    let value = |row: usize| (!row.is_multiple_of(3)).then_some(row as i64 % 100);
    let (_file, connection) = written(|writer| {
        let sql = "CREATE TABLE t (a INTEGER)".to_owned();
        writer
            .table("t", sql, ROWS, |index, row| match value(index) {
                Some(value) => row.integer(value),
                None => row.null(),
            })
            .expect("space on disk");
        let mut entries: Vec<[Option<i64>; 2]> =
            (0..ROWS).map(|row| [value(row), Some(row as i64 + 1)]).collect();
        entries.sort_unstable();
        writer.index("i", "t", "CREATE INDEX i ON t (a)".to_owned(), &entries).expect("space on disk");
    });
    for (wanted, condition) in [(None, "a IS NULL"), (Some(7), "a = 7")] {
        let found = rows(&connection, &format!("SELECT count(*) FROM t INDEXED BY i WHERE {condition}"));
        let count = (0..ROWS).filter(|row| value(*row) == wanted).count();
        assert_eq!(found, [[Value::Integer(count as i64)]], "{condition}");
    }
}

#[test]
fn tables_of_many_levels_keep_their_order() {
    const ROWS: usize = 3_000_000;
    let (_file, connection) = written(|writer| {
        let sql = "CREATE TABLE t (a NUMERIC)".to_owned();
        writer.table("t", sql, ROWS, |index, row| row.number(index as f64 / 2.0)).expect("space on disk");
    });
    let sums =
        rows(&connection, "SELECT count(*), sum(a * 2 = rowid - 1), sum(typeof(a) = 'integer') FROM t");
    let rows = ROWS as i64;
    assert_eq!(sums, [[rows, rows, rows / 2].map(Value::Integer).to_vec()]);
    let found: f64 =
        connection.query_row("SELECT a FROM t WHERE rowid = 2222222", [], |r| r.get(0)).expect("a row");
    assert_eq!(found, 1_111_110.5);
}

#[test]
fn whole_numbers_are_kept_as_sqlite_keeps_them() {
    let numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 1e18, 9.3e18, -9.3e18, 1e300, f64::INFINITY, f64::NAN];
    let (_file, connection) = written(|writer| {
        let sql = "CREATE TABLE t (a NUMERIC)".to_owned();
        writer
            .table("t", sql, numbers.len(), |index, row| row.number(numbers[index]))
            .expect("space on disk");
    });
    let reference = Connection::open_in_memory().expect("a database");
    reference.execute_batch("CREATE TABLE t (a NUMERIC)").expect("a table");
    for number in numbers {
        reference.execute("INSERT INTO t VALUES (?)", [number]).expect("a row");
    }
    assert_eq!(rows(&connection, "SELECT a FROM t"), rows(&reference, "SELECT a FROM t"));
}

#[test]
fn a_file_may_have_few_tables_and_more_than_its_first_page_holds() {
    [1, 40, 2_000].into_iter().for_each(check_tables);
}

fn check_tables(tables: i64) {
    let (_file, connection) = written(|writer| {
        for number in 0..tables {
            let name = format!("table_{number}");
            let sql = format!("CREATE TABLE {name} (a INTEGER, b TEXT)");
            writer
                .table(&name, sql, 1, |_, row| {
                    row.integer(number);
                    row.text("text");
                })
                .expect("space on disk");
        }
    });
    for number in [0, tables / 2, tables - 1] {
        let query = format!("SELECT a FROM table_{number}");
        assert_eq!(rows(&connection, &query), [[Value::Integer(number)]]);
    }
}

#[test]
fn a_written_file_can_be_changed_like_any_other() {
    let (_file, connection) = written(|writer| {
        let sql = "CREATE TABLE t (a INTEGER, b INTEGER)".to_owned();
        writer
            .table("t", sql, 50_000, |index, row| {
                row.integer(index as i64);
                row.integer(0);
            })
            .expect("space on disk");
        let entries: Vec<[i64; 2]> = (0..50_000).map(|n| [n, n + 1]).collect();
        writer.index("i", "t", "CREATE INDEX i ON t (a)".to_owned(), &entries).expect("space on disk");
    });
    let change = "DELETE FROM t WHERE a % 3 = 0; INSERT INTO t SELECT a + 100000, 1 FROM t; VACUUM";
    connection.execute_batch(change).expect("changes");
    assert_eq!(rows(&connection, "SELECT count(*) FROM t"), [[Value::Integer(66_666)]]);
    assert_eq!(rows(&connection, "PRAGMA integrity_check"), [[Value::Text("ok".to_owned())]]);
}
