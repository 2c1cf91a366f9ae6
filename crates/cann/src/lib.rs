//! Ascend profiles: raw directories decoded into native tables, and the vendor's own exports.

mod cache_rates;
mod catalogue;
mod clock;
mod columns;
mod data;
mod database;
mod decode;
mod digits;
mod discover;
mod error;
mod export;
pub mod join;
mod kinds;
mod losses;
mod metadata;
mod metrics;
mod metrics_nano;
mod metrics_wide;
mod names;
mod numbers;
mod outline;
mod parallel;
mod readings;
mod report;
mod sample;
mod slices;
mod sqlite_file;
pub mod tables;
mod tensor_names;
mod timeline;
mod to_trace;

pub use catalogue::Catalogue;
pub use clock::{Clock, SampleClock};
pub use data::{Data, Device};
pub use database::export_database;
pub use discover::{Found, Profile, Source, discover, search};
pub use error::{Error, Result};
pub use export::{
    ExportLayout, ExportOptions, IterationRange, LaneChoice, LaneChoiceError, OperationsOfType, SheetFormat,
    StepTimes, classic_iteration, describe_results, export_summary, operations, step_times,
};
pub use join::Joined;
pub use kinds::{NodeTaskType, RuntimeKind, device_name, level_name, runtime_name};
pub use losses::{Loss, Losses, Reason};
pub use metadata::{HOST_ID, Info, Metadata, Sample, Session};
pub use metrics::Dialect;
pub use names::Names;
pub use outline::{Outline, is_model_load};
pub use readings::Reading;
pub use report::{PerformanceReport, ReportFinding, ReportGroup, performance_reports};
pub use sample::{SampleLayout, SampleMode, SampleOptions, write_sample};
pub use slices::{Mapped, Stream};
pub use tensor_names::TensorTexts;
pub use timeline::export_timeline;
pub use to_trace::{note, to_trace};
