//! Disks that fail: each opening, write, sync and rename of each command that writes files, one after
//! another, each large allocation, and files that become shorter while they are read.

#![cfg(target_os = "linux")]

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Answer, Place};
use opscope_testing::companions;
use opscope_testing::programs::output_in_time;

const TIMELINE: &str = r#"[{"name":"conv1","ph":"X","cat":"cpu_op","ts":1,"dur":5,"pid":1,"tid":1}]"#;

/// A folder, and the library that stands before the C library's calls.
struct Disk {
    place: Place,
    library: PathBuf,
}

/// A call that the library noted.
struct Call {
    name: String,
    path: PathBuf,
    other: PathBuf,
}

impl Disk {
    /// `None` (and a word about it) where there is no compiler.
    fn new() -> Option<Self> {
        let place = Place::new();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/output_faults/faults.c");
        let library = place.path("faults.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source);
        let compiled = companions::output(&mut compiler)?;
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        std::fs::create_dir(place.path("out")).expect("a folder");
        place.write("timeline.json", TIMELINE);
        Some(Self { place, library })
    }

    /// Runs the program on this disk, and gives its answer and the calls below `out`.
    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) -> (Answer, Vec<Call>) {
        let log = self.place.path("log");
        let _ = std::fs::remove_file(&log);
        let mut command = self.place.command(arguments);
        command.env("LD_PRELOAD", &self.library).env("FAULT_LOG", &log);
        command.env("FAULT_BELOW", self.out()).envs(variables.iter().copied());
        let answer = Answer::from(output_in_time(&mut command).expect("the program ends"));
        assert!(!answer.stderr.contains("panicked"), "{arguments:?}: {}", answer.stderr);
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let calls = text.lines().map(|line| {
            let mut fields = line.split('\t');
            let mut next = || fields.next().unwrap_or_default();
            Call { name: next().to_owned(), path: next().into(), other: next().into() }
        });
        (answer, calls.collect())
    }

    /// The folder on it, as the system names it.
    fn out(&self) -> PathBuf {
        self.place.path("out").canonicalize().expect("the folder")
    }

    fn empty(&self) {
        std::fs::remove_dir_all(self.place.path("out")).expect("the folder");
        std::fs::create_dir(self.place.path("out")).expect("a folder");
    }

