//! Exports that are stopped, or for which there is no room: nothing half written stays behind, and
//! what is there is whole.

#![cfg(unix)]

mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Answer, Place};

/// Writes a sample directory of a run and gives its path.
fn sample(place: &Place, tasks: &str) -> String {
    let answer = place.done(&["sample", "prof", "-o", "runs", "--tasks", tasks, "--quiet"]);
    answer.stdout.trim().to_owned()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all
}

fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Files under a temporary name, and locks.
fn leftovers(folder: &Path) -> Vec<PathBuf> {
    let is_left = |name: &str| name.starts_with(".opscope") || name.ends_with(".part");
    files(folder).into_iter().filter(|path| is_left(&name(path))).collect()
}

/// Checks that each result in a folder is complete; returns how many there are.
fn whole_results(folder: &Path) -> usize {
    let mut count = 0;
    for path in files(folder) {
        let text = || std::fs::read_to_string(&path).expect("text");
        let (name, shown) = (name(&path), path.display());
        if name.ends_with(".csv") {
            let text = text();
            let mut reader = csv::ReaderBuilder::new().flexible(false).from_reader(text.as_bytes());
            assert!(reader.records().all(|row| row.is_ok()) && text.ends_with('\n'), "{shown}");
        } else if name.ends_with(".json") {
            serde_json::from_str::<serde_json::Value>(&text())
                .unwrap_or_else(|error| panic!("{shown}: {error}"));
        } else if name.ends_with(".db") {
            let database = rusqlite::Connection::open(&path).expect("a database");
            let check = "PRAGMA quick_check";
            let answer: String = database.query_row(check, [], |row| row.get(0)).expect("an answer");
            assert_eq!(answer, "ok", "{shown}");
        } else {
            continue;
        }
        count += 1;
    }
    count
}

/// Sends a signal to a process of this test's own.
fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

#[test]
fn a_stopped_export_leaves_no_temporary_file_no_half_of_a_result_and_no_lock() {
    let place = Place::new();
    let prof = place.path(&sample(&place, "30000"));
    let mut stopped = 0;
    // The file that is begun when the signal comes; each export gets a bit further than the one before.
    for (round, signal) in ["INT", "TERM", "HUP", "INT", "TERM", "TERM"].into_iter().enumerate() {
        let output = place.path(&format!("out{round}"));
        let (prof, folder) = (prof.to_str().expect("a path"), output.to_str().expect("a path"));
        let mut command = place.command(&["export", "all", prof, "-o", folder, "--slice-mb", "1"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let begin = Instant::now();
        let begun = |path: &PathBuf| name(path).ends_with(".part");
        let mut seen = 0;
        while begin.elapsed() < Duration::from_secs(60) && child.try_wait().expect("a status").is_none() {
            seen += usize::from(files(&output).iter().any(begun));
            if seen > round * 3 {
                break;
            }
        }
        send(&child, signal);
        let answer = Answer::from(child.wait_with_output().expect("an end"));
        assert_eq!(leftovers(&output), Vec::<PathBuf>::new(), "{signal}: {}", answer.stderr);
        assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
        whole_results(&output);
        match answer.status {
            Some(130) => stopped += 1,
            status => assert_eq!(status, Some(0), "{}", answer.stderr),
        }
    }
    assert!(stopped > 0, "no export was stopped before its end");
    // It is as if nothing had happened.
    place.done(&["export", "all", prof.to_str().expect("a path"), "-o", "out0"]);
    assert!(whole_results(&place.path("out0")) > 8);
    assert_eq!(leftovers(&place.path("out0")), Vec::<PathBuf>::new());
}

#[test]
fn a_file_that_may_not_become_so_large_is_named_and_the_others_are_kept() {
    let place = Place::new();
    let prof = sample(&place, "3000");
    // The table of operators takes more than this, that of their types less.
    let script = "ulimit -f 1000; exec \"$0\" \"$@\"";
    let limited = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script, env!("CARGO_BIN_EXE_opscope")]).args(arguments);
        Answer::from(command.current_dir(place.path(".")).output().expect("a shell"))
    };
    for (arguments, file) in [
        (&["export", "timeline", &prof, "-o", "a"][..], "a/mindstudio_profiler_output/msprof_"),
        (
            &["export", "timeline", &prof, "-o", "b", "--slice-mb", "1"],
            "b/mindstudio_profiler_output/msprof_",
        ),
        (&["export", "all", &prof, "-o", "c"], "c/mindstudio_profiler_output/op_summary_"),
        (&["export", "db", &prof, "-o", "d"], "d/msprof_"),
        (&["import", &prof, "-o", "e"], "e/sqlite/opscope.db"),
    ] {
        let answer = limited(arguments);
        assert_eq!(answer.status, Some(1), "{arguments:?}: {}", answer.stderr);
        assert!(answer.stderr.contains(file), "{arguments:?}: {}", answer.stderr);
        assert!(!answer.stderr.contains("panicked") && !answer.stderr.contains(".part"), "{}", answer.stderr);
        let folder = place.path(arguments[arguments.iter().position(|it| *it == "-o").expect("it") + 1]);
        assert_eq!(leftovers(&folder), Vec::<PathBuf>::new(), "{arguments:?}");
        whole_results(&folder);
        if arguments[0] == "export" {
            assert!(answer.stderr.contains("--output DIR"), "{}", answer.stderr);
        }
    }
    let answer = limited(&["msprof", "export", "timeline", "-dir", &prof]);
    assert_eq!(answer.status, Some(1), "{}", answer.stdout);
    assert!(answer.stdout.contains("[ERROR]") && answer.stdout.contains("too large"), "{}", answer.stdout);
}

