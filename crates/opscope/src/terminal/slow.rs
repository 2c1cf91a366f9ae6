//! A word about work that takes longer than anyone expects.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use super::Terminal;

/// How long nothing is said.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says something after two seconds, unless it is dropped before.
pub struct SlowNote {
    _over: Sender<()>,
}

impl SlowNote {
    /// The work begins.
    pub fn new(terminal: Terminal, text: String) -> Self {
        let (over, is_over) = channel::<()>();
        std::thread::spawn(move || {
            if is_over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                terminal.note(&text);
            }
        });
        Self { _over: over }
    }
}
