//! Modes that add to the files of the ranks: `p2p_pairing`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use opscope_testing::companions;
use rusqlite::Connection;

use crate::common::Place;
use crate::marker::{below, contents, copy, databases};
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
    for (mode, more) in [("p2p_pairing", "-o out"), ("p2p_pairing", "--into-input")] {
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
    for mode in ["p2p_pairing"] {
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
