//! Finds the golden profiles, where they are present.
#![allow(dead_code, reason = "each test uses its own part")]

pub mod edited;
pub mod reused;
pub mod written;

use std::path::{Path, PathBuf};

use opscope_cann::join::Joined;
use opscope_cann::{Data, ExportOptions, discover, export_summary, export_timeline};
use opscope_testing::companions;
use serde_json::Value;

/// The folder of golden cases, or `None` (with a note) where it is absent.
pub fn golden() -> Option<PathBuf> {
    companions::shared("golden/ascend")
}

/// The names of the golden cases that have an input of their own.
pub fn cases(golden: &Path) -> Vec<String> {
    let mut cases: Vec<String> = std::fs::read_dir(golden)
        .expect("a listing of the golden cases")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| golden.join(name).join("input").is_dir())
        .collect();
    cases.sort();
    cases
}

/// A golden case, decoded.
pub fn load(golden: &Path, case: &str) -> Data {
    let mut profiles = discover(&golden.join(case).join("input")).expect("a profile");
    assert_eq!(profiles.len(), 1, "{case}");
    Data::load(profiles.remove(0)).expect("a readable profile")
}

/// Copies a directory tree.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a new directory");
    for entry in std::fs::read_dir(from).expect("a listing").flatten() {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::write(&target, std::fs::read(&path).expect("a readable file")).expect("a new file");
        }
    }
}

/// All files below a directory, sorted.
pub fn files(directory: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(directory).expect("a listing").flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all.sort();
    all
}

/// Gives a profile another device that reported the same as one that it has.
pub fn copy_device(profile: &Path, from: u32, to: u32) {
    let (old, new) = (profile.join(format!("device_{from}")), profile.join(format!("device_{to}")));
    for (old, new) in [(old.clone(), new.clone()), (old.join("data"), new.join("data"))] {
        std::fs::create_dir_all(&new).expect("a new directory");
        for entry in std::fs::read_dir(old).expect("a listing").flatten().filter(|e| e.path().is_file()) {
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = name.replace(&format!(".{from}"), &format!(".{to}"));
            std::fs::copy(entry.path(), new.join(name)).expect("a new file");
        }
    }
}

/// The first profile below a directory.
pub fn joined(directory: &Path) -> Joined {
    let profile = discover(directory).expect("a profile").remove(0);
    Joined::new(Data::load(profile).expect("a readable profile"))
}

/// The lines of an exported table; none if there is no such table.
pub fn table(joined: &Joined, kind: &str) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    export_summary(joined, directory.path(), "0", ExportOptions::default()).expect("space on disk");
    let text = std::fs::read_to_string(directory.path().join(format!("{kind}_0.csv")));
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The cells of the given columns of an exported table, row by row.
pub fn cells(joined: &Joined, kind: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let text = table(joined, kind).join("\n");
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().expect("headers").clone();
    let place = |name: &&str| {
        headers.iter().position(|header| header == *name).unwrap_or_else(|| panic!("no column {name}"))
    };
    let places: Vec<usize> = columns.iter().map(place).collect();
    let row = |row: csv::StringRecord| places.iter().map(|&place| row[place].trim().to_owned()).collect();
    reader.records().map(|record| row(record.expect("a row"))).collect()
}

/// The events of the whole timeline.
pub fn timeline(joined: &Joined) -> Vec<Value> {
    let out = tempfile::tempdir().expect("a temporary directory");
    export_timeline(joined, out.path(), "0", ExportOptions::default()).expect("space on disk");
    let text = std::fs::read_to_string(out.path().join("msprof_0.json")).expect("a timeline");
    serde_json::from_str(&text).expect("JSON")
}
