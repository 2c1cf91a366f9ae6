//! The unified database, row by row against those of the reference.
//!
//! Numbers of texts are compared by the texts, numbers of tasks by which tasks they stand for; both
//! differ between any two runs of the reference too. Each deliberate difference stands in
//! [`DIFFERENCES`] with a check of the right value; nothing else may differ.

mod common;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{Data, SampleLayout, SampleMode, SampleOptions, discover, export_database, write_sample};
use opscope_cann_raw::host::{Head, MAGIC, MemcpyInfo, TaskTrack};
use opscope_cann_raw::{Chip, Record, SliceWriter};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

/// Columns whose numbers stand for texts.
const TEXTS: [(&str, &[&str]); 9] = [
    ("TASK", &["taskType"]),
    (
        "COMPUTE_TASK_INFO",
        &[
            "name",
            "taskType",
            "opType",
            "inputFormats",
            "inputDataTypes",
            "inputShapes",
            "outputFormats",
            "outputDataTypes",
            "outputShapes",
            "attrInfo",
            "opState",
            "hf32Eligible",
            "gridDim",
            "blockDim",
        ],
    ),
    ("TASK_PMU_INFO", &["name"]),
    ("CANN_API", &["name"]),
    ("MSTX_EVENTS", &["message", "domainId"]),
    ("HBM", &["type"]),
    ("NPU_MEM", &["type"]),
    ("NPU_OP_MEM", &["operatorName", "type", "component"]),
    ("LLC", &["mode"]),
];

/// A table: its columns and rows. Numbers of texts and tasks are replaced by what they stand for.
struct Table {
    sql: String,
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

/// A database in memory.
struct Database {
    tables: BTreeMap<String, Table>,
    indexes: BTreeMap<String, String>,
    page_check: String,
}

fn text(value: &Value) -> &str {
    match value {
        Value::Text(text) => text,
        _ => "",
    }
}

impl Database {
    fn open(path: &Path) -> Self {
        // The goldens lie in a place where SQLite can't make its lock files.
        let uri = format!("file:{}?immutable=1", path.display());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(uri, flags).expect("a database");
        let read = |query: &str| -> Vec<Vec<Value>> {
            let mut statement = connection.prepare(query).expect("a query");
            let columns = statement.column_count();
            let rows = statement.query_map([], |row| (0..columns).map(|c| row.get(c)).collect());
            rows.expect("rows").map(|row| row.expect("a row")).collect()
        };
        let mut database = Self {
            tables: BTreeMap::new(),
            indexes: BTreeMap::new(),
            page_check: text(&read("PRAGMA integrity_check")[0][0]).to_owned(),
        };
        let texts: HashMap<i64, String> = read("SELECT id, value FROM STRING_IDS")
            .into_iter()
            .filter_map(|row| match &row[..] {
                [Value::Integer(id), Value::Text(text)] => Some((*id, text.clone())),
                _ => None,
            })
            .collect();
        for entry in read("SELECT type, name, sql FROM sqlite_master") {
            let (name, sql) = (text(&entry[1]).to_owned(), text(&entry[2]).to_owned());
            if text(&entry[0]) == "index" {
                database.indexes.insert(name, sql);
                continue;
            }
            let info = read(&format!("PRAGMA table_info({name})"));
            let columns: Vec<String> = info.iter().map(|column| text(&column[1]).to_owned()).collect();
            let mut rows = read(&format!("SELECT * FROM {name}"));
            let of_texts = TEXTS.iter().find(|(table, _)| *table == name).map_or(&[][..], |found| found.1);
            for (place, _) in columns.iter().enumerate().filter(|(_, c)| of_texts.contains(&c.as_str())) {
                for row in &mut rows {
                    if let Value::Integer(id) = row[place] {
                        row[place] = Value::Text(texts[&id].clone());
                    }
                }
            }
            database.tables.insert(name, Table { sql, columns, rows });
        }
        database.name_tasks();
        database
    }

