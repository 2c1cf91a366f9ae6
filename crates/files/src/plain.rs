//! Files in folders that somebody else may have filled: opened without waiting, and only if they are plain ones.
//! A pipe among them would be waited for without an end, a device read without one.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Opens a plain file, or what a link to one leads to, for reading.
///
/// # Errors
/// The errors of the system, and when it is something else.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    crate::system::without_waiting(&mut options);
    let file = options.open(path)?;
    let found = file.metadata()?;
    if found.is_file() {
        return Ok(file);
    }
    let kind = if found.is_dir() { "a folder" } else { "a pipe or a device" };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("this is {kind}, and no plain file")))
}

/// Reads a plain file, or what a link to one leads to.
///
/// # Errors
/// The same as of [`open_plain`], and when it can't be read.
pub fn read_plain(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = open_plain(path)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_and_a_device_are_not_waited_for() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("file"), "42").expect("a file");
        std::os::unix::fs::symlink("file", at("link")).expect("a link");
        let made = std::process::Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo");
        assert!(made.success());
        for name in ["file", "link"] {
            assert_eq!(read_plain(&at(name)).expect(name), b"42");
        }
        for path in [&at("pipe"), folder.path(), Path::new("/dev/zero")] {
            let error = read_plain(path).expect_err("no file").to_string();
            assert!(error.contains("no plain file"), "{error}");
        }
        assert!(read_plain(&at("nowhere")).is_err());
    }
}
