//! Telling what a file is by its content, and reading it as a trace whatever it is.

mod json_head;
mod onnx_model;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use opscope_cann::read;
use opscope_formats::input::{CUT_COMPRESSION, Input};
use opscope_formats::{chrome, megengine, onnxruntime, sqlite};
use opscope_trace::Trace;

use json_head::JsonHead;
use onnx_model::is_onnx_model;

/// What a file can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A profile that a session of ONNX Runtime wrote.
    OnnxRuntimeProfile,
    /// A graph profile of MegEngine.
    MegEngineProfile,
    /// A trace in opscope's own database.
    OpscopeDatabase,
    /// A database of the Ascend tools, of msprof or torch_npu.
    AscendDatabase,
    /// A SQLite database of another program.
    OtherDatabase,
    /// A timeline in Chrome's trace event format.
    ChromeTrace,
    /// A table that the Ascend tools exported.
    AscendTable,
    /// A folder with outputs of the Ascend tools.
    AscendFolder,
    /// An ONNX model, which is what profiles are made of.
    OnnxModel,
    /// Something else.
    Unknown {
        /// What it looks like, such as "an empty file".
        looks_like: String,
    },
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnnxRuntimeProfile => "a profile of ONNX Runtime",
            Self::MegEngineProfile => "a profile of MegEngine",
            Self::OpscopeDatabase => "a database of opscope",
            Self::AscendDatabase => "a database of the Ascend tools",
            Self::OtherDatabase => "a SQLite database of another program",
            Self::ChromeTrace => "a timeline in Chrome's trace format",
            Self::AscendTable => "a table of the Ascend tools",
            Self::AscendFolder => "a folder of outputs of the Ascend tools",
            Self::OnnxModel => "an ONNX model",
            Self::Unknown { looks_like } => looks_like,
        })
    }
}

/// A format: how a file of it is known, and how it becomes a trace if it can.
struct Format {
    kind: Kind,
    is: fn(&Head) -> bool,
    open: Option<OpenFile>,
}

/// Makes a trace of a file's bytes; the path names them in errors.
type OpenFile = fn(Input, &Path) -> Result<Trace, OpenError>;

/// All formats, a line each; the first that knows a file has it.
const FORMATS: &[Format] = &[
    Format { kind: Kind::OpscopeDatabase, is: Head::is_opscope_database, open: Some(open_database) },
    Format { kind: Kind::AscendDatabase, is: Head::is_ascend_database, open: Some(open_ascend_database) },
    Format { kind: Kind::OtherDatabase, is: Head::is_database, open: None },
    Format { kind: Kind::OnnxRuntimeProfile, is: Head::is_onnxruntime, open: Some(open_onnxruntime) },
    Format { kind: Kind::MegEngineProfile, is: Head::is_megengine, open: Some(open_megengine) },
    Format { kind: Kind::ChromeTrace, is: Head::is_chrome, open: Some(open_chrome) },
    Format { kind: Kind::AscendTable, is: Head::is_ascend_table, open: Some(open_ascend_table) },
    Format { kind: Kind::OnnxModel, is: |head| is_onnx_model(&head.bytes), open: None },
];

/// How much of a file is looked at. Chrome's timelines may hold some tables before the first event.
const HEAD_BYTES: u64 = 256 << 10;

/// A file that could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum DetectError {
    /// The system refused, or the compression is damaged.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A folder that holds no outputs which belong together as a profile.
    #[error("{}: this folder holds no outputs of a profiler that are known; name the profile itself", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
}

