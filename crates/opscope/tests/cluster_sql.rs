//! `opscope cluster sql`: questions to a set, by the engine where the program is built with one.

mod common;

#[cfg(not(feature = "datafusion"))]
use std::process::Command;

use common::sets::place_with_set;
#[cfg(not(feature = "datafusion"))]
use opscope_testing::companions;

#[test]
fn paths_without_a_set_are_named_and_tables_listed() {
    let place = place_with_set("2", &[]);
    let makes_one = "opscope cluster import FOLDER -o SET";
    place.fails(
        1,
        &["nowhere: there is nothing here", makes_one],
        &["cluster", "sql", "nowhere", "SELECT 1"],
    );
    std::fs::create_dir(place.path("plain")).unwrap();
    place.fails(1, &["plain: this is no set", makes_one], &["cluster", "sql", "plain", "SELECT 1"]);
    let listed = place.done(&["cluster", "sql", "set"]).stdout;
    assert!(listed.contains("operators") && listed.contains("duration_ns"), "{listed}");
}

#[test]
fn tables_and_questions_are_listed_in_every_form() {
    let place = place_with_set("2", &[]);
    for (command, member, heading) in [
        (&["cluster", "sql", "set"][..], "tables", "table,columns,is_there"),
        (&["cluster", "queries"], "queries", "name,about,sql,why_not"),
    ] {
        let asked = |form: &str| place.done(&[command, &[form]].concat());
        let answer = asked("--json").json();
        let rows = answer[member].as_array().unwrap();
        let csv = asked("--csv").stdout;
        assert_eq!(csv.lines().next(), Some(heading));
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert!(!rows.is_empty() && records.len() == rows.len(), "{csv}");
        let markdown = asked("--markdown").stdout;
        assert!(markdown.lines().all(|line| line.starts_with('|')), "{markdown}");
        assert_eq!(markdown.lines().count(), rows.len() + 2, "{markdown}");
    }
    let tables = place.done(&["cluster", "sql", "set", "--json"]).json();
    let operators = tables["tables"].as_array().unwrap().iter().find(|it| it["table"] == "operators");
    let operators = operators.unwrap_or_else(|| panic!("{tables:#}"));
    let columns = operators["columns"].as_array().unwrap();
    assert!(columns.contains(&"duration_ns".into()) && operators["is_there"] == true, "{operators:#}");
    let question = place.done(&["cluster", "queries", "waits", "--markdown"]).stdout;
    assert!(question.starts_with("```sql\n-- ") && question.ends_with(";\n```\n"), "{question}");
}

#[cfg(not(feature = "datafusion"))]
#[test]
fn without_an_engine_a_question_is_handed_on_to_one() {
    let place = place_with_set("2", &[]);
    let ranks = "CREATE OR REPLACE TEMP VIEW ranks AS SELECT * FROM \
                 read_parquet('set/ranks/run=run/**/*.parquet', union_by_name = true);";
    let says = ["without an engine", "--features datafusion", ranks];
    for statement in ["SELECT count(*) FROM ranks", "-- How many there are.\nSELECT count(*) FROM ranks"] {
        place.fails(1, &says, &["cluster", "sql", "set", statement]);
    }
    // A statement that no engine should be asked isn't handed on.
    for other in ["DROP TABLE ranks", "DROP;", "/* x */ DELETE FROM ranks", "SELECT 1; DROP TABLE ranks"] {
        place.fails(2, &["one question", "SELECT or WITH"], &["cluster", "sql", "set", other]);
    }
    let handed = place.fails(1, &["answers this one:"], &["cluster", "sql", "set", "SELECT 1"]);
    assert!(handed.stderr.contains("  SELECT 1;"), "{}", handed.stderr);
    let explain = "  EXPLAIN SELECT count(*) FROM ranks;";
    place.fails(1, &[ranks, explain], &["cluster", "sql", "set", "--explain", "SELECT count(*) FROM ranks;"]);
    // Rows of a file that no manifest names are nobody's.
    let folder = place.path("set/ranks/run=run/block=00000");
    let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    std::fs::copy(&file, folder.join("left-over.parquet")).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    let named = format!("read_parquet(['set/ranks/run=run/block=00000/{name}'], union_by_name = true)");
    place.fails(1, &[&named], &["cluster", "sql", "set", "SELECT count(*) FROM ranks"]);
}

