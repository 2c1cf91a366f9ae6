//! Where results may go, who may read them, and what becomes of those that were never completed.

#![cfg(unix)]

mod common;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Answer, Place};
use opscope_testing::programs::output_in_time;

const TIMELINE: &str = r#"[{"name":"conv1","ph":"X","cat":"cpu_op","ts":1,"dur":5,"pid":1,"tid":1}]"#;

/// The files that `sample cluster -o samples/cluster` makes.
const RANKS: &str = "samples/cluster/cluster_8_ranks_seed_1/db";

/// All files and folders below a folder.
fn below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

fn parts(folder: &Path) -> Vec<PathBuf> {
    let is_part = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "part");
    below(folder).into_iter().filter(is_part).collect()
}

/// Writes a sample profile of so many tasks, and gives its name.
fn profile(place: &Place, tasks: &str) -> String {
    place.done(&["sample", "prof", "--tasks", tasks, "--quiet"]);
    place.files().into_iter().find(|name| name.starts_with("PROF_")).expect("the profile")
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo is there").success());
}

/// Command lines that write to `target`.
fn writers(target: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["import", "timeline.json", "--db", "x.db", "--trace", target],
        vec!["import", "timeline.json", "--db", "x.db", "--profile", target],
        vec!["import", "timeline.json", "-o", target],
        vec!["sample", "mask-ssd", "-o", target],
        vec!["rewrite", "mask-ssd.onnx", "-o", target],
        vec!["run", "mask-ssd.onnx", "--trace", target],
        vec!["run", "mask-ssd.onnx", "--db", target],
        vec!["tune", "mask-ssd.onnx", "-o", target],
        vec!["fusion", "mask-ssd.onnx", "--switch-file", target],
        vec!["report", "timeline.json", "-o", target],
        vec!["check", "--baseline", "timeline.json", "--candidate", "timeline.json", "--junit", target],
    ]
}

#[test]
fn links_read_only_files_folders_and_pipes_without_a_reader_are_refused_and_stay_as_they_are() {
    let place = Place::new();
    place.sample("mask-ssd");
    place.write("timeline.json", TIMELINE);
    let old = place.write("old", "old");
    std::fs::set_permissions(place.write("kept", "old"), PermissionsExt::from_mode(0o444)).expect("a mode");
    symlink("old", place.path("link")).expect("a link");
    symlink("nowhere", place.path("dangling")).expect("a link");
    std::fs::create_dir(place.path("folder")).expect("a folder");
    make_pipe(&place.path("pipe"));
    let before = place.files();
    for (target, says) in [
        ("link", "symbolic link to old"),
        ("dangling", "symbolic link to nowhere"),
        ("kept", "read-only"),
        ("folder", "in the way"),
        ("pipe", "pipe"),
    ] {
        for arguments in writers(target) {
            let begin = Instant::now();
            place.fails(1, &[&format!("{target}: "), says], &arguments);
            assert!(begin.elapsed() < Duration::from_secs(60), "{arguments:?}");
            assert_eq!(place.files(), before, "{arguments:?}");
        }
    }
    assert!(place.path("link").is_symlink() && place.path("dangling").is_symlink());
    assert_eq!(std::fs::read(old).expect("it is there"), b"old");
    assert_eq!(std::fs::read(place.path("kept")).expect("it is there"), b"old");
}

#[test]
fn results_below_a_profile_do_not_follow_a_link_either() {
    let place = Place::new();
    let profile = profile(&place, "50");
    place.write("victim", "old");
    std::fs::create_dir_all(place.path("out/sqlite")).expect("folders");
    symlink("../../victim", place.path("out/sqlite/opscope.db")).expect("a link");
    place.fails(1, &["out/sqlite/opscope.db", "symbolic link"], &["import", &profile, "-o", "out"]);
    assert_eq!(std::fs::read(place.path("victim")).expect("it is there"), b"old");
}

