//! Modes that add to the files of the ranks: `p2p_pairing`, `export_summary` and `pp_chart`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use opscope_testing::companions;
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::common::Place;
use crate::marker::{Marker, below, contents, copy, databases};
use crate::tables::{assert_same, assert_same_databases, read};
use crate::vendor;

const RANKS: &str = "cluster_8_ranks_seed_1/db";

fn sample(place: &Place) {
    place.done(&["sample", "cluster", "--ranks", "8", "--layers", "1"]);
}

/// Has our program add to copies, which must leave the ranks as they are, and gives the folder of the copies.
fn add(place: &Place, mode: &str, more: &[&str]) -> PathBuf {
    let before = contents(&place.path(RANKS));
    let words = ["msprof-analyze", "-m", mode, "-d", RANKS, "-o", "ours"];
    let answer = place.done(&[&words[..], more].concat());
    assert!(contents(&place.path(RANKS)) == before, "the ranks are as they were");
    let folder = place.path("ours/cluster_analysis_output").join(mode);
    assert!(answer.stdout.contains(&format!("ours/cluster_analysis_output/{mode}")), "{}", answer.stdout);
    folder
}

/// Has the vendor's program add to a copy of the ranks, and gives the folder of that; none without the program.
fn vendors(place: &Place, mode: &str, more: &[&str]) -> Option<PathBuf> {
    let program = companions::msprof_analyze()?;
    let theirs = place.path("theirs");
    let _ = std::fs::remove_dir_all(&theirs);
    copy(&place.path(RANKS), &theirs);
    vendor(&program, place, &[&["-m", mode, "-d", "theirs", "-o", "theirs-results"], more].concat());
    Some(theirs)
}

fn assert_same_ranks(ours: &Path, theirs: &Path, of: &str) {
    let (ours, theirs) = (databases(ours), databases(theirs));
    assert_eq!((ours.len(), theirs.len()), (8, 8), "{of}");
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours.file_name(), theirs.file_name());
        assert_same_databases(ours, theirs, of);
    }
}

