//! `opscope collect`: runs a program and records what it does.

mod board;
// A program here is run on Linux only; on a board, from everywhere.
#[cfg(target_os = "linux")]
mod here;
#[cfg(not(target_os = "linux"))]
#[path = "not_here.rs"]
mod here;
// Of what is recorded here nobody asks elsewhere.
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
mod options;
mod reading;
#[cfg_attr(not(target_os = "linux"), expect(dead_code))]
mod switches;

use opscope_say::word;

use crate::exit::{Exit, OWN_FAILURE};
use crate::help;
use crate::terminal::Terminal;

pub use self::options::Arguments;

/// Runs the program, and reads what was recorded.
///
/// # Errors
/// Never: what keeps the program from being run is reported here, with a status of its own.
pub fn execute(arguments: &Arguments, terminal: &Terminal) -> anyhow::Result<Exit> {
    if arguments.board.main.is_some() || arguments.board.config.is_some() {
        if arguments.page.html.is_some() {
            terminal.error(word(
                "--html: not while collecting on another host; opscope report PROFILE makes the page",
            ));
            return Ok(Exit::Status(OWN_FAILURE));
        }
        return board::execute(
            &arguments.board,
            &arguments.hardware,
            &arguments.program,
            arguments.output.as_deref(),
            &arguments.wanted(),
            terminal,
        );
    }
    here::execute(arguments, terminal)
}

/// Whether a command line asks for a program that runs here: a board's has a status of its own.
pub fn runs_program(words: &[String]) -> bool {
    let is_command = words.iter().find(|word| !word.starts_with('-')).is_some_and(|word| word == "collect");
    let names_board = |word: &String| ["-m", "--main", "--config"].iter().any(|it| word.starts_with(it));
    is_command && !words.iter().take_while(|word| *word != "--").any(names_board)
}

/// Whether a command line in msprof's spelling asks to run a program or to sample a process.
pub fn is_meant(arguments: &[String]) -> bool {
    if arguments.first().is_some_and(|word| word == "collect") {
        return true;
    }
    const OTHERS: [&str; 4] = ["--parse", "--query", "--export", "--analyze"];
    let is_other = |word: &String| OTHERS.contains(&word.split('=').next().unwrap_or_default());
    let is_word = |word: &String| !word.starts_with('-');
    let options: Vec<&String> = arguments.iter().take_while(|word| !is_word(word)).collect();
    let program = arguments.get(options.len());
    let is_help = |word: &&String| matches!(word.as_str(), "-h" | "--help" | "--version");
    if options.iter().any(|word| is_other(word) || is_help(word)) {
        return false;
    }
    let asks = [
        "--application",
        "--host-sys-pid",
        "--msproftx",
        "--host-sys",
        "--dynamic",
        "--config",
        "--main",
        "-m",
        "--",
    ];
    let asked = |word: &&String| asks.contains(&word.split('=').next().unwrap_or_default());
    let is_action = |word: &String| matches!(word.as_str(), "import" | "export" | "query" | "show");
    options.iter().any(asked)
        || (program.is_some_and(|word| !is_action(word)) && options.iter().all(|it| it.contains('=')))
}

/// Collect a profile of a program, in msprof's spelling.
#[derive(Debug, clap::Parser)]
#[command(
    name = "msprof",
    disable_help_subcommand = true,
    override_usage = "msprof [OPTIONS] [PROGRAM ARGS]...\n       msprof collect [OPTIONS] [PROGRAM ARGS]..."
)]
struct Vendor {
    #[command(flatten)]
    arguments: Arguments,
}

/// Collects as a command line in msprof's spelling says, in which marks are off unless asked for.
///
/// # Errors
/// As [`execute`].
pub fn run_vendor(arguments: &[String], terminal: &Terminal) -> anyhow::Result<Exit> {
    if let Some((_, rest)) = arguments.split_first().filter(|(first, _)| *first == "collect") {
        return run_words(rest.iter().cloned(), terminal);
    }
    let names_marks = |word: &String| word.starts_with("--msproftx");
    let before_program = arguments.iter().take_while(|word| word.starts_with('-'));
    let default = (!before_program.clone().any(names_marks)).then(|| "--msproftx=off".to_owned());
    run_words(default.into_iter().chain(arguments.iter().cloned()), terminal)
}

fn run_words(words: impl Iterator<Item = String>, terminal: &Terminal) -> anyhow::Result<Exit> {
    let words: Vec<String> = std::iter::once("msprof".to_owned()).chain(words).collect();
    match help::parse::<Vendor>(words.iter().map(Into::into)) {
        Ok(mut vendor) => {
            vendor.arguments.when.bare_seconds = true;
            execute(&vendor.arguments, terminal)
        }
        Err(problem) => {
            help::print(&problem, words.iter().map(String::as_str));
            Ok(Exit::of_parsing(&problem, true))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn msprofs_own_spelling_asks_to_run_a_program_or_not() {
        let asks = |line: &str| is_meant(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        for line in ["--application=x --output=y", "--output=y ./x -v", "--msproftx=on --output=y", "./x"] {
            assert!(asks(line), "{line}");
        }
        for line in ["import -dir x", "--export=on --output=y", "-dir x", "--help", "query -dir x"] {
            assert!(!asks(line), "{line}");
        }
    }
}
