//! MegEngine graph profiles: the JSON that `load_and_run --profile` and `GraphProfiler` write.
//!
//! ```text
//! { "profiler":   { "device", "host", "opr_footprint", "opr_internal_pf" },
//!   "graph_exec": { "operator", "var", "mem_chunk", "comp_seq" } }
//! ```
//!
//! [`Profile`] holds these sections as tables. [`analyze::profile_analyze`] answers the questions of
//! MegEngine's own analyser from them, [`Profile::to_trace`] makes them a trace,
//! [`Profile::from_trace`] makes them out of any trace, and [`Profile::write`] writes the file.

pub mod analyze;
mod comp_node;
mod data_type;
mod from_trace;
mod keyed;
mod memory;
mod profile;
mod read;
mod sections;
mod symbols;
mod to_trace;
mod write;

use crate::json;

pub use from_trace::Recorded;
pub use json::{JsonError, Piece};
pub use keyed::{GraphId, Keyed};
pub use memory::{Allocation, PeakMemory};
pub use profile::{Chunk, Footprint, Interval, MemoryPlan, Operator, Profile, Shape, Var};
pub use read::{ContentError, ReadError};
