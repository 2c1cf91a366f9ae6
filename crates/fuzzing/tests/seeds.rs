//! The inputs that lie in the repository, beside those that are made today.

use std::path::{Path, PathBuf};

use opscope_fuzzing::seeds::{Sources, write};
use opscope_fuzzing::{TARGETS, Trail};

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all
}

#[test]
fn the_inputs_of_the_repository_are_those_that_are_made_today() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let made = tempfile::tempdir().expect("a temporary directory");
    write(made.path(), &Sources::default());
    let made_files = files(made.path());
    assert!(made_files.len() > 100, "{} inputs", made_files.len());
    let mut other = Vec::new();
    for path in made_files {
        let name = path.strip_prefix(made.path()).expect("a file below it");
        let kept = std::fs::read(kept.join(name));
        // The manifest of a set has the time at which it was made.
        let is_dated = name.starts_with("rank_set");
        let is_same = kept.is_ok_and(|kept| is_dated || Some(kept) == std::fs::read(&path).ok());
        if !is_same {
            other.push(name.display().to_string());
        }
    }
    assert!(
        other.is_empty(),
        "to make them anew: cargo test --workspace --test fuzz -- --write-seeds fuzz/seeds\n{other:#?}"
    );
}

#[test]
fn the_documented_number_of_targets_is_that_of_all_and_the_program() {
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reliability.md");
    let text = std::fs::read_to_string(text).expect("a readable file");
    let number = format!("`fuzz.rs`: {} targets", TARGETS.len() + 1);
    assert!(text.contains(&number), "docs/reliability.md doesn't say '{number}'");
}

#[test]
fn every_target_makes_something_of_an_input_of_the_repository() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let is_answered = |path: &PathBuf, run: fn(&[u8], &mut Trail)| {
        let mut trail = Trail::default();
        run(&std::fs::read(path).expect("a readable file"), &mut trail);
        trail.is_answered()
    };
    let is_refused = |name: &&str| {
        let target = TARGETS.iter().find(|target| target.name == *name).expect("a target");
        !files(&kept.join(name)).iter().any(|path| is_answered(path, target.run))
    };
    let with_inputs = TARGETS.iter().map(|target| target.name).filter(|name| kept.join(name).is_dir());
    let refused: Vec<&str> = with_inputs.filter(is_refused).collect();
    assert!(refused.is_empty(), "changes of inputs that are refused reach nothing: {refused:?}");
    for target in TARGETS.iter().filter(|target| !target.kinds().is_empty()) {
        let mut trail = Trail::default();
        for path in files(&kept.join(target.name)) {
            (target.run)(&std::fs::read(path).expect("a readable file"), &mut trail);
        }
        let missed: Vec<_> = target.kinds().iter().filter(|kind| !trail.kinds().contains(*kind)).collect();
        assert!(missed.is_empty(), "{}: no input of the kinds {missed:?} is understood", target.name);
    }
}
