//! A format of profiles: its name, how it is known, how it is read.

use std::path::{Path, PathBuf};

use opscope_cann::read::SeenFile;
use opscope_formats::input::Input;
use opscope_formats::reading::Stop;
use opscope_trace::{LossKind, Trace};

use crate::about::About;
use crate::look::Look;
use crate::progress::go_on;
use crate::{OpenError, Progress};

/// A format: everything that opening a path of it takes.
#[derive(Debug)]
pub struct Format {
    /// A noun phrase for people, such as "a profile of ONNX Runtime"; each format has its own.
    pub name: &'static str,
    /// Where it comes from and what is read of it; `None` where it is only known so that it can be refused.
    pub about: Option<&'static About>,
    /// Whether a path leads to one.
    pub(crate) is: fn(&Look) -> bool,
    pub(crate) reader: Reader,
}

/// Formats are the same if they have one name.
impl PartialEq for Format {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// The way in which a format becomes a trace.
#[derive(Debug)]
pub(crate) enum Reader {
    /// From the bytes of a file, unpacked; the path names them in errors.
    Bytes(fn(Input, &Path, &Stop) -> Result<Trace, OpenError>),
    /// From whatever lies at the path.
    Place(fn(Look, &dyn Progress) -> Result<Content, OpenError>),
    /// Not at all: it is no profile. The text says how one is made of it, behind a semicolon.
    None(&'static str),
}

/// A profile as its reader gives it.
#[derive(Debug)]
pub(crate) struct Content {
    pub trace: Trace,
    /// The profile's own file or folder, which may lie below the path that was named.
    pub place: PathBuf,
    pub remarks: Vec<String>,
    /// The files of a folder of outputs.
    pub files: Vec<SeenFile>,
    /// Files and folders in or beside it that were read along, or that are told of.
    pub along: Vec<PathBuf>,
}

impl Content {
    /// A profile of which nothing more is to be told.
    pub fn new(trace: Trace, place: PathBuf) -> Self {
        Self { trace, place, remarks: Vec::new(), files: Vec::new(), along: Vec::new() }
    }
}

/// Reads a file, which may be compressed and damaged, by the reader of its format.
pub(crate) fn read_file(
    path: &Path,
    read: impl FnOnce(Input, &Path, &Stop) -> Result<Trace, OpenError>,
    stop: &Stop,
) -> Result<Trace, OpenError> {
    let input = Input::open_until(path, &|| stop.is_wanted());
    go_on(stop, path)?;
    let input = input.map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
    let problem = input.damage().map(str::to_owned);
    go_on(stop, path)?;
    let trace = read(input, path, stop).map(|mut trace| {
        trace.drop_impossible(&path.display().to_string());
        trace
    });
    match (trace, problem) {
        (Ok(mut trace), Some(problem)) => {
            trace.count_loss(LossKind::CutCompression, 1, &problem);
            Ok(trace)
        }
        (Err(error), Some(problem)) => Err(OpenError::Cut { error: Box::new(error), problem }),
        (trace, None) => trace,
    }
}