    /// The files below `out`.
    fn files(&self) -> Vec<PathBuf> {
        let (mut found, mut pending) = (Vec::new(), vec![self.out()]);
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(&folder).expect("the folder").flatten() {
                match entry.path() {
                    path if path.is_dir() => pending.push(path),
                    path => found.push(path),
                }
            }
        }
        found
    }

    /// Makes each call fail of each kind, the first to the last. Before each run there are `old` files; after
    /// it, each is as it was or as `is_whole` has it, and so is each other one.
    fn fail_everywhere(&self, arguments: &[&str], old: &[&str], is_whole: impl Fn(&Path) -> bool) {
        for call in ["open", "write", "sync", "rename"] {
            let mut at = 0;
            loop {
                at += 1;
                self.empty();
                old.iter().for_each(|name| drop(self.place.write(&format!("out/{name}"), "old")));
                let (answer, calls) =
                    self.run(arguments, &[("FAULT_CALL", call), ("FAULT_AT", &at.to_string())]);
                let context = format!("{arguments:?}, {call} {at}: {}", answer.stderr);
                for file in self.files() {
                    let shown = file.display();
                    let name = file.file_name().expect("a name").to_string_lossy();
                    assert!(
                        !name.ends_with(".part") && !name.ends_with(".lock"),
                        "{context}: {shown} is left"
                    );
                    let is_old = old.contains(&&*name) && std::fs::read(&file).is_ok_and(|it| it == b"old");
                    assert!(is_old || is_whole(&file), "{context}: {shown} is not whole");
                }
                let Some(failed) = calls.iter().find(|it| it.name == "failed") else {
                    assert_eq!(answer.status, Some(0), "{context}");
                    break;
                };
                // The number of its process only makes the message to another program better.
                if call == "write" && failed.path.ends_with("sqlite/.opscope.lock") {
                    assert_eq!(answer.status, Some(0), "{context}");
                    continue;
                }
                assert_eq!(answer.status, Some(1), "{context}");
                assert!(!answer.stderr.contains(".part"), "{context}");
                // A file by its own name, or the folder.
                let folder = failed.path.parent().unwrap_or(Path::new(""));
                let is_named = [folder, &failed.path].iter().any(|path| {
                    let shown = path.strip_prefix(self.out()).unwrap_or(path);
                    answer
                        .stderr
                        .contains(Path::new("out").join(shown).to_string_lossy().trim_end_matches('/'))
                });
                assert!(is_named, "{context}: {} is not named", failed.path.display());
            }
            assert!(at > 1, "{arguments:?}: no {call} was made");
        }
    }

    /// Lets each large allocation fail, the first to the last. Each result is old, whole or missing then, what is
    /// left over is removed by the next run, and the failure is told. Gives how many were tried, and how many of
    /// those left something over.
    #[cfg(target_env = "gnu")]
    fn lack_memory_everywhere(
        &self,
        arguments: &[&str],
        old: &[&str],
        is_whole: impl Fn(&Path) -> bool,
    ) -> (usize, usize) {
        let (mut at, mut leftovers) = (0, 0);
        loop {
            at += 1;
            self.empty();
            old.iter().for_each(|name| drop(self.place.write(&format!("out/{name}"), "old")));
            let (answer, calls) = self.run(arguments, &[("FAULT_ALLOCATION", &at.to_string())]);
            let context = format!("{arguments:?}, allocation {at}: {:?} {}", answer.status, answer.stderr);
            let mut is_left = false;
            for file in self.files() {
                let name = file.file_name().expect("a name").to_string_lossy();
                // A program that is aborted can't remove what it has begun.
                if answer.status.is_none() && (name.ends_with(".part") || name.ends_with(".lock")) {
                    is_left = true;
                    continue;
                }
                let is_old = old.contains(&&*name) && std::fs::read(&file).is_ok_and(|it| it == b"old");
                let is_done = answer.status == Some(0);
                assert!(
                    (is_old && !is_done) || is_whole(&file),
                    "{context}: {} is not whole",
                    file.display()
                );
            }
            match answer.status {
                None => assert!(answer.stderr.contains("memory allocation of"), "{context}"),
                Some(1) => assert!(answer.stderr.contains("memory"), "{context}"),
                // Some can do without, such as a cache.
                status => assert_eq!(status, Some(0), "{context}"),
            }
            leftovers += usize::from(is_left);
            if is_left && leftovers <= 3 {
                let (answer, _) = self.run(arguments, &[]);
                assert_eq!(answer.status, Some(0), "{context}: {}", answer.stderr);
                let left =
                    self.files().into_iter().find(|path| path.extension().is_some_and(|it| it == "part"));
                assert_eq!(left, None, "{context}");
            }
            if !calls.iter().any(|call| call.name == "failed") {
                return (at - 1, leftovers);
            }
        }
    }
}

/// Whether a result is whole, by what it is.
fn is_whole(path: &Path) -> bool {
    let text = || std::fs::read_to_string(path).unwrap_or_default();
    match path.extension().and_then(|it| it.to_str()) {
        Some("json") => serde_json::from_str::<serde_json::Value>(&text()).is_ok(),
        Some("csv") => {
            let text = text();
            let columns = |line: &str| line.split(',').count();
            let first = text.lines().next().map(columns);
            text.ends_with('\n') && first.is_some_and(|count| text.lines().all(|line| columns(line) >= count))
        }
        Some("db") => {
            let database = rusqlite::Connection::open(path).expect("a database");
            let answer = database.query_row("PRAGMA quick_check", [], |row| row.get::<_, String>(0));
            answer.is_ok_and(|answer| answer == "ok")
        }
        // README.txt and the list of own files.
        _ => text().ends_with('\n'),
    }
}