/// The names of a rank's sends and receives, by the operators' names.
fn names(path: &Path) -> Vec<(String, Option<String>)> {
    let database = Connection::open(path).unwrap();
    let sql =
        "SELECT value, opConnectionId FROM COMMUNICATION_OP JOIN STRING_IDS ON id = opName ORDER BY startNs";
    let mut rows = database.prepare(sql).unwrap();
    rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn a_send_and_its_receive_get_one_name_and_others_none() {
    let place = Place::new();
    sample(&place);
    let copies = add(&place, "p2p_pairing", &[]);
    let (mut sends, mut receives) = (BTreeMap::new(), BTreeMap::new());
    for path in databases(&copies) {
        for (operator, name) in names(&path) {
            let between_two = operator.starts_with("hcom_send_") || operator.starts_with("hcom_receive_");
            assert_eq!(name.is_some(), between_two, "{operator}");
            let Some(name) = name else { continue };
            let of_kind = if operator.starts_with("hcom_send_") { &mut sends } else { &mut receives };
            *of_kind.entry(name).or_insert(0) += 1;
        }
    }
    assert!(sends.len() > 8 && sends == receives, "{sends:?} {receives:?}");
    let (name, _) = sends.first_key_value().unwrap();
    assert!(name.ends_with("_0_1_0") || name.ends_with("_1_0_0"), "{name}");
    let Some(theirs) = vendors(&place, "p2p_pairing", &[]) else { return };
    assert_same_ranks(&copies, &theirs, "p2p_pairing");
    let Some(theirs) = vendors(&place, "p2p_pairing", &["--step_id", "11"]) else { return };
    assert_same_ranks(&add(&place, "p2p_pairing", &["--step_id", "11"]), &theirs, "one step");
}

#[test]
fn sends_that_tell_no_place_or_several_and_those_that_no_call_launched_get_no_name() {
    let place = Place::new();
    sample(&place);
    let paths = databases(&place.path(RANKS));
    let mut spoiled = Vec::new();
    let spoils = [
        "UPDATE COMMUNICATION_TASK_INFO SET dstRank = rowid WHERE opId = ?1",
        "UPDATE COMMUNICATION_TASK_INFO SET groupName = -5 WHERE opId = ?1",
        "DELETE FROM COMMUNICATION_TASK_INFO WHERE opId = ?1",
        "DELETE FROM CANN_API WHERE connectionId = (SELECT connectionId FROM COMMUNICATION_OP WHERE opId = ?1)",
    ];
    let database = Connection::open(&paths[0]).unwrap();
    let sql = "SELECT opId, value FROM COMMUNICATION_OP JOIN STRING_IDS ON id = opName WHERE value LIKE 'hcom_send%' \
               ORDER BY startNs";
    let mut all_rows = database.prepare(sql).unwrap();
    let all: Vec<(i64, String)> = all_rows
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for ((id, operator), sql) in all.iter().zip(spoils) {
        // A second task of another place, so that there are several.
        let twice =
            "INSERT INTO COMMUNICATION_TASK_INFO SELECT * FROM COMMUNICATION_TASK_INFO WHERE opId = ?1";
        database.execute(twice, [id]).unwrap();
        assert!(database.execute(sql, [id]).unwrap() > 0, "{sql}");
        spoiled.push(operator.clone());
    }
    assert!(all.len() > spoiled.len());
    drop(all_rows);
    drop(database);
    let copies = add(&place, "p2p_pairing", &[]);
    let named = names(&databases(&copies)[0]);
    let nameless: Vec<&String> = named
        .iter()
        .filter(|(operator, name)| operator.starts_with("hcom_send") && name.is_none())
        .map(|(operator, _)| operator)
        .collect();
    assert_eq!(nameless, spoiled.iter().collect::<Vec<_>>());
    let Some(theirs) = vendors(&place, "p2p_pairing", &[]) else { return };
    assert_same_ranks(&copies, &theirs, "spoiled sends");
}

#[test]
fn ranks_are_changed_themselves_only_where_that_is_asked_for() {
    let place = Place::new();
    sample(&place);
    let copies = add(&place, "p2p_pairing", &[]);
    // The results lie beside the ranks, whose copies are no further ranks.
    let beside = place.done(&["msprof-analyze", "-m", "p2p_pairing", "-d", RANKS]);
    assert!(beside.stdout.contains("of 8 ranks"), "{}", beside.stdout);
    let again = place.done(&["msprof-analyze", "-m", "hccl_sum", "-d", RANKS, "-o", "sums"]);
    assert!(again.stdout.contains("of 8 ranks") && again.stderr.is_empty(), "{}", again.stderr);
    std::fs::remove_dir_all(place.path(RANKS).join("cluster_analysis_output")).unwrap();
    let files = below(&place.path(RANKS));
    for _ in 0..2 {
        let answer = place.done(&["msprof-analyze", "-m", "p2p_pairing", "-d", RANKS, "--into-input"]);
        assert!(answer.stdout.contains(RANKS), "{}", answer.stdout);
        assert_eq!(below(&place.path(RANKS)), files);
        assert_same_ranks(&place.path(RANKS), &copies, "into the ranks");
    }
    // Copies are ranks as any others, but not in their own place.
    let of_copies = ["-d", "ours/cluster_analysis_output/p2p_pairing"];
    place.done(&[&["msprof-analyze", "-m", "hccl_sum", "-o", "sums"], &of_copies[..]].concat());
    let says = ["its own copy", "--into-input"];
    place.fails(2, &says, &[&["msprof-analyze", "-m", "p2p_pairing", "-o", "ours"], &of_copies[..]].concat());
}

#[cfg(unix)]
#[test]
fn what_cannot_be_written_whole_is_not_written() {
    use std::os::unix::fs::PermissionsExt;

    let place = Place::new();
    sample(&place);
    let before = contents(&place.path(RANKS));
    let program = env!("CARGO_BIN_EXE_opscope");
    // The system ends a program that writes a file longer than it may.
    for (mode, more) in
        [("p2p_pairing", "-o out"), ("p2p_pairing", "--into-input"), ("export_summary", "-o out")]
    {
        let script = format!("ulimit -f 16; exec {program} msprof-analyze -m {mode} -d {RANKS} {more}");
        let mut command = std::process::Command::new("sh");
        let output = command.args(["-c", &script]).current_dir(place.path(".")).output().unwrap();
        assert!(!output.status.success(), "{mode} {more}");
        let whole: Vec<PathBuf> = below(&place.path("out"))
            .into_iter()
            .chain(below(&place.path(RANKS)))
            .filter(|path| path.extension().is_none_or(|it| it != "part"))
            // A short table may have been whole before.
            .filter(|path| path.file_name().is_none_or(|it| it != "api_statistic.csv"))
            .filter(|path| !before.iter().any(|(known, _)| known == path))
            .collect();
        assert_eq!(whole, Vec::<PathBuf>::new(), "{mode} {more}");
    }
    assert!(before.iter().all(|(path, bytes)| std::fs::read(path).unwrap() == *bytes));
    // Leftovers go with the next one.
    place.done(&["msprof-analyze", "-m", "p2p_pairing", "-d", RANKS, "-o", "out"]);
    place.done(&["msprof-analyze", "-m", "p2p_pairing", "-d", RANKS, "--into-input"]);
    let parts = |folder: &str| {
        let parts = below(&place.path(folder)).into_iter();
        parts.filter(|path| path.extension().is_some_and(|it| it == "part")).count()
    };
    assert_eq!((parts("out"), parts(RANKS)), (0, 0));
    // A folder in the place of a file, a file in that of a folder.
    let first = databases(&place.path(RANKS)).remove(0);
    let copy = place.path("blocked/cluster_analysis_output/p2p_pairing");
    let copy = copy.join(first.strip_prefix(place.path(RANKS)).unwrap());
    std::fs::create_dir_all(&copy).unwrap();
    let name = first.file_name().unwrap().to_str().unwrap();
    place.fails(1, &[name], &["msprof-analyze", "-m", "p2p_pairing", "-d", RANKS, "-o", "blocked"]);
    place.write("file", "");
    place.fails(1, &["file/"], &["msprof-analyze", "-m", "pp_chart", "-d", RANKS, "-o", "file"]);
    // The mode of a database outlasts its change.
    std::fs::set_permissions(&first, std::fs::Permissions::from_mode(0o604)).unwrap();
    place.done(&["msprof-analyze", "-m", "p2p_pairing", "-d", RANKS, "--into-input"]);
    assert_eq!(first.metadata().unwrap().permissions().mode() & 0o777, 0o604);
}

#[test]
fn ranks_that_are_damaged_or_lack_tables_are_left_as_they_are_and_others_are_not() {
    let place = Place::new();
    sample(&place);
    let paths = databases(&place.path(RANKS));
    let cut = std::fs::read(&paths[0]).unwrap();
    std::fs::write(&paths[0], &cut[..cut.len() * 2 / 3]).unwrap();
    std::fs::write(&paths[1], "").unwrap();
    std::fs::write(&paths[2], "no database").unwrap();
    let sql = |rank: usize, sql: &str| Connection::open(&paths[rank]).unwrap().execute_batch(sql).unwrap();
    sql(3, "DROP TABLE COMMUNICATION_TASK_INFO; DROP TABLE COMPUTE_TASK_INFO; DROP TABLE COMMUNICATION_OP");
    // Something of the same name that is no table, and a trigger that would have a say.
    sql(
        4,
        "ALTER TABLE COMMUNICATION_OP RENAME TO OTHER; CREATE VIEW COMMUNICATION_OP AS SELECT * FROM OTHER",
    );
    sql(
        5,
        "CREATE TRIGGER own AFTER UPDATE ON COMMUNICATION_OP BEGIN DELETE FROM STRING_IDS; END; \
         PRAGMA journal_mode = WAL",
    );
    let before = contents(&place.path(RANKS));
    for mode in ["p2p_pairing", "pp_chart", "export_summary"] {
        let answer = place.done(&["msprof-analyze", "-m", mode, "-d", RANKS, "-o", "out"]);
        assert!(answer.stderr.contains("ranks 0, 1, 2: cut or damaged"), "{mode}: {}", answer.stderr);
        let left = answer.stderr.contains("rank 1: nothing was added to its damaged database");
        assert_eq!(left, mode != "export_summary", "{mode}: {}", answer.stderr);
        assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
    }
    let copies = databases(&place.path("out/cluster_analysis_output/p2p_pairing"));
    let ranks: BTreeSet<String> = copies
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy().replace("ascend_pytorch_profiler_", ""))
        .collect();
    assert_eq!(ranks, BTreeSet::from(["5", "6", "7"].map(str::to_owned)));
    let texts = Connection::open(&copies[0]).unwrap();
    let count: i64 = texts.query_row("SELECT count(*) FROM STRING_IDS", [], |row| row.get(0)).unwrap();
    assert!(count > 20, "{count}");
    assert!(contents(&place.path(RANKS)) == before);
    // Another program's changes wait beside a database.
    let mut waiting = paths[6].clone().into_os_string();
    waiting.push("-wal");
    std::fs::write(&waiting, "changes").unwrap();
    let before = contents(&place.path(RANKS));
    let words = ["msprof-analyze", "-m", "p2p_pairing", "-d", RANKS, "--into-input"];
    place.fails(1, &["-wal", "another program"], &words);
    assert!(contents(&place.path(RANKS)) == before);
}

