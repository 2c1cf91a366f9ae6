//! The one door to any profile: says what a path leads to, and reads it as a [`Trace`], whatever
//! tool wrote it. It knows no terminal: progress and a stop flag come in as a [`Progress`]; what people
//! are to read comes back as data or errors.
//!
//! ```
//! use opscope_open::{Source, formats};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("timeline.json");
//! let kernel = r#"{"ph": "X", "cat": "kernel", "name": "gemm", "ts": 10, "dur": 2.5, "pid": 0, "tid": 7}"#;
//! std::fs::write(&path, format!(r#"{{"traceEvents": [{kernel}]}}"#))?;
//!
//! let source = Source::at(&path)?;
//! assert!(source.is(&formats::chrome::FORMAT));
//! assert_eq!(source.to_string(), "a timeline in Chrome's trace format");
//!
//! let profile = source.open(&())?;
//! let (_, task) = profile.trace.tasks.iter().next().ok_or("no task")?;
//! assert_eq!(profile.trace.strings.get(task.name), "gemm");
//! assert_eq!(task.duration.0, 2_500);
//! # Ok(())
//! # }
//! ```
//!
//! | module | holds | uses |
//! |---|---|---|
//! | `source` | a path and its format ([`Source`]), a profile that was read ([`Opened`]) | all below |
//! | `within` | the profiles in and below a folder of no known format | `source` |
//! | `others` | the profiles beside the one that a folder is read as | `formats`, `within` |
//! | [`formats`] | the list of formats, a module for each | `format`, `raw` |
//! | [`raw`] | raw directories of Ascend: decoding, remarks, their import and its place | `progress` |
//! | `format`, `about` | what a format is: its name, its signature test, its reader; the words about it | `look`, `progress` |
//! | `look`, `json_head`, `unread` | the first look at a path, by which all formats judge it, and what is said of files that none reads | `error` |
//! | `progress`, `error` | [`Progress`], [`OpenError`] | – |
//!
//! A new format is a module in `formats` and a line in its list.
//!
//! [`Trace`]: opscope_trace::Trace

mod about;
mod error;
mod format;
pub mod formats;
mod head;
mod json_head;
mod look;
mod others;
mod progress;
pub mod raw;
mod source;
#[cfg(test)]
mod tests;
mod unread;
mod within;

pub use about::{About, FormatKind, Tried};
pub use error::OpenError;
pub use format::Format;
pub use look::check_presence;
pub use opscope_formats::reading::Stop;
pub use progress::Progress;
pub use source::{Opened, Source};
