//! The place that a path leads to, and whether a result may go there.
//!
//! | there is | what happens |
//! |---|---|
//! | nothing, or a plain file | a new file is written beside it and takes its place |
//! | a file that may not be written, a symbolic link | refused: replacing either isn't what was asked for |
//! | a pipe, a terminal, `/dev/null` | written to as it is |
//! | a pipe that nobody reads | refused: opening it would wait, perhaps for ever |
//! | standard output or error by a name such as `/dev/stdout` | written to from where it stands |
//! | a folder, a disk, a socket | refused |

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::system;

/// Streams that were found to be writable, until they are written to.
static HELD: Mutex<Vec<(PathBuf, File)>> = Mutex::new(Vec::new());

/// The place that a path leads to.
pub(crate) enum Target<'p> {
    /// A file that is or isn't there yet, in a folder that is.
    File { folder: &'p Path },
    /// Something that can't be replaced: it takes what is written.
    Stream(Stream),
}

/// Something that takes what is written.
#[derive(Clone, Copy)]
pub(crate) enum Stream {
    /// This program's own output.
    #[cfg(unix)]
    StandardOutput,
    /// This program's own error output.
    #[cfg(unix)]
    StandardError,
    /// A pipe with a name.
    #[cfg(unix)]
    Pipe,
    /// A terminal, `/dev/null` and the like.
    Device,
}

impl<'p> Target<'p> {
    /// The folder of a file.
    pub(crate) fn folder(self) -> io::Result<&'p Path> {
        match self {
            Self::File { folder } => Ok(folder),
            Self::Stream(_) => Err(refused("this needs a file, not a pipe or a device")),
        }
    }
}

/// Finds out what a path leads to.
///
/// # Errors
/// When nothing can or should be written there.
pub(crate) fn target(path: &Path) -> io::Result<Target<'_>> {
    #[cfg(unix)]
    if let Some(stream) = own_stream(path) {
        return Ok(Target::Stream(stream));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match path.symlink_metadata() {
        Ok(found) if found.is_symlink() => of_link(path),
        Ok(found) => of_entry(path, &found, folder),
        Err(_) if folder.is_dir() => Ok(Target::File { folder }),
        Err(_) => {
            let text = format!("the folder {} does not exist", folder.display());
            Err(io::Error::new(io::ErrorKind::NotFound, text))
        }
    }
}

/// A link to a stream is as good as the stream: systems and shells name theirs so.
fn of_link<'p>(path: &Path) -> io::Result<Target<'p>> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(in_the_way()),
        Ok(found) if !found.is_file() => Ok(Target::Stream(stream(&found)?)),
        _ => {
            let place =
                path.read_link().map_or_else(|_| "elsewhere".to_owned(), |it| it.display().to_string());
            Err(refused(&format!(
                "this is a symbolic link to {place}, which is neither followed nor replaced; name that file \
                 itself, or remove the link"
            )))
        }
    }
}

fn of_entry<'p>(path: &Path, found: &Metadata, folder: &'p Path) -> io::Result<Target<'p>> {
    if found.is_dir() {
        return Err(in_the_way());
    }
    if !found.is_file() {
        return Ok(Target::Stream(stream(found)?));
    }
    // Root may write it all the same; that it is read-only still says what is wanted.
    let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    match open_for_writing(path) {
        Ok(_) if found.permissions().readonly() => Err(read_only()),
        Ok(_) => Ok(Target::File { folder }),
        Err(error) if is_refused(&error) => Err(read_only()),
        // It is gone by now.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Target::File { folder }),
        Err(error) => Err(error),
    }
}

fn in_the_way() -> io::Error {
    io::Error::new(io::ErrorKind::IsADirectory, "a folder of this name is in the way")
}

fn read_only() -> io::Error {
    let text = "this file is read-only and stays as it is; make it writable, or name another";
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// The error of a path to which nothing may be written.
pub(crate) fn refused(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text.to_owned())
}

/// The stream of which these are the properties.
fn stream(found: &Metadata) -> io::Result<Stream> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let kind = found.file_type();
        if kind.is_fifo() {
            return Ok(Stream::Pipe);
        }
        if kind.is_block_device() {
            return Err(refused("this is a disk, and what is on it would be lost; name a file"));
        }
        if kind.is_socket() {
            return Err(refused("this is a socket; name a file or a pipe"));
        }
    }
    let _ = found;
    Ok(Stream::Device)
}

