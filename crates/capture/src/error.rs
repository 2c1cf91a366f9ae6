//! Errors that keep a collection from beginning.

use std::io;
use std::path::PathBuf;

/// Why nothing was collected. The program was not started, or its start failed.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// There is no such program.
    #[error("{name}: there is no such program{hint}")]
    NotFound {
        /// As it was named.
        name: String,
        /// Something to try.
        hint: String,
    },
    /// The program can't be executed.
    #[error("{}: {reason}", path.display())]
    NotExecutable {
        /// The program.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The place for the results can't be used.
    #[error("{}: {reason}", path.display())]
    Output {
        /// The directory.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
    },
    /// No folder is safe for libraries that are loaded into programs.
    #[error(
        "there is no folder of your own for the libraries that go into the program; set XDG_CACHE_HOME to one that \
         nobody else can write ({})", tried.join("; ")
    )]
    NoOwnFolder {
        /// Each folder that was tried, and what is wrong with it.
        tried: Vec<String>,
    },
    /// A value that an option can't have.
    #[error("{0}")]
    Usage(String),
    /// The system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The work that failed.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The words of the system.
        source: io::Error,
    },
}

#[cfg(target_os = "linux")]
impl CaptureError {
    /// For `map_err`: puts action and path to an error of the system.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