/// The rows of a table as text, by its headings.
fn csv_rows(path: &Path) -> (Vec<String>, Vec<Vec<String>>) {
    let mut reader = csv::Reader::from_path(path).unwrap();
    let headings = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let row = |row: csv::Result<csv::StringRecord>| row.unwrap().iter().map(str::to_owned).collect();
    (headings, reader.records().map(row).collect())
}

fn are_same(ours: &str, theirs: &str) -> bool {
    match (ours.parse::<f64>(), theirs.parse::<f64>()) {
        (Ok(ours), Ok(theirs)) => (ours - theirs).abs() <= 1e-9 * ours.abs().max(theirs.abs()),
        _ => ours == theirs,
    }
}

/// Asserts that tables of calls are the same.
fn assert_same_calls(ours: &Path, theirs: &Path) {
    let ((headings, ours), (their_headings, theirs)) = (csv_rows(ours), csv_rows(theirs));
    assert_eq!((headings, ours.len()), (their_headings, theirs.len()));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert!(ours.iter().zip(theirs).all(|(a, b)| are_same(a, b)), "{ours:?}\n{theirs:?}");
    }
}

/// Asserts that tables of operators are the same, but for the time since the operator before where that isn't clear:
/// several begin together, or the vendor's program has the 0 of its first one there.
fn assert_same_kernels(ours: &Path, theirs: &Path) {
    let ((headings, mut ours), (their_headings, mut theirs)) = (csv_rows(ours), csv_rows(theirs));
    assert_eq!(headings, their_headings);
    assert_eq!(ours.len(), theirs.len());
    let place = |name: &str| headings.iter().position(|heading| heading == name).unwrap();
    let (start, wait) = (place("task_start_time"), place("task_wait_time"));
    // Both are the number closest to the exact time.
    let key = |row: &Vec<String>| {
        let bits = |column: usize| row[column].parse::<f64>().unwrap().to_bits();
        (bits(start), row[0].clone(), bits(place("task_duration")))
    };
    ours.sort_by_cached_key(key);
    theirs.sort_by_cached_key(key);
    let begins = |row: &Vec<String>| row[start].parse::<f64>().unwrap();
    let mut waits = 0;
    for at in 0..ours.len() {
        for column in (0..headings.len()).filter(|column| *column != wait) {
            assert!(are_same(&ours[at][column], &theirs[at][column]), "{:?}\n{:?}", ours[at], theirs[at]);
        }
        let is_close = |other: usize| (begins(&ours[at]) - begins(&ours[other])).abs() < 2.0;
        let is_clear = at > 1 && at + 1 < ours.len() && ![at - 2, at - 1, at + 1].into_iter().any(is_close);
        if is_clear && !["", "0.0"].contains(&&*theirs[at][wait]) {
            // The vendor's are rounded to what a floating-point number of nanoseconds since 1970 can be.
            let [ours, theirs] = [&ours, &theirs].map(|rows| rows[at][wait].parse::<f64>().unwrap());
            assert!((ours - theirs).abs() < 0.257, "{ours} {theirs}");
            waits += 1;
        }
    }
    assert!(waits > 10, "{waits}");
}