#[test]
fn what_was_written_before_the_room_was_used_up_is_kept_and_counted() {
    let place = Place::new();
    let prof = sample(&place, "3000");
    let whole = place.done(&["export", "all", &prof, "-o", "whole"]);
    let table = whole.stdout.lines().find(|line| line.contains("/op_summary_")).expect("the table");
    let blocks = std::fs::metadata(place.path(table)).expect("it").len() / 512 + 8;
    let script = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_opscope"), "export", "all", &prof, "-o", "part"]);
    let answer = Answer::from(command.current_dir(place.path(".")).output().expect("a shell"));
    assert_eq!(answer.status, Some(1), "{}", answer.stderr);
    let kept = whole_results(&place.path("part"));
    let tables = files(&place.path("part/mindstudio_profiler_output")).len();
    assert!(kept > 3 && tables > 3, "{kept} {tables}");
    assert!(
        answer
            .stderr
            .contains(&format!("the {tables} files that were written before it are whole and were kept")),
        "{tables}: {}",
        answer.stderr
    );
    assert_eq!(leftovers(&place.path("part")), Vec::<PathBuf>::new());
}

#[test]
fn a_sample_that_is_stopped_or_has_no_room_is_as_if_it_had_never_been_begun() {
    let place = Place::new();
    let mut command = place.command(&["sample", "prof", "-o", "runs", "--tasks", "3000000"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let begin = Instant::now();
    while files(&place.path("runs")).len() < 20 && begin.elapsed() < Duration::from_secs(60) {
        assert!(child.try_wait().expect("a status").is_none(), "it ended by itself");
    }
    send(&child, "TERM");
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    assert_eq!(files(&place.path("runs")), Vec::<PathBuf>::new());

    let script = "ulimit -f 100; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, env!("CARGO_BIN_EXE_opscope"), "sample", "prof", "-o", "runs"]);
    let answer = Answer::from(command.current_dir(place.path(".")).output().expect("a shell"));
    assert_eq!(answer.status, Some(1), "{}", answer.stderr);
    assert!(answer.stderr.contains("SAMPLEAA") && answer.stderr.contains("too large"), "{}", answer.stderr);
    assert_eq!(files(&place.path("runs")), Vec::<PathBuf>::new());
    sample(&place, "50");
}
