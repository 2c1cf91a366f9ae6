//! The program opscope as a library: the command line, which parses arguments, calls one function for each
//! command and prints ([`main`]), and the answers that it prints, for others that ask the same questions.
//!
//! # Floors
//! Each row uses those below it; no two files use one another.
//!
//! ```text
//! cli                         the options, and the command that each word stands for
//! commands                    a file or a folder for each command: its options, what it asks of the crates
//! report                      the answers as text, Markdown, CSV and JSON
//! judgement                   whether a change passes
//! likeness                    what may have been meant by a name that isn't there
//! profile   converter_files   what commands read: profiles with their losses, the model converter's files
//! help                        the help of the command line in another language
//! language                    the language in which all of it is said
//! exit   interrupt   bus_error   how the program ends
//! terminal                    where text leaves the program
//! ```

#[cfg(target_os = "linux")]
mod bus_error;
mod cli;
mod commands;
mod converter_files;
mod exit;
mod help;
mod interrupt;
mod judgement;
mod language;
mod likeness;
mod profile;
mod report;
mod terminal;

use std::ffi::OsString;
use std::process::ExitCode;

/// Does what the command line says.
pub fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    bus_error::explain();
    let (done, terminal) = run();
    // Results are whole once they are renamed; the wait until they outlast a failure of the machine is one
    // for all of them.
    let synced = opscope_files::sync_folders();
    match done.and_then(|exit| Ok(synced.map(|()| exit)?)) {
        Ok(exit) => exit.into(),
        Err(error) => exit::report_error(&error, &terminal).into(),
    }
}

/// Does what the command line says, or, under the name of another tool, what it says there.
fn run() -> (anyhow::Result<exit::Exit>, terminal::Terminal) {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let program = words.next().unwrap_or_default();
    if let Some(done) = run_under_other_name(&program, words) {
        return done;
    }
    let all: Vec<OsString> = std::env::args_os().collect();
    let words: Vec<String> = all.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    language::foresee(&words);
    let parsed = help::parse(with_comments_as_text(all).into_iter());
    carry_out(parsed, &words)
}

/// A word that begins with a comment of SQL (`-- …`), as statements of `cluster queries` do, is no option, and a space
/// before it says so to the parser. What stands behind a lone `--` is another program's, and stays.
fn with_comments_as_text(words: Vec<OsString>) -> Vec<OsString> {
    let mut is_ours = true;
    let as_text = |word: OsString| {
        is_ours &= word != "--";
        let rest = word.to_str().and_then(|word| word.strip_prefix("--"));
        match is_ours && rest.is_some_and(|rest| rest.starts_with(char::is_whitespace)) {
            true => [OsString::from(" "), word].into_iter().collect(),
            false => word,
        }
    };
    words.into_iter().map(as_text).collect()
}

/// Carries out a command line that was parsed; `words` are what stands behind the program's name.
fn carry_out(
    parsed: Result<cli::Cli, clap::Error>,
    words: &[String],
) -> (anyhow::Result<exit::Exit>, terminal::Terminal) {
    let arguments = match parsed {
        Ok(arguments) => arguments,
        Err(problem) => {
            help::print(&problem, words.iter().map(String::as_str));
            let status = exit::Exit::of_parsing(&problem, commands::collect::runs_program(words));
            return (Ok(status), terminal::Terminal::new(false, false));
        }
    };
    language::settle(arguments.lang, words);
    if arguments.command.is_for_programs() {
        opscope_say::choose(opscope_say::Language::English);
    }
    interrupt::listen();
    if let Some(bytes) = arguments.memory {
        opscope_formats::memory::allow(bytes);
    }
    // Columns leave most of a small allowance to whatever else a command holds.
    let share = usize::try_from(opscope_formats::memory::allowed() / 4).unwrap_or(usize::MAX);
    opscope_columns::keep_in_memory(share.min(arguments.command.columns_in_memory()));
    if arguments.command.reads_many_databases() {
        // SAFETY: no thread was started that uses SQLite.
        unsafe { opscope_reach::database::keep_no_account_of_memory() };
    }
    let terminal = terminal::Terminal::new(arguments.quiet, arguments.verbose);
    (arguments.command.execute(&terminal), terminal)
}

/// Does what one of our commands says, whose name the program was called by.
fn run_as(
    command: &str,
    words: impl Iterator<Item = String>,
) -> (anyhow::Result<exit::Exit>, terminal::Terminal) {
    let words: Vec<String> = std::iter::once(command.to_owned()).chain(words).collect();
    let parsed =
        help::parse(std::iter::once("opscope").chain(words.iter().map(String::as_str)).map(Into::into));
    carry_out(parsed, &words)
}

/// Does what another tool's command line says, if the program was called by that tool's name.
fn run_under_other_name(
    program: &str,
    words: impl Iterator<Item = String>,
) -> Option<(anyhow::Result<exit::Exit>, terminal::Terminal)> {
    let terminal = terminal::Terminal::new(false, false);
    let done = if commands::msprof::is_called_for(program) {
        interrupt::listen();
        commands::msprof::run(&words.collect::<Vec<_>>(), &terminal)
    } else if commands::msprof_analyze::is_called_for(program) {
        return Some(run_as("msprof-analyze", words));
    } else if commands::load_and_run::is_called_for(program) {
        interrupt::listen();
        commands::load_and_run::run("load_and_run", &words.collect::<Vec<_>>(), &cli::carry_out, &terminal)
    } else if commands::profile_analyze::is_called_for(program) {
        commands::profile_analyze::run(std::env::args_os().skip(1).collect())
    } else {
        return None;
    };
    Some((done, terminal))
}