/// Adds what a rank that was collected with more details has: counters, parts of communication, states of operators.
fn add_details(path: &Path) {
    let marker = Marker::open(path);
    let names = ["aic_total_time", "aiv_vec_ratio", "mac_exe_time"].map(|name| marker.text(name));
    let (kind, part) = (marker.text("AI_CPU"), marker.text("hcom_part"));
    let dynamic = marker.text("dynamic");
    let mut sql =
        "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC); ".to_owned();
    for (place, name) in names.iter().enumerate() {
        sql.push_str(&format!(
            "INSERT INTO TASK_PMU_INFO SELECT globalTaskId, {name}, globalTaskId * 1.5 + {place} \
             FROM COMPUTE_TASK_INFO WHERE globalTaskId % 3 != {place}; "
        ));
    }
    sql.push_str(&format!(
        "ALTER TABLE COMPUTE_TASK_INFO ADD COLUMN opState INTEGER; UPDATE COMPUTE_TASK_INFO SET opState = {dynamic}; \
         CREATE TABLE COMMUNICATION_SCHEDULE_TASK_INFO (name INTEGER, globalTaskId INTEGER, taskType INTEGER, \
         opType INTEGER); INSERT INTO COMMUNICATION_SCHEDULE_TASK_INFO SELECT {part}, globalTaskId, {kind}, {part} \
         FROM TASK WHERE globalTaskId NOT IN (SELECT globalTaskId FROM COMPUTE_TASK_INFO) LIMIT 5;"
    ));
    marker.database.execute_batch(&sql).unwrap();
    marker.done();
}

