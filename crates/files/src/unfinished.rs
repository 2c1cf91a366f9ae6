//! Files and folders that aren't to be there when the program ends early.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes whatever is only half written, for a program that ends at once. From then on no file can
/// be begun: whoever tries waits for the end.
pub fn discard_unfinished() {
    let mut files = unfinished();
    // Nothing can be done about what can't be removed.
    for path in files.drain(..) {
        if path.is_dir() {
            let _ = remove_folder(&path);
        } else {
            let _ = std::fs::remove_file(path);
        }
    }
    std::mem::forget(files);
}

/// Removes a folder into which files may still be written.
fn remove_folder(path: &Path) -> io::Result<()> {
    const TRIES: usize = 50;
    for _ in 1..TRIES {
        if std::fs::remove_dir_all(path).is_ok() {
            return Ok(());
        }
    }
    std::fs::remove_dir_all(path)
}

/// A file, or a folder with all that is in it, which [`discard_unfinished`] removes for as long as
/// this lives.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    /// Takes note of a file or folder that is there, or will be.
    pub fn new(path: PathBuf) -> Self {
        unfinished().push(path.clone());
        Self { path }
    }

    /// Notes what `make` leaves at `path` once it succeeds. No signal comes between the two, so that
    /// there is no moment at which the file is there and not noted.
    ///
    /// # Errors
    /// The errors of `make`; then nothing is noted.
    pub fn once_made<Made, Error>(
        path: PathBuf,
        make: impl FnOnce(&Path) -> Result<Made, Error>,
    ) -> Result<(Made, Self), Error> {
        Self::once_named(|| make(&path).map(|made| (made, path.clone())))
    }

    /// As [`Unfinished::once_made`], where `make` chooses the path.
    pub(crate) fn once_named<Made, Error>(
        make: impl FnOnce() -> Result<(Made, PathBuf), Error>,
    ) -> Result<(Made, Self), Error> {
        let mut files = unfinished();
        let (made, path) = make()?;
        files.push(path.clone());
        Ok((made, Self { path }))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut files = unfinished();
        if let Some(place) = files.iter().position(|path| *path == self.path) {
            files.swap_remove(place);
        }
    }
}

#[cfg(test)]
pub(crate) fn is_noted(folder: &Path) -> bool {
    unfinished().iter().any(|path| path.starts_with(folder))
}
