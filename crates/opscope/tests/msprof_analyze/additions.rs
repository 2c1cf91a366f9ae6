//! Modes that add to the files of the ranks: `p2p_pairing` and `export_summary`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use opscope_testing::companions;
use rusqlite::Connection;

use crate::common::Place;
use crate::marker::{Marker, below, contents, copy, databases};
use crate::tables::assert_same_databases;
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
    place.fails(1, &["file/"], &["msprof-analyze", "-m", "p2p_pairing", "-d", RANKS, "-o", "file"]);
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
    for mode in ["p2p_pairing", "export_summary"] {
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
        let ((_, our_calls), (headings, their_calls)) =
            (csv_rows(&at(path, &copies, names[0])), csv_rows(&at(path, &theirs, names[0])));
        assert!(our_calls.len() == their_calls.len() && headings.len() == 6);
        for (ours, theirs) in our_calls.iter().zip(&their_calls) {
            assert!(ours.iter().zip(theirs).all(|(a, b)| are_same(a, b)), "{ours:?}\n{theirs:?}");
        }
        assert_same_kernels(&at(path, &copies, names[1]), &at(path, &theirs, names[1]));
    }
}
