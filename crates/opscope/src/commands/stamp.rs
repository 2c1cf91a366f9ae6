//! The files of a profile as they were when it was read, to tell later whether they still are.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use opscope_web::Change;

/// Files that are looked at again: folders of more are judged by so many.
const MOST_FILES: usize = 4096;

/// How deep folders of profiles lie within one another: a raw directory's `device_0/data`, and those of several runs.
const DEEPEST: usize = 5;

/// Sizes and times of files.
#[derive(Debug)]
pub struct Stamp(Vec<(PathBuf, u64, Option<SystemTime>)>);

impl Stamp {
    /// That of a file, or of the files in a folder, as they are now.
    pub fn of(path: &Path) -> Self {
        let mut files = Vec::new();
        add(path, DEEPEST, &mut files);
        Self(files)
    }

    /// The fate of the files. Files that came to a folder later aren't a change: they are other tools' results.
    pub fn change(&self) -> Option<Change> {
        self.0.iter().find_map(|(path, size, time)| match fs::metadata(path) {
            Ok(now) => (now.len() != *size || modified(&now) != *time).then_some(Change::Changed),
            Err(error) => (error.kind() == ErrorKind::NotFound).then_some(Change::Gone),
        })
    }
}

fn add(path: &Path, deep: usize, files: &mut Vec<(PathBuf, u64, Option<SystemTime>)>) {
    if files.len() == MOST_FILES {
        return;
    }
    let Ok(found) = fs::metadata(path) else { return };
    if found.is_file() {
        files.push((path.to_owned(), found.len(), modified(&found)));
    } else if found.is_dir() && deep > 0 {
        let mut within: Vec<PathBuf> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        within.sort_unstable();
        within.iter().for_each(|path| add(path, deep - 1, files));
    }
}

fn modified(found: &Metadata) -> Option<SystemTime> {
    found.modified().ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_grows_or_vanishes_is_told_of_and_a_new_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let within = folder.path().join("device_0/data");
        fs::create_dir_all(&within).unwrap();
        let file = within.join("task.bin");
        fs::write(&file, "1234").unwrap();
        let stamp = Stamp::of(folder.path());
        assert_eq!(stamp.change(), None);
        fs::write(within.join("result.csv"), "").unwrap();
        assert_eq!(stamp.change(), None, "others may write beside it");
        fs::write(&file, "12345").unwrap();
        assert_eq!(stamp.change(), Some(Change::Changed));
        fs::remove_file(&file).unwrap();
        assert_eq!(stamp.change(), Some(Change::Gone));
    }
}
