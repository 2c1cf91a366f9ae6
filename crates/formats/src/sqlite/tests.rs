//! Writing databases, reading them back, and what becomes of bad ones.

use std::path::{Path, PathBuf};

use opscope_trace::*;
use proptest::prelude::*;
use rusqlite::Connection;

use super::*;
use crate::reading::Stop;
use crate::testing::{any_trace, spelled_out};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("trace.db")
    }

    fn with(trace: &Trace) -> Self {
        let folder = Self::new();
        write_file(trace, &folder.path()).unwrap();
        folder
    }
}

/// Two inferences of a convolution and an addition, the first of them to warm up.
fn small_trace() -> Trace {
    let mut trace = Trace::new();
    trace.run.engine = Some(EngineName::Tract);
    trace.run.remark("engine", "not read as one");
    trace.count_loss(LossKind::EventOfUnknownPhase, 3, "profile.json");
    let mut text = |text: &str| trace.strings.intern(text);
    let (empty, name, cpu, conv, add) = (text(""), text("resnet"), text("CPU"), text("Conv"), text("Add"));
    let (memory, unit) = (text("memory"), text("B"));
    let process = trace.processes.push(Process { pid: 10, name });
    let thread = trace.threads.push(Thread { process, tid: 11, name: empty });
    let model = trace.models.push(Model { number: 0, name });
    let device = trace.devices.push(Device { number: 0, kind: DeviceKind::Cpu, name: cpu });
    let stream = trace.streams.push(Stream { device, number: 0, thread: Some(thread), name: empty });
    let operators = [conv, add].map(|op_type| {
        let dimensions = Some(trace.dimensions.push([1, 3, 224, 224]));
        let tensor = |data_type, dimensions| Tensor {
            name: None,
            data_type,
            dimensions,
            layout: None,
            parameter: false,
        };
        let first = trace.tensors.push(tensor(DataType::Float32, dimensions));
        let scalar = Some(trace.dimensions.push([]));
        trace.tensors.push(tensor(DataType::Int8, scalar));
        trace.tensors.push(tensor(DataType::Unknown, None));
        let operator = Operator { model: Some(model), ..Operator::new(op_type, op_type) };
        let inputs = Operator { first_input: Some(first), input_count: 2, ..operator };
        let output = TensorId::from_index(first.index() + 2);
        trace.operators.push(Operator { first_output: Some(output), output_count: 1, ..inputs })
    });
    for number in 0..2 {
        let start = Nanoseconds(1_000 * i64::from(number));
        let duration = Nanoseconds(500);
        let iteration = Iteration { model: Some(model), number, warm_up: number == 0, start, duration };
        let iteration = Some(trace.iterations.push(iteration));
        for (position, operator) in operators.into_iter().enumerate() {
            trace.tasks.push(Task {
                operator: Some(operator),
                stream: Some(stream),
                unit: ExecutionUnit::Cpu,
                iteration,
                ..Task::new(empty, start, Nanoseconds(100 + 100 * position as i64))
            });
        }
    }
    trace.tasks.push(Task::new(memory, Nanoseconds(0), Nanoseconds(1)));
    let (mac, time) = (trace.enter_metric("mac_ratio", ""), trace.enter_metric("vec_time", "us"));
    trace.push_reading(TaskId::from_index(2), &[mac, time], &[0.5, 12.25]);
    let (level, start, duration) = (ApiLevel::Model, Nanoseconds(0), Nanoseconds(9));
    let call = ApiCall { thread: Some(thread), level, name, start, duration, iteration: None };
    let call = trace.api_calls.push(call);
    trace.launch_sites.push(LaunchSite { task: TaskId::from_index(1), call, stack: Some(name) });
    let (source, topic) = ("communication.json", FigureTopic::Transport);
    let about = FigureSubject { topic, source, step: "7", subject: "hcom_allReduce", part: "HCCS" };
    trace.push_figures(about, &[("size", "B", Some(28.0)), ("none", "", Some(f64::NAN)), ("no", "", None)]);
    trace.ranges.push(Range {
        thread: Some(thread),
        domain: Some(unit),
        ..Range::new(name, start, duration)
    });
    let counter = trace.counters.push(Counter { name: memory, unit, device: None });
    trace.samples.push(Sample { counter, time: start, value: 4096.0 });
    trace
}

