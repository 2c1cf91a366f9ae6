//! Raw directories of Ascend that are damaged, incomplete or in use: a clear message, what is
//! readable is kept, and nothing else is touched.

mod common;

use std::path::{Path, PathBuf};

use common::{Place, number};
use opscope_testing::companions;

/// Writes a sample directory of a run and gives its path.
fn sample(place: &Place, further: &[&str]) -> PathBuf {
    let mut arguments = vec!["sample", "prof", "--mode", "static", "--tasks", "200", "--quiet"];
    arguments.extend(further);
    place.path(place.done(&arguments).stdout.trim())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a readable path")
}

fn remove(path: &Path, beginning: &str) {
    let mut removed = 0;
    for entry in std::fs::read_dir(path).expect("a folder") {
        let entry = entry.expect("an entry");
        if entry.file_name().to_string_lossy().starts_with(beginning) {
            std::fs::remove_file(entry.path()).expect("a removable file");
            removed += 1;
        }
    }
    assert!(removed > 0, "{}: nothing begins with {beginning}", path.display());
}

/// The number of losses of a reason in the answer of an import.
fn losses(place: &Place, prof: &Path, reason: &str) -> u64 {
    let answer = place.done(&["import", text(prof), "--json"]).json();
    let losses = answer["losses"].as_array().expect("losses").clone();
    let counts = losses.iter().filter(|loss| loss["reason"].as_str().is_some_and(|it| it.contains(reason)));
    counts.filter_map(|loss| loss["count"].as_u64()).sum()
}

#[test]
fn a_folder_without_a_profile_is_named_as_such() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("empty/deep")).expect("new folders");
    for command in ["import", "query", "show"] {
        place.fails(1, &["empty", "no profile found", "info.json"], &[command, "empty"]);
    }
    place.fails(1, &["empty", "no profile found"], &["export", "all", "empty"]);
    place.fails(1, &["nowhere", "no such file or directory"], &["export", "all", "nowhere"]);
    place.write("file.txt", "text");
    place.fails(1, &["file.txt", "PROF_*"], &["export", "all", "file.txt"]);
}

#[cfg(unix)]
#[test]
fn a_forgotten_slash_is_suggested() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    let without = text(&prof).trim_start_matches('/');
    for command in [&["import"][..], &["export", "summary"], &["query"]] {
        place.fails(1, &["did you mean", text(&prof)], &[command, &[without]].concat());
    }
    let model = place.path(&place.sample("mask-ssd"));
    let without_slash = text(&model).trim_start_matches('/');
    for command in [&["run"][..], &["rewrite", "-o", "out.onnx"]] {
        place.fails(1, &["did you mean", text(&model)], &[command, &[without_slash]].concat());
    }
    let answer = place.run(&["msprof", "import", "-dir", without]);
    assert_eq!(answer.status, Some(1));
    assert!(answer.stdout.contains("did you mean /"), "{}", answer.stdout);
}

#[test]
fn missing_metadata_and_unknown_processors_are_named() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    std::fs::remove_file(prof.join("device_0/info.json.0")).expect("a removable file");
    let answer = place.done(&["import", text(&prof)]);
    for part in ["left out", "device_0", "info.json", "no device directory"] {
        assert!(answer.stderr.contains(part), "no {part:?} in {}", answer.stderr);
    }
    std::fs::remove_file(prof.join("host/info.json")).expect("a removable file");
    place.fails(1, &["data directory", "info.json"], &["import", text(&prof)]);
    std::fs::remove_dir_all(prof.join("device_0")).expect("a removable folder");
    place.write(
        "PROF_000001_20251009085320000_SAMPLEAA/host/info.json",
        r#"{"platform_version": "99", "devices": "64", "DeviceInfo": []}"#,
    );
    place.fails(1, &["platform_version 99", "known: 0 to 5"], &["import", text(&prof)]);
}