#[test]
fn calls_and_operators_of_ranks_are_written_as_tables_with_the_vendors_figures() {
    let place = Place::new();
    sample(&place);
    let paths = databases(&place.path(RANKS));
    add_details(&paths[3]);
    let names = ["api_statistic.csv", "kernel_details.csv"];
    let copies = add(&place, "export_summary", &[]);
    assert_eq!(below(&copies).len(), 16);
    let at = |path: &Path, folder: &Path, name: &str| {
        folder.join(path.strip_prefix(place.path(RANKS)).unwrap()).with_file_name(name)
    };
    let (headings, rows) = csv_rows(&at(&paths[3], &copies, names[1]));
    assert_eq!(headings[..5], ["op_name", "block_dim", "mix_block_dim", "op_type", "task_type"]);
    assert_eq!(headings[11..13], ["op_state", "task_start_time"]);
    assert_eq!(headings[19..], ["aicore_time", "aiv_vec_ratio", "mac_exe_time", "task_wait_time"]);
    let of_kind = |kind: &str| rows.iter().filter(|row| row[4] == kind).count();
    assert!(of_kind("COMMUNICATION") > 10 && of_kind("AI_CPU") >= 5 && of_kind("AI_CORE") > 10);
    assert!(rows.is_sorted_by_key(|row| row[12].parse::<f64>().unwrap()));
    let (headings, calls) = csv_rows(&at(&paths[3], &copies, names[0]));
    assert_eq!(headings[..3], ["API Name", "Total Time(ns)", "Count"]);
    assert!(
        calls.iter().any(|row| row[0] == "launch")
            && calls.is_sorted_by_key(|row| -row[1].parse::<i64>().unwrap())
    );

    // A table that a rank has itself stays; one that it lacks is added.
    std::fs::write(paths[0].with_file_name(names[0]), "its own").unwrap();
    place.done(&["msprof-analyze", "-m", "export_summary", "-d", RANKS, "--into-input"]);
    assert_eq!(std::fs::read(paths[0].with_file_name(names[0])).unwrap(), b"its own");
    let written = |path: &PathBuf| std::fs::read(path.with_file_name(names[1])).unwrap();
    assert!(paths.iter().all(|path| written(path) == std::fs::read(at(path, &copies, names[1])).unwrap()));

    for path in &paths {
        names.iter().for_each(|name| std::fs::remove_file(path.with_file_name(name)).unwrap());
    }
    let Some(theirs) = vendors(&place, "export_summary", &["--rank_list", "3,4"]) else { return };
    for path in &paths[3..5] {
        assert_same_calls(&at(path, &copies, names[0]), &at(path, &theirs, names[0]));
        assert_same_kernels(&at(path, &copies, names[1]), &at(path, &theirs, names[1]));
    }
}

