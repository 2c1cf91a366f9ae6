//! `opscope completions`: scripts for shells, from the same definitions as the help.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::exit::Exit;
use crate::help;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope completions bash > ~/.local/share/bash-completion/completions/opscope
  opscope completions zsh > ~/.zfunc/_opscope
  opscope completions fish > ~/.config/fish/completions/opscope.fish";

/// The options of `opscope completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints the script for a program.
///
/// # Errors
/// When standard output can't take it.
pub fn execute(arguments: &Arguments, program: Command, terminal: &Terminal) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut help::in_language(program), "opscope", &mut script);
    terminal.print_data(&help::with_blanks(&String::from_utf8_lossy(&script)))?;
    Ok(Exit::Done)
}