#[test]
fn what_is_missing_or_cut_off_is_counted_and_the_rest_is_read() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    assert_eq!(losses(&place, &prof, ""), 0);
    std::fs::remove_file(prof.join("device_0/sample.json")).expect("a removable file");
    assert_eq!(losses(&place, &prof, "metadata missing"), 1);
    let slice = prof.join("device_0/data/stars_soc.data.0.slice_0");
    let bytes = std::fs::read(&slice).expect("a readable slice");
    std::fs::write(&slice, &bytes[..bytes.len() - 40]).expect("a writable slice");
    assert!(losses(&place, &prof, "no whole record") > 0);
    let answer = place.done(&["export", "summary", text(&prof)]);
    assert!(
        answer.stderr.contains("skipped: ") && answer.stderr.contains("no whole record"),
        "{}",
        answer.stderr
    );
    assert!(answer.stdout.contains("op_summary"), "{}", answer.stdout);
    // The losses stand in the database as well.
    let database = rusqlite::Connection::open(prof.join("sqlite/opscope.db")).expect("a database");
    let count = "SELECT count(*) FROM losses";
    let rows: i64 = database.query_row(count, [], |row| row.get(0)).expect("a number");
    assert!(rows > 0);
    // The file that can't be opened is a folder here, because tests may run as root, who may read everything.
    std::fs::remove_file(&slice).expect("a removable file");
    std::fs::create_dir(&slice).expect("a new folder");
    let answer = place.done(&["import", text(&prof)]);
    assert!(answer.stdout.contains("lost"), "{}", answer.stdout);
}

#[test]
fn a_model_that_was_loaded_but_never_executed_is_no_failure() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    for file in ["stars_soc", "ffts_profile", "ts_track"] {
        remove(&prof.join("device_0/data"), file);
    }
    for command in [&["import"][..], &["export", "all"], &["show"]] {
        let answer = place.done(&[command, &[text(&prof)]].concat());
        assert!(answer.stderr.contains("loaded but never executed"), "{command:?}: {}", answer.stderr);
    }
    let answer = place.done(&["msprof", "export", "summary", "-dir", text(&prof)]);
    assert!(answer.stderr.contains("loaded but never executed"), "{}", answer.stderr);
}

#[test]
fn directories_of_different_runs_are_told_apart() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    let start = prof.join("device_0/start_info.0");
    let begin = std::fs::read_to_string(&start).expect("a readable file");
    let later = begin.replace("\"collectionTimeBegin\":\"176", "\"collectionTimeBegin\":\"177");
    let later = later.replace("\"collectionTimeBegin\": \"176", "\"collectionTimeBegin\": \"177");
    assert_ne!(begin, later);
    std::fs::write(&start, later).expect("a writable file");
    let answer = place.done(&["import", text(&prof)]);
    assert!(
        answer.stderr.contains("device_0") && answer.stderr.contains("different runs"),
        "{}",
        answer.stderr
    );
    std::fs::remove_dir_all(prof.join("host")).expect("a removable folder");
    let answer = place.done(&["import", text(&prof)]);
    assert!(answer.stderr.contains("no host directory"), "{}", answer.stderr);
}

#[test]
fn a_profile_that_another_program_is_importing_is_left_alone() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    std::fs::create_dir(prof.join("sqlite")).expect("a new folder");
    let lock = std::fs::File::create(prof.join("sqlite/.opscope.lock")).expect("a lock file");
    lock.lock().expect("the lock");
    place.fails(1, &["another opscope", "wait"], &["import", text(&prof)]);
    place.fails(1, &["another opscope"], &["export", "all", text(&prof)]);
    assert!(!prof.join("sqlite/opscope.db").exists() && !prof.join("mindstudio_profiler_output").exists());
    // Reading needs no lock, and neither does another place for the results.
    place.done(&["show", text(&prof)]);
    place.done(&["export", "summary", text(&prof), "-o", "elsewhere"]);
    drop(lock);
    place.done(&["import", text(&prof)]);
}

#[test]
fn results_of_a_profile_that_cannot_be_written_to_go_to_the_users_cache_folder() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    // In the way of the folder for databases, because root may write to folders that are read-only.
    std::fs::write(prof.join("sqlite"), "in the way").expect("a new file");
    let run = |arguments: &[&str]| {
        let cache = place.path("cache");
        let mut command = place.command(arguments);
        command.env("XDG_CACHE_HOME", &cache).env("LOCALAPPDATA", &cache).env("HOME", &cache);
        let answer = common::Answer::from(command.output().expect("the program starts"));
        assert_eq!(answer.status, Some(0), "{}", answer.stderr);
        answer
    };
    let answer = run(&["export", "summary", text(&prof)]);
    assert!(answer.stderr.contains("sqlite") && answer.stderr.contains("--output DIR"), "{}", answer.stderr);
    let listed: Vec<&str> = answer.stdout.lines().filter(|line| line.contains("/op_summary_")).collect();
    assert_eq!(listed.len(), 1, "{}", answer.stdout);
    assert!(listed[0].contains("cache") && Path::new(listed[0]).is_file(), "{}", answer.stdout);
    let imported = run(&["import", text(&prof), "-o", "there"]);
    assert!(!imported.stderr.contains("warning"), "{}", imported.stderr);
    assert!(place.path("there/sqlite/opscope.db").exists());
}

