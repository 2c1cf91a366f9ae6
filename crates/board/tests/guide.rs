//! The table of what the vendor's guide says is whole, and every test that it names exists.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// How many statements the guide makes.
const STATEMENTS: usize = 81;

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            rust_files(&entry, found);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            found.push(entry);
        }
    }
}

/// The names of all functions that are tests.
fn tests() -> HashSet<String> {
    let mut files = Vec::new();
    rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."), &mut files);
    let mut names = HashSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("fn ") {
                if is_test {
                    names.insert(rest.split('(').next().unwrap().to_owned());
                }
                is_test = false;
            } else if line.starts_with("#[test]") {
                is_test = true;
            }
        }
    }
    names
}

#[test]
fn every_statement_of_the_guide_has_a_test_that_exists() {
    let table = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/README.md")).unwrap();
    let rows: Vec<Vec<&str>> = (table.lines())
        .filter(|line| line.starts_with("| ") && !line.starts_with("| subject"))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), STATEMENTS);
    let subjects: HashSet<&str> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(subjects.len(), STATEMENTS, "a subject stands twice");
    let tests = tests();
    for row in rows {
        let [subject, says, test] = row[..] else { panic!("{row:?}") };
        assert!(!says.is_empty(), "{subject}");
        if test == "*environment*" {
            continue;
        }
        let name = test.trim_matches('`');
        assert!(tests.contains(name), "{subject}: there is no test {name}");
    }
}
