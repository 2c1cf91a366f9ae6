//! Following and ending a long reading.

use std::path::Path;

use crate::OpenError;

/// The listener of a long reading: a progress bar, a request to stop, or `()` for neither.
pub trait Progress {
    /// A step begins; its name is for people.
    fn step(&self, _name: &str) {}

    /// Whether the reading is to end before its next step.
    fn is_stopped(&self) -> bool {
        false
    }
}

impl Progress for () {}

/// Begins a step of reading what lies at `path`, unless it is to be the last one.
pub(crate) fn begin(progress: &dyn Progress, name: &str, path: &Path) -> Result<(), OpenError> {
    if progress.is_stopped() {
        return Err(OpenError::Stopped { path: path.to_owned() });
    }
    progress.step(name);
    Ok(())
}
