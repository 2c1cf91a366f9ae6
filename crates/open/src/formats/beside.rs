//! Files that tools leave in one folder, and that are read together: each is known by its content.

use std::fs;
use std::path::{Path, PathBuf};

use opscope_formats::input::Input;
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Trace};

use crate::OpenError;
use crate::look::Look;

/// How many files of a folder are looked at.
pub(crate) const MOST_FILES: usize = 256;

/// The files of a kind in a folder.
pub(crate) struct Files {
    /// Their paths, by name.
    pub found: Vec<PathBuf>,
    /// Whether all files of the folder were looked at.
    pub is_all: bool,
}

/// The plain files of a folder that are of a kind.
pub(crate) fn files_in(folder: &Path, stop: &Stop, is: impl Fn(&Look) -> bool) -> Files {
    let mut left = MOST_FILES;
    files_of(folder, stop, &mut left, is)
}

/// The plain files of a folder that are of a kind, of no more than are `left` to look at, until `stop` is wanted. Links
/// and pipes are passed over.
pub(crate) fn files_of(
    folder: &Path,
    stop: &Stop,
    left: &mut usize,
    mut is: impl FnMut(&Look) -> bool,
) -> Files {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let plain = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    let mut found: Vec<PathBuf> = plain.map(|entry| entry.path()).collect();
    found.sort();
    let is_all = found.len() <= *left;
    found.truncate(*left);
    *left -= found.len();
    found.retain(|path| !stop.is_wanted() && Look::met(path, stop).is_ok_and(|look| is(&look)));
    Files { found, is_all }
}

/// The same of the folder that a file lies in, without the file itself.
pub(super) fn files_beside(path: &Path, stop: &Stop, is: impl Fn(&Look) -> bool) -> Files {
    let own = std::path::absolute(path).unwrap_or_default();
    let folder = own.parent().map(Path::to_owned).unwrap_or_default();
    let mut files = files_in(&folder, stop, is);
    files.found.retain(|found| *found != own);
    files
}

/// The bytes of a file beside a profile, unpacked.
pub(super) fn bytes(path: &Path, stop: &Stop) -> Result<Input, OpenError> {
    let failed = |source| OpenError::Io { path: path.to_owned(), source };
    Input::open_until(path, &|| stop.is_wanted()).map_err(failed)
}

/// The only one of the profiles in a folder.
///
/// # Errors
/// With their paths where there are several, or where not all files were looked at.
pub(super) fn only(folder: &Path, what: &'static str, files: Files) -> Result<PathBuf, OpenError> {
    let (path, Files { mut found, is_all }) = (folder.to_owned(), files);
    match found.len() {
        1 if is_all => Ok(found.remove(0)),
        0 | 1 => Err(OpenError::NotAllSeen { path, found }),
        _ => Err(OpenError::Several { path, what, found }),
    }
}

/// Descriptions of a profile's operators in files beside it: the one of several that knows most of them.
pub(super) struct Described<D> {
    /// The description, if one knows more than half of the operators: those of other networks share some names.
    pub best: Option<D>,
    /// The files with other descriptions, or with none that can be read.
    pub others: Vec<PathBuf>,
}

impl<D> Described<D> {
    /// Reads the descriptions of a kind beside a profile; `knows` says whether one has an operator of a name.
    pub(super) fn beside(
        path: &Path,
        alone: &Trace,
        stop: &Stop,
        is: impl Fn(&Look) -> bool,
        read: impl Fn(&Path) -> Option<D>,
        knows: impl Fn(&D, &str) -> bool,
    ) -> Self {
        let (mut best, mut others) = (None::<(usize, D)>, Vec::new());
        // Nothing tells of which network a profile without operators is.
        if alone.operators.is_empty() {
            return Self { best: None, others };
        }
        for found in files_beside(path, stop, is).found {
            let Some(description) = read(&found) else {
                others.push(found);
                continue;
            };
            let names = alone.operators.name().iter().map(|name| alone.strings.get(*name));
            let known = names.filter(|name| knows(&description, name)).count();
            match known * 2 > alone.operators.len() {
                false => others.push(found),
                true if best.as_ref().is_none_or(|(best, _)| known > *best) => {
                    best = Some((known, description))
                }
                true => {}
            }
        }
        Self { best: best.map(|(_, description)| description), others }
    }

    /// Counts what was left out.
    pub(super) fn count_others(&self, trace: &mut Trace) {
        for path in &self.others {
            trace.count_loss(LossKind::OtherNetwork, 1, &path.display().to_string());
        }
    }
}