/// The program's own streams by the names that systems give them. They are not opened by these names
/// because a plain file behind one would be written from its beginning, over what is in it.
#[cfg(unix)]
fn own_stream(path: &Path) -> Option<Stream> {
    match path.to_str()? {
        "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1" => Some(Stream::StandardOutput),
        "/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2" => Some(Stream::StandardError),
        _ => None,
    }
}

/// Opens a stream and keeps it for whoever writes to it.
pub(crate) fn hold(path: &Path, stream: Stream) -> io::Result<()> {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    if !held.iter().any(|(there, _)| there == path) {
        held.push((path.to_owned(), stream.open_new(path)?));
    }
    Ok(())
}

impl Stream {
    /// Opens it for writing, or takes it as it was held.
    pub(crate) fn open(self, path: &Path) -> io::Result<File> {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        match held.iter().position(|(there, _)| there == path) {
            Some(place) => Ok(held.swap_remove(place).1),
            None => self.open_new(path),
        }
    }

    fn open_new(self, path: &Path) -> io::Result<File> {
        match self {
            #[cfg(unix)]
            Self::StandardOutput => duplicate(&io::stdout()),
            #[cfg(unix)]
            Self::StandardError => duplicate(&io::stderr()),
            #[cfg(unix)]
            Self::Pipe => open_pipe(path),
            Self::Device => std::fs::OpenOptions::new().write(true).open(path),
        }
    }
}

#[cfg(unix)]
fn duplicate(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    Ok(stream.as_fd().try_clone_to_owned()?.into())
}

/// Opens a plain file as for writing, which leaves it as it is. Whatever else may be there by now is
/// not waited for.
fn open_for_writing(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true);
    system::refuse_link(&mut options);
    options.open(path)
}

/// Opens a pipe that somebody reads, or is about to.
#[cfg(unix)]
fn open_pipe(path: &Path) -> io::Result<File> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    use std::time::{Duration, Instant};

    const PATIENCE: Duration = Duration::from_millis(500);
    let begin = Instant::now();
    let file = loop {
        match std::fs::OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
            Ok(file) => break file,
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => {
                if begin.elapsed() >= PATIENCE {
                    return Err(refused("nobody reads this pipe; start its reader first"));
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(error),
        }
    };
    // SAFETY: the descriptor is open, and these calls touch no memory of ours.
    let is_set = unsafe {
        let flags = libc::fcntl(file.as_raw_fd(), libc::F_GETFL);
        flags >= 0 && libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags & !libc::O_NONBLOCK) >= 0
    };
    // From here on a slow reader is waited for, as with any pipe.
    if is_set { Ok(file) } else { Err(io::Error::last_os_error()) }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use crate::{check_seekable_target, check_target, write_atomically};

    #[test]
    fn links_and_read_only_files_are_refused_and_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        std::fs::write(&file, "old").unwrap();
        symlink("real.json", &link).unwrap();
        let failed = write_atomically(&link, |out| out.write_all(b"new")).unwrap_err().to_string();
        assert!(failed.contains("a symbolic link to real.json"), "{failed}");
        assert!(link.is_symlink());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o440)).unwrap();
        let failed = write_atomically(&file, |out| out.write_all(b"new")).unwrap_err().to_string();
        assert!(failed.contains("read-only"), "{failed}");
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
        let dangling = folder.path().join("dangling.json");
        symlink("nowhere", &dangling).unwrap();
        assert!(check_target(&dangling).unwrap_err().to_string().contains("link to nowhere"));
        assert!(!folder.path().join("nowhere").exists());
    }

    #[test]
    fn a_device_takes_what_is_written_where_nothing_goes_back() {
        let null = std::path::Path::new("/dev/null");
        check_target(null).unwrap();
        write_atomically(null, |out| out.write_all(b"x")).unwrap();
        let refused = check_seekable_target(null).unwrap_err().to_string();
        assert!(refused.contains("not a pipe or a device"), "{refused}");
    }
}
