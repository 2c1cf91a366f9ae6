//! The command line of opscope: parses arguments, calls one function for each command, prints.

mod cli;
mod commands;
mod exit;
mod interrupt;
mod profile;
mod report;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    interrupt::listen();
    let terminal = terminal::Terminal::new(arguments.quiet, arguments.verbose);
    match commands::dispatch(arguments.command, &terminal) {
        Ok(exit) => exit.into(),
        Err(error) => exit::report_error(&error, &terminal).into(),
    }
}