/// A file that could not be read as a trace.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It could not even be looked at.
    #[error(transparent)]
    Detect(#[from] DetectError),
    /// A profile of ONNX Runtime that could not be read.
    #[error(transparent)]
    OnnxRuntime(#[from] onnxruntime::ReadError),
    /// A profile of MegEngine that could not be read.
    #[error(transparent)]
    MegEngine(#[from] megengine::ReadError),
    /// A database of opscope that could not be read.
    #[error(transparent)]
    Database(#[from] sqlite::ReadError),
    /// A timeline that could not be read.
    #[error("{}: {source}", path.display())]
    Chrome {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: chrome::ReadError,
    },
    /// A database of the Ascend tools that could not be read.
    #[error(transparent)]
    AscendDatabase(#[from] read::database::ReadError),
    /// A table of the Ascend tools that makes no trace.
    #[error("{}: {source}", path.display())]
    AscendTable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: read::tables::ReadError,
    },
    /// A folder of outputs of the Ascend tools that could not be read.
    #[error(transparent)]
    AscendFolder(#[from] read::FolderError),
    /// A compressed file that is damaged, so that what could be unpacked makes no trace.
    #[error("{error}; {problem}")]
    Cut {
        /// Why what could be unpacked makes no trace.
        error: Box<OpenError>,
        /// What is wrong with the compression.
        problem: String,
    },
    /// Something that holds no trace, or none that opscope can read.
    #[error("{}: this is {kind}, not a profile that opscope can read{}", path.display(), advice(kind))]
    NoProfile {
        /// The file.
        path: PathBuf,
        /// What it is.
        kind: Kind,
    },
}

fn advice(kind: &Kind) -> &'static str {
    match kind {
        Kind::OnnxModel => "; 'opscope run' makes one of it",
        _ => "",
    }
}

/// Tells what a file is by its content, which may be compressed with gzip, or a folder by the files
/// in it. A file's name doesn't matter.
///
/// # Errors
/// When the file can't be read, or the folder holds nothing that is known.
pub fn detect(path: &Path) -> Result<Kind, DetectError> {
    if path.is_dir() {
        return match read::is_folder(path) {
            true => Ok(Kind::AscendFolder),
            false => Err(DetectError::Folder { path: path.to_owned() }),
        };
    }
    let head = Head::read(path)?;
    Ok(match FORMATS.iter().find(|format| (format.is)(&head)) {
        Some(format) => format.kind.clone(),
        None => Kind::Unknown { looks_like: head.looks_like() },
    })
}

/// Reads a file as a trace, in whichever format it is and compressed with gzip or not; or a folder
/// of outputs that belong together.
///
/// # Errors
/// When the file can't be read, holds no profile, or is damaged beyond use; always with its path.
pub fn open(path: &Path) -> Result<Trace, OpenError> {
    let kind = detect(path)?;
    if kind == Kind::AscendFolder {
        let mut trace = read::read_folder(path)?;
        trace.drop_impossible_times(&path.display().to_string());
        return Ok(trace);
    }
    let format = FORMATS.iter().find(|format| format.kind == kind);
    let Some(open) = format.and_then(|format| format.open) else {
        return Err(OpenError::NoProfile { path: path.to_owned(), kind });
    };
    let input = Input::open(path).map_err(|source| DetectError::Io { path: path.to_owned(), source })?;
    let problem = input.damage().map(str::to_owned);
    let read = open(input, path).map(|mut trace| {
        trace.drop_impossible_times(&path.display().to_string());
        trace
    });
    match (read, problem) {
        (Ok(mut trace), Some(problem)) => {
            trace.count_loss(CUT_COMPRESSION, 1, &problem);
            Ok(trace)
        }
        (Err(error), Some(problem)) => Err(OpenError::Cut { error: Box::new(error), problem }),
        (read, None) => read,
    }
}

fn open_onnxruntime(input: Input, path: &Path) -> Result<Trace, OpenError> {
    Ok(onnxruntime::Profile::parse(&input, path)?.to_trace())
}

fn open_megengine(input: Input, path: &Path) -> Result<Trace, OpenError> {
    let profile = megengine::Profile::from_input_as_far_as_it_goes(input)
        .map_err(|source| megengine::ReadError::Content { path: path.to_owned(), source })?;
    Ok(profile.to_trace())
}

fn open_database(input: Input, path: &Path) -> Result<Trace, OpenError> {
    Ok(match input {
        // SQLite reads only the pages that it needs.
        Input::Mapped(_) => sqlite::read_file(path)?,
        unpacked => sqlite::read_bytes(&unpacked, path)?,
    })
}

fn open_ascend_database(input: Input, path: &Path) -> Result<Trace, OpenError> {
    Ok(match input {
        Input::Mapped(_) => read::database::read_file(path)?,
        unpacked => read::database::read_bytes(&unpacked, path)?,
    })
}

fn open_chrome(input: Input, path: &Path) -> Result<Trace, OpenError> {
    chrome::read_with(&input, &[&read::AscendTimeline])
        .map_err(|source| OpenError::Chrome { path: path.to_owned(), source })
}

fn open_ascend_table(input: Input, path: &Path) -> Result<Trace, OpenError> {
    read::tables::read(&input).map_err(|source| OpenError::AscendTable { path: path.to_owned(), source })
}

/// The beginning of a file, unpacked.
struct Head {
    path: PathBuf,
    bytes: Vec<u8>,
    json: Option<JsonHead>,
    compressed: bool,
}

impl Head {
    fn read(path: &Path) -> Result<Self, DetectError> {
        let (compressed, bytes) = Input::head(path, HEAD_BYTES)
            .map_err(|source| DetectError::Io { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), json: JsonHead::read(&bytes), bytes, compressed })
    }

    fn is_database(&self) -> bool {
        self.bytes.starts_with(sqlite::MAGIC)
    }

    fn is_opscope_database(&self) -> bool {
        sqlite::application_id(&self.bytes) == Some(sqlite::APPLICATION_ID)
    }

    /// A list of events of the categories and with names that only the runtime gives.
    fn is_onnxruntime(&self) -> bool {
        let Some(json) = &self.json else { return false };
        let has_category = json.texts_in_items("cat").any(|category| matches!(category, "Session" | "Node"));
        has_category && json.texts_in_items("name").any(onnxruntime::is_event_name)
    }

    /// An object of these two sections, in either order.
    fn is_megengine(&self) -> bool {
        let Some(json) = &self.json else { return false };
        json.has_key("profiler") || json.has_key("graph_exec")
    }

    fn is_chrome(&self) -> bool {
        chrome::looks_like(&self.bytes)
    }

    /// A SQLite database whose tables are those of the Ascend tools; they may be listed anywhere in
    /// it.
    fn is_ascend_database(&self) -> bool {
        if !self.is_database() {
            return false;
        }
        match self.compressed {
            false => read::database::looks_like(&self.path),
            true => Input::open(&self.path).is_ok_and(|bytes| read::database::bytes_look_like(&bytes)),
        }
    }

    fn is_ascend_table(&self) -> bool {
        read::tables::looks_like(&self.bytes)
    }

    /// A description for a file that nobody knows.
    fn looks_like(&self) -> String {
        const SIGNATURES: [(&[u8], &str); 9] = [
            (b"PK\x03\x04", "a zip archive"),
            (b"\x28\xb5\x2f\xfd", "a file compressed with Zstandard"),
            (b"\xfd7zXZ\0", "a file compressed with xz"),
            (b"BZh", "a file compressed with bzip2"),
            (b"\x7fELF", "a program or library"),
            (b"\x89PNG", "an image"),
            (b"%PDF", "a PDF document"),
            (b"version https://git-lfs", "a Git LFS pointer (fetch the file itself with 'git lfs pull')"),
            (b"<", "XML or a web page"),
        ];
        let known = SIGNATURES.into_iter().find(|(signature, _)| self.bytes.starts_with(signature));
        let content = match (known, &self.json) {
            _ if self.bytes.is_empty() => "an empty file".to_owned(),
            (Some((_, name)), _) => name.to_owned(),
            (None, Some(json)) => describe_json(json),
            (None, None) if is_text(&self.bytes) => "text".to_owned(),
            (None, None) => {
                let first: Vec<_> = self.bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                format!("a file of an unknown kind that begins with the bytes {}", first.join(" "))
            }
        };
        if self.compressed { format!("{content}, compressed with gzip") } else { content }
    }
}

fn describe_json(json: &JsonHead) -> String {
    let depth = if json.is_list { 2 } else { 1 };
    let mut keys: Vec<&str> = Vec::new();
    for member in json.members.iter().filter(|member| member.depth == depth) {
        if keys.len() < 5 && !keys.contains(&&*member.key) {
            keys.push(&member.key);
        }
    }
    let what = if json.is_list { "a JSON list" } else { "a JSON object" };
    if keys.is_empty() { what.to_owned() } else { format!("{what} with {}", keys.join(", ")) }
}

/// Whether the bytes are text, which may be cut off within a character.
fn is_text(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    valid.chars().all(|letter| !letter.is_control() || letter.is_ascii_whitespace())
}

#[cfg(test)]
mod tests;
