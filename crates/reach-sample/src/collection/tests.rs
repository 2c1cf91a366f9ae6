//! Collections as other programs find them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope_testing::companions;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use super::{Collection, write};
use crate::layout::Layout;
use crate::options::{Damage, Options};

/// A quick one of 8 ranks, in both forms.
fn options() -> Options {
    let layout = Layout::of(8).unwrap();
    Options { layers: 1, microbatches: 1, steps: 1, texts: true, ..Options::new(layout) }
}

fn written(options: &Options) -> (TempDir, Collection) {
    let folder = tempfile::tempdir().unwrap();
    let collection = write(folder.path(), options, &|_| {}).unwrap();
    (folder, collection)
}

/// The folders of a rank in one form, of the first day first.
fn folders(collection: &Collection, form: &str, rank: usize) -> Vec<PathBuf> {
    let entries = fs::read_dir(collection.path.join(form)).unwrap().map(|entry| entry.unwrap().path());
    let is_its = |path: &PathBuf| path.to_string_lossy().contains(&format!("_{}_", 10_000 + rank));
    let mut folders: Vec<PathBuf> = entries.filter(is_its).collect();
    folders.sort();
    folders
}

/// A result of a rank.
fn result(collection: &Collection, form: &str, rank: usize, name: &str) -> PathBuf {
    folders(collection, form, rank)[0].join("ASCEND_PROFILER_OUTPUT").join(name)
}

fn number(database: &Path, sql: &str) -> i64 {
    let database = Connection::open(database).unwrap();
    database.query_row(sql, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// All files with their content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(files(&entry));
        } else {
            found.insert(entry.clone(), fs::read(&entry).unwrap());
        }
    }
    found
}

#[test]
fn eight_ranks_have_the_rows_that_another_program_gives_them() {
    let (_folder, collection) = written(&Options::new(Layout::of(8).unwrap()));
    let rows = collection.rows;
    let found = [rows.tasks, rows.communication_tasks, rows.operators, rows.collectives];
    assert_eq!(found, [10_752, 4_512, 6_224, 2_256]);
    let truth = json(&collection.path.join("truth.json"));
    assert_eq!(truth["rows"]["tasks"], 10_752);
    assert_eq!(truth["faults"]["slow_link"], serde_json::json!([0, 2]));
    assert_eq!(truth["costs"]["faults"].as_object().unwrap().len(), 5);
    for (table, expected) in [
        ("TASK", rows.tasks),
        ("COMMUNICATION_TASK_INFO", rows.communication_tasks),
        ("COMPUTE_TASK_INFO", rows.operators),
        ("COMMUNICATION_OP", rows.collectives),
    ] {
        let of_rank = |rank| {
            let database = result(&collection, "db", rank, &format!("ascend_pytorch_profiler_{rank}.db"));
            number(&database, &format!("SELECT count(*) FROM {table}"))
        };
        assert_eq!((0..8).map(of_rank).sum::<i64>() as u64, expected, "{table}");
    }
}

#[test]
fn databases_are_whole_and_their_rows_refer_to_one_another() {
    let (_folder, collection) = written(&options());
    for rank in 0..8 {
        let database = result(&collection, "db", rank, &format!("ascend_pytorch_profiler_{rank}.db"));
        for path in [&database, &result(&collection, "db", rank, "analysis.db")] {
            let connection = Connection::open(path).unwrap();
            let check: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
            assert_eq!(check, "ok", "{}", path.display());
        }
        let of_another_kind = "SELECT count(*) FROM COMPUTE_TASK_INFO c LEFT JOIN TASK t USING (globalTaskId) \
                               LEFT JOIN STRING_IDS s ON s.id = t.taskType \
                               WHERE s.value IS NULL OR s.value NOT LIKE 'KERNEL_%'";
        assert_eq!(number(&database, of_another_kind), 0);
        let without_operator = "SELECT count(*) FROM COMMUNICATION_TASK_INFO i LEFT JOIN COMMUNICATION_OP o \
                                USING (opId) LEFT JOIN TASK t ON t.globalTaskId = i.globalTaskId \
                                WHERE t.startNs IS NULL OR o.opName != i.name OR t.startNs < o.startNs \
                                OR t.endNs > o.endNs";
        assert_eq!(number(&database, without_operator), 0);
        let without_launch = "SELECT count(*) FROM TASK t LEFT JOIN CANN_API a USING (connectionId) \
                              WHERE a.endNs IS NULL OR a.startNs >= t.startNs";
        assert_eq!(number(&database, without_launch), 0);
    }
}

