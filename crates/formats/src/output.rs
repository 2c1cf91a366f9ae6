//! Writing a file whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Files under a temporary name that aren't whole yet.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Removes whatever is only half written, for a program that must end at once.
pub fn discard_unfinished() {
    for path in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
        // Nothing can be done about a file that can't be removed.
        let _ = std::fs::remove_file(path);
    }
}

/// A file under a temporary name, known as unfinished for as long as it has that name.
struct Unfinished {
    path: PathBuf,
}

impl Unfinished {
    fn new(file: &tempfile::NamedTempFile) -> Self {
        let path = file.path().to_owned();
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        Self { path }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).retain(|path| *path != self.path);
    }
}

/// Writes a file under a temporary name beside `path` and renames it when `content` is done, so
/// that no reader ever sees half of it. When anything fails, `path` is as it was before.
///
/// The file gets the mode 0640, less what the umask takes away.
///
/// # Errors
/// What `content` or the system reports; a missing folder is named as such.
pub fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    let folder = match target(path)? {
        Target::File { folder } => folder,
        Target::Device => {
            let mut writer = BufWriter::new(std::fs::OpenOptions::new().write(true).open(path)?);
            content(&mut writer)?;
            return writer.flush();
        }
    };
    let file = temporary(folder)?;
    let _unfinished = Unfinished::new(&file);
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    content(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// As [`write_atomically`], for what insists on opening its file by itself: `make` fills the empty
/// file under the temporary path that it is given.
///
/// # Errors
/// What `make` or the system reports.
pub(crate) fn replace_atomically<Error: From<io::Error>>(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let Target::File { folder } = target(path)? else {
        let text = "this needs a file, not a pipe or a device";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text).into());
    };
    let temporary = temporary(folder)?;
    let _unfinished = Unfinished::new(&temporary);
    let temporary = temporary.into_temp_path();
    make(&temporary)?;
    temporary.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

/// Finds out whether [`write_atomically`] could write a file, without touching it.
///
/// # Errors
/// With the reason why it couldn't.
pub fn check_target(path: &Path) -> io::Result<()> {
    match target(path)? {
        Target::File { folder } => temporary(folder).map(drop),
        Target::Device => std::fs::OpenOptions::new().write(true).open(path).map(drop),
    }
}

/// What a path leads to.
enum Target<'p> {
    /// A file that is or isn't there yet, in a folder that is.
    File { folder: &'p Path },
    /// A pipe or a device, which can't be replaced: it takes what is written.
    Device,
}

fn target(path: &Path) -> io::Result<Target<'_>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => {
            Err(io::Error::new(io::ErrorKind::IsADirectory, "a folder of this name is in the way"))
        }
        Ok(found) if !found.is_file() => Ok(Target::Device),
        _ if folder.is_dir() => Ok(Target::File { folder }),
        _ => {
            let text = format!("the folder {} does not exist", folder.display());
            Err(io::Error::new(io::ErrorKind::NotFound, text))
        }
    }
}

fn temporary(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".opscope-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o640));
    // The system's own words would name the temporary file, which means nothing to the user.
    builder.tempfile_in(folder).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            let text = format!("the folder {} cannot be written", folder.display());
            io::Error::new(io::ErrorKind::PermissionDenied, text)
        }
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        write_atomically(&path, |file| file.write_all(b"old")).unwrap();
        let failed = write_atomically(&path, |file| {
            file.write_all(b"half of the n")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let failed = write_atomically(&folder.path().join("missing/trace.json"), |_| Ok(()));
        assert!(failed.unwrap_err().to_string().contains("missing does not exist"));
    }

    #[test]
    fn what_is_half_written_can_be_discarded_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let written = write_atomically(&path, |file| {
            file.write_all(b"half")?;
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            let unfinished = UNFINISHED.lock().unwrap().clone();
            assert!(unfinished.iter().any(|path| path.starts_with(folder.path())));
            Ok(())
        });
        written.unwrap();
        let unfinished = UNFINISHED.lock().unwrap().clone();
        assert!(!unfinished.iter().any(|path| path.starts_with(folder.path())));
    }

    #[test]
    fn a_target_is_checked_without_being_touched() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_target(&folder.path().join("new.db")).is_ok());
        assert!(check_target(folder.path()).is_err());
        assert!(check_target(&folder.path().join("missing/new.db")).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn others_cannot_read_what_is_written() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        write_atomically(&path, |file| file.write_all(b"{}")).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o137, 0);
    }
}