#[test]
fn a_pipe_with_a_reader_and_the_standard_output_get_the_whole_file() {
    let place = Place::new();
    place.write("timeline.json", TIMELINE);
    place.done(&["import", "timeline.json", "--db", "x.db", "--trace", "expected.json", "--quiet"]);
    let expected = std::fs::read(place.path("expected.json")).expect("the timeline");

    make_pipe(&place.path("pipe"));
    let reader = Command::new("cat").arg(place.path("pipe")).stdout(Stdio::piped()).spawn().expect("cat");
    place.done(&["import", "timeline.json", "--db", "x.db", "--trace", "pipe", "--quiet"]);
    assert_eq!(reader.wait_with_output().expect("an end").stdout, expected);

    // A plain file behind the standard output is written on, not over, and never replaced.
    let script = "echo before; exec \"$0\" import timeline.json --db x.db --trace /dev/stdout --quiet";
    let mut command = Command::new("sh");
    command.args(["-c", &format!("({script}) > all.txt"), env!("CARGO_BIN_EXE_opscope")]);
    let answer = Answer::from(output_in_time(command.current_dir(place.path("."))).expect("an end"));
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    let all = std::fs::read_to_string(place.path("all.txt")).expect("the output");
    let expected = String::from_utf8(expected).expect("JSON");
    assert!(all.starts_with("before\n") && all.contains(&expected) && all.contains("conv1"), "{all}");

    place.done(&["import", "timeline.json", "--db", "x.db", "--trace", "/dev/null", "--quiet"]);
    // Before any work is done, not after.
    for option in ["--db", "-o"] {
        place.fails(1, &["/dev/null: ", "needs a file"], &["import", "timeline.json", option, "/dev/null"]);
    }
}

#[test]
fn everything_that_is_written_is_private_whatever_the_umask() {
    let place = Place::new();
    place.sample("mask-ssd");
    place.write("timeline.json", TIMELINE);
    let profile = profile(&place, "200");
    let open = |arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", "umask 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_opscope")]).args(arguments);
        let output = output_in_time(command.current_dir(place.path("."))).expect("an end");
        let answer = Answer::from(output);
        assert_eq!(answer.status, Some(0), "{arguments:?}: {}", answer.stderr);
    };
    for (folder, arguments) in [
        ("samples", &["sample", "prof", "-o", "samples"][..]),
        ("samples/2022", &["sample", "prof", "-o", "samples/2022", "--layout", "2022"]),
        ("samples/job", &["sample", "prof", "-o", "samples/job", "--layout", "job"]),
        (
            "samples/cluster",
            &["sample", "cluster", "-o", "samples/cluster", "--steps", "1", "--format", "both"],
        ),
        ("set", &["cluster", "import", RANKS, "-o", "set"]),
        ("tables", &["cluster", "export", RANKS, "--format", "csv", "-o", "tables"]),
        ("insight", &["cluster", "export", RANKS, "--format", "insight", "-o", "insight"]),
        ("analysis", &["msprof-analyze", "cluster", "-m", "all", "-d", RANKS, "-o", "analysis"]),
        ("modern", &["export", "all", &profile, "-o", "modern"]),
        ("classic", &["export", "all", &profile, "-o", "classic", "--layout", "classic"]),
        ("imported/deep", &["import", &profile, "-o", "imported/deep"]),
        ("outputs", &["run", "mask-ssd.onnx", "--iterations", "1", "--outputs", "outputs"]),
    ] {
        open(arguments);
        let found = below(&place.path(folder));
        assert!(!found.is_empty(), "{arguments:?}");
        let root = folder.split('/').next().unwrap_or(folder);
        for path in found.iter().chain([&place.path(root), &place.path(folder)]) {
            check_mode(path);
        }
    }
    open(&["msprof", "export", "summary", "-dir", &profile]);
    below(&place.path(&profile)).iter().for_each(|path| check_mode(path));
    for (file, arguments) in [
        ("t.json", &["import", "timeline.json", "--db", "t.db", "--trace", "t.json"][..]),
        ("t.db", &["import", "timeline.json", "-o", "t.db"]),
        ("p.json", &["import", "timeline.json", "--db", "t.db", "--profile", "p.json"]),
        ("model.onnx", &["sample", "mask-ssd", "-o", "model.onnx"]),
        ("rewritten.onnx", &["rewrite", "mask-ssd.onnx", "-o", "rewritten.onnx"]),
        ("switches", &["fusion", "mask-ssd.onnx", "--switch-file", "switches"]),
        ("report.html", &["report", "timeline.json", "-o", "report.html"]),
        ("ranks.json", &["cluster", "export", RANKS, "--format", "json", "-o", "ranks.json"]),
        ("timeline.gz", &["cluster", "export", RANKS, "--format", "timeline", "-o", "timeline.gz"]),
        (
            "junit.xml",
            &["check", "--baseline", "timeline.json", "--candidate", "timeline.json", "--junit", "junit.xml"],
        ),
    ] {
        open(arguments);
        check_mode(&place.path(file));
    }
    if cfg!(target_os = "linux") {
        open(&["collect", "--no-parse", "-o", "collected", "--", "true"]);
        assert!(!below(&place.path("collected")).is_empty());
        below(&place.path("collected")).iter().for_each(|path| check_mode(path));
    }
}

