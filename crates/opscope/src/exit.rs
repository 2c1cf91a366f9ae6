//! How the program ends.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use opscope_run::{InputError, RunError};
use opscope_say::{sentence, word};
use opscope_svp::VendorError;
use opscope_tune::TuneError;

use crate::terminal::Terminal;

/// The exit status, as documented in the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The work is done.
    Done,
    /// The work failed.
    Failed,
    /// The command line is wrong.
    Usage,
    /// A comparison found no difference beyond noise where one had to be told.
    Undecided,
    /// The user stopped it.
    Interrupted,
    /// The status of a program that was run, or of not being able to run it.
    Status(u8),
}

impl Exit {
    /// The status for a command line that can't be parsed, or that asks for help; `runs_program` if it
    /// asks for a program whose status was to become ours.
    pub fn of_parsing(problem: &clap::Error, runs_program: bool) -> Self {
        match problem.exit_code() {
            0 => Self::Done,
            _ if runs_program => Self::Status(OWN_FAILURE),
            _ => Self::Usage,
        }
    }
}

/// The status of `collect` for failures of its own, as `env` and `timeout` have it: those below may be the
/// program's.
pub const OWN_FAILURE: u8 = 125;

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Undecided => 3,
            Exit::Interrupted => 130,
            Exit::Status(status) => status,
        })
    }
}

/// A mistake in the command line that only shows later than its parsing.
#[derive(Debug)]
pub struct UsageError(pub String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// An error and its causes in one line.
pub fn with_causes(error: &anyhow::Error) -> String {
    let (mut text, mut told) = (error.to_string(), sentence(&error.to_string()).into_owned());
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // A cause that an error already quotes needn't be said twice.
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
            told = format!("{told}{}{}", word(": "), sentence(&cause));
        }
    }
    told
}

/// The error of a run, by itself or within a loop of several.
fn run_error(error: &anyhow::Error) -> Option<&RunError> {
    let in_tuning = || match error.downcast_ref() {
        Some(TuneError::Run(error)) => Some(error),
        _ => None,
    };
    error.downcast_ref().or_else(in_tuning)
}

/// A complaint about a model with the model's file, which engines don't name.
pub fn naming_model(error: impl Into<anyhow::Error>, path: &Path) -> anyhow::Error {
    let error = error.into();
    let is_about_model = match run_error(&error) {
        Some(RunError::Input(wish)) => is_the_models(wish),
        Some(error) => matches!(
            error,
            RunError::UnsupportedOperator { .. }
                | RunError::Prepare { .. }
                | RunError::Infer { .. }
                | RunError::Memory(_)
        ),
        None => matches!(error.downcast_ref(), Some(TuneError::EnginesDisagree { .. })),
    };
    if is_about_model { error.context(path.display().to_string()) } else { error }
}

/// Whether a model can't be fed whatever is asked for: too large a value of a node is the model's, not the
/// wish's, and so is an input of no numbers.
fn is_the_models(wish: &InputError) -> bool {
    matches!(wish, InputError::Node(_) | InputError::Unsupported { .. })
}

/// Whether an error is that nobody reads the output any more (`opscope … | head`), which wants no complaint.
pub fn is_about_reader(error: &anyhow::Error) -> bool {
    let broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(broken_pipe)
}

/// Prints an error with its causes, and says how to end.
pub fn report_error(error: &anyhow::Error, terminal: &Terminal) -> Exit {
    if is_about_reader(error) {
        return Exit::Done;
    }
    if let Some(RunError::Interrupted) = run_error(error) {
        terminal.error(word("interrupted before one iteration was complete; nothing was written"));
        return Exit::Interrupted;
    }
    terminal.error(&with_causes(error));
    if let Some(details) = run_error(error).and_then(RunError::details) {
        terminal.detail(details);
    }
    if let Some(VendorError::Interrupted { .. }) = error.downcast_ref() {
        return Exit::Interrupted;
    }
    let is_wish = |error: &RunError| matches!(error, RunError::Input(wish) if !is_the_models(wish));
    if error.is::<UsageError>() || run_error(error).is_some_and(is_wish) { Exit::Usage } else { Exit::Failed }
}
