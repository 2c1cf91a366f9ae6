//! Writing a file whole or not at all.

use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

/// Files and folders that aren't to be there when the program ends early.
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
        let mut files = unfinished();
        let made = make(&path)?;
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

/// A file under a temporary name, which is gone unless [`Draft::keep_as`] gives it its own. It gets
/// the mode 0640, less what the umask takes away.
#[derive(Debug)]
pub struct Draft {
    // In this order: it is removed before it is forgotten.
    file: NamedTempFile,
    _unfinished: Unfinished,
}

impl Draft {
    /// Begins a file in a folder.
    ///
    /// # Errors
    /// When the file can't be made.
    pub fn new(folder: &Path) -> io::Result<Self> {
        // Under the lock, so that there is no moment at which the file is there and not noted.
        let mut files = unfinished();
        let file = temporary(folder)?;
        let path = file.path().to_owned();
        files.push(path.clone());
        Ok(Self { file, _unfinished: Unfinished { path } })
    }

    /// Its temporary name.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Gives it its name; what had that name before is replaced.
    ///
    /// # Errors
    /// When the file can't be renamed; then the draft is gone.
    pub fn keep_as(self, path: &Path) -> io::Result<()> {
        self.file.persist(path).map(drop).map_err(|failed| failed.error)
    }
}

impl Write for Draft {
    // To the file itself, because errors would name the temporary path otherwise.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

impl Seek for Draft {
    fn seek(&mut self, place: io::SeekFrom) -> io::Result<u64> {
        self.file.as_file_mut().seek(place)
    }
}

/// Writes a file under a temporary name beside `path` and renames it when `content` is done, so
/// that no reader ever sees half of it. When anything fails, `path` is as it was before.
///
/// The file gets the mode 0640, less what the umask takes away.
///
/// # Errors
/// The errors of `content` and of the system; a missing folder is named as such.
pub fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    match target(path)? {
        Target::File { folder } => write_draft(folder, path, |writer| content(writer)),
        Target::Device => {
            let mut writer = BufWriter::new(std::fs::OpenOptions::new().write(true).open(path)?);
            content(&mut writer)?;
            writer.flush()
        }
    }
}

/// As [`write_atomically`], for content that goes back in its file, which can't be a pipe then.
///
/// # Errors
/// The errors of `content` and of the system.
pub fn write_seekable(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<Draft>) -> io::Result<()>,
) -> io::Result<()> {
    write_draft(target(path)?.folder()?, path, content)
}

fn write_draft(
    folder: &Path,
    path: &Path,
    content: impl FnOnce(&mut BufWriter<Draft>) -> io::Result<()>,
) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, Draft::new(folder)?);
    content(&mut writer)?;
    writer.into_inner().map_err(io::IntoInnerError::into_error)?.keep_as(path)
}

/// As [`write_atomically`], for what insists on opening its file by itself: `make` fills the empty
/// file under the temporary path that it is given.
///
/// # Errors
/// The errors of `make` and of the system.
pub(crate) fn replace_atomically<Error: From<io::Error>>(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let draft = Draft::new(target(path)?.folder()?)?;
    make(draft.path())?;
    Ok(draft.keep_as(path)?)
}

/// Finds out whether [`write_atomically`] could write a file, without touching it.
///
/// # Errors
/// With the reason why it couldn't.
pub fn check_target(path: &Path) -> io::Result<()> {
    match target(path)? {
        Target::File { folder } => Draft::new(folder).map(drop),
        Target::Device => std::fs::OpenOptions::new().write(true).open(path).map(drop),
    }
}

/// The place that a path leads to.
enum Target<'p> {
    /// A file that is or isn't there yet, in a folder that is.
    File { folder: &'p Path },
    /// A pipe or a device, which can't be replaced: it takes what is written.
    Device,
}

impl<'p> Target<'p> {
    fn folder(self) -> io::Result<&'p Path> {
        match self {
            Self::File { folder } => Ok(folder),
            Self::Device => {
                let text = "this needs a file, not a pipe or a device";
                Err(io::Error::new(io::ErrorKind::InvalidInput, text))
            }
        }
    }
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

/// Makes a folder and those above it, for the user and the group only.
///
/// # Errors
/// When the system refuses.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o750);
    builder.create(folder)
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
    fn what_is_half_written_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace.json");
        let written = write_atomically(&path, |file| {
            file.write_all(b"half")?;
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
            assert!(unfinished().iter().any(|path| path.starts_with(folder.path())));
            Ok(())
        });
        written.unwrap();
        assert!(!unfinished().iter().any(|path| path.starts_with(folder.path())));
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
