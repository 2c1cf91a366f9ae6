//! Writing a file whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::Path;

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
    let mut writer = BufWriter::with_capacity(1 << 16, temporary(folder)?);
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
    let temporary = temporary(folder)?.into_temp_path();
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
    builder.tempfile_in(folder)
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