#[test]
fn calls_and_operators_of_real_ranks_are_the_vendors() {
    let Some(data) = companions::shared("data/ascend-pytorch") else { return };
    let Some(program) = companions::msprof_analyze() else { return };
    let place = Place::new();
    for level in ["db_level0_rank0", "db_level1_rank0", "db_level2_rank0"] {
        let rank = "node_1_20250101000000000_ascend_pt";
        for folder in [format!("{level}/{rank}"), format!("{level}-theirs/{rank}")] {
            copy(&data.join(level), &place.path(&folder));
        }
        let (input, theirs) = (format!("{level}/"), format!("{level}-theirs"));
        place.done(&["msprof-analyze", "-m", "export_summary", "-d", &input, "-o", "ours"]);
        vendor(&program, &place, &["-m", "export_summary", "-d", &theirs, "-o", "results"]);
        let of = |folder: PathBuf, name: &str| folder.join(rank).join("ASCEND_PROFILER_OUTPUT").join(name);
        let ours = place.path("ours/cluster_analysis_output/export_summary");
        let both = |name: &str| (of(ours.clone(), name), of(place.path(&theirs), name));
        let (our_calls, their_calls) = both("api_statistic.csv");
        assert_same_calls(&our_calls, &their_calls);
        let (our_kernels, their_kernels) = both("kernel_details.csv");
        assert_same_kernels(&our_kernels, &their_kernels);
    }
}

/// Marks passes of both steps of a rank, so many in each, as the vendor's guide to `pp_chart` has programs do.
fn mark_passes(path: &Path, counts: [i64; 2]) -> Vec<(i64, i64)> {
    let mut marker = Marker::open(path);
    let mut spans = Vec::new();
    for (number, count) in [10, 11].into_iter().zip(counts) {
        let (start, end) = marker.step(number);
        let length = (end - start) / (count + 2);
        for pass in 0..count {
            let text = match pass % 4 {
                0 => "{'name': 'forward_step'}",
                1 => "{'name': 'Backward_step_with_model_graph', 'current_microbatch': 3}",
                2 => "{'name': 'WeightGradStore.pop'}",
                _ => "{'name': 'forward_backward_overlaping'}",
            };
            let begin = start + pass * length;
            let span = (begin + length / 2, begin + length * 4 / 3);
            marker.range(text, (begin, begin + 10), &[span], 5);
            spans.push(span);
        }
        // It is none of the passes of a schedule, because another one isn't over.
        marker.range("forward within", (start + 20, start + 30), &[(start + length, start + length + 9)], 5);
        marker.range("something else", (start + 20, start + 30), &[(start, start + 9)], 5);
        marker.loose_range("forward without a task", (start, end));
    }
    marker.done();
    spans
}

