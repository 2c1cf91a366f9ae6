//! Raw directories of Ascend whose records are odd: shuffled, random, without names, with clocks
//! that run backwards, or not readable. Readable records are kept, the rest is counted, and no raw
//! file is touched.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Answer, Place};
use opscope_testing::companions;

/// Writes a sample directory of a run and gives its path.
fn sample(place: &Place, tasks: &str) -> PathBuf {
    let answer = place.done(&["sample", "prof", "--mode", "static", "--tasks", tasks, "--quiet"]);
    place.path(answer.stdout.trim())
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a readable path")
}

fn change(path: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(path).expect("a readable file");
    edit(&mut bytes);
    std::fs::write(path, bytes).expect("a writable file");
}

/// The raw files of a profile.
fn raw(prof: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = ["host", "host/data", "device_0", "device_0/data"];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(prof.join(folder)).expect("a folder"));
    let files = entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file());
    files.map(|path| (path.clone(), std::fs::read(path).expect("a readable file"))).collect()
}

/// Exports everything into a folder; returns the answer. The raw files stay as they are.
fn export(place: &Place, prof: &Path, folder: &str) -> Answer {
    let before = raw(prof);
    let answer = place.done(&["export", "all", text(prof), "-o", folder]);
    assert!(raw(prof) == before, "a raw file was changed");
    answer
}

/// An exported table.
fn table(place: &Place, folder: &str, kind: &str) -> String {
    let folder = place.path(folder).join("mindstudio_profiler_output");
    let files = std::fs::read_dir(&folder).expect("results").map(|entry| entry.expect("an entry").path());
    let is_it = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{kind}_2")))
    };
    let path = files.filter(|path| path.extension().is_some_and(|it| it == "csv")).find(is_it);
    std::fs::read_to_string(path.unwrap_or_else(|| panic!("no {kind} in {}", folder.display())))
        .expect("text")
}

#[test]
fn shuffled_slices_give_the_same_tables() {
    let place = Place::new();
    let prof = sample(&place, "20000");
    export(&place, &prof, "whole");
    for stream in ["device_0/data/stars_soc.data.0", "device_0/data/ffts_profile.data.0"] {
        // Their markers tell their sizes.
        for marker in ["", ".done"] {
            let [first, second] = [0, 1].map(|number| prof.join(format!("{stream}.slice_{number}{marker}")));
            let (one, other) =
                (std::fs::read(&first).expect("a slice"), std::fs::read(&second).expect("a slice"));
            std::fs::write(&first, other).expect("a writable file");
            std::fs::write(&second, one).expect("a writable file");
        }
        let folder = stream.replace('/', "_");
        let answer = export(&place, &prof, &folder);
        assert!(!answer.stderr.contains("skipped"), "{}", answer.stderr);
        for kind in ["op_statistic", "task_time", "step_trace"] {
            assert!(table(&place, &folder, kind) == table(&place, "whole", kind), "{stream}: {kind}");
        }
        // Counters of tasks with the same number are told apart by their order only.
        let rows = |folder: &str| table(&place, folder, "op_summary").lines().count();
        assert_eq!(rows(&folder), rows("whole"), "{stream}");
    }
}

#[test]
fn random_bytes_are_counted_and_everything_else_is_shown() {
    let place = Place::new();
    let prof = sample(&place, "300");
    let mut random = fastrand::Rng::with_seed(1);
    let mut noise = |bytes: &mut Vec<u8>| random.fill(bytes);
    change(&prof.join("device_0/data/ffts_profile.data.0.slice_0"), &mut noise);
    change(&prof.join("host/data/unaging.additional.tensor_info.slice_0"), &mut noise);
    let answer = export(&place, &prof, "out");
    for part in ["wrong magic number (ffts_profile.data)", "wrong magic number (additional.tensor_info)"] {
        assert!(answer.stderr.contains(part), "no {part:?} in {}", answer.stderr);
    }
    assert_eq!(table(&place, "out", "op_summary").lines().count(), 301);
    assert_eq!(table(&place, "out", "task_time").lines().count(), 301);
    // All files random at once: nothing but a sentence.
    for path in raw(&prof).into_keys().filter(|path| text(path).contains("/data/")) {
        change(&path, &mut noise);
    }
    let answer = export(&place, &prof, "noise");
    assert!(answer.stderr.contains("no device ran a task"), "{}", answer.stderr);
}

#[test]
fn hash_ids_without_a_name_are_shown_as_numbers_and_counted() {
    let place = Place::new();
    let prof = sample(&place, "100");
    std::fs::remove_file(prof.join("host/data/unaging.additional.hash_dic.slice_0"))
        .expect("a removable file");
    let answer = export(&place, &prof, "out");
    assert!(answer.stderr.contains("hash without a name"), "{}", answer.stderr);
    let summary = table(&place, "out", "op_summary");
    assert_eq!(summary.lines().count(), 101);
    let name = summary.lines().nth(1).and_then(|row| row.split(',').nth(4)).expect("a name");
    assert!(name.parse::<u64>().is_ok_and(|hash| hash > 0), "{name}");
}

#[test]
fn records_whose_end_lies_before_their_begin_are_counted_and_left_out() {
    let place = Place::new();
    let prof = sample(&place, "100");
    change(&prof.join("device_0/data/stars_soc.data.0.slice_0"), |bytes| {
        // The times of the first ten tasks' begins and ends, in records of 64 bytes.
        for task in 0..10 {
            let (begin, end) = (task * 128 + 8, task * 128 + 72);
            for place in 0..8 {
                bytes.swap(begin + place, end + place);
            }
        }
    });
    let answer = export(&place, &prof, "out");
    assert!(answer.stderr.contains("20 × task start or end without its other half"), "{}", answer.stderr);
    assert_eq!(table(&place, "out", "task_time").lines().count(), 91);
}