#[cfg(not(feature = "datafusion"))]
#[test]
fn duckdb_answers_what_is_handed_on_to_it() {
    let place = place_with_set("4", &["--steps", "2"]);
    let Some(python) = companions::python_with("duckdb") else { return };
    let script = "import sys, duckdb; print(duckdb.sql(sys.argv[1]).fetchall()[0][0])";
    for (statement, answer) in [
        ("SELECT count(*) FROM ranks r, accounts a WHERE a.rank = r.rank", "8"),
        ("WITH ranks AS (SELECT * FROM ranks WHERE rank < 3) SELECT count(*) FROM ranks", "3"),
        ("(WITH ranks AS (SELECT * FROM ranks WHERE rank < 3) SELECT count(*) FROM ranks);", "3"),
        (
            "WITH RECURSIVE steps (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM steps WHERE n < 5) TABLE steps",
            "1",
        ),
        (
            "SELECT count(*) FROM \"ranks\" WHERE rank NOT IN (SELECT rank FROM (ranks JOIN steps USING (rank)))",
            "0",
        ),
    ] {
        let handed = place.fails(1, &["answers this one:"], &["cluster", "sql", "set", statement]);
        let (_, asked) = handed.stderr.split_once("answers this one:").unwrap();
        let output =
            Command::new(&python).args(["-c", script, asked]).current_dir(place.path("")).output().unwrap();
        let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        assert_eq!(found, answer, "{asked}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn places_that_statements_can_not_be_carried_out_at_are_refused() {
    let place = place_with_set("2", &[]);
    let ask = |engine| ["cluster", "sql", "set", "SELECT 1", "--engine", engine];
    place.fails(2, &["spark", "ballista://HOST:PORT"], &ask("spark"));
    place.fails(2, &["ballista://HOST:PORT"], &ask("ballista://host"));
    #[cfg(not(feature = "ballista"))]
    {
        let told = place.fails(1, &["--features ballista"], &ask("ballista://127.0.0.1:50050"));
        // A program without any engine doesn't point to its own.
        assert_eq!(told.stderr.contains("without --engine"), cfg!(feature = "datafusion"), "{}", told.stderr);
    }
}

#[cfg(feature = "datafusion")]
mod engine {
    use std::collections::BTreeMap;
    use std::io::Write;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use opscope_testing::companions;
    use opscope_testing::small_disk::SmallDisk;
    use serde_json::{Value, json};

    use super::common::sets::{asking, assert_same, made_so, place_with_set, questions, rows};
    use super::common::{Answer, Place};

    /// Runs statements on DuckDB and prints a line of JSON for each: its rows.
    const ASK: &str = r#"
import json, sys
import duckdb
def plain(value):
    return value if value is None or isinstance(value, (int, float, str)) else float(value)
for statement in json.load(sys.stdin):
    answer = duckdb.sql(statement)
    print(json.dumps([dict(zip(answer.columns, map(plain, row))) for row in answer.fetchall()]))
"#;

    fn ask_duckdb(python: &Path, place: &Place, statements: &[&String]) -> Vec<Vec<Value>> {
        let mut duckdb = Command::new(python);
        let duckdb = duckdb.args(["-c", ASK]).current_dir(place.path(""));
        let mut duckdb = duckdb.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = serde_json::to_vec(statements).unwrap();
        duckdb.stdin.take().unwrap().write_all(&input).unwrap();
        let output = duckdb.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_question_is_answered_as_duckdb_answers_it() {
        for (ranks, steps) in [("8", "3"), ("64", "2")] {
            let place = place_with_set(ranks, &["--steps", steps]);
            let Some(python) = companions::python_with("duckdb") else { return };
            let for_duckdb = questions(&place, "duckdb");
            let duckdb = ask_duckdb(&python, &place, &for_duckdb.values().collect::<Vec<_>>());
            for ((name, sql), others) in questions(&place, "datafusion").iter().zip(duckdb) {
                assert!(!others.is_empty() || name == "losses", "{name} has no rows");
                assert_same(name, &rows(&place, sql, &[]), &others, 1e-6);
                assert_same(name, &rows(&place, sql, &["--jobs", "1"]), &others, 1e-6);
            }
        }
    }

    #[test]
    fn stages_and_links_are_those_of_the_commands_also_where_a_rank_is_cut() {
        let place = Place::new();
        let words = ["--ranks", "16", "--steps", "4", "--damage", "cut=6", "--format", "text"];
        let run = made_so(&place, "runs", &words);
        place.done(&["cluster", "import", &run, "-o", "set"]);
        let asked = |words: &[&str]| place.done(&[&["cluster"], words, &["set", "--json"]].concat()).json();
        let questions = questions(&place, "datafusion");
        let answered = |name: &str| rows(&place, &questions[name], &[]);
        let is_close = |a: &Value, b: &Value| {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1.0 + 1e-9 * b.abs()
        };

        let summary = asked(&["summary", "--by", "stage"]);
        let (expected, found) = (summary["rows"].as_array().unwrap(), answered("stages"));
        assert_eq!((expected.len(), found.len()), (2, 2), "{summary:#}");
        for (expected, found) in expected.iter().zip(&found) {
            for column in ["step_ns", "compute_ns", "waiting_ns", "bubble_ns", "transfer_ns", "idle_ns"] {
                assert!(is_close(&found[column], &expected[column]), "{column}: {found:#} {expected:#}");
            }
            let imbalance = [found, expected].map(|it| it["imbalance"].as_f64().unwrap());
            assert!((imbalance[0] - imbalance[1]).abs() < 1e-9, "{found:#} {expected:#}");
        }

        let mut expected: Vec<String> = Vec::new();
        let matrix = asked(&["comm", "--matrix"]);
        let line = |row: &Value| {
            let words = ["src", "dst", "role", "type", "transport"].map(|it| row[it].to_string());
            format!("{} {:.0}", words.join(" "), row["bytes"].as_f64().unwrap())
        };
        expected.extend(matrix["links"].as_array().unwrap().iter().map(line));
        let mut found: Vec<String> = answered("links").iter().map(line).collect();
        assert!(expected.len() > 50, "{matrix:#}");
        assert!(expected.iter().any(|line| line.contains("receive")), "{matrix:#}");
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }

    #[test]
    fn steps_that_are_left_out_for_a_rank_count_in_no_question_that_compares() {
        let place = Place::new();
        let words = [
            "--layout",
            "dp=2,ep=2",
            "--fault",
            "none",
            "--steps",
            "4",
            "--damage",
            "cut=1",
            "--format",
            "text",
        ];
        let run = made_so(&place, "runs", &words);
        place.done(&["cluster", "import", &run, "-o", "set"]);
        let questions = questions(&place, "datafusion");

        let told = place.done(&["cluster", "experts", "set", "--json"]).json();
        let expected = told["ranks"].as_array().unwrap();
        let found = rows(&place, &questions["experts"], &[]);
        assert_eq!((expected.len(), found.len()), (2, 2), "{told:#} {found:#?}");
        assert!(found[1]["steps"].as_i64() < found[0]["steps"].as_i64(), "{found:#?}");
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(found["rank"], expected["rank"]);
            let steps = found["steps"].as_f64().unwrap();
            for column in ["products", "tokens"] {
                let a_step = found[column].as_f64().unwrap() / steps;
                assert!((a_step - expected[column].as_f64().unwrap()).abs() < 1e-6, "{found:#} {expected:#}");
            }
        }

        // The rank with fewer steps computes as much in each.
        let uneven = rows(&place, &questions["uneven"], &[]);
        assert!(uneven.len() > 10, "{uneven:#?}");
        for row in &uneven {
            let [most, mean] = ["most_ns", "mean_ns"].map(|column| row[column].as_f64().unwrap());
            assert!(most < 1.02 * mean + 1e3, "{row:#}");
        }

        // Nor is a collective of a step that was cut one of both ranks.
        let seen_by_two = "SELECT count(*) AS calls FROM (QUESTION) q WHERE q.seen = 2";
        let by_question = rows(&place, &seen_by_two.replace("QUESTION", &questions["instances"]), &[]);
        let by_table = rows(&place, "SELECT count(*) AS calls FROM instances WHERE seen = 2", &[]);
        assert_eq!(by_question, by_table);
        assert!(by_table[0]["calls"].as_i64() > Some(0), "{by_table:#?}");
    }

    #[test]
    fn waits_for_a_rank_that_was_not_recorded_are_those_of_the_command() {
        let place = Place::new();
        let run = ["--layers", "1", "--layout", "tp=2,pp=1,dp=4,ep=1", "--steps", "2"];
        let damage = ["--fault", "late-input=5:20ms", "--damage", "missing=5", "--format", "db"];
        let run = made_so(&place, "runs", &[&run[..], &damage].concat());
        place.done(&["cluster", "import", &run, "-o", "set"]);
        let told = place.done(&["cluster", "comm", "set", "--json"]).json();
        let expected = told["collectives"].as_array().unwrap();
        let questions = questions(&place, "datafusion");
        let found = rows(&place, &questions["comm"], &[]);
        assert_eq!((expected.len(), found.len()), (3, 3), "{told:#} {found:#?}");
        let number = |row: &Value, column: &str| row[column].as_f64().unwrap();
        for expected in expected {
            let is_same = |row: &&Value| ["role", "type"].iter().all(|it| row[it] == expected[it]);
            let found = found.iter().find(is_same).unwrap();
            // Each of the ranks takes part in each of the steps.
            let parts = 7.0 * 2.0;
            let difference = number(found, "wait_ns") / parts - number(expected, "waiting_ns");
            assert!(difference.abs() <= 100.0, "{found:#} {expected:#}");
        }
        let waits = rows(&place, &questions["waits"], &[]);
        let sum = |rows: &[Value]| rows.iter().map(|row| number(row, "wait_ns")).sum::<f64>();
        assert_eq!(sum(&waits), sum(&found), "{waits:#?} {found:#?}");
        assert!(waits.iter().any(|row| row["rank"].is_null()), "{waits:#?}");
    }

    #[test]
    fn a_rank_that_numbers_its_steps_otherwise_is_in_every_answer() {
        let place = Place::new();
        let words = ["--ranks", "8", "--layers", "1", "--steps", "2", "--fault", "none", "--format", "text"];
        let run = made_so(&place, "runs", &words);
        place.done(&["cluster", "import", &run, "-o", "set"]);
        let questions = questions(&place, "datafusion");
        let answered = |name: &str| rows(&place, &questions[name], &[]);
        let asked = ["experts", "instances", "links", "uneven"];
        let expected = asked.map(answered);
        let mut folders = std::fs::read_dir(place.path(&run)).unwrap().map(|it| it.unwrap().path());
        let of_rank = folders.find(|it| it.display().to_string().contains("_10005_")).unwrap();
        let outputs = of_rank.join("ASCEND_PROFILER_OUTPUT");
        for (file, words) in [
            ("communication.json", [("\"step10\"", "\"step17\""), ("\"step11\"", "\"step18\"")]),
            ("communication_matrix.json", [("\"step10\"", "\"step17\""), ("\"step11\"", "\"step18\"")]),
            ("step_trace_time.csv", [("\n10,", "\n17,"), ("\n11,", "\n18,")]),
            ("kernel_details.csv", [("\n10,", "\n17,"), ("\n11,", "\n18,")]),
        ] {
            let text = std::fs::read_to_string(outputs.join(file)).unwrap();
            let renumbered = words.iter().fold(text, |text, (old, new)| text.replace(old, new));
            std::fs::write(outputs.join(file), renumbered).unwrap();
        }
        std::fs::remove_dir_all(place.path("set")).unwrap();
        place.done(&["cluster", "import", &run, "-o", "set"]);
        let own =
            rows(&place, "SELECT DISTINCT own_step FROM accounts WHERE rank = 5 ORDER BY own_step", &[]);
        assert_eq!(own, [json!({"own_step": 17}), json!({"own_step": 18})]);
        for (name, expected) in asked.iter().zip(&expected) {
            assert!(!expected.is_empty(), "{name}");
            assert_same(name, &answered(name), expected, 1e-6);
        }
    }

    #[test]
    fn questions_are_taken_as_they_are_printed() {
        let place = place_with_set("4", &[]);
        for (name, sql) in questions(&place, "datafusion") {
            let printed = place.done(&["cluster", "queries", &name]).stdout;
            assert!(printed.starts_with("-- "), "{printed}");
            assert_same(&name, &rows(&place, &printed, &[]), &rows(&place, &sql, &[]), 0.0);
        }
    }

    #[test]
    fn an_answer_comes_in_every_form_and_a_statement_from_standard_input() {
        let place = place_with_set("4", &[]);
        let statement = "SELECT rank, host, rank % 2 = 0 AS even, NULL AS nothing, 0.5 AS half FROM ranks \
                         WHERE rank < 2 ORDER BY rank";
        let csv = place.done(&asking(statement, &["--csv"])).stdout;
        assert_eq!(csv.lines().next(), Some("rank,host,even,nothing,half"));
        assert!(csv.contains("\n0,") && csv.ends_with(",0,,0.5\n"), "{csv}");
        assert!(place.done(&asking(statement, &["--markdown"])).stdout.starts_with("| rank | host |"));
        assert!(place.done(&asking(statement, &[])).stdout.contains("half"));
        let twice = rows(&place, "SELECT a.x, b.x FROM (SELECT 1 AS x) a CROSS JOIN (SELECT 2 AS x) b", &[]);
        assert_eq!(twice, [json!({"x": 1, "x_2": 2})]);
        let none = place.done(&asking("SELECT rank FROM ranks WHERE rank < 0", &["--csv"])).stdout;
        assert_eq!(none, "rank\n");
        let mut child = place
            .command(&asking("-", &["--csv"]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        child.stdin.take().unwrap().write_all(b"SELECT count(*) AS n FROM ranks;\n").unwrap();
        assert_eq!(Answer::from(child.wait_with_output().unwrap()).stdout, "n\n4\n");
        let tables = rows(&place, "SELECT table_name FROM information_schema.tables", &[]);
        assert!(tables.contains(&json!({"table_name": "operators"})), "{tables:?}");
        let explained = place.done(&asking("EXPLAIN SELECT count(*) FROM operators", &[])).stdout;
        assert!(explained.contains("operators"), "{explained}");
        let explained = place
            .done(&asking("-- How long.\nSELECT sum(duration_ns) FROM operators", &["--explain"]))
            .stdout;
        let lines: Vec<&str> = explained.lines().collect();
        assert!(lines.contains(&"logical plan") && lines.contains(&"physical plan"), "{explained}");
        assert!(explained.contains("operators/run=run"), "the plan names the files: {explained}");
        place.fails(2, &["--explain", "STATEMENT"], &["cluster", "sql", "set", "--explain"]);
    }

    /// Paths and contents of all files below a folder.
    fn contents(folder: &Path) -> BTreeMap<std::path::PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            for path in std::fs::read_dir(next).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    open.push(path);
                } else {
                    let content = std::fs::read(&path).unwrap();
                    found.insert(path, content);
                }
            }
        }
        found
    }

    #[test]
    fn nothing_but_reading_the_sets_tables_is_done() {
        let place = place_with_set("2", &[]);
        place.write("letter.csv", "a,b\n1,2\n");
        let before = contents(&place.path(""));
        for statement in [
            "CREATE TABLE copy AS SELECT * FROM ranks",
            "CREATE EXTERNAL TABLE letter STORED AS CSV LOCATION 'letter.csv'",
            "CREATE VIEW v AS SELECT 1",
            "DROP TABLE ranks",
            "INSERT INTO ranks SELECT * FROM ranks",
            "COPY ranks TO 'copy.parquet'",
            "COPY (SELECT 1) TO 'copy.csv'",
            "EXPLAIN ANALYZE INSERT INTO ranks SELECT * FROM ranks",
            "SET datafusion.execution.batch_size = 1",
            "PREPARE p AS SELECT 1",
        ] {
            place.fails(2, &["does more than read the set's tables"], &asking(statement, &[]));
        }
        for (statement, lacks) in [
            ("SELECT * FROM 'letter.csv'", "letter.csv' not found"),
            ("SELECT * FROM \"letter.csv\"", "letter.csv' not found"),
            ("SELECT * FROM read_csv('letter.csv')", "'read_csv' not found"),
        ] {
            place.fails(2, &[lacks], &asking(statement, &[]));
        }
        place.fails(2, &["one statement"], &asking("SELECT 1; SELECT 2", &[]));
        place.fails(2, &["the statement is empty"], &asking(" ;", &[]));
        place.fails(2, &["durration", "lists the tables"], &asking("SELECT durration FROM operators", &[]));
        place.fails(2, &["SELEC"], &asking("SELEC 1", &[]));
        place.fails(
            1,
            &["can't be carried out", "zero"],
            &asking("SELECT rank / (rank - rank) FROM ranks", &[]),
        );
        assert!(before == contents(&place.path("")), "a question changes files");
    }

    #[test]
    fn files_that_no_manifest_names_are_no_part_of_a_table() {
        let place = place_with_set("2", &[]);
        let count = |place: &Place| rows(place, "SELECT count(*) AS n FROM operators", &[]);
        let before = count(&place);
        let folder = place.path("set/operators/run=run/block=00000");
        let file = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
        std::fs::copy(&file, folder.join("left-over.parquet")).unwrap();
        assert_eq!(before, count(&place));
    }

    #[test]
    fn a_set_is_found_under_any_name_and_of_several_runs_the_one_that_is_asked_for() {
        let place = place_with_set("2", &[]);
        let name = "it's [a] *set* 100%41 #1?";
        std::fs::rename(place.path("set"), place.path(name)).unwrap();
        let ask = ["cluster", "sql", name, "SELECT count(*) FROM ranks", "--csv"];
        assert_eq!(place.done(&ask).stdout, "count(*)\n2\n");
        place.done(&["sample", "cluster", "-o", "more", "--ranks", "4", "--format", "db"]);
        let folder =
            std::fs::read_dir(place.path("more")).unwrap().next().unwrap().unwrap().path().join("db");
        place.done(&["cluster", "import", folder.to_str().unwrap(), "-o", name, "--run", "second"]);
        place.fails(1, &["several runs"], &ask);
        assert_eq!(place.done(&[&ask[..], &["--run", "second"]].concat()).stdout, "count(*)\n4\n");
    }

    #[test]
    fn tables_over_all_ranks_are_missed_by_name_while_ranks_are_missing() {
        let place = place_with_set("4", &[]);
        let folder =
            std::fs::read_dir(place.path("runs")).unwrap().next().unwrap().unwrap().path().join("db");
        let folder = folder.to_str().unwrap();
        place.done(&["cluster", "import", folder, "-o", "half", "--shard", "1/2"]);
        let ask = |statement: &'static str| ["cluster", "sql", "half", statement];
        place.fails(1, &["table instances is made once all ranks"], &ask("SELECT * FROM instances"));
        let of_two = "SELECT count(*) FROM ranks r, instances i WHERE i.last_rank = r.rank";
        place.fails(1, &["table instances is made once all ranks"], &ask(of_two));
        // A name is no table.
        place.fails(2, &["instances"], &ask("SELECT instances FROM ranks"));
        place.done(&ask("SELECT * FROM ranks"));
        assert!(place.done(&["cluster", "sql", "half"]).stdout.contains("once all ranks are imported"));
    }

    #[test]
    fn missing_cut_and_damaged_files_are_told() {
        let place = place_with_set("4", &[]);
        let set = place.path("set");
        let whole = contents(&set);
        let is_asked = |path: &&std::path::PathBuf| {
            let path = path.to_str().unwrap();
            path.ends_with(".parquet") && (path.contains("/operators/") || path.contains("/instances/"))
        };
        let files: Vec<_> = whole.keys().filter(is_asked).collect();
        assert!(files.len() >= 2, "{files:?}");
        for path in files {
            let bytes = &whole[path];
            let table = path.strip_prefix(&set).unwrap().iter().next().unwrap().to_str().unwrap();
            let name = path.file_name().unwrap().to_str().unwrap();
            let statement = format!("SELECT * FROM {table}");
            std::fs::remove_file(path).unwrap();
            place.fails(1, &[name, "import its ranks again"], &asking(&statement, &[]));
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
            place.fails(1, &[name, "bytes, not"], &asking(&statement, &[]));
            // The first page's header, places within, and the footer.
            let begins = (1..12).map(|part| bytes.len() * part / 12);
            for begin in [4].into_iter().chain(begins).chain([bytes.len() - 40]) {
                let mut damaged = bytes.clone();
                let end = (begin + 40).min(bytes.len());
                damaged[begin..end].fill(0xA5);
                std::fs::write(path, &damaged).unwrap();
                let answer = place.run(&asking(&statement, &[]));
                // A changed value is a value like any other; whatever can't be is told.
                assert!(matches!(answer.status, Some(0 | 1)), "{}", answer.stderr);
                assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
                if answer.status == Some(1) {
                    assert!(answer.stderr.contains(table), "{}", answer.stderr);
                    assert!(answer.stdout.is_empty(), "{}", answer.stdout);
                }
                let is_of_layout = begin == 4 || begin == bytes.len() - 40;
                assert!(
                    !is_of_layout || answer.status == Some(1),
                    "damage of {table} at {begin} wasn't seen"
                );
            }
            std::fs::write(path, bytes).unwrap();
            place.done(&asking(&statement, &[]));
        }
    }

    /// Runs the program and tells the most memory of its own that it had, in MiB: its code, of which there is a lot
    /// where it isn't optimised, is the file's.
    fn peak_of(place: &Place, arguments: &[&str]) -> (Answer, u64) {
        let mut child =
            place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
            let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
            most = most.max(kib.unwrap_or(0_u64) / 1024);
            std::thread::sleep(Duration::from_millis(5));
        }
        (Answer::from(child.wait_with_output().unwrap()), most)
    }

    /// Three million groups, whose texts and counts take a third of a gigabyte.
    const GROUPS: &str = "SELECT count(*) AS groups, CAST(sum(n) AS BIGINT) AS rows FROM (SELECT count(*) AS n FROM \
                          generate_series(1, 6000000) AS t(v) GROUP BY concat('a group with a long name ', v % 3000000, '.', v % 2))";

    #[cfg(target_os = "linux")]
    #[test]
    fn rows_that_do_not_fit_into_memory_are_put_into_files_that_are_gone_afterwards() {
        let place = place_with_set("2", &[]);
        std::fs::create_dir(place.path("spill")).unwrap();
        let bounded = ["--memory", "64MiB", "--spill", "spill", "--json"];
        let (answer, peak) = peak_of(&place, &asking(GROUPS, &bounded));
        assert_eq!(answer.status, Some(0), "{}", answer.stderr);
        assert_eq!(
            answer.json()["rows"],
            json!([{"groups": 3_000_000, "rows": 6_000_000}]),
            "{}",
            answer.stdout
        );
        assert!((32..64 + 100).contains(&peak), "{peak} MiB");
        assert!(std::fs::read_dir(place.path("spill")).unwrap().next().is_none(), "files are left");
        place.fails(1, &["nowhere", "--spill"], &asking("SELECT 1", &["--spill", "nowhere"]));
        // The built side of a join can't be put into files, which says so.
        let join = "SELECT count(*) FROM generate_series(1, 3000000) AS a(x) JOIN generate_series(1, 3000000) AS b(y) ON x = y";
        place.fails(1, &["--memory"], &asking(join, &["--memory", "8MiB"]));
        let Some(disk) = SmallDisk::new(place.path("small"), 4) else { return };
        let full = disk.path().to_str().unwrap().to_owned();
        place.fails(1, &[&full, "--spill"], &asking(GROUPS, &["--memory", "32MiB", "--spill", &full]));
        assert!(
            std::fs::read_dir(&full).unwrap().all(|it| it.unwrap().file_name() == "lost+found"),
            "files are left"
        );
    }

    const ENDLESS: &str =
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT (x + 1) % 1000 FROM n) SELECT count(*) FROM n";

    #[test]
    fn a_statement_ends_when_its_time_is_over() {
        let place = place_with_set("2", &[]);
        for form in ["--csv", "--json", "--markdown"] {
            let begun = Instant::now();
            let answer =
                place.fails(1, &["0.5 s", "--timeout"], &asking(ENDLESS, &["--timeout", "0.5", form]));
            assert!(answer.stdout.is_empty(), "{}", answer.stdout);
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
        assert_eq!(rows(&place, "SELECT 1 AS one", &["--timeout", "0"]), [json!({"one": 1})]);
    }

    /// Ends a program by a signal, and waits for its end.
    fn end_by(child: &mut Child, signal: &str) -> Option<i32> {
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.expect("kill").success());
        child.wait().expect("its end").code()
    }

    #[cfg(unix)]
    #[test]
    fn a_statement_without_an_end_can_be_stopped_and_leaves_no_files() {
        let place = place_with_set("2", &[]);
        std::fs::create_dir(place.path("spill")).unwrap();
        for signal in ["-INT", "-TERM"] {
            let mut child = place.command(&asking(ENDLESS, &["--spill", "spill"])).spawn().unwrap();
            let begun = Instant::now();
            while std::fs::read_dir(place.path("spill")).unwrap().next().is_none() {
                assert!(begun.elapsed() < Duration::from_secs(60), "nothing begins");
                std::thread::sleep(Duration::from_millis(20));
            }
            std::thread::sleep(Duration::from_millis(300));
            assert_eq!(child.try_wait().unwrap(), None, "it ended by itself");
            assert_eq!(end_by(&mut child, signal), Some(130), "{signal}");
            assert!(
                std::fs::read_dir(place.path("spill")).unwrap().next().is_none(),
                "{signal}: files are left"
            );
        }
    }
}
