//! A path and the format of what it leads to.

use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use opscope_cann::read::SeenFile;
use opscope_cann::{Found, Profile};
use opscope_svp::{Exports, Job};
use opscope_trace::{LossKind, Trace};

use crate::format::{Content, Format, Reader, read_file};
use crate::formats::{ALL, ascend_raw, board, onnx_model, other_models, perf};
use crate::look::{Look, PLAIN_FOLDER};
use crate::progress::go_on;
use crate::within::{Within, within};
use crate::{OpenError, Progress, Stop, others};

/// A path that was looked at once, and the format of what it leads to.
#[derive(Debug)]
pub struct Source {
    look: Look,
    format: Option<&'static Format>,
}

impl Source {
    /// Looks at a path. A file is known by its content, which may be compressed with gzip; only those
    /// of boards by their names.
    ///
    /// A folder of outputs that has raw directories below it counts as outputs: they hold what the raw
    /// directories don't, such as the calls of a framework. A raw directory with outputs below it
    /// counts as raw.
    ///
    /// # Errors
    /// When there is nothing at `path`, or it can't be read.
    pub fn at(path: &Path) -> Result<Self, OpenError> {
        let look = Look::at(path)?;
        if let Some(format) = format_of(&look) {
            return Ok(Self { look, format: Some(format) });
        }
        let look = look.further().unwrap_or(look);
        let format = format_of(&look);
        Ok(Self { look, format })
    }

    /// The path that was looked at.
    pub fn path(&self) -> &Path {
        &self.look.path
    }

    /// The format, if it is one that opscope knows.
    pub fn format(&self) -> Option<&'static Format> {
        self.format
    }

    /// How many mebibytes were looked at of a text of no known format that goes on behind them.
    pub(crate) fn most_of_text(&self) -> Option<u64> {
        self.look.most_of_text().filter(|_| self.format.is_none())
    }

    /// Whether this is the format.
    pub fn is(&self, format: &Format) -> bool {
        self.format == Some(format)
    }

    /// Whether it is a file that is compressed.
    pub fn is_compressed(&self) -> bool {
        self.look.compressed
    }

    /// The raw directories of Ascend, if they are what is read here.
    pub fn profiles(&self) -> &[Profile] {
        if self.is(&ascend_raw::FORMAT) { self.look.profiles() } else { &[] }
    }

    /// Why raw directories at or below the path, or parts of them, can't be used, in sentences.
    pub fn left_out(&self) -> Vec<String> {
        if !self.is(&ascend_raw::FORMAT) {
            return Vec::new();
        }
        self.look.raw().iter().flat_map(|found| &found.unusable).map(ToString::to_string).collect()
    }

    /// Other profiles beside the raw directories, where those are what is read here, and folders that have more than is
    /// looked at for them, each with the kind of loss that tells it. Where `stop` is wanted, some are missing.
    pub fn beside_raw(&self, stop: &Stop) -> Vec<(LossKind, PathBuf)> {
        let places: Vec<&Path> = self.profiles().iter().map(|profile| profile.path.as_path()).collect();
        let others = others::beside(&ascend_raw::FORMAT, self.path(), &places, stop);
        let profiles = others.profiles.into_iter().map(|path| (LossKind::OtherProfile, path));
        profiles.chain(others.unseen.into_iter().map(|path| (LossKind::UnseenBeside, path))).collect()
    }

    /// The raw directories of Ascend at or below the path, whatever else it is, and those that can't be used.
    ///
    /// # Errors
    /// When it is a file, or there is none.
    pub fn into_raw(self) -> Result<Found, OpenError> {
        if self.look.is_folder && self.look.profiles().is_empty() {
            let path = self.look.path.clone();
            if self.is(&board::FORMAT) {
                return Err(OpenError::NotRaw { path, kind: board::FORMAT.name });
            }
            let boards = board::jobs_below(&path);
            if !boards.is_empty() {
                return Err(board::several(path, boards));
            }
        }
        self.look.into_raw()
    }

    /// Whether the path itself is a raw directory, of Ascend or of a board, which has a place for
    /// databases (`sqlite/`).
    pub fn is_raw_directory(&self) -> bool {
        self.look.is_folder && (Job::is_one(&self.look.path) || self.look.is_raw())
    }

    /// The raw directory of Ascend that the path itself is, rather than one above or within it.
    pub fn profile_itself(&self) -> Option<&Profile> {
        self.profiles().iter().find(|profile| profile.path == self.look.path)
    }

    /// Whether it is a model: by its content or, so that a damaged one is told as such, an ONNX model by its name.
    pub fn is_model(&self) -> bool {
        self.is_onnx_model() || self.is_other_model()
    }

    /// Whether it is a model of another kind than ONNX, which can be looked at and neither run nor rewritten.
    pub fn is_other_model(&self) -> bool {
        other_models::ALL.iter().any(|format| self.is(format))
    }

    /// Whether it is an ONNX model.
    fn is_onnx_model(&self) -> bool {
        let is_named = || self.path().extension().is_some_and(|it| it.eq_ignore_ascii_case("onnx"));
        !self.look.is_folder && (self.is(&onnx_model::FORMAT) || (self.format.is_none() && is_named()))
    }

    /// The path itself, if it is a folder that is to be a board's `JOB*` directory, whole or not.
    pub fn job(&self) -> Option<&Path> {
        let Look { path, is_folder, .. } = &self.look;
        (*is_folder && (Job::is_one(path) || path.join("data").is_dir())).then_some(path)
    }

    /// The profile of a board: the path itself, or the only `JOB*` directory below it.
    pub fn board(&self) -> Option<PathBuf> {
        self.is(&board::FORMAT).then(|| board::place(&self.look))
    }

    /// The path itself, if it is a board's `JOB*` directory and nothing was exported into it.
    pub fn unexported_job(&self) -> Option<&Path> {
        let path = &self.look.path;
        (self.is(&board::FORMAT) && Job::is_one(path) && !Exports::is_folder(path)).then_some(path)
    }

    /// Reads the samples of functions below others, of those formats that have any: of functions with a text in their
    /// names, and of what they called.
    ///
    /// # Errors
    /// When it has no samples, none there, or is damaged beyond use; or when `progress` stops it.
    pub fn open_below(self, below: &str, progress: &dyn Progress) -> Result<Opened, OpenError> {
        let path = self.look.path.clone();
        let Some(format) = self.format else {
            return only_within(self.look, progress)?.open_below(below, progress);
        };
        if !perf::has_stacks(format) {
            return Err(OpenError::NoStacks { path });
        }
        let mut trace = read_file(
            &path,
            |input, path, stop| perf::read_below(&input, path, below, stop),
            &progress.stop(),
        )?;
        trace.count_replaced_bytes(&path.display().to_string());
        Ok(Opened { trace, format, place: path.clone(), path, remarks: Vec::new(), files: Vec::new() })
    }

    /// Reads it as a trace. The devices of a raw directory go into one trace; what was imported of it
    /// and still holds isn't decoded again.
    ///
    /// # Errors
    /// When it is no profile, there are several, or it is damaged beyond use; or when `progress` stops it.
    pub fn open(self, progress: &dyn Progress) -> Result<Opened, OpenError> {
        let Some(format) = self.format else { return only_within(self.look, progress)?.open(progress) };
        let (path, is_folder) = (self.look.path.clone(), self.look.is_folder);
        let stop = progress.stop();
        go_on(&stop, &path)?;
        let content = match format.reader {
            Reader::Bytes(read) => {
                read_file(&path, read, &stop).map(|trace| Content::new(trace, path.clone()))
            }
            Reader::Place(read) => read(self.look, progress),
            Reader::None(advice) => {
                return Err(OpenError::NoProfile { path, kind: format.name.to_owned(), advice });
            }
        };
        // Readers have errors of their own for it.
        go_on(&stop, &path)?;
        let mut content = content?;
        if is_folder {
            others::count(&mut content, format, &path, &stop);
            go_on(&stop, &path)?;
        }
        let Content { mut trace, place, remarks, files, .. } = content;
        trace.count_replaced_bytes(&path.display().to_string());
        Ok(Opened { trace, format, path, place, remarks, files })
    }
}

