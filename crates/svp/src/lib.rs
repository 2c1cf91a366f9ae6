//! Small-chip boards of the SS928 and SS927 family: the tables and timelines that their vendor's
//! tools export, and the `JOB*` directories that lie beneath them.
//!
//! | part | what it is |
//! |---|---|
//! | [`FileName`] | the names of the exported files, in every form of the vendor's guide |
//! | [`OpSummary`], [`OpStatistic`], [`AclStatistic`] | the tables, read from CSV or JSON and written as either |
//! | [`Timeline`] | `task_time_*.json` and `acl_*.json` |
//! | [`Exports`] | all of these that a directory holds; becomes a trace, or comes from one |
//! | [`Job`] | what a `JOB*` directory holds and what it lacks |
//! | [`VendorParser`] | the vendor's own parser of `JOB*` directories, run where it is installed |
//! | [`SideFiles`] | what the model converter leaves beside a model |
//!
//! ```
//! use opscope_svp::{Exports, TableFormat};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let folder = tempfile::tempdir()?;
//! let table = folder.path().join("op_summary_0.net.3.1.10.1.NA.600.csv");
//! std::fs::write(&table, "Layer Id,Layer Name,Layer Type,Time(us)\n0,conv1,Convolution,12.5\n")?;
//!
//! let trace = Exports::read(&table)?.to_trace();
//! let (_, task) = trace.tasks.iter().next().ok_or("no layer")?;
//! assert_eq!((trace.strings.get(task.name), task.duration.0), ("conv1", 12_500));
//!
//! // The same files, from any trace.
//! let written = Exports::from_trace(&trace).write_summary(folder.path(), TableFormat::Csv)?;
//! assert!(!written.files.is_empty());
//! # Ok(())
//! # }
//! ```
//!
//! # Floors
//! A module uses only those below it.
//!
//! ```text
//! own_records   vendor_parser                     other sources of the files: our collector, the vendor's tool
//! raw_calls                                       calls in the layout of 2022
//! from_trace   to_trace   write   signature       the files and a trace, a folder, files of others
//! files                                           all files of a directory
//! op_summary   statistic   timeline               a module for each kind of file
//! job          side_files                         raw directories; the converter's files
//! file_name    table_text   cell
//! ```
//!
//! The raw records of these processors' counters are not public. They are listed, never guessed
//! into figures; only calls in the layout that CANN published in 2022 are decoded, if every whole
//! record fits it. The records of opscope's own collector are read in full.
//!
//! Sources: the vendor's Profiling guide for SS928 V100 and SS927 V100 (00B01, 2025-09-15), and
//! public logs of runs on such boards.

mod cell;
mod file_name;
mod files;
mod from_trace;
mod job;
mod op_summary;
mod own_records;
mod raw_calls;
mod side_files;
mod signature;
mod statistic;
mod table_text;
mod timeline;
mod to_trace;
mod vendor_parser;
mod write;

pub use cell::Figure;
pub use file_name::{FileName, SampleName, TimelineName, is_export};
pub use files::{Exports, ReadError, Sheet};
pub use job::{Job, JobError, RawFile, RawKind};
pub use op_summary::{Layer, LayerColumn, OpSummary};
pub use raw_calls::{RAW_CALLS_LABEL, RawCalls, RawCallsError};
pub use side_files::{Content, Placement, SideFiles};
pub use statistic::{AclStatistic, ApiTotals, OpStatistic, OperatorTotals, Totals};
pub use table_text::TableError;
pub use timeline::{Call, LayerRun, Timeline, TimelineError, Unit};
pub use vendor_parser::{VendorError, VendorParser};
pub use write::{ExportError, TableFormat, Written};
