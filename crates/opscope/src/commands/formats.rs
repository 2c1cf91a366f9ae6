//! `opscope formats`: what can be read and written, and on what that was tried.

use clap::Args;
use opscope_say::say;

use super::form::FormArguments;
use crate::exit::{Exit, UsageError};
use crate::report::formats::{Listed, details, table, to_json};
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope formats                            every format that opscope reads
  opscope formats onnx                       those that have to do with ONNX
  opscope formats --markdown                 the table of the README
  opscope formats --json

A file's content shows its format, whatever it is called: opscope info PATH names it.
Where no real file was at hand, the format is marked as untested on one.";

/// The options of `opscope formats`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Only the formats whose lines have this word
    word: Option<String>,

    #[command(flatten)]
    form: FormArguments,
}

/// Prints the formats.
///
/// # Errors
/// When no format has the word, or standard output can't take the answer.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    let mut formats = Listed::all();
    if let Some(word) = &arguments.word {
        formats.retain(|format| format.has(word));
        if formats.is_empty() {
            let text = say!("no format has to do with '{word}'; 'opscope formats' lists all");
            return Err(UsageError(text).into());
        }
    }
    let text = match arguments.form {
        FormArguments { json: true, .. } => to_json(&formats).to_text()?,
        FormArguments { csv: true, .. } => table(&formats).to_csv()?,
        FormArguments { markdown: true, .. } => table(&formats).to_markdown(),
        _ => details(&formats, terminal.width()),
    };
    terminal.print(&text)?;
    Ok(Exit::Done)
}
