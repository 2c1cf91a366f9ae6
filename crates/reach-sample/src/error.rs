//! The ways in which a collection can't be made.

use std::io;
use std::path::PathBuf;

/// Why there is no collection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The choices don't go together, or name what isn't there.
    #[error("{0}")]
    Choice(String),

    /// A folder or file can't be made.
    #[error("{path}: cannot write the collection: {problem}", path = .path.display())]
    Write {
        /// The collection's folder.
        path: PathBuf,
        /// The system's error.
        #[source]
        problem: io::Error,
    },
}
