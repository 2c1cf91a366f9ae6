//! From the file to the native tables.

use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::{self, Scope};

use regex::bytes::Regex;

use super::json::{JsonError, Scanner};
use super::profile::{Profile, Text};
use super::sections::{Ahead, Reader};
use crate::input::Input;
use crate::reading::Stop;

/// Why a file can't be read as a MegEngine profile.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system doesn't give the file.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{}: not a MegEngine profile: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Its fault.
        source: ContentError,
    },
}

/// Why a text is not a MegEngine profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// It is no JSON, or has another value where a section should be.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// It is cut off or damaged before there is anything to show.
    #[error("it is cut off or damaged before the times of any operator: {0}")]
    Damaged(JsonError),
    /// A section is missing.
    #[error("it has no \"{0}\"; write it with load_and_run --profile or opscope run --profile")]
    Missing(&'static str),
}

impl Profile {
    /// Reads a profile that `load_and_run --profile` or MegEngine's `GraphProfiler` wrote.
    ///
    /// The file may be compressed with gzip. Damaged records are left out and counted in
    /// [`Profile::losses`].
    ///
    /// # Errors
    /// When the file can't be opened, is no JSON throughout, or lacks the graph or the times.
    pub fn read(path: &Path) -> Result<Self, ReadError> {
        let input = Input::open(path).map_err(|source| ReadError::File { path: path.to_owned(), source })?;
        // The JSON would end in the middle, which says less about the file.
        if let Some(problem) = input.damage() {
            let source = io::Error::new(io::ErrorKind::UnexpectedEof, problem);
            return Err(ReadError::File { path: path.to_owned(), source });
        }
        Self::from_text(Text(input)).map_err(|source| ReadError::Content { path: path.to_owned(), source })
    }

    /// The same for a text in memory.
    ///
    /// # Errors
    /// When it is no JSON throughout, or lacks the graph or the times.
    pub fn parse(text: Vec<u8>) -> Result<Self, ContentError> {
        Self::from_text(Text(Input::Owned(text)))
    }

    /// The same for the bytes of a file, which are read as far as they go: what ended the reading stands
    /// in [`Profile::damage`], be it that `stop` was wanted.
    ///
    /// # Errors
    /// When there are no times of known operators before the damage, or sections are missing without
    /// any.
    pub fn from_input_as_far_as_it_goes(input: Input, stop: &Stop) -> Result<Self, ContentError> {
        let text = Text(input);
        let profile = thread::scope(|scope| {
            let mut reader = Reader::new(read_ahead(scope, &text, stop), stop.clone()).keeping_rest();
            let mut scanner = Scanner::new(&text);
            match reader.root(&mut scanner).and_then(|()| scanner.end()) {
                Ok(()) => reader.finish().map_err(ContentError::Missing),
                Err(damage) => reader.rest(damage).map_err(ContentError::Damaged),
            }
        })?;
        Ok(Self { text, ..profile })
    }

    fn from_text(text: Text) -> Result<Self, ContentError> {
        let stop = Stop::default();
        let profile = thread::scope(|scope| {
            let mut reader = Reader::new(read_ahead(scope, &text, &stop), stop.clone());
            let mut scanner = Scanner::new(&text);
            reader.root(&mut scanner)?;
            scanner.end()?;
            reader.finish().map_err(ContentError::Missing)
        })?;
        Ok(Self { text, ..profile })
    }
}

/// Smaller texts are read before a second thread has begun.
const WORTH_A_THREAD: usize = 4 << 20;

/// Begins to read the vars, which take up more than half of a profile, on a second thread.
///
/// Where they lie is a guess: the first member of their name that holds an object. It counts only
/// if the first thread comes to just that place as the section of vars.
///
/// It is a thread of its own: the first waits for it in the midst of its work, where a pool's `join` waits at
/// the end only.
fn read_ahead<'scope, 'text: 'scope>(
    scope: &'scope Scope<'scope, 'text>,
    text: &'text [u8],
    stop: &Stop,
) -> Option<Ahead<'scope>> {
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    if text.len() < WORTH_A_THREAD || processors < 2 {
        return None;
    }
    let stop = stop.clone();
    let guess = move || {
        let section = Regex::new(r#""var": ?\{"#).ok()?.find(text)?;
        Reader::vars_ahead(text, section.end() - 1, stop)
    };
    let thread = thread::Builder::new().spawn_scoped(scope, guess).ok()?;
    Some(Box::new(move || thread.join().ok().flatten()))
}
