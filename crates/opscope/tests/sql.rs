//! `opscope sql`: questions in SQL to any profile.

mod common;

use std::io::Write;
use std::process::Stdio;

use common::{Answer, Place};

const TIMELINE: &str = r#"{"traceEvents": [
    {"ph": "X", "name": "gemm", "cat": "kernel", "ts": 10, "dur": 5, "pid": 0, "tid": 7},
    {"ph": "X", "name": "gemm", "cat": "kernel", "ts": 20, "dur": 7, "pid": 0, "tid": 7},
    {"ph": "X", "name": "x, \"y\"", "cat": "kernel", "ts": 30, "dur": 1, "pid": 0, "tid": 7}]}"#;

const BY_NAME: &str =
    "SELECT task, count(*) AS n, sum(duration_ns) AS ns FROM task_details GROUP BY 1 ORDER BY 3 DESC";

fn place() -> Place {
    let place = Place::new();
    place.write("trace.json", TIMELINE);
    place
}

#[test]
fn any_profile_answers_in_every_form() {
    let place = place();
    let text = place.done(&["sql", "trace.json", BY_NAME]).stdout;
    assert!(text.contains("task") && text.contains("gemm") && text.contains("12000"), "{text}");
    let csv = place.done(&["sql", "trace.json", "--csv", BY_NAME]).stdout;
    assert_eq!(csv, "task,n,ns\ngemm,2,12000\n\"x, \"\"y\"\"\",1,1000\n");
    let json = place.done(&["sql", "trace.json", "--json", BY_NAME]).json();
    assert_eq!(json["rows"][0], serde_json::json!({"task": "gemm", "n": 2, "ns": 12000}));
    assert_eq!(json["losses"], serde_json::json!([]));
    let twice =
        place.done(&["sql", "trace.json", "--json", "SELECT 1 AS a, 2 AS a, NULL AS b, 0.5 AS c"]).json();
    assert_eq!(twice["rows"], serde_json::json!([{"a": 1, "a_2": 2, "b": null, "c": 0.5}]));
    assert_eq!(
        place.done(&["sql", "trace.json", "--json", "SELECT 1 WHERE 0"]).json()["rows"],
        serde_json::json!([])
    );
    assert_eq!(place.files(), ["trace.json"], "a question leaves nothing behind");
}

#[test]
fn a_database_of_our_own_is_asked_as_it_is_and_stays_as_it_is() {
    let place = place();
    place.done(&["import", "trace.json", "-o", "kept.db"]);
    let before = std::fs::read(place.path("kept.db")).expect("the database");
    let rows = place.done(&["sql", "kept.db", "--csv", BY_NAME]).stdout;
    assert!(rows.contains("gemm,2,12000"), "{rows}");
    let other = place.path("other.db");
    for statement in [
        "DELETE FROM tasks",
        "INSERT INTO meta VALUES ('a', 'b')",
        "CREATE TABLE t(x)",
        "ATTACH 'other.db' AS other",
        "VACUUM INTO 'other.db'",
        "PRAGMA journal_mode = WAL",
    ] {
        place.fails(2, &["SELECT"], &["sql", "kept.db", statement]);
    }
    assert!(!other.exists());
    assert_eq!(std::fs::read(place.path("kept.db")).expect("the database"), before);
    assert_eq!(place.files(), ["kept.db", "trace.json"]);
}

#[test]
fn mistakes_are_named_with_their_place_and_the_tables_explained() {
    let place = place();
    place.fails(
        2,
        &["no such column: durration", "at character 8", "sql --help"],
        &["sql", "trace.json", "SELECT durration FROM tasks"],
    );
    place.fails(2, &["no such table: operator"], &["sql", "trace.json", "SELECT * FROM operator"]);
    place.fails(2, &["one statement"], &["sql", "trace.json", "SELECT 1; SELECT 2"]);
    place.fails(2, &["statement is empty", "SELECT"], &["sql", "trace.json", " "]);
    place.fails(1, &["missing.json"], &["sql", "missing.json", "SELECT 1"]);
    let help = place.done(&["sql", "--help"]).stdout;
    assert!(help.contains("operator_executions") && help.contains("duration_ns"), "{help}");
    assert!(help.contains("duration_ns of an operator has in it the operators that ran within it"), "{help}");
    assert!(place.done(&["sql", "trace.json"]).stdout.contains("task_details"));
}

