//! Writing a file whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::batch::draft_for;
use crate::draft::Draft;
use crate::system;
use crate::target::{Target, hold, refused, target};

/// Writes a file under a temporary name beside `path`, and syncs and renames it when `content` is done,
/// so that no reader ever sees half of it. When anything fails, `path` is as it was before. A pipe or a
/// device is written to as it is.
///
/// The file gets the mode 0640, less what the umask takes away.
///
/// # Errors
/// The errors of `content` and of the system; a missing folder is named as such. A symbolic link, a
/// file that may not be written and a pipe that nobody reads are refused.
pub fn write_atomically(
    path: &Path,
    content: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
) -> io::Result<()> {
    match target(path)? {
        Target::File { .. } => write_seekable(path, |writer| content(writer)),
        Target::Stream(kind) => {
            let mut writer = BufWriter::new(kind.open(path)?);
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
    draft_for(path, content)?.keep_as(path)
}

/// As [`write_seekable`], for what insists on opening its file by itself: `make` fills the empty
/// file under the temporary path that it is given. It must not lock the file, which is locked.
///
/// # Errors
/// The errors of `make` and of the system.
pub fn replace_atomically<Error: From<io::Error>>(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let draft = Draft::new(target(path)?.folder()?)?;
    make(draft.path())?;
    Ok(draft.keep_as(path)?)
}

/// Makes a new file for the user and the group only: mode 0640, less what the umask takes away. It is for
/// folders that are removed as a whole where one of their files can't be written.
///
/// # Errors
/// The errors of the system, one of which is that there is a file of that name.
pub fn create_new(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    system::for_user_and_group(&mut options);
    options.open(path)
}

/// Opens a file that opscope keeps for itself, such as a lock, for reading and writing as it is, or makes it for
/// the user and the group only: mode 0640, less what the umask takes away. Folders may come from somebody else,
/// so nothing but a plain file without another name is taken: a link would lead to a file of the user's.
///
/// # Errors
/// When there is something else in its place, or the system refuses.
pub fn open_own(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    system::for_user_and_group(&mut options);
    system::refuse_link(&mut options);
    // The reason is better told by what lies there.
    let file = options.open(path).map_err(|error| target(path).err().unwrap_or(error))?;
    let found = file.metadata()?;
    match found.is_file() && system::names(&found) <= 1 {
        true => Ok(file),
        false => Err(refused("this is no plain file of its own; remove it")),
    }
}

/// Finds out whether [`write_atomically`] could write a file, without touching it. A pipe is opened
/// and kept open until it is written to, because its reader would take the closing for the end.
///
/// # Errors
/// With the reason why it couldn't.
pub fn check_target(path: &Path) -> io::Result<()> {
    match target(path)? {
        Target::File { folder } => Draft::new(folder).map(drop),
        Target::Stream(kind) => hold(path, kind),
    }
}

/// Finds out whether [`write_seekable`] and [`replace_atomically`] could write a file, without touching it.
///
/// # Errors
/// With the reason why they couldn't.
pub fn check_seekable_target(path: &Path) -> io::Result<()> {
    Draft::new(target(path)?.folder()?).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unfinished::is_noted;

    #[cfg(unix)]
    #[test]
    fn a_file_of_its_own_is_no_link_no_pipe_and_has_one_name() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        drop(open_own(&at("lock")).expect("a new file"));
        assert_eq!(at("lock").metadata().unwrap().permissions().mode() & 0o137, 0);
        std::fs::write(at("lock"), "42").unwrap();
        drop(open_own(&at("lock")).expect("the same file"));
        assert_eq!(std::fs::read(at("lock")).unwrap(), b"42");

        std::fs::write(at("victim"), "precious").unwrap();
        symlink("victim", at("link")).unwrap();
        symlink("nowhere", at("loose")).unwrap();
        std::fs::hard_link(at("victim"), at("name")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        for name in ["link", "loose", "name", "pipe"] {
            let error = open_own(&at(name)).expect_err(name).to_string();
            assert_eq!(error.contains("symbolic link"), ["link", "loose"].contains(&name), "{name}: {error}");
        }
        assert_eq!(std::fs::read(at("victim")).unwrap(), b"precious");
        assert!(!at("nowhere").exists());
    }

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
            assert!(is_noted(folder.path()));
            Ok(())
        });
        written.unwrap();
        assert!(!is_noted(folder.path()));
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
