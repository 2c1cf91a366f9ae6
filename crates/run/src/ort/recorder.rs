//! A second session of the same model, whose own profiler records the nodes.
//!
//! The profiler costs time for each node, which on tiny operators is several times what they take. So it
//! never runs in the session whose latency counts.

use std::path::PathBuf;

use ort::session::{Session, SessionInputValue};

use super::failure::{failed, lost};
use crate::engine::{RunClock, Window};
use crate::error::RunError;

/// A session that records, and what it has run.
pub(super) struct Recorder {
    session: Session,
    windows: Vec<Window>,
}

impl Recorder {
    /// Takes a session whose profiler is on.
    pub fn new(session: Session) -> Self {
        Self { session, windows: Vec::new() }
    }

    /// Runs the model once; its outputs are those of the other session, and are let go.
    ///
    /// # Errors
    /// When a node fails.
    pub fn infer(
        &mut self,
        inputs: Vec<(&str, SessionInputValue<'_>)>,
        clock: RunClock,
    ) -> Result<Window, RunError> {
        let start = clock.now();
        let outputs = self.session.run(inputs).map_err(failed)?;
        let window = Window { start, duration: clock.now() - start };
        drop(outputs);
        self.windows.push(window);
        Ok(window)
    }

    /// Ends the recording: the profile's file, and the iterations by our own clock.
    ///
    /// # Errors
    /// When the profile can't be written.
    pub fn finish(mut self) -> Result<(PathBuf, Vec<Window>), RunError> {
        let profile = self.session.end_profiling().map_err(|error| lost(error.to_string()))?;
        Ok((profile.into(), self.windows))
    }
}
