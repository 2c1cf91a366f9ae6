//! The command line of opscope: parses arguments, calls one function for each command, prints.

mod abilities;
mod cli;
mod commands;
mod converter_files;
mod exit;
mod interrupt;
mod profile;
mod report;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let (done, terminal) = run();
    match done {
        Ok(exit) => exit.into(),
        Err(error) => exit::report_error(&error, &terminal).into(),
    }
}

/// Does what the command line says, or, under the name of the vendor's tool, what it says there.
fn run() -> (anyhow::Result<exit::Exit>, terminal::Terminal) {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    if words.next().is_some_and(|program| commands::msprof::is_called_for(&program)) {
        interrupt::listen();
        let terminal = terminal::Terminal::new(false, false);
        return (commands::msprof::run(&words.collect::<Vec<_>>(), &terminal), terminal);
    }
    let arguments = match cli::Cli::try_parse() {
        Ok(arguments) => arguments,
        Err(problem) => {
            let _ = problem.print();
            let words: Vec<String> = words.collect();
            let status = exit::Exit::of_parsing(&problem, commands::collect::runs_program(&words));
            return (Ok(status), terminal::Terminal::new(false, false));
        }
    };
    interrupt::listen();
    let terminal = terminal::Terminal::new(arguments.quiet, arguments.verbose);
    (commands::dispatch(arguments.command, &terminal), terminal)
}
