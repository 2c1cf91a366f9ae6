//! Errors about a whole profile; damage inside it is counted in [`Losses`](crate::Losses).

use std::io;
use std::path::PathBuf;

/// Why a profile can't be read, or its results can't be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The given path doesn't exist.
    #[error("{}: no such directory{}", path.display(), hint.as_ref().map(|h| format!("; did you mean {}?", h.display())).unwrap_or_default())]
    NotFound {
        /// The path as it was given.
        path: PathBuf,
        /// A path that does exist and differs by the leading slash.
        hint: Option<PathBuf>,
    },
    /// Nothing below the given path looks like a profile.
    #[error(
        "{}: no profile found: neither here nor below lies a directory with an info.json file; \
         give a PROF_* directory or one that contains such directories",
        path.display()
    )]
    NoProfile {
        /// The directory that was searched.
        path: PathBuf,
    },
    /// A directory with record files lacks the file that says what they are.
    #[error(
        "{}: there is a data directory but no info.json beside it, so neither the processor nor the clocks \
         of its records are known; copy info.json, sample.json, start_info and the other small files too",
        path.display()
    )]
    NoMetadata {
        /// The host's or device's directory.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A metadata file holds something else than it should.
    #[error("{}: {field}: expected {expected}, found {found}", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// The field in it.
        field: &'static str,
        /// The expected content.
        expected: &'static str,
        /// The content found.
        found: String,
    },
    /// The profile comes from a processor that isn't known.
    #[error(
        "{}: platform_version {found} is not a known processor (known: 0 to 5, 7, 8, 9, 11, 15, 16)",
        path.display()
    )]
    UnknownChip {
        /// The metadata file.
        path: PathBuf,
        /// The number in it.
        found: String,
    },
    /// Whoever asked for it wants it no more.
    #[error("{}: the reading was stopped", path.display())]
    Stopped {
        /// The profile.
        path: PathBuf,
    },
    /// A database can't be written or read.
    #[error("{}: {source}", path.display())]
    Database {
        /// The database's file.
        path: PathBuf,
        /// SQLite's answer.
        source: rusqlite::Error,
    },
}

impl Error {
    /// Turns an error of the file system into one that names the file and what was tried.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

/// The result of an operation on a profile.
pub type Result<T> = std::result::Result<T, Error>;
