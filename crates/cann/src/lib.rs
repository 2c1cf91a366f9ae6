//! Ascend profiles: raw directories (`PROF_*`) decoded into native tables, and the vendor's own exports,
//! written and read.
//!
//! ```
//! use opscope_cann::{
//!     Data, Joined, SampleLayout, SampleMode, SampleOptions, discover, to_trace, write_sample,
//! };
//! use opscope_cann_raw::Chip;
//!
//! // A synthetic directory stands in for a real one.
//! let folder = tempfile::tempdir()?;
//! let (chip, mode, layout) = (Chip::V4_1_0, SampleMode::Static, SampleLayout::Current);
//! let path = write_sample(folder.path(), SampleOptions { chip, tasks: 300, mode, layout, seed: 1 })?;
//!
//! let profile = discover(&path)?.remove(0);
//! let joined = Joined::new(Data::load(profile)?);
//! assert!(joined.all_losses().rows().is_empty());
//! // Every task of the device has found the host's task that launched it.
//! assert!(joined.devices[&0].matches.host_of.iter().all(Option::is_some));
//! assert_eq!(to_trace(&joined).tasks.len(), 300);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The floors of the crate; a module uses modules of the floors below, and its own folder:
//!
//! ```text
//! results                                  tables and timelines, in today's layout or that of 2022
//! layout_2022
//! export   timeline   database   report   outline   to_trace   what a profile becomes
//! facts                                    steps, rates, busy times, collectives, copies, counters
//! join                                     host and devices brought together
//! data                                     all native tables of a profile
//! decode                                   records into native tables
//! tables   names   kinds   metrics         tables, and the meaning of their numbers
//! discover   catalogue   slices   metadata the files of a directory
//! ```
//!
//! `read` takes the vendor's tables and databases back into a trace. Tools of all floors: `columns` (the
//! form of tables), `quantities` and `vocabulary` (the names that all forms share), `parallel`, `text` (numbers as the vendor prints them).
//! `synthetic` writes directories like those that are read.

mod catalogue;
mod clock;
mod columns;
mod data;
mod database;
mod decode;
mod dialect;
mod discover;
mod error;
mod export;
mod facts;
mod headings;
pub mod join;
mod kinds;
mod lane_choice;
mod layout_2022;
mod metadata;
mod metrics;
mod names;
mod options;
mod outline;
mod quantities;
pub mod read;
mod report;
mod results;
mod slices;
mod synthetic;
pub mod tables;
mod text;
mod timeline;
mod to_trace;
mod units;
mod vocabulary;
mod waits;

use opscope_parallel as parallel;

pub use catalogue::Catalogue;
pub use clock::{Clock, SampleClock};
pub use data::{Data, Device};
pub use database::export_database;
pub use dialect::Dialect;
pub use discover::{Found, Profile, Source, discover, search};
pub use error::{Error, Result};
pub use export::describe_results;
pub use facts::{OperationsOfType, StepTimes, operations, step_times};
pub use join::Joined;
pub use kinds::{NodeTaskType, device_name, level_name, runtime_name};
pub use lane_choice::{LaneChoice, LaneChoiceError};
pub use metadata::{HOST_ID, Info, Metadata, Reading, Sample, Session};
pub use names::Names;
pub use opscope_trace::{CountedLoss, LossKind, Losses};
pub use options::{ExportLayout, ExportOptions, IterationRange, SheetFormat};
pub use outline::{Outline, is_model_load};
pub use report::{PerformanceReport, ReportFinding, ReportGroup, performance_reports};
pub use results::{classic_iteration, export_summary, export_timeline};
pub use slices::{Mapped, Stream};
pub use synthetic::{SampleLayout, SampleMode, SampleOptions, write_sample, write_single_operators};
pub use text::tensor_names::TensorTexts;
pub use to_trace::{note, to_trace, to_trace_until};
