//! Which profiles are being written: whoever writes one holds a lock of the system's on its directory,
//! which ends with the process, however that ends.

use std::fs::File;
use std::path::{Path, PathBuf};

/// A profile that is being written.
#[derive(Debug)]
pub(crate) struct Claim {
    _locked: Option<File>,
}

impl Claim {
    /// Notes that a profile is being written. Where the file system knows no locks, nobody is told.
    pub(crate) fn on(profile: &Path) -> Self {
        let directory = File::open(profile).ok();
        Self { _locked: directory.filter(|directory| directory.try_lock().is_ok()) }
    }
}

/// Whether somebody writes a profile now.
pub(crate) fn is_claimed(profile: &Path) -> bool {
    let directory = File::open(profile);
    directory.is_ok_and(|it| matches!(it.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
}

/// The profiles in a directory that somebody writes now.
pub(crate) fn claimed_in(parent: &Path) -> Vec<PathBuf> {
    profiles_in(parent).into_iter().filter(|profile| is_claimed(profile)).collect()
}

/// The profiles in a directory.
pub(crate) fn profiles_in(parent: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
    let is_profile =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("PROF_"));
    entries.map(|entry| entry.path()).filter(is_profile).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_claimed_as_long_as_it_is_written() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let (mine, other) = (folder.path().join("PROF_1"), folder.path().join("PROF_2"));
        for path in [&mine, &other] {
            std::fs::create_dir(path).expect("a directory");
        }
        let claim = Claim::on(&mine);
        assert_eq!(claimed_in(folder.path()), [mine]);
        drop(claim);
        assert!(claimed_in(folder.path()).is_empty());
    }
}