#[test]
fn clocks_that_put_every_task_before_the_profile_are_said_and_counted() {
    let place = Place::new();
    let prof = sample(&place, "100");
    change(&prof.join("device_0/dev_start.log.0"), |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let line = text.lines().find(|line| line.starts_with("cntvct:")).expect("the counter").to_owned();
        *bytes = text.replace(&line, "cntvct: 900000000000000").into_bytes();
    });
    for command in [&["import"][..], &["export", "all"], &["show"]] {
        let answer = place.done(&[command, &[text(&prof)]].concat());
        for part in ["all 100 tasks", "before the profile begins", "dev_start.log"] {
            assert!(answer.stderr.contains(part), "{command:?}: no {part:?} in {}", answer.stderr);
        }
    }
    let losses = place.done(&["import", text(&prof), "--json"]).json()["losses"].clone();
    let counts: Vec<u64> = losses
        .as_array()
        .expect("losses")
        .iter()
        .filter(|loss| {
            loss["reason"].as_str().is_some_and(|it| it.contains("before the begin of the profile"))
        })
        .filter_map(|loss| loss["count"].as_u64())
        .collect();
    assert_eq!(counts, [100]);
}

/// As a user who isn't root, who may read everything; the test is skipped where it can't become one.
#[cfg(target_os = "linux")]
#[test]
fn files_that_may_not_be_read_are_named_and_the_rest_is_shown() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::below("/dev/shm");
    let prof = sample(&place, "100");
    let allow = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a changeable mode");
    };
    let copy = place.path("opscope");
    std::fs::copy(env!("CARGO_BIN_EXE_opscope"), &copy).expect("a copy of the program");
    for path in [&place.path("."), &copy, &prof, &prof.join("host"), &prof.join("device_0")] {
        allow(path, 0o755);
    }
    for folder in ["host/data", "device_0/data"] {
        allow(&prof.join(folder), 0o755);
    }
    for path in raw(&prof).into_keys() {
        allow(&path, 0o644);
    }
    let out = place.path("out");
    std::fs::create_dir(&out).expect("a new folder");
    allow(&out, 0o777);
    let run = |further: &[&str]| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy).args(further);
        command.env("HOME", place.path("nowhere")).current_dir(place.path("."));
        Some(Answer::from(command.output().ok()?))
    };
    match run(&["--version"]) {
        Some(answer) if answer.status == Some(0) => {}
        _ => return companions::skip("setpriv as root is needed"),
    }
    let slice = prof.join("device_0/data/ffts_profile.data.0.slice_0");
    allow(&slice, 0o000);
    let answer = run(&["export", "summary", text(&prof), "-o", text(&out)]).expect("it runs");
    assert_eq!(answer.status, Some(0), "{}", answer.stderr);
    for part in ["1 × file not readable (", "device_0/data/ffts_profile.data.0.slice_0)"] {
        assert!(answer.stderr.contains(part), "no {part:?} in {}", answer.stderr);
    }
    assert_eq!(table(&place, "out", "op_summary").lines().count(), 101);
    // Nothing may be written below the profile, and there is no cache folder either.
    let answer = run(&["export", "summary", text(&prof)]).expect("it runs");
    assert_eq!(answer.status, Some(1), "{}", answer.stderr);
    assert!(answer.stderr.contains("--output DIR"), "{}", answer.stderr);
    allow(&prof.join("device_0/data"), 0o000);
    let answer = run(&["import", text(&prof), "-o", text(&out)]).expect("it runs");
    assert!(answer.stderr.contains("device_0/data"), "{}", answer.stderr);
    assert!(!answer.stderr.contains("panicked"), "{}", answer.stderr);
    // One profile that fails doesn't keep those beside it from being told, in their order.
    let many = place.path("many");
    std::fs::create_dir(&many).expect("a new folder");
    allow(&many, 0o755);
    for number in 1..=6 {
        let to = many.join(format!("PROF_{number}"));
        let copied = std::process::Command::new("cp").arg("-a").args([&prof, &to]).status();
        assert!(copied.is_ok_and(|status| status.success()));
        allow(&to.join("device_0/data"), if number == 3 { 0o000 } else { 0o755 });
    }
    let answer = run(&["query", "many", "--json"]).expect("it runs");
    assert_eq!(answer.status, Some(1), "{}", answer.stderr);
    for part in ["many/PROF_3: ", "PROF_3/device_0/data", "1 of 6 profiles failed"] {
        assert!(answer.stderr.contains(part), "no {part:?} in {}", answer.stderr);
    }
    let rows = answer.json()["rows"].as_array().expect("rows").clone();
    let mut told: Vec<&str> = rows.iter().filter_map(|row| row["profile"].as_str()).collect();
    told.dedup();
    assert_eq!(told, [1, 2, 4, 5, 6].map(|number| format!("many/PROF_{number}")));
    allow(&prof, 0o000);
    let answer = run(&["import", text(&prof), "-o", text(&out)]).expect("it runs");
    assert_eq!(answer.status, Some(1), "{}", answer.stderr);
    assert!(answer.stderr.contains("Permission denied"), "{}", answer.stderr);
    allow(&prof, 0o755);
    allow(&prof.join("device_0/data"), 0o755);
}
