//! Folders for results: made for the user and the group only, and synced once something was renamed there.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::{at_once, system};

/// Folders whose entries changed since they were last synced.
static CHANGED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Notes that the entries of a folder changed, for [`sync_folders`]; without a name it is the current one.
pub fn note_change(folder: Option<&Path>) {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    CHANGED.lock().unwrap_or_else(PoisonError::into_inner).insert(folder.to_owned());
}

/// Makes a folder and those above it, for the user and the group only: mode 0750, less what the umask
/// takes away.
///
/// # Errors
/// When the system refuses.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let is_missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let made: Vec<&Path> = folder.ancestors().take_while(is_missing).collect();
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    system::with_folders_for_user_and_group(&mut builder);
    builder.create(folder).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            io::Error::new(error.kind(), "something of this name is in the way, and is no folder")
        }
        _ => error,
    })?;
    made.into_iter().for_each(|folder| note_change(folder.parent()));
    Ok(())
}

/// Makes all new names outlast a failure of the machine. A program calls it once, before it says that
/// its work is done: what was renamed is whole in any case, and a folder needn't be synced for each file.
///
/// # Errors
/// When a disk fails; the folder is named.
pub fn sync_folders() -> io::Result<()> {
    let folders = std::mem::take(&mut *CHANGED.lock().unwrap_or_else(PoisonError::into_inner));
    let folders: Vec<PathBuf> = folders.into_iter().collect();
    let sync = |folder: &PathBuf| {
        system::sync_folder(folder).map_err(|error| {
            let text = format!("{}: the new files here may not outlast a failure: {error}", folder.display());
            io::Error::new(error.kind(), text)
        })
    };
    at_once::for_each(&folders, sync).into_iter().collect()
}