#[test]
fn both_forms_hold_the_same() {
    let (_folder, collection) = written(&options());
    for rank in 0..8 {
        let database = result(&collection, "db", rank, &format!("ascend_pytorch_profiler_{rank}.db"));
        let analysis = result(&collection, "db", rank, "analysis.db");
        let mut kernels =
            csv::Reader::from_path(result(&collection, "text", rank, "kernel_details.csv")).unwrap();
        let durations: f64 = kernels.records().map(|row| row.unwrap()[9].parse::<f64>().unwrap()).sum();
        let expected = number(
            &database,
            "SELECT sum(endNs - startNs) FROM COMPUTE_TASK_INFO JOIN TASK USING (globalTaskId)",
        );
        assert_eq!((durations * 1e3).round() as i64, expected);

        let communication = json(&result(&collection, "text", rank, "communication.json"));
        let kinds = communication["step10"].as_object().unwrap();
        let operators: usize = kinds.values().map(|kind| kind.as_object().unwrap().len()).sum();
        assert_eq!(operators as i64, number(&analysis, "SELECT count(*) FROM CommAnalyzerTime"));
        let matrix = json(&result(&collection, "text", rank, "communication_matrix.json"));
        let kinds = matrix["step10"].as_object().unwrap().values();
        let of_kind = |kind: &Value| -> usize {
            kind.as_object().unwrap().values().map(|links| links.as_object().unwrap().len()).sum()
        };
        let cells: usize = kinds.map(of_kind).sum();
        assert_eq!(cells as i64, number(&analysis, "SELECT count(*) FROM CommAnalyzerMatrix"));

        let timeline = json(&result(&collection, "text", rank, "trace_view.json"));
        let slices = timeline.as_array().unwrap().iter().filter(|event| event["ph"] == "X");
        let tasks = number(&database, "SELECT count(*) FROM TASK");
        let collectives = number(&database, "SELECT count(*) FROM COMMUNICATION_OP");
        let calls =
            number(&database, "SELECT (SELECT count(*) FROM PYTORCH_API) + (SELECT count(*) FROM CANN_API)");
        let steps = number(&database, "SELECT count(*) FROM STEP_TIME");
        assert_eq!(slices.count() as i64, tasks + collectives + calls + steps);
    }
}

#[test]
fn the_same_options_give_the_same_bytes_and_another_seed_others() {
    let contents = |seed: u64| {
        let (_folder, collection) = written(&Options { seed, ..options() });
        let all = files(&collection.path).into_iter();
        all.map(|(path, bytes)| (path.strip_prefix(&collection.path).unwrap().to_owned(), bytes)).collect()
    };
    let first: BTreeMap<PathBuf, Vec<u8>> = contents(1);
    assert_eq!(first, contents(1));
    let other = contents(2);
    assert!(first.keys().eq(other.keys()) && first.values().zip(other.values()).any(|(a, b)| a != b));
}

