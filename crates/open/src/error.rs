//! Why a path can't be opened.

use std::error::Error;
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// A path that could not be opened as a profile. Every text begins with the path.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing.
    #[error("{}: there is no such file or directory{}", path.display(), hint(rooted.as_deref()))]
    Missing {
        /// The path.
        path: PathBuf,
        /// The same from the root, where something lies: only the first slash was forgotten.
        rooted: Option<PathBuf>,
    },
    /// The system doesn't say what is there.
    #[error("{}: cannot be read", path.display())]
    Hidden {
        /// The path.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The system refused to read it, or its compression is damaged.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file where a folder is needed.
    #[error("{}: this is a file; name the raw directory (PROF_*, JOB*) or one above it", path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },
    /// Several profiles where one is needed.
    #[error("{}: there are {} {what} here; name one of them:{}", path.display(), found.len(), list(found))]
    Several {
        /// The folder.
        path: PathBuf,
        /// The kind of profiles.
        what: &'static str,
        /// The profiles.
        found: Vec<PathBuf>,
    },
    /// More files or folders than are looked at, so that nobody knows which profiles there are.
    #[error(
        "{}: there are too many files here to look at all of them; name the profile itself{}",
        path.display(),
        so_far(found)
    )]
    NotAllSeen {
        /// The folder.
        path: PathBuf,
        /// The profiles among those that were looked at.
        found: Vec<PathBuf>,
    },
    /// No profile, but texts so long that one may begin where nobody looked.
    #[error(
        "{}: no profile was found; of these texts opscope looked at the first {mebibytes} MiB: if a profile begins \
         further down, cut off what is above it{}",
        path.display(),
        list(texts)
    )]
    LongTexts {
        /// The folder.
        path: PathBuf,
        /// How many mebibytes were looked at of each.
        mebibytes: u64,
        /// The texts.
        texts: Vec<PathBuf>,
    },
    /// Raw directories that can't be found or decoded.
    #[error(transparent)]
    Ascend(#[from] opscope_cann::Error),
    /// Raw files of a board, none of which is in a layout that is known.
    #[error(
        "{}: the raw files of this board are in a layout that is not public ({})",
        path.display(),
        files.join(", ")
    )]
    ClosedLayout {
        /// The `JOB*` directory.
        path: PathBuf,
        /// The names of its files.
        files: Vec<String>,
    },
    /// A file or folder of a known format that could not be read as such.
    #[error(transparent)]
    Content(Box<dyn Error + Send + Sync>),
    /// As [`OpenError::Content`], where the reader doesn't know the path.
    #[error("{}: {source}", path.display())]
    ContentAt {
        /// The file.
        path: PathBuf,
        /// The fault in it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A compressed file that is damaged, so that what could be unpacked makes no trace.
    #[error("{error}; {problem}")]
    Cut {
        /// Why what could be unpacked makes no trace.
        error: Box<OpenError>,
        /// The fault in the compression.
        problem: String,
    },
    /// Something that holds no trace, or none that opscope can read.
    #[error("{}: this is {kind}, not a profile that opscope can read{advice}", path.display())]
    NoProfile {
        /// The file.
        path: PathBuf,
        /// The kind of file, as a noun phrase.
        kind: String,
        /// How a profile is made of it, behind a semicolon; else nothing.
        advice: &'static str,
    },
    /// A profile that was not recorded on an Ascend processor, where only such are meant.
    #[error("{}: this is {kind}, and not a raw directory of Ascend (PROF_*, JOB*)", path.display())]
    NotRaw {
        /// The profile.
        path: PathBuf,
        /// The kind of profile, as a noun phrase.
        kind: &'static str,
    },
    /// Samples below a function are asked for where there are none.
    #[error(
        "{}: --below is about stacks of samples, and this has none (perf script and folded stacks have)",
        path.display()
    )]
    NoStacks {
        /// The profile.
        path: PathBuf,
    },
    /// Whoever asked for it wants it no more.
    #[error("{}: the reading was stopped", path.display())]
    Stopped {
        /// The profile.
        path: PathBuf,
    },
}

impl OpenError {
    /// The error of a reader that names the path itself.
    pub(crate) fn content(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Content(Box::new(error))
    }

    /// The error of a reader that knows only bytes.
    pub(crate) fn at(path: &Path, error: impl Error + Send + Sync + 'static) -> Self {
        Self::ContentAt { path: path.to_owned(), source: Box::new(error) }
    }
}

fn hint(rooted: Option<&Path>) -> String {
    rooted.map_or_else(String::new, |rooted| format!("; did you mean {}?", rooted.display()))
}

fn so_far(found: &[PathBuf]) -> String {
    if found.is_empty() { String::new() } else { format!("; found so far:{}", list(found)) }
}

fn list(found: &[PathBuf]) -> String {
    /// How many are named before it becomes tiresome.
    const NAMED: usize = 8;
    let mut list: String = found.iter().take(NAMED).map(|path| format!("\n  {}", path.display())).collect();
    if found.len() > NAMED {
        let _ = write!(list, "\n  and {} more", found.len() - NAMED);
    }
    list
}
