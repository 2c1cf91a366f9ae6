//! Following and ending a long reading.

use std::path::Path;

use opscope_formats::reading::Stop;

use crate::OpenError;

/// The listener of a long reading: a progress bar, a request to stop, or `()` for neither.
pub trait Progress {
    /// A step begins; its name is for people.
    fn step(&self, _name: &str) {}

    /// The wish to end the reading, asked about between its steps, and within long ones at each file, part
    /// or some hundred rows.
    fn stop(&self) -> Stop {
        Stop::default()
    }
}

impl Progress for () {}

/// Begins a step of reading what lies at `path`, unless it is to be the last one.
pub(crate) fn begin(progress: &dyn Progress, name: &str, path: &Path) -> Result<(), OpenError> {
    go_on(&progress.stop(), path)?;
    progress.step(name);
    Ok(())
}

/// The error of what lies at `path`, if the reading is to end.
pub(crate) fn go_on(stop: &Stop, path: &Path) -> Result<(), OpenError> {
    if stop.is_wanted() { Err(OpenError::Stopped { path: path.to_owned() }) } else { Ok(()) }
}
