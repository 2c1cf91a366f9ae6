//! Messages in the form of the vendor's tool, which scripts look through.

use std::io::Write;

use opscope_trace::{Loss, Trace};

use crate::terminal::harmless;

/// Writes a message to standard output: the local time, the level, the tool, the process.
pub fn say(level: Level, text: &str) {
    let time = jiff::Zoned::now().strftime("%a %d %b %Y %H:%M:%S");
    let level = match level {
        Level::Info => "INFO",
        Level::Warning => "WARNING",
        Level::Error => "ERROR",
    };
    // Whoever doesn't read the messages still wants the files.
    let _ = writeln!(
        std::io::stdout(),
        "{time} [{level}] [MSVP] [{}] opscope: {}",
        std::process::id(),
        harmless(text)
    );
}

/// How serious a message is.
#[derive(Clone, Copy, Debug)]
pub enum Level {
    /// It tells how far the work is.
    Info,
    /// Something may spoil the result.
    Warning,
    /// The work failed.
    Error,
}

/// The skipped records, in sentences.
pub fn losses(trace: &Trace) -> Vec<String> {
    let sentence =
        |loss: Loss| format!("skipped: {} × {} ({})", loss.count, loss.kind, trace.strings.get(loss.detail));
    trace.losses.iter().map(|(_, loss)| sentence(loss)).collect()
}
