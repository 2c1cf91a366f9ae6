//! The one door to any profile: tells what a path leads to, and reads it as a trace.

mod detect;

pub use detect::{DetectError, Kind, OpenError, detect, open};