    /// Replaces the numbers of tasks by device, stream, task, context and the first run's begin.
    fn name_tasks(&mut self) {
        let mut names: HashMap<i64, String> = HashMap::new();
        let task = &self.tables["TASK"];
        for row in &task.rows {
            let Value::Integer(id) = row[4] else { panic!("a number") };
            let name = || format!("{:?} {:?} {:?} {:?} {:?}", row[2], row[8], row[9], row[7], row[0]);
            names.entry(id).or_insert_with(name);
        }
        assert_eq!(
            names.len(),
            names.values().collect::<std::collections::BTreeSet<_>>().len(),
            "every task has one number"
        );
        for (name, table) in &mut self.tables {
            let Some(place) = table.columns.iter().position(|column| column == "globalTaskId") else {
                continue;
            };
            for row in &mut table.rows {
                let Value::Integer(id) = row[place] else { panic!("{name}: a number") };
                row[place] = Value::Text(names.get(&id).cloned().unwrap_or_else(|| "no task".to_owned()));
            }
            // Operators are ordered by their numbers, which mean nothing.
            if name == "COMPUTE_TASK_INFO" {
                table.rows.sort_by_key(|row| format!("{:?}", row[place]));
            }
        }
        let table = self.tables.get_mut("STRING_IDS").expect("the texts");
        table.rows.iter_mut().for_each(|row| row[0] = Value::Null);
        table.rows.sort_by_key(|row| format!("{row:?}"));
    }
}

/// A value that differs from the reference, with everything around it.
struct Cell<'a> {
    ours: &'a Value,
    reference: &'a Value,
    row: &'a [Value],
}

impl Cell<'_> {
    fn integers(&self) -> (i64, i64) {
        match (self.ours, self.reference) {
            (Value::Integer(ours), Value::Integer(reference)) => (*ours, *reference),
            other => panic!("{other:?} aren't whole numbers"),
        }
    }
}

/// A deliberate difference: the case, the table, the column, and what the right value is.
struct Difference {
    case: &'static str,
    table: &'static str,
    column: &'static str,
    is_right: fn(&Cell<'_>) -> bool,
}

const DIFFERENCES: &[Difference] = &[
    // The reference holds these times as nanoseconds in double precision, whose steps are 256.
    Difference {
        case: "910b_static",
        table: "NPU_MEM",
        column: "timestampNs",
        is_right: |cell| {
            let (ours, reference) = cell.integers();
            ours % 1_000 == 0 && reference == ours as f64 as i64
        },
    },
    Difference {
        case: "910b_static",
        table: "HBM",
        column: "timestampNs",
        is_right: |cell| {
            let (ours, reference) = cell.integers();
            ours % 1_000 == 0 && (ours - reference).abs() <= 256
        },
    },
    // The last run of the operator on the AI CPU: the reference adds start and duration, both in
    // double precision, and cuts off. A tick of this chip's clock is ten nanoseconds.
    Difference {
        case: "910_static",
        table: "TASK",
        column: "endNs",
        is_right: |cell| {
            let (ours, reference) = cell.integers();
            ours % 10 == 0 && ours == reference + 1 && cell.row[6] == Value::Text("KERNEL_AICPU".to_owned())
        },
    },
    // The same end, as that of a stretch of computing and as the begin of the free time behind it.
    Difference {
        case: "910_static",
        table: "OVERLAP_ANALYSIS",
        column: "endNs",
        is_right: |cell| cell.integers() == (1_760_000_000_003_587_340, 1_760_000_000_003_587_339),
    },
    Difference {
        case: "910_static",
        table: "OVERLAP_ANALYSIS",
        column: "startNs",
        is_right: |cell| cell.integers() == (1_760_000_000_003_587_340, 1_760_000_000_003_587_339),
    },
];

fn compare(case: &str, name: &str, ours: &Table, reference: &Table, problems: &mut Vec<String>) {
    if ours.sql != reference.sql {
        problems.push(format!("{case} {name}: {} instead of {}", ours.sql, reference.sql));
        return;
    }
    if ours.rows.len() != reference.rows.len() {
        problems.push(format!("{case} {name}: {} rows instead of {}", ours.rows.len(), reference.rows.len()));
    }
    for (number, (our_row, reference_row)) in ours.rows.iter().zip(&reference.rows).enumerate() {
        for (index, column) in ours.columns.iter().enumerate() {
            let cell = Cell { ours: &our_row[index], reference: &reference_row[index], row: our_row };
            let is_known = || {
                DIFFERENCES.iter().any(|known| {
                    (known.case, known.table, known.column) == (case, name, column) && (known.is_right)(&cell)
                })
            };
            if cell.ours != cell.reference && !is_known() {
                problems.push(format!(
                    "{case} {name} row {number} {column}: {:?} instead of {:?}",
                    cell.ours, cell.reference
                ));
            }
        }
    }
}

/// The database of the reference for a case, if it made one.
fn reference(golden: &Path, case: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(golden.join(case).join("oracle_cpp")).ok()?;
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|e| e == "db"))
}