fn check_mode(path: &Path) {
    let found = path.symlink_metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let open = if found.is_dir() { 0o027 } else { 0o137 };
    let mode = found.permissions().mode() & 0o7777;
    assert_eq!(mode & open, 0, "{} has the mode {mode:o}", path.display());
}

#[test]
fn a_lock_in_the_folder_of_a_stranger_leads_to_no_file_of_the_users() {
    let place = Place::new();
    let profile = profile(&place, "50");
    place.done(&["sample", "cluster", "--layout", "tp=2,pp=1,dp=1", "--layers", "1", "--quiet"]);
    let ranks = "cluster_2_ranks_seed_1/db";
    place.done(&["cluster", "import", ranks, "-o", "set", "--quiet"]);
    let manifests = std::fs::read_dir(place.path("set/_manifest/run=run")).expect("the manifests").flatten();
    for manifest in manifests.filter(|file| file.path().extension().is_some_and(|it| it == "json")) {
        std::fs::remove_file(manifest.path()).expect("no manifest");
    }
    std::fs::create_dir(place.path(&profile).join("sqlite")).expect("a folder");
    let in_profile = format!("{profile}/sqlite/.opscope.lock");
    let in_set = "set/_manifest/run=run/.commits.lock";
    let victim = place.write("victim", "precious");
    for (lock, arguments) in [
        (in_profile.as_str(), &["import", &profile, "--quiet"][..]),
        (&in_profile, &["export", "all", &profile, "--quiet"]),
        (in_set, &["cluster", "import", ranks, "-o", "set", "--quiet"]),
    ] {
        let path = place.path(lock);
        for is_link in [true, false] {
            let _ = std::fs::remove_file(&path);
            let (made, says) = match is_link {
                true => (symlink(&victim, &path), "symbolic link"),
                false => (std::fs::hard_link(&victim, &path), "no plain file of its own"),
            };
            made.expect("another name");
            place.fails(1, &[lock, says], arguments);
            assert_eq!(std::fs::read(&victim).expect("it is there"), b"precious", "{arguments:?}");
        }
        std::fs::remove_file(&path).expect("no lock");
    }
    place.done(&["import", &profile, "--quiet"]);
    place.done(&["cluster", "import", ranks, "-o", "set", "--quiet"]);
}

/// Sends a signal to a process of this test's own.
fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
}

/// A program that is writing a file into a folder, which is there in part.
fn writing(place: &Place, arguments: &[&str], folder: &str) -> Child {
    let mut command = place.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    let begin = Instant::now();
    let is_begun =
        || parts(&place.path(folder)).iter().any(|path| path.metadata().is_ok_and(|it| it.len() > 0));
    while !is_begun() {
        assert!(begin.elapsed() < Duration::from_secs(120), "nothing is written");
        assert!(child.try_wait().expect("a status").is_none(), "it ended by itself");
    }
    child
}