fn rows(path: &Path, query: &str) -> Vec<String> {
    let database = Connection::open(path).unwrap();
    let mut statement = database.prepare(query).unwrap();
    let columns = statement.column_count();
    let mut rows = statement.query([]).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let cell = |column| match row.get_unwrap::<_, rusqlite::types::Value>(column) {
            rusqlite::types::Value::Null => "-".to_owned(),
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Real(number) => format!("{number:?}"),
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Blob(_) => "blob".to_owned(),
        };
        lines.push((0..columns).map(cell).collect::<Vec<_>>().join("|"));
    }
    lines
}

#[test]
fn a_short_query_finds_the_slowest_kind_of_operator() {
    let folder = Folder::with(&small_trace());
    let query = "SELECT op_type, inputs, outputs, model, thread, count(*), sum(duration_ns) \
                 FROM operator_executions WHERE NOT warm_up GROUP BY op_type ORDER BY 7 DESC";
    assert_eq!(
        rows(&folder.path(), query),
        [
            "Add|1x3x224x224 float32, int8|? unknown|resnet|thread 11|1|200",
            "Conv|1x3x224x224 float32, int8|? unknown|resnet|thread 11|1|100",
        ]
    );
}

#[test]
fn every_view_shows_its_rows_with_their_text() {
    let folder = Folder::with(&small_trace());
    let show = |query: &str| rows(&folder.path(), query);
    assert_eq!(
        show("SELECT property, value FROM property_values"),
        ["engine|tract", "engine|not read as one"]
    );
    assert_eq!(
        show("SELECT * FROM loss_details"),
        ["dropped: an event of a phase that no trace has a place for|3|profile.json|remark|timeline|record|\
             event-of-unknown-phase"]
    );
    assert_eq!(show("SELECT counter, unit, value FROM counter_values"), ["memory|B|4096.0"]);
    assert_eq!(
        show("SELECT * FROM figure_details"),
        ["transport|7|hcom_allReduce|HCCS|size|28.0|B|communication.json"]
    );
    assert_eq!(show("SELECT task_id, call, stack FROM launch_site_details"), ["1|resnet|resnet"]);
    assert_eq!(
        show("SELECT task_id, metric, unit, value, metric_id FROM task_metrics"),
        ["2|mac_ratio||0.5|0", "2|vec_time|us|12.25|1"]
    );
    assert_eq!(show("SELECT name, domain, kind, tid FROM range_details"), ["resnet|B|push-pop|11"]);
    assert_eq!(
        show("SELECT name, level, thread, end_ns FROM api_call_details"),
        ["resnet|model|thread 11|9"]
    );
    assert_eq!(show("SELECT model, number, warm_up FROM iteration_details"), ["resnet|0|1", "resnet|1|0"]);
    assert_eq!(show("SELECT count(*), count(operator_id) FROM task_details"), ["5|4"]);
    assert_eq!(show("SELECT device, device_kind, thread FROM stream_details"), ["CPU|cpu|thread 11"]);
    let tensors = "SELECT role, position, shape, data_type FROM operator_tensors \
                   JOIN tensor_details ON id = tensor_id WHERE operator_id = 1 ORDER BY role, position";
    assert_eq!(show(tensors), ["input|0|1x3x224x224|float32", "input|1||int8", "output|0|-|unknown"]);
    assert_eq!(
        show("SELECT key, value FROM meta ORDER BY key"),
        [concat!("program_version|", env!("CARGO_PKG_VERSION")), "schema_version|6"]
    );
    for view in views::VIEWS {
        assert!(!show(&format!("SELECT * FROM {}", view.name)).is_empty(), "{} is empty", view.name);
    }
}