/// The format of what was looked at.
pub(crate) fn format_of(look: &Look) -> Option<&'static Format> {
    ALL.iter().copied().find(|format| (format.is)(look))
}

/// The only profile in or below a folder of no known format.
///
/// # Errors
/// When there is none, several are, or not all was looked at; or when `progress` stops it.
fn only_within(look: Look, progress: &dyn Progress) -> Result<Source, OpenError> {
    let stop = progress.stop();
    let within = within(&look, &stop);
    go_on(&stop, &look.path)?;
    match within {
        Within::Nothing => Err(refusal(look)),
        Within::Unsure(found) => Err(OpenError::NotAllSeen { path: look.path, found }),
        Within::LongTexts { mebibytes, texts } => {
            Err(OpenError::LongTexts { path: look.path, mebibytes, texts })
        }
        Within::One(source) => Ok(*source),
        Within::Several(found) => Err(OpenError::Several { path: look.path, what: "profiles", found }),
    }
}

/// Where it stands what can be opened.
pub(crate) const KNOWN: &str = "; 'opscope formats' lists what can be read";

/// Why a path of no known format can't be opened.
fn refusal(look: Look) -> OpenError {
    let (path, kind, advice) = (look.path.clone(), look.looks_like(), KNOWN);
    if look.is_folder && kind != PLAIN_FOLDER {
        return OpenError::NoProfile { path, kind, advice };
    }
    let boards = if look.is_folder { board::jobs_below(&path) } else { Vec::new() };
    if !boards.is_empty() {
        return board::several(path, boards);
    }
    let kind = look.described();
    match look.into_search_error() {
        Some(error) if kind == PLAIN_FOLDER || !matches!(error, opscope_cann::Error::NoProfile { .. }) => {
            error.into()
        }
        _ => OpenError::NoProfile { path, kind, advice },
    }
}

/// The name of the format, or what else it looks like.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.format {
            Some(format) => f.write_str(format.name),
            None => f.write_str(&self.look.described()),
        }
    }
}

/// A profile that was read. It derefs to its trace.
#[derive(Debug)]
pub struct Opened {
    /// The trace, with its losses.
    pub trace: Trace,
    /// The format that it was read as.
    pub format: &'static Format,
    /// The path that was named.
    pub path: PathBuf,
    /// The profile's own file or folder, which may lie below the path.
    pub place: PathBuf,
    /// Oddities of the whole of it, in sentences.
    pub remarks: Vec<String>,
    /// The files of a folder of outputs of the Ascend tools, and what became of each; none of other profiles.
    pub files: Vec<SeenFile>,
}

impl Deref for Opened {
    type Target = Trace;

    fn deref(&self) -> &Trace {
        &self.trace
    }
}
