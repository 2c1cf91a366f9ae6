//! Facts that are derived from the joined tables, and that tables, timelines and databases show alike.

pub(crate) mod busy;
pub(crate) mod cache_events;
pub(crate) mod calls;
pub(crate) mod ccu;
pub(crate) mod collectives;
pub(crate) mod copies;
pub(crate) mod core_use;
pub(crate) mod counters;
mod device_view;
pub(crate) mod dpu;
mod inference_times;
pub(crate) mod last_begun;
mod launched;
pub(crate) mod links;
pub(crate) mod marks;
pub(crate) mod monitors;
pub(crate) mod os_calls;
pub(crate) mod rates;
pub(crate) mod spans;
pub(crate) mod steps;
pub(crate) mod tracked_copies;
pub(crate) mod view;

pub use inference_times::{OperationsOfType, StepTimes, operations, step_times};
