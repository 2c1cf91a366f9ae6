//! A second session of the same model, whose own profiler records the nodes.
//!
//! The profiler costs time for each node, which on tiny operators is several times what they take. So it
//! never runs in the session whose latency counts.

use std::path::PathBuf;

use ort::session::{Session, SessionInputValue};

use super::failure::lost;
use super::session::{run, stoppable};
use crate::engine::{Interrupt, RunClock, Window};
use crate::error::RunError;

/// A session that records, and what it has run.
pub(super) struct Recorder {
    session: Session,
    windows: Vec<Window>,
    was_stopped: bool,
}

/// The records of a session.
pub(super) struct Recorded {
    /// The profile's file.
    pub profile: PathBuf,
    /// The complete inferences, by our own clock.
    pub windows: Vec<Window>,
    /// Whether another one began after those, and was stopped.
    pub was_stopped: bool,
}

impl Recorder {
    /// Takes a session whose profiler is on.
    pub fn new(session: Session) -> Self {
        Self { session, windows: Vec::new(), was_stopped: false }
    }

    /// Runs the model once; its outputs are those of the other session, and are let go.
    ///
    /// # Errors
    /// When a node fails, or it was stopped.
    pub fn infer(
        &mut self,
        inputs: Vec<(&str, SessionInputValue<'_>)>,
        clock: RunClock,
        interrupt: &Interrupt,
    ) -> Result<Window, RunError> {
        let options = stoppable()?;
        let start = clock.now();
        let outputs = run(&mut self.session, inputs, &options, interrupt)
            .inspect_err(|error| self.was_stopped |= matches!(error, RunError::Interrupted))?;
        let window = Window { start, duration: clock.now() - start };
        drop(outputs);
        self.windows.push(window);
        Ok(window)
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// When the profile can't be written.
    pub fn finish(mut self) -> Result<Recorded, RunError> {
        let profile = self.session.end_profiling().map_err(|error| lost(error.to_string()))?;
        Ok(Recorded { profile: profile.into(), windows: self.windows, was_stopped: self.was_stopped })
    }
}
