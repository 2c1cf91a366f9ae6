//! Ascend profiles: raw directories decoded into native tables, and the vendor's own exports.

mod catalogue;
mod clock;
mod columns;
mod data;
mod decode;
mod discover;
mod error;
mod export;
pub mod join;
mod kinds;
mod losses;
mod metadata;
mod metrics;
mod names;
mod numbers;
mod parallel;
mod slices;
pub mod tables;
mod tensor_names;
mod to_trace;

pub use catalogue::Catalogue;
pub use clock::{Clock, SampleClock};
pub use data::{Data, Device};
pub use discover::{Profile, Source, discover};
pub use error::{Error, Result};
pub use export::{ExportOptions, IterationRange, SheetFormat, export_summary};
pub use join::Joined;
pub use kinds::{NodeTaskType, RuntimeKind, device_name, level_name, runtime_name};
pub use losses::{Loss, Losses, Reason};
pub use metadata::{HOST_ID, Info, Metadata, Reading, Sample, Session};
pub use metrics::Dialect;
pub use names::Names;
pub use slices::{Mapped, Stream};
pub use tensor_names::TensorTexts;
pub use to_trace::to_trace;