fn assert_none(problems: &[String]) {
    let shown: Vec<&String> = problems.iter().take(60).collect();
    assert!(problems.is_empty(), "{} differences, the first:\n{shown:#?}", problems.len());
}

#[test]
fn databases_equal_those_of_the_reference() {
    let Some(golden) = common::golden() else { return };
    let mut problems = Vec::new();
    let mut compared = 0;
    for case in common::cases(&golden) {
        let Some(path) = reference(&golden, &case) else { continue };
        compared += 1;
        let joined = Joined::new(common::load(&golden, &case));
        let directory = tempfile::tempdir().expect("a temporary directory");
        let ours = export_database(&joined, directory.path(), "0").expect("space on disk");
        let mut ours = Database::open(&ours.expect("a chip with a database"));
        let mut reference = Database::open(&path);
        assert_eq!((ours.page_check.as_str(), &ours.indexes), ("ok", &reference.indexes));
        if case == "910b_static" {
            check_mixed(&golden, &mut ours);
            check_frequencies(&mut reference);
        }
        for (name, table) in &reference.tables {
            match ours.tables.get(name) {
                Some(found) => compare(&case, name, found, table, &mut problems),
                None => problems.push(format!("{case}: no table {name}")),
            }
        }
        for name in ours.tables.keys().filter(|name| !reference.tables.contains_key(*name)) {
            problems.push(format!("{case}: the reference has no table {name}"));
        }
    }
    assert!(compared >= 3, "only {compared} databases of the reference");
    assert_none(&problems);
}

/// Takes out what the accelerated library repeats: it has the one change of the frequency that was
/// recorded four times.
fn check_frequencies(reference: &mut Database) {
    let rows = &mut reference.tables.get_mut("AICORE_FREQ").expect("frequencies").rows;
    assert!(rows[1..5].iter().all(|row| *row == rows[1]), "{rows:?}");
    rows.drain(2..5);
}

/// Takes out the counters of the operator on both kinds of cores and checks them.
///
/// The accelerated library wants such counters to end within the operator's sub-task, while they are
/// those of the whole task, and so loses them; without the library they are there, with times rounded
/// to two decimals.
fn check_mixed(golden: &Path, ours: &mut Database) {
    let table = ours.tables.get_mut("TASK_PMU_INFO").expect("counters");
    let (mixed, others): (Vec<_>, Vec<_>) = std::mem::take(&mut table.rows)
        .into_iter()
        .partition(|row| text(&row[0]).starts_with("Integer(0) Integer(2) Integer(15) Integer(0) "));
    table.rows = others;
    let number = |value: &Value| match value {
        Value::Integer(n) => *n as f64,
        Value::Real(n) => *n,
        other => panic!("{other:?} isn't a number"),
    };
    let values_of = |name: &str| -> Vec<f64> {
        mixed.iter().filter(|row| text(&row[1]) == name).map(|row| number(&row[2])).collect()
    };
    let directory = golden.join("910b_static/oracle_py/mindstudio_profiler_output");
    let summary = std::fs::read_dir(directory)
        .expect("a listing")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().contains("op_summary"))
        .expect("the table of operators");
    let mut reader = csv::Reader::from_path(summary).expect("a table");
    let headers = reader.headers().expect("headings").clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.expect("a row")).collect();
    let rows: Vec<_> = rows.iter().filter(|row| row.iter().any(|cell| cell == "MatMulMix")).collect();
    assert_eq!((mixed.len(), rows.len()), (3 * 30, 3));
    let mut compared = 0;
    for (column, header) in headers.iter().enumerate() {
        let (name, factor) = match header.strip_suffix("(us)") {
            Some("aicore_time") => ("aic_total_time".to_owned(), 1_000.0),
            Some("aiv_time") => ("aiv_total_time".to_owned(), 1_000.0),
            Some(time) => (time.to_owned(), 1_000.0),
            None => (header.to_owned(), 1.0),
        };
        let ours = values_of(&name);
        for (value, row) in ours.iter().zip(&rows) {
            let reference: f64 = row[column].trim().parse().expect("a number");
            let tolerance = if factor > 1.0 { 0.0051 } else { 0.0005 };
            assert!((value / factor - reference).abs() <= tolerance, "{name}: {value} against {reference}");
            compared += 1;
        }
    }
    assert_eq!(compared, 3 * 24, "three runs of all columns that the table has");
    // The values that the table leaves out: times are shares of the total time.
    for name in ["aic_vec", "aiv_mac", "aiv_mte1"] {
        let total = values_of(&format!("{}_total_time", &name[..3]));
        let shares = values_of(&format!("{name}_ratio")).into_iter().zip(total);
        for ((share, total), time) in shares.zip(values_of(&format!("{name}_time"))) {
            assert!((share * total - time).abs() < 1e-6, "{name}: {time}");
        }
    }
}

