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
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let text = format!("the folder {} does not exist", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, text));
    }
    if path.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "a folder of this name is in the way"));
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".opscope-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o640));
    let file = builder.tempfile_in(folder)?;
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    content(&mut writer)?;
    let file = writer.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(path).map_err(|failed| failed.error)?;
    Ok(())
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
