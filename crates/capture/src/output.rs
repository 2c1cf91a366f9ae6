//! Where the profile is made: chosen, checked and ready before the program starts.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::error::CaptureError;
use crate::profile_lock::is_claimed;

/// The variable that names a directory for everything that Ascend's tools write.
const WORK_PATH_VARIABLE: &str = "ASCEND_WORK_PATH";

/// The longest path that the reference takes.
const MOST_CHARACTERS: usize = 1_024;

/// With less than this, nothing can be written.
pub const LEAST_FREE: u64 = 20 << 20;

/// A directory that a profile can be made in.
#[derive(Clone, Debug)]
pub struct OutputDirectory(PathBuf);

impl OutputDirectory {
    /// Checks and makes the directory: `chosen`, else `profiling_data` below what
    /// `ASCEND_WORK_PATH` names, else `fallback`.
    ///
    /// # Errors
    /// When it can't be written, when its path can't be taken, or when the disk is full.
    pub fn prepare(chosen: Option<&Path>, fallback: &Path) -> Result<Self, CaptureError> {
        let work_path = std::env::var_os(WORK_PATH_VARIABLE).filter(|path| !path.is_empty());
        let path = match (chosen, work_path) {
            (Some(path), _) => path.to_owned(),
            (None, Some(path)) => PathBuf::from(path).join("profiling_data"),
            (None, None) => fallback.to_owned(),
        };
        let refuse = |reason: String| CaptureError::Output { path: path.clone(), reason };
        check_spelling(&path).map_err(refuse)?;
        let absolute = std::path::absolute(&path).map_err(|error| refuse(error.to_string()))?;
        let count = absolute.to_string_lossy().chars().count();
        if count > MOST_CHARACTERS {
            return Err(refuse(format!(
                "this path has {count} characters; at most {MOST_CHARACTERS} can be taken"
            )));
        }
        if !absolute.exists() && absolute.is_symlink() {
            return Err(refuse("this is a symbolic link to something that isn't there".to_owned()));
        }
        if absolute.exists() && !absolute.is_dir() {
            return Err(refuse("this is a file; name a directory".to_owned()));
        }
        if absolute.join("host/data").is_dir() || is_info(&absolute) {
            let state = if is_claimed(&absolute) { " that another collection is writing" } else { " itself" };
            return Err(refuse(format!("this is a profile{state}; name the directory above it")));
        }
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o750).create(&absolute);
        made.map_err(|error| refuse(format!("cannot make this directory: {error}")))?;
        if !is_writable(&absolute) {
            return Err(refuse("this directory can't be written; name another with --output".to_owned()));
        }
        let output = Self(absolute);
        match output.free_bytes() {
            Some(free) if free < LEAST_FREE => Err(refuse(format!(
                "only {} MB are free here, at least {} MB are needed; name another directory with --output",
                free >> 20,
                LEAST_FREE >> 20
            ))),
            _ => Ok(output),
        }
    }

    /// The directory, with its whole path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where the directory's link leads to, if it is one.
    pub fn link_target(&self) -> Option<PathBuf> {
        link_target(&self.0)
    }

    /// How many bytes can still be written, if the system tells.
    pub fn free_bytes(&self) -> Option<u64> {
        free_bytes(&self.0)
    }
}

/// Where a path's link leads to, if it is one.
pub(crate) fn link_target(path: &Path) -> Option<PathBuf> {
    path.is_symlink().then(|| path.canonicalize().ok()).flatten()
}

/// The mask of the modes of new files.
pub fn umask() -> u32 {
    // It is only told by setting it; the file of the system tells it without.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok()).unwrap_or(0o027)
}

fn is_info(path: &Path) -> bool {
    ["info.json", "info.json.0"].iter().any(|name| path.join(name).is_file())
}

/// The bytes that can still be written to the file system of a path.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: an all-zero answer is valid, and is filled in by the call.
    let mut status: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the path is a C string and the answer a valid place.
    (unsafe { libc::statvfs(path.as_ptr(), &mut status) } == 0)
        .then(|| (status.f_bavail as u64).saturating_mul(status.f_frsize as u64))
}

fn is_writable(path: &Path) -> bool {
    let Ok(text) = CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the path is a C string. A read-only file system answers no, even to its owner.
    unsafe { libc::access(text.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}

/// Letters that the reference refuses, because it hands paths to a shell.
fn check_spelling(path: &Path) -> Result<(), String> {
    const REFUSED: &str = "\"'\\%><|&$;`";
    let text = path.to_string_lossy();
    if text.is_empty() {
        return Err("--output: expected a directory".to_owned());
    }
    match text.chars().find(|letter| letter.is_control() || REFUSED.contains(*letter)) {
        Some(letter) => Err(format!(
            "--output: a path must not hold {letter:?} (nor any of {REFUSED} or control characters), because \
             other tools that read the profile refuse it"
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_cannot_be_used_are_refused_with_the_reason() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let says = |path: &Path| match OutputDirectory::prepare(Some(path), folder.path()) {
            Ok(output) => panic!("{} was taken", output.path().display()),
            Err(error) => error.to_string(),
        };
        assert!(says(Path::new("a;b")).contains("';'"));
        assert!(says(Path::new("a\nb")).contains("\\n"));
        assert!(says(Path::new("")).contains("expected a directory"));
        assert!(says(Path::new(&"x/".repeat(600))).contains("1024"));
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("a file");
        assert!(says(&file).contains("this is a file"));
        std::fs::create_dir_all(folder.path().join("PROF_1/host/data")).expect("a directory");
        assert!(says(&folder.path().join("PROF_1")).contains("profile itself"));
        let _claim = crate::profile_lock::Claim::on(&folder.path().join("PROF_1"));
        assert!(says(&folder.path().join("PROF_1")).contains("another collection is writing"));
    }

    #[test]
    fn a_directory_is_made_with_those_above_it() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("a/b");
        let output = OutputDirectory::prepare(Some(&path), folder.path()).expect("a directory");
        assert!(output.path().is_dir());
        assert!(output.free_bytes().is_some_and(|free| free > 0));
    }
}
