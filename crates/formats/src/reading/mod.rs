//! The parts that readers of several formats share.

mod blocks;
pub mod decimal;
mod iterations;
mod launches;
pub mod lines;
mod own_streams;
mod stop;

pub use blocks::Blocks;
pub use iterations::{Iterations, Row};
pub use launches::Launches;
pub use own_streams::{OwnStream, OwnStreams};
pub use stop::{Read, Stop};

/// Times since 1970 that are later than this (in nanoseconds, September 2001) can be no time since
/// a machine or program was started.
pub const WALL_CLOCK: i64 = 1_000_000_000_000_000_000;
