//! MegEngine graph profiles.

pub mod analyze;
mod keyed;
mod profile;
mod read;

use crate::{escapes, json};

pub use json::{JsonError, Piece};
pub use keyed::{GraphId, Keyed};
pub use profile::{Chunk, Footprint, Interval, MemoryPlan, Operator, Profile, Shape, Var};
pub use read::{ContentError, ReadError};