#[test]
fn a_damaged_import_is_as_good_as_none() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    place.done(&["import", text(&prof)]);
    let shown = place.done(&["show", text(&prof)]).stdout;
    let database = prof.join("sqlite/opscope.db");
    let bytes = std::fs::read(&database).expect("a readable database");
    for damaged in [&bytes[..bytes.len() / 2], b"no database at all", b""] {
        std::fs::write(&database, damaged).expect("a writable file");
        assert_eq!(place.done(&["show", text(&prof)]).stdout, shown);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing_behind() {
    let place = Place::new();
    let prof = sample(&place, &[]);
    std::fs::create_dir(place.path("small")).expect("a new folder");
    // A file system of its own, as small as can be, which is gone with the process.
    let script = "mount -t tmpfs -o size=96k tmpfs small && \"$0\" \"$@\"; status=$?; \
                  find small -type f -size +0 >&2; exit $status";
    let opscope = env!("CARGO_BIN_EXE_opscope");
    for (command, file) in [(&["import"][..], "opscope.db"), (&["export", "timeline"], "msprof_")] {
        let mut run = std::process::Command::new("unshare");
        run.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, opscope]);
        run.args(command).args([text(&prof), "-o", "small"]).current_dir(place.path("."));
        let Some(output) = companions::output(&mut run) else { return };
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("unshare:") || stderr.contains("mount:") {
            return companions::skip("no file system can be mounted here");
        }
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        let is_named = stderr.contains("No space left") || stderr.contains("disk is full");
        assert!(is_named && stderr.contains(file), "{command:?}: {stderr}");
        assert!(
            !stderr.contains(".part") && !stderr.lines().any(|line| line == "small/sqlite/opscope.db"),
            "{stderr}"
        );
    }
}

/// Replaces the value that follows a key in a file, quotes and all.
fn replace_value(path: &Path, key: &str, value: &str) {
    let text = std::fs::read_to_string(path).expect("a readable file");
    let at = text.find(key).unwrap_or_else(|| panic!("no {key} in {}", path.display())) + key.len();
    let begin = at + text[at..].find(|letter: char| letter.is_ascii_digit()).expect("a number");
    let end = text[begin..].find(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
    let end = end.map_or(text.len(), |length| begin + length);
    std::fs::write(path, format!("{}{value}{}", &text[..begin], &text[end..])).expect("a writable file");
}

/// Clocks that can't be: a file, a key in it, and values.
const IMPOSSIBLE: [(&str, &str, &[&str]); 6] = [
    ("host_start.log.0", "clock_monotonic_raw", &["18446744073709551615", "-1", "nan"]),
    ("dev_start.log.0", "cntvct", &["18446744073709551615", "nan"]),
    ("info.json.0", "hwts_frequency", &["0", "-19.2", "nan", "1e30"]),
    ("info.json.0", "\"CPU\":[{\"Frequency\"", &["0", "-100", "nan"]),
    ("start_info.0", "collectionTimeBegin", &["0", "-5", "nan", "9223372036854775807"]),
    ("start_info.0", "clockMonotonicRaw", &["18446744073709551615", "-1", "nan"]),
];

#[test]
fn a_clock_that_cannot_be_is_replaced_and_said_instead_of_giving_all_tasks_one_time() {
    for layout in ["modern", "2022", "job"] {
        for (file, key, values) in IMPOSSIBLE {
            for value in values {
                let place = Place::new();
                let prof = sample(&place, &["--chip", "310", "--layout", layout]);
                let directory = if layout == "job" { prof.clone() } else { prof.join("device_0") };
                let figures = || {
                    let answer = place.done(&["analyze", text(&prof), "--json", "--iteration", "all"]).json();
                    let busy = number(&answer, "/overview/busy_ns");
                    (answer["executions"].as_u64(), busy, answer["losses"].clone())
                };
                let before = figures();
                replace_value(&directory.join(file), key, value);
                let after = figures();
                let what = format!("{layout}, {file}: {key} {value}");
                assert_eq!((before.0, after.0), (Some(200), Some(200)), "{what}");
                // The clock of the device ticks as fast as its chip's usually does.
                assert!((before.1 - after.1).abs() <= 200.0, "{what}: {} and {}", before.1, after.1);
                let said = after.2.as_array().expect("losses").iter().any(|loss| {
                    let said = |key: &str, part: &str| loss[key].as_str().is_some_and(|it| it.contains(part));
                    said("reason", "can't be") && said("detail", file.trim_end_matches(".0"))
                });
                assert!(said, "{what}: {:#}", after.2);
            }
        }
    }
}
