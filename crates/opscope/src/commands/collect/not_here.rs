//! The answer on a system on which no program can be recorded.

use opscope_say::word;

use super::Arguments;
use crate::exit::{Exit, OWN_FAILURE};
use crate::terminal::Terminal;

/// Says what recording a program needs.
///
/// # Errors
/// Never, as where programs are run: the status is that of a failure of opscope's own.
pub fn execute(_arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    terminal.error(word(
        "programs are run and recorded on Linux only; run opscope there and bring the directory PROF_... here, or \
         record on a board or a host with Ascend processors from here: opscope collect --config FILE.ini --main PROGRAM",
    ));
    Ok(Exit::Status(OWN_FAILURE))
}