#[test]
fn the_temporary_files_of_killed_programs_are_gone_after_the_next_run() {
    let place = Place::new();
    place.write("timeline.json", TIMELINE);
    let profile = profile(&place, "20000");
    std::fs::create_dir(place.path("out")).expect("a folder");
    let mut child = writing(&place, &["import", &profile, "-o", "out/one.db"], "out");
    send(&child, "KILL");
    child.wait().expect("an end");
    let left = parts(&place.path("out"));
    assert_eq!(left.len(), 1, "{left:?}");
    // Files that only look like ours stay.
    let others = [".opscope-note.txt", "opscope-a.part", ".other-b.part"];
    others.iter().for_each(|name| drop(place.write(&format!("out/{name}"), "x")));
    place.done(&["import", "timeline.json", "-o", "out/two.db"]);
    let mut names: Vec<_> = below(&place.path("out"))
        .iter()
        .filter_map(|path| path.file_name())
        .map(|it| it.to_owned())
        .collect();
    names.sort();
    assert_eq!(names, [".opscope-note.txt", ".other-b.part", "opscope-a.part", "two.db"]);
}

#[test]
fn a_program_that_is_still_writing_loses_nothing_to_another() {
    let place = Place::new();
    place.write("timeline.json", TIMELINE);
    let profile = profile(&place, "20000");
    std::fs::create_dir(place.path("out")).expect("a folder");
    let mut child = writing(&place, &["import", &profile, "-o", "out/one.db"], "out");
    send(&child, "STOP");
    let begun = parts(&place.path("out"));
    place.done(&["import", "timeline.json", "-o", "out/two.db"]);
    assert_eq!(parts(&place.path("out")), begun);
    send(&child, "CONT");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
    assert_eq!(parts(&place.path("out")), Vec::<PathBuf>::new());
    place.done(&["info", "out/one.db"]);
}

#[test]
fn programs_that_write_into_one_folder_at_a_time_all_succeed() {
    let place = Place::new();
    place.write("timeline.json", TIMELINE);
    std::fs::create_dir(place.path("out")).expect("a folder");
    for round in 0..4 {
        let start = |number: usize| {
            let (database, trace) =
                (format!("out/{round}_{number}.db"), format!("out/{round}_{number}.json"));
            let mut command =
                place.command(&["import", "timeline.json", "--db", &database, "--trace", &trace]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the program starts")
        };
        let children: Vec<Child> = (0..8).map(start).collect();
        for child in children {
            let answer = Answer::from(child.wait_with_output().expect("an end"));
            assert_eq!(answer.status, Some(0), "{}", answer.stderr);
        }
    }
    assert_eq!(below(&place.path("out")).len(), 4 * 8 * 2);
}

#[test]
fn a_sample_cluster_is_written_once_and_says_what_its_faults_cost() {
    let place = Place::new();
    fn sample<'a>(further: &[&'a str]) -> Vec<&'a str> {
        [&["sample", "cluster", "-o", "runs", "--layers", "1"], further].concat()
    }
    let answer =
        place.done(&sample(&["--fault", "late-input=2:5ms", "--fault", "ai-cpu=5", "--damage", "cut=6"]));
    assert_eq!(answer.stdout, "runs/cluster_8_ranks_seed_1\n");
    assert!(
        answer.stderr.contains("without its faults (2)") && answer.stderr.contains("truth.json"),
        "{}",
        answer.stderr
    );
    let text = std::fs::read(place.path("runs/cluster_8_ranks_seed_1/truth.json")).expect("the truth");
    let truth: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!((&truth["damage"], &truth["faults"]["late_host"]), (&"cut=6".into(), &2.into()));
    let saves = truth["costs"]["faults"]["late_host"]["alone_costs_ms"].as_f64().expect("a cost");
    assert!((4.0..=5.0).contains(&saves), "{saves}");

    place.fails(1, &["cluster_8_ranks_seed_1", "there already"], &sample(&[]));
    // Another seed is another collection.
    place.done(&sample(&["--seed", "2", "--fault", "none"]));
    for (further, expected) in [
        (&["--fault", "slow-link=3"][..], "FROM-TO"),
        (&["--fault", "broken=3"], "low-frequency"),
        (&["--fault", "ai-cpu=8"], "no rank 8"),
        (&["--damage", "cut=9"], "no rank 9"),
        (&["--damage", "burnt=1"], "missing, cut"),
        (&["--layout", "dp=4,ep=3"], "doesn't divide"),
        (&["--ranks", "1"], "2..="),
    ] {
        place.fails(2, &[expected], &sample(further));
    }
    assert_eq!(std::fs::read_dir(place.path("runs")).expect("a folder").count(), 2);
}
