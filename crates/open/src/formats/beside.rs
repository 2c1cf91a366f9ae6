//! Files that tools leave in one folder, and that are read together: each is known by its content.

use std::fs;
use std::path::{Path, PathBuf};

use opscope_formats::input::Input;
use opscope_formats::reading::Stop;

use crate::OpenError;
use crate::look::Look;

/// How many files of a folder are looked at.
const MOST_FILES: usize = 256;

/// The plain files of a folder that are of a kind, by name. Links and pipes are passed over.
pub(super) fn files_in(folder: &Path, is: impl Fn(&Look) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut paths: Vec<PathBuf> = plain.map(|entry| entry.path()).collect();
    paths.sort();
    paths.truncate(MOST_FILES);
    paths.retain(|path| Look::at(path).is_ok_and(|look| is(&look)));
    paths
}

/// The same of the folder that a file lies in, without the file itself.
pub(super) fn files_beside(path: &Path, is: impl Fn(&Look) -> bool) -> Vec<PathBuf> {
    let own = std::path::absolute(path).unwrap_or_default();
    let folder = own.parent().map(Path::to_owned).unwrap_or_default();
    let mut found = files_in(&folder, is);
    found.retain(|found| *found != own);
    found
}

/// The bytes of a file beside a profile, unpacked.
pub(super) fn bytes(path: &Path, stop: &Stop) -> Result<Input, OpenError> {
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    Input::open_until(path, &|| stop.is_wanted()).map_err(failed)
}

/// The only one of the profiles in a folder.
///
/// # Errors
/// With their paths where there are several.
pub(super) fn only(folder: &Path, what: &'static str, mut found: Vec<PathBuf>) -> Result<PathBuf, OpenError> {
    match found.len() {
        1 => Ok(found.remove(0)),
        _ => Err(OpenError::Several { path: folder.to_owned(), what, found }),
    }
}
