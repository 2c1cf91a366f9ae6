//! Databases of results beside one another, cell by cell.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;

/// A table: the names of its columns, and its rows.
#[derive(Debug)]
pub struct Contents {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

/// All tables of a database.
pub fn read(path: &Path) -> BTreeMap<String, Contents> {
    let database = Connection::open(path).unwrap();
    let mut names = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let names: Vec<String> =
        names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    let contents = |name: String| {
        let mut all = database.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let columns: Vec<String> = all.column_names().map(str::to_owned).collect();
        let width = columns.len();
        let rows = all.query_map([], |row| (0..width).map(|column| row.get(column)).collect());
        let rows = rows.unwrap().collect::<Result<_, _>>().unwrap();
        (name, Contents { columns, rows })
    };
    names.into_iter().map(contents).collect()
}

/// Columns that a test leaves out of account: the folders, ranks of which any of a group could be named, and the
/// order among equals.
fn is_left_out(table: &str, column: &str) -> bool {
    column == "profilePath"
        || table == "SlowLinkSum" && ["maxRank", "minRank"].contains(&column)
        || table == "MSTXMarkStats" && column == "index"
}

/// A text without what differs on purpose or by chance: the order of ranks in a list, and Python's words around
/// numbers.
fn plain(table: &str, column: &str, text: &str) -> String {
    /// Its figure is that of a column.
    const IDLE: &str = "Idle Pytorch layer: no task dispatched in ";
    let separator = match (table, column) {
        ("FreeAnalysis", "reason") if text.starts_with(IDLE) => return IDLE.to_owned(),
        ("HcclGroupNameMap", "Ranks") => ";",
        ("CannApiSum", "minRank" | "maxRank") => ", ",
        _ => return text.replace("np.int64(", "").replace([')', '('], ""),
    };
    let mut ranks: Vec<&str> = text.split(separator).collect();
    ranks.sort_unstable();
    ranks.join(separator)
}

/// The key by which a row is found: its texts and whole numbers, and then its other numbers to few digits.
fn key(table: &str, columns: &[String], row: &[Value]) -> (Vec<String>, Vec<String>) {
    let mut key = (Vec::new(), Vec::new());
    for (column, value) in columns.iter().zip(row).filter(|(column, _)| !is_left_out(table, column)) {
        match value {
            Value::Text(text) => key.0.push(plain(table, column, text)),
            Value::Integer(number) => key.1.push(format!("{:.5e}", *number as f64)),
            Value::Real(number) => key.1.push(format!("{number:.5e}")),
            _ => {}
        }
    }
    key
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) => Some(*number),
        _ => None,
    }
}

fn are_equal(table: &str, column: &str, ours: &Value, theirs: &Value) -> bool {
    if is_left_out(table, column) {
        return true;
    }
    match (ours, theirs) {
        (Value::Text(ours), Value::Text(theirs)) => {
            plain(table, column, ours) == plain(table, column, theirs)
        }
        (Value::Null, Value::Null) => true,
        _ => match (number(ours), number(theirs)) {
            // The vendor's times of PyTorch's calls are rounded to what a floating-point number of their size can be.
            (Some(ours), Some(theirs)) if column == "pytorchIdleTime(us)" => (ours - theirs).abs() < 0.257,
            // Sums in another order differ in the last digits, and those of idle times are nothing but these.
            (Some(ours), Some(theirs)) => {
                let size = ours.abs().max(theirs.abs());
                (ours - theirs).abs() <= 1e-9 * size || size < 1e-9
            }
            _ => false,
        },
    }
}

/// Leaves out the shortest idle stretches of each rank: of equals any may be the last of a list.
fn leave_out_shortest(rows: &mut Vec<Vec<Value>>) {
    let [rank, length] = [0, 3];
    let mut shortest: BTreeMap<i64, f64> = BTreeMap::new();
    let of = |row: &[Value]| match (&row[rank], &row[length]) {
        (Value::Integer(rank), Value::Real(length)) => (*rank, *length),
        other => panic!("a rank and a length: {other:?}"),
    };
    for (rank, length) in rows.iter().map(|row| of(row)) {
        let least = shortest.entry(rank).or_insert(length);
        *least = least.min(length);
    }
    rows.retain(|row| of(row).1 > shortest[&of(row).0]);
    assert!(!rows.is_empty(), "all stretches are as long");
}

/// Asserts that tables have the same columns and, in any order, the same rows.
pub fn assert_same(table: &str, ours: &Contents, theirs: &Contents, of: &str) {
    assert_eq!(ours.columns, theirs.columns, "{of}: columns of {table}");
    assert_eq!(ours.rows.len(), theirs.rows.len(), "{of}: rows of {table}");
    let sorted = |contents: &Contents| {
        let mut rows = contents.rows.clone();
        if table == "FreeAnalysis" {
            leave_out_shortest(&mut rows);
        }
        rows.sort_by_cached_key(|row| key(table, &contents.columns, row));
        rows
    };
    let columns = &ours.columns;
    for (ours, theirs) in sorted(ours).iter().zip(sorted(theirs)) {
        for ((column, ours_value), theirs_value) in columns.iter().zip(ours).zip(&theirs) {
            let same = are_equal(table, column, ours_value, theirs_value);
            assert!(same, "{of}: {column} of {table}:\n{ours:?}\n{theirs:?}");
        }
    }
}

/// Asserts that databases have the same tables.
pub fn assert_same_databases(ours: &Path, theirs: &Path, of: &str) {
    let (ours, theirs) = (read(ours), read(theirs));
    let names = |tables: &BTreeMap<String, Contents>| tables.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&ours), names(&theirs), "{of}: tables");
    for (name, contents) in &ours {
        assert_same(name, contents, &theirs[name], of);
    }
}