#[test]
fn damages_are_of_the_ranks_that_were_named_and_no_others() {
    let damages = vec![
        (Damage::Missing, 0),
        (Damage::Cut, 1),
        (Damage::Twice, 2),
        (Damage::Empty, 3),
        (Damage::Level0, 4),
        (Damage::Shifted, 5),
    ];
    let (_folder, whole) = written(&options());
    let (_folder, damaged) = written(&Options { damages, ..options() });
    let size = |collection: &Collection, rank: usize, name: &str| {
        fs::metadata(result(collection, "text", rank, name)).unwrap().len()
    };
    for form in ["db", "text"] {
        assert_eq!([0, 2, 6].map(|rank| folders(&damaged, form, rank).len()), [0, 2, 1], "{form}");
    }
    for name in ["communication.json", "kernel_details.csv"] {
        assert_eq!(size(&damaged, 1, name), size(&whole, 1, name) * 2 / 3);
        assert_eq!(size(&damaged, 3, name), 0);
        assert_eq!(size(&damaged, 6, name), size(&whole, 6, name));
    }
    assert!(!result(&damaged, "text", 4, "communication.json").exists());
    let analysis = result(&damaged, "db", 4, "analysis.db");
    assert_eq!(number(&analysis, "SELECT count(*) FROM CommAnalyzerTime"), 0);
    assert!(number(&analysis, "SELECT count(*) FROM StepTraceTime") > 0);
    let least = |collection: &Collection, rank: usize| {
        let sql = "SELECT min(CAST(substr(hccl_op_name, instr(hccl_op_name, '__') + 6) AS INTEGER)) \
                   FROM CommAnalyzerTime WHERE hccl_op_name LIKE 'hcom_reduceScatter_%'";
        number(&result(collection, "db", rank, "analysis.db"), sql)
    };
    assert_eq!([least(&whole, 5), least(&damaged, 5), least(&damaged, 6)], [0, 1, 0]);
    assert_eq!(
        json(&damaged.path.join("truth.json"))["damage"],
        "missing=0,cut=1,twice=2,empty=3,level0=4,shifted=5"
    );
}

#[test]
fn a_collection_that_is_there_is_not_touched() {
    let (folder, collection) = written(&options());
    let before = files(&collection.path);
    let problem = write(folder.path(), &options(), &|_| {}).unwrap_err().to_string();
    assert!(problem.contains("cluster_8_ranks_seed_1") && problem.contains("there already"), "{problem}");
    assert_eq!(files(&collection.path), before);
}

#[test]
fn nothing_stays_of_a_collection_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    assert!(write(&folder.path().join("file"), &options(), &|_| {}).is_err());
    let impossible = Options { damages: vec![(Damage::Cut, 8)], ..options() };
    let problem = write(folder.path(), &impossible, &|_| {}).unwrap_err().to_string();
    assert!(problem.contains("cut=8") && problem.contains("no rank 8"), "{problem}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn progress_ends_with_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let (most, calls) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let progress = |written| {
        most.fetch_max(written, Ordering::Relaxed);
        calls.fetch_add(1, Ordering::Relaxed);
    };
    write(folder.path(), &options(), &progress).unwrap();
    assert_eq!((most.into_inner(), calls.into_inner()), (8, 8));
}

#[test]
fn the_vendors_analysis_reads_both_forms() {
    let Some(program) = companions::msprof_analyze() else { return };
    let (folder, collection) = written(&options());
    let analyse = |form: &str, mode: &str| {
        let output = folder.path().join(format!("{form}-{mode}"));
        let mut command = Command::new(&program);
        command.args(["cluster", "-m", mode, "-d"]).arg(collection.path.join(form)).arg("-o").arg(&output);
        let answer = command.output().expect("the program that OPSCOPE_MSPROF_ANALYZE names");
        let said =
            [answer.stdout, answer.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
        assert!(answer.status.success() && !said.contains("Traceback"), "{form} {mode}: {said}");
        output.join("cluster_analysis_output")
    };
    let output = analyse("db", "all").join("cluster_analysis.db");
    let analyses = |rank| result(&collection, "db", rank, "analysis.db");
    let operators: i64 =
        (0..8).map(|rank| number(&analyses(rank), "SELECT count(*) FROM CommAnalyzerTime")).sum();
    assert!(number(&output, "SELECT count(*) FROM ClusterCommunicationTime") >= operators);
    // A row for each rank, and one for each stage.
    assert_eq!(number(&output, "SELECT count(*) FROM ClusterStepTraceTime WHERE type = 'rank'"), 8);
    let output = analyse("text", "all");
    assert!(
        json(&output.join("cluster_communication.json")).as_object().is_some_and(|steps| !steps.is_empty())
    );
    let steps = fs::read_to_string(output.join("cluster_step_trace_time.csv")).unwrap();
    assert!(steps.lines().filter(|line| line.contains("rank")).count() >= 8, "{steps}");
}
