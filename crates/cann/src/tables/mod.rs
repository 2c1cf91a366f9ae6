//! The native tables: everything that a profile recorded, without loss, in columns.
//!
//! Times are the counters' own ticks; a [`Clock`](crate::Clock) turns them into nanoseconds. Names
//! are hashes for which [`Names`](crate::Names) has the text.

mod blocks;
mod capture;
mod ccu;
mod communication;
mod device;
mod dpu;
mod functions;
mod fused;
mod helpers;
mod host;
mod launching;
mod links;
mod monitors;
mod os_calls;
pub(crate) mod rows;
mod samples;
mod system;
mod tensors;

pub use blocks::*;
pub use capture::*;
pub use ccu::*;
pub use communication::*;
pub use device::*;
pub use dpu::*;
pub use functions::*;
pub use fused::*;
pub use helpers::*;
pub use host::*;
pub use launching::*;
pub use links::*;
pub use monitors::*;
pub use os_calls::*;
pub use rows::{
    AttributeRow, CallRow, CollectiveNoteRow, CollectiveRow, CommunicationNoteRow, ContextsRow, CounterRow,
    ExtentRow, HostTaskRow, NodeRow, TensorSetRow, TrackRow,
};
pub use samples::*;
pub use system::*;
pub use tensors::*;
