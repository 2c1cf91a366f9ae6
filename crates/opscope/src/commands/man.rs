//! `opscope man`: the manual, from the same definitions as the help.

use clap::{Args, Command};
use opscope_say::{Language, chosen, say, word};

use crate::exit::{Exit, UsageError};
use crate::help;
use crate::terminal::Terminal;

const EXAMPLES: &str = "\
Examples:
  opscope man | man -l -                     read it
  opscope man > opscope.1                    keep it
  opscope man run > opscope-run.1            the page of one command";

/// The options of `opscope man`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The command to print the page of; without it, the page of the whole program
    command: Option<String>,
}

/// Prints the page of a program.
///
/// # Errors
/// When there is no such command, or standard output can't take it.
pub fn execute(arguments: &Arguments, program: Command, terminal: &Terminal) -> anyhow::Result<Exit> {
    let program = help::in_language(program);
    let page = match &arguments.command {
        None => program,
        Some(name) => {
            let found = program.find_subcommand(name);
            let found =
                found.ok_or_else(|| UsageError(say!("there is no command '{name}'; see opscope --help")))?;
            found.clone().name(format!("opscope-{name}")).version(env!("CARGO_PKG_VERSION"))
        }
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    let page = help::with_blanks(&String::from_utf8_lossy(&text));
    let lines = page.lines().map(|line| match line.strip_prefix(HEADING) {
        Some(heading) => format!("{HEADING}{}\n", heading_of(heading)),
        // Lines of Chinese have few blanks to be made even by.
        None if line.starts_with(".TH ") && chosen() == Language::Chinese => format!("{line}\n.ad l\n"),
        None => format!("{line}\n"),
    });
    terminal.print_data(&lines.collect::<String>())?;
    Ok(Exit::Done)
}

/// The begin of a line that is a heading.
const HEADING: &str = ".SH ";

/// A heading in the reader's language.
fn heading_of(heading: &str) -> &str {
    match heading {
        "NAME" => word("NAME"),
        "SYNOPSIS" => word("SYNOPSIS"),
        "DESCRIPTION" => word("DESCRIPTION"),
        "OPTIONS" => word("OPTIONS"),
        "SUBCOMMANDS" => word("SUBCOMMANDS"),
        "EXTRA" => word("EXTRA"),
        "VERSION" => word("VERSION"),
        other => other,
    }
}