#[test]
fn what_the_writer_adds_is_found_without_reading_the_trace() {
    let folder = Folder::with(&small_trace());
    assert_eq!(read_meta(&folder.path(), "origin").expect("a database"), None);
    write_file_with(&small_trace(), &folder.path(), &[("origin", "a test")]).expect("space on disk");
    assert_eq!(read_meta(&folder.path(), "origin").expect("a database").as_deref(), Some("a test"));
    assert_eq!(spelled_out(&read_file(&folder.path()).expect("a database")), spelled_out(&small_trace()));
    std::fs::write(folder.path(), "text").expect("a writable folder");
    assert!(read_meta(&folder.path(), "origin").is_err());
}

#[test]
fn the_examples_in_the_help_are_queries_that_work() {
    let folder = Folder::with(&small_trace());
    let help = schema_help();
    let examples: Vec<_> =
        help.split("\n\n").filter(|part| part.trim_start().starts_with("SELECT")).collect();
    assert_eq!(examples.len(), 2);
    for example in examples {
        rows(&folder.path(), example.trim().trim_end_matches(';'));
    }
}

#[test]
fn a_query_of_one_column_does_not_pay_for_the_shapes_of_others() {
    let folder = Folder::with(&small_trace());
    let plan =
        rows(&folder.path(), "EXPLAIN QUERY PLAN SELECT op_type, duration_ns FROM operator_executions");
    assert!(plan.iter().all(|step| !step.contains("tensors")), "{plan:?}");
}

#[test]
fn the_file_is_known_by_its_header() {
    let folder = Folder::with(&Trace::new());
    let bytes = std::fs::read(folder.path()).unwrap();
    assert_eq!(application_id(&bytes), Some(APPLICATION_ID));
    assert_eq!(application_id(&bytes[..71]), None);
    assert_eq!(application_id(b"no database"), None);
}

#[test]
fn an_existing_file_is_replaced_and_a_missing_folder_named() {
    let folder = Folder::with(&small_trace());
    write_file(&Trace::new(), &folder.path()).unwrap();
    assert!(read_file(&folder.path()).unwrap().tasks.is_empty());
    assert_eq!(std::fs::read_dir(folder.0.path()).unwrap().count(), 1);
    let failed = write_file(&Trace::new(), &folder.0.path().join("missing/x.db")).unwrap_err();
    assert!(failed.to_string().contains("missing"), "{failed}");
}

fn refusal(path: &Path) -> String {
    read_file(path).unwrap_err().to_string()
}

#[test]
fn what_is_no_database_of_opscope_is_refused_with_the_reason() {
    let folder = Folder::new();
    std::fs::write(folder.path(), "[]").unwrap();
    assert!(refusal(&folder.path()).contains("no SQLite database"));
    std::fs::remove_file(folder.path()).unwrap();
    assert!(refusal(&folder.path()).contains("trace.db"));
    Connection::open(folder.path()).unwrap().execute_batch("CREATE TABLE t(x)").unwrap();
    assert!(refusal(&folder.path()).contains("not written by opscope"));
}

/// Changes a good database behind opscope's back and tells why it is refused then.
fn refusal_after(change: &str) -> String {
    let folder = Folder::with(&small_trace());
    let change = format!("PRAGMA foreign_keys = OFF; {change}");
    Connection::open(folder.path()).unwrap().execute_batch(&change).unwrap();
    refusal(&folder.path())
}

#[test]
fn another_version_and_altered_tables_are_refused() {
    let said = format!("version 7, and this opscope reads version {SCHEMA_VERSION}");
    assert!(refusal_after("PRAGMA user_version = 7").contains(&said));
    assert!(
        refusal_after("ALTER TABLE tasks ADD COLUMN note")
            .contains("the table tasks is missing or was altered")
    );
    let endless = "DROP TABLE losses; CREATE VIEW losses AS \
                   WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n) SELECT * FROM n";
    assert!(refusal_after(endless).contains("the table losses is missing or was altered"));
}

