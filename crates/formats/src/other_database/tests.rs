//! Rows that are read from pages are those that SQLite reads.

use std::borrow::Cow;

use proptest::prelude::*;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::pages::{Layout, Pages};
use super::*;
use crate::reading::Stop;

/// The cells of a row as all functions read them.
type Row = Vec<(Option<i64>, Option<f64>, Option<String>)>;

fn rows(database: &Database<'_>, table: &str, wanted: &[&str]) -> (Vec<Row>, Result<(), String>) {
    let mut rows = Vec::new();
    let read = each_row(database, table, wanted, |cells| {
        let cell =
            |column| (cells.integer(column), cells.float(column), cells.text(column).map(Cow::into_owned));
        rows.push((0..wanted.len()).map(cell).collect());
    });
    (rows, read.map_err(|broken| format!("{} behind {}", broken.error, broken.before)))
}

/// The bytes of a database that statements make, with pages of so many bytes.
fn bytes_of(page: usize, fill: impl FnOnce(&Connection)) -> Vec<u8> {
    let mut database = Connection::open_in_memory().unwrap();
    database.execute_batch(&format!("PRAGMA page_size = {page}")).unwrap();
    fill(&database);
    database.serialize(MAIN_DB).unwrap().to_vec()
}

fn by_pages(bytes: &[u8]) -> Database<'_> {
    Database::new(from_bytes(bytes).unwrap(), Some(bytes), &Stop::default())
}

fn by_sqlite(bytes: &[u8]) -> Database<'_> {
    Database::new(from_bytes(bytes).unwrap(), None, &Stop::default())
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<i64>().prop_map(Value::Integer),
        (0u32..64, any::<bool>())
            .prop_map(|(bits, less)| Value::Integer((1i64 << bits).wrapping_sub(i64::from(less)))),
        any::<f64>().prop_map(Value::Real),
        (-9i64..9).prop_map(|number| Value::Real(number as f64)),
        ".{0,40}".prop_map(Value::Text),
        (0usize..3_000, "[a-zä]").prop_map(|(n, c)| Value::Text(c.repeat(n))),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Blob),
    ]
}

const WANTED: [&str; 5] = ["b", "missing", "id", "a", "late"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn plain_tables_have_the_same_rows_with_sqlite_and_without(
        table in prop::collection::vec((value(), value()), 0..200),
        page in prop::sample::select(vec![512_usize, 1_024, 4_096, 65_536]),
        types in prop::sample::select(vec!["a, b", "a REAL, b TEXT", "a INTEGER, b NUMERIC"]),
    ) {
        let bytes = bytes_of(page, |database| {
            database.execute_batch(&format!("CREATE TABLE t ({types}, id INTEGER PRIMARY KEY)")).unwrap();
            let mut insert = database.prepare("INSERT INTO t (a, b) VALUES (?, ?)").unwrap();
            for row in &table {
                insert.execute((&row.0, &row.1)).unwrap();
            }
            database.execute_batch("ALTER TABLE t ADD COLUMN late").unwrap();
        });
        let (pages, sqlite) = (by_pages(&bytes), by_sqlite(&bytes));
        prop_assert!(pages.plain_table("t", &WANTED).is_some());
        let read = rows(&pages, "t", &WANTED);
        prop_assert_eq!(read.0.len(), table.len());
        prop_assert_eq!(format!("{read:?}"), format!("{:?}", rows(&sqlite, "t", &WANTED)));
    }

    #[test]
    fn damage_costs_no_row_that_sqlite_reads(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = bytes_of(512, |database| {
            database.execute_batch("CREATE TABLE t (a, b, id INTEGER PRIMARY KEY)").unwrap();
            for row in 0..60_i64 {
                let long = "x".repeat((row * 17 % 900) as usize);
                database.execute("INSERT INTO t (a, b) VALUES (?, ?)", (row << (row % 40), long)).unwrap();
            }
        });
        // The header and the schema, without which there is no table, stay.
        for (place, byte) in &changes {
            let place = 512 + place.index(bytes.len() - 512);
            bytes[place] = *byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(512 + cut.index(bytes.len() - 512));
        }
        let (pages, sqlite) = (rows(&by_pages(&bytes), "t", &WANTED), rows(&by_sqlite(&bytes), "t", &WANTED));
        prop_assert!(pages.0.len() >= sqlite.0.len(), "{} < {}", pages.0.len(), sqlite.0.len());
        prop_assert_eq!(format!("{:?}", &pages.0[..sqlite.0.len()]), format!("{:?}", sqlite.0));
    }

    #[test]
    fn any_bytes_behind_a_header_are_read_to_an_end(
        rest in prop::collection::vec(any::<u8>(), 0..3_000),
        root in 0..9_u32,
    ) {
        let mut bytes = b"SQLite format 3\0\x02\0\x01\x01\0\x40\x20\x20".to_vec();
        bytes.resize(56, 0);
        bytes.extend([0, 0, 0, 1]);
        bytes.resize(512, 0);
        bytes.extend(&rest);
        for kind in [5, 13] {
            bytes.iter_mut().skip(512).step_by(512).for_each(|byte| *byte = kind);
            let layout = Layout { wanted: vec![Some(1), None, Some(0)], count: 2, key: None };
            Pages::of(&bytes).unwrap().each_row(root, &layout, || true, |cells| {
                let _ = (cells.integer(0), cells.float(1), cells.text(1));
            });
        }
    }
}

