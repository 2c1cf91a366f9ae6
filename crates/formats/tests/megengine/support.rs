//! How the tests call the command, and where its reference's answers lie.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use opscope_formats::megengine::analyze::profile_analyze;

/// The outcome of a run of the command.
pub struct Run {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `profile_analyze` on a file with options that are separated by blanks.
pub fn run(file: impl AsRef<Path>, options: &[&str]) -> Run {
    let arguments: Vec<OsString> =
        std::iter::once(file.as_ref().into()).chain(options.iter().map(OsString::from)).collect();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let status = profile_analyze(&arguments, &mut stdout, &mut stderr);
    let text = |bytes| String::from_utf8(bytes).expect("the output is text");
    Run { status, stdout: text(stdout), stderr: text(stderr) }
}

/// A file that goes away with the value.
pub struct TestFile {
    folder: tempfile::TempDir,
}

impl TestFile {
    pub fn new(content: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("profile.json"), content).expect("a file in it");
        Self { folder }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("profile.json")
    }
}
