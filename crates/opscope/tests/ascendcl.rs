//! `opscope collect` on a program of AscendCL, against a stand-in of its library that checks every call
//! and aborts on a wrong one. None of this was tried on hardware.

#![cfg(target_os = "linux")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Answer, Place};

/// Compiles the stand-in and a program that uses it; `None` (and a word about it) without a compiler.
fn compile(place: &Place, test: &str) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ascendcl");
    let folder = place.path("");
    let compiled = |arguments: &[&str]| {
        let mut compiler = Command::new("cc");
        let output = compiler.args(arguments).current_dir(&folder).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(())
    };
    let (fake, program) = (sources.join("fake.c"), sources.join("program.c"));
    let library =
        ["-shared", "-fPIC", "-O1", "-o", "libascendcl.so", &fake.display().to_string(), "-lpthread"];
    let main =
        ["-O1", "-o", "infer", &program.display().to_string(), "-L.", "-lascendcl", "-Wl,-rpath,$ORIGIN"];
    if compiled(&library).and_then(|()| compiled(&main)).is_none() {
        eprintln!("skipped: {test} (there is no C compiler, cc)");
        return None;
    }
    Some(folder)
}

/// Collects from the program, which must end well, and gives the answer, the profile and the calls
/// for profiling that the stand-in saw.
fn collect(place: &Place, options: &[&str], words: &[&str]) -> (Answer, PathBuf, Vec<String>) {
    let log = place.path("log");
    let _ = std::fs::remove_file(&log);
    let arguments: Vec<&str> =
        ["collect"].iter().chain(options).chain(&["--", "./infer"]).chain(words).copied().collect();
    let output = place.command(&arguments).env("FAKE_LOG", &log).output().expect("the program starts");
    let answer = Answer::from(output);
    assert_eq!(answer.status, Some(0), "{}\n{}", answer.stdout, answer.stderr);
    let profile = PathBuf::from(answer.stdout.lines().last().expect("the path"));
    let log = std::fs::read_to_string(log).unwrap_or_default();
    assert!(!log.contains("WRONG"), "{log}");
    (answer, profile, log.lines().map(str::to_owned).collect())
}

fn count(place: &Place, profile: &Path, query: &str) -> i64 {
    let database = place.path("x.db");
    let _ = std::fs::remove_file(&database);
    place.done(&["import", &profile.display().to_string(), "--db", &database.display().to_string()]);
    let database = rusqlite::Connection::open(database).expect("a database");
    database.query_row(query, [], |row| row.get(0)).expect(query)
}

#[test]
fn calls_and_subscribed_operators_lie_on_one_timeline() {
    let place = Place::new();
    if compile(&place, "calls_and_subscribed_operators_lie_on_one_timeline").is_none() {
        return;
    }
    let (answer, profile, log) = collect(&place, &["--via=subscribe"], &[]);
    assert!(answer.stdout.starts_with("inferred\n") && answer.stdout.contains("Conv2D"), "{}", answer.stdout);
    let expected = [
        "aclInit",
        "aclprofCreateSubscribeConfig",
        "aclprofModelSubscribe 1",
        "aclprofModelUnSubscribe 1",
        "aclrtResetDevice",
        "aclprofDestroySubscribeConfig",
        "aclFinalize",
    ];
    assert_eq!(log, expected);
    assert_eq!(
        count(&place, &profile, "SELECT count(*) FROM api_call_details WHERE name = 'aclmdlExecute'"),
        5
    );
    assert_eq!(count(&place, &profile, "SELECT count(*) FROM tasks"), 15);
    // Every operator lies within the call that executed it.
    let within = "SELECT count(*) FROM tasks AS t JOIN api_call_details AS c ON c.name = 'aclmdlExecute' \
                  AND t.start_ns >= c.start_ns AND t.start_ns + t.duration_ns <= c.start_ns + c.duration_ns";
    assert_eq!(count(&place, &profile, within), 15);
    // The calls are in the tables of the vendor's layout as well.
    let tables = std::fs::read_dir(profile.join("mindstudio_profiler_output")).expect("tables");
    let table = tables.flatten().find(|it| it.file_name().to_string_lossy().starts_with("api_statistic"));
    let text = std::fs::read_to_string(table.expect("api_statistic").path()).expect("text");
    assert!(text.contains("aclmdlExecute") && text.contains("aclmdlLoadFromFile"), "{text}");
}

#[test]
fn files_are_recorded_between_setting_and_resetting_the_device() {
    let place = Place::new();
    if compile(&place, "files_are_recorded_between_setting_and_resetting_the_device").is_none() {
        return;
    }
    let options = ["--via=files", "--no-parse", "--aic-metrics=MemoryUB", "--aicpu=on"];
    let (_, _, log) = collect(&place, &options, &[]);
    let expected = [
        "aclInit",
        "aclprofInit",
        "aclprofCreateConfig 5 f",
        "aclprofStart",
        "aclprofStop",
        "aclprofDestroyConfig",
        "aclrtResetDevice",
        "aclprofFinalize",
        "aclFinalize",
    ];
    assert_eq!(log, expected);
    // A program that ends without finalising is finalised for, while its device is still set.
    let (_, _, log) = collect(&place, &["--via=files", "--no-parse"], &["-", "leave"]);
    assert_eq!(log.last().map(String::as_str), Some("aclprofFinalize"), "{log:?}");
    let (_, _, log) = collect(&place, &["--via=subscribe", "--no-parse"], &["-", "leave"]);
    assert_eq!(log.last().map(String::as_str), Some("aclprofDestroySubscribeConfig"), "{log:?}");
}

#[test]
fn whoever_profiles_the_program_already_is_left_alone() {
    let place = Place::new();
    if compile(&place, "whoever_profiles_the_program_already_is_left_alone").is_none() {
        return;
    }
    let none = |log: &[String]| !log.iter().any(|line| line.starts_with("aclprof"));
    place.write("acl.json", r#"{"profiler": {"switch": "on", "output": "x"}}"#);
    for via in ["--via=files", "--via=subscribe"] {
        let (answer, _, log) = collect(&place, &[via, "--no-parse"], &["acl.json"]);
        assert!(none(&log) && answer.stderr.contains("acl.json"), "{log:?} {}", answer.stderr);
        let options = [via, "--no-parse", "--environment=PROFILER_SAMPLECONFIG={}"];
        let (answer, _, log) = collect(&place, &options, &[]);
        assert!(none(&log) && answer.stderr.contains("vendor"), "{log:?} {}", answer.stderr);
        let (answer, profile, log) = collect(&place, &[via, "--no-parse"], &["-", "profile"]);
        assert!(answer.stderr.contains("itself"), "{log:?} {}", answer.stderr);
        // The times of calls don't get in anybody's way.
        let calls = profile.join("host/data/aging.api_event.data.slice_0");
        assert!(std::fs::metadata(calls).is_ok_and(|file| file.len() > 0 && file.len() % 40 == 0));
    }
    let (_, profile, log) = collect(&place, &["--via=off", "--ascendcl=off", "--no-parse"], &[]);
    assert!(none(&log) && !profile.join("host/data/aging.api_event.data.slice_0").exists());
}
