//! A program that runs on this machine.

mod commands;
mod events;
mod finish;
mod plan;
mod together;

use opscope_capture::{CaptureError, collect};

use self::events::tell;
use self::plan::plan;
use super::Arguments;
use crate::exit::{Exit, OWN_FAILURE};
use crate::interrupt;
use crate::terminal::Terminal;

const NOT_EXECUTABLE: u8 = 126;
const NOT_FOUND: u8 = 127;

/// Runs the program, and reads what was recorded.
///
/// # Errors
/// Never: what keeps the program from being run is reported here, with a status of its own.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let outcome = plan(arguments, terminal).and_then(|plan| {
        if plan.dynamic {
            return commands::execute(&plan, arguments, terminal).map(|status| (plan, Err(status)));
        }
        let mut told = Vec::new();
        let stop = interrupt::of_waiting();
        let outcome =
            collect(&plan, &|| stop.is_requested(), &mut |event| tell(&event, &mut told, terminal))?;
        interrupt::release();
        Ok((plan, Ok(outcome)))
    });
    match outcome {
        Ok((_, Err(status))) => Ok(Exit::Status(status)),
        Ok((plan, Ok(outcome))) => {
            if outcome.device_profiles.is_empty() {
                arguments.hardware.tell_unrecorded(terminal);
            }
            let is_empty = finish::finish(&plan, &outcome, &arguments.wanted(), terminal);
            Ok(match outcome.status {
                0 if is_empty => Exit::Failed,
                status => Exit::Status(status),
            })
        }
        Err(error) => {
            terminal.error(&error.to_string());
            Ok(Exit::Status(match error {
                CaptureError::NotFound { .. } => NOT_FOUND,
                CaptureError::NotExecutable { .. } => NOT_EXECUTABLE,
                _ => OWN_FAILURE,
            }))
        }
    }
}