#[test]
fn tables_that_are_not_plain_are_left_to_sqlite() {
    let bytes = bytes_of(4_096, |database| {
        let statements = "CREATE TABLE plain (id INTEGER PRIMARY KEY, a); CREATE TABLE keyed (id TEXT PRIMARY KEY, a); \
            CREATE TABLE indexed (id INTEGER, a); CREATE INDEX of_a ON indexed (a, id); \
            CREATE TABLE computed (id INTEGER, a AS (id + 1)); CREATE TABLE told (id INTEGER); \
            CREATE TABLE without (id INTEGER PRIMARY KEY, a) WITHOUT ROWID; CREATE VIEW seen AS SELECT * FROM plain; \
            CREATE TABLE down (id INTEGER PRIMARY KEY DESC, a);";
        database.execute_batch(statements).unwrap();
        for table in ["plain", "keyed", "indexed", "without", "down"] {
            database
                .execute_batch(&format!("INSERT INTO {table} (id, a) VALUES (3, 'x'), (1, 'y')"))
                .unwrap();
        }
        let statements = "INSERT INTO computed (id) VALUES (4); INSERT INTO told VALUES (1); \
            ALTER TABLE told ADD COLUMN a DEFAULT 'b';";
        database.execute_batch(statements).unwrap();
    });
    let (pages, sqlite) = (by_pages(&bytes), by_sqlite(&bytes));
    for table in tables(&pages) {
        let wanted = ["id", "a"];
        let is_plain = matches!(&*table, "plain" | "without");
        assert_eq!(pages.plain_table(&table, &wanted).is_some(), is_plain, "{table}");
        let read = rows(&pages, &table, &wanted);
        assert_eq!(read, rows(&sqlite, &table, &wanted), "{table}");
        assert!(!read.0.is_empty() && read.1.is_ok(), "{table}");
    }
    assert!(sqlite.pages.is_none() && pages.plain_table("seen", &["id"]).is_none());
}

#[test]
fn pages_that_name_one_another_end() {
    let mut bytes = bytes_of(512, |database| {
        database.execute_batch("CREATE TABLE t (a)").unwrap();
        for row in 0..500 {
            database.execute("INSERT INTO t VALUES (?)", [row]).unwrap();
        }
    });
    // The uppermost page of the table names itself as its last.
    bytes[512 + 8..512 + 12].copy_from_slice(&2_u32.to_be_bytes());
    let (pages, sqlite) = (rows(&by_pages(&bytes), "t", &["a"]), rows(&by_sqlite(&bytes), "t", &["a"]));
    assert!(pages.0.len() >= sqlite.0.len() && pages.0.len() < 100_000, "{}", pages.0.len());
}