#[test]
fn a_database_that_lacks_a_part_of_its_last_page_is_refused_and_losses_keep_their_kind() {
    let mut trace = small_trace();
    trace.count_loss(LossKind::DamagedEvent, 2, "a column");
    let folder = Folder::with(&trace);
    let asked = super::Database::open(&folder.path()).unwrap();
    assert_eq!(asked.losses().losses.kind(), [LossKind::EventOfUnknownPhase, LossKind::DamagedEvent]);
    let bytes = std::fs::read(folder.path()).unwrap();
    for missing in [1, 4_096, bytes.len() / 2] {
        let left = &bytes[..bytes.len() - missing];
        std::fs::write(folder.path(), left).unwrap();
        let said = format!("lacks {missing} bytes");
        assert!(refusal(&folder.path()).contains(&said), "{}", refusal(&folder.path()));
        assert!(read_bytes(left, &folder.path(), &Stop::default()).unwrap_err().to_string().contains(&said));
        assert!(super::Database::open(&folder.path()).err().unwrap().to_string().contains(&said));
    }
}

#[test]
fn values_that_cannot_be_are_named_with_their_place() {
    let cases = [
        ("UPDATE tasks SET stream_id = 9 WHERE id = 3", "table tasks, row 3, column stream_id", "found 9"),
        ("UPDATE tasks SET stream_id = -1 WHERE id = 3", "column stream_id", "found -1"),
        ("UPDATE tasks SET unit = 'warp' WHERE id = 0", "column unit", "found 'warp'"),
        ("UPDATE tasks SET start_ns = 0.5 WHERE id = 1", "expected a whole number", "found 0.5"),
        ("UPDATE tensors SET dimensions = '[1,x]' WHERE id = 1", "expected a list of dimensions", "'[1,x]'"),
        ("UPDATE operators SET input_count = 99 WHERE id = 1", "column input_count", "found 99"),
        ("UPDATE operators SET output_count = 2 WHERE id = 1", "column output_count", "found 2"),
        ("UPDATE strings SET text = 'Add' WHERE text = 'Conv'", "table strings", "found 'Add'"),
        ("UPDATE iterations SET warm_up = 2", "expected 0 or 1", "found 2"),
        ("UPDATE devices SET number = 4294967296", "expected a number of 32 bits", "4294967296"),
        ("UPDATE readings SET metric_ids = '[0,9]'", "column metric_ids", "found '[0,9]'"),
        ("UPDATE readings SET metric_ids = '[0]'", "a value for each of the 1 metrics", "2 values"),
        ("UPDATE readings SET metric_values = '[1,x]'", "expected a list of numbers", "found '[1,x]'"),
        ("UPDATE readings SET metric_values = '1,2'", "expected a list of numbers", "found '1,2'"),
        ("UPDATE readings SET task_id = 99", "the id of a row in tasks", "found 99"),
        ("DELETE FROM tasks WHERE id = 2", "expected the row's number 2", "found 3"),
        ("INSERT INTO meta VALUES ('clock_unix_zero_ns', 'noon')", "clock_unix_zero_ns", "found noon"),
    ];
    for (change, place, found) in cases {
        let message = refusal_after(change);
        assert!(message.contains(place) && message.contains(found), "{change}: {message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_trace_comes_back_equal_and_its_foreign_keys_hold(trace in any_trace()) {
        let folder = Folder::with(&trace);
        prop_assert_eq!(spelled_out(&read_file(&folder.path()).unwrap()), spelled_out(&trace));
        let bytes = std::fs::read(folder.path()).unwrap();
        prop_assert_eq!(spelled_out(&read_bytes(&bytes, Path::new("x"), &Stop::default()).unwrap()), spelled_out(&trace));
        prop_assert_eq!(rows(&folder.path(), "PRAGMA foreign_key_check"), Vec::<String>::new());
        prop_assert_eq!(rows(&folder.path(), "PRAGMA integrity_check"), ["ok"]);
    }

    #[test]
    fn damaged_databases_are_read_or_refused(
        changes in proptest::collection::vec((0usize..1 << 20, any::<u8>()), 1..40),
        keep in 0usize..1 << 18,
    ) {
        let mut bytes = std::fs::read(Folder::with(&small_trace()).path()).unwrap();
        for (place, byte) in changes {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        let keep = if keep.is_multiple_of(3) { keep % bytes.len() } else { bytes.len() };
        if let Ok(trace) = read_bytes(&bytes[..keep], Path::new("damaged.db"), &Stop::default()) {
            // Every reference in it can be followed.
            spelled_out(&trace);
        }
    }
}