/// The passes of a rank: name, begin, end, number of the colour.
fn passes(path: &Path) -> Vec<(String, i64, i64, i64)> {
    let database = Connection::open(path).unwrap();
    let mut rows = database.prepare("SELECT name, startNs, endNs, type FROM StepTaskInfo").unwrap();
    let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn passes_of_a_pipeline_are_added_with_the_names_of_sends_and_receives() {
    let place = Place::new();
    sample(&place);
    let paths = databases(&place.path(RANKS));
    let spans: Vec<Vec<(i64, i64)>> = paths.iter().map(|path| mark_passes(path, [6, 4])).collect();
    let copies = add(&place, "pp_chart", &[]);
    let found = databases(&copies);
    let of_first = passes(&found[0]);
    assert_eq!(of_first.len(), 12, "{of_first:?}");
    assert!(of_first.is_sorted_by_key(|pass| pass.1));
    let named = |at: usize| of_first.iter().find(|pass| (pass.1, pass.2) == spans[0][at]).unwrap();
    assert_eq!(
        [0, 1, 2, 3].map(|at| (&*named(at).0, named(at).3)),
        [("FP", 0), ("BP", 1), ("BP", 1), ("FP", 0)]
    );
    assert!(found.iter().all(|path| names(path).iter().any(|(_, name)| name.is_some())));
    if let Some(theirs) = vendors(&place, "pp_chart", &[]) {
        assert_same_ranks(&copies, &theirs, "pp_chart");
    }
    // A step that was asked for is all that is drawn.
    let one = databases(&add(&place, "pp_chart", &["--step_id", "11"]));
    assert_eq!(passes(&one[0]).len(), 5);
}

#[test]
fn passes_of_dual_pipe_v_are_named_by_its_schedule_where_they_are_as_many() {
    let place = Place::new();
    sample(&place);
    let paths = databases(&place.path(RANKS));
    for (rank, path) in paths.iter().enumerate() {
        // Two stages of four ranks and four microbatches: the first stage has the losses too.
        let count = if rank < 4 { 18 } else { 13 };
        mark_passes(path, if rank == 1 { [count, count - 1] } else { [count; 2] });
        let database = Connection::open(path).unwrap();
        let sql =
            r#"INSERT INTO META_DATA VALUES ('pp_info', '{"pp_type": "DualPipeV", "microbatch_num": 4}')"#;
        database.execute_batch(sql).unwrap();
    }
    let copies = add(&place, "pp_chart", &[]);
    let found = databases(&copies);
    let names = |rank: usize| passes(&found[rank]).iter().map(|pass| pass.0.clone()).collect::<Vec<_>>();
    let first = "0 1 2 4 logits 4b 4w 5 logits 3F+5B 6F+0B logits 6B 7F+1B logits 7B 2B 3B";
    let last = "0 4 1 5 2F 4B 6F+0B 3F+5B 7F+1B 6B 2B 7B 3B";
    assert_eq!(names(0).join(" "), [first, first].join(" "));
    assert_eq!(names(7).join(" "), [last, last].join(" "));
    let kinds: Vec<i64> = passes(&found[7]).iter().take(13).map(|pass| pass.3).collect();
    assert_eq!(kinds, [1, 1, 1, 1, 3, 3, 3, 3, 3, 5, 5, 6, 6]);
    assert_eq!(names(1)[..18], names(0)[..18]);
    assert!(passes(&found[1])[18..].iter().all(|pass| pass.0.is_empty() && pass.3 == 0));
    let answer = place.done(&["msprof-analyze", "-m", "pp_chart", "-d", RANKS, "-o", "ours"]);
    let says = "rank 1: the schedule has 18 passes, but step 11 has 17; they get no names";
    assert!(answer.stderr.contains(says), "{}", answer.stderr);
    let Some(theirs) = vendors(&place, "pp_chart", &[]) else { return };
    assert_same_ranks(&copies, &theirs, "DualPipeV");
}

/// The collectives of a rank with their texts.
fn collectives(path: &Path) -> Vec<Vec<Value>> {
    let database = Connection::open(path).unwrap();
    let sql = "SELECT name.value, kind.value, grp.value, startNs, endNs, connectionId, dataType, count, relay, retry, \
               algType FROM COMMUNICATION_OP JOIN STRING_IDS name ON name.id = opName JOIN STRING_IDS kind ON \
               kind.id = opType JOIN STRING_IDS grp ON grp.id = groupName ORDER BY startNs, name.value";
    let mut rows = database.prepare(sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| (0..11).map(|column| row.get(column)).collect();
    rows.query_map([], row).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn collectives_of_ranks_that_were_collected_without_them_are_those_that_are_marked() {
    let place = Place::new();
    sample(&place);
    for path in databases(&place.path(RANKS)) {
        mark_passes(&path, [4, 4]);
        let mut marker = Marker::open(&path);
        let gone = "DROP TABLE COMMUNICATION_OP; DROP TABLE COMMUNICATION_TASK_INFO";
        marker.database.execute_batch(gone).unwrap();
        let (start, _) = marker.step(10);
        for (number, kind, group) in [
            (0, "HcclSend", "first"),
            (1, "HcclSend", "second"),
            (2, "HcclAllReduce", "first"),
            (3, "HcclSend", "first"),
        ] {
            let (at, stream) = (start + number * 1_000, 1_000 + number);
            let data_type = if number == 1 { "fp32" } else { "bfp16" };
            let text = format!(
                r#"{{\"opName\":\"{kind}\",\"groupName\":\"{group}\",\"dataType\":\"{data_type}\",\"count\":{number},\"streamId\":\"{stream}\"}}"#
            );
            let text = if number == 2 { text.replace('\\', "") } else { text };
            marker.range(&text, (at, at + 20), &[(at + 100, at + 700)], stream);
        }
        marker.done();
    }
    let copies = add(&place, "pp_chart", &[]);
    let found = databases(&copies);
    let ours = collectives(&found[2]);
    let names: Vec<&Value> = ours.iter().map(|row| &row[0]).collect();
    // The numbers of groups end with these digits.
    let digits = |group: &str| {
        let hash =
            |factor: u64| group.bytes().fold(0, |hash, byte| (hash * factor + u64::from(byte)) & 0xFFFF_FFFF);
        format!("{:03}", (hash(29) << 32 | hash(131)) % 1_000)
    };
    let (first, second) = (digits("first"), digits("second"));
    let expected = [
        format!("HcclSend__{first}_0_1"),
        format!("HcclSend__{second}_0_1"),
        format!("HcclAllReduce__{first}_0_1"),
        format!("HcclSend__{first}_1_1"),
    ];
    assert_eq!(names, expected.map(Value::Text).iter().collect::<Vec<_>>());
    assert_eq!((&ours[1][6], &ours[1][7]), (&Value::Integer(4), &Value::Integer(1)));
    let Some(theirs) = vendors(&place, "pp_chart", &[]) else { return };
    for (ours, theirs) in found.iter().zip(databases(&theirs)) {
        assert_eq!(collectives(ours), collectives(&theirs));
        let of = |path: &Path| read(path).remove("COMMUNICATION_OP").unwrap().columns;
        assert_eq!(of(ours), of(&theirs));
        let [ours, theirs] = [read(ours), read(&theirs)];
        assert_same("StepTaskInfo", &ours["StepTaskInfo"], &theirs["StepTaskInfo"], "marked collectives");
    }
}
