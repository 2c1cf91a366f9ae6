//! The folders of the inputs: what is below one, and how an input comes into the one of its target.

use std::path::{Path, PathBuf};

/// The folders in a folder, by their names.
pub(super) fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// All files below a folder.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { all.extend(files(&path)) } else { all.push(path) }
    }
    all
}

pub(super) fn has(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(super) fn copy(corpus: &Path, target: &str, path: &Path) {
    copy_as(corpus, target, path, &name_of(path));
}

/// Large files would only slow the fuzzer down, so their begin is taken.
pub(super) fn copy_as(corpus: &Path, target: &str, path: &Path, name: &str) {
    let mut content = std::fs::read(path).expect("a readable file");
    let is_database = content.starts_with(b"SQLite format 3");
    if !is_database {
        content.truncate(16_384);
    }
    save(corpus, target, name, &content);
}

pub(super) fn save(corpus: &Path, target: &str, name: &str, content: &[u8]) {
    let folder = corpus.join(target);
    std::fs::create_dir_all(&folder).expect("a new folder");
    std::fs::write(folder.join(name), content).expect("space on disk");
}