#[test]
fn whatever_fails_a_timeline_a_database_and_a_profile_are_old_or_whole() {
    let Some(disk) = Disk::new() else { return };
    let arguments =
        ["import", "timeline.json", "--trace", "out/t.json", "--db", "out/t.db", "--profile", "out/p.json"];
    disk.fail_everywhere(&arguments, &["t.json", "t.db", "p.json"], is_whole);
}

#[test]
fn whatever_fails_an_import_is_old_or_whole() {
    let Some(disk) = Disk::new() else { return };
    disk.place.done(&["sample", "prof", "-o", "profiles", "--tasks", "60", "--quiet"]);
    disk.fail_everywhere(&["import", "profiles", "-o", "out"], &[], is_whole);
}

#[test]
fn whatever_fails_each_file_of_an_export_is_whole_or_missing() {
    let Some(disk) = Disk::new() else { return };
    disk.place.done(&["sample", "prof", "-o", "profiles", "--tasks", "60", "--quiet"]);
    disk.fail_everywhere(&["export", "all", "profiles", "-o", "out"], &[], is_whole);
}

#[test]
fn whatever_fails_each_file_of_the_layout_of_2022_is_whole_or_missing() {
    let Some(disk) = Disk::new() else { return };
    disk.place.done(&["sample", "prof", "-o", "profiles", "--tasks", "60", "--layout", "2022", "--quiet"]);
    disk.fail_everywhere(&["export", "timeline", "profiles", "-o", "out"], &[], is_whole);
}

#[test]
fn whatever_fails_a_model_is_old_or_whole() {
    let Some(disk) = Disk::new() else { return };
    let model = disk.place.sample("mask-ssd");
    disk.place.done(&["rewrite", &model, "-o", "expected.onnx"]);
    let expected = std::fs::read(disk.place.path("expected.onnx")).expect("the model");
    let is_whole = |path: &Path| std::fs::read(path).is_ok_and(|it| it == expected);
    disk.fail_everywhere(&["rewrite", &model, "-o", "out/m.onnx"], &["m.onnx"], is_whole);
}

#[test]
fn whatever_fails_the_files_of_a_run_are_old_or_whole() {
    let Some(disk) = Disk::new() else { return };
    let model = disk.place.sample("mask-ssd");
    let arguments = ["run", &model, "--iterations", "1", "--warmup", "0", "--trace", "out/t.json"];
    disk.fail_everywhere(&arguments, &["t.json"], is_whole);
}

#[cfg(target_env = "gnu")]
#[test]
fn whichever_allocation_fails_results_are_old_whole_or_missing() {
    let Some(disk) = Disk::new() else { return };
    disk.place.done(&["sample", "prof", "-o", "profiles", "--tasks", "60", "--quiet"]);
    let model = disk.place.sample("mask-ssd");
    disk.place.done(&["rewrite", &model, "-o", "expected.onnx"]);
    let expected = std::fs::read(disk.place.path("expected.onnx")).expect("the model");
    let is_expected = |path: &Path| std::fs::read(path).is_ok_and(|it| it == expected);
    let import =
        ["import", "timeline.json", "--trace", "out/t.json", "--db", "out/t.db", "--profile", "out/p.json"];
    let counts = [
        disk.lack_memory_everywhere(&import, &["t.json", "t.db", "p.json"], is_whole),
        disk.lack_memory_everywhere(&["export", "all", "profiles", "-o", "out"], &[], is_whole),
        disk.lack_memory_everywhere(&["import", "profiles", "-o", "out"], &[], is_whole),
        disk.lack_memory_everywhere(&["rewrite", &model, "-o", "out/m.onnx"], &["m.onnx"], is_expected),
    ];
    println!("allocations that failed, and those that left something over: {counts:?}");
    let (tried, left) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    assert!(counts.iter().all(|(tried, _)| *tried > 1) && tried > 30 && left > 3, "{counts:?}");
}