/// Writes a sample profile and its database; the database is `None` where there is none.
fn sampled(directory: &Path, chip: Chip, mode: SampleMode) -> (Joined, Option<Connection>) {
    let options = SampleOptions { chip, tasks: 700, mode, layout: SampleLayout::Current, seed: 5 };
    let profile = write_sample(directory, options).expect("space on disk");
    let found = discover(&profile).expect("a profile").remove(0);
    let joined = Joined::new(Data::load(found).expect("a readable profile"));
    let path = export_database(&joined, directory, "0").expect("space on disk");
    (joined, path.map(|path| Connection::open(path).expect("a database")))
}

fn number(database: &Connection, query: &str) -> i64 {
    database.query_row(query, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{query}: {error}"))
}

#[test]
fn generated_runs_of_every_chip_have_each_task_with_its_operator() {
    for chip in [Chip::V4_1_0, Chip::V2_1_0, Chip::V3_3_0] {
        for mode in [SampleMode::Dynamic, SampleMode::Static] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let (joined, database) = sampled(directory.path(), chip, mode);
            let database = database.expect("a database");
            let check: String =
                database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("an answer");
            assert_eq!(check, "ok", "{chip:?} {mode:?}");
            let operators = "SELECT count(*) FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId) \
                JOIN STRING_IDS ON STRING_IDS.id = COMPUTE_TASK_INFO.name";
            let calls = "SELECT count(*) FROM TASK JOIN CANN_API USING (connectionId)";
            let ordered = "SELECT count(*) FROM (SELECT startNs - lag(startNs) OVER (ORDER BY rowid) AS step \
                FROM TASK) WHERE step < 0";
            let answers =
                ["SELECT count(*) FROM TASK", operators, calls, ordered].map(|q| number(&database, q));
            assert_eq!(answers, [700, 700, 700, 0], "{chip:?} {mode:?}");
            let calls = joined.data.host.api.len() as i64;
            assert_eq!(number(&database, "SELECT count(*) FROM CANN_API"), calls, "{chip:?} {mode:?}");
            // Busy and free time follow one another without gaps from the first start to the last end.
            let gaps = "SELECT (SELECT sum(endNs - startNs) FROM OVERLAP_ANALYSIS) \
                - (SELECT max(endNs) - min(startNs) FROM TASK)";
            assert_eq!(number(&database, gaps), 0, "{chip:?} {mode:?}");
        }
    }
}

#[test]
fn every_value_of_every_counted_task_is_there() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (joined, database) = sampled(directory.path(), Chip::V4_1_0, SampleMode::Dynamic);
    let database = database.expect("a database");
    let counters = &joined.data.devices[&0].tables.counters;
    let rows = number(&database, "SELECT count(*) FROM TASK_PMU_INFO");
    assert_eq!(rows % 30, 0, "15 values of each kind of core");
    let cycles = "SELECT sum(TASK_PMU_INFO.value) FROM TASK_PMU_INFO JOIN STRING_IDS ON STRING_IDS.id = TASK_PMU_INFO.name \
        WHERE STRING_IDS.value LIKE 'ai__total_cycles'";
    assert_eq!(number(&database, cycles) as u64, counters.cycles().iter().sum::<u64>());
    assert_eq!(number(&database, "SELECT max(rowid) FROM TASK_PMU_INFO"), rows);
}

#[test]
fn chips_of_which_the_vendor_makes_no_database_have_none() {
    for chip in [Chip::V1_1_0, Chip::V1_1_2, Chip::V1_1_3] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        assert!(sampled(directory.path(), chip, SampleMode::Static).1.is_none(), "{chip:?}");
    }
}

