//! `opscope profile_analyze`: MegEngine's own questions to its profiles, answered to the letter.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::Args;
use opscope_formats::megengine::analyze::{HELP, asks_for_help, profile_analyze};

use crate::exit::Exit;
use crate::terminal::{DataOutput, harmless_about};
use crate::{help, language};

/// The command line of MegEngine's tool, which has conventions of its own: it is handed on as it is.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Arguments {
    /// The profile and the options of MegEngine's tool; --help lists them
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Whether the program was called by the name of MegEngine's tool.
pub fn is_called_for(program: &str) -> bool {
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy();
    name.replace('-', "_") == "profile_analyze"
}

/// As [`execute`], with the words behind the program's name.
///
/// # Errors
/// As [`execute`].
pub fn run(arguments: Vec<OsString>) -> anyhow::Result<Exit> {
    execute(&Arguments { arguments })
}

/// Answers the question on standard output.
///
/// # Errors
/// When standard output can't take it.
pub fn execute(arguments: &Arguments) -> anyhow::Result<Exit> {
    let mut output = DataOutput::new(io::stdout().lock());
    if asks_for_help(&arguments.arguments) {
        language::as_asked();
        output.write_all(help::by_hand(HELP).as_bytes())?;
        output.flush()?;
        return Ok(Exit::Done);
    }
    let mut complaints = Vec::new();
    let status = profile_analyze(&arguments.arguments, &mut output, &mut complaints);
    // Nobody reads them as data, and their words may be a stranger's.
    let words: Vec<_> = arguments.arguments.iter().map(|word| word.to_string_lossy()).collect();
    let words: Vec<&str> = words.iter().map(|word| &**word).collect();
    io::stderr().write_all(harmless_about(&String::from_utf8_lossy(&complaints), &words).as_bytes())?;
    output.flush()?;
    Ok(match status {
        0 => Exit::Done,
        2 => Exit::Usage,
        _ => Exit::Failed,
    })
}