#[test]
fn a_statement_can_come_from_standard_input() {
    let place = place();
    let mut child = place
        .command(&["sql", "trace.json", "-", "--csv"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("its input").write_all(b"SELECT count(*) FROM tasks").expect("a reader");
    let answer = Answer::from(child.wait_with_output().expect("its end"));
    assert_eq!(answer.stdout, "count(*)\n3\n");
}

#[test]
fn a_statement_may_begin_with_a_comment_and_not_with_a_wrong_option() {
    let place = place();
    let statement = "-- How many there are.\nSELECT count(*) AS n FROM tasks";
    for asked in [["sql", "trace.json", statement, "--csv"], ["sql", "trace.json", "--csv", statement]] {
        assert_eq!(place.done(&asked).stdout, "n\n3\n");
    }
    place.fails(2, &["'--jsno'", "'--json'"], &["sql", "trace.json", "--jsno", statement]);
    place.fails(2, &["'--timeuot'", "'--timeout'"], &["sql", "trace.json", "--timeuot", "3s", statement]);
}

#[test]
fn a_database_of_another_version_is_refused_with_its_version() {
    let place = place();
    place.done(&["import", "trace.json", "-o", "kept.db"]);
    let database = rusqlite::Connection::open(place.path("kept.db")).expect("the database");
    database.execute_batch("PRAGMA user_version = 99").expect("a change");
    drop(database);
    place.fails(1, &["kept.db", "version 99"], &["sql", "kept.db", "SELECT 1"]);
    place.fails(1, &["kept.db", "version 99"], &["analyze", "kept.db"]);
}

#[test]
fn damage_in_a_database_is_told_with_its_name_and_is_no_mistake_of_the_statement() {
    let place = place();
    place.done(&["import", "trace.json", "-o", "kept.db"]);
    let open = || rusqlite::Connection::open(place.path("kept.db")).expect("the database");
    let number = |sql: &str| -> usize {
        let number: i64 = open().query_row(sql, [], |row| row.get(0)).expect("a number");
        usize::try_from(number).expect("a number of pages or bytes")
    };
    let page = number("SELECT rootpage FROM sqlite_schema WHERE name = 'tasks'");
    let size = number("PRAGMA page_size");
    let mut bytes = std::fs::read(place.path("kept.db")).expect("the database");
    bytes[(page - 1) * size..page * size].fill(0x5a);
    place.write("kept.db", &bytes);
    for form in ["--json", "--csv", "--markdown"] {
        let question = ["sql", "kept.db", "SELECT * FROM tasks", form];
        place.fails(1, &["kept.db", "damaged", "convert the original"], &question);
    }
    assert!(place.done(&["sql", "kept.db", "SELECT count(*) FROM operators"]).stdout.contains("count"));
    place.write("short.db", &bytes[..50]);
    place.fails(1, &["short.db", "cut off", "copy it again"], &["sql", "short.db", "SELECT 1"]);
}

const ENDLESS: &str = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n";

#[test]
fn a_statement_ends_when_its_time_is_over_whatever_it_does() {
    let place = place();
    for form in ["--csv", "--json", "--markdown"] {
        let answer = place.fails(
            1,
            &["0.2 s", "--timeout"],
            &["sql", "trace.json", "--timeout", "0.2", form, ENDLESS],
        );
        // Rows of CSV are printed as they come, and their heading before them.
        assert!(form == "--csv" || answer.stdout.is_empty(), "{form}: {}", answer.stdout);
    }
    place.done(&["import", "trace.json", "-o", "kept.db"]);
    let database = rusqlite::Connection::open(place.path("kept.db")).expect("the database");
    database.execute_batch(&format!("CREATE VIEW trap AS {ENDLESS}")).expect("a view");
    drop(database);
    place.fails(1, &["--timeout"], &["sql", "kept.db", "--timeout", "200ms", "SELECT * FROM trap"]);
    // One step of SQLite's machine, within which it doesn't ask.
    let step = "SELECT instr(zeroblob(50000000), unhex(hex(zeroblob(100000)) || '01'))";
    place.fails(1, &["--timeout"], &["sql", "trace.json", "--timeout", "0.2", step]);
    assert!(
        place.done(&["sql", "kept.db", "--timeout", "0", "--csv", BY_NAME]).stdout.contains("gemm,2,12000")
    );
}

#[test]
fn a_statement_takes_no_more_memory_than_it_may() {
    let place = place();
    let sql = |form: &'static str, statement: &str| -> Vec<String> {
        ["sql", "trace.json", "--memory", "10MB", form, statement].map(str::to_owned).to_vec()
    };
    let rows = |order: &str| {
        format!(
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 300000) SELECT x FROM n {order}"
        )
    };
    for (form, statement, says) in [
        ("--csv", "SELECT length(hex(zeroblob(40000000)))".to_owned(), "--memory"),
        ("--csv", rows("ORDER BY printf('%200d', x)"), "--memory"),
        ("--markdown", rows(""), "--csv"),
    ] {
        let arguments = sql(form, &statement);
        place.fails(1, &[says], &arguments.iter().map(String::as_str).collect::<Vec<_>>());
    }
    // Rows that are printed as they come take none.
    for form in ["--csv", "--json"] {
        let arguments = sql(form, &rows(""));
        let answer = place.done(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(answer.stdout.lines().count() > 300_000, "{form}");
    }
}

#[cfg(unix)]
#[test]
fn a_statement_without_an_end_can_be_stopped() {
    let place = place();
    for signal in ["-INT", "-TERM"] {
        let mut child = place.command(&["sql", "trace.json", ENDLESS]).spawn().expect("the program starts");
        std::thread::sleep(std::time::Duration::from_millis(500));
        assert_eq!(child.try_wait().expect("its state"), None, "it ended by itself");
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        assert_eq!(child.wait().expect("its end").code(), Some(130), "{signal}");
    }
}