/// The reference without its library takes the most bytes of a task for the direction.
#[test]
fn the_tasks_of_a_copy_share_its_bytes_and_have_its_direction() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = SampleOptions {
        chip: Chip::V4_1_0,
        tasks: 20,
        mode: SampleMode::Dynamic,
        layout: SampleLayout::Current,
        seed: 5,
    };
    let profile = write_sample(directory.path(), options).expect("space on disk");
    let mut notes = SliceWriter::new(&profile.join("host/data"), "aging.compact.memcpy_info");
    let mut tracks = SliceWriter::new(&profile.join("host/data"), "unaging.compact.task_track");
    // Behind every call, so that no operator is launched by the same.
    let head = |time: u64| Head { magic: MAGIC, level: 5_000, kind: 802, thread: 99, length: 40, time };
    let append = |writer: &mut SliceWriter, record: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        record(&mut bytes);
        writer.write(&bytes).expect("space on disk");
    };
    let note = MemcpyInfo { head: head(1 << 40), bytes: 500, most: 200, direction: 2 };
    append(&mut notes, &|bytes| note.append_to(bytes));
    for (task, time) in [(7, 1 << 40), (8, 1 << 40), (9, 1 << 40), (10, 1 << 40), (11, (1 << 40) + 9)] {
        let head = head(time);
        let track = TaskTrack {
            head,
            device: 0,
            stream: 1_000,
            task,
            batch: 0,
            task_type: 5,
            ..TaskTrack::default()
        };
        append(&mut tracks, &|bytes| track.append_to(bytes));
    }
    notes.finish().expect("space on disk");
    tracks.finish().expect("space on disk");
    let found = discover(&profile).expect("a profile").remove(0);
    let joined = Joined::new(Data::load(found).expect("a readable profile"));
    let path = export_database(&joined, directory.path(), "0").expect("space on disk").expect("a database");
    let database = Connection::open(path).expect("a database");
    let mut query = database.prepare("SELECT size, memcpyOperation FROM MEMCPY_INFO").expect("the table");
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("rows");
    let rows: Vec<(i64, i64)> = rows.map(|row| row.expect("a row")).collect();
    // The fourth task has no bytes left, and nothing was noted of the last.
    assert_eq!(rows, [(200, 2), (200, 2), (100, 2), (0, 65_535), (0, 65_535)]);
}

#[test]
fn a_second_device_has_tasks_and_counters_of_its_own() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let options = SampleOptions {
        chip: Chip::V4_1_0,
        tasks: 300,
        mode: SampleMode::Dynamic,
        layout: SampleLayout::Current,
        seed: 5,
    };
    let profile = write_sample(directory.path(), options).expect("space on disk");
    common::copy_device(&profile, 0, 1);
    let joined = Joined::new(
        Data::load(discover(&profile).expect("a profile").remove(0)).expect("a readable profile"),
    );
    let path = export_database(&joined, directory.path(), "0").expect("space on disk").expect("a database");
    let database = Connection::open(path).expect("a database");
    for device in [0, 1] {
        let tasks = format!("SELECT count(*) FROM TASK WHERE deviceId = {device}");
        assert_eq!(number(&database, &tasks), 300);
    }
    assert_eq!(number(&database, "SELECT count(DISTINCT globalTaskId) FROM TASK"), 600);
    // The host handed its tasks to device 0 only.
    assert_eq!(number(&database, "SELECT count(*) FROM COMPUTE_TASK_INFO"), 300);
    assert_eq!(number(&database, "SELECT count(*) FROM TASK WHERE connectionId = -1"), 300);
    assert_eq!(number(&database, "SELECT count(*) FROM NPU_INFO"), 2);
    let of_device = |device: u32| {
        let query = format!(
            "SELECT sum(TASK_PMU_INFO.value) FROM TASK_PMU_INFO JOIN STRING_IDS ON STRING_IDS.id = TASK_PMU_INFO.name \
             WHERE STRING_IDS.value LIKE '%total_cycles' AND globalTaskId IN \
             (SELECT globalTaskId FROM TASK WHERE deviceId = {device})"
        );
        number(&database, &query)
    };
    assert_eq!((of_device(0), of_device(0) > 0), (of_device(1), true));
}
