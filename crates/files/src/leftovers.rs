//! Temporary files of programs that are gone: killed, or cut off from their disk.
//!
//! Whoever writes one holds the system's lock on it, which can't outlive the program. A temporary file of
//! the same user without that lock is nobody's any more. Removed is it while its remover holds the lock,
//! so that a writer which has just made a file, and hasn't locked it yet, finds that out and makes another.

use std::fs::File;
use std::path::Path;

#[cfg(unix)]
pub(crate) use of_unix::{lock_new, remove_once};

#[cfg(unix)]
mod of_unix {
    use std::collections::BTreeSet;
    use std::fs::{Metadata, OpenOptions, TryLockError};
    use std::io;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    use std::path::PathBuf;
    use std::sync::{Mutex, PoisonError};

    use super::{File, Path};
    use crate::draft::{PREFIX, SUFFIX};

    /// Folders that were looked through by this program.
    static SEEN: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

    /// Locks a file that was just made; false if it was taken for a leftover and removed.
    pub(crate) fn lock_new(file: &File) -> bool {
        match file.try_lock() {
            Ok(()) => file.metadata().is_ok_and(|found| found.nlink() > 0),
            Err(TryLockError::WouldBlock) => false,
            // A file system without locks: there nothing is taken for a leftover either.
            Err(TryLockError::Error(_)) => true,
        }
    }

    /// Removes leftovers from a folder, the first time that it is named. `own` is a file of this
    /// program, by which its user is known as the folder's file system sees it.
    pub(crate) fn remove_once(folder: &Path, own: &File) {
        if !SEEN.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned()) {
            return;
        }
        let (Ok(own), Ok(entries)) = (own.metadata(), std::fs::read_dir(folder)) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
                // A file that can't be removed does no harm.
                let _ = remove(&entry.path(), &own);
            }
        }
    }

    fn remove(path: &Path, own: &Metadata) -> io::Result<()> {
        let found = path.symlink_metadata()?;
        if !found.is_file() || found.uid() != own.uid() || is_same(&found, own) {
            return Ok(());
        }
        // For writing, because file systems of the network lock nothing else for one program alone.
        let mut options = OpenOptions::new();
        options.read(true).write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let file = options.open(path)?;
        let is_left = file.try_lock().is_ok()
            && is_same(&file.metadata()?, &found)
            && is_same(&path.symlink_metadata()?, &found);
        if is_left { std::fs::remove_file(path) } else { Ok(()) }
    }

    fn is_same(a: &Metadata, b: &Metadata) -> bool {
        (a.dev(), a.ino()) == (b.dev(), b.ino())
    }
}

/// Elsewhere a lock would keep its own program from opening the file a second time. So nothing tells whether a
/// file is still written, and what a killed program left stays.
#[cfg(not(unix))]
pub(crate) fn lock_new(_file: &File) -> bool {
    true
}

#[cfg(not(unix))]
pub(crate) fn remove_once(_folder: &Path, _own: &File) {}

#[cfg(all(test, unix))]
mod tests {
    use std::fs::OpenOptions;

    use crate::draft::Draft;

    #[test]
    fn only_files_that_nobody_writes_any_more_are_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str| std::fs::write(folder.path().join(name), "half").expect("a file");
        for name in [".opscope-left01.part", ".opscope-alive1.part", ".opscope-other.txt", "opscope-x.part"] {
            write(name);
        }
        std::os::unix::fs::symlink("opscope-x.part", folder.path().join(".opscope-link01.part"))
            .expect("a link");
        std::fs::create_dir(folder.path().join(".opscope-folder.part")).expect("a folder");
        let alive = OpenOptions::new().write(true).open(folder.path().join(".opscope-alive1.part"));
        let alive = alive.expect("a file");
        alive.try_lock().expect("a lock");

        let draft = Draft::new(folder.path()).expect("a draft");
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .expect("the folder")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path != draft.path())
            .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
            .collect();
        names.sort();
        let kept = [
            ".opscope-alive1.part",
            ".opscope-folder.part",
            ".opscope-link01.part",
            ".opscope-other.txt",
            "opscope-x.part",
        ];
        assert_eq!(names, kept);
    }

    #[test]
    fn a_file_that_was_removed_before_it_was_locked_is_noticed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("new");
        let file = std::fs::File::create(&path).expect("a file");
        assert!(super::lock_new(&file));
        let other = std::fs::File::open(&path).expect("a file");
        assert!(!super::lock_new(&other), "it is locked by another");
        drop(file);
        std::fs::remove_file(&path).expect("it is there");
        assert!(!super::lock_new(&other), "it has no name any more");
    }
}