#[test]
fn files_are_synced_before_they_are_renamed_and_their_folders_afterwards() {
    let Some(disk) = Disk::new() else { return };
    disk.place.done(&["sample", "prof", "-o", "profiles", "--tasks", "3000", "--quiet"]);
    let (answer, calls) = disk.run(&["export", "all", "profiles", "-o", "out", "--slice-mb", "1"], &[]);
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    let is = |call: &Call, name: &str, path: &Path| call.name == name && call.path == path;
    let mut renamed = Vec::new();
    for (place, call) in calls.iter().enumerate().filter(|(_, call)| call.name == "rename") {
        let shown = call.other.display();
        let synced = calls[..place].iter().rposition(|it| is(it, "sync", &call.path));
        let synced = synced.unwrap_or_else(|| panic!("{shown} was renamed without being synced"));
        let written = calls[synced..place].iter().any(|it| is(it, "write", &call.path));
        assert!(!written, "{shown} was written to after it was synced");
        let folder = call.other.parent().expect("a folder");
        assert!(calls[place..].iter().any(|it| is(it, "sync", folder)), "{} is not synced", folder.display());
        renamed.push(call.other.clone());
    }
    let mut files = disk.files();
    files.sort();
    renamed.sort();
    assert_eq!(renamed, files);
    assert!(files.len() > 20, "{files:?}");
    // So many files are not waited for one by one.
    let folders = calls.iter().filter(|call| call.name == "sync" && call.path.is_dir()).count();
    assert!(folders <= 6, "{folders} syncs of folders");
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_named() {
    let Some(disk) = Disk::new() else { return };
    let model = disk.place.sample("mask-ssd");
    disk.place.done(&["sample", "prof", "-o", "profiles", "--tasks", "500", "--quiet"]);
    let cases: [(&[&str], &str); 4] = [
        (&["analyze", "timeline.json"], "timeline.json"),
        (&["run", &model, "--iterations", "1"], "mask-ssd.onnx"),
        (&["export", "all", "profiles", "-o", "out"], "aging.api_event.data.slice_0"),
        (&["import", "profiles", "-o", "out"], "ffts_profile.data.0.slice_0"),
    ];
    for (arguments, file) in cases {
        let whole: Vec<(PathBuf, Vec<u8>)> = find(&disk.place.path("."), file);
        assert!(!whole.is_empty(), "{file}");
        let (answer, calls) = disk.run(arguments, &[("FAULT_SHRINK", file)]);
        assert!(calls.iter().any(|call| call.name == "shrunk"), "{arguments:?} maps no {file}");
        assert_eq!(answer.status, Some(1), "{arguments:?}: {}", answer.stderr);
        let says = format!("{file}: it became shorter while it was read");
        assert!(answer.stderr.contains(&says), "{arguments:?}: {}", answer.stderr);
        for (path, content) in whole {
            std::fs::write(path, content).expect("space on disk");
        }
        // Its leavings are gone after the next run.
        let (answer, _) = disk.run(arguments, &[]);
        assert_eq!(answer.status, Some(0), "{arguments:?}: {}", answer.stderr);
        let left = disk.files().into_iter().find(|path| path.extension().is_some_and(|it| it == "part"));
        assert_eq!(left, None, "{arguments:?}");
    }
}

/// The files of a name below a folder, with their content.
fn find(folder: &Path, name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder").flatten() {
            match entry.path() {
                path if path.is_dir() => pending.push(path),
                path if path.ends_with(name) => {
                    let content = std::fs::read(&path).expect("the file");
                    found.push((path, content));
                }
                _ => {}
            }
        }
    }
    found
}
